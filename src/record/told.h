/*
 * As what a thread is told and counted, and whether that is what was told of it last. Pure logic.
 */
#ifndef DT_RECORD_TOLD_H
#define DT_RECORD_TOLD_H

#include "sample/recorder.h"

/* Its stack was seen in a round that is lost, and it was not read again since. */
bool dt_told_lost(const struct dt_recorded *thread);

/* DT_RUN_* */
uint8_t dt_told_flags(const struct dt_recorded *thread);

/* Has it the stack, state, flags and call that were told? */
bool dt_told_same(const struct dt_recorded *thread);

/* Is there nothing to tell, nor to count anew? */
bool dt_told_all(const struct dt_recorded *thread);

/* How many threads are counted as what in each round: kept from round to round, by what has changed. */
enum dt_told_as { DT_TOLD_LIVES, DT_TOLD_UNSEEN, DT_TOLD_TORN, DT_TOLD_ACTIVE, DT_TOLD_COUNTS };

bool dt_told_lives(const struct dt_recorded *thread); /* as it was counted last */
void dt_told_count(struct dt_recorded *thread, unsigned counts[static DT_TOLD_COUNTS]);
void dt_told_count_none(struct dt_recorded *threads, size_t count, unsigned counts[static DT_TOLD_COUNTS]);

#endif
