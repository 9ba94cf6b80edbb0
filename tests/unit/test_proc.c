/* Processes and threads as /proc shows them: the text of its files, and this program's own children. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/util.h"
#include "machine/machine.h"
#include "proc/boot.h"
#include "proc/proc.h"
#include "proc/thread_files.h"

/* The clock of a time namespace is not that of other recordings. */
static void the_clock_since_boot_may_be_shifted(void **state)
{
	char id[DT_BOOT_ID];

	(void)state;
	assert_false(dt_boot_shifted(""));
	assert_false(dt_boot_shifted("monotonic           0         0\nboottime            0         0\n"));
	assert_false(dt_boot_shifted("monotonic          -5         0\nboottime            0         0\n"));
	assert_true(dt_boot_shifted("monotonic           0         0\nboottime       864000         0\n"));
	assert_true(dt_boot_shifted("monotonic           0         0\nboottime            0         7\n"));
	dt_boot_id(id);
	assert_true(!id[0] || strlen(id) == 36);
}

static void a_name_may_hold_anything(void **state)
{
	static const char text[] = "77 (a) R (b ) S 1 78 79 0 -1 4194304 1 2 3 4 500 20 7 8 20 0 3 0 9000 123456 55 1 "
				   "2 3 4 5 6 7 8 9 10 11 12 "
				   "13 17 3 99 1 0 0 0 0 0 0 0 0 0 0\n";
	struct dt_thread_stat stat;
	struct dt_proc_info info;

	(void)state;
	assert_int_equal(dt_thread_stat_parse(text, strlen(text), &stat), 0);
	assert_string_equal(stat.comm, "a) R (b ");
	assert_int_equal(stat.state, 'S');
	assert_int_equal(stat.cpu_ticks, 520);
	assert_int_equal(stat.start_ticks, 9000);
	assert_int_equal(stat.processor, 3);
	assert_int_equal(stat.rt_priority, 99);
	assert_int_equal(stat.policy, SCHED_FIFO);
	assert_false(stat.ending);
	assert_int_equal(dt_proc_info_parse(text, strlen(text), &info), 0);
	assert_int_equal(info.ppid, 1);
	assert_int_equal(info.group, 78);
	assert_int_equal(info.session, 79);
	assert_false(info.ending);
	assert_int_equal(info.threads, 3);
	assert_int_equal(info.cpu_ticks, 520);
	assert_int_equal(info.start_ticks, 9000);
	assert_int_equal(info.rss, 55 * (uint64_t)sysconf(_SC_PAGESIZE));
	/* Cut at any place it is refused, and never read beyond its end. */
	for (size_t length = 0; length < strlen(text) - 25; length++) {
		char *copy = malloc(length ? length : 1);

		assert_non_null(copy);
		memcpy(copy, text, length);
		assert_int_equal(dt_thread_stat_parse(copy, length, &stat), -EIO);
		dt_proc_info_parse(copy, length, &info);
		free(copy);
	}
}

/* It has given its memory back, or is about to, and is not yet a zombie. */
static void an_end_shows_before_the_zombie(void **state)
{
	static const char text[] = "77 (a) R 1 77 77 0 -1 4194316 1 2 3 4 500 20 7 8 20 0 1 0 9000 0 0 1 2 3 4 5 6 7 8 "
				   "9 10 11 12 13 17 3 99 1 0 0 0 0 0 0 0 0 0 0\n";
	struct dt_thread_stat stat;
	struct dt_proc_info info;

	(void)state;
	assert_int_equal(dt_thread_stat_parse(text, strlen(text), &stat), 0);
	assert_true(stat.ending);
	assert_int_equal(stat.cpu_ticks, 520);
	assert_int_equal(dt_proc_info_parse(text, strlen(text), &info), 0);
	assert_true(info.ending);
	assert_int_equal(info.threads, 1);
}

static uint64_t image(const char *code, const char *stack, const char *state, const char *arguments)
{
	char text[400];
	int length = snprintf(text, sizeof(text),
			      "77 (a) b) S 1 77 77 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 9000 123456 55 1 %s 20 %s %s "
			      "2 3 4 5 6 7 8 9 10 17 3 99 1 0 0 0 45 46 47 %s 49 50 51 0\n",
			      code, stack, state, arguments);

	for (int cut = 0; cut < length; cut++) { /* never read beyond its end */
		char *copy = malloc((size_t)cut + 1);

		assert_non_null(copy);
		memcpy(copy, text, (size_t)cut);
		dt_proc_image_parse(copy, (size_t)cut);
		free(copy);
	}
	return dt_proc_image_parse(text, (size_t)length);
}

