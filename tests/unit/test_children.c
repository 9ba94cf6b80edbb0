/* Descendants of a process: of a small family that is made for it. */
#include "unit.h"

#include <sys/wait.h>
#include <unistd.h>

#include <darter/darter.h>

#include "base/util.h"

/* A child that makes `below` children of its own, reports all their pids through `out` (depth first), and stays until
 * the other end of `stay` is closed. */
static pid_t child(int below, int out, const int stay[2])
{
	pid_t pid = fork();
	char byte;

	assert_true(pid >= 0);
	if (pid)
		return pid;
	close(stay[1]);
	pid = getpid();
	if (write(out, &pid, sizeof(pid)) != sizeof(pid))
		_exit(1);
	for (int i = 0; i < below; i++) {
		if (fork() == 0) {
			pid = getpid();
			if (write(out, &pid, sizeof(pid)) != sizeof(pid))
				_exit(1);
			break;
		}
	}
	_exit(read(stay[0], &byte, 1) == 0 ? 0 : 1);
}

static bool contains(const int *pids, size_t count, int pid)
{
	for (size_t i = 0; i < count; i++)
		if (pids[i] == pid)
			return true;
	return false;
}

static void descendants_come_depth_first(void **state)
{
	int out[2], stay[2], status;
	pid_t first, second, seen[5];
	size_t count;
	int *pids;

	(void)state;
	assert_int_equal(pipe(out), 0);
	assert_int_equal(pipe(stay), 0);
	first = child(2, out[1], stay);
	second = child(1, out[1], stay);
	for (size_t i = 0; i < DT_COUNT(seen); i++)
		assert_int_equal(read(out[0], &seen[i], sizeof(seen[i])), sizeof(seen[i]));

	assert_int_equal(dt_children(getpid(), &pids, &count, NULL), 0);
	assert_int_equal(count, 5);
	for (size_t i = 0; i < DT_COUNT(seen); i++)
		assert_true(contains(pids, count, seen[i]));
	/* A child is followed by its own children, and brothers stand in the order of their pids. */
	if (first < second) {
		assert_int_equal(pids[0], first);
		assert_true(pids[1] < pids[2]);
		assert_int_equal(pids[3], second);
	} else { /* the pids have just begun anew */
		assert_int_equal(pids[0], second);
		assert_int_equal(pids[2], first);
		assert_true(pids[3] < pids[4]);
	}
	free(pids);

	assert_int_equal(dt_children(second, &pids, &count, NULL), 0);
	assert_int_equal(count, 1);
	free(pids);

	close(stay[1]);
	close(stay[0]);
	assert_int_equal(waitpid(first, &status, 0), first);
	assert_int_equal(status, 0);
	assert_int_equal(waitpid(second, &status, 0), second);
	assert_int_equal(status, 0);
	close(out[0]);
	close(out[1]);
}

static void a_process_that_is_not_there_is_not_found(void **state)
{
	struct dt_error err;
	size_t count;
	int *pids;

	(void)state;
	assert_int_equal(dt_children(INT32_MAX, &pids, &count, &err), DT_ENOTFOUND);
	assert_string_equal(err.message, "there is no process 2147483647");
	assert_int_equal(dt_children(-1, &pids, &count, NULL), DT_ENOTFOUND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(descendants_come_depth_first),
	    cmocka_unit_test(a_process_that_is_not_there_is_not_found),
	};

	return cmocka_run_group_tests_name("children", tests, NULL, NULL);
}
