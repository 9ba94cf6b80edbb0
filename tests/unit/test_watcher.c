/* When a thread that samples is said to hang, by clocks made up. */
#include "unit.h"

#include "base/util.h"
#include "record/watcher_inside.h"

#define MS UINT64_C(1000000)

/* So much time has passed since it was asked the last time. */
static bool hangs_after(struct dt_watcher *w, uint64_t ns)
{
	w->held.asked_ns -= ns;
	return dt_watcher_hangs(w);
}

static void a_stop_that_lasts_is_a_hang(void **state)
{
	struct dt_watcher w = {.stop = {.began_ns = dt_clock_ns()}};
	int asked = 0;

	(void)state;
	assert_false(dt_watcher_hangs(&w));
	while (!hangs_after(&w, 200 * MS))
		assert_true(++asked < 6);
	assert_int_equal(asked, 4);
	assert_true(dt_watcher_hangs(&w));
	w.stop.began_ns = 0;
	assert_false(dt_watcher_hangs(&w));
}

/* The stop began long ago, and nobody has asked since: our whole process may have stood. */
static void time_without_questions_does_not_count(void **state)
{
	struct dt_watcher w = {.stop = {.began_ns = dt_clock_ns() - 60000 * MS}};

	(void)state;
	assert_false(dt_watcher_hangs(&w));
	assert_false(hangs_after(&w, 60000 * MS));
	assert_false(hangs_after(&w, 200 * MS));
}

static void each_stop_is_judged_on_its_own(void **state)
{
	struct dt_watcher w = {0};

	(void)state;
	for (uint64_t i = 1; i <= 50; i++) {
		w.stop.began_ns = i;
		assert_false(hangs_after(&w, 200 * MS));
		assert_false(hangs_after(&w, 200 * MS));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_stop_that_lasts_is_a_hang),
	    cmocka_unit_test(time_without_questions_does_not_count),
	    cmocka_unit_test(each_stop_is_judged_on_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
