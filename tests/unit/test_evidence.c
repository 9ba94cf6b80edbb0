/* What the doctor collects before it judges a refusal. */
#include "unit.h"

#include <sys/wait.h>
#include <unistd.h>

#include "base/small_file.h"
#include "base/util.h"
#include "doctor/refusal.h"

static void status_fields_are_found_by_name(void **state)
{
	const char *text = "Name:\tUid:\t9\nUid:\t1\t2\t3\t4\nCapEff:\t00ff\nEmpty:\n";
	uint64_t values[3] = {0};

	(void)state;
	assert_int_equal(dt_field_numbers(text, "Uid", 10, values, 3), 3);
	assert_int_equal(values[0], 1);
	assert_int_equal(values[2], 3);
	assert_int_equal(dt_field_numbers(text, "CapEff", 16, values, 1), 1);
	assert_int_equal(values[0], 0xff);
	assert_int_equal(dt_field_numbers(text, "Empty", 10, values, 1), 0);
	assert_int_equal(dt_field_numbers(text, "Absent", 10, values, 1), 0);
}

static void evidence_of_ourselves_is_true(void **state)
{
	struct dt_evidence e;
	struct dt_error err;
	int status;
	pid_t child;

	(void)state;
	dt_evidence_self(&e.self);
	dt_evidence_target(getpid(), &e.target);
	assert_true(e.target.visible);
	assert_int_equal(e.target.uids[1], geteuid());
	assert_int_equal(e.self.egid, getegid());
	assert_int_equal(e.target.same_user_ns, DT_KNOWN_YES);
	assert_true(strstr(e.self.command, "test_evidence") != NULL);

	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		_exit(0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(dt_refusal_explain(child, &err), DT_EENDED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(status_fields_are_found_by_name),
	    cmocka_unit_test(evidence_of_ourselves_is_true),
	};

	return cmocka_run_group_tests_name("evidence", tests, NULL, NULL);
}