static void another_program_lies_elsewhere(void **state)
{
	uint64_t first = image("4096", "8192", "1 1 1", "48"), both;
	struct dt_proc_info info;
	struct dt_proc proc;
	pid_t pid;

	(void)state;
	assert_true(first && first == image("4096", "8192", "2 9 7", "48"));
	assert_true(first != image("4097", "8192", "1 1 1", "48"));
	assert_true(first != image("4096", "8193", "1 1 1", "48"));
	assert_true(first != image("4096", "8192", "1 1 1", "49"));
	assert_int_equal(image("0", "8192", "1 1 1", "48"), 0);
	/* A copy is no other program. */
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		alarm(60);
		pause();
		_exit(0);
	}
	first = dt_proc_image(pid);
	assert_true(first && first == dt_proc_image(getpid()));
	assert_int_equal(dt_proc_open(pid, &proc), 0);
	assert_int_equal(dt_proc_stat_image(&proc, &info, &both), 0);
	assert_true(both == first && info.ppid == getpid());
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(dt_proc_image(pid), 0);
	assert_true(dt_proc_stat_image(&proc, &info, &both) < 0);
	dt_proc_release(&proc);
}

static int parse_call(const char *text, struct dt_thread_call *call)
{
	return dt_thread_call_parse(text, strlen(text), call);
}

static void calls_have_three_forms(void **state)
{
	struct dt_thread_call call;

	(void)state;
	assert_int_equal(parse_call("running\n", &call), 0);
	assert_true(call.running);
	assert_int_equal(parse_call("-1 0x7ffd10 0x7f0002\n", &call), 0);
	assert_false(call.running);
	assert_int_equal(call.number, -1);
	assert_int_equal(call.sp, 0x7ffd10);
	assert_int_equal(call.pc, 0x7f0002);
	assert_int_equal(parse_call("202 0x1 0x189 0x0 0x0 0x0 0xffffffff 0x7ffd10 0x7f0002\n", &call), 0);
	assert_int_equal(call.number, 202);
	assert_int_equal(call.args[1], 0x189);
	assert_int_equal(call.args[5], 0xffffffff);
	assert_int_equal(call.pc, 0x7f0002);
	assert_int_equal(parse_call("202 0x1 0x189 0x0\n", &call), -EIO);
	assert_int_equal(parse_call("", &call), -EIO);
	assert_int_equal(parse_call("-", &call), -EIO);
	assert_int_equal(parse_call("99999999999999999999 0x1\n", &call), -EIO);
}

static void system_calls_have_names(void **state)
{
	(void)state;
	assert_string_equal(dt_machine_call(dt_machine_here(), SYS_read), "read");
	assert_string_equal(dt_machine_call(dt_machine_here(), SYS_futex), "futex");
	assert_string_equal(dt_machine_call(dt_machine_here(), SYS_clock_nanosleep), "clock_nanosleep");
	assert_null(dt_machine_call(dt_machine_here(), -1));
	assert_null(dt_machine_call(dt_machine_here(), 1L << 40));
	assert_true(dt_call_waits("futex"));
	assert_true(dt_call_waits("epoll_pwait"));
	assert_true(dt_call_waits("wait4"));
	assert_false(dt_call_waits("read"));
	assert_false(dt_call_waits("connect"));
	assert_false(dt_call_waits(NULL));
}

/* A thread that stays in read() on a pipe until it is written to. */
struct blocked {
	pthread_t thread;
	int pipe[2];
	_Atomic int tid;
};

static void *block(void *argument)
{
	struct blocked *blocked = argument;
	char byte;

	prctl(PR_SET_NAME, "odd ) name");
	blocked->tid = (int)syscall(SYS_gettid);
	return read(blocked->pipe[0], &byte, 1) == 1 ? NULL : argument;
}

