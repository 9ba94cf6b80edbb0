/* How much of its CPU a target keeps, by a clock made up. */
#include "unit.h"

#include <stdbool.h>

#include "record/respite.h"

#define S     UINT64_C(1000000000)
#define US    UINT64_C(1000)
#define BEGIN (1000 * S)

struct clock {
	struct dt_respite r;
	uint64_t now, kept;
	unsigned looks;
};

static void look(struct clock *c, unsigned rate, uint64_t took)
{
	uint64_t rest, period = S / rate;

	c->looks++;
	c->kept += took;
	c->now += took;
	rest = dt_respite_after(&c->r, rate, took, c->now);
	c->now += rest > period ? rest : period;
}

/* Looks for so many seconds. The part of the time for which the target was kept from its CPU. */
static double keep(struct clock *c, unsigned rate, uint64_t took, unsigned seconds)
{
	uint64_t kept = c->kept, began = c->now;

	while (c->now < began + seconds * S)
		look(c, rate, took);
	return (double)(c->kept - kept) / (double)(c->now - began);
}

static void looks_that_are_quick_are_not_fewer(void **state)
{
	struct clock slow = {.now = BEGIN}, quick = {.now = BEGIN};

	(void)state;
	keep(&slow, 100, 150 * US, 10);
	assert_true(slow.looks > 980);
	keep(&quick, 1000, 45 * US, 10);
	assert_true(quick.looks > 9500);
}

static void looks_that_take_long_are_fewer(void **state)
{
	static const struct {
		unsigned rate;
		double most;
	} rates[] = {{1, 0.031}, {100, 0.031}, {200, 0.031}, {500, 0.031}, {1000, 0.051}, {5000, 0.21}};

	(void)state;
	for (size_t i = 0; i < sizeof(rates) / sizeof(*rates); i++) {
		struct clock c = {.now = BEGIN};
		double share;

		keep(&c, rates[i].rate, 4000 * US, 2); /* with what may be used at the beginning */
		share = keep(&c, rates[i].rate, 4000 * US, 200);
		assert_true(share < rates[i].most);
		assert_true(rates[i].rate < 100 || share > 0.7 * rates[i].most);
	}
}

static void one_that_takes_long_is_no_reason_to_rest(void **state)
{
	struct clock c = {.now = BEGIN};

	(void)state;
	keep(&c, 100, 20 * US, 5);
	c.looks = 0;
	look(&c, 100, 5000 * US);
	keep(&c, 100, 20 * US, 5);
	assert_true(c.looks > 490);
}

/* It is deep half of the time. Were each rest as long as the look before it asks for, that would be met less often. */
static void what_takes_long_is_met_as_often(void **state)
{
	struct clock c = {.now = BEGIN};
	double deep = 0, all = 0;

	(void)state;
	while (c.now < BEGIN + 2000 * S) {
		bool is_deep = c.now / (S / 10 * 7) % 2;
		uint64_t before = c.now;

		look(&c, 100, is_deep ? 2000 * US : 20 * US);
		/* The next one stands for the time since. */
		is_deep = c.now / (S / 10 * 7) % 2;
		deep += is_deep ? (double)(c.now - before) : 0;
		all += (double)(c.now - before);
	}
	assert_true(deep / all > 0.48 && deep / all < 0.52);
}

/* What stood for a minute (the machine was suspended) is not rested for for hours. */
static void no_rest_is_long(void **state)
{
	struct clock c = {.now = BEGIN};

	(void)state;
	look(&c, 100, 20 * US);
	c.now = BEGIN;
	look(&c, 100, 60 * S);
	assert_true(c.now < BEGIN + 65 * S);
	keep(&c, 100, 20 * US, 20);
	c.looks = 0;
	keep(&c, 100, 20 * US, 5);
	assert_true(c.looks > 490);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(looks_that_are_quick_are_not_fewer),
	    cmocka_unit_test(looks_that_take_long_are_fewer),
	    cmocka_unit_test(one_that_takes_long_is_no_reason_to_rest),
	    cmocka_unit_test(what_takes_long_is_met_as_often),
	    cmocka_unit_test(no_rest_is_long),
	};

	return cmocka_run_group_tests_name("respite", tests, NULL, NULL);
}
