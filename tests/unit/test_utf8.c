/* UTF-8 is not trusted, and nothing unseen reaches a terminal. */
#include "unit.h"

#include <string.h>

#include "base/utf8.h"
#include "base/util.h"

static void check_escape(const char *text, const char *shown)
{
	struct dt_buf buf = DT_BUF_INIT;

	dt_escape(&buf, text);
	assert_string_equal(buf.data, shown);
	dt_buf_release(&buf);
}

static void test_characters(void **state)
{
	static const struct {
		const char *text;
		size_t size;
		uint32_t code;
	} cases[] = {
	    {"a", 1, 'a'},
	    {"\xc3\xa9", 2, 0xe9},
	    {"\xe2\x82\xac", 3, 0x20ac},
	    {"\xf0\x9f\x90\x8d", 4, 0x1f40d},
	    {"\xf4\x8f\xbf\xbf", 4, 0x10ffff},
	    {"\xc0\x80", 1, DT_UTF8_INVALID},         /* overlong */
	    {"\xe0\x80\x80", 1, DT_UTF8_INVALID},     /* overlong */
	    {"\xf0\x80\x80\x80", 1, DT_UTF8_INVALID}, /* overlong */
	    {"\xed\xa0\x80", 1, DT_UTF8_INVALID},     /* a surrogate */
	    {"\xf4\x90\x80\x80", 1, DT_UTF8_INVALID}, /* above the last */
	    {"\xe2\x82", 1, DT_UTF8_INVALID},         /* cut off */
	    {"\x80", 1, DT_UTF8_INVALID},
	    {"\xff", 1, DT_UTF8_INVALID},
	};

	(void)state;
	for (size_t i = 0; i < DT_COUNT(cases); i++) {
		uint32_t code = 0;

		assert_int_equal(dt_utf8_next(cases[i].text, strlen(cases[i].text), &code), cases[i].size);
		assert_int_equal(code, cases[i].code);
	}
}

static void test_escape(void **state)
{
	(void)state;
	check_escape("plain text, Ünïcödé 🐍 中文", "plain text, Ünïcödé 🐍 中文");
	check_escape("a\nb\tc\rd", "a\\nb\\tc\\rd");
	check_escape("\033[31mred\033]0;title\a", "\\x1b[31mred\\x1b]0;title\\x07");
	check_escape("\xc2\x9b"
		     "31m",
		     "\\u009b31m"); /* the one-character form of ESC [ */
	check_escape("\x9b"
		     "31m",
		     "\\x9b31m");
	check_escape("user\xe2\x80\xae"
		     "txt.exe",
		     "user\\u202etxt.exe");
	check_escape("a\xe2\x80\x8b"
		     "b\xef\xbb\xbf",
		     "a\\u200bb\\ufeff");
	check_escape("\xf3\xa0\x81\x81", "\\U000e0041");
	check_escape("\x7f\xff\xc3", "\\x7f\\xff\\xc3");
	check_escape("", "");
	check_escape(NULL, "");
}

/* No byte below space, no DEL and no C1 control ever comes out, whatever goes in. */
static void test_escape_every_pair(void **state)
{
	struct dt_buf buf = DT_BUF_INIT;

	(void)state;
	for (unsigned pair = 0; pair < 0x10000; pair++) {
		char text[3] = {(char)(pair >> 8 ? pair >> 8 : 1), (char)(pair & 255 ? pair & 255 : 1), 0};

		dt_buf_clear(&buf);
		dt_escape(&buf, text);
		for (size_t at = 0; at < buf.length;) {
			uint32_t code;

			at += dt_utf8_next(buf.data + at, buf.length - at, &code);
			assert_true(code != DT_UTF8_INVALID && code >= ' ' && (code < 0x7f || code > 0x9f));
		}
	}
	dt_buf_release(&buf);
}

static void test_columns(void **state)
{
	(void)state;
	assert_int_equal(dt_columns("abc"), 3);
	assert_int_equal(dt_columns("é中🐍"), 5);
	assert_int_equal(dt_columns("e\xcc\x81"), 1);
}

static void check_cut(const char *text, size_t columns, const char *shown)
{
	struct dt_buf buf = DT_BUF_INIT;

	dt_buf_puts(&buf, "> ");
	dt_escape_cut(&buf, text, columns);
	assert_string_equal(buf.data + 2, shown);
	assert_true(dt_columns(buf.data + 2) <= columns);
	dt_buf_release(&buf);
}

static void test_cut(void **state)
{
	(void)state;
	check_cut("abcdef", 6, "abcdef");
	check_cut("abcdef", 5, "abcd…");
	check_cut("abcdef", 1, "…");
	check_cut("abcdef", 0, "");
	check_cut("中文字", 5, "中文…");
	check_cut("中文字", 4, "中…");
	check_cut("a\033[0m", 3, "a…"); /* an escape is never cut in two */
	check_cut("", 3, "");
}

static void check_cut_middle(const char *text, size_t columns, const char *shown)
{
	struct dt_buf buf = DT_BUF_INIT;

	dt_buf_puts(&buf, "> ");
	dt_escape_cut_middle(&buf, text, columns);
	assert_string_equal(buf.data + 2, shown);
	assert_true(dt_columns(buf.data + 2) <= columns);
	dt_buf_release(&buf);
}

static void test_cut_middle(void **state)
{
	(void)state;
	check_cut_middle("abcdef", SIZE_MAX, "abcdef");
	check_cut_middle("abcdef", 6, "abcdef");
	check_cut_middle("abcdef", 5, "ab…ef");
	check_cut_middle("abcdef", 4, "ab…f");
	check_cut_middle("abcdef", 2, "a…");
	check_cut_middle("abcdef", 1, "…");
	check_cut_middle("abcdef", 0, "");
	check_cut_middle("中文字体", 7, "中…体");
	check_cut_middle("ab\033[0mcd", 6,
			 "ab\xe2\x80\xa6"
			 "cd"); /* an escape is never cut in two */
	check_cut_middle("abce\xcc\x81gh", 5, "ab…gh");
	check_cut_middle("", 3, "");
	check_cut_middle("", 0, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_characters), cmocka_unit_test(test_escape), cmocka_unit_test(test_escape_every_pair),
	    cmocka_unit_test(test_columns),    cmocka_unit_test(test_cut),    cmocka_unit_test(test_cut_middle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
