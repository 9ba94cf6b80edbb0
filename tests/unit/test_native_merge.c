/* C stacks with rows of Python frames in them: made by nesting calls at random, so what they must become is known. */
#include "unit.h"

#include <string.h>

#include "base/util.h"
#include "native/merge.h"

#define MOST 64

/* A stack as it was made, from the leaf outwards: "c" a C frame, "m" one that may be the loop for all that is known of
 * it, "L" the loop, "p" a Python frame that it runs, behind it. */
struct made {
	struct dt_merge_native natives[MOST];
	struct dt_merge_row rows[MOST];
	struct dt_merge merge;
	struct dt_merged expected[MOST];
	size_t expected_count;
};

static void make(struct made *made, const char *text, bool places)
{
	uint32_t native = 0, python = 0;
	uint64_t sp = 0x7ffc00000000;

	memset(made, 0, sizeof(*made));
	for (const char *at = text; *at; at++) {
		struct dt_merged *expected = &made->expected[made->expected_count];

		if (*at == 'p') {
			made->rows[made->merge.row_count - 1].count++;
			*expected = (struct dt_merged){.index = python++};
			made->expected_count++;
			continue;
		}
		made->natives[native] = (struct dt_merge_native){.sp = sp, .loop = *at == 'L', .maybe = *at == 'm'};
		if (*at == 'L')
			made->rows[made->merge.row_count++] = (struct dt_merge_row){.place = places ? sp + 8 : 0};
		else
			made->expected[made->expected_count++] = (struct dt_merged){.native = true, .index = native};
		native++;
		sp += 16 + native % 3 * 64;
	}
	made->merge.natives = made->natives;
	made->merge.native_count = native;
	made->merge.rows = made->rows;
	made->merge.whole = true;
}

static enum dt_merge_end merge(const struct made *made, bool kept, char *text)
{
	struct dt_merged merged[2 * MOST];
	enum dt_merge_end end;
	size_t count, next_native = 0, next_python = 0;

	end = dt_merge(&made->merge, kept, merged, &count);
	for (size_t i = 0; i < count; i++) {
		bool loop = merged[i].native && made->natives[merged[i].index].loop;

		/* In order, and each at most once. */
		assert_true(merged[i].index >= (merged[i].native ? next_native : next_python));
		*(merged[i].native ? &next_native : &next_python) = merged[i].index + 1;
		*text++ = !merged[i].native ? 'p' : loop ? 'L' : 'c';
	}
	*text = '\0';
	return end;
}

static void check(const char *stack, bool places, enum dt_merge_end end, const char *wanted)
{
	struct made made;
	char text[2 * MOST + 1];

	make(&made, stack, places);
	assert_int_equal(merge(&made, false, text), end);
	assert_string_equal(text, wanted);
}

static void rows_come_where_their_loop_is(void **state)
{
	(void)state;
	for (int places = 0; places < 2; places++) {
		check("ccLpccLpppcc", places, DT_MERGED, "ccpccpppcc");
		check("Lpc", places, DT_MERGED, "pc");
		check("ccc", places, DT_MERGED, "ccc");
		check("LpLpLpc", places, DT_MERGED, "pppc"); /* __init__ and the like: nothing between */
	}
}

static void the_loop_may_be_kept(void **state)
{
	struct made made;
	char text[2 * MOST + 1];

	(void)state;
	make(&made, "cLpcLppc", true);
	assert_int_equal(merge(&made, true, text), DT_MERGED);
	assert_string_equal(text, "cLpcLppc");
}

static char *put(char *at, char what, unsigned count)
{
	memset(at, what, count);
	return at + count;
}

static unsigned below(unsigned *random, unsigned bound)
{
	*random = *random * 1103515245 + 12345;
	return (*random >> 16) % bound;
}

/* Whatever is nested: by places and by counts it becomes the same. */
static void any_nesting(void **state)
{
	unsigned random = 1;

	(void)state;
	for (int turn = 0; turn < 5000; turn++) {
		char stack[MOST + 1], *at = put(stack, 'c', below(&random, 4));
		struct made made;

		for (unsigned rows = below(&random, 5); rows; rows--) {
			at = put(at, 'L', 1);
			at = put(at, 'p', 1 + below(&random, 3));
			at = put(at, 'c', below(&random, 4));
		}
		strcpy(at, "cc");
		for (int places = 0; places < 2; places++) {
			struct dt_merged merged[MOST];
			size_t count;

			make(&made, stack, places);
			assert_int_equal(dt_merge(&made.merge, false, merged, &count), DT_MERGED);
			assert_int_equal(count, made.expected_count);
			for (size_t i = 0; i < count; i++) {
				assert_int_equal(merged[i].native, made.expected[i].native);
				assert_int_equal(merged[i].index, made.expected[i].index);
			}
		}
	}
}

