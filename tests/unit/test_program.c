/* A program that is started: a signal that comes before it has begun is its own. */
#include "unit.h"

#include <signal.h>

#include "cli/record.h"
#include "cli/signals.h"

static char *const words[] = {"true", NULL};

/* As Ctrl-C sends it: to all of a group. */
static void test_a_signal_before_it_begins(void **state)
{
	struct dt_program program = {0};
	struct dt_error err;

	(void)state;
	assert_int_equal(dt_program_prepare(&program, &err, words), 0);
	assert_int_equal(kill(program.pid, SIGINT), 0);
	assert_int_equal(dt_program_go(&program, words[0], &err), 0);
	dt_program_await(&program);
	assert_int_equal(program.exit_code, 128 + SIGINT);
}

static void test_a_signal_to_us_is_passed_on(void **state)
{
	struct dt_program program = {0};
	struct dt_error err;

	(void)state;
	raise(SIGTERM); /* before there is a process, */
	assert_int_equal(dt_signals_end(), SIGTERM);
	assert_int_equal(dt_program_prepare(&program, &err, words), 0);
	assert_int_equal(dt_signals_end(), 0);
	assert_int_equal(dt_program_go(&program, words[0], &err), 0);
	dt_program_await(&program);
	assert_int_equal(program.exit_code, 128 + SIGTERM);

	assert_int_equal(dt_program_prepare(&program, &err, words), 0);
	raise(SIGHUP); /* and while it waits */
	assert_int_equal(dt_program_go(&program, words[0], &err), 0);
	dt_program_await(&program);
	assert_int_equal(program.exit_code, 128 + SIGHUP);
	assert_int_equal(dt_signals_end(), 0);
}

static void test_otherwise_it_begins(void **state)
{
	struct dt_program program = {0};
	struct dt_error err;

	(void)state;
	assert_int_equal(dt_program_prepare(&program, &err, words), 0);
	assert_int_equal(dt_program_go(&program, words[0], &err), 0);
	dt_program_await(&program);
	assert_int_equal(program.exit_code, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_signal_before_it_begins),
	    cmocka_unit_test(test_a_signal_to_us_is_passed_on),
	    cmocka_unit_test(test_otherwise_it_begins),
	};

	/* Whoever runs the tests may have ignored some of them. */
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	dt_signals_begin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
