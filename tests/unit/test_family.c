/* Who belongs to a tree: small families that are made for it, whose parents end before they are seen. */
#include "unit.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/family.h"

/* Processes that lose their parent become ours, as with an init. We are in no group of theirs where a test does not say
 * so. */
static int set_up(void **state)
{
	(void)state;
	return prctl(PR_SET_CHILD_SUBREAPER, 1);
}

/* Until it is killed; if a test fails before that, not for ever. */
static void stay(void)
{
	alarm(60);
	for (;;)
		pause();
}

/* A process in a group (0: a new one). */
static pid_t start(pid_t group)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		setpgid(0, group);
		stay();
	}
	setpgid(pid, group);
	return pid;
}

/* A process in a group, or in a session of its own (-1), whose parent has ended. */
static pid_t start_orphan(pid_t group)
{
	int out[2], status;
	pid_t between, pid;

	assert_int_equal(pipe(out), 0);
	between = fork();
	assert_true(between >= 0);
	if (between == 0) {
		if (group < 0 ? setsid() < 0 : setpgid(0, group) < 0)
			_exit(1);
		pid = fork();
		if (pid == 0)
			stay();
		_exit(write(out[1], &pid, sizeof(pid)) == sizeof(pid) ? 0 : 1);
	}
	assert_int_equal(waitpid(between, &status, 0), between);
	assert_int_equal(status, 0);
	assert_int_equal(read(out[0], &pid, sizeof(pid)), sizeof(pid));
	close(out[0]);
	close(out[1]);
	return pid;
}

static void end(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void list(struct dt_family *family, pid_t root)
{
	assert_int_equal(dt_family_list(family, true, &root, 1, NULL), 0);
}

static bool in_tree(const struct dt_family *family, pid_t pid)
{
	const struct dt_relative *one = dt_family_find(family, pid);

	assert_non_null(one);
	return one->tree;
}

static void an_orphan_is_known_by_its_group(void **state)
{
	struct dt_family family = {.orphans = true};
	pid_t root = start(0), old = start_orphan(root), orphan, daemon, stranger, last;

	(void)state;
	list(&family, root);
	orphan = start_orphan(root);
	daemon = start_orphan(-1);
	stranger = start(0);
	list(&family, root);
	assert_true(in_tree(&family, root));
	assert_true(in_tree(&family, orphan) && dt_family_find(&family, orphan)->fresh);
	/* It was there when nobody knew the tree yet, or has nothing to do with it. */
	assert_false(in_tree(&family, old) || in_tree(&family, daemon) || in_tree(&family, stranger));
	assert_false(in_tree(&family, getpid()));
	/* The leader of the group has gone, and its orphans have not. */
	end(root);
	last = start_orphan(root);
	list(&family, root);
	assert_true(in_tree(&family, last));
	end(last);
	end(stranger);
	end(daemon);
	end(orphan);
	end(old);
	dt_family_release(&family);
}

/* A desktop, say, that starts all programs in its own group. */
static void a_group_that_a_third_one_leads_tells_nothing(void **state)
{
	struct dt_family family = {.orphans = true};
	pid_t leader = start(0), root = start(leader), orphan;

	(void)state;
	list(&family, root);
	orphan = start_orphan(leader);
	list(&family, root);
	assert_true(in_tree(&family, root));
	assert_false(in_tree(&family, orphan) || in_tree(&family, leader));
	end(orphan);
	end(root);
	end(leader);
	dt_family_release(&family);
}

/* A script that starts one program after the other. */
static void a_child_of_another_is_no_orphan(void **state)
{
	struct dt_family family = {.orphans = true};
	pid_t root = start(getpgrp()), other;

	(void)state;
	list(&family, root);
	other = start(getpgrp());
	list(&family, root);
	assert_true(in_tree(&family, root));
	assert_false(in_tree(&family, other));
	end(other);
	end(root);
	dt_family_release(&family);
}

/* Where orphans become our own children nothing is guessed. */
static void orphans_count_only_if_they_are_asked_for(void **state)
{
	struct dt_family family = {0};
	pid_t root = start(0), orphan;

	(void)state;
	list(&family, root);
	orphan = start_orphan(root);
	list(&family, root);
	assert_false(in_tree(&family, orphan));
	end(orphan);
	end(root);
	dt_family_release(&family);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_orphan_is_known_by_its_group),
	    cmocka_unit_test(a_group_that_a_third_one_leads_tells_nothing),
	    cmocka_unit_test(a_child_of_another_is_no_orphan),
	    cmocka_unit_test(orphans_count_only_if_they_are_asked_for),
	};

	return cmocka_run_group_tests_name("family", tests, set_up, NULL);
}
