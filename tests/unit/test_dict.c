/* Dicts, attributes and thread names out of a made-up heap, in the shapes of several versions. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>

#include "heap.h"
#include "python/dict.h"
#include "python/thread_names.h"

static struct heap heap;
static struct dt_layout layout;
static uint64_t dict_type;

/* The layout of the same version in a build whose objects are longer, or shorter if they are long in this one. */
static const struct dt_layout *other_build(void)
{
	for (const struct dt_layout *const *other = dt_layouts; *other; other++)
		if (dt_layout_is_for(*other, layout.major, layout.minor, UINT8_MAX) &&
		    (*other)->traced_refs != layout.traced_refs)
			return *other;
	return NULL;
}

/* 13 stands for 3.13 and later: in these matters the layout of 3.12, but with values behind the object. 112 is a build
 * of 3.12 that traces references. */
static int setup(void **state)
{
	int minor = *(const int *)*state;

	layout = *dt_layout_for(3, (uint8_t)(minor == 13 ? 12 : minor % 100));
	if (minor > 100)
		layout = *other_build();
	if (minor == 13) {
		layout.instance.kind = DT_INSTANCE_INLINE;
		layout.instance.inline_values_flag = 4;
		layout.dictvalues.first = 8;
		layout.dictvalues.capacity = 0;
		layout.dictvalues.valid = 3;
	}
	heap_init(&heap, &layout);
	dict_type = heap_type(&heap, "dict", layout.type.dict_flag);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	heap_release(&heap);
	return 0;
}

struct pair {
	uint64_t key, value;
};

/* A keys object for 2^log2 entries, `text` of the kind that holds str keys only (where there is that). */
static uint64_t put_keys(const struct pair *pairs, size_t count, unsigned log2, bool text)
{
	bool compact = text && layout.dictkeys.kind != DT_ABSENT;
	size_t size = (size_t)1 << log2, indices = size <= 0xff ? size : size * 2;
	uint32_t entry = compact ? layout.dictkeys.text_entry_size : layout.dictkeys.entry_size;
	uint64_t keys = heap_alloc(&heap, layout.dictkeys.indices + indices + size * entry);
	uint64_t at = keys + layout.dictkeys.indices + indices;

	if (layout.dictkeys.log2_size == DT_ABSENT) {
		heap_set64(&heap, keys + layout.dictkeys.size, size);
	} else {
		*heap_at(&heap, keys + layout.dictkeys.log2_size) = (uint8_t)log2;
		*heap_at(&heap, keys + layout.dictkeys.log2_index_bytes) = (uint8_t)(size <= 0xff ? log2 : log2 + 1);
		*heap_at(&heap, keys + layout.dictkeys.kind) = compact ? layout.dictkeys.kind_text
								       : layout.dictkeys.kind_general;
	}
	heap_set64(&heap, keys + layout.dictkeys.nentries, count);
	for (size_t i = 0; i < count; i++, at += entry) {
		heap_set64(&heap, at + (compact ? layout.dictkeys.text_key : layout.dictkeys.entry_key), pairs[i].key);
		heap_set64(&heap, at + (compact ? layout.dictkeys.text_value : layout.dictkeys.entry_value),
			   pairs[i].value);
	}
	return keys;
}

static uint64_t put_dict(uint64_t keys, uint64_t values)
{
	uint64_t dict = heap_object(&heap, dict_type, 64);

	heap_set64(&heap, dict + layout.dict.keys, keys);
	heap_set64(&heap, dict + layout.dict.values, values);
	return dict;
}

static void fill_values(uint64_t values, const uint64_t *list, size_t count)
{
	if (layout.dictvalues.capacity != DT_ABSENT) {
		*heap_at(&heap, values + layout.dictvalues.capacity) = (uint8_t)count;
		*heap_at(&heap, values + layout.dictvalues.valid) = 1;
	}
	if (count)
		memcpy(heap_at(&heap, values + layout.dictvalues.first), list, count * 8);
}

static uint64_t put_values(const uint64_t *list, size_t count)
{
	uint64_t values = heap_alloc(&heap, 16 + count * 8);

	fill_values(values, list, count);
	return values;
}

static uint64_t get(uint64_t dict, const char *key)
{
	uint64_t value = 0;

	assert_int_equal(dt_dict_get(heap.mem, &layout, dict, key, &value), 0);
	return value;
}

