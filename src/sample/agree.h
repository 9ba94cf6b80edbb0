/*
 * The last rung: nothing may be held, so a thread is looked at again and again. A stack that several looks in a row
 * found the same, down to the instruction of each frame, is believed; of one that kept changing, the outer frames that
 * all looks had in common are kept. Looks that found a chain leading nowhere count for nothing.
 */
#ifndef DT_SAMPLE_AGREE_H
#define DT_SAMPLE_AGREE_H

#include "python/walk.h"

#define DT_AGREE_LOOKS 5 /* two are not enough: a loop comes back to the same place */

struct dt_agree_thread {
	uint64_t address;
	unsigned seen;                      /* looks that found a whole stack */
	unsigned equal;                     /* looks in a row, this one the last, that found the same */
	size_t common;                      /* outer frames that all of them had; 0 while there was only one */
	const struct dt_walk_frame *frames; /* of the stack to compare with, innermost first: for the next step */
	size_t frame_count;
};

struct dt_agree {
	struct dt_agree_thread *threads;
	size_t count;
};

/* Adds a look to what the looks before it agreed on (no threads at first). The result, parallel to walk->threads, is in
 * the arena and keeps nothing of the arena of the look before. 0 or -ENOMEM. */
int dt_agree_step(const struct dt_agree *before, const struct dt_walk *walk, struct dt_arena *arena,
		  struct dt_agree *result);

#endif