static void wait_for_call(const struct dt_proc *proc, int tid, long number, struct dt_thread_call *call)
{
	uint64_t deadline = dt_clock_ns() + 60 * UINT64_C(1000000000);

	do
		assert_int_equal(dt_thread_call(proc, tid, call), 0);
	while ((call->running || call->number != number) && dt_clock_ns() < deadline && !usleep(1000));
	assert_false(call->running);
	assert_int_equal(call->number, number);
}

static void a_thread_is_seen(void **state)
{
	struct blocked blocked = {0};
	struct dt_thread_stat stat;
	struct dt_thread_call call;
	struct dt_proc proc;
	uint64_t slices, again;
	size_t count, found = 0;
	void *failed;
	int *tids, ns_tid, rc;

	(void)state;
	assert_int_equal(pipe(blocked.pipe), 0);
	assert_int_equal(pthread_create(&blocked.thread, NULL, block, &blocked), 0);
	assert_int_equal(dt_proc_open(getpid(), &proc), 0);
	while (!blocked.tid)
		usleep(1000);
	wait_for_call(&proc, blocked.tid, SYS_read, &call);
	assert_int_equal(call.args[0], blocked.pipe[0]);
	assert_int_equal(dt_thread_stat(&proc, blocked.tid, &stat), 0);
	assert_string_equal(stat.comm, "odd ) name");
	assert_int_equal(stat.policy, syscall(SYS_sched_getscheduler, 0)); /* musl has no other way */
	assert_int_equal(dt_proc_threads(&proc, &tids, &count), 0);
	assert_true(count >= 2);
	assert_int_equal(dt_proc_thread_count(&proc), count);
	for (size_t i = 0; i < count; i++) {
		found += tids[i] == blocked.tid;
		assert_true(i == 0 || tids[i - 1] < tids[i]);
	}
	assert_int_equal(found, 1);
	free(tids);
	/* A blocked thread does not get on a CPU: two looks agree, where the kernel counts. */
	rc = dt_thread_slices(&proc, blocked.tid, &slices);
	assert_true(rc == 0 || rc == -ENOTSUP);
	if (rc == 0) {
		assert_int_equal(dt_thread_slices(&proc, blocked.tid, &again), 0);
		assert_true(slices >= 1 && again >= slices);
	}
	assert_int_equal(dt_thread_ns_tid(&proc, blocked.tid, &ns_tid), 0);
	assert_int_equal(ns_tid, blocked.tid);
	assert_int_equal(write(blocked.pipe[1], "x", 1), 1);
	assert_int_equal(pthread_join(blocked.thread, &failed), 0);
	assert_null(failed);
	close(blocked.pipe[0]);
	close(blocked.pipe[1]);
	dt_proc_release(&proc);
}

static void this_process_is_described(void **state)
{
	struct dt_proc_info info;
	struct dt_arena arena;
	struct dt_proc proc;
	const char *text;
	char exe[4096];
	ssize_t length = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	(void)state;
	assert_true(length > 0);
	exe[length] = '\0';
	dt_arena_init(&arena, 0);
	assert_int_equal(dt_proc_open(getpid(), &proc), 0);
	assert_int_equal(dt_proc_info(&proc, &info), 0);
	assert_int_equal(info.ppid, getppid());
	assert_int_equal(info.uid, geteuid());
	assert_true(info.rss > 0);
	assert_false(dt_proc_ended(&proc));
	assert_true(dt_proc_same_pid_ns(&proc));
	assert_string_equal(dt_proc_executable(&proc, &arena), exe);
	text = dt_proc_command(&proc, &arena);
	assert_non_null(strstr(text, "test_proc"));
	assert_int_equal(dt_proc_read(&proc, "no such file", exe, sizeof(exe)), -ENOENT);
	dt_proc_release(&proc);
	dt_proc_release(&proc);
	dt_arena_release(&arena);
}

static void cpu_time_is_told_by_the_clock_of_the_process(void **state)
{
	struct dt_proc_info info;
	struct dt_proc proc;
	uint64_t before, after;

	(void)state;
	assert_int_equal(dt_proc_open(getpid(), &proc), 0);
	assert_int_equal(dt_proc_info(&proc, &info), 0);
	before = dt_proc_cpu_ns(getpid(), &info);
	assert_true(before > 0);
	assert_int_equal(dt_proc_info(&proc, &info), 0);
	after = dt_proc_cpu_ns(getpid(), &info);
	assert_true(after > before);
	/* Not this process by its ticks: the clock is another one's. */
	info.cpu_ticks += 1000000;
	assert_int_equal(dt_proc_cpu_ns(getpid(), &info), 0);
	info.cpu_ticks = 0;
	assert_int_equal(dt_proc_cpu_ns(4194305, &info), 0); /* above every pid_max */
	dt_proc_release(&proc);
}

