/* The model: what is equal has one number, what makes no sense does not come in, what is known costs no memory. */
#include "unit.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "base/hash.h"
#include "profile/inside.h"
#include "profile/profile.h"
#include "profile_example.h"

#define MS EXAMPLE_MS

static void test_empty(void **state)
{
	struct dt_profile *profile = dt_profile_new();
	struct dt_profile_counts counts;

	(void)state;
	assert_non_null(profile);
	counts = dt_profile_counts(profile);
	assert_int_equal(counts.strings + counts.functions + counts.locations + counts.stacks + counts.processes +
			     counts.threads + counts.runs,
			 0);
	assert_string_equal(dt_profile_text(profile, 0), "");
	assert_int_equal(dt_profile_stack_at(profile, 0)->depth, 0);
	assert_int_equal(dt_profile_meta(profile)->duration_ns, 0);
	dt_profile_forget_runs(profile);
	dt_profile_free(profile);
	dt_profile_free(NULL);
}

static void test_strings(void **state)
{
	struct dt_profile *profile = dt_profile_new();
	static char large[DT_PROFILE_STRING + 1];
	const char *first;
	char text[32];
	uint32_t id, again;

	(void)state;
	memset(large, 'x', sizeof(large));
	assert_int_equal(example_string(profile, ""), 0);
	assert_int_equal(example_string(profile, "one"), 1);
	first = dt_profile_text(profile, 1);
	for (uint32_t i = 0; i < 100000; i++) {
		snprintf(text, sizeof(text), "name %u", i);
		assert_int_equal(example_string(profile, text), i + 2);
	}
	for (uint32_t i = 0; i < 100000; i++) {
		snprintf(text, sizeof(text), "name %u", i);
		assert_int_equal(example_string(profile, text), i + 2);
		assert_string_equal(dt_profile_text(profile, i + 2), text);
	}
	assert_ptr_equal(dt_profile_text(profile, 1), first);
	assert_int_equal(dt_profile_string(profile, "a\0b", 3, &id), -EINVAL);
	assert_int_equal(dt_profile_string(profile, large, sizeof(large), &id), -ENOMEM);
	assert_int_equal(dt_profile_counts(profile).strings, 100001);
	assert_int_equal(dt_profile_string(profile, large, sizeof(large) - 1, &id), 0);
	assert_int_equal(dt_profile_string(profile, large, sizeof(large) - 1, &again), 0);
	assert_int_equal(id, 100002);
	assert_int_equal(again, id);
	dt_profile_free(profile);
}

static void test_interned(void **state)
{
	struct dt_profile *profile = dt_profile_new();
	struct dt_profile_function function = {1, 2, 3, DT_FUNCTION_PYTHON};
	struct dt_profile_location location = {1, 10};
	uint32_t id;

	(void)state;
	assert_int_equal(dt_profile_function(profile, &function, &id), -EINVAL);
	assert_int_equal(dt_profile_location(profile, &location, &id), -EINVAL);
	assert_int_equal(dt_profile_stack(profile, 0, 1, &id), -EINVAL);
	example_string(profile, "f");
	assert_int_equal(dt_profile_function(profile, &function, &id), -EINVAL);
	example_string(profile, "f.py");
	for (int twice = 0; twice < 2; twice++) {
		assert_int_equal(dt_profile_function(profile, &function, &id), 0);
		assert_int_equal(id, 1);
	}
	function.kind = DT_FUNCTION_MARK;
	assert_int_equal(dt_profile_function(profile, &function, &id), 0);
	assert_int_equal(id, 2);
	function.kind = DT_FUNCTION_MARK + 1;
	assert_int_equal(dt_profile_function(profile, &function, &id), -EINVAL);
	assert_int_equal(dt_profile_location(profile, &(struct dt_profile_location){0, 1}, &id), -EINVAL);
	assert_int_equal(dt_profile_location(profile, &(struct dt_profile_location){3, 1}, &id), -EINVAL);
	for (uint32_t line = 0; line < 50000; line++) {
		location.line = line / 2;
		location.function = 1 + line % 2;
		assert_int_equal(dt_profile_location(profile, &location, &id), 0);
		assert_int_equal(id, line + 1);
	}
	location = (struct dt_profile_location){1, 777};
	assert_int_equal(dt_profile_location(profile, &location, &id), 0);
	assert_int_equal(id, 2 * 777 + 1);
	assert_int_equal(dt_profile_location_at(profile, id)->line, 777);
	assert_int_equal(dt_profile_counts(profile).locations, 50000);
	dt_profile_free(profile);
}

