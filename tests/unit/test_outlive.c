/* A process whose first thread ends before the others, down to the last, which makes an exec. */
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/util.h"
#include "proc/proc.h"

#define THREADS 3 /* the first one is number 0 */
#define END     'e'
#define EXEC    'x'

static struct shared {
	_Atomic int tids[THREADS];
	int orders[THREADS][2]; /* pipes */
} * shared;

static void *obey(void *argument)
{
	size_t number = (size_t)argument;
	char order;

	shared->tids[number] = gettid();
	if (read(shared->orders[number][0], &order, 1) == 1 && order == EXEC)
		execl("/bin/sleep", "sleep", "1000", NULL);
	return NULL;
}

static void child_main(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (size_t i = 1; i < THREADS; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, obey, (void *)i))
			_exit(1);
	}
	obey(NULL);
	syscall(SYS_exit, 0); /* of this thread alone */
}

static bool patient(uint64_t start)
{
	return dt_clock_ns() - start < 60 * UINT64_C(1000000000) && !usleep(1000);
}

static int start(void)
{
	uint64_t now = dt_clock_ns();
	int pid;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(shared, MAP_FAILED);
	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(pipe(shared->orders[i]), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		child_main();
	for (size_t i = 0; i < THREADS; i++) {
		while (!shared->tids[i] && patient(now))
			;
		assert_true(shared->tids[i] > 0);
	}
	return pid;
}

static void finish(void)
{
	for (size_t i = 0; i < THREADS; i++) {
		close(shared->orders[i][0]);
		close(shared->orders[i][1]);
	}
	munmap(shared, sizeof(*shared));
}

static void order(int tid, char what)
{
	for (size_t i = 0; i < THREADS; i++)
		if (shared->tids[i] == tid)
			assert_int_equal(write(shared->orders[i][1], &what, 1), 1);
}

/* What the kernel says of a thread of the process, or 0 when there is no such thread any more. */
static char state_of(int pid, int tid)
{
	struct dt_thread_stat stat;
	struct dt_proc proc;
	int rc;

	assert_int_equal(dt_proc_open(pid, &proc), 0);
	rc = dt_thread_stat(&proc, tid, &stat);
	dt_proc_release(&proc);
	return rc == 0 ? stat.state : 0;
}

static void wait_for_state(int pid, int tid, char state)
{
	uint64_t now = dt_clock_ns();

	while (state_of(pid, tid) != state && patient(now))
		;
	assert_int_equal(state_of(pid, tid), state);
}

static size_t count_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static void check_readable(const struct dt_proc *proc)
{
	struct dt_maps maps;

	assert_false(dt_proc_ended(proc));
	assert_int_equal(dt_maps_read(proc, &maps), 0);
	assert_true(maps.count > 0);
	dt_maps_release(&maps);
}

static void a_process_lives_as_long_as_its_last_thread(void **state)
{
	size_t descriptors = count_descriptors();
	int pid = start(), second, third;
	struct dt_proc proc;
	char text[64];

	(void)state;
	assert_int_equal(dt_proc_open(pid, &proc), 0);
	dt_proc_outlive(&proc);
	assert_int_equal(proc.living, pid);
	order(pid, END);
	wait_for_state(pid, pid, 'Z');
	assert_false(dt_proc_ended(&proc));

	dt_proc_outlive(&proc);
	second = proc.living;
	assert_int_not_equal(second, pid);
	check_readable(&proc);
	order(second, END);
	wait_for_state(pid, second, 0);
	assert_int_equal(dt_proc_read(&proc, "status", text, sizeof(text)), -ESRCH);
	assert_false(dt_proc_ended(&proc));

	dt_proc_outlive(&proc);
	third = proc.living;
	assert_true(third != pid && third != second);
	check_readable(&proc);
	order(third, EXEC); /* and so it becomes the first thread */
	wait_for_state(pid, third, 0);
	assert_false(dt_proc_ended(&proc));

	dt_proc_outlive(&proc);
	assert_int_equal(proc.living, pid);
	check_readable(&proc);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(dt_proc_ended(&proc));
	dt_proc_outlive(&proc);
	dt_proc_release(&proc);
	finish();
	assert_int_equal(count_descriptors(), descriptors);
}

static void what_is_let_go_leaves_no_descriptor(void **state)
{
	size_t descriptors = count_descriptors();
	int pid = start();
	struct dt_proc proc;

	(void)state;
	order(pid, END);
	wait_for_state(pid, pid, 'Z');
	assert_int_equal(dt_proc_open(pid, &proc), 0);
	dt_proc_outlive(&proc);
	dt_proc_outlive(&proc);
	assert_int_not_equal(proc.living, pid);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(dt_proc_ended(&proc));
	dt_proc_release(&proc);
	finish();
	assert_int_equal(count_descriptors(), descriptors);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_process_lives_as_long_as_its_last_thread),
	    cmocka_unit_test(what_is_let_go_leaves_no_descriptor),
	};

	return cmocka_run_group_tests_name("outlive", tests, NULL, NULL);
}
