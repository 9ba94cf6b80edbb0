#include "unit.h"

#include "python/layout.h"

/* What is true of every table, whichever version it is for. */
static void assert_sane(const struct dt_layout *layout)
{
	assert_true(layout->runtime.interpreters_head < layout->runtime.size);
	assert_true(layout->interpreter.threads_head < layout->interpreter.size);
	assert_true(layout->thread.thread_id < layout->thread.size);
	assert_true(layout->frame.ip < layout->frame.size);
	assert_true(layout->code.linetable < layout->code.size);
	if (layout->unicode.data == DT_ABSENT)
		assert_true(layout->unicode.ascii_size < layout->unicode.compact_size);
	else
		assert_true(layout->unicode.width == 2 || layout->unicode.width == 4);

	/* The frame is reached in one of two ways, and the GIL lies in one of three places. */
	assert_int_not_equal(layout->thread.frame == DT_ABSENT, layout->thread.cframe == DT_ABSENT);
	assert_int_equal(layout->runtime.gil == DT_ABSENT, layout->gil_place != DT_GIL_IN_RUNTIME);
	assert_int_equal(layout->interpreter.gil == DT_ABSENT, layout->gil_place != DT_GIL_BY_POINTER);
	if (layout->gil_place == DT_GIL_IN_VARIABLES) {
		assert_int_equal(layout->runtime.interpreters_head, 0);
		assert_int_equal(layout->runtime.main_thread, DT_ABSENT);
		assert_int_equal(layout->runtime.gc_collecting, DT_ABSENT);
		assert_int_equal(layout->gil.switch_number, DT_ABSENT);
	} else {
		assert_true(layout->runtime.main_thread < layout->runtime.size);
		assert_true(layout->gil.switch_number < layout->gil.size);
		assert_int_not_equal(layout->runtime.gc_collecting == DT_ABSENT,
				     layout->interpreter.gc_collecting == DT_ABSENT);
	}
	assert_int_not_equal(layout->dict.keys == DT_ABSENT, layout->dict.table == DT_ABSENT);
	if (layout->dict.keys != DT_ABSENT)
		assert_int_not_equal(layout->dictkeys.size == DT_ABSENT, layout->dictkeys.log2_size == DT_ABSENT);
	assert_int_equal(layout->integer.plain == DT_ABSENT, layout->type.plain_integer_flag == 0);
	assert_int_equal(layout->dictkeys.kind == DT_ABSENT, layout->dictkeys.text_entry_size == DT_ABSENT);
}

static void test_every_version_has_a_sane_table(void **state)
{
	(void)state;
	for (uint8_t minor = 6; minor <= 12; minor++) {
		const struct dt_layout *layout = dt_layout_for(3, minor);
		assert_non_null(layout);
		assert_int_equal(layout->major, 3);
		assert_int_equal(layout->minor, minor);
		assert_int_equal(layout->last_micro, 0);
		assert_sane(layout);
	}
	assert_non_null(dt_layout_for(2, 7));
	assert_sane(dt_layout_for(2, 7));
}

/* Up to 3.7.3 the collector's part of the runtime was smaller. */
static void test_first_releases_have_a_table_of_their_own(void **state)
{
	const struct dt_layout *first = dt_layout_for_release(3, 7, 0);
	const struct dt_layout *last = dt_layout_for_release(3, 7, 4);

	(void)state;
	assert_ptr_equal(first, dt_layout_for_release(3, 7, 3));
	assert_ptr_equal(last, dt_layout_for(3, 7));
	assert_ptr_not_equal(first, last);
	assert_sane(first);
	assert_true(first->runtime.gil < last->runtime.gil);
	assert_int_equal(first->runtime.interpreters_head, last->runtime.interpreters_head);
	assert_true(dt_layout_is_for(first, 3, 7, 3));
	assert_false(dt_layout_is_for(first, 3, 7, 4));
	assert_ptr_equal(dt_layout_for_release(3, 8, 0), dt_layout_for(3, 8));
}

/* Objects that are all in one list have two words more, and nothing else is laid out otherwise before them. */
static void test_every_table_has_one_for_traced_references(void **state)
{
	(void)state;
	for (const struct dt_layout *const *layout = dt_layouts; *layout; layout += 2) {
		const struct dt_layout *plain = layout[0], *traced = layout[1];

		assert_false(plain->traced_refs);
		assert_true(traced->traced_refs);
		assert_sane(traced);
		assert_true(dt_layout_is_for(traced, plain->major, plain->minor, plain->last_micro));
		assert_int_equal(traced->last_micro, plain->last_micro);
		assert_int_equal(traced->object.size, plain->object.size + 16);
		assert_int_equal(traced->object.ob_type, plain->object.ob_type + 16);
		assert_int_equal(traced->code.name, plain->code.name + 16);
		assert_int_equal(traced->runtime.interpreters_head, plain->runtime.interpreters_head);
		assert_int_equal(traced->thread.interp, plain->thread.interp);
	}
}

static void test_unknown_versions_have_none(void **state)
{
	(void)state;
	assert_null(dt_layout_for(2, 6));
	assert_null(dt_layout_for(3, 5));
	assert_null(dt_layout_for(3, 13));
	assert_null(dt_layout_for(4, 8));
}

static void test_list_is_newest_first(void **state)
{
	(void)state;
	size_t count = 0;
	for (; dt_layouts[count]; count += 2) {
		const struct dt_layout *newer = count ? dt_layouts[count - 1] : NULL, *layout = dt_layouts[count];

		if (newer)
			assert_true(layout->major < newer->major || layout->minor < newer->minor ||
				    (layout->minor == newer->minor && newer->last_micro && !layout->last_micro));
	}
	assert_int_equal(count, 9 * 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_every_version_has_a_sane_table),
	    cmocka_unit_test(test_first_releases_have_a_table_of_their_own),
	    cmocka_unit_test(test_every_table_has_one_for_traced_references),
	    cmocka_unit_test(test_unknown_versions_have_none),
	    cmocka_unit_test(test_list_is_newest_first),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
