/* Who holds is counted before it asks whether it may: so who refuses sees it, or is seen. */
#include "sample/holding.h"

#include <stdatomic.h>

static atomic_int held;
static atomic_bool refused;

_Static_assert(ATOMIC_INT_LOCK_FREE == 2 && ATOMIC_BOOL_LOCK_FREE == 2, "signal handlers use them");

bool dt_holding_begin(void)
{
	atomic_fetch_add(&held, 1);
	if (!atomic_load(&refused))
		return true;
	atomic_fetch_sub(&held, 1);
	return false;
}

void dt_holding_end(void)
{
	atomic_fetch_sub(&held, 1);
}

bool dt_holding_refuse(void)
{
	atomic_store(&refused, true);
	return atomic_load(&held) == 0;
}

void dt_holding_allow(void)
{
	atomic_store(&refused, false);
}
