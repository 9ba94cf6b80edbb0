/*
 * From Python's idea of a thread to the kernel's. From 3.11 on a thread state has the kernel's id as the target's PID
 * namespace numbers it; before, it has the address of the C library's struct pthread, in which the id stands at a place
 * that is found by looking for ids that we know. Both are turned into the ids that we see through
 * /proc/PID/task/TID/status.
 *
 * A thread state names the thread that made it until its own thread has begun to run, so one id may come twice: the
 * older thread state is believed.
 */
#ifndef DT_SAMPLE_TIDS_H
#define DT_SAMPLE_TIDS_H

#include "mem/mem.h"
#include "proc/proc.h"
#include "python/walk.h"

struct dt_tids;

struct dt_tids *dt_tids_new(const struct dt_proc *proc);
void dt_tids_free(struct dt_tids *tids);

/* Begins a look: threads that have begun since are found again. */
void dt_tids_begin(struct dt_tids *tids);

/* The id, as we see it, of the thread that a thread state belongs to, and in its namespace; 0 if it cannot be told. */
int dt_tids_of(struct dt_tids *tids, struct dt_mem *mem, uint64_t ident, uint64_t native, int *ns_tid);

/* The same from the C library alone: a program that forked without Python's knowledge has its parent's ids. */
int dt_tids_by_ident(struct dt_tids *tids, struct dt_mem *mem, uint64_t ident, int *ns_tid);

/* Learns where the C library keeps the id from threads of this walk; once, and only if Python does not tell (cheap to
 * call). */
void dt_tids_learn(struct dt_tids *tids, struct dt_mem *mem, const struct dt_walk *walk);

#endif
