/* What the kernel keeps in a process's memory, on a real child: it tells the CPU of a thread, and another program. */
#include "unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/util.h"
#include "sample/imprint.h"

#define DEADLINE_NS 60000000000u

struct child {
	int pid;
	int begin; /* a byte written there makes it another program */
	struct dt_proc proc;
	struct dt_mem *mem;
	struct dt_imprint imprint;
};

static void pin(int pid, int cpu)
{
	cpu_set_t only;

	CPU_ZERO(&only);
	CPU_SET((size_t)cpu, &only);
	assert_int_equal(sched_setaffinity(pid, sizeof(only), &only), 0);
}

/* Where it is at any moment. */
static void yield_and_become(int fd)
{
	char byte;

	while (read(fd, &byte, 1) < 0)
		sched_yield();
	execlp("sleep", "sleep", "100", (char *)NULL);
	_exit(9);
}

static int first_cpu(const cpu_set_t *allowed, int after)
{
	for (int cpu = after + 1; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET((size_t)cpu, allowed))
			return cpu;
	return -1;
}

static int set_up(void **state)
{
	static struct child child;
	int ends[2];

	child = (struct child){0};
	*state = &child;
	assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
	child.begin = ends[1];
	child.pid = fork();
	assert_true(child.pid >= 0);
	if (child.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(ends[1]);
		yield_and_become(ends[0]);
	}
	close(ends[0]);
	assert_int_equal(dt_proc_open(child.pid, &child.proc), 0);
	assert_int_equal(dt_mem_open_live(child.pid, child.proc.dir, &child.mem), 0);
	dt_live_watch(child.mem);
	dt_imprint_learn(&child.imprint, &child.proc, child.mem);
	assert_true(child.imprint.tried);
	return 0;
}

static int tear_down(void **state)
{
	struct child *child = *state;

	kill(child->pid, SIGKILL);
	waitpid(child->pid, NULL, 0);
	close(child->begin);
	dt_mem_free(child->mem);
	dt_proc_release(&child->proc);
	return 0;
}

/* A fork has the C library's memory of its parent: the address of its thread is ours. */
static bool holds(const struct child *child, int cpu)
{
	return dt_imprint_holds(&child->imprint, child->mem, (uint64_t)pthread_self(), cpu);
}

static void wait_until(const struct child *child, int cpu, bool wanted)
{
	uint64_t deadline = dt_clock_ns() + DEADLINE_NS;

	while (holds(child, cpu) != wanted) {
		assert_true(dt_clock_ns() < deadline);
		usleep(1000);
	}
}

static void test_the_cpu_of_a_thread(void **state)
{
	const struct child *child = *state;
	cpu_set_t allowed;
	int first, second;

	if (!child->imprint.known)
		skip();
	assert_int_equal(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
	first = first_cpu(&allowed, -1);
	second = first_cpu(&allowed, first);
	pin(child->pid, first);
	wait_until(child, first, true);
	assert_false(holds(child, -1));
	assert_false(holds(child, first + 1));
	if (second < 0)
		skip();
	pin(child->pid, second);
	wait_until(child, second, true);
	assert_false(holds(child, first));
}

static void test_another_program(void **state)
{
	const struct child *child = *state;
	cpu_set_t allowed;
	int cpu;

	if (!child->imprint.known)
		skip();
	assert_int_equal(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
	cpu = first_cpu(&allowed, -1);
	pin(child->pid, cpu);
	wait_until(child, cpu, true);
	assert_int_equal(write(child->begin, "x", 1), 1);
	wait_until(child, cpu, false);
	assert_true(dt_live_replaced(child->mem, child->imprint.random_address));
}

/* The same bytes are there, or nothing is known. */
static void test_other_bytes(void **state)
{
	struct child *child = *state;
	int cpu;

	for (cpu = 0; child->imprint.known && cpu < CPU_SETSIZE; cpu++) {
		struct child other = *child;

		other.imprint.random[DT_IMPRINT_BYTES - 1] ^= 1;
		assert_false(holds(&other, cpu));
		other = *child;
		other.imprint.known = false;
		assert_false(holds(&other, cpu));
	}
}

/* Where this program itself has what is looked for, it is found. */
static void test_it_is_found(void **state)
{
	const struct child *child = *state;

#if defined(__x86_64__) && defined(__GLIBC__)
	if (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 35) {
		assert_true(child->imprint.known);
		return;
	}
#endif
	assert_true(child->imprint.tried);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_it_is_found, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_the_cpu_of_a_thread, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_another_program, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_other_bytes, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
