/*
 * Perch and pause on a real child that counts as fast as it can. While it is held the counter stands; afterwards it
 * goes on, signals have arrived, and the child ends as it would have.
 */
#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/util.h"
#include "sample/holding.h"
#include "sample/pause.h"
#include "sample/perch.h"
#include "sample/stop.h"

#define DEADLINE_NS 60000000000u

struct shared {
	volatile uint64_t counter;
	volatile int signals;
	volatile int stop;
};

static struct shared *shared;

static void on_signal(int number)
{
	(void)number;
	shared->signals++;
}

/* A child that counts, or one that sleeps in a system call. */
static int start(struct dt_proc *proc, bool sleeps)
{
	int child;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(shared, MAP_FAILED);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		signal(SIGUSR1, on_signal);
		shared->counter = 1;
		while (sleeps)
			pause();
		while (!shared->stop)
			shared->counter++;
		_exit(7);
	}
	while (!shared->counter)
		usleep(1000);
	assert_int_equal(dt_proc_open(child, proc), 0);
	return child;
}

static void finish(struct dt_proc *proc, int child)
{
	int status;

	shared->stop = 1;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 7);
	dt_proc_release(proc);
	munmap(shared, sizeof(*shared));
}

static void kill_child(struct dt_proc *proc, int child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	dt_proc_release(proc);
	munmap(shared, sizeof(*shared));
}

static void goes_on(void)
{
	uint64_t then = shared->counter;
	uint64_t start_ns = dt_clock_ns();

	while (shared->counter == then)
		assert_true(dt_clock_ns() - start_ns < DEADLINE_NS);
}

/* Tries again while the kernel answers that the thread is busy or moved, which it may at any time. */
static int pause_patiently(const struct dt_proc *proc, int tid, struct dt_pause_hold *hold)
{
	uint64_t start_ns = dt_clock_ns();
	int rc;

	do {
		rc = dt_pause_begin(proc, tid, NULL, NULL, hold);
	} while ((rc == -EBUSY || rc == -ETIMEDOUT) && dt_clock_ns() - start_ns < DEADLINE_NS);
	return rc;
}

static void a_paused_thread_stands_still(void **state)
{
	struct dt_pause_sum before = dt_pause_sum(), after;
	struct dt_pause_hold hold;
	struct dt_proc proc;
	int child = start(&proc, false);

	(void)state;
	for (int i = 0; i < 50; i++) {
		uint64_t then;

		assert_int_equal(pause_patiently(&proc, child, &hold), 0);
		then = shared->counter;
		usleep(1000);
		assert_int_equal(shared->counter, then);
		dt_pause_end(&hold);
		goes_on();
	}
	dt_pause_end(&hold); /* nothing is held: nothing happens */
	after = dt_pause_sum();
	assert_int_equal(after.count, before.count + 50);
	assert_true(after.stood_ns >= before.stood_ns + UINT64_C(50) * 1000000); /* a millisecond each, at least */
	finish(&proc, child);
}

/* Whoever holds it may hang, or be stopped itself. */
static void a_pause_ends_by_itself(void **state)
{
	struct dt_pause_hold hold;
	struct dt_proc proc;
	int child = start(&proc, false);
	uint64_t then;

	(void)state;
	assert_int_equal(pause_patiently(&proc, child, &hold), 0);
	assert_true(dt_pause_held(&hold));
	then = shared->counter;
	usleep(100000);
	assert_int_equal(shared->counter, then);
	goes_on();
	assert_false(dt_pause_held(&hold)); /* what was read meanwhile is not believed */
	dt_pause_end(&hold);
	finish(&proc, child);
}

/* Several are stopped together: if one of them does not stand in time, none waits for it. */
static void a_thread_may_be_let_go_before_it_stands(void **state)
{
	struct dt_pause_hold hold;
	struct dt_proc proc;
	int child = start(&proc, false);

	(void)state;
	for (int i = 0; i < 50; i++) {
		int rc = dt_pause_start(&proc, child, NULL, NULL, &hold);

		if (rc == -EBUSY)
			continue;
		assert_int_equal(rc, 0);
		dt_pause_let_go(&hold);
		assert_true(dt_pause_decided(&hold, dt_clock_ns() + DEADLINE_NS));
		rc = dt_pause_wait(&hold);
		goes_on();
		assert_true(rc < 0 ? !hold.tid : hold.tid == child);
		dt_pause_end(&hold);
		assert_int_equal(hold.tid, 0);
	}
	dt_pause_let_go(&hold); /* nothing is held: nothing happens */
	assert_true(dt_holding_refuse());
	dt_holding_allow();
	finish(&proc, child);
}

