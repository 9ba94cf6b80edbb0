/*
 * Rungs 1 and 2: we take the CPU that the watched thread runs on. With a real-time priority (or, from kernel 6.12 on, a
 * short time slice) the kernel puts the thread aside while we read, and nothing is done to it. Proof is the thread's
 * own figures: it belongs to our CPU, and it was not put on a CPU (slices) from before the read until after it.
 */
#ifndef DT_SAMPLE_PERCH_H
#define DT_SAMPLE_PERCH_H

#include <sched.h>

#include "proc/proc.h"

/* The kernel's struct sched_attr, which some C libraries name and some do not. */
struct dt_sched {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

#define DT_SCHED_RESET_ON_FORK 1u /* in flags: children of ours begin as ordinary threads */

#define DT_PERCH_NS            100000000u /* the longest that a perch may last */

struct dt_perch {
	bool affinity_changed, policy_changed;
	int cpu;
	uint64_t slices; /* of the watched thread when the perch began */
	uint64_t began_ns;
	cpu_set_t affinity;    /* ours, to go back to */
	struct dt_sched saved; /* ours, to go back to */
};

/* 0 when the thread is put aside; -EPERM (no way to perch here, do not try again), -EAGAIN (it moved or blocked). The
 * perch must be ended in any case where 0 was returned. */
int dt_perch_begin(const struct dt_proc *proc, int tid, struct dt_perch *perch);

/* True if the thread has not run since dt_perch_begin. */
bool dt_perch_held(const struct dt_proc *proc, int tid, const struct dt_perch *perch);

/* How we are scheduled ourselves. 0 or -1. */
int dt_perch_sched(struct dt_sched *sched);

/* The two ways to get a CPU when we want it, and the way back. False where the kernel refuses. */
bool dt_perch_fifo(void);
bool dt_perch_slice(const struct dt_sched *saved);
void dt_perch_give_back(const struct dt_sched *saved);

/* Gives the CPU back and makes us as we were. */
void dt_perch_end(struct dt_perch *perch);

#endif
