/* When looks are due, and how much time they stand for, by a clock made up. */
#include "unit.h"

#include "base/util.h"
#include "record/instants.h"

#define BEGIN UINT64_C(1000000000000)
#define US    UINT64_C(1000)
#define LOOKS 80000
#define RATE  1000

static struct dt_instants begun(double rate)
{
	struct dt_instants in;

	dt_instants_init(&in, rate, 12345);
	dt_instants_begin(&in, BEGIN);
	return in;
}

/* All looks take place 20 us after their instant, and take 30 us. */
static void each_look_stands_for_a_period(void **state)
{
	struct dt_instants in = begun(RATE);
	uint64_t due = dt_instants_next(&in, BEGIN, BEGIN), told = BEGIN, behind = 0;

	(void)state;
	for (int i = 1; i <= LOOKS; i++) {
		uint64_t at = due + 20 * US, now = dt_instants_told(&in, due, at, false);

		assert_true(now <= at && now >= told);
		assert_in_range(now - told, 999 * US, 1001 * US);
		told = now;
		behind = DT_MAX(behind, at - told);
		due = dt_instants_next(&in, due, at + 30 * US);
	}
	assert_in_range(told, BEGIN + LOOKS * 1000 * US - 1000 * US, BEGIN + LOOKS * 1000 * US + 1000 * US);
	assert_true(behind > 1000 * US && behind < DT_INSTANTS_BLOCK * 1000 * US);
}

/* After x periods a part of exp(-x) of the distances is still to come. */
static void distances_have_no_memory(void **state)
{
	static const struct {
		uint64_t us;
		double longer;
	} parts[] = {{50, 0.951}, {100, 0.905}, {250, 0.779}, {500, 0.607}, {1000, 0.368}, {2000, 0.135}, {3000, 0.05}};
	struct dt_instants in = begun(RATE);
	unsigned longer[DT_COUNT(parts)] = {0};
	uint64_t due = BEGIN;

	(void)state;
	for (int i = 0; i < LOOKS; i++) {
		uint64_t next = dt_instants_next(&in, due, due);

		for (size_t k = 0; k < DT_COUNT(parts); k++)
			longer[k] += next - due > parts[k].us * US;
		due = next;
		dt_instants_told(&in, due, due, false);
	}
	for (size_t k = 0; k < DT_COUNT(parts); k++)
		assert_in_range(longer[k], (unsigned)((parts[k].longer - 0.025) * LOOKS),
				(unsigned)((parts[k].longer + 0.025) * LOOKS));
}

/* What is found runs for half a millisecond after each look and never else: that is 39 % of the time. */
static void what_looks_cause_is_met(void **state)
{
	struct dt_instants in = begun(RATE);
	uint64_t due = BEGIN, last, told = BEGIN, met = 0, truth = 0;

	(void)state;
	for (int i = 0; i < LOOKS; i++) {
		uint64_t now;

		last = due;
		due = dt_instants_next(&in, due, due);
		truth += DT_MIN(due - last, 500 * US);
		now = dt_instants_told(&in, due, due, false);
		met += due - last < 500 * US ? now - told : 0;
		told = now;
	}
	assert_in_range(met * 1000 / (told - BEGIN), truth * 1000 / (due - BEGIN) - 10,
			truth * 1000 / (due - BEGIN) + 10);
}

/* Looks that take longer than the time between two, or come late: all time is told, by when they were. */
static void what_does_not_hold_is_measured(void **state)
{
	struct dt_instants in = begun(RATE);
	uint64_t due = dt_instants_next(&in, BEGIN, BEGIN), at = due;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		uint64_t told;

		at = due + (i % 2 ? 5000 * US : 0);
		told = dt_instants_told(&in, due, at, i % 2);
		assert_true(told <= at);
		if (i % 2)
			assert_int_equal(told, at);
		due = dt_instants_next(&in, due, at + 20000 * US);
		assert_true(due > at + 20000 * US);
	}
	assert_true(at - in.told_ns < 5000 * US);
}

/* Two kinds of work in turn, 40 ms each. A look at the one takes longer than the time between two looks, and has not
 * less of the time for it. */
static void what_takes_long_to_look_at_has_its_share(void **state)
{
	struct dt_instants in = begun(RATE);
	uint64_t due = dt_instants_next(&in, BEGIN, BEGIN), told = BEGIN, slow = 0;

	(void)state;
	while (told < BEGIN + LOOKS * 1000 * US) {
		bool is_slow = (due - BEGIN) / (40000 * US) % 2 == 0;
		uint64_t at = due, over = at + (is_slow ? 2500 * US : 10 * US), now;

		dt_instants_told(&in, due, at, false);
		now = dt_instants_passed(&in, &due, over);
		assert_true(now >= told && now <= over && due >= at && due <= over);
		slow += is_slow ? now - told : 0;
		told = now;
		due = DT_MAX(dt_instants_next(&in, due, over), over);
	}
	assert_in_range(slow * 1000 / (told - BEGIN), 490, 510);
}

/* Every second look is put off by two periods: it stands for them as well, and told time keeps up with the clock. */
static void what_is_put_off_is_told(void **state)
{
	struct dt_instants in = begun(RATE);
	uint64_t due = dt_instants_next(&in, BEGIN, BEGIN), told = BEGIN, put_off = 0, others = 0;

	(void)state;
	for (int i = 0; i < LOOKS; i++) {
		uint64_t now = dt_instants_told(&in, due, due, false);

		assert_true(now >= told && now <= due);
		*(i % 2 ? &put_off : &others) += now - told;
		told = now;
		due = dt_instants_next(&in, due, due);
		if (i % 2 == 0) {
			due += 2000 * US;
			dt_instants_put_off(&in, 2000 * US);
		}
	}
	assert_in_range(put_off * 1000 / others, 2900, 3100);
	assert_true(due - told < DT_INSTANTS_BLOCK * 3000 * US);
}

/* So few that each counts: between half a period and one and a half, each for its own time. */
static void few_come_evenly(void **state)
{
	struct dt_instants in = begun(10);
	uint64_t due = BEGIN;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		uint64_t next = dt_instants_next(&in, due, due);

		assert_in_range(next - due, 50000 * US, 150000 * US);
		assert_int_equal(dt_instants_told(&in, next, next + 7, false), next + 7);
		due = next;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_look_stands_for_a_period),
	    cmocka_unit_test(distances_have_no_memory),
	    cmocka_unit_test(what_looks_cause_is_met),
	    cmocka_unit_test(what_does_not_hold_is_measured),
	    cmocka_unit_test(what_takes_long_to_look_at_has_its_share),
	    cmocka_unit_test(what_is_put_off_is_told),
	    cmocka_unit_test(few_come_evenly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
