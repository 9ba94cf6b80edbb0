/*
 * A growing byte string, always NUL-terminated. An allocation that fails sets `failed`, later appends do nothing, and
 * the caller asks once at the end.
 */
#ifndef DT_BASE_BUF_H
#define DT_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

struct dt_buf {
	char *data; /* never NULL after init */
	size_t length;
	size_t capacity;
	bool failed;
};

#define DT_BUF_INIT                                                                                                    \
	{                                                                                                              \
		.data = (char[1])                                                                                      \
		{                                                                                                      \
			0                                                                                              \
		}                                                                                                      \
	}

void dt_buf_release(struct dt_buf *buf);
void dt_buf_clear(struct dt_buf *buf);
void dt_buf_append(struct dt_buf *buf, const char *data, size_t length);
void dt_buf_puts(struct dt_buf *buf, const char *text);
void dt_buf_putc(struct dt_buf *buf, char c);
void dt_buf_printf(struct dt_buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
