/* How long a recording has lasted: until it was ended, or until the last look where nobody has looked for long. */
#include "unit.h"

#include "base/util.h"
#include "lib/recording.h"

#define MS UINT64_C(1000000)

static void test_lasted(void **state)
{
	static const struct {
		uint64_t until_ms, last_ms;
		double rate;
		uint64_t lasted_ms;
	} cases[] = {
	    {1000, 995, 100, 1000}, {1000, 951, 100, 1000}, {1170, 998, 100, 998}, {1000, 1003, 100, 1000},
	    {1000, 0, 100, 1000},   {6000, 2000, 1, 6000},  {9000, 2000, 1, 2000}, {1000, 990, 1000, 990},
	};

	(void)state;
	for (size_t i = 0; i < DT_COUNT(cases); i++)
		assert_int_equal(dt_recording_lasted(cases[i].until_ms * MS, cases[i].last_ms * MS, cases[i].rate),
				 cases[i].lasted_ms * MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_lasted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
