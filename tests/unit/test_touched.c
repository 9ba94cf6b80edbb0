/* Which threads a look has touched: src/sample/touched.c. */
#include "unit.h"

#include "sample/recorder_inside.h"

#define THREADS 100

static struct dt_recorded threads[THREADS];

/* After so many looks that nothing is left of the first ones. */
static struct dt_recorder recorder_then(void)
{
	struct dt_recorder r = {.threads = threads, .count = THREADS};

	dt_recorder_begin(&r);
	dt_recorder_begin(&r);
	return r;
}

static void test_two_looks(void **state)
{
	struct dt_recorder r = {.threads = threads, .count = THREADS};
	struct dt_touched changed;

	(void)state;
	assert_false(dt_recorder_changed(&r, &changed)); /* nothing is known of what was before */
	dt_recorder_begin(&r);
	assert_false(dt_recorder_changed(&r, &changed));
	dt_recorder_begin(&r);
	dt_recorder_touch(&r, &threads[7]);
	dt_recorder_touch(&r, &threads[7]);
	assert_true(dt_recorder_changed(&r, &changed));
	assert_int_equal(changed.count, 1);
	dt_recorder_begin(&r);
	dt_recorder_touch(&r, &threads[99]);
	dt_recorder_touch(&r, &threads[7]);
	assert_true(dt_recorder_changed(&r, &changed));
	assert_int_equal(changed.count, 2);
	assert_int_equal(changed.list[0], 99);
	assert_int_equal(changed.list[1], 7);
	dt_recorder_begin(&r);
	dt_recorder_begin(&r);
	assert_true(dt_recorder_changed(&r, &changed));
	assert_int_equal(changed.count, 0);
}

/* Whoever is touched is fresh no more when the next look begins. */
static void test_begin(void **state)
{
	struct dt_recorder r = recorder_then();

	(void)state;
	dt_recorder_touch(&r, &threads[5]);
	threads[5].fresh = threads[5].waits = true;
	threads[5].state = DT_STATE_RUNNING;
	dt_recorder_begin(&r);
	assert_false(threads[5].fresh || threads[5].waits);
	assert_true(threads[5].waited);
	assert_int_equal(threads[5].before, DT_STATE_RUNNING);
	dt_recorder_touch_all(&r);
	threads[6].fresh = true;
	dt_recorder_begin(&r);
	assert_false(threads[6].fresh);
}

static void test_too_many(void **state)
{
	struct dt_recorder r = recorder_then();
	struct dt_touched changed;

	(void)state;
	for (size_t i = 0; i < 32; i++)
		dt_recorder_touch(&r, &threads[i]);
	assert_true(dt_recorder_changed(&r, &changed));
	dt_recorder_touch(&r, &threads[32]);
	assert_false(dt_recorder_changed(&r, &changed));
	r = recorder_then();
	for (size_t i = 0; i < 20; i++)
		dt_recorder_touch(&r, &threads[i]);
	dt_recorder_begin(&r);
	for (size_t i = 30; i < 50; i++) /* each list is complete, both together are too long */
		dt_recorder_touch(&r, &threads[i]);
	assert_false(dt_recorder_changed(&r, &changed));
}

/* For the look and for the one after it. */
static void test_all(void **state)
{
	struct dt_recorder r = recorder_then();
	struct dt_touched changed;

	(void)state;
	dt_recorder_touch_all(&r);
	assert_false(dt_recorder_changed(&r, &changed));
	dt_recorder_begin(&r);
	assert_false(dt_recorder_changed(&r, &changed));
	dt_recorder_begin(&r);
	assert_true(dt_recorder_changed(&r, &changed));
	dt_recorder_forget(&r);
	assert_false(dt_recorder_changed(&r, &changed));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_two_looks),
	    cmocka_unit_test(test_begin),
	    cmocka_unit_test(test_too_many),
	    cmocka_unit_test(test_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
