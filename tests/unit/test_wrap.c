/* Sentences are broken at spaces, what is to be typed is not. */
#include "unit.h"

#include <string.h>

#include "base/util.h"
#include "base/wrap.h"

static void test_lines(void **state)
{
	static const struct {
		const char *text;
		size_t at, indent, columns;
		const char *lines;
	} cases[] = {
	    {"", 0, 0, 10, ""},
	    {"one two three", 0, 2, 0, "one two three"},
	    {"one two three", 0, 2, 13, "one two three"},
	    {"one two three", 0, 2, 12, "one two\n  three"},
	    {"one two three", 6, 2, 9, "one\n  two\n  three"},
	    {"one two three", 6, 2, 7, "one\n  two\n  three"},
	    {"one  two", 0, 0, 8, "one  two"},
	    {"one  two", 0, 0, 7, "one\ntwo"},
	    {"one two ", 0, 0, 7, "one two\n"},
	    {"overlong word", 0, 1, 4, "overlong\n word"},
	    {"see 'darter help dump', it", 0, 0, 12, "see\n'darter help dump',\nit"},
	    {"'darter ps' lists", 0, 0, 5, "'darter ps'\nlists"},
	    {"it's one 'quote more", 0, 0, 8, "it's one\n'quote\nmore"},
	    {"'", 0, 0, 8, "'"},
	    {"中文 中文", 0, 0, 9, "中文 中文"},
	    {"中文 中文", 0, 0, 8, "中文\n中文"},
	};

	(void)state;
	for (size_t i = 0; i < DT_COUNT(cases); i++) {
		struct dt_buf out = DT_BUF_INIT;

		dt_wrap(&out, cases[i].text, strlen(cases[i].text), cases[i].at, cases[i].indent, cases[i].columns);
		assert_string_equal(out.data, cases[i].lines);
		dt_buf_release(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_lines)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
