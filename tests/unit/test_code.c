/* The cache of code objects over a made-up heap that changes under it. */
#include "unit.h"

#include <errno.h>

#include "heap.h"
#include "python/code.h"

static struct heap heap;
static struct dt_code_cache *cache;
static uint64_t code_type;

static const uint8_t table[] = {0xf8, 0x02, 0x80, 0x11};

static int setup(void **state)
{
	heap_init(&heap, dt_layout_for(3, (uint8_t) * (const int *)*state));
	code_type = heap_type(&heap, "code", 0);
	cache = dt_code_cache_new(heap.layout);
	assert_non_null(cache);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	dt_code_cache_free(cache);
	heap_release(&heap);
	return 0;
}

static uint64_t put_code(const char *name, uint64_t file, uint32_t line)
{
	const struct dt_layout *layout = heap.layout;
	uint64_t code = heap_object(&heap, code_type, layout->code.size + 64);

	heap_set64(&heap, code + layout->code.name, heap_str(&heap, name));
	if (layout->code.qualname != DT_ABSENT) {
		char qualified[64] = "Class.";

		strncat(qualified, name, sizeof(qualified) - 7);
		heap_set64(&heap, code + layout->code.qualname, heap_str(&heap, qualified));
	}
	heap_set64(&heap, code + layout->code.filename, file);
	heap_set64(&heap, code + layout->code.linetable, heap_bytes(&heap, table, sizeof(table)));
	heap_set32(&heap, code + layout->code.firstlineno, line);
	if (layout->code.firsttraceable != DT_ABSENT)
		heap_set32(&heap, code + layout->code.firsttraceable, 3);
	return code;
}

static const struct dt_code *get(uint64_t address)
{
	const struct dt_code *code = NULL;

	assert_int_equal(dt_code_get(cache, heap.mem, address, &code), 0);
	return code;
}

static void test_read(void **state)
{
	uint64_t file = heap_str(&heap, "/srv/app/main.py");
	uint64_t first = put_code("work", file, 42), second = put_code("rest", file, 50);
	const struct dt_code *code = get(first), *other = get(second);
	bool new = *(int *)*state >= 11;

	assert_int_equal(code->address, first);
	assert_string_equal(code->name, new ? "Class.work" : "work");
	assert_string_equal(code->file, "/srv/app/main.py");
	assert_int_equal(code->first_line, 42);
	assert_int_equal(code->first_traceable, new ? 6 : 0);
	assert_int_equal(code->bytecode, new ? first + heap.layout->code.bytecode : 0);
	assert_int_equal(code->table_size, sizeof(table));
	assert_memory_equal(code->table, table, sizeof(table));
	assert_string_equal(other->name, new ? "Class.rest" : "rest");
	assert_ptr_equal(other->file, code->file); /* shared */
	assert_ptr_equal(get(first), code);
}

/* Within a look nothing is read again; in the next one the copy is checked and kept. */
static void test_kept(void **state)
{
	uint64_t address = put_code("work", heap_str(&heap, "a.py"), 1), bytes;
	const struct dt_code *code = get(address);

	(void)state;
	bytes = dt_mem_stats(heap.mem).bytes;
	assert_ptr_equal(get(address), code);
	assert_int_equal(dt_mem_stats(heap.mem).bytes, bytes);
	dt_code_cache_begin(cache);
	/* The reference count is no part of what is compared. */
	heap_set64(&heap, address, 99);
	assert_ptr_equal(get(address), code);
	assert_true(dt_mem_stats(heap.mem).bytes > bytes);
}

static void test_changed(void **state)
{
	uint64_t address = put_code("work", heap_str(&heap, "a.py"), 1);
	const struct dt_code *old = get(address), *now;
	const struct dt_layout *layout = heap.layout;

	(void)state;
	dt_code_cache_begin(cache);
	heap_set32(&heap, address + layout->code.firstlineno, 7);
	now = get(address);
	assert_int_equal(now->first_line, 7);
	assert_ptr_not_equal(now, old);
	dt_code_cache_begin(cache);
	heap_set64(&heap, address + layout->code.filename, heap_str(&heap, "b.py"));
	assert_string_equal(get(address)->file, "b.py");
	dt_code_cache_begin(cache);
	heap_set64(&heap, address + layout->code.linetable, heap_bytes(&heap, "\x80\x22", 2));
	assert_int_equal(get(address)->table_size, 2);
}

