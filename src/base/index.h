/*
 * Finds the members of an array by a number that they have: a hash table of their places. Several may have the same
 * number, and come in the order in which they were put. The table grows and does not shrink: filled again and again
 * with about as many it allocates nothing. Seeded, so that nobody who chooses the numbers can make it slow.
 */
#ifndef DT_BASE_INDEX_H
#define DT_BASE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dt_index_slot;

/* All zero: empty. */
struct dt_index {
	struct dt_index_slot *slots;
	size_t slot_count; /* a power of two, or 0 */
	size_t used;
	uint64_t seed;
};

void dt_index_release(struct dt_index *index);

/* Empties it, and makes room for so many. False: out of memory, it is empty. */
bool dt_index_clear(struct dt_index *index, size_t members);

/* False: out of memory, nothing was put. */
bool dt_index_put(struct dt_index *index, uint64_t number, size_t place);

/* The next one with this number; *step is 0 for the first, and kept from one to the next. False: there is no more. */
bool dt_index_next(const struct dt_index *index, uint64_t number, size_t *step, size_t *place);

#endif
