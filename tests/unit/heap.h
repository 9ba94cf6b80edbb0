/* A made-up heap of a foreign interpreter: objects are put down one behind the other, laid out as a layout says. */
#ifndef DT_TESTS_HEAP_H
#define DT_TESTS_HEAP_H

#include <string.h>

#include "base/util.h"
#include "mem/mem.h"
#include "python/layout.h"

#define HEAP_BASE UINT64_C(0x7f1200000000)
#define HEAP_SIZE ((size_t)512 << 10)

struct heap {
	const struct dt_layout *layout;
	size_t used;
	uint64_t str_type, bytes_type, int_type;
	struct dt_mem *mem;
	uint8_t data[HEAP_SIZE];
};

static inline uint8_t *heap_at(struct heap *heap, uint64_t address)
{
	assert_true(address >= HEAP_BASE && address - HEAP_BASE < HEAP_SIZE);
	return heap->data + (address - HEAP_BASE);
}

static inline void heap_set64(struct heap *heap, uint64_t address, uint64_t value)
{
	memcpy(heap_at(heap, address), &value, sizeof(value));
}

static inline void heap_set32(struct heap *heap, uint64_t address, uint32_t value)
{
	memcpy(heap_at(heap, address), &value, sizeof(value));
}

static inline uint64_t heap_alloc(struct heap *heap, size_t size)
{
	uint64_t address = HEAP_BASE + heap->used;

	assert_true(size <= HEAP_SIZE - heap->used);
	heap->used += (size + 15) & ~(size_t)15;
	return address;
}

static inline uint64_t heap_bytes_of(struct heap *heap, const void *data, size_t size)
{
	uint64_t address = heap_alloc(heap, size);

	memcpy(heap_at(heap, address), data, size);
	return address;
}

static inline uint64_t heap_object(struct heap *heap, uint64_t type, size_t size)
{
	uint64_t address = heap_alloc(heap, size);

	heap_set64(heap, address, 1);
	heap_set64(heap, address + heap->layout->object.ob_type, type);
	return address;
}

static inline uint64_t heap_type(struct heap *heap, const char *name, uint64_t flags)
{
	uint64_t type = heap_object(heap, 0, 1024);

	heap_set64(heap, type + heap->layout->type.name, heap_bytes_of(heap, name, strlen(name) + 1));
	heap_set64(heap, type + heap->layout->type.flags, flags);
	return type;
}

static inline void heap_init(struct heap *heap, const struct dt_layout *layout)
{
	struct dt_recorded_range range = {HEAP_BASE, heap->data, HEAP_SIZE};

	assert_non_null(layout);
	memset(heap, 0, sizeof(*heap));
	heap->layout = layout;
	heap->str_type = heap_type(heap, "str", layout->type.unicode_flag);
	heap->bytes_type = heap_type(heap, "bytes", layout->type.bytes_flag);
	heap->int_type = heap_type(heap, "int", layout->type.integer_flag);
	assert_int_equal(dt_mem_open_recorded(&range, 1, &heap->mem), 0);
}

static inline void heap_release(struct heap *heap)
{
	dt_mem_free(heap->mem);
}

static inline uint64_t heap_str_head(struct heap *heap, size_t count, unsigned kind, bool compact, bool ascii,
				     size_t extra)
{
	const struct dt_layout *layout = heap->layout;
	uint64_t object = heap_object(heap, heap->str_type, layout->unicode.compact_size + extra);
	uint32_t state = kind << layout->unicode.kind_shift | (uint32_t)compact << layout->unicode.compact_bit |
			 (uint32_t)ascii << layout->unicode.ascii_bit;

	heap_set64(heap, object + layout->unicode.length, count);
	heap_set64(heap, object + layout->unicode.length + 8, count * 1000003 + 1); /* the hash */
	heap_set32(heap, object + layout->unicode.state, state);
	return object;
}

/* A compact str that is not ASCII. */
static inline uint64_t heap_wide(struct heap *heap, const void *data, size_t count, unsigned kind)
{
	uint64_t object = heap_str_head(heap, count, kind, true, false, count * kind);

	if (count)
		memcpy(heap_at(heap, object + heap->layout->unicode.compact_size), data, count * kind);
	return object;
}

static inline uint64_t heap_str(struct heap *heap, const char *text)
{
	uint64_t object = heap_str_head(heap, strlen(text), 1, true, true, strlen(text));

	memcpy(heap_at(heap, object + heap->layout->unicode.ascii_size), text, strlen(text));
	return object;
}

static inline uint64_t heap_bytes(struct heap *heap, const void *data, size_t size)
{
	uint64_t object = heap_object(heap, heap->bytes_type, heap->layout->bytes.ob_sval + size + 1);

	heap_set64(heap, object + heap->layout->bytes.ob_size, size);
	memcpy(heap_at(heap, object + heap->layout->bytes.ob_sval), data, size);
	return object;
}

/* word: ob_size or lv_tag as it is in memory. */
static inline uint64_t heap_int(struct heap *heap, uint64_t word, const uint32_t *digits, size_t count)
{
	uint64_t object = heap_object(heap, heap->int_type, heap->layout->integer.digits + 4 * count);

	heap_set64(heap, object + heap->layout->integer.size_or_tag, word);
	if (count)
		memcpy(heap_at(heap, object + heap->layout->integer.digits), digits, 4 * count);
	return object;
}

#endif