static int fail_get(uint64_t dict, const char *key)
{
	uint64_t value;

	return dt_dict_get(heap.mem, &layout, dict, key, &value);
}

static int sum(void *context, uint64_t key, uint64_t value)
{
	uint64_t *total = context;

	assert_int_not_equal(key, 0);
	*total += value;
	return value == 999 ? 7 : 0;
}

/* 200 keys: several blocks of entries, indices of two bytes, and deleted entries in between. */
static void check_combined(bool text)
{
	struct pair pairs[200];
	uint64_t dict, total = 0, expected = 0;
	char name[16];

	for (uint64_t i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "key%d", (int)i);
		pairs[i] = (struct pair){i % 10 == 3 ? 0 : heap_str(&heap, name), i % 10 == 3 ? 0 : 1000 + i};
		expected += pairs[i].value;
	}
	dict = put_dict(put_keys(pairs, 200, 9, text), 0);
	assert_int_equal(get(dict, "key0"), 1000);
	assert_int_equal(get(dict, "key199"), 1199);
	assert_int_equal(get(dict, "key75"), 1075);
	assert_int_equal(fail_get(dict, "key73"), -ENOENT);
	assert_int_equal(fail_get(dict, "key"), -ENOENT);
	assert_int_equal(fail_get(dict, ""), -ENOENT);
	assert_int_equal(dt_dict_each(heap.mem, &layout, dict, sum, &total), 0);
	assert_int_equal(total, expected);
}

static void test_combined(void **state)
{
	(void)state;
	check_combined(false);
	check_combined(true);
}

/* Keys of other types among them, one of which has the bytes of the str that is looked for. */
static void test_mixed_keys(void **state)
{
	uint64_t impostor = heap_str(&heap, "name"), total = 0;
	static const uint32_t digit = 5;
	struct pair pairs[] = {
	    {heap_int(&heap, 8, &digit, 1), 1}, {impostor, 2}, {heap_str(&heap, "name"), 3}, {8, 999}};
	uint64_t dict = put_dict(put_keys(pairs, 4, 3, false), 0);

	(void)state;
	heap_set64(&heap, impostor + layout.object.ob_type, heap.bytes_type);
	assert_int_equal(get(dict, "name"), 3);
	assert_int_equal(fail_get(dict, "other"), -ENOENT);                      /* the unreadable key is passed over */
	assert_int_equal(dt_dict_each(heap.mem, &layout, dict, sum, &total), 7); /* visit ended it */
	assert_int_equal(total, 1 + 2 + 3 + 999);
}

/* Where a name was found last is compared first, and decides nothing: neither where another key is there, or none that
 * can be read, nor behind the end of a shorter dict. */
static void test_a_name_at_another_place(void **state)
{
	struct pair pairs[] = {{heap_str(&heap, "first"), 1},
			       {heap_str(&heap, "second"), 2},
			       {heap_str(&heap, "third"), 3},
			       {heap_str(&heap, "moving"), 4}};
	struct pair turned[] = {pairs[3], {heap_str(&heap, "moving2"), 5}, pairs[0], {8, 6}};
	uint64_t late = put_dict(put_keys(pairs, 4, 3, true), 0), early = put_dict(put_keys(turned, 4, 3, true), 0);
	uint64_t brief = put_dict(put_keys(pairs, 2, 3, true), 0);
	const uint64_t list[] = {11, 12, 13, 0};
	uint64_t split = put_dict(put_keys(pairs, 4, 3, true), put_values(list, 4));

	(void)state;
	for (int times = 0; times < 2; times++) {
		assert_int_equal(get(late, "moving"), 4);
		assert_int_equal(get(early, "moving"), 4);
		assert_int_equal(get(late, "moving"), 4);
		assert_int_equal(fail_get(brief, "moving"), -ENOENT);
		assert_int_equal(get(late, "moving"), 4);
		assert_int_equal(fail_get(split, "moving"), -ENOENT); /* the key is there, and has no value */
		assert_int_equal(get(split, "third"), 13);
	}
	heap_set64(&heap, pairs[3].key + layout.object.ob_type, heap.bytes_type);
	assert_int_equal(get(early, "first"), 1);
	assert_int_equal(fail_get(late, "moving"), -ENOENT); /* equal bytes, and no str */
}

