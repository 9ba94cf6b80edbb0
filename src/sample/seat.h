/*
 * Where a thread that samples sits while it waits for the next instant. In a perch: on the CPU of the thread that it
 * watches, so that the kernel puts that one aside when the instant comes, with the lowest real-time priority (FIFO) or,
 * from kernel 6.12 on and without any right, a short time slice (SLICE). Or beside: anywhere, and nobody is to be put
 * aside; a higher priority serves to be woken in time then. See perch.h for a perch that is taken for one look only.
 *
 * A seat belongs to the thread that took it. It is not inherited by children of ours, and who sits in FIFO and goes
 * round in circles is stopped by the kernel (RLIMIT_RTTIME).
 */
#ifndef DT_SAMPLE_SEAT_H
#define DT_SAMPLE_SEAT_H

#include <sched.h>
#include <stdbool.h>

#include "proc/thread_files.h"
#include "sample/perch.h"

enum dt_seat_kind {
	DT_SEAT_BESIDE,
	DT_SEAT_SLICE,
	DT_SEAT_FIFO,
};

struct dt_seat {
	enum dt_seat_kind kind;
	const char *why;   /* it is no better one: a word for people */
	const char *left;  /* why it was none while it was a slice; NULL: it never was one that was left */
	int cpu;           /* that we are bound to, -1: to none */
	uint64_t since_ns; /* dt_clock_ns() when we came there */
	int avoided;       /* the one that we keep off, -1: none */
	cpu_set_t allowed; /* where we may go */
	struct dt_sched saved;
	bool lent;  /* beside, but with a priority that is to be given back */
	bool brisk; /* which is a real-time one */
	int booked; /* the file that tells when the scheduler last booked our time, -1: there is none */
};

/* Takes the best seat that is to be had here, or with perch false one beside. brisk: we sleep most of the time, so that
 * beside we may have a real-time priority as well. Never fails. */
void dt_seat_take(struct dt_seat *seat, bool perch, bool brisk);

/* Goes down to a worse kind for a reason. */
void dt_seat_lower(struct dt_seat *seat, enum dt_seat_kind kind, const char *why);

/* From beside back into the slice that was left for it. False where there is none any more. */
bool dt_seat_return(struct dt_seat *seat);

/* Moves to a CPU, for the next instant or this one. False where we may not go. */
bool dt_seat_move(struct dt_seat *seat, int cpu);

/* Beside: leaves a CPU to the thread that runs there, if there is another one for us. */
void dt_seat_avoid(struct dt_seat *seat, int cpu);

/* For what takes long and needs no perch: we go off the CPU that we sit on, if there is another one, and have an
 * ordinary priority, until we sit down again. */
void dt_seat_stand_up(const struct dt_seat *seat);
void dt_seat_sit_down(const struct dt_seat *seat);

/* Was a thread with this account on our CPU until we came? Also true where that cannot be told. */
bool dt_seat_followed(const struct dt_seat *seat, const struct dt_thread_booked *booked);

/* Was a thread with this account, which is on our CPU, on it for the last time before since_ns (dt_clock_ns())? Then it
 * has not got on since, however late we come. False also where that cannot be told. */
bool dt_seat_stood(const struct dt_seat *seat, const struct dt_thread_booked *booked, uint64_t since_ns);

/* Makes us as we were. */
void dt_seat_leave(struct dt_seat *seat);

#endif
