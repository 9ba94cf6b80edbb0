/*
 * An index from content to numbers: open addressing, linear steps, at most three quarters full. It knows hashes and
 * numbers alone; what lies behind a number is its owner's, who compares.
 */
#ifndef DT_PROFILE_INTERN_H
#define DT_PROFILE_INTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dt_intern_slot {
	uint32_t hash;
	uint32_t id; /* 0: free */
};

/* All zero is an empty one. */
struct dt_intern {
	struct dt_intern_slot *slots;
	size_t capacity; /* a power of two, or 0 */
	size_t count;
};

typedef bool dt_intern_same_fn(const void *key, uint32_t id);

/* The number whose content is the key, 0 if there is none. */
static inline uint32_t dt_intern_find(const struct dt_intern *index, uint32_t hash, dt_intern_same_fn *same,
				      const void *key)
{
	if (!index->capacity)
		return 0;
	for (size_t i = hash;; i++) {
		const struct dt_intern_slot *slot = &index->slots[i & (index->capacity - 1)];

		if (!slot->id || (slot->hash == hash && same(key, slot->id)))
			return slot->id;
	}
}

/* Makes room for one more, 0 or -ENOMEM; dt_intern_add() cannot fail after it. */
int dt_intern_reserve(struct dt_intern *index);
void dt_intern_add(struct dt_intern *index, uint32_t hash, uint32_t id);

void dt_intern_release(struct dt_intern *index);

#endif