/* Starts a child that runs `sleep` with these arguments, and waits until it does. */
static pid_t start(char *const arguments[])
{
	uint64_t deadline = dt_clock_ns() + 60 * UINT64_C(1000000000);
	struct dt_thread_call call = {0};
	struct dt_proc proc;
	pid_t pid = fork();
	int rc;

	assert_true(pid >= 0);
	if (pid == 0) {
		execv("/bin/sleep", arguments);
		_exit(127);
	}
	/* Nothing waits before the program itself sleeps. */
	assert_int_equal(dt_proc_open(pid, &proc), 0);
	do
		rc = dt_thread_call(&proc, pid, &call);
	while ((rc || call.running || !dt_call_waits(dt_machine_call(dt_machine_here(), call.number))) &&
	       dt_clock_ns() < deadline && !usleep(1000));
	dt_proc_release(&proc);
	assert_int_equal(rc, 0);
	assert_true(dt_call_waits(dt_machine_call(dt_machine_here(), call.number)));
	return pid;
}

static void stop(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* The file that everything but the owner stands in tells the same, opened in either way. */
static void a_glance_tells_what_a_stat_file_knows(void **state)
{
	struct dt_proc_info info, stat, glance;
	struct dt_proc proc;

	(void)state;
	assert_int_equal(dt_proc_open(getpid(), &proc), 0);
	assert_int_equal(dt_proc_info(&proc, &info), 0);
	assert_int_equal(dt_proc_stat_info(&proc, &stat), 0);
	assert_int_equal(dt_proc_glance(getpid(), &glance), 0);
	assert_int_equal(glance.ppid, getppid());
	assert_int_equal(glance.group, getpgrp());
	assert_int_equal(glance.session, getsid(0));
	assert_int_equal(glance.start_ticks, info.start_ticks);
	assert_int_equal(stat.start_ticks, info.start_ticks);
	assert_int_equal(stat.ppid, info.ppid);
	assert_int_equal(dt_proc_glance(INT32_MAX, &glance), -ENOENT);
	dt_proc_release(&proc);
}

static void a_command_is_joined(void **state)
{
	struct dt_arena arena;
	struct dt_proc proc;
	pid_t pid = start((char *[]){"a\nb c", "1000", NULL});

	(void)state;
	dt_arena_init(&arena, 0);
	assert_int_equal(dt_proc_open(pid, &proc), 0);
	assert_string_equal(dt_proc_command(&proc, &arena), "a\nb c 1000");
	stop(pid);
	dt_proc_release(&proc);
	dt_arena_release(&arena);
}

static void an_ended_process_is_noticed(void **state)
{
	pid_t pid = start((char *[]){"sleep", "1000", NULL});
	struct dt_thread_stat stat;
	struct dt_proc_info info;
	struct dt_proc proc, other;
	siginfo_t how;
	uint64_t slices;
	size_t count;
	int *tids;
	char text[64];

	(void)state;
	assert_int_equal(dt_proc_open(pid, &proc), 0);
	assert_false(dt_proc_ended(&proc));
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &how, WEXITED | WNOWAIT), 0);
	assert_true(dt_proc_ended(&proc)); /* a zombie */
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(dt_proc_ended(&proc));
	assert_int_equal(dt_proc_read(&proc, "status", text, sizeof(text)), -ESRCH);
	assert_int_equal(dt_proc_info(&proc, &info), -ESRCH);
	assert_int_equal(dt_thread_stat(&proc, pid, &stat), -ESRCH);
	assert_int_equal(dt_thread_slices(&proc, pid, &slices), -ESRCH);
	assert_int_equal(dt_proc_threads(&proc, &tids, &count), -ESRCH);
	dt_proc_release(&proc);
	assert_int_equal(dt_proc_open(0, &other), -ESRCH);
	assert_int_equal(dt_proc_open(-1, &other), -ESRCH);
}

