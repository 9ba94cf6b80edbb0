/* Growing byte strings: see buf.h. */
#include "base/buf.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char empty[1];

void dt_buf_release(struct dt_buf *buf)
{
	if (buf->capacity)
		free(buf->data);
	*buf = (struct dt_buf){.data = empty};
}

void dt_buf_clear(struct dt_buf *buf)
{
	buf->length = 0;
	buf->failed = false;
	if (buf->capacity)
		buf->data[0] = '\0';
}

/* Room for `more` bytes and the NUL. */
static bool reserve(struct dt_buf *buf, size_t more)
{
	size_t capacity = buf->capacity ? buf->capacity : 256;
	char *data;

	if (buf->failed || more > SIZE_MAX / 2 - buf->length) {
		buf->failed = true;
		return false;
	}
	if (buf->length + more < buf->capacity)
		return true;
	while (capacity <= buf->length + more)
		capacity *= 2;
	data = realloc(buf->capacity ? buf->data : NULL, capacity);
	if (!data) {
		buf->failed = true;
		return false;
	}
	buf->data = data;
	buf->capacity = capacity;
	return true;
}

void dt_buf_append(struct dt_buf *buf, const char *data, size_t length)
{
	if (!length || !reserve(buf, length))
		return;
	memcpy(buf->data + buf->length, data, length);
	buf->length += length;
	buf->data[buf->length] = '\0';
}

void dt_buf_puts(struct dt_buf *buf, const char *text)
{
	dt_buf_append(buf, text, strlen(text));
}

void dt_buf_putc(struct dt_buf *buf, char c)
{
	dt_buf_append(buf, &c, 1);
}

void dt_buf_printf(struct dt_buf *buf, const char *format, ...)
{
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (length < 0 || !reserve(buf, (size_t)length))
		return;
	va_start(args, format);
	vsnprintf(buf->data + buf->length, (size_t)length + 1, format, args);
	va_end(args);
	buf->length += (size_t)length;
}