/* Whose tracer need not wait for a CPU is not kept by that. */
static void a_tracer_has_the_priority_of_who_holds(void **state)
{
	struct sched_param param = {.sched_priority = 1};
	struct dt_pause_hold hold;
	struct dt_proc proc;
	int child = start(&proc, false), policy = -1, rc;

	(void)state;
	if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &param) < 0) {
		finish(&proc, child);
		skip();
	}
	rc = pause_patiently(&proc, child, &hold);
	if (rc == 0)
		rc = pthread_getschedparam(hold.tracer, &policy, &param);
	dt_pause_end(&hold);
	param.sched_priority = 0;
	sched_setscheduler(0, SCHED_OTHER, &param);
	assert_int_equal(rc, 0);
	assert_int_equal(policy & ~SCHED_RESET_ON_FORK, SCHED_FIFO);
	finish(&proc, child);
}

static void a_thread_in_a_system_call_is_left_alone(void **state)
{
	struct dt_pause_hold hold;
	struct dt_thread_call call = {.running = true};
	struct dt_proc proc;
	int child = start(&proc, true);

	(void)state;
	while (call.running)
		assert_int_equal(dt_thread_call(&proc, child, &call), 0);
	for (int i = 0; i < 20; i++)
		assert_int_equal(dt_pause_begin(&proc, child, NULL, NULL, &hold), -EBUSY);
	kill_child(&proc, child);
}

static void signals_arrive_in_spite_of_pauses(void **state)
{
	struct dt_pause_hold hold;
	struct dt_proc proc;
	int child = start(&proc, false);
	uint64_t start_ns;

	(void)state;
	for (int i = 1; i <= 50; i++) {
		int rc;

		assert_int_equal(kill(child, SIGUSR1), 0); /* on its way while we stop the child */
		rc = dt_pause_begin(&proc, child, NULL, NULL, &hold);
		if (rc == 0)
			dt_pause_end(&hold);
		start_ns = dt_clock_ns();
		while (shared->signals < i)
			assert_true(dt_clock_ns() - start_ns < DEADLINE_NS);
		assert_int_equal(shared->signals, i);
	}
	finish(&proc, child);
}

static bool signal_first(const void *context)
{
	kill(*(const int *)context, SIGUSR1);
	usleep(2000); /* so that the child meets the signal first, and stops at that */
	return true;
}

static void a_signal_survives_whoever_holds_the_target(void **state)
{
	struct dt_proc proc;
	int child = start(&proc, false);

	(void)state;
	for (int i = 1; i <= 20; i++) {
		uint64_t start_ns = dt_clock_ns();
		int holder, told[2];
		char rc = 1;

		assert_int_equal(pipe(told), 0);
		holder = fork();
		assert_true(holder >= 0);
		if (holder == 0) {
			struct dt_pause_hold hold;

			prctl(PR_SET_PDEATHSIG, SIGKILL);
			rc = (char)dt_pause_begin(&proc, child, signal_first, &child, &hold);
			if (write(told[1], &rc, 1) == 1)
				pause();
			_exit(1);
		}
		assert_int_equal(read(told[0], &rc, 1), 1);
		kill(holder, SIGKILL);
		waitpid(holder, NULL, 0);
		close(told[0]);
		close(told[1]);
		if (rc) { /* it was busy: no signal was sent, or it arrived */
			kill(child, SIGUSR1);
			i = shared->signals;
			continue;
		}
		while (shared->signals < i)
			assert_true(dt_clock_ns() - start_ns < DEADLINE_NS);
	}
	finish(&proc, child);
}

static volatile sig_atomic_t stolen;

