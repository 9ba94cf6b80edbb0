/*
 * The files of one thread, kept open: for who asks the kernel about the same thread a thousand times in a second. A
 * descriptor stays bound to its thread: once that has ended every answer is -ESRCH, also when its number is used again.
 * A file is opened when it is first asked for; where few descriptors are left it is not kept, but opened for each
 * question.
 */
#ifndef DT_PROC_THREAD_FILES_H
#define DT_PROC_THREAD_FILES_H

#include "proc/proc.h"

struct dt_thread_files {
	const struct dt_proc *proc;
	int tid;
	int stat, sched, call, booked; /* descriptors, -1: not open */
};

/* Nothing is opened yet. The process is borrowed. */
void dt_thread_files_init(struct dt_thread_files *files, const struct dt_proc *proc, int tid);
void dt_thread_files_release(struct dt_thread_files *files);

/* As the functions of proc.h without "_now". */
int dt_thread_stat_now(struct dt_thread_files *files, struct dt_thread_stat *stat);
int dt_thread_sched_now(struct dt_thread_files *files, struct dt_thread_sched *sched);
int dt_thread_call_now(struct dt_thread_files *files, struct dt_thread_call *call);

/* See dt_thread_booked_parse(). */
int dt_thread_booked_now(struct dt_thread_files *files, struct dt_thread_booked *booked);

#endif
