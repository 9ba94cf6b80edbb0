/*
 * What one look may cost. A target decides how long its lists and chains are, and whether they lead in circles: without
 * a bound on the work, in steps and in time, it could keep us for hours, and be held meanwhile.
 *
 * Time is that of our own thread on a CPU: on a busy machine we wait more than we work, and that is not the target's
 * doing. It is counted from a tenth of a second after the beginning on: a usual look is over by then, and makes no
 * system call for it.
 */
#ifndef DT_PYTHON_BUDGET_H
#define DT_PYTHON_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DT_BUDGET_CPU_NS UINT64_C(1000000000)

struct dt_budget {
	size_t steps;        /* left */
	uint64_t free_until; /* dt_clock_ns() */
	uint64_t cpu_end;    /* of our thread; 0: not yet counted */
};

void dt_budget_begin(struct dt_budget *budget, size_t steps);

/* Whether there is time left. Once there is none there are no steps either. */
bool dt_budget_in_time(struct dt_budget *budget);

/* Takes one step; false if there is none left. Asks for the time once in a while: who does much in one step asks by
 * himself. */
static inline bool dt_budget_step(struct dt_budget *budget)
{
	if (!budget->steps || (budget->steps % 32 == 0 && !dt_budget_in_time(budget)))
		return false;
	budget->steps--;
	return true;
}

#endif
