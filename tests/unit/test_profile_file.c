/* The .darter file: what was written is read again, also in parts, and nothing else is. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>

#include "base/buf.h"
#include "base/hash.h"
#include "profile/file.h"
#include "profile/pack.h"
#include "profile_example.h"
#include "profile_same.h"

#define MS EXAMPLE_MS

static struct dt_profile *read_again(int fd, struct dt_file_state *state)
{
	struct dt_profile *profile = NULL;
	struct dt_error err;
	int rc;

	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	rc = dt_profile_read(fd, "test.darter", &profile, state, &err);
	if (rc < 0)
		fail_msg("%s", err.message);
	return profile;
}

/* The example, written in one block and an end. */
static int write_example(void)
{
	struct dt_profile *profile = example_profile();
	struct dt_writer *writer;
	struct dt_error err;
	int fd = example_file();

	assert_int_equal(dt_writer_new(fd, profile, &writer, &err), 0);
	assert_int_equal(dt_writer_end(writer, &err), 0);
	assert_int_equal(dt_writer_bytes(writer), lseek(fd, 0, SEEK_END));
	dt_writer_free(writer);
	dt_profile_free(profile);
	return fd;
}

/* One run of thread 1 in `second`, with a stack that came up in that second and on the stack of the second before. */
static void add_second(struct dt_profile *profile, uint32_t second)
{
	struct dt_profile_run run = {
	    .wall_ns = 10 * MS, .cpu_ns = second, .samples = 1, .thread = 1 + second % 3, .state = DT_STATE_RUNNING};
	char name[32];

	snprintf(name, sizeof(name), "second_%u", second);
	run.start_ns = (1000 + 1000 * (uint64_t)second) * MS;
	run.stack = example_frame(profile, second % 4 ? dt_profile_counts(profile).stacks : 0, name, "s.py", second);
	assert_int_equal(dt_profile_add_run(profile, &run), 0);
}

/* The same recording twice: kept whole, and written in blocks of a second. */
static int write_seconds(uint32_t seconds, struct dt_profile **whole)
{
	struct dt_profile *profile = example_profile();
	struct dt_writer *writer;
	struct dt_error err;
	int fd = example_file();

	*whole = example_profile();
	assert_int_equal(dt_writer_new(fd, profile, &writer, &err), 0);
	assert_int_equal(dt_writer_flush(writer, &err), 0);
	for (uint32_t i = 0; i < seconds; i++) {
		add_second(profile, i);
		add_second(*whole, i);
		assert_int_equal(dt_writer_flush(writer, &err), 0);
		assert_int_equal(dt_profile_counts(profile).runs, 0);
	}
	assert_int_equal(dt_writer_end(writer, &err), 0);
	dt_writer_free(writer);
	dt_profile_free(profile);
	return fd;
}

static void test_one_block(void **state)
{
	struct dt_profile *wanted = example_profile(), *profile;
	struct dt_file_state file;
	int fd = write_example();

	(void)state;
	profile = read_again(fd, &file);
	assert_same_profile(profile, wanted);
	assert_true(file.ended);
	assert_int_equal(file.blocks, 2);
	assert_int_equal(file.damaged, 0);
	assert_int_equal(file.lost_runs, 0);
	assert_int_equal(file.read_bytes, file.file_bytes);
	dt_profile_free(profile);
	dt_profile_free(wanted);
	close(fd);
}

static void test_many_blocks(void **state)
{
	struct dt_profile *wanted, *profile;
	struct dt_file_state file;
	int fd = write_seconds(100, &wanted);

	(void)state;
	profile = read_again(fd, &file);
	assert_same_profile(profile, wanted);
	assert_true(file.ended);
	assert_int_equal(file.blocks, 102);
	dt_profile_free(profile);
	dt_profile_free(wanted);
	close(fd);
}

