/* Whether a thread has run on since the last look, or only since the moment, by what the scheduler has booked:
 * src/sample/waking.c, away.c. */
#include "unit.h"

#include "sample/recorder_inside.h"

#define MS UINT64_C(1000000)

/* What it ran and waited until the last look, which was at 100 ms, and how often it was put on a CPU. */
static struct dt_recorded thread_then(void)
{
	return (struct dt_recorded){.counted = true, .asked_ns = 100 * MS, .sched = {40 * MS, 50 * MS, 7}};
}

/* Asked 10 ms after that. */
static bool ran_on(const struct dt_recorded *thread, uint64_t ran_ns, uint64_t waited_ns, uint64_t slices)
{
	const struct dt_thread_sched now = {.ran_ns = thread->sched.ran_ns + ran_ns,
					    .waited_ns = thread->sched.waited_ns + waited_ns,
					    .slices = thread->sched.slices + slices};

	return dt_recorded_ran_on(thread, &now, thread->asked_ns + 10 * MS);
}

/* Put aside by the last look and by this one: all the time between is booked, but for what the kernel took itself. */
static void test_all_is_booked(void **state)
{
	struct dt_recorded thread = thread_then();

	(void)state;
	assert_true(ran_on(&thread, 10 * MS - 20000, 20000, 1));
	assert_true(ran_on(&thread, 4 * MS, 6 * MS - 3000, 2));
	assert_false(
	    ran_on(&thread, 10 * MS, 0, 0)); /* nobody put it on a CPU: then the last look did not put it aside */
	thread.counted = false;
	assert_false(ran_on(&thread, 10 * MS, 0, 1));
}

/* It slept, or waits for a CPU now. */
static void test_something_is_missing(void **state)
{
	const struct dt_recorded thread = thread_then();

	(void)state;
	assert_false(ran_on(&thread, 8 * MS, 0, 1));
	assert_false(ran_on(&thread, 2 * MS, 6 * MS, 3));
}

/* A wait is booked when it is over: a part of it that lies before the last look says nothing of the time since. */
static void test_a_wait_from_before(void **state)
{
	struct dt_recorded thread = thread_then();

	(void)state;
	assert_false(ran_on(&thread, 2 * MS, 12 * MS, 1));
	assert_false(ran_on(&thread, 2 * MS, 9 * MS, 1));
	thread.waited = true; /* as much from before as is missing now */
	assert_false(ran_on(&thread, 2 * MS, 8 * MS, 1));
	thread.waited = false;
	assert_true(ran_on(&thread, 2 * MS, 8 * MS, 1));
}

/* It ran on another CPU when it was first asked for, with 40 ms booked, and we came there 90 us after the moment. */
static bool came_late(uint64_t ran_ns, uint64_t slices, bool blocked)
{
	const struct dt_recorder recorder = {
	    .slices = slices, .blocked = blocked, .away = {.address = 1, .slices = 7, .ran_ns = 40 * MS}};
	const struct dt_seat seat = {.kind = DT_SEAT_FIFO, .since_ns = 100 * MS + 90000};
	const struct dt_moment moment = {.seat = &seat, .due_ns = 100 * MS};
	const struct dt_thread_sched now = {.ran_ns = ran_ns, .slices = 7};

	return dt_away_came_late(&recorder, &moment, &now);
}

/* Who ran there for less time than has passed since the moment was not there when it came. */
static void test_who_was_woken_behind_the_moment(void **state)
{
	(void)state;
	assert_true(came_late(40 * MS + 30000, 6, true));
	assert_true(came_late(40 * MS + 30000, 5, false));
	assert_false(came_late(40 * MS + 90000, 6, true));
	assert_false(came_late(43 * MS, 6, true));
	/* We had put it aside, and it went on: its time may have been booked in between. */
	assert_false(came_late(40 * MS + 30000, 6, false));
	/* It waited for that CPU, or it is the account of another one. */
	assert_false(came_late(40 * MS, 6, true));
	assert_false(came_late(0, 6, true));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_all_is_booked),
	    cmocka_unit_test(test_something_is_missing),
	    cmocka_unit_test(test_a_wait_from_before),
	    cmocka_unit_test(test_who_was_woken_behind_the_moment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