static void on_child(int number)
{
	int status;

	(void)number;
	while (waitpid(-1, &status, WNOHANG) > 0)
		stolen += WIFSTOPPED(status);
}

/* The program that we are part of may wait for all its children, and gets what tells of a stop before us. */
static void stops_that_others_take_notice_of(void **state)
{
	struct sigaction action = {.sa_handler = on_child, .sa_flags = SA_RESTART}, before;
	uint64_t start_ns = dt_clock_ns();
	struct dt_proc proc;
	int child = start(&proc, false);
	int seen = 0;

	(void)state;
	sigaction(SIGCHLD, &action, &before);
	while (seen < 5) {
		struct dt_pause_hold hold;
		int rc;

		stolen = 0;
		rc = dt_pause_begin(&proc, child, NULL, NULL, &hold);
		if (rc == 0)
			dt_pause_end(&hold);
		seen += rc == 0 && stolen;
		assert_true(dt_clock_ns() - start_ns < DEADLINE_NS);
	}
	sigaction(SIGCHLD, &before, NULL);
	finish(&proc, child);
}

static void a_target_may_be_killed_while_it_is_held(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++) {
		struct dt_pause_hold hold;
		struct dt_proc proc;
		int child = start(&proc, false);
		int status;

		assert_int_equal(pause_patiently(&proc, child, &hold), 0);
		kill(child, SIGKILL);
		if (i % 2)
			usleep(2000);
		dt_pause_end(&hold);
		assert_int_equal(waitpid(child, &status, 0), child); /* the status of our own child is still there */
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		assert_true(dt_pause_begin(&proc, child, NULL, NULL, &hold) < 0);
		dt_proc_release(&proc);
		munmap(shared, sizeof(*shared));
	}
}

static bool always(const void *context)
{
	(void)context;
	return true;
}

static int stop_patiently(struct dt_thread_files *files, struct dt_stop *stop)
{
	uint64_t start_ns = dt_clock_ns();
	int rc;

	while ((rc = dt_stop_begin(stop, files, always, NULL)) == -EBUSY && dt_clock_ns() - start_ns < DEADLINE_NS)
		dt_stop_poll(stop);
	return rc;
}

/* Who is about to be stopped itself waits until nothing is held, and nothing more is meanwhile. */
static void nothing_is_held_while_that_is_refused(void **state)
{
	struct dt_stop stop = {0};
	struct dt_pause_hold hold;
	struct dt_thread_files files;
	struct dt_proc proc;
	int child = start(&proc, false);

	(void)state;
	dt_thread_files_init(&files, &proc, child);
	assert_int_equal(pause_patiently(&proc, child, &hold), 0);
	assert_false(dt_holding_refuse());
	dt_pause_end(&hold);
	assert_true(dt_holding_refuse());
	assert_int_equal(dt_pause_begin(&proc, child, NULL, NULL, &hold), -EBUSY);
	assert_int_equal(dt_stop_begin(&stop, &files, always, NULL), -EBUSY);
	assert_true(dt_holding_refuse());
	goes_on();
	dt_holding_allow();
	assert_int_equal(stop_patiently(&files, &stop), 0);
	assert_false(dt_holding_refuse());
	dt_stop_end(&stop);
	assert_true(dt_holding_refuse());
	dt_holding_allow();
	dt_thread_files_release(&files);
	finish(&proc, child);
}

/* What has failed, or has ended while it was held, is not held. */
static void what_is_gone_is_not_held(void **state)
{
	uint64_t start_ns = dt_clock_ns();
	struct dt_stop stop = {0};
	struct dt_thread_files files;
	struct dt_proc proc;
	int child = start(&proc, false);

	(void)state;
	dt_thread_files_init(&files, &proc, child);
	assert_int_equal(stop_patiently(&files, &stop), 0);
	kill(child, SIGKILL);
	dt_stop_end(&stop);
	while (stop.tid && dt_clock_ns() - start_ns < DEADLINE_NS)
		dt_stop_poll(&stop);
	assert_true(dt_holding_refuse());
	dt_holding_allow();
	kill_child(&proc, child);
	assert_true(dt_stop_begin(&stop, &files, always, NULL) < 0);
	assert_true(dt_holding_refuse());
	dt_holding_allow();
	dt_thread_files_release(&files);
}

