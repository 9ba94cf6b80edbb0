/* A made-up runtime whose chains of frames are longer than anybody would wait for. */
#include "unit.h"

#include <string.h>

#include "base/util.h"
#include "python/walk_frames.h"

#define RUNTIME     UINT64_C(0x555500000000)
#define INTERPRETER UINT64_C(0x7f1000000000)
#define THREADS     UINT64_C(0x7f2000000000)
#define FRAMES      UINT64_C(0x7f3000000000)
#define CFRAME      UINT64_C(0x7f4000000000)
#define SPACE       ((size_t)1 << 20)
#define STRIDE      ((uint64_t)512) /* of threads */
#define THREAD_MAX  100
#define FRAME_MAX   30000 /* times THREAD_MAX is more than DT_WALK_FRAMES */

/* All threads stand on the same chain, which is made of marks of entries from C: nothing of it is shown. */
struct world {
	struct dt_python python;
	uint8_t *runtime, *interpreter, *threads, *frames, *cframe;
	struct dt_mem *mem;
	struct dt_code_cache *codes;
	struct dt_arena arena;
};

static void put64(uint8_t *at, uint64_t value)
{
	memcpy(at, &value, sizeof(value));
}

/* Where a thread state has the C frame that it begins with. */
static size_t own_cframe(const struct world *w)
{
	return w->python.layout.thread.size - w->python.layout.cframe.size;
}

static uint64_t frame_at(const struct world *w, size_t i)
{
	return FRAMES + i * w->python.layout.frame.size;
}

static int setup(void **state)
{
	static struct world world;
	struct world *w = &world;
	const struct dt_layout *layout = &w->python.layout;

	w->python = (struct dt_python){.layout = *dt_layout_for(3, 12), .runtime = RUNTIME};
	w->runtime = calloc(1, SPACE);
	w->interpreter = calloc(1, SPACE);
	w->threads = calloc(THREAD_MAX, STRIDE);
	w->frames = calloc(FRAME_MAX + 1, layout->frame.size);
	w->cframe = calloc(1, 64);
	assert_true(w->runtime && w->interpreter && w->threads && w->frames && w->cframe);
	put64(w->runtime + layout->runtime.interpreters_head, INTERPRETER);
	put64(w->interpreter + layout->interpreter.threads_head, THREADS);
	for (size_t i = 0; i < THREAD_MAX; i++) {
		uint8_t *thread = w->threads + i * STRIDE;

		if (i + 1 < THREAD_MAX)
			put64(thread + layout->thread.next, THREADS + (i + 1) * STRIDE);
		put64(thread + layout->thread.interp, INTERPRETER);
		put64(thread + layout->thread.cframe, THREADS + i * STRIDE + own_cframe(w));
		put64(thread + own_cframe(w) + layout->cframe.current_frame, FRAMES);
		put64(thread + layout->thread.thread_id, i + 1);
	}
	for (size_t i = 0; i < FRAME_MAX; i++) {
		uint8_t *frame = w->frames + i * layout->frame.size;

		if (i + 1 < FRAME_MAX)
			put64(frame + layout->frame.previous, frame_at(w, i + 1));
		frame[layout->frame.owner] = layout->frame.owner_shim_min;
	}

	const struct dt_recorded_range ranges[] = {
	    {RUNTIME, w->runtime, SPACE},
	    {INTERPRETER, w->interpreter, SPACE},
	    {THREADS, w->threads, THREAD_MAX * STRIDE},
	    {FRAMES, w->frames, (size_t)(FRAME_MAX + 1) * layout->frame.size},
	    {CFRAME, w->cframe, 64},
	};
	assert_int_equal(dt_mem_open_recorded(ranges, DT_COUNT(ranges), &w->mem), 0);
	w->codes = dt_code_cache_new(layout);
	assert_non_null(w->codes);
	dt_arena_init(&w->arena, 0);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	dt_arena_release(&w->arena);
	dt_code_cache_free(w->codes);
	dt_mem_free(w->mem);
	free(w->runtime);
	free(w->interpreter);
	free(w->threads);
	free(w->frames);
	free(w->cframe);
	return 0;
}

static enum dt_walk_end walk_one(struct world *w, struct dt_budget *budget)
{
	struct dt_walk_thread thread = {.address = THREADS};

	assert_int_equal(dt_walk_frames(w->mem, &w->python.layout, w->codes, &w->arena, budget, &thread), 0);
	assert_int_equal(thread.frame_count, 0);
	return thread.end;
}

/* A frame that is not shown is a step all the same. */
static void test_steps(void **state)
{
	struct world *w = *state;
	struct dt_budget budget;

	dt_budget_begin(&budget, FRAME_MAX + 100);
	assert_int_equal(walk_one(w, &budget), DT_WALK_WHOLE);
	assert_int_equal(budget.steps, 100);
	assert_int_equal(walk_one(w, &budget), DT_WALK_BROKEN);
	assert_int_equal(budget.steps, 0);
	assert_int_equal(walk_one(w, &budget), DT_WALK_BROKEN);
}

