/*
 * The tables that three Pythons made of one function (with, try, finally, calls and a comprehension over several lines,
 * beginning at line 6) and the lines that they themselves give for it.
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "python/lines.h"

struct span {
	int from, to;
	unsigned line;
};

static const uint8_t lnotab[] = {0x00, 0x02, 0x04, 0x01, 0x08, 0x01, 0x02, 0x01, 0x02, 0xff, 0x08, 0x03,
				 0x04, 0x01, 0x02, 0xff, 0x28, 0x02, 0x0e, 0x01, 0x02, 0x01, 0x02, 0xff,
				 0x02, 0x02, 0x02, 0xfe, 0x1a, 0x04, 0x0c, 0x08, 0x06, 0x02, 0x06, 0xfe};
static const struct span lnotab_spans[] = {{0, 4, 8},      {4, 12, 9},     {12, 14, 10},  {14, 16, 11},  {16, 24, 10},
					   {24, 28, 13},   {28, 30, 14},   {30, 70, 13},  {70, 84, 15},  {84, 86, 16},
					   {86, 88, 17},   {88, 90, 16},   {90, 92, 18},  {92, 118, 16}, {118, 130, 20},
					   {130, 136, 28}, {136, 142, 30}, {142, 148, 28}};

static const uint8_t linetable[] = {0x04, 0x02, 0x08, 0x01, 0x02, 0x01, 0x02, 0x01, 0x08, 0xff, 0x04, 0x03,
				    0x02, 0x01, 0x06, 0xff, 0x02, 0xfd, 0x1c, 0xff, 0x04, 0x80, 0x0e, 0x06,
				    0x02, 0x01, 0x02, 0x01, 0x02, 0xff, 0x02, 0x02, 0x02, 0xfe, 0x08, 0x80,
				    0x02, 0xff, 0x02, 0x80, 0x0c, 0x05, 0x06, 0x08, 0x06, 0x02, 0x06, 0xfe};
static const struct span linetable_spans[] = {
    {0, 4, 8},      {4, 12, 9},    {12, 14, 10},   {14, 16, 11},   {16, 24, 10},   {24, 28, 13},
    {28, 30, 14},   {30, 36, 13},  {36, 38, 10},   {38, 66, 9},    {66, 70, 0},    {70, 84, 15},
    {84, 86, 16},   {86, 88, 17},  {88, 90, 16},   {90, 92, 18},   {92, 94, 16},   {94, 102, 0},
    {102, 104, 15}, {104, 106, 0}, {106, 118, 20}, {118, 124, 28}, {124, 130, 30}, {130, 136, 28}};

static const uint8_t locations[] = {
    0x80, 0x00, 0xf0, 0x04, 0x0c, 0x05, 0x0e, 0xdd, 0x0d, 0x0f, 0x89, 0x54, 0x8c, 0x54, 0xf0, 0x00, 0x05, 0x09, 0x19,
    0x90, 0x51, 0xdd, 0x15, 0x1a, 0xd8, 0x10, 0x11, 0xf1, 0x03, 0x02, 0x16, 0x0e, 0xf4, 0x00, 0x02, 0x16, 0x0e, 0xf0,
    0x00, 0x04, 0x0d, 0x19, 0xf0, 0x00, 0x04, 0x0d, 0x19, 0x90, 0x01, 0xf5, 0x06, 0x00, 0x11, 0x16, 0x90, 0x61, 0xd8,
    0x16, 0x17, 0xf1, 0x03, 0x01, 0x11, 0x19, 0xf4, 0x00, 0x01, 0x11, 0x19, 0xf0, 0x00, 0x01, 0x11, 0x19, 0xf0, 0x00,
    0x01, 0x11, 0x19, 0xf0, 0x07, 0x04, 0x0d, 0x19, 0xf0, 0x03, 0x05, 0x09, 0x19, 0xf0, 0x00, 0x05, 0x09, 0x19, 0xf0,
    0x00, 0x05, 0x09, 0x19, 0xf1, 0x00, 0x05, 0x09, 0x19, 0xf4, 0x00, 0x05, 0x09, 0x19, 0xf0, 0x00, 0x05, 0x09, 0x19,
    0xf0, 0x00, 0x05, 0x09, 0x19, 0xf0, 0x00, 0x05, 0x09, 0x19, 0xf0, 0x00, 0x05, 0x09, 0x19, 0xf0, 0x00, 0x05, 0x09,
    0x19, 0xf0, 0x00, 0x05, 0x09, 0x19, 0xf8, 0xf8, 0xf8, 0xf0, 0x00, 0x05, 0x09, 0x19, 0xf0, 0x00, 0x05, 0x09, 0x19,
    0xf0, 0x00, 0x05, 0x09, 0x19, 0xf0, 0x00, 0x05, 0x09, 0x19, 0xf8, 0xf8, 0xf5, 0x0c, 0x00, 0x0c, 0x16, 0xf0, 0x00,
    0x03, 0x05, 0x11, 0xf0, 0x00, 0x03, 0x05, 0x11, 0xf0, 0x00, 0x03, 0x05, 0x11, 0xdd, 0x0e, 0x16, 0xd8, 0x0c, 0x0f,
    0xf1, 0x03, 0x02, 0x0f, 0x0a, 0xf4, 0x00, 0x02, 0x0f, 0x0a, 0xe0, 0x0f, 0x10, 0xf0, 0x05, 0x02, 0x09, 0x11, 0xf8,
    0xf8, 0xf8, 0xf8, 0xf0, 0x03, 0x03, 0x05, 0x11, 0xf8, 0xf8, 0xf8, 0xf0, 0x0a, 0x00, 0x0d, 0x0e, 0x88, 0x01, 0x88,
    0x01, 0xf8, 0x88, 0x41, 0x88, 0x01, 0x88, 0x05, 0x88, 0x05, 0x88, 0x05, 0x88, 0x05, 0xf0, 0x10, 0x04, 0x0c, 0x06,
    0xf0, 0x00, 0x04, 0x0c, 0x06, 0xe0, 0x12, 0x13, 0x90, 0x51, 0x90, 0x16, 0xf0, 0x05, 0x04, 0x0c, 0x06, 0xf1, 0x00,
    0x04, 0x0c, 0x06, 0xf4, 0x00, 0x04, 0x0c, 0x06, 0xf0, 0x00, 0x04, 0x05, 0x06};
static const struct span locations_spans[] = {
    {0, 2, 6},      {2, 4, 8},      {4, 34, 9},     {34, 46, 10},   {46, 48, 11},   {48, 68, 10},
    {68, 82, 13},   {82, 84, 14},   {84, 102, 13},  {102, 104, 10}, {104, 136, 9},  {136, 142, 0},
    {142, 150, 9},  {150, 154, 0},  {154, 172, 15}, {172, 184, 16}, {184, 186, 17}, {186, 200, 16},
    {200, 202, 18}, {202, 204, 16}, {204, 212, 0},  {212, 214, 15}, {214, 220, 0},  {220, 226, 20},
    {226, 228, 0},  {228, 240, 20}, {240, 244, 28}, {244, 250, 30}, {250, 268, 28}};

static void check(enum dt_line_kind kind, const uint8_t *table, size_t size, const struct span *spans, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (int offset = spans[i].from; offset < spans[i].to; offset++)
			assert_int_equal(dt_lines_at(kind, table, size, 6, offset), spans[i].line);
	assert_int_equal(dt_lines_at(kind, table, size, 6, -1), 6);
	assert_int_equal(dt_lines_at(kind, table, size, 6, -2), 6);
}

static void test_lnotab(void **state)
{
	(void)state;
	check(DT_LINES_LNOTAB, lnotab, sizeof(lnotab), lnotab_spans, DT_COUNT(lnotab_spans));
	/* This table has no end: the last line goes on. */
	assert_int_equal(dt_lines_at(DT_LINES_LNOTAB, lnotab, sizeof(lnotab), 6, 100000), 28);
	assert_int_equal(dt_lines_at(DT_LINES_LNOTAB, NULL, 0, 6, 10), 6);
}

