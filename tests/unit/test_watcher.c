/* When a thread that samples is said to hang, by clocks made up; and what becomes of one that is left behind. */
#include "unit.h"

#include <unistd.h>

#include "base/util.h"
#include "record/watcher_inside.h"
#include "sample/recorder_inside.h"

#define MS UINT64_C(1000000)

/* So much time has passed since it was asked the last time. */
static enum dt_hang hangs_after(struct dt_watcher *w, uint64_t ns)
{
	w->held.asked_ns -= ns;
	w->looked.asked_ns -= ns;
	return dt_watcher_hangs(w);
}

static void a_stop_that_lasts_is_a_hang(void **state)
{
	struct dt_watcher w = {.stop = {.began_ns = dt_clock_ns()}};
	int asked = 0;

	(void)state;
	assert_false(dt_watcher_hangs(&w));
	while (!hangs_after(&w, 200 * MS))
		assert_true(++asked < 6);
	assert_int_equal(asked, 4);
	assert_true(dt_watcher_hangs(&w));
	w.stop.began_ns = 0;
	assert_false(dt_watcher_hangs(&w));
}

/* The stop began long ago, and nobody has asked since: our whole process may have stood. */
static void time_without_questions_does_not_count(void **state)
{
	struct dt_watcher w = {.stop = {.began_ns = dt_clock_ns() - 60000 * MS}};

	(void)state;
	assert_false(dt_watcher_hangs(&w));
	assert_false(hangs_after(&w, 60000 * MS));
	assert_false(hangs_after(&w, 200 * MS));
}

static void each_stop_is_judged_on_its_own(void **state)
{
	struct dt_watcher w = {0};

	(void)state;
	for (uint64_t i = 1; i <= 50; i++) {
		w.stop.began_ns = i;
		assert_false(hangs_after(&w, 200 * MS));
		assert_false(hangs_after(&w, 200 * MS));
	}
}

/* A thread in a look, which waits until somebody writes into the pipe. Kept for ever, as the thread may be. */
struct looker {
	struct dt_watcher w;
	struct dt_subject subjects[3];
	struct dt_recorder recorders[3];
	int go_on[2], looks[2];
	_Atomic bool returned;
};

static void *look(void *argument)
{
	struct looker *l = argument;
	char byte = 0;

	l->w.tid = gettid();
	dt_watcher_look_begin(&l->w, &l->subjects[1]);
	assert_int_equal(write(l->looks[1], &byte, 1), 1);
	assert_int_equal(read(l->go_on[0], &byte, 1), 1);
	dt_watcher_look_end(&l->w);
	l->returned = true;
	return NULL;
}

static struct looker *start_looker(void)
{
	static struct looker *kept[4];
	static size_t count;
	struct looker *l = kept[count++] = calloc(1, sizeof(*l));
	char byte;

	assert_non_null(l);
	assert_int_equal(pipe(l->go_on), 0);
	assert_int_equal(pipe(l->looks), 0);
	for (size_t i = 0; i < DT_COUNT(l->subjects); i++) {
		l->subjects[i].recorder = &l->recorders[i];
		l->subjects[i].pool = dt_image_pool_new_empty();
		l->subjects[i].next = i + 1 < DT_COUNT(l->subjects) ? &l->subjects[i + 1] : NULL;
	}
	l->w.options.rate = 100;
	l->w.subjects = l->subjects;
	l->subjects[1].last_ns = dt_clock_ns();
	assert_int_equal(pthread_create(&l->w.thread, NULL, look, l), 0);
	assert_int_equal(read(l->looks[0], &byte, 1), 1);
	return l;
}

static void go_on(struct looker *l)
{
	assert_int_equal(write(l->go_on[1], "", 1), 1);
}

/* It is asked until it is seen to be blocked often enough. */
static enum dt_hang await_hang(struct looker *l)
{
	uint64_t end = dt_clock_ns() + 60000 * MS;
	enum dt_hang hang;

