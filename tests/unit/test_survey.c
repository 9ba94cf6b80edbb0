/* The host's processes: what can be said without a Python to look at. The rest is in the integration tests of ps. */
#include "unit.h"

#include <math.h>
#include <unistd.h>

#include "base/util.h"
#include "lib/process_list.h"

static void a_bad_expression_is_named(void **state)
{
	struct dt_error err = {0};
	size_t count;
	int *pids;

	(void)state;
	assert_int_equal(dt_find("a(b", &pids, &count, &err), DT_EUSAGE);
	assert_non_null(strstr(err.message, "\"a(b\" is not a regular expression: "));
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

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_bad_expression_is_named),
	    cmocka_unit_test(a_name_that_nobody_has_finds_nothing),
	    cmocka_unit_test(we_are_not_in_the_survey),
	    cmocka_unit_test(an_interval_must_make_sense),
	    cmocka_unit_test(a_list_grows),
	};

	return cmocka_run_group_tests_name("survey", tests, NULL, NULL);
}