static void a_thread_that_is_gone_is_told(void **state)
{
	struct dt_pause_hold hold;
	struct dt_perch perch;
	struct dt_proc proc;
	int child = start(&proc, false);

	(void)state;
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_true(dt_pause_begin(&proc, child, NULL, NULL, &hold) < 0);
	assert_int_equal(hold.tid, 0);
	assert_int_equal(dt_perch_begin(&proc, child, &perch), -EAGAIN);
	dt_proc_release(&proc);
	munmap(shared, sizeof(*shared));
}

/* The number of a thread that has ended is another one's by now: that one is left alone. */
static void a_number_that_was_used_again(void **state)
{
	struct dt_stop stop = {0};
	struct dt_thread_files files;
	struct dt_thread_sched sched;
	struct dt_proc proc, other;
	int child = start(&proc, false), used;

	(void)state;
	dt_thread_files_init(&files, &proc, child);
	assert_int_equal(dt_thread_sched_now(&files, &sched), 0);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	munmap(shared, sizeof(*shared));
	used = start(&other, false);
	files.tid = used;
	assert_int_equal(dt_stop_begin(&stop, &files, always, NULL), -ESRCH);
	assert_int_equal(stop.tid, 0);
	assert_true(dt_holding_refuse());
	dt_holding_allow();
	dt_thread_files_release(&files);
	dt_proc_release(&proc);
	goes_on();
	finish(&other, used);
}

static void a_perch_that_held_saw_nothing_move(void **state)
{
	struct dt_sched before = {0};
	struct dt_sched after = {0};
	cpu_set_t cpus_before;
	cpu_set_t cpus_after;
	struct dt_proc proc;
	int child = start(&proc, false);
	int held = 0;
	int rc = 0;

	(void)state;
	assert_int_equal(dt_perch_sched(&before), 0);
	sched_getaffinity(0, sizeof(cpus_before), &cpus_before);
	for (int i = 0; i < 400 && held < 50; i++) {
		struct dt_perch perch;
		uint64_t first;
		uint64_t last;

		rc = dt_perch_begin(&proc, child, &perch);
		if (rc == -EPERM)
			break;
		if (rc < 0) {
			usleep(1000);
			continue;
		}
		first = shared->counter;
		for (volatile int spin = 0; spin < 20000; spin++)
			;
		last = shared->counter;
		if (dt_perch_held(&proc, child, &perch)) {
			assert_int_equal(first, last);
			held++;
		}
		dt_perch_end(&perch);
	}
	assert_int_equal(dt_perch_sched(&after), 0);
	sched_getaffinity(0, sizeof(cpus_after), &cpus_after);
	assert_memory_equal(&before, &after, sizeof(before));
	assert_true(CPU_EQUAL(&cpus_before, &cpus_after));
	finish(&proc, child);
	if (rc == -EPERM)
		skip(); /* no priority to be had here */
	assert_true(held > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_paused_thread_stands_still),
	    cmocka_unit_test(a_pause_ends_by_itself),
	    cmocka_unit_test(a_thread_may_be_let_go_before_it_stands),
	    cmocka_unit_test(a_tracer_has_the_priority_of_who_holds),
	    cmocka_unit_test(a_thread_in_a_system_call_is_left_alone),
	    cmocka_unit_test(signals_arrive_in_spite_of_pauses),
	    cmocka_unit_test(a_signal_survives_whoever_holds_the_target),
	    cmocka_unit_test(stops_that_others_take_notice_of),
	    cmocka_unit_test(a_target_may_be_killed_while_it_is_held),
	    cmocka_unit_test(nothing_is_held_while_that_is_refused),
	    cmocka_unit_test(what_is_gone_is_not_held),
	    cmocka_unit_test(a_thread_that_is_gone_is_told),
	    cmocka_unit_test(a_number_that_was_used_again),
	    cmocka_unit_test(a_perch_that_held_saw_nothing_move),
	};

	return cmocka_run_group_tests_name("hold", tests, NULL, NULL);
}