/* Another function, every piece of which lies where the same piece of the old one was. */
static void test_changed_in_place(void **state)
{
	const struct dt_layout *layout = heap.layout;
	uint64_t file = heap_str(&heap, "a.py");
	uint64_t address = put_code("work", file, 1);
	uint64_t lines = dt_get64(heap_at(&heap, address + layout->code.linetable));
	bool qualified = layout->code.qualname != DT_ABSENT;
	uint64_t name = dt_get64(heap_at(&heap, address + (qualified ? layout->code.qualname : layout->code.name)));
	uint64_t text = name + layout->unicode.ascii_size + (qualified ? strlen("Class.") : 0);

	(void)state;
	get(address);
	dt_code_cache_begin(cache);
	memcpy(heap_at(&heap, text), "play", 4);
	heap_set64(&heap, name + layout->unicode.length + 8, 4711); /* its hash */
	assert_non_null(strstr(get(address)->name, "play"));
	dt_code_cache_begin(cache);
	*heap_at(&heap, lines + layout->bytes.ob_sval + 3) = 0x33;
	assert_int_equal(get(address)->table[3], 0x33);
	/* Without a hash the text decides. */
	dt_code_cache_begin(cache);
	heap_set64(&heap, name + layout->unicode.length + 8, UINT64_MAX);
	heap_set64(&heap, file + layout->unicode.length + 8, UINT64_MAX);
	assert_non_null(strstr(get(address)->name, "play"));
	dt_code_cache_begin(cache);
	memcpy(heap_at(&heap, text), "rest", 4);
	assert_non_null(strstr(get(address)->name, "rest"));
	dt_code_cache_begin(cache);
	*heap_at(&heap, file + layout->unicode.ascii_size) = 'b';
	assert_string_equal(get(address)->file, "b.py");
}

/* A long line table that differs in one byte, wherever that is; and names that are equal but for their middle. */
static void test_changed_far_inside(void **state)
{
	static const size_t places[] = {0, 1023, 1024, 4095, 4096, 9000, 19999};
	const struct dt_layout *layout = heap.layout;
	static char text[3001];
	static uint8_t lines[20000];
	uint64_t address, object, file, name;

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	file = heap_str(&heap, text);
	address = put_code("work", file, 1);
	name = heap_str(&heap, text);
	heap_set64(&heap, address + (layout->code.qualname == DT_ABSENT ? layout->code.name : layout->code.qualname),
		   name);
	object = heap_bytes(&heap, lines, sizeof(lines));
	heap_set64(&heap, address + layout->code.linetable, object);
	assert_int_equal(get(address)->table_size, sizeof(lines));
	for (size_t i = 0; i < DT_COUNT(places); i++) {
		dt_code_cache_begin(cache);
		*heap_at(&heap, object + layout->bytes.ob_sval + places[i]) = 0x42;
		assert_int_equal(get(address)->table[places[i]], 0x42);
	}
	for (size_t at = 0; at < 3000; at += 599) {
		dt_code_cache_begin(cache);
		*heap_at(&heap, name + layout->unicode.ascii_size + at) = 'y';
		assert_int_equal(get(address)->name[at], 'y');
		dt_code_cache_begin(cache);
		*heap_at(&heap, file + layout->unicode.ascii_size + at) = 'z';
		assert_int_equal(get(address)->file[at], 'z');
	}
}

/* What lies behind the part that is compared byte by byte, and a table that was beyond the limit. */
static void test_changed_otherwise(void **state)
{
	const struct dt_layout *layout = heap.layout;
	uint64_t address = put_code("work", heap_str(&heap, "a.py"), 1);
	uint64_t lines = dt_get64(heap_at(&heap, address + layout->code.linetable));

	(void)state;
	heap_set64(&heap, lines + layout->bytes.ob_size, UINT64_C(1) << 40);
	assert_int_equal(get(address)->table_size, 0);
	dt_code_cache_begin(cache);
	heap_set64(&heap, lines + layout->bytes.ob_size, sizeof(table));
	assert_int_equal(get(address)->table_size, sizeof(table));
	dt_code_cache_begin(cache);
	heap_set32(&heap, address + layout->code.firsttraceable, 5);
	assert_int_equal(get(address)->first_traceable, 10);
}

