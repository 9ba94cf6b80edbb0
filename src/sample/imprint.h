/*
 * What the kernel itself keeps in the memory of a process: some bytes of chance for each program that is begun
 * (AT_RANDOM), and for each thread the CPU that it is on, where its C library has asked for that (rseq, glibc from 2.35
 * on). A thread that comes to another CPU finds that changed before it executes anything there outside of the kernel.
 *
 * So if both are as they were after a stack was read, from the CPU that the thread was last on, that was the stack of
 * the same program, and the thread was not at it from another CPU. Both may be read in the call that reads the stack,
 * behind it, where the files that tell the same take two calls, with text to be made and parsed.
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

/* What is to be read for a thread with that pthread_self(), and does it say that it is the same program, and that this
 * was the thread's last CPU? */
#define DT_IMPRINT_RANGES 2
struct dt_imprint_copy {
	uint8_t rseq[8]; /* cpu_id_start, cpu_id */
	uint8_t random[DT_IMPRINT_BYTES];
};
void dt_imprint_ranges(const struct dt_imprint *imprint, uint64_t ident, struct dt_imprint_copy *copy,
		       struct dt_range ranges[DT_IMPRINT_RANGES]);
bool dt_imprint_fits(const struct dt_imprint *imprint, const struct dt_imprint_copy *copy, int cpu);

/* Both at once, by a call of its own. False also if nobody knows. */
bool dt_imprint_holds(const struct dt_imprint *imprint, struct dt_mem *live, uint64_t ident, int cpu);

#endif
