/*
 * What the kernel itself keeps in the memory of a process: some bytes of chance for each program that is begun
 * (AT_RANDOM), and for each thread the CPU that it is on, where its C library has asked for that (rseq, glibc from 2.35
 * on). A thread that comes to another CPU finds that changed before it executes anything there outside of the kernel.
 *
 * So if both are as they were after a stack was read, from the CPU that the thread was last on, that was the stack of
 * the same program, and the thread was not at it from another CPU. One call of the kernel tells both, where the files
 * that tell the same take two, with text to be made and parsed.
 */
#ifndef DT_SAMPLE_IMPRINT_H
#define DT_SAMPLE_IMPRINT_H

#include "mem/mem.h"
#include "proc/proc.h"

#define DT_IMPRINT_BYTES 16

struct dt_imprint {
	bool tried, known;
	uint64_t random_address;
	uint8_t random[DT_IMPRINT_BYTES];
	uint64_t rseq; /* of a thread, counted from pthread_self() */
};

/* Once for a process. The memory must have been watched since the process was found: see dt_live_watch(). known: there
 * is something to hold on to. */
void dt_imprint_learn(struct dt_imprint *imprint, const struct dt_proc *proc, struct dt_mem *live);

/* Is it the same program, and was this the last CPU of the thread with that pthread_self()? False also if nobody knows.
 */
bool dt_imprint_holds(const struct dt_imprint *imprint, struct dt_mem *live, uint64_t ident, int cpu);

#endif
