/*
 * Where a thread that samples sits while it waits for the next instant. In a perch: on the CPU of the thread that it
 * watches, so that the kernel puts that one aside when the instant comes, with the lowest real-time priority (FIFO) or,
 * from kernel 6.12 on and without any right, a short time slice (SLICE). Or beside: anywhere, with an ordinary
 * priority, and a short slice if there are any. See perch.h for a perch that is taken for one look only.
 *
 * A seat belongs to the thread that took it. It is not inherited by children of ours, and who sits in FIFO and goes
 * round in circles is stopped by the kernel (RLIMIT_RTTIME).
 */
#ifndef DT_SAMPLE_SEAT_H
#define DT_SAMPLE_SEAT_H

#include <sched.h>
#include <stdbool.h>

#include "sample/perch.h"

enum dt_seat_kind {
	DT_SEAT_BESIDE,
	DT_SEAT_SLICE,
	DT_SEAT_FIFO,
};

struct dt_seat {
	enum dt_seat_kind kind;
	const char *why;   /* it is no better one: a word for people */
	int cpu;           /* that we are bound to, -1: to none */
	cpu_set_t allowed; /* where we may go */
	struct dt_sched saved;
	bool brisk; /* beside, with a short time slice: nobody is put aside, but we are woken in time */
};

/* Takes the best seat that is to be had here, or with perch false one beside. Never fails. */
void dt_seat_take(struct dt_seat *seat, bool perch);

/* Goes down to a worse kind for a reason. */
void dt_seat_lower(struct dt_seat *seat, enum dt_seat_kind kind, const char *why);

/* Moves to a CPU, for the next instant or this one. False where we may not go. */
bool dt_seat_move(struct dt_seat *seat, int cpu);

/* Makes us as we were. */
void dt_seat_leave(struct dt_seat *seat);

#endif
