/* Files that a target names: what is opened, what is refused, and the way without the newer system call. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../filter.h"
#include "base/util.h"
#include "proc/proc.h"

static void only_plain_files_are_opened(void **state)
{
	char dir[] = "/tmp/darter-files-XXXXXX", fifo[64], file[64], link[64];
	struct dt_proc proc;
	int fd;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(fifo, sizeof(fifo), "%s/fifo", dir);
	snprintf(file, sizeof(file), "%s/file", dir);
	snprintf(link, sizeof(link), "%s/link", dir);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(symlink("file", link), 0);
	fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(dt_proc_open(getpid(), &proc), 0);
	fd = dt_proc_open_file(&proc, file);
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
	fd = dt_proc_open_file(&proc, link);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(dt_proc_open_file(&proc, fifo), -EINVAL);
	assert_int_equal(dt_proc_open_file(&proc, dir), -EINVAL);
	assert_int_equal(dt_proc_open_file(&proc, "/dev/null"), -EINVAL);
	assert_int_equal(dt_proc_open_file(&proc, "/proc/uptime"), -EINVAL);
	assert_int_equal(dt_proc_open_file(&proc, "/no such file"), -ENOENT);
	assert_true(dt_proc_open_file(&proc, "") < 0);
	assert_true(dt_proc_open_file(&proc, "../../../../../../etc/passwd") < 0);
	dt_proc_release(&proc);
	unlink(fifo);
	unlink(link);
	unlink(file);
	rmdir(dir);
}

/* What is below a root, and what only seems to be; the same with and without openat2. */
static const struct {
	const char *path;
	int code; /* 0: it is the file inside */
} below[] = {
    {"/in/file", 0},
    {"in/file", 0},
    {"//in/./../in///file", 0},
    {"/../../in/file", 0},
    {"/absolute", 0},
    {"/up", 0},
    {"/twice", 0},
    {"/in/down/file", 0},
    {"in/down/file", 0},
    {"/../secret", -ENOENT},
    {"/../../../../../../../../etc/passwd", -ENOENT},
    {"/etc/passwd", -ENOENT},
    {"/out", -ENOENT},
    {"/climbs", -ENOENT},
    {"../secret", -EXDEV},
    {"in/../../secret", -EXDEV},
    {"absolute", -EXDEV},
    {"climbs", -EXDEV},
    {"/loop", -ELOOP},
    {"/in/file/", -ENOTDIR},
    {"/in/file/..", -ENOTDIR},
    {"/in", -EINVAL},
    {"/", -EINVAL},
    {"", -ENOENT},
};

static int check_below(int top)
{
	for (size_t i = 0; i < DT_COUNT(below); i++) {
		int fd = dt_open_below(top, below[i].path);
		char byte = 0;

		if (fd >= 0 && (read(fd, &byte, 1) != 1 || byte != 'i' || fcntl(fd, F_GETFD) != FD_CLOEXEC))
			return 10 + (int)i;
		if ((fd >= 0 ? 0 : fd) != below[i].code)
			return 100 + (int)i;
		if (fd >= 0)
			close(fd);
	}
	return 0;
}

static void put_file(int dir, const char *name, const char *text)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_int_equal(write(fd, text, 1), 1);
	close(fd);
}

/* DIR/secret, and DIR/root with the file inside and links that lead to it or out. Gives a descriptor of DIR/root. */
static int make_root(const char *dir)
{
	int above = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC), root;
	char secret[64];

	snprintf(secret, sizeof(secret), "%s/secret", dir);
	put_file(above, "secret", "s");
	assert_int_equal(mkdirat(above, "root", 0700), 0);
	root = openat(above, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	close(above);
	assert_int_equal(mkdirat(root, "in", 0700), 0);
	put_file(root, "in/file", "i");
	assert_int_equal(symlinkat("/in/file", root, "absolute"), 0);
	assert_int_equal(symlinkat("../../in/file", root, "up"), 0);
	assert_int_equal(symlinkat("in/../absolute", root, "twice"), 0);
	assert_int_equal(symlinkat("../in/.", root, "in/down"), 0);
	assert_int_equal(symlinkat(secret, root, "out"), 0);
	assert_int_equal(symlinkat("in/../../secret", root, "climbs"), 0);
	assert_int_equal(symlinkat("loop", root, "loop"), 0);
	return root;
}

