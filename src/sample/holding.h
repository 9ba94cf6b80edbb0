/*
 * What this process holds at this moment: threads of others that are stopped, or that will stop as soon as they can.
 * Whoever may be stopped itself says before that nothing is to be held, and waits until nothing is. All of it may be
 * called by any thread, and in a signal handler.
 */
#ifndef DT_SAMPLE_HOLDING_H
#define DT_SAMPLE_HOLDING_H

#include <stdbool.h>

/* Before a thread is seized; false: not now. After true, dt_holding_end() follows once it is not traced any more. */
bool dt_holding_begin(void);
void dt_holding_end(void);

/* From now on nothing more is held, until dt_holding_allow(). True once nothing is. */
bool dt_holding_refuse(void);
void dt_holding_allow(void);

#endif
