/* Steps and time of one look. */
#include "python/budget.h"

#include "base/util.h"

#define FREE_NS UINT64_C(100000000)

void dt_budget_begin(struct dt_budget *budget, size_t steps)
{
	*budget = (struct dt_budget){.steps = steps, .free_until = dt_clock_ns() + FREE_NS};
}

bool dt_budget_in_time(struct dt_budget *budget)
{
	if (budget->cpu_end == 0) {
		if (dt_clock_ns() < budget->free_until)
			return true;
		budget->cpu_end = dt_cpu_ns() + DT_BUDGET_CPU_NS;
	}
	if (dt_cpu_ns() < budget->cpu_end)
		return true;
	budget->steps = 0;
	return false;
}