/* The outer part of the C stack was not followed. */
static enum dt_merge_end cut(const char *stack, bool places, size_t natives, char *text)
{
	struct made made;

	make(&made, stack, places);
	made.merge.native_count = natives;
	made.merge.whole = false;
	return merge(&made, false, text);
}

static void a_stack_that_was_cut_keeps_its_inner_part(void **state)
{
	char text[2 * MOST + 1];

	(void)state;
	for (int places = 0; places < 2; places++) {
		assert_int_equal(cut("ccLpcLppccc", places, 6, text), DT_MERGED_INNER);
		assert_string_equal(text, "ccpcppc");
		assert_int_equal(cut("ccLpcLppccc", places, 4, text), DT_MERGED_INNER);
		assert_string_equal(text, "ccpcpp");
	}
	/* All that is known of it was called by the innermost row, as far as the symbols tell; the place is sure. */
	assert_int_equal(cut("ccLpcLppccc", false, 2, text), DT_MERGED_INNER);
	assert_string_equal(text, "ccppp");
	assert_int_equal(cut("cmLpcLppccc", false, 2, text), DT_MERGED_LEAF);
	assert_string_equal(text, "ccppp");
	assert_int_equal(cut("ccLpcLppccc", true, 2, text), DT_MERGED_INNER);
	assert_string_equal(text, "ccppp");
	/* Has the innermost call a frame yet? That would be known if all were counted. */
	assert_int_equal(cut("LpcLppccc", false, 3, text), DT_MERGED_LEAF);
	assert_string_equal(text, "ppp");
	assert_int_equal(cut("LpcLppccc", true, 3, text), DT_MERGED_INNER);
	assert_string_equal(text, "pcpp");
}

static void a_loop_that_begins_has_no_row(void **state)
{
	struct made made;
	char text[2 * MOST + 1];

	(void)state;
	make(&made, "LcLpc", false);
	made.merge.rows = &made.rows[1];
	made.merge.row_count = 1;
	assert_int_equal(merge(&made, false, text), DT_MERGED);
	assert_string_equal(text, "cpc");
	/* It calls something: then it should have one. */
	make(&made, "cLcLpc", false);
	made.merge.rows = &made.rows[1];
	made.merge.row_count = 1;
	assert_int_equal(merge(&made, false, text), DT_MERGED_LEAF);
	assert_string_equal(text, "cp");
}

static void what_does_not_fit_loses_no_python(void **state)
{
	struct made made;
	char text[2 * MOST + 1];

	(void)state;
	/* A loop that has no symbol. */
	make(&made, "cLpcLppcc", false);
	made.natives[3].loop = false;
	assert_int_equal(merge(&made, false, text), DT_MERGED_LEAF);
	assert_string_equal(text, "cppp");
	/* None has one: what the leaf is cannot be told. */
	made.natives[1].loop = false;
	assert_int_equal(merge(&made, false, text), DT_MERGED_LEAF);
	assert_string_equal(text, "ppp");
	/* With places symbols are not asked. */
	make(&made, "cLpcLppcc", true);
	made.natives[1].loop = made.natives[3].loop = false;
	assert_int_equal(merge(&made, false, text), DT_MERGED);
	assert_string_equal(text, "cpcppcc");
	/* Places of another stack (a greenlet's, say), in the wrong order, twice, or behind the outermost frame. */
	for (int way = 0; way < 4; way++) {
		make(&made, "cLpcLppcLpcc", true);
		made.natives[5].loop = false;
		if (way == 0)
			made.rows[1].place = 0x7f0000000000;
		else if (way == 1)
			made.rows[1].place = made.rows[0].place - 16;
		else if (way == 2)
			made.rows[1].place = made.rows[0].place;
		else
			made.rows[2].place = UINT64_MAX;
		assert_int_equal(merge(&made, false, text), DT_MERGED_LEAF);
		assert_string_equal(text, "cpppp");
	}
}

static void threads_without_python(void **state)
{
	char text[2 * MOST + 1];

	(void)state;
	assert_int_equal(cut("cccc", true, 3, text), DT_MERGED_INNER);
	assert_string_equal(text, "ccc");
	check("", true, DT_MERGED, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(rows_come_where_their_loop_is),
	    cmocka_unit_test(the_loop_may_be_kept),
	    cmocka_unit_test(any_nesting),
	    cmocka_unit_test(a_stack_that_was_cut_keeps_its_inner_part),
	    cmocka_unit_test(a_loop_that_begins_has_no_row),
	    cmocka_unit_test(what_does_not_fit_loses_no_python),
	    cmocka_unit_test(threads_without_python),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
