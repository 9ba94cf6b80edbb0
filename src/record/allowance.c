/* How long a target may be kept stopped: see allowance.h. */
#include "record/allowance.h"

#include "base/util.h"

#define NS_PER_S INT64_C(1000000000)
#define FIRST_NS (NS_PER_S / 4 / DT_STOPPED) /* some 30 stops: with it the first second has 0.9 % */
#define MOST_NS  (4 * NS_PER_S / DT_STOPPED)
#define DEBT_NS  (60 * NS_PER_S / DT_STOPPED)

bool dt_allowance_ask(struct dt_allowance *a, uint64_t stood_ns, uint64_t now_ns)
{
	int64_t stood = (int64_t)(stood_ns - a->stood_ns), passed = (int64_t)(now_ns - a->asked_ns);

	if (!a->asked_ns) {
		passed = 0;
		a->left_ns = FIRST_NS;
	}
	a->asked_ns = now_ns;
	a->stood_ns = stood_ns;
	/* What is saved is bounded before the stops are paid: else time that was too long to be saved would pay for
	 * them. */
	a->left_ns = DT_MIN(a->left_ns + passed / DT_STOPPED, MOST_NS) - stood;
	a->left_ns = DT_MAX(a->left_ns, -DEBT_NS);
	return a->left_ns > 0;
}

uint64_t dt_allowance_left(const struct dt_allowance *a)
{
	return (uint64_t)DT_MAX(a->left_ns, 0);
}
