/* Python objects turned into C: str, bytes, int. All lengths are checked against a limit before anything is read. */
#ifndef DT_PYTHON_TEXT_H
#define DT_PYTHON_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "mem/mem.h"
#include "python/layout.h"

#define DT_TEXT_LIMIT  ((size_t)1 << 16)  /* characters of a name or path */
#define DT_TABLE_LIMIT ((size_t)24 << 20) /* bytes of a line table */

/* A str as UTF-8 in the arena (lone surrogates as U+FFFD; of 2.7 bytes that are no UTF-8 likewise, and unicode is text,
 * too). 0, -EFAULT, -EINVAL (not a str), -EFBIG, -ENOMEM. */
int dt_text_read(struct dt_mem *mem, const struct dt_layout *layout, uint64_t object, struct dt_arena *arena,
		 const char **text);

/* How many bytes its characters have in memory. The errors of dt_text_read. */
int dt_text_size(struct dt_mem *mem, const struct dt_layout *layout, uint64_t object, size_t *size);

/* A number made from all characters of a str and their count. Two texts that differ have different numbers as good as
 * always; all those beyond the limit have the same. The errors of dt_text_read, but for -EFBIG. */
int dt_text_print(struct dt_mem *mem, const struct dt_layout *layout, uint64_t object, uint64_t *print);

/* A bytes object's contents in the arena. */
int dt_bytes_read(struct dt_mem *mem, const struct dt_layout *layout, uint64_t object, size_t limit,
		  struct dt_arena *arena, const uint8_t **data, size_t *size);

/* An int that fits. -ERANGE otherwise. */
int dt_int_read(struct dt_mem *mem, const struct dt_layout *layout, uint64_t object, int64_t *value);

/* Bytes that may be UTF-8, made so. NULL on lack of memory. */
char *dt_utf8_of_bytes(struct dt_arena *arena, const uint8_t *data, size_t size);

/* Characters at `data` (kind bytes each: 1, 2 or 4) as UTF-8; for fuzzing and tests. NULL on lack of memory. */
char *dt_utf8(struct dt_arena *arena, const uint8_t *data, size_t count, unsigned kind);

#endif