/* In 2.7 a step of 200 lines is one pair, and there is no way back. */
static void test_lnotab_unsigned(void **state)
{
	static const uint8_t table[] = {0, 1, 6, 200, 255, 0, 10, 255, 0, 255};

	(void)state;
	assert_int_equal(dt_lines_at(DT_LINES_LNOTAB_UNSIGNED, table, sizeof(table), 10, -1), 10);
	assert_int_equal(dt_lines_at(DT_LINES_LNOTAB_UNSIGNED, table, sizeof(table), 10, 5), 11);
	assert_int_equal(dt_lines_at(DT_LINES_LNOTAB_UNSIGNED, table, sizeof(table), 10, 6), 211);
	assert_int_equal(dt_lines_at(DT_LINES_LNOTAB_UNSIGNED, table, sizeof(table), 10, 270), 211);
	assert_int_equal(dt_lines_at(DT_LINES_LNOTAB_UNSIGNED, table, sizeof(table), 10, 271), 721);
	assert_int_equal(dt_lines_at(DT_LINES_LNOTAB, table, sizeof(table), 10, 6), 0);
}

static void test_linetable(void **state)
{
	(void)state;
	check(DT_LINES_LINETABLE, linetable, sizeof(linetable), linetable_spans, DT_COUNT(linetable_spans));
	assert_int_equal(dt_lines_at(DT_LINES_LINETABLE, linetable, sizeof(linetable), 6, 136), 0);
	assert_int_equal(dt_lines_at(DT_LINES_LINETABLE, NULL, 0, 6, 0), 0);
}

