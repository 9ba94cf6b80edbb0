/* The index of what is interned: see intern.h. Slots keep the hash, so growing never looks at the content. */
#include "profile/intern.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_CAPACITY 64

int dt_intern_reserve(struct dt_intern *index)
{
	struct dt_intern bigger = {.capacity = index->capacity ? index->capacity * 2 : FIRST_CAPACITY};

	if (index->count + 1 <= index->capacity / 4 * 3)
		return 0;
	bigger.slots = calloc(bigger.capacity, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < index->capacity; i++)
		if (index->slots[i].id)
			dt_intern_add(&bigger, index->slots[i].hash, index->slots[i].id);
	free(index->slots);
	*index = bigger;
	return 0;
}

void dt_intern_add(struct dt_intern *index, uint32_t hash, uint32_t id)
{
	size_t i = hash & (index->capacity - 1);

	while (index->slots[i].id)
		i = (i + 1) & (index->capacity - 1);
	index->slots[i] = (struct dt_intern_slot){hash, id};
	index->count++;
}

void dt_intern_release(struct dt_intern *index)
{
	free(index->slots);
	*index = (struct dt_intern){0};
}