static void remove_root(const char *dir, int root)
{
	static const char *const names[] = {"in/down", "in/file", "absolute", "up", "twice", "out", "climbs", "loop"};
	char path[64];

	for (size_t i = 0; i < DT_COUNT(names); i++)
		assert_int_equal(unlinkat(root, names[i], 0), 0);
	assert_int_equal(unlinkat(root, "in", AT_REMOVEDIR), 0);
	close(root);
	snprintf(path, sizeof(path), "%s/root", dir);
	assert_int_equal(rmdir(path), 0);
	snprintf(path, sizeof(path), "%s/secret", dir);
	assert_int_equal(unlink(path), 0);
}

static void nothing_leads_out_of_a_root(void **state)
{
	char dir[] = "/tmp/darter-root-XXXXXX";
	int root, failed;

	(void)state;
	assert_non_null(mkdtemp(dir));
	root = make_root(dir);
	failed = check_below(root);
	remove_root(dir, root);
	assert_int_equal(rmdir(dir), 0);
	assert_int_equal(failed, 0);
}

/* Runs in a child of its own: the filter stays. Returns the number of the first step that failed. */
static int open_without_openat2(const char *file, const char *dir, int root)
{
	struct dt_proc proc;
	int fd;

	if (refuse_calls(BPF_JEQ, SYS_openat2, EPERM))
		return 1;
	if (dt_proc_open(getpid(), &proc))
		return 2;
	fd = dt_proc_open_file(&proc, file);
	if (fd < 0)
		return 3;
	close(fd);
	if (dt_proc_open_file(&proc, dir) != -EINVAL || dt_proc_open_file(&proc, "/") != -EINVAL)
		return 4;
	if (dt_proc_open_file(&proc, "/no such file") != -ENOENT)
		return 5;
	dt_proc_release(&proc);
	return check_below(root);
}

static void files_are_opened_where_a_filter_forbids_openat2(void **state)
{
	char dir[] = "/tmp/darter-filter-XXXXXX", file[64];
	pid_t pid;
	int status, fd, root;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(file, sizeof(file), "%s/file", dir);
	fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
	root = make_root(dir);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(open_without_openat2(file, dir, root));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	remove_root(dir, root);
	assert_int_equal(unlink(file), 0);
	assert_int_equal(rmdir(dir), 0);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 1)
		skip(); /* no filters here */
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* In a child of its own: what is above the new root is gone for good. */
static int open_without_proc(const char *dir)
{
	uid_t uid = geteuid();
	int top, fd;
	char byte;

	if ((uid != 0 && unshare(CLONE_NEWUSER)) || chroot(dir) || chdir("/"))
		return 1;
	top = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	fd = dt_open_below(top, "/file");
	if (fd < 0 || fcntl(fd, F_GETFD) != FD_CLOEXEC || read(fd, &byte, 1) != 1 || byte != 'x')
		return 2;
	close(fd);
	fd = dt_open_below(top, "file");
	if (fd < 0 || close(fd))
		return 3;
	if (dt_open_below(top, "/fifo") != -EINVAL || dt_open_below(top, "/") != -EINVAL)
		return 4;
	return dt_open_below(top, "../file") < 0 && dt_open_below(top, "/none") == -ENOENT ? 0 : 5;
}

static void files_are_opened_where_proc_is_not_mounted(void **state)
{
	char dir[] = "/tmp/darter-bare-XXXXXX", file[64], fifo[64];
	int status, fd;
	pid_t pid;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(file, sizeof(file), "%s/file", dir);
	snprintf(fifo, sizeof(fifo), "%s/fifo", dir);
	fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, "x", 1), 1);
	close(fd);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(open_without_proc(dir));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	unlink(file);
	unlink(fifo);
	rmdir(dir);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 1)
		skip(); /* no root directory of our own here */
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(only_plain_files_are_opened),
	    cmocka_unit_test(nothing_leads_out_of_a_root),
	    cmocka_unit_test(files_are_opened_where_a_filter_forbids_openat2),
	    cmocka_unit_test(files_are_opened_where_proc_is_not_mounted),
	};

	return cmocka_run_group_tests_name("files", tests, NULL, NULL);
}