static void test_nothing_new_writes_nothing(void **state)
{
	struct dt_profile *profile = dt_profile_new();
	struct dt_writer *writer;
	struct dt_file_state file;
	struct dt_error err;
	int fd = example_file();
	uint64_t bytes;

	(void)state;
	assert_int_equal(dt_writer_new(fd, profile, &writer, &err), 0);
	assert_int_equal(dt_writer_bytes(writer), FILE_HEAD);
	assert_int_equal(dt_writer_flush(writer, &err), 0);
	assert_int_equal(dt_writer_bytes(writer), FILE_HEAD);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(dt_profile_read(fd, "x.darter", &profile, &file, &err), DT_EAGAIN);
	assert_string_equal(err.message, "x.darter is empty: the recording ended before anything was written to it");
	lseek(fd, 0, SEEK_END);
	example_string(profile, "one");
	assert_int_equal(dt_writer_flush(writer, &err), 0);
	bytes = dt_writer_bytes(writer);
	assert_true(bytes > FILE_HEAD + FILE_BLOCK);
	assert_int_equal(dt_writer_flush(writer, &err), 0);
	assert_int_equal(dt_writer_bytes(writer), bytes);
	assert_int_equal(dt_writer_end(writer, &err), 0);
	assert_true(dt_writer_bytes(writer) > bytes);
	dt_writer_free(writer);
	dt_writer_free(NULL);
	dt_profile_free(profile);
	close(fd);
}

static void test_changes_are_written(void **state)
{
	struct dt_profile *profile = example_profile(), *again;
	struct dt_profile_thread thread;
	struct dt_profile_process process;
	struct dt_profile_meta meta;
	struct dt_file_state file;
	struct dt_writer *writer;
	struct dt_error err;
	int fd = example_file();
	uint64_t bytes;

	(void)state;
	assert_int_equal(dt_writer_new(fd, profile, &writer, &err), 0);
	assert_int_equal(dt_writer_flush(writer, &err), 0);
	thread = *dt_profile_thread_at(profile, 3);
	thread.name = example_string(profile, "named at last");
	assert_int_equal(dt_profile_set_thread(profile, 3, &thread), 0);
	process = *dt_profile_process_at(profile, 1);
	process.ended_ns = 480 * MS;
	assert_int_equal(dt_profile_set_process(profile, 1, &process), 0);
	meta = *dt_profile_meta(profile);
	meta.quality.samples = 1234;
	dt_profile_set_meta(profile, &meta);
	assert_int_equal(dt_writer_flush(writer, &err), 0);
	bytes = dt_writer_bytes(writer);
	assert_int_equal(dt_writer_flush(writer, &err), 0);
	assert_int_equal(dt_writer_bytes(writer), bytes);
	again = read_again(fd, &file);
	assert_string_equal(dt_profile_text(again, dt_profile_thread_at(again, 3)->name), "named at last");
	assert_int_equal(dt_profile_process_at(again, 1)->ended_ns, 480 * MS);
	assert_int_equal(dt_profile_meta(again)->quality.samples, 1234);
	assert_false(file.ended);
	assert_int_equal(file.damaged, 0);
	dt_profile_free(again);
	dt_writer_free(writer);
	dt_profile_free(profile);
	close(fd);
}

