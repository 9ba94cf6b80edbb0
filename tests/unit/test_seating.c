/* Where a thread that samples sits, by rounds made up. */
#include "unit.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/util.h"
#include "record/seating.h"

#define S     UINT64_C(1000000000)
#define BEGIN (1000 * S)

/* Rounds at 1,000 a second until it is moved, or for so many seconds; of these a share is unseen, evenly. Returns for
 * how long it stayed. */
static double stay(struct dt_seating *s, uint64_t *now, double share, double seconds)
{
	enum dt_seat_kind kind = s->kind;
	uint64_t began = *now, end = began + (uint64_t)(seconds * (double)S);
	double due = 0;

	while (*now < end && s->kind == kind) {
		bool unseen = (due += share) >= 1;

		due -= unseen;
		*now += S / 1000;
		dt_seating_next(s, true, unseen, *now);
	}
	return (double)(*now - began) / (double)S;
}

static void assert_about(double value, double wanted)
{
	assert_true(value > wanted - 0.1 && value < wanted + 0.1);
}

static struct dt_seating begun(double rate)
{
	struct dt_seating s;

	dt_seating_begin(&s, rate, 133, BEGIN);
	return s;
}

static void a_burst_at_the_beginning_is_no_reason(void **state)
{
	struct dt_seating s = begun(1000);
	uint64_t now = BEGIN;

	(void)state;
	stay(&s, &now, 1, 0.2);
	assert_about(stay(&s, &now, 0.01, 100), 100);
	assert_int_equal(s.kind, DT_SEAT_SLICE);
}

/* At 1,000 looks a second beside sees half of them at best: 20 in 100 are no reason to go there. At 100 they are. */
static void it_is_left_for_what_sees_more(void **state)
{
	struct dt_seating often = begun(1000), seldom = begun(100);
	uint64_t now = BEGIN;

	(void)state;
	assert_about(stay(&often, &now, 0.3, 100), 100);
	assert_about(stay(&often, &now, 0.8, 100), 1);
	assert_int_equal(often.kind, DT_SEAT_BESIDE);
	now = BEGIN;
	assert_about(stay(&seldom, &now, 0.3, 100), 1);
	assert_int_equal(seldom.kind, DT_SEAT_BESIDE);
}

/* The slice may be good again after 2 s, 4, ... up to a minute; in between what was measured counts. Where it is as bad
 * as before that shows before a second is over. */
static void it_is_tried_again_and_again(void **state)
{
	static const double waits[] = {2, 4, 8, 16, 32, 60, 60};
	struct dt_seating s = begun(100);
	uint64_t now = BEGIN;

	(void)state;
	stay(&s, &now, 0.9, 10);
	for (size_t i = 0; i < DT_COUNT(waits); i++) {
		assert_int_equal(s.kind, DT_SEAT_BESIDE);
		assert_about(stay(&s, &now, 0.2, 100), waits[i]);
		assert_int_equal(s.kind, DT_SEAT_SLICE);
		assert_true(stay(&s, &now, 0.9, 100) < 0.3);
	}
	stay(&s, &now, 0.2, 100);
	assert_about(stay(&s, &now, 0.05, 30), 30); /* it has become good */
	stay(&s, &now, 0.9, 10);
	assert_int_equal(s.kind, DT_SEAT_BESIDE);
	assert_about(stay(&s, &now, 0.2, 100), 2);
}

static void beside_is_left_if_it_is_worse(void **state)
{
	struct dt_seating s = begun(100);
	uint64_t now = BEGIN;

	(void)state;
	assert_about(stay(&s, &now, 0.2, 10), 1);
	assert_true(stay(&s, &now, 0.6, 10) < 1); /* at once: it was expected to be better */
	assert_int_equal(s.kind, DT_SEAT_SLICE);
	assert_about(stay(&s, &now, 0.2, 10), 4);
	assert_true(stay(&s, &now, 0.6, 10) < 1);
	assert_about(stay(&s, &now, 0.2, 10), 8);
	stay(&s, &now, 0.02, 10);
	assert_int_equal(s.kind, DT_SEAT_BESIDE);
}

/* Where nearly all is seen there is nothing to be gained elsewhere. */
static void what_is_good_is_kept(void **state)
{
	struct dt_seating s = begun(100);
	uint64_t now = BEGIN;

	(void)state;
	stay(&s, &now, 0.3, 10);
	assert_about(stay(&s, &now, 0.02, 300), 300);
	assert_int_equal(s.kind, DT_SEAT_BESIDE);
}

/* Nothing is learnt from a program that sleeps, nor from a few rounds. */
static void who_sleeps_tells_nothing(void **state)
{
	struct dt_seating s = begun(100);
	uint64_t now = BEGIN;

	(void)state;
	for (int i = 0; i < 10000; i++)
		assert_int_equal(dt_seating_next(&s, i % 100 < 1, true, now += S / 1000), DT_SEAT_SLICE);
	for (int i = 0; i < 4; i++)
		assert_int_equal(dt_seating_next(&s, true, true, now += S / 5), DT_SEAT_SLICE);
	stay(&s, &now, 1, 1);
	assert_int_equal(s.kind, DT_SEAT_BESIDE);
	s = begun(1);
	for (int i = 0; i < 4; i++)
		assert_int_equal(dt_seating_next(&s, true, true, now += S), DT_SEAT_SLICE);
	assert_int_equal(dt_seating_next(&s, true, true, now + S), DT_SEAT_BESIDE);
}

/* By our own account: who was on the CPU 3 s before us has stood for the last second, and not for the last five. */
static void who_has_stood_is_known(void **state)
{
	struct dt_seat seat = {.kind = DT_SEAT_SLICE, .cpu = 0, .booked = open("/proc/thread-self/sched", O_RDONLY)};
	struct dt_thread_booked before;
	char text[DT_BOOKED_TEXT] = "";

	(void)state;
	if (seat.booked < 0)
		skip();
	usleep(1000);
	assert_true(pread(seat.booked, text, sizeof(text) - 1, 0) > 0);
	assert_int_equal(dt_thread_booked_parse(text, strlen(text), &before), 0);
	assert_true(before.ns > 10 * S);
	before.ns -= 3 * S;
	assert_true(dt_seat_stood(&seat, &before, dt_clock_ns() - 1 * S));
	assert_false(dt_seat_stood(&seat, &before, dt_clock_ns() - 5 * S));
	before.ns = 0; /* it was woken on another CPU */
	assert_false(dt_seat_stood(&seat, &before, dt_clock_ns() - 1 * S));
	close(seat.booked);
	seat.booked = -1;
	before.ns = 1;
	assert_false(dt_seat_stood(&seat, &before, dt_clock_ns() - 1 * S));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_burst_at_the_beginning_is_no_reason),
	    cmocka_unit_test(it_is_left_for_what_sees_more),
	    cmocka_unit_test(it_is_tried_again_and_again),
	    cmocka_unit_test(beside_is_left_if_it_is_worse),
	    cmocka_unit_test(what_is_good_is_kept),
	    cmocka_unit_test(who_sleeps_tells_nothing),
	    cmocka_unit_test(who_has_stood_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
