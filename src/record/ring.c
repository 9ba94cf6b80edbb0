/*
 * The ring: see ring.h.
 *
 *     data   [ size | message ... | size | message ... | SKIP |   free   ]
 *              ^ tail (reader)                           ^ head (published)   ^ put (writer's own)
 *
 * head, tail and put count bytes from the beginning of time; a place is the count modulo the size. A message lies in
 * one piece: where it would reach over the end, a word that says SKIP stands there instead and the message begins anew.
 */
#include "record/ring.h"

#include <stdatomic.h>
#include <stdlib.h>

#define ALIGN 8u
#define SKIP  UINT64_MAX

struct dt_ring {
	size_t size;
	uint64_t put;                       /* writer's own */
	_Alignas(64) _Atomic uint64_t head; /* written by the writer */
	_Alignas(64) _Atomic uint64_t tail; /* written by the reader */
	_Alignas(64) uint8_t data[];
};

struct dt_ring *dt_ring_new(size_t size)
{
	struct dt_ring *ring = aligned_alloc(64, sizeof(*ring) + size);

	if (!ring)
		return NULL;
	ring->size = size;
	ring->put = 0;
	atomic_init(&ring->head, 0);
	atomic_init(&ring->tail, 0);
	return ring;
}

void dt_ring_free(struct dt_ring *ring)
{
	free(ring);
}

static uint64_t *word_at(struct dt_ring *ring, uint64_t place)
{
	return (uint64_t *)(void *)(ring->data + (place & (ring->size - 1)));
}

void *dt_ring_put(struct dt_ring *ring, size_t size)
{
	uint64_t need = ((uint64_t)size + ALIGN - 1) / ALIGN * ALIGN + ALIGN;
	uint64_t to_end = ring->size - (ring->put & (ring->size - 1));
	uint64_t skip = need > to_end ? to_end : 0;
	uint64_t *word;

	if (size >= ring->size ||
	    ring->put + skip + need - atomic_load_explicit(&ring->tail, memory_order_acquire) > ring->size)
		return NULL;
	if (skip)
		*word_at(ring, ring->put) = SKIP;
	word = word_at(ring, ring->put + skip);
	*word = size;
	ring->put += skip + need;
	return word + 1;
}

void dt_ring_publish(struct dt_ring *ring)
{
	atomic_store_explicit(&ring->head, ring->put, memory_order_release);
}

void dt_ring_abandon(struct dt_ring *ring)
{
	ring->put = atomic_load_explicit(&ring->head, memory_order_relaxed);
}

const void *dt_ring_get(struct dt_ring *ring, size_t *size)
{
	uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
	uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
	uint64_t *word;

	if (tail == head)
		return NULL;
	word = word_at(ring, tail);
	if (*word == SKIP) {
		tail += ring->size - (tail & (ring->size - 1));
		atomic_store_explicit(&ring->tail, tail, memory_order_release);
		word = word_at(ring, tail);
	}
	*size = (size_t)*word;
	return word + 1;
}

void dt_ring_next(struct dt_ring *ring)
{
	uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
	uint64_t size = *word_at(ring, tail);

	atomic_store_explicit(&ring->tail, tail + (size + ALIGN - 1) / ALIGN * ALIGN + ALIGN, memory_order_release);
}
