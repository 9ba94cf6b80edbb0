/* Places by a number: all that were put are found, in their order, and nothing else. */
#include "unit.h"

#include "base/index.h"

#define MANY 10000

static size_t count_of(const struct dt_index *index, uint64_t number)
{
	size_t step = 0, place, count = 0;

	while (dt_index_next(index, number, &step, &place))
		count++;
	return count;
}

static void test_all_are_found(void **state)
{
	struct dt_index index = {0};
	size_t step, place;

	(void)state;
	assert_int_equal(count_of(&index, 0), 0);
	for (size_t i = 0; i < MANY; i++)
		assert_true(dt_index_put(&index, i * 4096, i));
	for (size_t i = 0; i < MANY; i++) {
		step = 0;
		assert_true(dt_index_next(&index, i * 4096, &step, &place));
		assert_int_equal(place, i);
		assert_int_equal(count_of(&index, i * 4096), 1);
		assert_int_equal(count_of(&index, i * 4096 + 1), 0);
	}
	dt_index_release(&index);
}

/* Also when it grows meanwhile. */
static void test_equal_numbers_keep_their_order(void **state)
{
	struct dt_index index = {0};
	size_t step = 0, place, expected = 0;

	(void)state;
	for (size_t i = 0; i < MANY; i++)
		assert_true(dt_index_put(&index, i % 16 ? i : 7, i));
	while (dt_index_next(&index, 7, &step, &place)) {
		if (place != 7) {
			assert_int_equal(place, expected);
			expected += 16;
		}
	}
	assert_int_equal(expected, MANY);
	dt_index_release(&index);
}

static void test_cleared(void **state)
{
	struct dt_index index = {0};
	const struct dt_index_slot *slots;

	(void)state;
	assert_true(dt_index_clear(&index, MANY));
	slots = index.slots;
	for (size_t turn = 0; turn < 3; turn++) {
		for (size_t i = 0; i < MANY; i++)
			assert_true(dt_index_put(&index, i + turn, i));
		assert_true(dt_index_clear(&index, MANY));
		assert_int_equal(count_of(&index, 5), 0);
	}
	assert_ptr_equal(index.slots, slots); /* there was room for them */
	dt_index_release(&index);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_all_are_found),
	    cmocka_unit_test(test_equal_numbers_keep_their_order),
	    cmocka_unit_test(test_cleared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