static void test_locations(void **state)
{
	(void)state;
	check(DT_LINES_LOCATIONS, locations, sizeof(locations), locations_spans, DT_COUNT(locations_spans));
	assert_int_equal(dt_lines_at(DT_LINES_LOCATIONS, locations, sizeof(locations), 6, 268), 0);
	assert_int_equal(dt_lines_at(DT_LINES_LOCATIONS, NULL, 0, 6, 0), 0);
}

/* One entry of each kind of the newest table, with changes of the line that need several bytes. */
static void test_location_kinds(void **state)
{
	static const uint8_t table[] = {
	    0x80 | 13 << 3 | 0, 0x40 | 32, 0x40 | 0, 1,       /* +(32 + 4096) / 2 = +2064, two bytes of code */
	    0x80 | 12 << 3 | 7, 3,         4,                 /* +2, sixteen bytes */
	    0x80 | 15 << 3 | 1,                               /* none, four bytes */
	    0x80 | 14 << 3 | 0, 33,        1,        2,    3, /* -16 */
	    0x80 | 5 << 3 | 0,  0x10,                         /* +0 */
	    0x80 | 13 << 3 | 0, 0x7f,      0x7f,     0x7f, 0x7f, 0x7f, 0x3f, /* far below zero */
	};
	static const unsigned lines[][2] = {{0, 2164}, {1, 2164},  {2, 2166},  {17, 2166}, {18, 0},
					    {21, 0},   {22, 2150}, {24, 2150}, {26, 0},    {28, 0}};

	(void)state;
	for (size_t i = 0; i < DT_COUNT(lines); i++)
		assert_int_equal(dt_lines_at(DT_LINES_LOCATIONS, table, sizeof(table), 100, lines[i][0]), lines[i][1]);
}

/* Lines that no file can have are no lines; a range without a line still takes up its bytes. */
static void test_out_of_range(void **state)
{
	static const uint8_t down[] = {2, (uint8_t)-100, 4, 0x80, 2, 110};

	(void)state;
	assert_int_equal(dt_lines_at(DT_LINES_LINETABLE, down, sizeof(down), 1, 0), 0);
	assert_int_equal(dt_lines_at(DT_LINES_LINETABLE, down, sizeof(down), 1, 5), 0);
	assert_int_equal(dt_lines_at(DT_LINES_LINETABLE, down, sizeof(down), 1, 6), 11);
	assert_int_equal(dt_lines_at(DT_LINES_LINETABLE, down, sizeof(down), UINT32_MAX, 6), 0);
	assert_int_equal(dt_lines_at(DT_LINES_LNOTAB, NULL, 0, UINT32_MAX, -1), 0);
}

/* Every table cut at every place, on the heap, where a sanitizer sees a byte too far. */
static void check_cut(enum dt_line_kind kind, const uint8_t *table, size_t size)
{
	for (size_t cut = 0; cut < size; cut++) {
		uint8_t *copy = malloc(cut + 1);

		memcpy(copy + 1, table, cut);
		assert_true(dt_lines_at(kind, copy + 1, cut, 6, INT32_MAX) <= INT32_MAX);
		free(copy);
	}
}

static void test_cut(void **state)
{
	(void)state;
	check_cut(DT_LINES_LNOTAB, lnotab, sizeof(lnotab));
	check_cut(DT_LINES_LNOTAB_UNSIGNED, lnotab, sizeof(lnotab));
	check_cut(DT_LINES_LINETABLE, linetable, sizeof(linetable));
	check_cut(DT_LINES_LOCATIONS, locations, sizeof(locations));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_lnotab_unsigned),
	    cmocka_unit_test(test_lnotab),
	    cmocka_unit_test(test_linetable),
	    cmocka_unit_test(test_locations),
	    cmocka_unit_test(test_location_kinds),
	    cmocka_unit_test(test_out_of_range),
	    cmocka_unit_test(test_cut),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
