/* How long a target may be kept stopped, by a clock made up. */
#include "unit.h"

#include "record/allowance.h"

#define S     UINT64_C(1000000000)
#define US    UINT64_C(1000)
#define BEGIN (1000 * S)

struct clock {
	struct dt_allowance a;
	uint64_t now, stood;
};

/* Looks at so many a second for so long, each of which wants a stop of so many ns. The share of them that was stopped.
 */
static double look(struct clock *c, unsigned rate, double seconds, uint64_t stop)
{
	unsigned count = (unsigned)(seconds * rate), stopped = 0;

	for (unsigned i = 0; i < count; i++) {
		c->now += S / rate;
		if (dt_allowance_ask(&c->a, c->stood, c->now)) {
			c->stood += stop;
			stopped++;
		}
	}
	return (double)stopped / count;
}

static void at_a_hundred_a_second_each_may_be_stopped(void **state)
{
	struct clock c = {.now = BEGIN};

	(void)state;
	assert_true(look(&c, 100, 60, 70 * US) == 1);
}

static void one_part_is_never_exceeded_by_much(void **state)
{
	struct clock c = {.now = BEGIN};
	double share;

	(void)state;
	look(&c, 1000, 1, 60 * US);
	assert_true(c.stood <= S * 9 / 1000 + 60 * US);
	share = look(&c, 1000, 99, 60 * US);
	assert_true(share > 0.116 && share < 0.121);
	assert_true(c.stood < 100 * S / DT_STOPPED + 3000 * US);
}

static void a_burst_is_allowed(void **state)
{
	struct clock c = {.now = BEGIN};

	(void)state;
	assert_true(look(&c, 1000, 0.03, 60 * US) == 1); /* at the beginning */
	look(&c, 1000, 10, 60 * US);
	c.now += 4 * S;
	assert_true(look(&c, 1000, 0.5, 60 * US) == 1);
}

static void what_is_long_ago_does_not_count(void **state)
{
	struct clock c = {.now = BEGIN};
	uint64_t before;

	(void)state;
	look(&c, 1000, 1, 60 * US);
	c.now += 3600 * S;
	before = c.stood;
	look(&c, 1000, 10, 60 * US);
	assert_true(c.stood - before < 14 * S / DT_STOPPED + 60 * US);
}

static void what_was_too_long_is_paid_back(void **state)
{
	struct clock c = {.now = BEGIN};

	(void)state;
	look(&c, 100, 1, 64000 * US); /* once */
	assert_true(c.stood == 64000 * US);
	assert_true(look(&c, 100, 6, 60 * US) == 0);
	assert_true(look(&c, 100, 60, 60 * US) > 0.9);
	c.stood += 60 * S; /* we were stopped ourselves meanwhile */
	assert_true(look(&c, 100, 59, 60 * US) == 0);
	assert_true(look(&c, 100, 10, 60 * US) > 0.8);
}

/* Who may be stopped for several looks at once asks for how long. */
static void what_is_left_is_what_may_be_used(void **state)
{
	struct clock c = {.now = BEGIN};
	uint64_t left;

	(void)state;
	assert_true(dt_allowance_ask(&c.a, 0, c.now));
	left = dt_allowance_left(&c.a);
	assert_true(left > S / 1000 && left < 2 * S / 1000);
	assert_true(dt_allowance_ask(&c.a, left - 1, c.now));
	assert_true(dt_allowance_left(&c.a) == 1);
	assert_false(dt_allowance_ask(&c.a, left + 5, c.now));
	assert_true(dt_allowance_left(&c.a) == 0);
	assert_true(dt_allowance_ask(&c.a, left + 5, c.now + S));
	assert_true(dt_allowance_left(&c.a) == S / DT_STOPPED - 5);
}

/* The first look has stopped threads before anybody asked. */
static void what_came_before_the_first_question_counts(void **state)
{
	struct clock c = {.now = BEGIN, .stood = 10000 * US};

	(void)state;
	assert_true(look(&c, 100, 1, 60 * US) == 0);
	assert_true(look(&c, 100, 10, 60 * US) > 0.9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(at_a_hundred_a_second_each_may_be_stopped),
	    cmocka_unit_test(one_part_is_never_exceeded_by_much),
	    cmocka_unit_test(a_burst_is_allowed),
	    cmocka_unit_test(what_is_long_ago_does_not_count),
	    cmocka_unit_test(what_was_too_long_is_paid_back),
	    cmocka_unit_test(what_is_left_is_what_may_be_used),
	    cmocka_unit_test(what_came_before_the_first_question_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
