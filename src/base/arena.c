/*
 * A chain of blocks, each twice the size of the one before. A reset keeps the chain if it is one block; otherwise it is
 * replaced by one block that would have held everything, so a steady load settles on a single block.
 */
#include "base/arena.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BLOCK ((size_t)16 << 10)

struct dt_arena_block {
	struct dt_arena_block *next;
	size_t size, used;
	alignas(max_align_t) char data[];
};

void dt_arena_init(struct dt_arena *arena, size_t limit)
{
	*arena = (struct dt_arena){.limit = limit};
}

static void free_blocks(struct dt_arena *arena)
{
	struct dt_arena_block *block = arena->first;

	while (block) {
		struct dt_arena_block *next = block->next;

		free(block);
		block = next;
	}
	arena->first = arena->current = NULL;
}

static struct dt_arena_block *add_block(struct dt_arena *arena, size_t size)
{
	struct dt_arena_block *block = malloc(sizeof(*block) + size);

	if (!block)
		return NULL;
	block->next = NULL;
	block->size = size;
	block->used = 0;
	if (arena->current)
		arena->current->next = block;
	else
		arena->first = block;
	arena->current = block;
	return block;
}

void dt_arena_reset(struct dt_arena *arena)
{
	if (arena->first && arena->first->next) {
		size_t total = 0;

		for (struct dt_arena_block *block = arena->first; block; block = block->next)
			total += block->size;
		free_blocks(arena);
		add_block(arena, total); /* if this fails the next alloc tries again */
	}
	if (arena->first)
		arena->first->used = 0;
	arena->current = arena->first;
	arena->used = 0;
}

void dt_arena_release(struct dt_arena *arena)
{
	free_blocks(arena);
	arena->used = 0;
}

void *dt_arena_alloc(struct dt_arena *arena, size_t size)
{
	size_t limit = arena->limit ? arena->limit : DT_ARENA_LIMIT;
	struct dt_arena_block *block = arena->current;
	void *result;

	if (size > limit)
		return NULL;
	size = (size + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
	if (size > limit - arena->used)
		return NULL;
	if (!block || block->size - block->used < size) {
		size_t next = block ? block->size * 2 : FIRST_BLOCK;

		block = add_block(arena, next > size ? next : size);
		if (!block)
			return NULL;
	}
	result = block->data + block->used;
	block->used += size;
	arena->used += size;
	return result;
}

void *dt_arena_calloc(struct dt_arena *arena, size_t count, size_t size)
{
	void *result;

	if (size && count > SIZE_MAX / size)
		return NULL;
	result = dt_arena_alloc(arena, count * size);
	if (result)
		memset(result, 0, count * size);
	return result;
}

char *dt_arena_strndup(struct dt_arena *arena, const char *text, size_t length)
{
	char *copy = length == SIZE_MAX ? NULL : dt_arena_alloc(arena, length + 1);

	if (!copy)
		return NULL;
	memcpy(copy, text, length);
	copy[length] = '\0';
	return copy;
}

char *dt_arena_strdup(struct dt_arena *arena, const char *text)
{
	return dt_arena_strndup(arena, text, strlen(text));
}

char *dt_arena_printf(struct dt_arena *arena, const char *format, ...)
{
	va_list args;
	char *text;
	int length;

	va_start(args, format);
	length = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (length < 0)
		return NULL;
	text = dt_arena_alloc(arena, (size_t)length + 1);
	if (!text)
		return NULL;
	va_start(args, format);
	vsnprintf(text, (size_t)length + 1, format, args);
	va_end(args);
	return text;
}
