/*
 * What is missing of a recording whose file is damaged. Its figures were counted while it was made, so those of the
 * last block are of all of it: they are brought down to what is left, and the rest is kept as a figure of its own.
 */
#ifndef DT_PROFILE_DAMAGE_H
#define DT_PROFILE_DAMAGE_H

#include "profile/profile.h"

struct file_hole {
	uint64_t from, to;
};

/* All zero is none. */
struct file_damage {
	struct file_hole *holes; /* times of which something was lost, in order and apart */
	size_t count, capacity;
	uint64_t until_ns; /* where the last block that was read ends */
};

/* A block was read that goes up to there; hurt: something of it is lost, or those before it are. 0 or -ENOMEM. */
int file_damage_note(struct file_damage *damage, uint64_t until_ns, bool hurt);

/* Everything was read. 0 or -ENOMEM. */
int file_damage_settle(const struct file_damage *damage, struct dt_profile *profile);

void file_damage_release(struct file_damage *damage);

#endif
