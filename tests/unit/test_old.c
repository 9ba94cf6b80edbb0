/* What old Pythons have of their own: text in bytes, two kinds of int, open dicts (2.7); the GIL in variables (3.6). */
#include "unit.h"

#include <errno.h>

#include "heap.h"
#include "python/dict.h"
#include "python/find_inside.h"
#include "python/text.h"
#include "python/thread_names.h"
#include "python/walk.h"

static struct heap heap;
static struct dt_arena arena;
static uint64_t dict_type, plain_type;

static int setup(void **state)
{
	(void)state;
	heap_init(&heap, dt_layout_for(2, 7));
	dict_type = heap_type(&heap, "dict", heap.layout->type.dict_flag);
	plain_type = heap_type(&heap, "int", heap.layout->type.plain_integer_flag);
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

static uint64_t put_str(const char *text)
{
	return heap_bytes(&heap, text, strlen(text));
}

static uint64_t put_plain(int64_t value)
{
	uint64_t object = heap_object(&heap, plain_type, heap.layout->integer.plain + 8);

	heap_set64(&heap, object + heap.layout->integer.plain, (uint64_t)value);
	return object;
}

/* ---- text and numbers ---- */

static void assert_text(uint64_t object, const char *wanted)
{
	const char *text = NULL;

	assert_int_equal(dt_text_read(heap.mem, heap.layout, object, &arena, &text), 0);
	assert_string_equal(text, wanted);
}

static void test_bytes_are_text(void **state)
{
	uint64_t one, other;

	(void)state;
	assert_text(put_str("plain"), "plain");
	assert_text(put_str(""), "");
	assert_text(put_str("Gr\xc3\xbc\xc3\x9f\x65"), "Gr\xc3\xbc\xc3\x9f\x65");
	assert_text(put_str("caf\xe9.py"), "caf\xef\xbf\xbd.py");
	assert_text(put_str("\xed\xa0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"); /* a surrogate */
	assert_text(heap_bytes(&heap, "a\0b", 3), "a\xef\xbf\xbd\x62");
	assert_int_equal(dt_text_print(heap.mem, heap.layout, put_str("one name"), &one), 0);
	assert_int_equal(dt_text_print(heap.mem, heap.layout, put_str("One name"), &other), 0);
	assert_true(one != other);
}

static void test_unicode_is_text(void **state)
{
	static const uint32_t snake[] = {0x1f40d, ' ', 0xe9};
	uint64_t object = heap_object(&heap, heap.str_type, 64);
	const char *text;

	(void)state;
	heap_set64(&heap, object + heap.layout->unicode.length, 3);
	heap_set64(&heap, object + heap.layout->unicode.data, heap_bytes_of(&heap, snake, sizeof(snake)));
	assert_text(object, "\xf0\x9f\x90\x8d \xc3\xa9");
	heap_set64(&heap, object + heap.layout->unicode.data, 0xdead0000);
	assert_int_equal(dt_text_read(heap.mem, heap.layout, object, &arena, &text), -EFAULT);
	heap_set64(&heap, object + heap.layout->unicode.length, UINT64_MAX);
	assert_int_equal(dt_text_read(heap.mem, heap.layout, object, &arena, &text), -EINVAL);
	assert_int_equal(dt_text_read(heap.mem, heap.layout, put_plain(5), &arena, &text), -EINVAL);
}

static void test_both_kinds_of_int(void **state)
{
	static const uint32_t digits[] = {5, 0, 1};
	int64_t value;

	(void)state;
	assert_int_equal(dt_int_read(heap.mem, heap.layout, put_plain(-7), &value), 0);
	assert_int_equal(value, -7);
	assert_int_equal(dt_int_read(heap.mem, heap.layout, put_plain(INT64_MIN), &value), 0);
	assert_true(value == INT64_MIN);
	assert_int_equal(dt_int_read(heap.mem, heap.layout, heap_int(&heap, 3, digits, 3), &value), 0);
	assert_true(value == (INT64_C(1) << 60) + 5);
	assert_int_equal(dt_int_read(heap.mem, heap.layout, put_str("5"), &value), -EINVAL);
}

/* ---- dicts ---- */

struct pair {
	uint64_t key, value;
};

/* Entry i of `pairs` is put into slot 2 * i + 1; the others stay unused. */
static uint64_t put_dict(const struct pair *pairs, size_t count, uint64_t mask)
{
	const struct dt_layout *layout = heap.layout;
	uint64_t dict = heap_object(&heap, dict_type, 256);
	uint64_t table = heap_alloc(&heap, (2 * count + 1) * layout->dictkeys.entry_size);

	for (size_t i = 0; i < count; i++) {
		uint64_t entry = table + (2 * i + 1) * layout->dictkeys.entry_size;

		heap_set64(&heap, entry + layout->dictkeys.entry_key, pairs[i].key);
		heap_set64(&heap, entry + layout->dictkeys.entry_value, pairs[i].value);
	}
	heap_set64(&heap, dict + layout->dict.table, table);
	heap_set64(&heap, dict + layout->dict.mask, mask);
	return dict;
}

static int add_up(void *context, uint64_t key, uint64_t value)
{
	(void)key;
	*(uint64_t *)context += value;
	return 0;
}

static void test_open_dicts(void **state)
{
	/* "gone" was deleted: the entry has a key of another text, and no value. */
	struct pair pairs[] = {
	    {put_str("one"), 100}, {put_str("<dummy key>"), 0}, {put_str("twenty"), 200}, {put_plain(3), 300}};
	uint64_t dict = put_dict(pairs, 4, 7), value, sum = 0;

	(void)state;
	assert_int_equal(dt_dict_get(heap.mem, heap.layout, dict, "twenty", &value), 0);
	assert_int_equal(value, 200);
	assert_int_equal(dt_dict_get(heap.mem, heap.layout, dict, "gone", &value), -ENOENT);
	assert_int_equal(dt_dict_get(heap.mem, heap.layout, dict, "twent", &value), -ENOENT);
	assert_int_equal(dt_dict_each(heap.mem, heap.layout, dict, add_up, &sum), 0);
	assert_int_equal(sum, 600);
	/* Sizes that no dict has, and one that leads out of the memory there is. */
	assert_int_equal(dt_dict_get(heap.mem, heap.layout, put_dict(pairs, 4, 6), "one", &value), -EINVAL);
	assert_int_equal(dt_dict_get(heap.mem, heap.layout, put_dict(pairs, 4, UINT64_MAX), "one", &value), -EINVAL);
	assert_int_equal(dt_dict_get(heap.mem, heap.layout, put_dict(pairs, 4, (1 << 20) - 1), "none", &value),
			 -EFAULT);
	assert_int_equal(dt_dict_get(heap.mem, heap.layout, put_str("no dict"), "one", &value), -EINVAL);
}

/* An object with its dict at the end; a class with tp_dictoffset. */
static uint64_t put_thread(uint64_t type, const char *name)
{
	struct pair pairs[] = {{put_str("_name"), put_str("not this one")}, {put_str("_Thread__name"), put_str(name)}};
	uint64_t object = heap_object(&heap, type, 32);

	heap_set64(&heap, object + 16, put_dict(pairs, 2, 3));
	return object;
}

static void test_names_of_threads(void **state)
{
	const struct dt_layout *layout = heap.layout;
	uint64_t type = heap_type(&heap, "Thread", layout->type.heap_flag);
	struct pair active[] = {{put_plain(1111), put_thread(type, "first")},
				{put_plain(2222), put_thread(type, "M\xc3\xbc")}};
	struct pair globals[] = {{put_str("_active"), put_dict(active, 2, 3)}};
	uint64_t module = heap_object(&heap, type, 32), interpreter = heap_alloc(&heap, layout->interpreter.size);
	struct pair modules[] = {{put_str("threading"), module}};
	struct dt_thread_name *names;
	struct dt_budget budget;
	size_t count;

	(void)state;
	heap_set64(&heap, type + layout->type.dictoffset, 16);
	heap_set64(&heap, module + layout->module.dict, put_dict(globals, 1, 1));
	heap_set64(&heap, interpreter + layout->interpreter.modules, put_dict(modules, 1, 1));
	dt_budget_begin(&budget, 100);
	assert_int_equal(dt_thread_names(heap.mem, layout, interpreter, &arena, &budget, &names, &count), 0);
	assert_int_equal(count, 2);
	assert_int_equal(names[0].ident, 1111);
	assert_string_equal(names[0].name, "first");
	assert_int_equal(names[1].ident, 2222);
	assert_string_equal(names[1].name, "M\xc3\xbc");
}

/* ---- the GIL in variables ---- */

struct variables {
	uint64_t head, current, last_holder, locked, switch_number, lock;
};

static struct dt_python python_with(uint64_t address, bool counted)
{
	struct dt_python python = {.layout = *heap.layout, .runtime = address + offsetof(struct variables, head)};

	python.variables.current = address + offsetof(struct variables, current);
	if (counted) {
		python.variables.last_holder = address + offsetof(struct variables, last_holder);
		python.variables.locked = address + offsetof(struct variables, locked);
		python.variables.switch_number = address + offsetof(struct variables, switch_number);
	}
	return python;
}

static void test_words_of_the_gil(void **state)
{
	struct variables values = {.current = 0x1000, .last_holder = 0x2000, .locked = 1, .switch_number = 42};
	uint64_t address = heap_alloc(&heap, sizeof(values));
	struct dt_python counted = python_with(address, true), uncounted = python_with(address, false);
	struct dt_gil_words words;

	(void)state;
	memcpy(heap_at(&heap, address), &values, sizeof(values));
	assert_true(dt_walk_gil_counted(&counted));
	assert_false(dt_walk_gil_counted(&uncounted));
	assert_int_equal(dt_walk_gil(heap.mem, &counted, counted.variables.current, &words), 0);
	assert_int_equal(words.holder, 0x2000);
	assert_int_equal(words.locked, 1);
	assert_int_equal(words.switches, 42);
	/* Whoever is current has it. */
	assert_int_equal(dt_walk_gil(heap.mem, &uncounted, uncounted.variables.current, &words), 0);
	assert_int_equal(words.holder, 0x1000);
	assert_int_equal(words.locked, 1);
	heap_set64(&heap, uncounted.variables.current, 0);
	assert_int_equal(dt_walk_gil(heap.mem, &uncounted, uncounted.variables.current, &words), 0);
	assert_int_equal(words.holder, 0);
	assert_int_equal(words.locked, 0);
}

/* Before the first thread there is no GIL: the words name the one thread state there is, whether it is current or not.
 */
static void test_words_before_there_is_a_gil(void **state)
{
	uint64_t address = heap_alloc(&heap, sizeof(struct variables));
	uint64_t interpreter = heap_alloc(&heap, heap.layout->interpreter.size);
	struct dt_python python = python_with(address, true);
	struct dt_gil_words words;

	(void)state;
	heap_set64(&heap, python.runtime, interpreter);
	heap_set64(&heap, interpreter + heap.layout->interpreter.threads_head, 0x3000);
	heap_set32(&heap, python.variables.locked, UINT32_MAX);
	assert_int_equal(dt_walk_gil(heap.mem, &python, python.variables.current, &words), 0);
	assert_int_equal(words.holder, 0x3000);
	assert_int_equal(words.locked, 0);
	heap_set64(&heap, python.variables.current, 0x3000);
	assert_int_equal(dt_walk_gil(heap.mem, &python, python.variables.current, &words), 0);
	assert_int_equal(words.holder, 0x3000);
	assert_int_equal(words.locked, 1);
	assert_int_equal(words.switches, 0);
}

/* A static variable of the same name may be another one. */
static void test_variables_that_are_none_are_dropped(void **state)
{
	uint64_t address = heap_alloc(&heap, sizeof(struct variables));
	struct dt_variables good = python_with(address, true).variables, bad = good;

	(void)state;
	dt_find_check_variables(heap.mem, &good);
	assert_true(good.switch_number != 0);
	heap_set32(&heap, bad.locked, 77);
	dt_find_check_variables(heap.mem, &bad);
	assert_true(!bad.switch_number && !bad.locked && !bad.last_holder && bad.current);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_bytes_are_text, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_unicode_is_text, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_both_kinds_of_int, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_open_dicts, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_names_of_threads, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_words_of_the_gil, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_words_before_there_is_a_gil, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_variables_that_are_none_are_dropped, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
