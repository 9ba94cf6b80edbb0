/* Frames that run a copy of the bytecode which belongs to their thread, as in 3.14 without a GIL, and forged ones. */
#include "unit.h"

#include <stdio.h>

#include "heap.h"
#include "python/debug_offsets.h"
#include "python/walk_frames.h"

#include "../hex.h"

#define UNITS  8 /* of two bytes */
#define COPIES 3 /* the first is the bytecode in the code object */
#define FIRST  40

/* Each pair of units is a line further on. */
static const uint8_t lines[] = {0xe9, 0x02, 0xe9, 0x02, 0xe9, 0x02, 0xe9, 0x02};

static struct heap heap;
static struct dt_layout layout;
static struct dt_code_cache *cache;
static struct dt_arena arena;
static uint64_t code, list, copies[COPIES], frame, thread;

static void load_layout(const char *name)
{
	uint8_t table[DT_DEBUG_OFFSETS_MAX] = {0};
	char path[512], line[256];
	struct dt_error err;
	size_t count = 0;
	bool newer;
	FILE *file;

	snprintf(path, sizeof(path), DT_GOLDEN "/offsets/%s.hex", name);
	file = fopen(path, "re");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		count += hex_bytes(line, table + count, sizeof(table) - count);
	fclose(file);
	assert_int_equal(dt_debug_offsets_layout(table, sizeof(table), &layout, &newer, &err), 0);
}

static void put_code(void)
{
	code = heap_object(&heap, heap_type(&heap, "code", 0), layout.code.size + 2 * UNITS);
	heap_set64(&heap, code + layout.code.name, heap_str(&heap, "work"));
	heap_set64(&heap, code + layout.code.qualname, heap_str(&heap, "work"));
	heap_set64(&heap, code + layout.code.filename, heap_str(&heap, "main.py"));
	heap_set64(&heap, code + layout.code.linetable, heap_bytes(&heap, lines, sizeof(lines)));
	heap_set32(&heap, code + layout.code.firstlineno, FIRST);
	heap_set64(&heap, code + layout.code.units, UNITS);
	copies[0] = code + layout.code.bytecode;
	list = heap_alloc(&heap, 8 + 8 * COPIES);
	heap_set64(&heap, list, COPIES);
	for (uint64_t i = 0; i < COPIES; i++) {
		copies[i] = i ? heap_alloc(&heap, 2 * UNITS) : copies[0];
		heap_set64(&heap, list + 8 + 8 * i, copies[i]);
	}
	heap_set64(&heap, code + layout.code.tlbc, list);
}

static int setup(void **state)
{
	uint64_t mark;

	load_layout(*state);
	heap_init(&heap, &layout);
	put_code();
	mark = heap_alloc(&heap, layout.frame.size);
	*heap_at(&heap, mark + layout.frame.owner) = layout.frame.owner_shim_min;
	frame = heap_alloc(&heap, layout.frame.size);
	heap_set64(&heap, frame + layout.frame.previous, mark);
	heap_set64(&heap, frame + layout.frame.code, code | 1);
	thread = heap_alloc(&heap, layout.thread.size);
	heap_set64(&heap, thread + layout.thread.frame, frame);
	if (layout.thread.base_frame != DT_ABSENT)
		heap_set64(&heap, thread + layout.thread.base_frame, mark);
	cache = dt_code_cache_new(&layout);
	assert_non_null(cache);
	dt_arena_init(&arena, 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	dt_arena_release(&arena);
	dt_code_cache_free(cache);
	heap_release(&heap);
	return 0;
}

/* The line of a frame with this index and instruction, 0 if it is refused. */
static uint32_t line_of(uint32_t index, uint64_t ip)
{
	struct dt_walk_thread walked = {.address = thread};
	struct dt_budget budget;

	heap_set32(&heap, frame + layout.frame.tlbc_index, index);
	heap_set64(&heap, frame + layout.frame.ip, ip);
	dt_code_cache_begin(cache);
	dt_budget_begin(&budget, 100);
	assert_int_equal(dt_walk_frames(heap.mem, &layout, cache, &arena, &budget, &walked), 0);
	assert_int_equal(walked.frame_count, walked.end == DT_WALK_WHOLE);
	return walked.frame_count ? walked.frames[0].line : 0;
}

static void check_lines_are_those_of_the_copy(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < COPIES; i++)
		for (uint32_t unit = 0; unit < UNITS; unit++)
			assert_int_equal(line_of(i, copies[i] + 2 * (uint64_t)unit), FIRST + 1 + unit / 2);
}

static void check_what_lies_outside_is_refused(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < COPIES; i++) {
		assert_int_equal(line_of(i, copies[(i + 1) % COPIES]), 0);
		assert_int_equal(line_of(i, copies[i] - 2), 0);
		assert_int_equal(line_of(i, copies[i] + (uint64_t)2 * UNITS), 0);
	}
	assert_int_equal(line_of(COPIES, copies[0]), 0);
	assert_int_equal(line_of(UINT32_MAX, copies[0]), 0);
}

static void check_forged_lists(void **state)
{
	(void)state;
	heap_set64(&heap, list, UINT64_MAX);
	assert_int_equal(line_of(1, copies[1]), 0);
	heap_set64(&heap, list, INT32_MAX);
	assert_int_equal(line_of(INT32_MAX - 1, copies[1]), 0); /* far outside of all memory */
	assert_int_equal(line_of(1, copies[1]), FIRST + 1);
	heap_set64(&heap, code + layout.code.units, UINT64_MAX / 2);
	assert_int_equal(line_of(1, copies[1]), 0);
	heap_set64(&heap, code + layout.code.units, UNITS);
	heap_set64(&heap, code + layout.code.tlbc, 8);
	assert_int_equal(line_of(1, copies[1]), 0);
	assert_int_equal(line_of(0, copies[0]), FIRST + 1);
}

static void with_each_version(void (*check)(void **state))
{
	static const char *const versions[] = {"3.14t", "3.15t"};

	for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++) {
		void *state = (void *)(uintptr_t)versions[i];

		assert_int_equal(setup(&state), 0);
		check(&state);
		assert_int_equal(teardown(&state), 0);
	}
}

static void lines_are_those_of_the_copy(void **state)
{
	(void)state;
	with_each_version(check_lines_are_those_of_the_copy);
}

static void what_lies_outside_is_refused(void **state)
{
	(void)state;
	with_each_version(check_what_lies_outside_is_refused);
}

static void forged_lists(void **state)
{
	(void)state;
	with_each_version(check_forged_lists);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(lines_are_those_of_the_copy),
	    cmocka_unit_test(what_lies_outside_is_refused),
	    cmocka_unit_test(forged_lists),
	};

	return cmocka_run_group_tests_name("copies", tests, NULL, NULL);
}