static void test_stacks(void **state)
{
	struct dt_profile *profile = dt_profile_new();
	uint32_t location = example_location(profile, "f", "f.py", 1, DT_FUNCTION_PYTHON);
	uint32_t id = 0, again;

	(void)state;
	assert_int_equal(dt_profile_stack(profile, 1, location, &id), -EINVAL);
	assert_int_equal(dt_profile_stack(profile, 0, 0, &id), -EINVAL);
	assert_int_equal(dt_profile_stack(profile, 0, location + 1, &id), -EINVAL);
	id = 0;
	for (uint32_t depth = 1; depth <= DT_PROFILE_DEPTH; depth++) {
		uint32_t parent = id;

		assert_int_equal(dt_profile_stack(profile, parent, location, &id), 0);
		assert_int_equal(dt_profile_stack(profile, parent, location, &again), 0);
		assert_int_equal(id, depth);
		assert_int_equal(again, id);
		assert_int_equal(dt_profile_stack_at(profile, id)->parent, parent);
		assert_int_equal(dt_profile_stack_at(profile, id)->depth, depth);
	}
	assert_int_equal(dt_profile_stack(profile, id, location, &again), -EINVAL);
	assert_int_equal(dt_profile_counts(profile).stacks, DT_PROFILE_DEPTH);
	dt_profile_free(profile);
}

static void test_processes_and_threads(void **state)
{
	struct dt_profile *profile = example_profile();
	struct dt_profile_process process = *dt_profile_process_at(profile, 1);
	struct dt_profile_thread thread = *dt_profile_thread_at(profile, 2);
	const uint32_t none = dt_profile_counts(profile).strings + 1;
	uint32_t id;

	(void)state;
	thread.name = example_string(profile, "worker");
	assert_int_equal(dt_profile_set_thread(profile, 2, &thread), 0);
	assert_string_equal(dt_profile_text(profile, dt_profile_thread_at(profile, 2)->name), "worker");
	assert_int_equal(dt_profile_set_thread(profile, 0, &thread), -EINVAL);
	assert_int_equal(dt_profile_set_thread(profile, 5, &thread), -EINVAL);
	thread.process = 0;
	assert_int_equal(dt_profile_add_thread(profile, &thread, &id), -EINVAL);
	thread.process = 3;
	assert_int_equal(dt_profile_set_thread(profile, 2, &thread), -EINVAL);
	thread = (struct dt_profile_thread){.process = 1, .name = none + 10};
	assert_int_equal(dt_profile_add_thread(profile, &thread, &id), -EINVAL);
	process.ended_ns = 10 * MS;
	assert_int_equal(dt_profile_set_process(profile, 1, &process), 0);
	assert_int_equal(dt_profile_process_at(profile, 1)->ended_ns, 10 * MS);
	assert_int_equal(dt_profile_set_process(profile, 0, &process), -EINVAL);
	assert_int_equal(dt_profile_set_process(profile, 3, &process), -EINVAL);
	process.began_ns = 11 * MS;
	assert_int_equal(dt_profile_set_process(profile, 1, &process), -EINVAL);
	process = (struct dt_profile_process){.container = none + 10};
	assert_int_equal(dt_profile_add_process(profile, &process, &id), -EINVAL);
	assert_int_equal(dt_profile_counts(profile).processes, 2);
	assert_int_equal(dt_profile_counts(profile).threads, 4);
	dt_profile_free(profile);
}

static void test_runs_are_joined(void **state)
{
	struct dt_profile *profile = example_profile();
	struct dt_profile_run run = {
	    .start_ns = 1000 * MS, .wall_ns = 10 * MS, .cpu_ns = 3, .samples = 1, .thread = 3, .stack = 4};
	const size_t before = dt_profile_counts(profile).runs;
	const struct dt_profile_run *last;

	(void)state;
	assert_int_equal(before, 22);
	for (int i = 0; i < 5; i++, run.start_ns += run.wall_ns)
		assert_int_equal(dt_profile_add_run(profile, &run), 0);
	assert_int_equal(dt_profile_counts(profile).runs, before + 1);
	last = &dt_profile_runs(profile)[before];
	assert_int_equal(last->start_ns, 1000 * MS);
	assert_int_equal(last->wall_ns, 50 * MS);
	assert_int_equal(last->cpu_ns, 15);
	assert_int_equal(last->samples, 5);

	run.start_ns += 1; /* a gap */
	assert_int_equal(dt_profile_add_run(profile, &run), 0);
	run.start_ns += run.wall_ns;
	run.flags = DT_RUN_GIL;
	assert_int_equal(dt_profile_add_run(profile, &run), 0);
	run.start_ns += run.wall_ns;
	run.samples = UINT32_MAX; /* more than one run can count */
	assert_int_equal(dt_profile_add_run(profile, &run), 0);
	assert_int_equal(dt_profile_counts(profile).runs, before + 4);

	dt_profile_forget_runs(profile);
	assert_int_equal(dt_profile_counts(profile).runs, 0);
	assert_int_equal(dt_profile_add_run(profile, &run), -EINVAL); /* its time is past, forgotten or not */
	run.start_ns += run.wall_ns;
	run.samples = 1;
	assert_int_equal(dt_profile_add_run(profile, &run), 0);
	assert_int_equal(dt_profile_counts(profile).runs, 1);
	assert_int_equal(dt_profile_runs(profile)[0].wall_ns, run.wall_ns);
	dt_profile_free(profile);
}