static void test_split(void **state)
{
	struct pair pairs[] = {{heap_str(&heap, "a"), 0}, {heap_str(&heap, "b"), 0}, {heap_str(&heap, "c"), 0}};
	const uint64_t list[] = {11, 0, 13};
	uint64_t dict = put_dict(put_keys(pairs, 3, 3, true), put_values(list, 3)), total = 0;

	(void)state;
	assert_int_equal(get(dict, "a"), 11);
	assert_int_equal(get(dict, "c"), 13);
	assert_int_equal(fail_get(dict, "b"), -ENOENT);
	assert_int_equal(dt_dict_each(heap.mem, &layout, dict, sum, &total), 0);
	assert_int_equal(total, 24);
}

/* This is how two builds of one version are told apart. */
static void test_a_dict_of_another_build(void **state)
{
	struct pair pair = {heap_str(&heap, "a"), 1};
	uint64_t dict = put_dict(put_keys(&pair, 1, 3, false), 0);

	(void)state;
	heap_set64(&heap, dict + layout.dict.keys - 8, 1);   /* how many entries it has, and its version */
	heap_set64(&heap, dict + layout.dict.keys - 16, 77); /* stand before the table */
	assert_true(dt_dict_is(heap.mem, &layout, dict));
	assert_false(dt_dict_is(heap.mem, other_build(), dict));
	assert_false(dt_dict_is(heap.mem, &layout, pair.key));
	assert_false(dt_dict_is(heap.mem, &layout, 0));
}

static void test_bad_dict(void **state)
{
	struct pair pair = {heap_str(&heap, "a"), 1};
	uint64_t keys = put_keys(&pair, 1, 3, false), dict = put_dict(keys, 0), total = 0;

	(void)state;
	assert_int_equal(fail_get(0, "a"), -EFAULT);
	assert_int_equal(fail_get(pair.key, "a"), -EINVAL);
	assert_int_equal(fail_get(put_dict(8, 0), "a"), -EFAULT);
	assert_int_equal(get(dict, "a"), 1);
	assert_int_equal(fail_get(dict, "a name that is longer than any that this program ever has to look up"),
			 -EINVAL);
	heap_set64(&heap, keys + layout.dictkeys.nentries, 9); /* more than there is room for */
	assert_int_equal(fail_get(dict, "a"), -EINVAL);
	heap_set64(&heap, keys + layout.dictkeys.nentries, UINT64_MAX);
	assert_int_equal(dt_dict_each(heap.mem, &layout, dict, sum, &total), -EINVAL);
	heap_set64(&heap, keys + layout.dictkeys.nentries, 1);
	if (layout.dictkeys.log2_size == DT_ABSENT)
		heap_set64(&heap, keys + layout.dictkeys.size, 7); /* no power of two */
	else
		*heap_at(&heap, keys + layout.dictkeys.log2_index_bytes) = 200;
	assert_int_equal(fail_get(dict, "a"), -EINVAL);
}

/* ---- attributes ---- */

#define BASIC 32
#define FRONT 64 /* room before an object */

static uint64_t put_class(uint64_t flags, uint64_t dictoffset, uint64_t keys)
{
	uint64_t type = heap_type(&heap, "Thread", layout.type.heap_flag | flags);

	heap_set64(&heap, type + layout.type.basicsize, BASIC);
	heap_set64(&heap, type + layout.type.dictoffset, dictoffset);
	heap_set64(&heap, type + layout.type.cached_keys, keys);
	return type;
}

static uint64_t put_instance(uint64_t type)
{
	heap_alloc(&heap, FRONT);
	return heap_object(&heap, type, BASIC + 256);
}

/* Gives a new instance of the class its attributes as the version keeps them; in a dict if that is asked for. */
static uint64_t put_managed(uint64_t type, const uint64_t *list, size_t count, uint64_t dict)
{
	uint64_t object = put_instance(type);
	uint64_t front = object + (uint64_t)(int64_t)layout.instance.dict_pointer;

	switch (layout.instance.kind) {
	case DT_INSTANCE_DICT:
		heap_set64(&heap, object + 16, dict);
		break;
	case DT_INSTANCE_TWO:
		heap_set64(&heap, front, dict);
		if (!dict)
			heap_set64(&heap, object + (uint64_t)(int64_t)layout.instance.values_pointer,
				   put_values(list, count));
		break;
	case DT_INSTANCE_TAGGED:
		heap_set64(&heap, front, dict ? dict : put_values(list, count) - layout.instance.values_tag);
		break;
	case DT_INSTANCE_INLINE:
		heap_set64(&heap, front, dict);
		fill_values(object + BASIC, list, count);
		*heap_at(&heap, object + BASIC + layout.dictvalues.valid) = !dict;
		break;
	}
	return object;
}

