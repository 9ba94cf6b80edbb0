/*
 * Memory that is given back all at once. An arena grows until it fits one sample, and from then on a reset and the next
 * sample cost no allocation. Addresses stay valid until the reset. A limit bounds what a hostile target can make us
 * keep.
 */
#ifndef DT_BASE_ARENA_H
#define DT_BASE_ARENA_H

#include <stddef.h>

struct dt_arena_block;

struct dt_arena {
	struct dt_arena_block *first, *current;
	size_t used;  /* bytes handed out since the last reset */
	size_t limit; /* of used; 0 means DT_ARENA_LIMIT */
};

#define DT_ARENA_LIMIT ((size_t)512 << 20)

void dt_arena_init(struct dt_arena *arena, size_t limit);
void dt_arena_reset(struct dt_arena *arena);
void dt_arena_release(struct dt_arena *arena);

/* Aligned for any type, not cleared; NULL when the limit is reached or memory is out. */
void *dt_arena_alloc(struct dt_arena *arena, size_t size);
void *dt_arena_calloc(struct dt_arena *arena, size_t count, size_t size);

/* A copy of length bytes with a NUL behind them. */
char *dt_arena_strndup(struct dt_arena *arena, const char *text, size_t length);
char *dt_arena_strdup(struct dt_arena *arena, const char *text);
char *dt_arena_printf(struct dt_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
