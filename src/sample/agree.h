/*
 * The last rung: nothing may be held, so a thread is looked at again and again. A stack that several looks in a row
 * found the same, down to the instruction of each frame, is believed; of one that kept changing, the outer frames that
 * all looks had in common are kept.
 */
#ifndef DT_SAMPLE_AGREE_H
#define DT_SAMPLE_AGREE_H

#include "python/walk.h"

#define DT_AGREE_LOOKS 5 /* two are not enough: a loop comes back to the same place */

struct dt_agree_thread {
	uint64_t address;
	unsigned seen;  /* looks before this one that had the thread */
	unsigned equal; /* looks in a row that found the same */
	size_t common;  /* outer frames that all looks had, at least two of them */
};

struct dt_agree {
	struct dt_agree_thread *threads;
	size_t count;
};

/* Compares a look with the one before it (both in the same arena or not); previous may have no threads. The result,
 * parallel to walk->threads, is in the arena. *result of the previous comparison is carried on. 0 or -ENOMEM. */
int dt_agree_step(const struct dt_walk *previous, const struct dt_agree *before, const struct dt_walk *walk,
		  struct dt_arena *arena, struct dt_agree *result);

#endif