static uint64_t attr(uint64_t object, const char *name)
{
	uint64_t value = 0;

	assert_int_equal(dt_attr_get(heap.mem, &layout, object, name, &value), 0);
	return value;
}

static int fail_attr(uint64_t object, const char *name)
{
	uint64_t value;

	return dt_attr_get(heap.mem, &layout, object, name, &value);
}

static uint64_t managed_flags(void)
{
	return layout.instance.managed_dict_flag | layout.instance.inline_values_flag;
}

static void test_attr(void **state)
{
	struct pair shared[] = {{heap_str(&heap, "_name"), 0}, {heap_str(&heap, "_gone"), 0}};
	struct pair own[] = {{heap_str(&heap, "_name"), 33}, {heap_str(&heap, "_more"), 34}};
	const uint64_t list[] = {21, 0};
	uint64_t type = put_class(managed_flags(), 16, put_keys(shared, 2, 3, true));
	uint64_t dict = put_dict(put_keys(own, 2, 3, true), 0), object;

	(void)state;
	object = put_managed(type, list, 2, dict);
	assert_int_equal(attr(object, "_name"), 33);
	assert_int_equal(attr(object, "_more"), 34);
	assert_int_equal(fail_attr(object, "_gone"), -ENOENT);
	if (layout.instance.kind != DT_INSTANCE_DICT) {
		object = put_managed(type, list, 2, 0);
		assert_int_equal(attr(object, "_name"), 21);
		assert_int_equal(fail_attr(object, "_gone"), -ENOENT);
		assert_int_equal(fail_attr(object, "_other"), -ENOENT);
	}
	/* A class that keeps its dict in the object itself, one without any, an instance without attributes. */
	object = put_instance(put_class(0, 16, 0));
	assert_int_equal(fail_attr(object, "_name"), -ENOENT);
	heap_set64(&heap, object + 16, dict);
	assert_int_equal(attr(object, "_name"), 33);
	assert_int_equal(fail_attr(put_instance(put_class(0, 0, 0)), "_name"), -ENOENT);
	assert_int_equal(fail_attr(put_instance(put_class(0, (uint64_t)-8, 0)), "_name"), -ENOENT);
	assert_int_equal(fail_attr(put_instance(put_class(managed_flags(), 0, 0)), "_name"), -ENOENT);
	assert_int_equal(fail_attr(0, "_name"), -EFAULT);
	assert_int_equal(fail_attr(put_instance(8), "_name"), -EFAULT);
}

/* ---- thread names ---- */

static uint64_t put_ident(uint32_t ident)
{
	return heap_int(&heap, layout.integer.tagged ? 1 << 3 : 1, &ident, 1);
}

static uint64_t put_thread(uint64_t type, uint64_t name)
{
	struct pair own = {heap_str(&heap, "_name"), name};

	return put_managed(type, NULL, 0, put_dict(put_keys(&own, 1, 3, true), 0));
}

static uint64_t put_interpreter(uint64_t active)
{
	struct pair globals[] = {{heap_str(&heap, "_limbo"), 5}, {heap_str(&heap, "_active"), active}};
	uint64_t module = heap_object(&heap, heap_type(&heap, "module", 0), 64);
	struct pair modules[] = {{heap_str(&heap, "sys"), 8}, {heap_str(&heap, "threading"), module}};
	uint64_t interpreter = heap_alloc(&heap, layout.interpreter.modules + 8);

	heap_set64(&heap, module + layout.module.dict, put_dict(put_keys(globals, 2, 3, true), 0));
	heap_set64(&heap, interpreter + layout.interpreter.modules, put_dict(put_keys(modules, 2, 3, true), 0));
	return interpreter;
}

