/* Places by a number: see index.h. Open addressing, at least half of the slots free. */
#include "base/index.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define FIRST_SLOTS ((size_t)64)

struct dt_index_slot {
	uint64_t number;
	size_t place; /* and one more; 0: free */
};

void dt_index_release(struct dt_index *index)
{
	free(index->slots);
	*index = (struct dt_index){0};
}

/* Numbers are addresses and the like: they differ in the middle, and the upper half of a product depends on all of it.
 */
static size_t slot_of(const struct dt_index *index, uint64_t number, size_t step)
{
	uint64_t mixed = (number ^ index->seed) * UINT64_C(0x9e3779b97f4a7c15);

	mixed = (mixed ^ mixed >> 29) * UINT64_C(0xc2b2ae3d27d4eb4f);
	return ((size_t)(mixed >> 32) + step) & (index->slot_count - 1);
}

static void enter(struct dt_index *index, uint64_t number, size_t place)
{
	size_t step = 0, at = slot_of(index, number, 0);

	while (index->slots[at].place)
		at = slot_of(index, number, ++step);
	index->slots[at] = (struct dt_index_slot){number, place};
}

static bool resize(struct dt_index *index, size_t count)
{
	struct dt_index_slot *before = index->slots, *slots = calloc(count, sizeof(*slots));
	size_t count_before = index->slot_count, begin = 0;

	if (!slots)
		return false;
	if (!index->seed)
		index->seed = dt_hash_seed();
	index->slots = slots;
	index->slot_count = count;
	/* From behind a free slot on: so those with the same number stay in their order. */
	while (index->used && before[begin].place)
		begin++;
	for (size_t i = 0; index->used && i < count_before; i++) {
		const struct dt_index_slot *slot = &before[(begin + i) & (count_before - 1)];

		if (slot->place)
			enter(index, slot->number, slot->place);
	}
	free(before);
	return true;
}

bool dt_index_clear(struct dt_index *index, size_t members)
{
	size_t count = index->slot_count ? index->slot_count : FIRST_SLOTS;

	if (index->used)
		memset(index->slots, 0, index->slot_count * sizeof(*index->slots));
	index->used = 0;
	while (count / 2 < members)
		count *= 2;
	return count == index->slot_count || resize(index, count);
}

bool dt_index_put(struct dt_index *index, uint64_t number, size_t place)
{
	if (index->used >= index->slot_count / 2 &&
	    !resize(index, index->slot_count ? index->slot_count * 2 : FIRST_SLOTS))
		return false;
	enter(index, number, place + 1);
	index->used++;
	return true;
}

bool dt_index_next(const struct dt_index *index, uint64_t number, size_t *step, size_t *place)
{
	while (index->used) {
		const struct dt_index_slot *slot = &index->slots[slot_of(index, number, (*step)++)];

		if (!slot->place)
			return false;
		*place = slot->place - 1;
		if (slot->number == number)
			return true;
	}
	return false;
}
