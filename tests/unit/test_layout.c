#include "unit.h"

#include "python/layout.h"

/* What is true of every table, whichever version it is for. */
static void assert_sane(const struct dt_layout *layout)
{
	assert_true(layout->runtime.interpreters_head < layout->runtime.size);
	assert_true(layout->runtime.main_thread < layout->runtime.size);
	assert_true(layout->interpreter.threads_head < layout->interpreter.size);
	assert_true(layout->thread.thread_id < layout->thread.size);
	assert_true(layout->frame.ip < layout->frame.size);
	assert_true(layout->code.linetable < layout->code.size);
	assert_true(layout->unicode.ascii_size < layout->unicode.compact_size);
	assert_true(layout->gil.switch_number < layout->gil.size);

	/* The frame is reached in one of two ways, and the GIL lies in one of two places. */
	assert_int_not_equal(layout->thread.frame == DT_ABSENT, layout->thread.cframe == DT_ABSENT);
	assert_int_equal(layout->runtime.gil == DT_ABSENT, layout->gil_place == DT_GIL_BY_POINTER);
	assert_int_equal(layout->interpreter.gil == DT_ABSENT, layout->gil_place == DT_GIL_IN_RUNTIME);
	assert_int_not_equal(layout->runtime.gc_collecting == DT_ABSENT,
			     layout->interpreter.gc_collecting == DT_ABSENT);
	assert_int_not_equal(layout->dictkeys.size == DT_ABSENT, layout->dictkeys.log2_size == DT_ABSENT);
	assert_int_equal(layout->dictkeys.kind == DT_ABSENT, layout->dictkeys.text_entry_size == DT_ABSENT);
}

static void test_every_version_has_a_sane_table(void **state)
{
	(void)state;
	for (uint8_t minor = 8; minor <= 12; minor++) {
		const struct dt_layout *layout = dt_layout_for(3, minor);
		assert_non_null(layout);
		assert_int_equal(layout->major, 3);
		assert_int_equal(layout->minor, minor);
		assert_sane(layout);
	}
}

static void test_unknown_versions_have_none(void **state)
{
	(void)state;
	assert_null(dt_layout_for(2, 7));
	assert_null(dt_layout_for(3, 13));
	assert_null(dt_layout_for(4, 8));
}

static void test_list_is_newest_first(void **state)
{
	(void)state;
	size_t count = 0;
	for (; dt_layouts[count]; count++)
		if (count)
			assert_true(dt_layouts[count]->minor < dt_layouts[count - 1]->minor);
	assert_int_equal(count, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_every_version_has_a_sane_table),
	    cmocka_unit_test(test_unknown_versions_have_none),
	    cmocka_unit_test(test_list_is_newest_first),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