static void test_thread_names(void **state)
{
	uint64_t type = put_class(managed_flags(), 16, 0);
	static const uint16_t snake[] = {0x86c7};
	struct pair threads[] = {
	    {put_ident(100), put_thread(type, heap_str(&heap, "MainThread"))},
	    {put_ident(101), put_thread(type, 8)},                            /* a name that cannot be read */
	    {put_ident(102), 8},                                              /* no object */
	    {heap_str(&heap, "103"), put_thread(type, heap_str(&heap, "x"))}, /* no ident */
	    {put_ident(104), put_thread(type, heap_wide(&heap, snake, 1, 2))},
	};
	uint64_t interpreter = put_interpreter(put_dict(put_keys(threads, 5, 3, false), 0));
	struct dt_thread_name *names = NULL;
	struct dt_budget budget;
	struct dt_arena arena;
	size_t count = 77;

	(void)state;
	dt_arena_init(&arena, 0);
	dt_budget_begin(&budget, 1000);
	assert_int_equal(dt_thread_names(heap.mem, &layout, interpreter, &arena, &budget, &names, &count), 0);
	assert_int_equal(count, 2);
	assert_int_equal(names[0].ident, 100);
	assert_string_equal(names[0].name, "MainThread");
	assert_int_equal(names[1].ident, 104);
	assert_string_equal(names[1].name, "\xe8\x9b\x87");
	assert_int_equal(budget.steps, 995); /* those without a name cost as much */
	/* Python is ending: no dict any more. No threading, no modules: no names either. */
	assert_int_equal(dt_thread_names(heap.mem, &layout, put_interpreter(type), &arena, &budget, &names, &count), 0);
	assert_int_equal(count, 0);
	heap_set64(&heap, interpreter + layout.interpreter.modules, 0);
	count = 77;
	assert_int_equal(dt_thread_names(heap.mem, &layout, interpreter, &arena, &budget, &names, &count), 0);
	assert_int_equal(count, 0);
	dt_arena_release(&arena);
	/* But a lack of memory is told. */
	dt_arena_init(&arena, 16);
	interpreter = put_interpreter(put_dict(put_keys(threads, 5, 3, false), 0));
	assert_int_equal(dt_thread_names(heap.mem, &layout, interpreter, &arena, &budget, &names, &count), -ENOMEM);
	dt_arena_release(&arena);
}

/* Entries without a name are not looked at for ever, and time that is over is over. */
static void test_thread_names_end(void **state)
{
	uint64_t type = put_class(managed_flags(), 16, 0);
	struct pair threads[] = {
	    {put_ident(100), put_thread(type, 8)},
	    {put_ident(101), put_thread(type, 8)},
	    {put_ident(102), put_thread(type, heap_str(&heap, "third"))},
	    {put_ident(103), put_thread(type, heap_str(&heap, "fourth"))},
	};
	uint64_t interpreter = put_interpreter(put_dict(put_keys(threads, 4, 3, false), 0));
	struct dt_thread_name *names = NULL;
	struct dt_budget budget;
	struct dt_arena arena;
	size_t count = 77;

	(void)state;
	dt_arena_init(&arena, 0);
	dt_budget_begin(&budget, 3);
	assert_int_equal(dt_thread_names(heap.mem, &layout, interpreter, &arena, &budget, &names, &count), 0);
	assert_int_equal(count, 1);
	assert_string_equal(names[0].name, "third");
	assert_int_equal(budget.steps, 0);
	assert_int_equal(dt_thread_names(heap.mem, &layout, interpreter, &arena, &budget, &names, &count), 0);
	assert_int_equal(count, 0);
	dt_budget_begin(&budget, 64);
	budget.cpu_end = 1;
	assert_int_equal(dt_thread_names(heap.mem, &layout, interpreter, &arena, &budget, &names, &count), 0);
	assert_int_equal(count, 0);
	dt_arena_release(&arena);
}

#define TEST(function, version)                                                                                        \
	{                                                                                                              \
#function "_3_" #version, function, setup, teardown, &(int)                                            \
		{                                                                                                      \
			version                                                                                        \
		}                                                                                                      \
	}
#define TESTS(function)                                                                                                \
	TEST(function, 8), TEST(function, 10), TEST(function, 11), TEST(function, 12), TEST(function, 13),             \
	    TEST(function, 108), TEST(function, 111), TEST(function, 112)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TESTS(test_combined),     TESTS(test_mixed_keys),       TESTS(test_a_name_at_another_place),
	    TESTS(test_split),        TESTS(test_bad_dict),         TESTS(test_attr),
	    TESTS(test_thread_names), TESTS(test_thread_names_end), TESTS(test_a_dict_of_another_build),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