static void test_no_code(void **state)
{
	uint64_t file = heap_str(&heap, "a.py");
	uint64_t address = put_code("work", file, 1), impostor = put_code("work", file, 1);
	const struct dt_code *code;

	(void)state;
	assert_int_equal(dt_code_get(cache, heap.mem, 0, &code), -EFAULT);
	assert_int_equal(dt_code_get(cache, heap.mem, file, &code), -EINVAL);
	get(address);
	heap_set64(&heap, impostor + heap.layout->object.ob_type, heap_type(&heap, "codec", 0));
	assert_int_equal(dt_code_get(cache, heap.mem, impostor, &code), -EINVAL);
	heap_set64(&heap, impostor + heap.layout->object.ob_type, heap_type(&heap, "code", 0));
	get(impostor);
	/* Freed since it was seen: the copy is not handed out any more. */
	dt_code_cache_begin(cache);
	heap_set64(&heap, address + heap.layout->object.ob_type, heap.str_type);
	assert_int_equal(dt_code_get(cache, heap.mem, address, &code), -EINVAL);
	heap_set64(&heap, impostor + heap.layout->code.filename, 8);
	assert_int_equal(dt_code_get(cache, heap.mem, impostor, &code), -EFAULT);
}

/* A name beyond the limit costs the name, not the stack. */
static void test_too_long(void **state)
{
	uint64_t file = heap_str(&heap, "a.py");
	uint64_t address = put_code("work", file, 1);

	(void)state;
	heap_set64(&heap, file + heap.layout->unicode.length, UINT64_C(1) << 40);
	assert_string_equal(get(address)->file, "<too long>");
	assert_non_null(strstr(get(address)->name, "work"));
}

static void test_many(void **state)
{
	uint64_t file = heap_str(&heap, "a.py"), codes[300];

	(void)state;
	for (uint32_t i = 0; i < 300; i++)
		codes[i] = put_code("f", file, i);
	for (int look = 0; look < 3; look++) {
		for (uint32_t i = 0; i < 300; i++)
			assert_int_equal(get(codes[i])->first_line, i);
		dt_code_cache_begin(cache);
	}
	dt_code_cache_free(NULL);
}

/* A program that makes ever new functions: ids go on, and who keeps a table of them learns which are gone. */
static void test_oldest(void **state)
{
	uint64_t address = put_code("f", heap_str(&heap, "a.py"), 1);
	uint32_t id = get(address)->id, count = 1;

	(void)state;
	assert_int_equal(get(address)->oldest, 1);
	do {
		dt_code_cache_begin(cache);
		heap_set32(&heap, address + heap.layout->code.firstlineno, ++count);
		assert_int_equal(get(address)->id, ++id);
		assert_true(count < 1000000);
	} while (get(address)->oldest == 1);
	assert_true(count > 1000);
	assert_int_equal(get(address)->oldest, id); /* the others are gone with what was kept of them */
	dt_code_cache_begin(cache);
	assert_int_equal(get(address)->oldest, id);
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
	    TEST(test_oldest, 8),
	    TEST(test_oldest, 12),
	    TEST(test_read, 8),
	    TEST(test_read, 10),
	    TEST(test_read, 11),
	    TEST(test_read, 12),
	    TEST(test_kept, 8),
	    TEST(test_kept, 12),
	    TEST(test_changed, 8),
	    TEST(test_changed, 12),
	    TEST(test_changed_in_place, 8),
	    TEST(test_changed_in_place, 12),
	    TEST(test_changed_far_inside, 8),
	    TEST(test_changed_far_inside, 12),
	    TEST(test_changed_otherwise, 11),
	    TEST(test_changed_otherwise, 12),
	    TEST(test_no_code, 11),
	    TEST(test_too_long, 11),
	    TEST(test_many, 11),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
