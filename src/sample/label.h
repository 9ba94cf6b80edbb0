/*
 * Ids and states of the threads of a look: whom the kernel knows as which thread state, and what it says of it. Costs a
 * file or two for each thread.
 */
#ifndef DT_SAMPLE_LABEL_H
#define DT_SAMPLE_LABEL_H

#include "sample/hold.h"
#include "sample/sampler.h"
#include "sample/tids.h"

/* Fills tid, ns_tid, state and syscall of look->threads; a state that is DT_STATE_RUNNING already is kept. What is held
 * meanwhile runs, however it looks. 0 or -ENOMEM. */
int dt_label(const struct dt_holds *holds, struct dt_tids *tids, struct dt_mem *image, struct dt_arena *arena,
	     struct dt_look *look);

#endif
