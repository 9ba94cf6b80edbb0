/* Steps and time of one look. */
#include "python/budget.h"

#include <time.h>

#include "base/util.h"

#define FREE_NS UINT64_C(100000000)

static uint64_t cpu_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

void dt_budget_begin(struct dt_budget *budget, size_t steps)
{
	*budget = (struct dt_budget){.steps = steps, .free_until = dt_clock_ns() + FREE_NS};
}

bool dt_budget_in_time(struct dt_budget *budget)
{
	if (budget->cpu_end == 0) {
		if (dt_clock_ns() < budget->free_until)
			return true;
		budget->cpu_end = cpu_ns() + DT_BUDGET_CPU_NS;
	}
	if (cpu_ns() < budget->cpu_end)
		return true;
	budget->steps = 0;
	return false;
}
