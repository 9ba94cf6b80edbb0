/*
 * Steps that may never come back. Reading a page of another process that does not come (userfaultfd, a network file
 * system whose server is gone) blocks in the kernel, and nothing but the end of our own process ends that. So steps are
 * run by a worker thread, and one that waits too long is left behind: it stays blocked with what it works on, and
 * another worker goes on with the next step. In the usual case this costs one thread for all steps.
 */
#ifndef DT_BASE_PATIENCE_H
#define DT_BASE_PATIENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dt_patience {
	uint64_t limit_ns; /* how long one step may be blocked; the time in which it computes does not count */
	void *context;
	/* Says what step i is to do, in *work. False: no more steps. NULL if there is nothing to say. */
	bool (*begin)(void *context, void *work, size_t i);
	/* The part that may block. It may read and write *work and what only *work leads to, and nothing else of the
	 * caller's. */
	void (*step)(void *work, size_t i);
	/* Takes over what step i has found. False: no more steps. */
	bool (*done)(void *context, void *work, size_t i);
	/* Step i was left behind. Its work may be written at any later time, so that it is never freed; returns
	 * another one for the steps that follow, NULL: no more steps. Atomic fields of *work may be read here. */
	void *(*stuck)(void *context, void *work, size_t i);
};

/* Runs the steps 0 to count - 1, one after the other. begin, done and stuck are never called at the same time as
 * anything else, and all but stuck by the thread that runs the step. Returns the work that the caller has to free: the
 * given one, or the last one that stuck() returned. */
void *dt_patiently(const struct dt_patience *patience, void *work, size_t count);

/* Is a thread of this process blocked at this moment? One that computes, or wants to on a busy machine, will come back.
 */
bool dt_thread_blocked(int tid);

/* How many steps of this process were left behind. */
size_t dt_patience_left_behind(void);

#endif
