/* Reading a live child, with and without process_vm_readv, recordings, and pieces of files. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../filter.h"
#include "base/util.h"
#include "mem/mem.h"

#define PAGE 4096

/* Four pages, shared in address (not in contents) with the child, where the third is a hole. (Not one without
 * permissions: /proc/PID/mem reads through those.) */
static uint8_t *area;

struct child {
	int pid, dir;
	int hold; /* the child ends when this is closed; at a byte it becomes another program */
	struct dt_mem *mem;
};

static void child_main(int ready, int hold)
{
	char byte = 0;

	for (size_t i = 0; i < 4 * PAGE; i++)
		area[i] = (uint8_t)(i * 7 + i / PAGE);
	if (munmap(area + 2 * PAGE, PAGE) < 0 || write(ready, &byte, 1) != 1)
		_exit(1);
	if (read(hold, &byte, 1) > 0 && dup2(hold, STDIN_FILENO) == STDIN_FILENO)
		execl("/bin/cat", "cat", NULL);
	_exit(0);
}

static uint8_t expected(size_t i)
{
	return (uint8_t)(i * 7 + i / PAGE);
}

static int setup(void **state)
{
	struct child *child = calloc(1, sizeof(*child));
	int ready[2], hold[2];
	char path[32], byte;

	area = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(area, MAP_FAILED);
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	assert_int_equal(pipe2(hold, O_CLOEXEC), 0);
	child->pid = fork();
	assert_true(child->pid >= 0);
	if (child->pid == 0) {
		close(hold[1]);
		child_main(ready[1], hold[0]);
	}
	close(ready[1]);
	close(hold[0]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	child->hold = hold[1];
	snprintf(path, sizeof(path), "/proc/%d", child->pid);
	child->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(child->dir >= 0);
	assert_int_equal(dt_mem_open_live(child->pid, child->dir, &child->mem), 0);
	*state = child;
	return 0;
}

static void end_child(struct child *child)
{
	int status;

	if (child->hold < 0)
		return;
	close(child->hold);
	child->hold = -1;
	assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
	assert_int_equal(status, 0);
}

static int teardown(void **state)
{
	struct child *child = *state;

	end_child(child);
	dt_mem_free(child->mem);
	close(child->dir);
	munmap(area, 4 * PAGE);
	free(child);
	return 0;
}

/* Everything that both ways must do alike. */
static void check_reads(struct dt_mem *mem)
{
	uint64_t base = (uint64_t)(uintptr_t)area;
	uint8_t buffer[2 * PAGE], small[4];
	struct dt_range ranges[] = {
	    {base + 5, small, 4}, {base + 100, buffer, 10}, {base + 2 * PAGE, buffer, 1}, {base, buffer, 1}};
	struct dt_range bad[] = {{base + 2 * PAGE - 2, buffer, 4}, {base, small, 4}};
	uint32_t u32;
	uint64_t u64;

	assert_int_equal(dt_mem_read(mem, base + 1, buffer, 2 * PAGE - 1), 0);
	for (size_t i = 1; i < 2 * PAGE; i++)
		assert_int_equal(buffer[i - 1], expected(i));
	assert_int_equal(dt_mem_read(mem, base, buffer, 0), 0);
	assert_int_equal(dt_mem_read(mem, base + 2 * PAGE, buffer, 1), -EFAULT);
	assert_int_equal(dt_mem_read(mem, base + 2 * PAGE - 8, buffer, 9), -EFAULT);
	assert_int_equal(dt_mem_read(mem, 0, buffer, 8), -EFAULT);
	assert_int_equal(dt_mem_read(mem, UINT64_MAX - 3, buffer, 8), -EFAULT);
	assert_int_equal(dt_mem_read(mem, UINT64_C(1) << 63, buffer, 8), -EFAULT);
	assert_int_equal(dt_mem_gather(mem, ranges, 4), 2);
	assert_int_equal(small[3], expected(8));
	assert_int_equal(buffer[9], expected(109));
	assert_int_equal(dt_mem_gather(mem, bad, 2), -EFAULT);
	assert_int_equal(dt_mem_gather(mem, ranges, 0), 0);
	assert_int_equal(dt_mem_read_u32(mem, base + 3 * PAGE, &u32), 0);
	assert_int_equal(u32 & 0xff, expected(3 * PAGE));
	assert_int_equal(dt_mem_read_u64(mem, base + 3 * PAGE + 1, &u64), 0);
	assert_int_equal(u64 >> 56, expected(3 * PAGE + 8));
}

/* More ranges than one call takes, and a fault in the second call. */
static void check_many(struct dt_mem *mem)
{
	uint64_t base = (uint64_t)(uintptr_t)area;
	static uint8_t bytes[3000];
	static struct dt_range ranges[3000];

	memset(bytes, 0, sizeof(bytes));
	for (size_t i = 0; i < 3000; i++)
		ranges[i] = (struct dt_range){base + i, &bytes[i], 1};
	assert_int_equal(dt_mem_gather(mem, ranges, 3000), 3000);
	for (size_t i = 0; i < 3000; i++)
		assert_int_equal(bytes[i], expected(i));
	ranges[2000].address = base + 2 * PAGE;
	assert_int_equal(dt_mem_gather(mem, ranges, 3000), 2000);
}

static void test_live(void **state)
{
	struct child *child = *state;
	struct dt_mem_stats stats;

	check_reads(child->mem);
	stats = dt_mem_stats(child->mem);
	assert_string_equal(stats.way, "process_vm_readv");
	assert_true(stats.bytes >= 2 * PAGE - 1);
	check_many(child->mem);
	assert_true(dt_mem_stats(child->mem).calls <= stats.calls + 6);
	end_child(child);
	assert_int_equal(dt_mem_read(child->mem, (uint64_t)(uintptr_t)area, &stats, 8), -ESRCH);
}

/* Each has words of its own, and counts those that it did not ask for. */
struct pupil {
	struct dt_mem *mem;
	uint64_t words[4];
	size_t wrong;
};

static void *read_own(void *context)
{
	struct pupil *pupil = context;

	for (int i = 0; i < 100000; i++) {
		uint64_t found[4] = {0};
		struct dt_range ranges[4];

		for (size_t k = 0; k < 4; k++)
			ranges[k] = (struct dt_range){(uintptr_t)&pupil->words[k], &found[k], sizeof(found[k])};
		if (dt_mem_gather(pupil->mem, ranges, 4) != 4 || memcmp(found, pupil->words, sizeof(found)) != 0)
			pupil->wrong++;
	}
	return NULL;
}

/* Who stops a thread asks something of its own, while others look. */
static void test_two_threads_read_at_once(void **state)
{
	struct pupil pupils[2] = {{.words = {1, 2, 3, 4}}, {.words = {5, 6, 7, 8}}};
	dt_auto_close int dir = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dt_mem *mem;
	pthread_t threads[2];

	(void)state;
	assert_int_equal(dt_mem_open_live(getpid(), dir, &mem), 0);
	for (size_t i = 0; i < 2; i++) {
		pupils[i].mem = mem;
		assert_int_equal(pthread_create(&threads[i], NULL, read_own, &pupils[i]), 0);
	}
	for (size_t i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(pupils[0].wrong + pupils[1].wrong, 0);
	dt_mem_free(mem);
}

static void test_an_end_replaces_memory(void **state)
{
	struct child *child = *state;
	uint64_t address = (uint64_t)(uintptr_t)area;

	assert_false(dt_live_replaced(child->mem, address)); /* nothing is watched */
	dt_live_watch(child->mem);
	dt_live_watch(child->mem);
	assert_false(dt_live_replaced(child->mem, address));
	assert_false(dt_live_replaced(child->mem, address + 2 * PAGE)); /* a hole is no end */
	assert_false(dt_live_replaced(child->mem, UINT64_MAX));
	end_child(child);
	assert_true(dt_live_replaced(child->mem, address));
}

static void test_an_exec_replaces_memory(void **state)
{
	struct child *child = *state;
	uint64_t address = (uint64_t)(uintptr_t)area, start = dt_clock_ns();

	dt_live_watch(child->mem);
	assert_int_equal(write(child->hold, "", 1), 1);
	while (!dt_live_replaced(child->mem, address) && dt_clock_ns() - start < 60 * UINT64_C(1000000000))
		usleep(1000);
	assert_true(dt_live_replaced(child->mem, address));
	assert_int_equal(kill(child->pid, 0), 0);
	assert_int_equal(waitpid(child->pid, NULL, WNOHANG), 0); /* it lives */
}

/* Without a file there is no witness. */
static void test_nothing_to_watch(void **state)
{
	struct child *child = *state;
	int empty = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dt_mem *mem;

	assert_int_equal(dt_mem_open_live(child->pid, empty, &mem), 0);
	dt_live_watch(mem);
	end_child(child);
	assert_false(dt_live_replaced(mem, (uint64_t)(uintptr_t)area));
	dt_mem_free(mem);
	close(empty);
}

/* From here on process_vm_readv fails with `code` in the calling process. */
static void refuse_readv(int code)
{
	assert_int_equal(refuse_calls(BPF_JEQ, SYS_process_vm_readv, code), 0);
}

/*
 * Filters last as long as the process, so each is tried in a process of its own: a sibling of the child that is read,
 * running a group of tests of its own, so that an assertion that fails there stays there and shows in the exit code.
 */
struct sibling {
	struct child *child;
	int code;      /* of the refusal */
	int told, ask; /* pipes: "the first part is done", "the child has ended" */
};

static struct sibling sibling;

static void run_sibling(CMUnitTestFunction test)
{
	const struct CMUnitTest tests[] = {{"in a process with a filter", test, NULL, NULL, NULL}};

	close(sibling.child->hold);
	_exit(cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 77);
}

static void check_sibling(int pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 77);
}

static void read_refused(void **state)
{
	struct dt_mem *mem = sibling.child->mem;
	char byte;

	(void)state;
	refuse_readv(sibling.code);
	check_reads(mem);
	check_many(mem);
	assert_string_equal(dt_mem_stats(mem).way, "/proc/PID/mem");
	assert_int_equal(write(sibling.told, "", 1), 1);
	assert_int_equal(read(sibling.ask, &byte, 1), 1);
	assert_int_equal(dt_mem_read(mem, (uint64_t)(uintptr_t)area, &byte, 1), -ESRCH);
}

static void check_refused(struct child *child, int code)
{
	int told[2], ask[2], pid;
	char byte;

	assert_int_equal(pipe2(told, O_CLOEXEC), 0);
	assert_int_equal(pipe2(ask, O_CLOEXEC), 0);
	sibling = (struct sibling){child, code, told[1], ask[0]};
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		close(ask[1]);
		run_sibling(read_refused);
	}
	close(told[1]);
	close(ask[0]);
	/* Without a byte the sibling failed, and its exit code will say so. */
	if (read(told[0], &byte, 1) == 1) {
		end_child(child);
		assert_int_equal(write(ask[1], "", 1), 1);
	}
	close(told[0]);
	close(ask[1]);
	check_sibling(pid);
}