static void the_host_is_listed(void **state)
{
	size_t count, found = 0;
	int *pids;

	(void)state;
	assert_int_equal(dt_proc_list(&pids, &count), 0);
	for (size_t i = 0; i < count; i++) {
		found += pids[i] == getpid();
		assert_true(i == 0 || pids[i - 1] < pids[i]);
	}
	assert_int_equal(found, 1);
	free(pids);
}

static void a_large_file_has_a_limit(void **state)
{
	struct dt_buf text = DT_BUF_INIT;
	struct dt_proc proc;
	char small[8];

	(void)state;
	assert_int_equal(dt_proc_open(getpid(), &proc), 0);
	assert_int_equal(dt_proc_slurp(&proc, "maps", 100, &text), -EFBIG);
	dt_buf_clear(&text);
	assert_int_equal(dt_proc_slurp(&proc, "maps", 1 << 20, &text), 0);
	assert_true(text.length > 100);
	assert_int_equal(dt_proc_read(&proc, "status", small, sizeof(small)), 7);
	assert_string_equal(small, "Name:\tt");
	dt_buf_release(&text);
	dt_proc_release(&proc);
}

static int parse_booked(const char *text, struct dt_thread_booked *booked)
{
	return dt_thread_booked_parse(text, strlen(text), booked);
}

static void time_is_booked(void **state)
{
	static const char rest[] = "nr_switches : 5\nnr_voluntary_switches   :   3\nnr_involuntary_switches : 2\n";
	struct dt_thread_booked booked = {0}, later = {0};
	struct dt_thread_files files;
	struct dt_proc proc;
	cpu_set_t only;
	char text[512];

	(void)state;
	snprintf(text, sizeof(text), "python (7, #threads: 1)\n-----\nse.exec_start      :   617868.434511\n%s", rest);
	assert_int_equal(parse_booked(text, &booked), 0);
	assert_int_equal(booked.ns, UINT64_C(617868434511));
	assert_int_equal(booked.slept, 3);
	assert_int_equal(booked.put_aside, 2);
	for (size_t i = strlen(text) - 2; i > 0; i--) { /* whatever is missing at the end */
		text[i] = '\0';
		assert_int_equal(parse_booked(text, &booked), -ENOTSUP);
	}
	snprintf(text, sizeof(text), "x\nse.exec_start   : -1.5\n%s", rest);
	assert_int_equal(parse_booked(text, &booked), -ENOTSUP);
	snprintf(text, sizeof(text), "x\nse.exec_start   : 99999999999999999999999.000001\n%s", rest);
	assert_int_equal(parse_booked(text, &booked), -ENOTSUP);

	/* Each CPU has a clock of its own for that. */
	CPU_ZERO(&only);
	CPU_SET((size_t)sched_getcpu(), &only);
	assert_int_equal(sched_setaffinity(0, sizeof(only), &only), 0);
	usleep(1000);
	assert_int_equal(dt_proc_open(getpid(), &proc), 0);
	dt_thread_files_init(&files, &proc, getpid());
	if (dt_thread_booked_now(&files, &booked) == -ENOENT)
		skip();
	usleep(20000);
	assert_int_equal(dt_thread_booked_now(&files, &later), 0);
	assert_true(later.ns > booked.ns);
	assert_true(later.slept > booked.slept);
	dt_thread_files_release(&files);
	dt_proc_release(&proc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_name_may_hold_anything),
	    cmocka_unit_test(the_clock_since_boot_may_be_shifted),
	    cmocka_unit_test(an_end_shows_before_the_zombie),
	    cmocka_unit_test(another_program_lies_elsewhere),
	    cmocka_unit_test(calls_have_three_forms),
	    cmocka_unit_test(system_calls_have_names),
	    cmocka_unit_test(a_thread_is_seen),
	    cmocka_unit_test(this_process_is_described),
	    cmocka_unit_test(cpu_time_is_told_by_the_clock_of_the_process),
	    cmocka_unit_test(a_glance_tells_what_a_stat_file_knows),
	    cmocka_unit_test(a_command_is_joined),
	    cmocka_unit_test(an_ended_process_is_noticed),
	    cmocka_unit_test(the_host_is_listed),
	    cmocka_unit_test(a_large_file_has_a_limit),
	    cmocka_unit_test(time_is_booked),
	};

	return cmocka_run_group_tests_name("proc", tests, NULL, NULL);
}
