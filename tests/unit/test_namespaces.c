/* Targets that see another root, or other process ids, than we do. Skipped where we may not make such a target. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/util.h"
#include "proc/proc.h"

struct target {
	pid_t pid;
	struct dt_proc proc;
};

/* A child that enters `root` (if there is one) in new namespaces, tells so, and waits to be killed. */
static bool start(struct target *target, unsigned long namespaces, const char *root)
{
	char byte = 0;
	int ready[2];

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	target->pid = (pid_t)syscall(SYS_clone, namespaces | SIGCHLD, NULL, NULL, NULL, 0UL);
	if (target->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (!root || (!chroot(root) && !chdir("/")))
			if (write(ready[1], "x", 1) == 1)
				for (;;)
					pause();
		_exit(1);
	}
	close(ready[1]);
	if (target->pid > 0 && read(ready[0], &byte, 1) != 1)
		waitpid(target->pid, NULL, 0);
	close(ready[0]);
	if (byte != 'x')
		return false;
	assert_int_equal(dt_proc_open(target->pid, &target->proc), 0);
	return true;
}

static void stop(struct target *target)
{
	assert_int_equal(kill(target->pid, SIGKILL), 0);
	assert_int_equal(waitpid(target->pid, NULL, 0), target->pid);
	dt_proc_release(&target->proc);
}

static void thread_ids_are_translated(void **state)
{
	struct target target;
	int ns_tid;

	(void)state;
	if (!start(&target, CLONE_NEWPID, NULL) && !start(&target, CLONE_NEWPID | CLONE_NEWUSER, NULL))
		skip();
	assert_int_equal(dt_thread_ns_tid(&target.proc, target.pid, &ns_tid), 0);
	assert_int_equal(ns_tid, 1);
	assert_false(dt_proc_same_pid_ns(&target.proc));
	stop(&target);
	assert_true(start(&target, 0, NULL));
	assert_int_equal(dt_thread_ns_tid(&target.proc, target.pid, &ns_tid), 0);
	assert_int_equal(ns_tid, target.pid);
	assert_true(dt_proc_same_pid_ns(&target.proc));
	stop(&target);
}

static void write_file(const char *dir, const char *name, const char *text)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static void assert_reads(const struct dt_proc *proc, const char *path, const char *expected)
{
	int fd = dt_proc_open_file(proc, path);
	char text[16] = "";

	assert_true(fd >= 0);
	assert_true(read(fd, text, sizeof(text) - 1) >= 0);
	assert_string_equal(text, expected);
	close(fd);
}

/* outer/file is ours, outer/root/file the target's; every way that the target can name it must lead to its own. */
static void links_stay_in_the_root_of_the_target(void **state)
{
	char outer[] = "/tmp/darter-root-XXXXXX", root[64], path[128], ours[64];
	struct target target;
	bool started;

	(void)state;
	assert_non_null(mkdtemp(outer));
	snprintf(root, sizeof(root), "%s/root", outer);
	assert_int_equal(mkdir(root, 0755), 0);
	write_file(outer, "file", "ours");
	write_file(root, "file", "theirs");
	snprintf(path, sizeof(path), "%s/absolute", root);
	assert_int_equal(symlink("/file", path), 0);
	snprintf(path, sizeof(path), "%s/upward", root);
	assert_int_equal(symlink("../../../file", path), 0);
	snprintf(ours, sizeof(ours), "%s/file", outer);
	snprintf(path, sizeof(path), "%s/outside", root);
	assert_int_equal(symlink(ours, path), 0);
	started = start(&target, 0, root) || start(&target, CLONE_NEWUSER, root);
	if (started) {
		assert_reads(&target.proc, "/file", "theirs");
		assert_reads(&target.proc, "/../file", "theirs");
		assert_reads(&target.proc, "file", "theirs");
		assert_reads(&target.proc, "/absolute", "theirs");
		assert_reads(&target.proc, "/upward", "theirs");
		assert_int_equal(dt_proc_open_file(&target.proc, "/outside"), -ENOENT);
		assert_int_equal(dt_proc_open_file(&target.proc, ours), -ENOENT);
		stop(&target);
	}
	for (const char *const *name = (const char *const[]){"absolute", "upward", "outside", "file", NULL}; *name;
	     name++) {
		snprintf(path, sizeof(path), "%s/%s", root, *name);
		assert_int_equal(unlink(path), 0);
	}
	assert_int_equal(unlink(ours), 0);
	assert_int_equal(rmdir(root), 0);
	assert_int_equal(rmdir(outer), 0);
	if (!started)
		skip();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(thread_ids_are_translated),
	    cmocka_unit_test(links_stay_in_the_root_of_the_target),
	};

	return cmocka_run_group_tests_name("namespaces", tests, NULL, NULL);
}
