/* The host's processes: what can be said without a Python to look at. The rest is in the integration tests of ps. */
#include "unit.h"

#include <math.h>
#include <unistd.h>

#include "base/util.h"
#include "lib/process_list.h"
#include "lib/visit.h"

static void a_bad_expression_is_named(void **state)
{
	struct dt_error err = {0};
	size_t count;
	int *pids;

	(void)state;
	assert_int_equal(dt_find("a(b", &pids, &count, &err), DT_EUSAGE);
	assert_non_null(strstr(err.message, "'a(b' is not a POSIX extended regular expression: "));
}

static void a_name_that_nobody_has_finds_nothing(void **state)
{
	size_t count = 1;
	int *pids = NULL;

	(void)state;
	/* Our own command line does not hold it: it is in the program, not in the arguments. */
	assert_int_equal(dt_find("^no such program has this name$", &pids, &count, NULL), 0);
	assert_int_equal(count, 0);
	free(pids);
}

static void we_are_not_in_the_survey(void **state)
{
	struct dt_process_list *list;
	size_t count;
	int before = 0;

	(void)state;
	assert_int_equal(dt_survey(0, &list, NULL), 0);
	count = dt_process_list_count(list);
	for (size_t i = 0; i < count; i++) {
		const struct dt_process *process = dt_process_list_at(list, i);

		assert_true(process->pid > before);
		before = process->pid;
		assert_int_not_equal(process->pid, getpid());
		assert_non_null(process->command);
		assert_non_null(process->user);
		assert_true(process->cpu >= 0);
		assert_true((process->code == 0) == (process->reason == NULL));
	}
	assert_null(dt_process_list_at(list, count));
	dt_process_list_free(list);
	dt_process_list_free(NULL);
}

static void an_interval_must_make_sense(void **state)
{
	const double bad[] = {-1, NAN, INFINITY, 1e9};
	struct dt_process_list *list = NULL;

	(void)state;
	for (size_t i = 0; i < DT_COUNT(bad); i++)
		assert_int_equal(dt_survey(bad[i], &list, NULL), DT_EUSAGE);
	assert_null(list);
}

static void a_list_grows(void **state)
{
	struct dt_process_list *list = dt_process_list_new();

	(void)state;
	assert_non_null(list);
	for (int i = 0; i < 1000; i++) {
		struct dt_process *item = dt_process_list_add(list);

		assert_non_null(item);
		assert_int_equal(item->pid, 0);
		item->pid = i + 1;
	}
	assert_int_equal(dt_process_list_count(list), 1000);
	assert_int_equal(dt_process_list_at(list, 0)->pid, 1);
	assert_int_equal(dt_process_list_at(list, 999)->pid, 1000);
	dt_process_list_free(list);
}

static void cpu_time_is_as_exact_as_it_is_known(void **state)
{
	const uint64_t tick = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
	const struct dt_reading none = {0};
	struct dt_reading from = {.cpu_ticks = 7, .cpu_ns = 7 * tick + 100, .at = 1};
	struct dt_reading to = {.cpu_ticks = 7, .cpu_ns = 7 * tick + 3400100, .at = 100000001};

	(void)state;
	assert_int_equal(dt_reading_spent(&from, &to), 3400000);
	assert_true(fabs(dt_cpu_percent(3400000, 0.1) - 3.4) < 1e-9);
	assert_int_equal(dt_reading_spent(&none, &to), to.cpu_ns);
	assert_int_equal(dt_reading_spent(&to, &from), 0);
	/* One side is known in ticks alone: then both are. */
	from.cpu_ns = 0;
	assert_int_equal(dt_reading_spent(&from, &to), 0);
	to.cpu_ticks = 9;
	assert_int_equal(dt_reading_spent(&from, &to), 2 * tick);
	to.cpu_ns = 0;
	assert_int_equal(dt_reading_spent(&none, &to), 9 * tick);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_bad_expression_is_named),
	    cmocka_unit_test(a_name_that_nobody_has_finds_nothing),
	    cmocka_unit_test(we_are_not_in_the_survey),
	    cmocka_unit_test(an_interval_must_make_sense),
	    cmocka_unit_test(a_list_grows),
	    cmocka_unit_test(cpu_time_is_as_exact_as_it_is_known),
	};

	return cmocka_run_group_tests_name("survey", tests, NULL, NULL);
}