static void test_bad_runs(void **state)
{
	struct dt_profile *profile = example_profile();
	const struct dt_profile_run good = {
	    .start_ns = 1000 * MS, .wall_ns = MS, .samples = 1, .thread = 1, .stack = 20};
	const uint32_t strings = dt_profile_counts(profile).strings;
	struct dt_profile_run bad[] = {good, good, good, good, good, good, good, good, good, good, good};

	(void)state;
	bad[0].thread = 0;
	bad[1].thread = 5;
	bad[2].stack = 21;
	bad[3].call = strings + 1;
	bad[4].state = DT_STATE_STOPPED + 1;
	bad[5].flags = 16;
	bad[6].flags = DT_RUN_UNSEEN;
	bad[7].wall_ns = UINT64_MAX - 5;
	bad[8].start_ns = DT_PROFILE_TIME;
	bad[9].cpu_ns = UINT64_MAX;
	bad[10].start_ns = 10 * MS;
	for (size_t i = 0; i < DT_COUNT(bad); i++)
		assert_int_equal(dt_profile_add_run(profile, &bad[i]), -EINVAL);
	assert_int_equal(dt_profile_counts(profile).runs, 22);
	assert_int_equal(dt_profile_add_run(profile, &good), 0);
	assert_int_equal(dt_profile_counts(profile).runs, 23);
	dt_profile_free(profile);
}

static void test_meta(void **state)
{
	struct dt_profile *profile = example_profile();
	struct dt_profile_meta meta = *dt_profile_meta(profile);

	(void)state;
	assert_string_equal(dt_profile_text(profile, meta.mode), "wall");
	meta.host = dt_profile_counts(profile).strings + 1;
	meta.rate = (double)NAN;
	dt_profile_set_meta(profile, &meta);
	assert_int_equal(dt_profile_meta(profile)->host, 0);
	assert_true(dt_profile_meta(profile)->rate == 0);
	assert_int_equal(dt_profile_meta(profile)->mode, meta.mode);
	assert_int_equal(dt_profile_meta(profile)->quality.own_rss, 5 << 20);
	dt_profile_free(profile);
}

static void test_idle(void **state)
{
	(void)state;
	assert_true(dt_profile_idle(DT_STATE_SLEEPING));
	assert_true(dt_profile_idle(DT_STATE_STOPPED));
	assert_false(dt_profile_idle(DT_STATE_UNKNOWN));
	assert_false(dt_profile_idle(DT_STATE_RUNNING));
	assert_false(dt_profile_idle(DT_STATE_GIL_WAIT));
	assert_false(dt_profile_idle(DT_STATE_SYSCALL));
}

/* A second that brings nothing new, a thousand times over: nothing grows. */
static void test_what_is_known_costs_no_memory(void **state)
{
	struct dt_profile *profile = example_profile();
	struct dt_profile_run run = {.start_ns = 1000 * MS, .wall_ns = MS, .samples = 1, .thread = 1};
	struct dt_profile before = *profile;

	(void)state;
	for (int second = 0; second < 1000; second++) {
		dt_profile_forget_runs(profile);
		for (int i = 0; i < 50; i++, run.start_ns += run.wall_ns) {
			run.stack = 1 + (unsigned)i % 20;
			assert_int_equal(dt_profile_add_run(profile, &run), 0);
		}
		example_stacks(profile);
	}
	assert_int_equal(profile->run_count, 50);
	assert_ptr_equal(profile->runs, before.runs);
	assert_int_equal(profile->texts.used, before.texts.used);
	assert_memory_equal(&profile->strings, &before.strings, sizeof(before.strings));
	assert_memory_equal(&profile->functions, &before.functions, sizeof(before.functions));
	assert_memory_equal(&profile->locations, &before.locations, sizeof(before.locations));
	assert_memory_equal(&profile->stacks, &before.stacks, sizeof(before.stacks));
	dt_profile_free(profile);
}

/* Known answers of XXH64. */
static void test_hash(void **state)
{
	static const char text[] = "Nobody inspects the spammish repetition";

	(void)state;
	assert_true(dt_hash64("", 0, 0) == UINT64_C(0xef46db3751d8e999));
	assert_true(dt_hash64("a", 1, 0) == UINT64_C(0xd24ec4f1a98c6e5b));
	assert_true(dt_hash64("abc", 3, 0) == UINT64_C(0x44bc2cf5ad770999));
	assert_true(dt_hash64(text, sizeof(text) - 1, 0) == UINT64_C(0xfbcea83c8a378bf1));
	assert_true(dt_hash64(text, sizeof(text) - 1, 1) != dt_hash64(text, sizeof(text) - 1, 0));
	assert_true(dt_hash_seed() != dt_hash_seed());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_empty),
	    cmocka_unit_test(test_strings),
	    cmocka_unit_test(test_interned),
	    cmocka_unit_test(test_stacks),
	    cmocka_unit_test(test_processes_and_threads),
	    cmocka_unit_test(test_runs_are_joined),
	    cmocka_unit_test(test_bad_runs),
	    cmocka_unit_test(test_meta),
	    cmocka_unit_test(test_idle),
	    cmocka_unit_test(test_what_is_known_costs_no_memory),
	    cmocka_unit_test(test_hash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