/* More of everything than fits a block. */
static void test_large(void **state)
{
	struct dt_profile *profile = dt_profile_new(), *again;
	struct dt_profile_process process = {.pid = 1};
	struct dt_profile_run run = {.wall_ns = 5, .samples = 1};
	struct dt_profile *wanted;
	struct dt_file_state file;
	struct dt_writer *writer;
	struct dt_error err;
	int fd = example_file();
	char name[64];
	uint32_t id, stack = 0;

	(void)state;
	assert_int_equal(dt_profile_add_process(profile, &process, &id), 0);
	for (uint32_t i = 0; i < 70000; i++) {
		struct dt_profile_thread thread = {.process = 1, .tid = i, .ident = i};

		snprintf(name, sizeof(name), "a name that is not short, number %u", i);
		stack = example_frame(profile, i % 1000 ? stack : 0, name, "", i);
		assert_int_equal(dt_profile_add_thread(profile, &thread, &run.thread), 0);
		run.stack = stack;
		run.start_ns = i / 7;
		assert_int_equal(dt_profile_add_run(profile, &run), 0);
	}
	assert_int_equal(dt_writer_new(fd, profile, &writer, &err), 0);
	assert_int_equal(dt_writer_end(writer, &err), 0);
	again = read_again(fd, &file);
	assert_int_equal(dt_profile_counts(again).runs, 70000);
	assert_int_equal(dt_profile_counts(profile).runs, 0);
	assert_true(file.ended && file.blocks > 5 && !file.damaged && !file.lost_runs);
	/* Once more from what was read: the same comes out. */
	dt_writer_free(writer);
	assert_int_equal(ftruncate(fd, 0) + lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(dt_writer_new(fd, again, &writer, &err), 0);
	assert_int_equal(dt_writer_end(writer, &err), 0);
	wanted = read_again(fd, &file);
	assert_int_equal(dt_profile_counts(wanted).stacks, 70000);
	for (size_t i = 0; i < 70000; i++) {
		const struct dt_profile_run *one = &dt_profile_runs(wanted)[i];

		assert_int_equal(one->thread, i + 1);
		assert_int_equal(one->stack, i + 1);
		assert_int_equal(one->start_ns, i / 7);
		assert_int_equal(one->wall_ns, 5);
	}
	dt_profile_free(wanted);
	dt_profile_free(again);
	dt_writer_free(writer);
	dt_profile_free(profile);
	close(fd);
}

/* Names that can be packed to almost nothing are not taken for something that was made to fill memory. */
static void test_dull(void **state)
{
	struct dt_profile *profile = dt_profile_new(), *again;
	dt_auto_free char *text = malloc(DT_PROFILE_STRING);
	struct dt_file_state file;
	struct dt_writer *writer;
	struct dt_error err;
	int fd = example_file();
	uint32_t id;

	(void)state;
	memset(text, 'x', DT_PROFILE_STRING);
	for (size_t i = 0; i < 40; i++)
		assert_int_equal(dt_profile_string(profile, text, DT_PROFILE_STRING - i, &id), 0);
	assert_int_equal(dt_writer_new(fd, profile, &writer, &err), 0);
	assert_int_equal(dt_writer_end(writer, &err), 0);
	again = read_again(fd, &file);
	assert_int_equal(file.damaged, 0);
	assert_same_profile(again, profile);
	dt_profile_free(again);
	dt_writer_free(writer);
	dt_profile_free(profile);
	close(fd);
}

/* Rotation: each file can be read alone. */
static void test_move(void **state)
{
	struct dt_profile *profile = example_profile(), *again;
	struct dt_file_state file;
	struct dt_writer *writer;
	struct dt_error err;
	int first = example_file(), second = example_file();

	(void)state;
	assert_int_equal(dt_writer_new(first, profile, &writer, &err), 0);
	assert_int_equal(dt_writer_flush(writer, &err), 0);
	assert_int_equal(dt_writer_move(writer, second, &err), 0);
	add_second(profile, 1);
	assert_int_equal(dt_writer_end(writer, &err), 0);
	again = read_again(first, &file);
	assert_int_equal(dt_profile_counts(again).runs, 22);
	assert_false(file.ended);
	dt_profile_free(again);
	again = read_again(second, &file);
	assert_true(file.ended);
	assert_int_equal(dt_profile_counts(again).runs, 1);
	assert_true(same_stack(again, dt_profile_runs(again)[0].stack, profile, dt_profile_counts(profile).stacks));
	assert_string_equal(dt_profile_text(again, dt_profile_meta(again)->host), "host.example");
	dt_profile_free(again);
	dt_writer_free(writer);
	dt_profile_free(profile);
	close(first);
	close(second);
}

/* A file that may not grow any more: the block is cut off, and its content goes to another file. */
static void test_full(void **state)
{
	struct dt_profile *profile = example_profile(), *again;
	struct rlimit before, limit;
	struct dt_file_state file;
	struct dt_writer *writer;
	struct dt_error err;
	int first = example_file(), second = example_file();
	off_t end;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(dt_writer_new(first, profile, &writer, &err), 0);
	assert_int_equal(dt_writer_flush(writer, &err), 0);
	end = lseek(first, 0, SEEK_END);
	add_second(profile, 0);
	limit = before;
	limit.rlim_cur = (rlim_t)end + FILE_BLOCK + 5; /* the head of the next block fits, and a little more */
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(dt_writer_flush(writer, &err), DT_ERUNTIME);
	assert_int_equal(errno, EFBIG);
	assert_string_equal(err.message, "the recording cannot be written: File too large");
	assert_non_null(strstr(err.hint, "ulimit -f"));
	assert_int_equal(lseek(first, 0, SEEK_END), end);
	assert_int_equal(dt_profile_counts(profile).runs, 1);
	add_second(profile, 1);
	/* Not there either: nothing is left behind, the writer is where it was. */
	limit.rlim_cur = FILE_HEAD + 20;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(dt_writer_move(writer, second, &err), DT_ERUNTIME);
	assert_int_equal(lseek(second, 0, SEEK_END), 0);
	assert_int_equal(dt_profile_counts(profile).runs, 2);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(dt_writer_move(writer, second, &err), 0);
	add_second(profile, 2);
	assert_int_equal(dt_writer_end(writer, &err), 0);
	again = read_again(second, &file);
	assert_true(file.ended);
	assert_int_equal(dt_profile_counts(again).runs, 3);
	dt_profile_free(again);
	again = read_again(first, &file);
	assert_int_equal(file.damaged, 0);
	assert_int_equal(dt_profile_counts(again).runs, 22);
	dt_profile_free(again);
	dt_writer_free(writer);
	dt_profile_free(profile);
	close(first);
	close(second);
}

/* The same file goes on once there is room again, and nothing is in it twice. */
static void test_full_for_a_while(void **state)
{
	struct dt_profile *profile = example_profile(), *wanted = example_profile(), *again;
	struct rlimit before, limit;
	struct dt_file_state file;
	struct dt_writer *writer;
	struct dt_error err;
	int fd = example_file();

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(dt_writer_new(fd, profile, &writer, &err), 0);
	for (uint32_t i = 0; i < 20; i++) {
		limit = before;
		limit.rlim_cur = (rlim_t)lseek(fd, 0, SEEK_CUR) + (rlim_t)3 * i;
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
		assert_int_equal(dt_writer_flush(writer, &err), DT_ERUNTIME);
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
		if (i % 2)
			assert_int_equal(dt_writer_flush(writer, &err), 0);
		add_second(profile, i);
		add_second(wanted, i);
	}
	assert_int_equal(dt_writer_end(writer, &err), 0);
	again = read_again(fd, &file);
	assert_same_profile(again, wanted);
	assert_int_equal(file.damaged, 0);
	dt_profile_free(again);
	dt_profile_free(wanted);
	dt_writer_free(writer);
	dt_profile_free(profile);
	close(fd);
}

static void test_bad_descriptor(void **state)
{
	struct dt_profile *profile = example_profile();
	struct dt_writer *writer = NULL;
	struct dt_file_state file;
	struct dt_error err;
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(dt_writer_new(-1, profile, &writer, &err), DT_ERUNTIME);
	assert_int_equal(errno, EBADF);
	assert_null(writer);
	assert_int_equal(dt_writer_new(full, profile, &writer, &err), DT_ERUNTIME);
	assert_int_equal(errno, ENOSPC);
	assert_string_equal(err.message, "the recording cannot be written: No space left on device");
	assert_string_equal(err.hint, "make room there, or give a file on another disk with '-o FILE'");
	assert_int_equal(dt_profile_read(-1, "gone.darter", &profile, &file, &err), DT_ERUNTIME);
	assert_string_equal(err.message, "gone.darter cannot be read: Bad file descriptor");
	dt_profile_free(profile);
	close(full);
}

/* Through a pipe, in small pieces. */
static void test_pipe(void **state)
{
	struct dt_profile *profile = example_profile(), *wanted = example_profile(), *again;
	struct dt_file_state file;
	struct dt_writer *writer;
	struct dt_error err;
	int ends[2];

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(dt_writer_new(ends[1], profile, &writer, &err), 0);
	assert_int_equal(dt_writer_end(writer, &err), 0);
	close(ends[1]);
	assert_int_equal(dt_profile_read(ends[0], "pipe", &again, &file, &err), 0);
	assert_same_profile(again, wanted);
	dt_profile_free(again);
	dt_profile_free(wanted);
	dt_writer_free(writer);
	dt_profile_free(profile);
	close(ends[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_one_block),
	    cmocka_unit_test(test_many_blocks),
	    cmocka_unit_test(test_nothing_new_writes_nothing),
	    cmocka_unit_test(test_changes_are_written),
	    cmocka_unit_test(test_large),
	    cmocka_unit_test(test_dull),
	    cmocka_unit_test(test_move),
	    cmocka_unit_test(test_full),
	    cmocka_unit_test(test_full_for_a_while),
	    cmocka_unit_test(test_bad_descriptor),
	    cmocka_unit_test(test_pipe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
