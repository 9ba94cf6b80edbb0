/* str, bytes and int out of a made-up heap. */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>

#include "heap.h"
#include "python/text.h"

static struct heap heap;
static struct dt_arena arena;

static int setup(void **state)
{
	heap_init(&heap, dt_layout_for(3, (uint8_t) * (const int *)*state));
	dt_arena_init(&arena, 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	dt_arena_release(&arena);
	heap_release(&heap);
	return 0;
}

static const char *read_str(uint64_t object)
{
	const char *text = NULL;

	assert_int_equal(dt_text_read(heap.mem, heap.layout, object, &arena, &text), 0);
	return text;
}

static int fail_str(uint64_t object)
{
	const char *text = "untouched";
	int rc = dt_text_read(heap.mem, heap.layout, object, &arena, &text);

	assert_string_equal(text, "untouched");
	return rc;
}

static void test_str(void **state)
{
	static const uint8_t latin[] = {'n', 0xe4, 0xff};
	static const uint16_t two[] = {0x20ac, 0xd800, 'x', 0x07ff};
	static const uint32_t four[] = {0x1f40d, 0x110000, 0xdfff, 0x10ffff, 0};
	uint64_t object, data;

	(void)state;
	assert_string_equal(read_str(heap_str(&heap, "spam_and_eggs")), "spam_and_eggs");
	assert_string_equal(read_str(heap_str(&heap, "")), "");
	assert_string_equal(read_str(heap_wide(&heap, latin, 3, 1)), "n\xc3\xa4\xc3\xbf");
	assert_string_equal(read_str(heap_wide(&heap, two, 4, 2)), "\xe2\x82\xac\xef\xbf\xbdx\xdf\xbf");
	assert_string_equal(read_str(heap_wide(&heap, four, 5, 4)),
			    "\xf0\x9f\x90\x8d\xef\xbf\xbd\xef\xbf\xbd\xf4\x8f\xbf\xbf\xef\xbf\xbd");
	/* Not compact: the characters are elsewhere. */
	data = heap_bytes_of(&heap, two, sizeof(two));
	object = heap_str_head(&heap, 3, 2, false, false, 8);
	heap_set64(&heap, object + heap.layout->unicode.compact_size, data);
	assert_string_equal(read_str(object), "\xe2\x82\xac\xef\xbf\xbdx");
}

static void test_long_str(void **state)
{
	char text[10001];

	(void)state;
	for (size_t i = 0; i < 10000; i++)
		text[i] = (char)('a' + i % 26);
	text[10000] = '\0';
	assert_string_equal(read_str(heap_str(&heap, text)), text);
}

static void test_bad_str(void **state)
{
	uint64_t object = heap_str(&heap, "text");

	(void)state;
	assert_int_equal(fail_str(0), -EFAULT);
	assert_int_equal(fail_str(HEAP_BASE + HEAP_SIZE - 8), -EFAULT);
	assert_int_equal(fail_str(heap_bytes(&heap, "x", 1)), -EINVAL); /* another type */
	heap_set64(&heap, object + heap.layout->unicode.length, DT_TEXT_LIMIT + 1);
	assert_int_equal(fail_str(object), -EFBIG);
	heap_set64(&heap, object + heap.layout->unicode.length, UINT64_MAX);
	assert_int_equal(fail_str(object), -EINVAL);
	heap_alloc(&heap, HEAP_SIZE / 2);
	assert_int_equal(fail_str(heap_str_head(&heap, DT_TEXT_LIMIT, 4, true, false, 8)),
			 -EFAULT); /* out of the heap */
	assert_int_equal(fail_str(heap_str_head(&heap, 3, 0, true, false, 8)), -EINVAL);
	assert_int_equal(fail_str(heap_str_head(&heap, 3, 3, true, false, 8)), -EINVAL);
	assert_int_equal(fail_str(heap_str_head(&heap, 3, 2, true, true, 8)), -EINVAL);
	object = heap_str(&heap, "text");
	heap_set64(&heap, object + heap.layout->object.ob_type, 0x1234);
	assert_int_equal(fail_str(object), -EFAULT);
}

static void test_arena_limit(void **state)
{
	uint64_t object = heap_str(&heap, "a text longer than the arena may be");

	(void)state;
	dt_arena_release(&arena);
	dt_arena_init(&arena, 16);
	assert_int_equal(fail_str(object), -ENOMEM);
}

static void test_bytes(void **state)
{
	uint64_t object = heap_bytes(&heap, "a\0b", 3);
	const uint8_t *data;
	size_t size;

	(void)state;
	assert_int_equal(dt_bytes_read(heap.mem, heap.layout, object, 3, &arena, &data, &size), 0);
	assert_int_equal(size, 3);
	assert_memory_equal(data, "a\0b", 4);
	assert_int_equal(dt_bytes_read(heap.mem, heap.layout, object, 2, &arena, &data, &size), -EFBIG);
	assert_int_equal(dt_bytes_read(heap.mem, heap.layout, heap_str(&heap, "x"), 9, &arena, &data, &size), -EINVAL);
	heap_set64(&heap, object + heap.layout->bytes.ob_size, (uint64_t)-1);
	assert_int_equal(dt_bytes_read(heap.mem, heap.layout, object, 100, &arena, &data, &size), -EINVAL);
}

static int64_t read_int(uint64_t word, const uint32_t *digits, size_t count)
{
	int64_t value = 77;

	assert_int_equal(dt_int_read(heap.mem, heap.layout, heap_int(&heap, word, digits, count), &value), 0);
	return value;
}

/* The same numbers, written down as ob_size (3.11) or as a tag (3.12). */
static uint64_t word_of(int sign, uint64_t count)
{
	if (heap.layout->integer.tagged)
		return count << 3 | (sign < 0 ? 2 : sign == 0 ? 1 : 0);
	return sign < 0 ? 0 - count : count;
}

static void test_int(void **state)
{
	static const uint32_t one[] = {1}, big[] = {0x3fffffff, 0x3fffffff, 7}, least[] = {0, 0, 8}, two[] = {5, 1};
	int64_t value;

	(void)state;
	assert_int_equal(read_int(word_of(0, 0), one, 1), 0);
	assert_int_equal(read_int(word_of(1, 1), one, 1), 1);
	assert_int_equal(read_int(word_of(-1, 1), one, 1), -1);
	assert_int_equal(read_int(word_of(1, 2), two, 2), (INT64_C(1) << 30) + 5);
	assert_true(read_int(word_of(1, 3), big, 3) == INT64_MAX);
	assert_true(read_int(word_of(-1, 3), least, 3) == INT64_MIN);
	assert_int_equal(dt_int_read(heap.mem, heap.layout, heap_int(&heap, word_of(1, 3), least, 3), &value), -ERANGE);
	assert_int_equal(dt_int_read(heap.mem, heap.layout, heap_int(&heap, word_of(1, 4), big, 3), &value), -ERANGE);
	assert_int_equal(dt_int_read(heap.mem, heap.layout, heap_int(&heap, word_of(1, 1 << 20), big, 3), &value),
			 -ERANGE);
	assert_int_equal(dt_int_read(heap.mem, heap.layout, heap_str(&heap, "1"), &value), -EINVAL);
}

#define TEST(function, version)                                                                                        \
	{                                                                                                              \
#function "_3_" #version, function, setup, teardown, &(int)                                            \
		{                                                                                                      \
			version                                                                                        \
		}                                                                                                      \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_str, 8),     TEST(test_str, 11),     TEST(test_str, 12),         TEST(test_long_str, 11),
	    TEST(test_bad_str, 8), TEST(test_bad_str, 12), TEST(test_arena_limit, 11), TEST(test_bytes, 11),
	    TEST(test_int, 11),    TEST(test_int, 12),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
