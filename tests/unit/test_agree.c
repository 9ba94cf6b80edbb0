/* Agreement of looks: equal ones are counted, of others the outer frames in common are kept. */
#include "unit.h"

#include <string.h>

#include "sample/agree.h"

#define FRAMES 4

static struct dt_walk_frame stack_a[FRAMES] = {
    {.address = 0x10, .ip = 1}, {.address = 0x20, .ip = 2}, {.address = 0x30, .ip = 3}, {.address = 0x40, .ip = 4}};
/* The same outer two frames, other inner ones. */
static struct dt_walk_frame stack_b[3] = {
    {.address = 0x20, .ip = 9}, {.address = 0x30, .ip = 3}, {.address = 0x40, .ip = 4}};

static struct dt_walk_thread thread_of(uint64_t address, struct dt_walk_frame *frames, size_t count)
{
	return (struct dt_walk_thread){
	    .address = address, .frames = frames, .frame_count = count, .top = frames[0].address};
}

static struct dt_walk walk_of(struct dt_walk_thread *threads, size_t count)
{
	return (struct dt_walk){.threads = threads, .thread_count = count};
}

static struct dt_agree step(struct dt_arena *arena, struct dt_agree before, struct dt_walk now)
{
	struct dt_agree result;

	assert_int_equal(dt_agree_step(&before, &now, arena, &result), 0);
	return result;
}

static void equal_looks_are_counted(void **state)
{
	struct dt_walk_thread thread = thread_of(1, stack_a, FRAMES);
	struct dt_agree before = {0};
	struct dt_arena arena;
	struct dt_agree result;

	(void)state;
	dt_arena_init(&arena, 0);
	result = step(&arena, before, walk_of(&thread, 1));
	assert_int_equal(result.threads[0].equal, 1);
	assert_int_equal(result.threads[0].common, 0); /* one look alone has nothing in common with another */
	for (unsigned looks = 2; looks < 8; looks++) {
		result = step(&arena, result, walk_of(&thread, 1));
		assert_int_equal(result.threads[0].equal, looks);
		assert_int_equal(result.threads[0].common, FRAMES);
	}
	dt_arena_release(&arena);
}

static void another_instruction_of_an_outer_frame_is_another_stack(void **state)
{
	struct dt_walk_frame moved[FRAMES] = {{0}};
	struct dt_walk_thread before_thread = thread_of(1, stack_a, FRAMES);
	struct dt_walk_thread now_thread;
	struct dt_agree first;
	struct dt_agree result;
	struct dt_arena arena;

	(void)state;
	memcpy(moved, stack_a, sizeof(moved));
	moved[2].ip = 77;
	now_thread = thread_of(1, moved, FRAMES);
	dt_arena_init(&arena, 0);
	first = step(&arena, (struct dt_agree){0}, walk_of(&before_thread, 1));
	result = step(&arena, first, walk_of(&now_thread, 1));
	assert_int_equal(result.threads[0].equal, 1);
	assert_int_equal(result.threads[0].common, 1);
	dt_arena_release(&arena);
}

static void what_is_in_common_never_grows_by_a_change(void **state)
{
	struct dt_walk_thread a = thread_of(1, stack_a, FRAMES);
	struct dt_walk_thread b = thread_of(1, stack_b, 3);
	struct dt_arena arena;
	struct dt_agree result;

	(void)state;
	dt_arena_init(&arena, 0);
	result = step(&arena, (struct dt_agree){0}, walk_of(&a, 1));
	result = step(&arena, result, walk_of(&b, 1));
	assert_int_equal(result.threads[0].common, 2);
	result = step(&arena, result, walk_of(&a, 1));
	assert_int_equal(result.threads[0].common, 2);
	assert_int_equal(result.threads[0].equal, 1);
	/* Agreement that is too short does not make up for it, full agreement does. */
	for (unsigned looks = 2; looks < DT_AGREE_LOOKS; looks++) {
		result = step(&arena, result, walk_of(&a, 1));
		assert_int_equal(result.threads[0].common, 2);
	}
	result = step(&arena, result, walk_of(&a, 1));
	assert_int_equal(result.threads[0].common, FRAMES);
	dt_arena_release(&arena);
}

static void threads_are_found_wherever_they_stand(void **state)
{
	struct dt_walk_thread before_threads[] = {thread_of(1, stack_a, FRAMES), thread_of(2, stack_b, 3)};
	struct dt_walk_thread now_threads[] = {thread_of(3, stack_b, 3), thread_of(2, stack_b, 3)};
	struct dt_arena arena;
	struct dt_agree result;

	(void)state;
	dt_arena_init(&arena, 0);
	result = step(&arena, (struct dt_agree){0}, walk_of(before_threads, 2));
	result = step(&arena, result, walk_of(now_threads, 2));
	assert_int_equal(result.threads[0].equal, 1);
	assert_int_equal(result.threads[1].equal, 2);
	dt_arena_release(&arena);
}

static void a_broken_stack_agrees_with_nothing(void **state)
{
	struct dt_walk_thread thread = thread_of(1, stack_a, FRAMES);
	struct dt_arena arena;
	struct dt_agree result;

	(void)state;
	thread.end = DT_WALK_BROKEN;
	dt_arena_init(&arena, 0);
	result = step(&arena, (struct dt_agree){0}, walk_of(&thread, 1));
	assert_int_equal(result.threads[0].equal, 0);
	result = step(&arena, result, walk_of(&thread, 1));
	assert_int_equal(result.threads[0].equal, 0);
	dt_arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(equal_looks_are_counted),
	    cmocka_unit_test(another_instruction_of_an_outer_frame_is_another_stack),
	    cmocka_unit_test(what_is_in_common_never_grows_by_a_change),
	    cmocka_unit_test(threads_are_found_wherever_they_stand),
	    cmocka_unit_test(a_broken_stack_agrees_with_nothing),
	};

	return cmocka_run_group_tests_name("agree", tests, NULL, NULL);
}