/* The threads share one budget. Those it was not enough for are there, and marked. */
static void test_all_threads(void **state)
{
	struct world *w = *state;
	struct dt_walk walk;
	size_t whole = 0;

	assert_int_equal(dt_walk_all(w->mem, &w->python, w->codes, 0, &w->arena, &walk), 0);
	assert_int_equal(walk.thread_count, THREAD_MAX);
	assert_true(walk.lists_whole);
	assert_int_equal(walk.budget.steps, 0);
	while (whole < THREAD_MAX && walk.threads[whole].end == DT_WALK_WHOLE)
		whole++;
	assert_true(whole * FRAME_MAX <= DT_WALK_FRAMES);
	for (size_t i = whole; i < THREAD_MAX; i++)
		assert_int_equal(walk.threads[i].end, DT_WALK_BROKEN);
}

/* More thread states than so many threads can have: the list is cut, and said to be. */
static void test_more_states_than_threads(void **state)
{
	const size_t spare = DT_WALK_SPARE, count = DT_WALK_SPARE + 10;
	struct world *w = *state;
	const struct dt_layout *layout = &w->python.layout;
	uint8_t *threads = calloc(count, STRIDE);
	struct dt_walk walk;
	struct dt_mem *mem;

	assert_non_null(threads);
	for (size_t i = 0; i < count; i++) {
		if (i + 1 < count)
			put64(threads + i * STRIDE + layout->thread.next, THREADS + (i + 1) * STRIDE);
		put64(threads + i * STRIDE + layout->thread.interp, INTERPRETER);
	}

	const struct dt_recorded_range ranges[] = {
	    {RUNTIME, w->runtime, SPACE}, {INTERPRETER, w->interpreter, SPACE}, {THREADS, threads, count * STRIDE}};
	assert_int_equal(dt_mem_open_recorded(ranges, DT_COUNT(ranges), &mem), 0);
	assert_int_equal(dt_walk_threads(mem, &w->python, 10, &w->arena, &walk), 0);
	assert_int_equal(walk.thread_count, count);
	assert_true(walk.lists_whole);
	assert_int_equal(dt_walk_threads(mem, &w->python, 1, &w->arena, &walk), 0);
	assert_int_equal(walk.thread_count, spare + 1);
	assert_false(walk.lists_whole);
	assert_int_equal(dt_walk_all(mem, &w->python, w->codes, 0, &w->arena, &walk), 0); /* not known how many */
	assert_int_equal(walk.thread_count, count);
	dt_mem_free(mem);
	free(threads);
}

/* A call from C makes its C frame current, and writes both pointers of it a moment later. */
static void test_entering(void **state)
{
	struct world *w = *state;
	const struct dt_layout *layout = &w->python.layout;
	uint8_t *own = w->threads + own_cframe(w);
	struct dt_budget budget;

	dt_budget_begin(&budget, FRAME_MAX * 10);
	put64(w->threads + layout->thread.cframe, CFRAME);
	put64(own + layout->cframe.current_frame, frame_at(w, 1));
	assert_int_equal(walk_one(w, &budget), DT_WALK_BETWEEN); /* both are 0 */
	put64(w->cframe + layout->cframe.previous, UINT64_C(0x10));
	assert_int_equal(walk_one(w, &budget), DT_WALK_BETWEEN); /* what lay there before leads nowhere */
	put64(w->cframe + layout->cframe.previous, THREADS + own_cframe(w));
	assert_int_equal(walk_one(w, &budget), DT_WALK_BETWEEN); /* one of them is left */
	put64(w->cframe + layout->cframe.current_frame, FRAMES);
	assert_int_equal(walk_one(w, &budget), DT_WALK_WHOLE);
	put64(w->cframe + layout->cframe.previous, 0);
	assert_int_equal(walk_one(w, &budget), DT_WALK_BETWEEN);
}

static void test_time(void **state)
{
	struct world *w = *state;
	struct dt_budget budget;

	dt_budget_begin(&budget, FRAME_MAX);
	assert_true(dt_budget_in_time(&budget));
	budget.cpu_end = 1; /* long ago */
	assert_int_equal(walk_one(w, &budget), DT_WALK_BROKEN);
	assert_int_equal(budget.steps, 0);
	assert_false(dt_budget_in_time(&budget));
	assert_false(dt_budget_step(&budget));
	/* It is counted from the first question on that comes late enough. */
	dt_budget_begin(&budget, 5);
	budget.free_until = 0;
	assert_true(dt_budget_step(&budget));
	assert_true(dt_budget_in_time(&budget));
	assert_true(budget.cpu_end > DT_BUDGET_CPU_NS);
	assert_int_equal(budget.steps, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_steps, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_all_threads, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_more_states_than_threads, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_entering, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_time, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
