/*
 * How long a process may be kept stopped: one part in 140 of the time. What was not used for some seconds may be used
 * at once, for looks that need a stop come in bursts, and a recording begins with some of it; what is older than
 * that is gone, so a target that slept for an hour is not stopped all the time in the minute after it. What one stop
 * took too much (we lost our CPU) has to be paid back, for a minute at most. Pure logic.
 */
#ifndef DT_RECORD_ALLOWANCE_H
#define DT_RECORD_ALLOWANCE_H

#include <stdbool.h>
#include <stdint.h>

#define DT_STOPPED 140

struct dt_allowance {
	int64_t left_ns;
	uint64_t asked_ns; /* the last time; 0: never */
	uint64_t stood_ns; /* by then */
};

/* May a thread be stopped? stood_ns: how long all stops were so far. */
bool dt_allowance_ask(struct dt_allowance *allowance, uint64_t stood_ns, uint64_t now_ns);

/* For how long, as of the last question. */
uint64_t dt_allowance_left(const struct dt_allowance *allowance);

#endif
