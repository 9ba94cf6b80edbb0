/* Suspects of a build without a GIL: which thread runs which thread state, and when two looks at the list are equal. */
#include "unit.h"

#include <string.h>

#include "sample/states.h"

#define STATE(n) (UINT64_C(0x7f0000000000) + (uint64_t)(n)*0x1000)

struct room {
	struct dt_arena arena;
	struct dt_suspect list[16];
	struct dt_suspects suspects;
};

static int setup(void **state)
{
	static struct room room;

	room = (struct room){0};
	room.suspects.list = room.list;
	dt_arena_init(&room.arena, 0);
	*state = &room;
	return 0;
}

static int teardown(void **state)
{
	dt_arena_release(&((struct room *)*state)->arena);
	return 0;
}

static struct dt_suspect *add(struct room *room, int tid, size_t interpreter, bool attached, bool running)
{
	struct dt_suspects *suspects = &room->suspects;
	struct dt_suspect *suspect = &room->list[suspects->count];

	*suspect = (struct dt_suspect){.thread = STATE(suspects->count),
				       .ident = (uint64_t)tid * 100,
				       .native = (uint64_t)tid,
				       .tid = tid,
				       .interpreter = interpreter,
				       .attached = attached,
				       .running = running};
	suspects->states = ++suspects->count;
	return suspect;
}

static void settle(struct room *room)
{
	assert_int_equal(dt_states_settle(&room->arena, &room->suspects), 0);
}

static void test_one_each(void **state)
{
	struct room *room = *state;
	struct dt_suspect *python = add(room, 12, 0, true, true);
	struct dt_suspect *c = add(room, 11, 0, false, true);
	struct dt_suspect *sleeps = add(room, 10, 0, false, false);

	settle(room);
	assert_int_equal(room->suspects.running, 2);
	assert_int_equal(python->runs, python->thread);
	assert_int_equal(c->runs, 0);
	assert_int_equal(sleeps->runs, 0);
	assert_false(python->shared || c->shared || sleeps->shared);
}

/* A thread with a thread state in two interpreters runs the one that is attached, and is counted once. */
static void test_two_interpreters(void **state)
{
	struct room *room = *state;
	struct dt_suspect *first = add(room, 10, 0, false, false);
	struct dt_suspect *other = add(room, 11, 0, false, false);
	struct dt_suspect *second = add(room, 10, 1, true, true); /* it woke up between the two questions */

	settle(room);
	assert_int_equal(room->suspects.running, 1);
	assert_true(first->running && second->running && !other->running);
	assert_true(first->shared && second->shared && !other->shared);
	assert_false(first->odd || second->odd);
	assert_int_equal(first->runs, second->thread);
	assert_int_equal(second->runs, second->thread);
}

/* Which of two in one interpreter it runs cannot be told; nor can it run two that are attached. */
static void test_odd(void **state)
{
	struct room *room = *state;
	struct dt_suspect *a = add(room, 10, 0, true, true), *b = add(room, 10, 0, false, true);
	struct dt_suspect *c = add(room, 11, 0, true, true), *d = add(room, 11, 1, true, true);

	settle(room);
	assert_true(a->odd && b->odd && !c->odd && !d->odd);
	assert_int_equal(a->runs | b->runs | c->runs | d->runs, 0);
	assert_int_equal(room->suspects.running, 2);
}

/* The only thread that runs has none of its own attached, and the one that is attached names a thread that sleeps. */
static void test_lent(void **state)
{
	struct room *room = *state;
	struct dt_suspect *maker = add(room, 10, 0, false, false), *lent = add(room, 10, 0, true, false);
	struct dt_suspect *runner = add(room, 11, 0, false, true);

	room->suspects.states = 2; /* the last one is here because everybody is */
	settle(room);
	room->suspects.running = 1;
	dt_states_lend(&room->suspects);
	assert_int_equal(runner->runs, 0); /* not everybody is watched */
	room->suspects.everybody = true;
	dt_states_lend(&room->suspects);
	assert_int_equal(runner->runs, lent->thread);
	assert_int_equal(maker->runs, 0);

	runner->runs = 0;
	maker->attached = true; /* now it may be either */
	dt_states_lend(&room->suspects);
	assert_int_equal(runner->runs, 0);
}

static void test_equal(void **state)
{
	struct room *room = *state;
	struct dt_layout layout = {.thread.native_thread_id = 0};
	struct dt_walk_thread threads[3] = {0};
	struct dt_walk walk = {.threads = threads, .thread_count = 3, .lists_whole = true};
	uint64_t native = 0; /* of the third, as it is in memory now */
	const struct dt_recorded_range range = {STATE(2), &native, sizeof(native)};
	struct dt_mem *mem;

	add(room, 10, 0, true, true);
	add(room, 11, 0, false, false);
	add(room, 0, 0, false, false)->unborn = true;
	for (size_t i = 0; i < 3; i++) {
		threads[i].address = room->list[i].thread;
		threads[i].ident = room->list[i].ident;
		threads[i].native = room->list[i].native;
	}
	assert_int_equal(dt_mem_open_recorded(&range, 1, &mem), 0);
	assert_true(dt_states_equal(mem, &layout, &room->suspects, &walk));

	native = 12; /* its thread has begun meanwhile */
	assert_false(dt_states_equal(mem, &layout, &room->suspects, &walk));
	native = 0;
	threads[1].native = 13; /* another thread, where one has ended */
	assert_false(dt_states_equal(mem, &layout, &room->suspects, &walk));
	threads[1].native = 11;
	threads[1].address = STATE(9);
	assert_false(dt_states_equal(mem, &layout, &room->suspects, &walk));
	threads[1].address = STATE(1);
	walk.thread_count = 2;
	assert_false(dt_states_equal(mem, &layout, &room->suspects, &walk));
	walk.thread_count = 3;
	assert_true(dt_states_equal(mem, &layout, &room->suspects, &walk));
	dt_mem_free(mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_one_each, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_two_interpreters, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_odd, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_lent, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_equal, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