static void test_refused_eperm(void **state)
{
	check_refused(*state, EPERM);
}

static void test_refused_enosys(void **state)
{
	check_refused(*state, ENOSYS);
}

/* Refused, and no file to turn to: an error, and the next read tries again. */
static void read_without_file(void **state)
{
	uint64_t address = (uint64_t)(uintptr_t)area;
	int empty = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dt_mem *mem;
	char byte;

	(void)state;
	refuse_readv(EPERM);
	assert_int_equal(dt_mem_open_live(sibling.child->pid, empty, &mem), 0);
	assert_int_equal(dt_mem_read(mem, address, &byte, 1), -ESRCH);
	assert_int_equal(dt_mem_read(mem, address, &byte, 1), -ESRCH);
	assert_string_equal(dt_mem_stats(mem).way, "process_vm_readv");
	assert_int_equal(dt_mem_stats(mem).calls, 2);
	dt_mem_free(mem);
	close(empty);
}

static void test_refused_both(void **state)
{
	int pid;

	sibling = (struct sibling){.child = *state};
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		run_sibling(read_without_file);
	check_sibling(pid);
}

static void test_recorded(void **state)
{
	static const uint8_t first[] = {1, 2, 3, 4}, second[] = {5, 6, 7, 8, 9, 10, 11, 12};
	struct dt_recorded_range ranges[] = {{0x1004, second, 8}, {0x1000, first, 4}, {UINT64_MAX - 3, first, 4}};
	uint8_t buffer[16];
	struct dt_range wanted[] = {{0x1000, buffer, 2}, {0x2000, buffer, 1}};
	struct dt_mem *mem;
	uint32_t value;

	(void)state;
	assert_int_equal(dt_mem_open_recorded(ranges, DT_COUNT(ranges), &mem), 0);
	assert_int_equal(dt_mem_read(mem, 0x1001, buffer, 11), 0);
	for (uint8_t i = 0; i < 11; i++)
		assert_int_equal(buffer[i], i + 2);
	assert_int_equal(dt_mem_read(mem, 0x1001, buffer, 12), -EFAULT);
	assert_int_equal(dt_mem_read(mem, 0xfff, buffer, 1), -EFAULT);
	assert_int_equal(dt_mem_read(mem, UINT64_MAX - 1, buffer, 2), 0);
	assert_int_equal(dt_mem_read(mem, UINT64_MAX - 1, buffer, 3), -EFAULT);
	assert_int_equal(dt_mem_read_u32(mem, 0x1002, &value), 0);
	assert_int_equal(value, 0x06050403);
	assert_int_equal(dt_mem_gather(mem, wanted, 2), 1);
	assert_string_equal(dt_mem_stats(mem).way, "recorded");
	dt_mem_free(mem);
	dt_mem_free(NULL);
}

