/*
 * Messages from one thread to another, without a lock and without waiting: a ring of bytes with one writer and one
 * reader. The writer puts several messages together and publishes them at once or not at all, so the reader never sees
 * half a round. Where a ring is full it goes on in another piece of memory, a larger one if a round asks for that, up
 * to a limit; beyond that it refuses. Nobody waits for room.
 */
#ifndef DT_RECORD_RING_H
#define DT_RECORD_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dt_ring;

/* size is a power of two, at least 4096; `most` bytes are had at any time, size or more. NULL if out of memory. */
struct dt_ring *dt_ring_new(size_t size, size_t most);
void dt_ring_free(struct dt_ring *ring);

/* Writer: room for one message, aligned to 8 bytes, not cleared; NULL if there is none. Not published yet. It is the
 * writer's until the next put. */
void *dt_ring_put(struct dt_ring *ring, size_t size);
void dt_ring_publish(struct dt_ring *ring);
/* Takes back what was put since the last publish. */
void dt_ring_abandon(struct dt_ring *ring);

/* Reader: the next message, NULL if there is none. It is the reader's until dt_ring_next(). */
const void *dt_ring_get(struct dt_ring *ring, size_t *size);
void dt_ring_next(struct dt_ring *ring);

#endif
