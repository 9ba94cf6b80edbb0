/*
 * CPU time of threads that lived for so short a time that no look, or not their last moments, met them. By the clock of
 * the process it was spent; by the accounts of the threads that are known it was not. It is owed to threads of that
 * kind: to those that are met on a CPU by the first look at them, which are as many, on average, as there is such time.
 * So a program that makes a thread for each request has its functions with the shares of CPU time that they have.
 *
 * Only while each thread of the kernel is known: what a thread without Python has spent is nobody else's. A thread that
 * is just beginning or ending is not known for a moment.
 */
#ifndef DT_RECORD_STRAYS_H
#define DT_RECORD_STRAYS_H

#include "sample/recorder.h"

struct dt_strays {
	bool based;        /* base_ns holds */
	uint64_t base_ns;  /* of the clock of the process: what it had when nothing had been told */
	uint64_t known_ns; /* was told, or belongs to a time of which nothing is */
	uint64_t owed_ns;
	uint64_t asked_ns; /* dt_clock_ns() when the clock was last asked */
	uint64_t doubt_ns; /* since then not all threads are known; 0: they are */
	uint64_t asked_known_ns;
};

/* After a look, before it is told: gives what is owed to those that it met first, if some of them had a CPU. */
void dt_strays_give(struct dt_strays *strays, struct dt_recorded *threads, size_t count);

/* After a look was told, with what its threads have spent in all. Now and then the clock of the process is asked; where
 * threads come and go, each time: what one of them has spent is then not given to few others in one piece. */
void dt_strays_note(struct dt_strays *strays, struct dt_recorder *recorder, bool come_and_go, uint64_t told_ns,
		    uint64_t now_ns);

#endif
