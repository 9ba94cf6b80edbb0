/*
 * The ring: see ring.h.
 *
 *     piece  [ size | message ... | size | message ... | SKIP |   free   ]  -> next piece
 *              ^ tail (reader)                           ^ head (published)   ^ put (writer's own)
 *
 * head, tail and put count bytes from the beginning of a piece's time; a place is the count modulo its size. A message
 * lies in one piece of memory: where it would reach over the end, a word that says SKIP stands there instead and the
 * message begins anew.
 *
 * A round that does not fit is moved to another piece, which the reader cannot know of yet. Publishing it sets its
 * head, then `next` of the one before: that one is the reader's alone from then on, who frees it when it is empty. So
 * `next` is read before head: once it is set, no more follows there.
 */
#include "record/ring.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define ALIGN 8u
#define SKIP  UINT64_MAX

struct piece {
	size_t size;
	uint64_t put;                       /* writer's own */
	_Alignas(64) _Atomic uint64_t head; /* written by the writer */
	_Atomic(struct piece *) next;       /* the same */
	_Alignas(64) _Atomic uint64_t tail; /* written by the reader */
	_Alignas(64) uint8_t data[];
};

struct dt_ring {
	size_t size, most;
	_Atomic size_t had;  /* bytes of all pieces; changes when there is another one, or one less */
	struct piece *into;  /* writer: the last one that is published */
	struct piece *ahead; /* writer: has the round that is being put; NULL: `into` has it */
	struct piece *from;  /* reader */
};

static struct piece *new_piece(struct dt_ring *ring, size_t size)
{
	struct piece *piece;

	if (size > ring->most || atomic_load_explicit(&ring->had, memory_order_relaxed) > ring->most - size)
		return NULL;
	piece = aligned_alloc(64, sizeof(*piece) + size);
	if (!piece)
		return NULL;
	atomic_fetch_add_explicit(&ring->had, size, memory_order_relaxed);
	piece->size = size;
	piece->put = 0;
	atomic_init(&piece->head, 0);
	atomic_init(&piece->next, NULL);
	atomic_init(&piece->tail, 0);
	return piece;
}

static void free_piece(struct dt_ring *ring, struct piece *piece)
{
	if (piece)
		atomic_fetch_sub_explicit(&ring->had, piece->size, memory_order_relaxed);
	free(piece);
}

struct dt_ring *dt_ring_new(size_t size, size_t most)
{
	struct dt_ring *ring = malloc(sizeof(*ring));

	if (!ring)
		return NULL;
	*ring = (struct dt_ring){.size = size, .most = most};
	ring->into = ring->from = new_piece(ring, size);
	if (ring->into)
		return ring;
	free(ring);
	return NULL;
}

void dt_ring_free(struct dt_ring *ring)
{
	struct piece *next;

	if (!ring)
		return;
	for (struct piece *piece = ring->from; piece; piece = next) {
		next = atomic_load(&piece->next);
		free_piece(ring, piece);
	}
	free_piece(ring, ring->ahead);
	free(ring);
}

static uint64_t *word_at(struct piece *piece, uint64_t place)
{
	return (uint64_t *)(void *)(piece->data + (place & (piece->size - 1)));
}

/* A message with the word that says how large it is. */
static uint64_t room_for(uint64_t size)
{
	return (size + ALIGN - 1) / ALIGN * ALIGN + ALIGN;
}

/* Where the message lies that begins at a place, or is to. */
static uint64_t begin_of(struct piece *piece, uint64_t place, bool skip)
{
	return skip ? place + piece->size - (place & (piece->size - 1)) : place;
}

static void *put(struct piece *piece, size_t size)
{
	uint64_t need = room_for(size);
	bool skip = need > piece->size - (piece->put & (piece->size - 1));
	uint64_t begin = begin_of(piece, piece->put, skip);
	uint64_t *word;

	if (begin + need - atomic_load_explicit(&piece->tail, memory_order_acquire) > piece->size)
		return NULL;
	if (skip)
		*word_at(piece, piece->put) = SKIP;
	word = word_at(piece, begin);
	*word = size;
	piece->put = begin + need;
	return word + 1;
}

/* A piece that has room for what was put since the last publish and as much again, and for one message more. That is
 * moved there. */
static struct piece *go_ahead(struct dt_ring *ring, struct piece *old, size_t more)
{
	uint64_t place = atomic_load_explicit(&old->head, memory_order_relaxed);
	uint64_t need = (old->put - place) * 2 + room_for(more);
	size_t size = ring->size;
	struct piece *piece;

	while (size < need && size <= ring->most / 2)
		size *= 2;
	piece = size < need ? NULL : new_piece(ring, size);
	while (piece && place != old->put) {
		uint64_t begin = begin_of(old, place, *word_at(old, place) == SKIP);
		const uint64_t *word = word_at(old, begin);
		void *copy = put(piece, (size_t)*word);

		memcpy(copy, word + 1, (size_t)*word);
		place = begin + room_for(*word);
	}
	return piece;
}

void *dt_ring_put(struct dt_ring *ring, size_t size)
{
	struct piece *piece = ring->ahead ? ring->ahead : ring->into;
	void *message = size <= ring->most ? put(piece, size) : NULL;

	if (message || size > ring->most)
		return message;
	piece = go_ahead(ring, piece, size);
	if (!piece)
		return NULL;
	free_piece(ring, ring->ahead);
	ring->ahead = piece;
	return put(piece, size);
}

void dt_ring_publish(struct dt_ring *ring)
{
	struct piece *piece = ring->ahead ? ring->ahead : ring->into;

	atomic_store_explicit(&piece->head, piece->put, memory_order_release);
	if (!ring->ahead)
		return;
	atomic_store_explicit(&ring->into->next, piece, memory_order_release);
	ring->into = piece;
	ring->ahead = NULL;
}

void dt_ring_abandon(struct dt_ring *ring)
{
	free_piece(ring, ring->ahead);
	ring->ahead = NULL;
	ring->into->put = atomic_load_explicit(&ring->into->head, memory_order_relaxed);
}

const void *dt_ring_get(struct dt_ring *ring, size_t *size)
{
	for (;;) {
		struct piece *piece = ring->from;
		struct piece *next = atomic_load_explicit(&piece->next, memory_order_acquire);
		uint64_t tail = atomic_load_explicit(&piece->tail, memory_order_relaxed);
		uint64_t head = atomic_load_explicit(&piece->head, memory_order_acquire);
		uint64_t *word;

		if (tail != head) {
			word = word_at(piece, tail);
			if (*word == SKIP) {
				tail = begin_of(piece, tail, true);
				atomic_store_explicit(&piece->tail, tail, memory_order_release);
				word = word_at(piece, tail);
			}
			*size = (size_t)*word;
			return word + 1;
		}
		if (!next)
			return NULL;
		ring->from = next;
		free_piece(ring, piece);
	}
}

void dt_ring_next(struct dt_ring *ring)
{
	struct piece *piece = ring->from;
	uint64_t tail = atomic_load_explicit(&piece->tail, memory_order_relaxed);

	atomic_store_explicit(&piece->tail, tail + room_for(*word_at(piece, tail)), memory_order_release);
}
