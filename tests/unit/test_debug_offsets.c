#include "unit.h"

#include <stdio.h>

#include "base/util.h"
#include "python/debug_offsets.h"

#define OFFSETS_CHECK assert_true
#include "../hex.h"
#include "../offsets_harmless.h"

struct recorded {
	const char *name;
	uint8_t minor;
	bool free_threaded;
	size_t size;
};

/* Tables of real interpreters, and of the builds without a GIL that their headers describe. */
static const struct recorded tables[] = {
    {"3.13", 13, false, 584}, {"3.14", 14, false, 760}, {"3.15", 15, false, 888},
    {"3.13t", 13, true, 584}, {"3.14t", 14, true, 760}, {"3.15t", 15, true, 888},
};

static void load(const struct recorded *recorded, uint8_t table[DT_DEBUG_OFFSETS_MAX])
{
	char path[512], line[256];
	size_t count = 0;
	snprintf(path, sizeof(path), DT_GOLDEN "/offsets/%s.hex", recorded->name);
	FILE *file = fopen(path, "re");
	assert_non_null(file);
	memset(table, 0, DT_DEBUG_OFFSETS_MAX);
	while (fgets(line, sizeof(line), file))
		count += hex_bytes(line, table + count, DT_DEBUG_OFFSETS_MAX - count);
	fclose(file);
	assert_int_equal(count, recorded->size);
}

static void put64(uint8_t *table, size_t position, uint64_t value)
{
	memcpy(table + position, &value, sizeof(value));
}

static void test_recorded_tables(void **state)
{
	(void)state;
	for (size_t i = 0; i < DT_COUNT(tables); i++) {
		uint8_t table[DT_DEBUG_OFFSETS_MAX];
		struct dt_layout layout;
		struct dt_error err;
		bool newer = true;
		uint32_t version;
		load(&tables[i], table);
		assert_true(dt_debug_offsets_version(table, sizeof(table), &version));
		assert_int_equal(version >> 16, 0x0300u + tables[i].minor);
		assert_int_equal(dt_debug_offsets_layout(table, sizeof(table), &layout, &newer, &err), 0);
		assert_false(newer);
		assert_int_equal(layout.major, 3);
		assert_int_equal(layout.minor, tables[i].minor);
		assert_int_equal(layout.free_threaded, tables[i].free_threaded);
		assert_int_equal(layout.thread.cframe, DT_ABSENT);
		assert_int_equal(layout.thread.base_frame == DT_ABSENT, tables[i].minor < 15);
		assert_int_equal(layout.thread.holds_gil == DT_ABSENT, tables[i].minor < 14);
		assert_int_equal(layout.code.tlbc != DT_ABSENT, tables[i].free_threaded && tables[i].minor >= 14);
		assert_int_equal(layout.gil.enabled, tables[i].free_threaded ? 0 : DT_ABSENT);
		assert_int_equal(layout.thread.state - layout.thread.status,
				 8 + 4 * (DT_MIN(tables[i].minor, 15) - 13));
		assert_int_equal(layout.object.size, tables[i].free_threaded ? 32 : 16);
		assert_int_equal(layout.gil.last_holder, tables[i].free_threaded ? 16 : 8);
		assert_harmless(&layout);
	}
}

static void test_every_word_corrupted(void **state)
{
	(void)state;
	const uint64_t values[] = {0,        1,          3,          4,          8,          12,
				   72,       80,         200,        1024,       4095,       1u << 16,
				   1u << 26, UINT32_MAX, 1ull << 32, 1ull << 63, UINT64_MAX, UINT64_MAX - 7};
	size_t refused = 0;
	for (size_t i = 0; i < DT_COUNT(tables); i++) {
		uint8_t table[DT_DEBUG_OFFSETS_MAX];
		load(&tables[i], table);
		for (size_t position = 16; position < tables[i].size; position += 8) {
			uint64_t saved = dt_get64(table + position);
			for (size_t k = 0; k < DT_COUNT(values) + 2; k++) {
				struct dt_layout layout;
				struct dt_error err = {0};
				bool newer;
				put64(table, position,
				      k < DT_COUNT(values) ? values[k] : saved + 8 * (k - DT_COUNT(values)) - 4);
				if (dt_debug_offsets_layout(table, tables[i].size, &layout, &newer, &err) == 0) {
					assert_harmless(&layout);
				} else {
					assert_int_equal(err.code, DT_EUNSUPPORTED);
					assert_non_null(strstr(err.message, "describes itself"));
					assert_true(err.hint[0] != 0);
					refused++;
				}
			}
			put64(table, position, saved);
		}
	}
	assert_true(refused > 1000);
}