/* Pieces of two files, of which the second cannot be opened. */
static int open_piece(void *context, size_t file)
{
	return file == 0 ? *(int *)context : -ENOENT;
}

static void test_pieces(void **state)
{
	const struct dt_piece pieces[] = {
	    {0x3000, 8, 4, 0},                 /* ends behind the file */
	    {0x1000, 4, 0, 0},                 /* both in a row, though not in the file */
	    {0x1004, 4, 8, 0},                 /* */
	    {0x1002, 8, 0, 0},                 /* overlaps */
	    {0x2000, 4, 0, 1},                 /* in the file that is not there */
	    {0x5000, 0, 0, 0},                 /* empty */
	    {UINT64_MAX - 3, 4, 0, 0},         /* to the very end */
	    {UINT64_MAX - 1, 4, 0, 0},         /* wraps around */
	    {0x6000, 4, UINT64_MAX - 1, 0},    /* so does its offset */
	    {0x7000, 4, (uint64_t)1 << 63, 0}, /* no file is so large */
	};
	int fd = memfd_create("pieces", MFD_CLOEXEC);
	uint8_t buffer[16];
	struct dt_mem *mem;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "abcdefghijk", 11), 11);
	assert_int_equal(dt_mem_open_pieces(pieces, DT_COUNT(pieces), open_piece, &fd, &mem), 0);
	assert_int_equal(dt_mem_read(mem, 0x1001, buffer, 6), 0);
	assert_memory_equal(buffer, "bcdijk", 6);
	assert_int_equal(dt_mem_read(mem, 0x1007, buffer, 1), -EFAULT); /* the file ends */
	assert_int_equal(dt_mem_read(mem, 0x1008, buffer, 1), -EFAULT);
	assert_int_equal(dt_mem_read(mem, 0xfff, buffer, 2), -EFAULT);
	assert_int_equal(dt_mem_read(mem, 0x2000, buffer, 1), -EFAULT);
	assert_int_equal(dt_mem_read(mem, 0x3000, buffer, 7), 0);
	assert_memory_equal(buffer, "efghijk", 7);
	assert_int_equal(dt_mem_read(mem, 0x3000, buffer, 8), -EFAULT);
	assert_int_equal(dt_mem_read(mem, 0x5000, buffer, 1), -EFAULT);
	assert_int_equal(dt_mem_read(mem, 0x6000, buffer, 1), -EFAULT);
	assert_int_equal(dt_mem_read(mem, 0x7000, buffer, 1), -EFAULT);
	assert_int_equal(dt_mem_read(mem, UINT64_MAX - 3, buffer, 4), 0);
	assert_int_equal(dt_mem_read(mem, UINT64_MAX, buffer, 2), -EFAULT);
	assert_int_equal(dt_mem_gather(mem, (struct dt_range[]){{0x1000, buffer, 1}, {0x2000, buffer, 1}}, 2), 1);
	assert_string_equal(dt_mem_stats(mem).way, "pieces");
	dt_mem_free(mem);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_live, setup, teardown),
	    cmocka_unit_test(test_two_threads_read_at_once),
	    cmocka_unit_test_setup_teardown(test_an_end_replaces_memory, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_an_exec_replaces_memory, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_nothing_to_watch, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_refused_eperm, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_refused_enosys, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_refused_both, setup, teardown),
	    cmocka_unit_test(test_recorded),
	    cmocka_unit_test(test_pieces),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
