/*
 * How much of its CPU a target keeps while it is looked at in a perch: all but 3 % at up to 600 looks a second,
 * all but a twentieth at 1,000. A look at a stack of thousands of frames takes milliseconds, for which the target
 * waits; so where looks take long there are fewer of them.
 *
 * What was not used for a second may be used at once. After that it is the usual look that decides how long a rest is,
 * not the last one: were it that, what takes long to look at would be met less often than it should.
 */
#ifndef DT_RECORD_RESPITE_H
#define DT_RECORD_RESPITE_H

#include <stdint.h>

struct dt_respite {
	double left_ns;
	double usual_ns;   /* that a look has taken lately */
	uint64_t asked_ns; /* the last time; 0: never */
};

/* A look in a perch is over, which took so long. For how long there is to be none, at so many looks a second. */
uint64_t dt_respite_after(struct dt_respite *respite, double rate, uint64_t took_ns, uint64_t now_ns);

#endif