	assert_int_equal(dt_watcher_hangs(&l->w), DT_HANG_NOT);
	for (int i = 0; i < 4; i++)
		assert_int_equal(hangs_after(&l->w, 200 * MS), DT_HANG_NOT);
	while (!(hang = hangs_after(&l->w, 200 * MS)))
		assert_true(dt_clock_ns() < end);
	return hang;
}

static void a_look_that_lasts_is_left_behind(void **state)
{
	struct looker *l = start_looker();
	struct dt_subject *stuck, *rest;

	(void)state;
	assert_int_equal(await_hang(l), DT_HANG_LOOK);
	assert_true(dt_watcher_leave(&l->w, &stuck, &rest));
	assert_ptr_equal(stuck, &l->subjects[1]);
	assert_true(stuck->left);
	assert_ptr_equal(rest, &l->subjects[0]);
	assert_ptr_equal(rest->next, &l->subjects[2]);
	assert_null(rest->next->next);
	assert_true(rest->since_ns && rest->next->since_ns && !rest->left);
	/* It is left once, and nobody waits for it. */
	assert_false(dt_watcher_leave(&l->w, &stuck, &rest));
	assert_true(dt_watcher_stop(&l->w));
	/* What comes to it goes on from there. */
	dt_watcher_push(&l->w.inbox, &l->subjects[0]);
	assert_ptr_equal(dt_watcher_strayed(&l->w), &l->subjects[0]);
	assert_null(dt_watcher_strayed(&l->w));
	for (int i = 0; i < 10; i++)
		assert_int_equal(hangs_after(&l->w, 200 * MS), DT_HANG_NOT);
	/* It comes back, and does not go on. */
	go_on(l);
	usleep(20000);
	assert_false(l->returned);
}

static void one_that_has_come_back_is_not_left(void **state)
{
	struct looker *l = start_looker();
	struct dt_subject *stuck, *rest;

	(void)state;
	assert_int_equal(await_hang(l), DT_HANG_LOOK);
	go_on(l);
	pthread_join(l->w.thread, NULL);
	assert_true(l->returned);
	assert_false(dt_watcher_leave(&l->w, &stuck, &rest));
	assert_int_equal(dt_watcher_hangs(&l->w), DT_HANG_NOT);
	assert_ptr_equal(l->w.subjects, l->subjects);
	/* The same process, but not the look that was seen to last. */
	dt_watcher_look_begin(&l->w, &l->subjects[1]);
	assert_int_equal(dt_watcher_hangs(&l->w), DT_HANG_NOT);
	assert_false(l->subjects[1].left);
	dt_watcher_look_end(&l->w);
}

/* It has asked a thread to stop, which has not done so yet. */
static void one_that_holds_is_not_left(void **state)
{
	struct looker *l = start_looker();
	struct dt_subject *stuck, *rest;

	(void)state;
	l->w.stop.tid = 1;
	assert_int_equal(await_hang(l), DT_HANG_HOLD);
	assert_false(dt_watcher_leave(&l->w, &stuck, &rest));
	go_on(l);
	pthread_join(l->w.thread, NULL);
	assert_int_equal(dt_watcher_hangs(&l->w), DT_HANG_NOT);
}

/* It is on a CPU whenever it is asked for: the machine may be slow, but its memory comes. */
static void a_thread_that_works_does_not_hang(void **state)
{
	static struct dt_watcher w;

	(void)state;
	w.tid = gettid();
	dt_watcher_look_begin(&w, NULL);
	for (int i = 0; i < 20; i++)
		assert_int_equal(hangs_after(&w, 200 * MS), DT_HANG_NOT);
	dt_watcher_look_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_stop_that_lasts_is_a_hang),
	    cmocka_unit_test(time_without_questions_does_not_count),
	    cmocka_unit_test(each_stop_is_judged_on_its_own),
	    cmocka_unit_test(a_look_that_lasts_is_left_behind),
	    cmocka_unit_test(one_that_has_come_back_is_not_left),
	    cmocka_unit_test(one_that_holds_is_not_left),
	    cmocka_unit_test(a_thread_that_works_does_not_hang),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
