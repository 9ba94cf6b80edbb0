/* What a damaged recording is worth: its figures are of what is left, and what is lost is kept when it is repaired. */
#include "unit.h"

#include <stdio.h>

#include "profile/file.h"
#include "profile_example.h"
#include "profile_same.h"

#define MS      EXAMPLE_MS
#define SECOND  (1000 * MS)
#define SECONDS 4
#define RATE    100

/* Figures as they are at the end of a second; the first half of the first one passes before anybody can be looked at.
 */
static void describe(struct dt_profile *profile, uint32_t second)
{
	struct dt_profile_meta meta = {.duration_ns = (second + 1) * SECOND, .rate = RATE};
	uint64_t rounds = (second + 1) * (uint64_t)RATE - RATE / 2;

	meta.quality = (struct dt_profile_quality){.rounds = rounds,
						   .samples = rounds,
						   .late = rounds / 10,
						   .stopped_ns = rounds * 1000,
						   .own_cpu_ns = (second + 1) * MS,
						   .own_rss = 5 << 20};
	dt_profile_set_meta(profile, &meta);
}

/* A second of a thread that computes, on a stack that is new, or that of the first one. */
static void add_second(struct dt_profile *profile, uint32_t second, bool same_stack)
{
	struct dt_profile_run run = {.start_ns = second ? second * SECOND : SECOND / 2,
				     .wall_ns = second ? SECOND : SECOND / 2,
				     .samples = second ? RATE : RATE / 2,
				     .thread = 1,
				     .state = DT_STATE_RUNNING};
	char name[32];

	snprintf(name, sizeof(name), "second_%u", same_stack ? 0 : second);
	run.stack = example_frame(profile, 0, name, "app.py", 7);
	assert_int_equal(dt_profile_add_run(profile, &run), 0);
	describe(profile, second);
}

/* A file with a block for each second; what stands in it from offsets[i] on is that of second i. */
static char *make(bool same_stack, size_t offsets[SECONDS + 1], size_t *size)
{
	struct dt_profile *profile = dt_profile_new();
	struct dt_profile_process process = {.pid = 12, .command = example_string(profile, "python3 app.py")};
	struct dt_profile_thread thread = {.tid = 12, .main = true};
	struct dt_writer *writer;
	struct dt_error err;
	int fd = example_file();
	uint32_t id;
	char *bytes;

	assert_int_equal(dt_profile_add_process(profile, &process, &thread.process), 0);
	assert_int_equal(dt_profile_add_thread(profile, &thread, &id), 0);
	assert_int_equal(dt_writer_new(fd, profile, &writer, &err), 0);
	for (uint32_t i = 0; i < SECONDS; i++) {
		offsets[i] = dt_writer_bytes(writer);
		add_second(profile, i, same_stack);
		assert_int_equal(dt_writer_flush(writer, &err), 0);
	}
	offsets[SECONDS] = dt_writer_bytes(writer);
	assert_int_equal(dt_writer_end(writer, &err), 0);
	bytes = bytes_of(fd, size);
	dt_writer_free(writer);
	dt_profile_free(profile);
	close(fd);
	return bytes;
}

static struct dt_profile *read_all(const char *bytes, size_t size, uint64_t damaged)
{
	struct dt_profile *profile;
	struct dt_file_state state;
	struct dt_error err;
	int fd = file_of(bytes, size);

	assert_int_equal(dt_profile_read(fd, "lost.darter", &profile, &state, &err), 0);
	assert_int_equal(state.damaged, damaged);
	close(fd);
	return profile;
}

static struct dt_profile *repair(struct dt_profile *profile)
{
	struct dt_writer *writer;
	struct dt_error err;
	struct dt_profile *again;
	int fd = example_file();
	size_t size;
	char *bytes;

	assert_int_equal(dt_writer_new(fd, profile, &writer, &err), 0);
	assert_int_equal(dt_writer_end(writer, &err), 0);
	bytes = bytes_of(fd, &size);
	again = read_all(bytes, size, 0);
	dt_writer_free(writer);
	free(bytes);
	close(fd);
	return again;
}

static void assert_left(const struct dt_profile *profile, uint64_t seconds)
{
	const struct dt_profile_meta *meta = dt_profile_meta(profile);
	uint64_t left = seconds * RATE - RATE / 2;

	assert_int_equal(meta->duration_ns, seconds * SECOND);
	assert_int_equal(meta->damaged_ns, (SECONDS - seconds) * SECOND);
	assert_int_equal(meta->quality.samples, left);
	assert_int_equal(meta->damaged_samples, (SECONDS - seconds) * RATE);
	assert_int_equal(meta->quality.rounds, left);
	assert_in_range(meta->quality.late, left / 10, left / 10 + 1);
	assert_int_equal(meta->quality.stopped_ns, left * 1000);
	assert_int_equal(meta->quality.own_rss, 5 << 20);
}

/* A second is gone, and stays so. */
static void test_figures_are_of_what_is_left(void **state)
{
	(void)state;
	for (uint32_t second = 1; second < SECONDS; second++) {
		size_t offsets[SECONDS + 1], size;
		char *bytes = make(false, offsets, &size), *place = bytes + (offsets[second] + offsets[second + 1]) / 2;
		struct dt_profile *profile, *again;

		*place = (char)(*place ^ 1);
		profile = read_all(bytes, size, 1);
		assert_left(profile, SECONDS - 1);
		again = repair(profile);
		assert_left(again, SECONDS - 1);
		dt_profile_free(again);
		dt_profile_free(profile);
		free(bytes);
	}
}

/* Of a file that is whole, or only ends too early, nothing is taken away. */
static void test_nothing_is_lost_without_damage(void **state)
{
	size_t offsets[SECONDS + 1], size;
	char *bytes = make(true, offsets, &size);
	struct dt_profile *profile = read_all(bytes, size, 0);

	(void)state;
	assert_left(profile, SECONDS);
	dt_profile_free(profile);
	profile = read_all(bytes, offsets[2], 0);
	assert_int_equal(dt_profile_meta(profile)->damaged_ns, 0);
	assert_int_equal(dt_profile_meta(profile)->damaged_samples, 0);
	assert_int_equal(dt_profile_meta(profile)->duration_ns, 2 * SECOND);
	assert_int_equal(dt_profile_meta(profile)->quality.samples, 2 * RATE - RATE / 2);
	dt_profile_free(profile);
	free(bytes);
}

/* Two seconds in a row. */
static void test_two_blocks_are_lost(void **state)
{
	size_t offsets[SECONDS + 1], size;
	char *bytes = make(true, offsets, &size);
	struct dt_profile *profile, *again;

	(void)state;
	for (uint32_t second = 1; second < 3; second++) {
		char *place = bytes + (offsets[second] + offsets[second + 1]) / 2;

		*place = (char)(*place ^ 1);
	}
	profile = read_all(bytes, size, 2);
	assert_left(profile, SECONDS - 2);
	again = repair(profile);
	assert_left(again, SECONDS - 2);
	dt_profile_free(again);
	dt_profile_free(profile);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_figures_are_of_what_is_left),
	    cmocka_unit_test(test_nothing_is_lost_without_damage),
	    cmocka_unit_test(test_two_blocks_are_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