/* Every pair of neighbouring words exchanged: what was a size becomes an offset and the other way round. */
static void test_words_exchanged(void **state)
{
	(void)state;
	for (size_t i = 0; i < DT_COUNT(tables); i++) {
		uint8_t table[DT_DEBUG_OFFSETS_MAX];
		load(&tables[i], table);
		for (size_t position = 24; position + 16 <= tables[i].size; position += 8) {
			uint64_t first = dt_get64(table + position), second = dt_get64(table + position + 8);
			struct dt_layout layout;
			bool newer;
			put64(table, position, second);
			put64(table, position + 8, first);
			if (dt_debug_offsets_layout(table, tables[i].size, &layout, &newer, NULL) == 0)
				assert_harmless(&layout);
			put64(table, position, first);
			put64(table, position + 8, second);
		}
	}
}

static void test_newer_version_is_tried(void **state)
{
	(void)state;
	uint8_t table[DT_DEBUG_OFFSETS_MAX];
	struct dt_layout layout, known;
	struct dt_error err;
	bool newer = false;
	load(&tables[2], table);
	assert_int_equal(dt_debug_offsets_layout(table, sizeof(table), &known, &newer, &err), 0);
	put64(table, 8, 0x036300f0);
	assert_int_equal(dt_debug_offsets_layout(table, sizeof(table), &layout, &newer, &err), 0);
	assert_true(newer);
	assert_int_equal(layout.minor, 99);
	layout.minor = known.minor;
	assert_memory_equal(&layout.thread, &known.thread, sizeof(layout.thread));
	assert_memory_equal(&layout.frame, &known.frame, sizeof(layout.frame));

	put64(table, 8, 0x036300a1);
	put64(table, 184, 12345678);
	assert_int_equal(dt_debug_offsets_layout(table, sizeof(table), &layout, &newer, &err), DT_EUNSUPPORTED);
	assert_non_null(strstr(err.message, "Python 3.99.0a1 describes itself"));
	assert_non_null(strstr(err.message, "thread_state.prev"));
}

/* 3.15.0b1 lacked a word that b4 has, and every earlier shape under a later number is just as foreign. */
static void test_other_shapes_are_refused(void **state)
{
	(void)state;
	uint8_t table[DT_DEBUG_OFFSETS_MAX];
	struct dt_layout layout;
	struct dt_error err;
	bool newer;
	load(&tables[2], table);
	memmove(table + 232, table + 240, 888 - 240);
	put64(table, 8, 0x030f00b1);
	assert_int_equal(dt_debug_offsets_layout(table, sizeof(table), &layout, &newer, &err), DT_EUNSUPPORTED);
	assert_non_null(strstr(err.message, "3.15.0b1"));
	assert_non_null(strstr(err.hint, "preview"));

	for (size_t i = 0; i < 3; i++)
		for (uint64_t minor = 13; minor <= 16; minor++) {
			load(&tables[i], table);
			put64(table, 8, 0x030000f0 | minor << 16);
			bool fits = minor == tables[i].minor || (tables[i].minor == 15 && minor == 16);
			int rc = dt_debug_offsets_layout(table, sizeof(table), &layout, &newer, &err);
			assert_int_equal(rc, fits ? 0 : DT_EUNSUPPORTED);
		}
}

static void test_truncated(void **state)
{
	(void)state;
	for (size_t i = 0; i < DT_COUNT(tables); i++) {
		uint8_t table[DT_DEBUG_OFFSETS_MAX];
		load(&tables[i], table);
		for (size_t size = 0; size <= tables[i].size; size++) {
			/* A copy of exactly this size, so that a sanitizer sees a read beyond it. */
			dt_auto_free uint8_t *copy = malloc(size ? size : 1);
			struct dt_layout layout;
			struct dt_error err;
			bool newer;
			memcpy(copy, table, size);
			int rc = dt_debug_offsets_layout(copy, size, &layout, &newer, &err);
			assert_int_equal(rc, size == tables[i].size ? 0 : DT_EUNSUPPORTED);
		}
	}
}

static void test_what_is_no_table(void **state)
{
	(void)state;
	uint8_t table[DT_DEBUG_OFFSETS_MAX];
	uint32_t version;
	load(&tables[0], table);
	put64(table, 8, 0x030c01f0); /* 3.12 never had one of its own */
	assert_false(dt_debug_offsets_version(table, sizeof(table), &version));
	put64(table, 8, 0x1030d00f0);
	assert_false(dt_debug_offsets_version(table, sizeof(table), &version));
	load(&tables[0], table);
	table[0] = 'y';
	assert_false(dt_debug_offsets_version(table, sizeof(table), &version));
	assert_false(dt_debug_offsets_version((const uint8_t *)DT_DEBUG_COOKIE, 8, &version));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_recorded_tables),          cmocka_unit_test(test_every_word_corrupted),
	    cmocka_unit_test(test_words_exchanged),          cmocka_unit_test(test_newer_version_is_tried),
	    cmocka_unit_test(test_other_shapes_are_refused), cmocka_unit_test(test_truncated),
	    cmocka_unit_test(test_what_is_no_table),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
