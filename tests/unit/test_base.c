/* The base room: arenas, buffers, errors, numbers. */
#include "unit.h"

#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/event.h"
#include "base/short_names.h"
#include "base/user.h"
#include "base/util.h"

static void an_arena_settles_on_one_block(void **state)
{
	struct dt_arena arena;
	void *first;

	(void)state;
	dt_arena_init(&arena, 0);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 100; i++)
			assert_non_null(dt_arena_alloc(&arena, 1000));
		dt_arena_reset(&arena);
	}
	first = dt_arena_alloc(&arena, 1000);
	dt_arena_reset(&arena);
	assert_ptr_equal(first, dt_arena_alloc(&arena, 1000));
	dt_arena_release(&arena);
}

static void an_arena_keeps_its_limit(void **state)
{
	struct dt_arena arena;

	(void)state;
	dt_arena_init(&arena, 4096);
	assert_non_null(dt_arena_alloc(&arena, 4000));
	assert_null(dt_arena_alloc(&arena, 4000));
	assert_null(dt_arena_alloc(&arena, SIZE_MAX));
	assert_null(dt_arena_calloc(&arena, SIZE_MAX / 2, 4));
	dt_arena_reset(&arena);
	assert_non_null(dt_arena_alloc(&arena, 4000));
	dt_arena_release(&arena);
}

static void a_buffer_grows_and_clears(void **state)
{
	struct dt_buf buf = DT_BUF_INIT;

	(void)state;
	for (int i = 0; i < 1000; i++)
		dt_buf_printf(&buf, "%d,", i % 10);
	assert_int_equal(buf.length, 2000);
	assert_memory_equal(buf.data, "0,1,2,3,", 8);
	dt_buf_clear(&buf);
	assert_string_equal(buf.data, "");
	dt_buf_putc(&buf, 'x');
	dt_buf_puts(&buf, "yz");
	assert_string_equal(buf.data, "xyz");
	dt_buf_release(&buf);
	dt_buf_release(&buf);
}

static void errors_carry_text_and_hints(void **state)
{
	struct dt_error err;
	char longer[4000];

	(void)state;
	assert_int_equal(dt_fail(&err, DT_ENOTFOUND, "no process %d", 7), DT_ENOTFOUND);
	assert_string_equal(err.message, "no process 7");
	assert_string_equal(err.hint, "");
	dt_hint(&err, "one");
	dt_hint(&err, "two");
	assert_string_equal(err.hint, "one\ntwo");
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	dt_hint(&err, "%s", longer);
	assert_string_equal(err.hint, "one\ntwo");
	assert_int_equal(dt_fail(NULL, DT_EENDED, "nobody listens"), DT_EENDED);
	dt_hint(NULL, "nobody listens");
}

static void numbers_are_whole_or_refused(void **state)
{
	uint64_t value;

	(void)state;
	assert_true(dt_parse_u64("18446744073709551615", UINT64_MAX, &value));
	assert_int_equal(value, UINT64_MAX);
	assert_false(dt_parse_u64("18446744073709551616", UINT64_MAX, &value));
	assert_false(dt_parse_u64("", 10, &value));
	assert_false(dt_parse_u64("1x", 10, &value));
	assert_false(dt_parse_u64("-1", 10, &value));
	assert_false(dt_parse_u64("11", 10, &value));
}

static void test_user_name(void **state)
{
	char name[32];
	char cut[3];

	(void)state;
	dt_user_name(0, name, sizeof(name));
	assert_string_equal(name, "root");
	dt_user_name(0, cut, sizeof(cut));
	assert_string_equal(cut, "ro");
	dt_user_name((uid_t)-2, name, sizeof(name));
	assert_string_equal(name, "");
}

static void *happen_soon(void *event)
{
	usleep(20000);
	dt_event_happen(event);
	return NULL;
}

static void an_event_is_waited_for(void **state)
{
	struct dt_event event;
	pthread_t thread;
	uint64_t start = dt_clock_ns();

	(void)state;
	assert_int_equal(dt_event_init(&event), 0);
	assert_false(dt_event_await_until(&event, start)); /* long ago */
	assert_false(dt_event_await_until(&event, start + 5000000));
	assert_true(dt_clock_ns() - start >= 5000000);
	assert_int_equal(pthread_create(&thread, NULL, happen_soon, &event), 0);
	assert_true(dt_event_await_until(&event, start + UINT64_C(60000000000)));
	dt_event_await(&event);
	assert_true(dt_event_await_until(&event, 0));
	pthread_join(thread, NULL);
	dt_event_destroy(&event);
}

/* "/FIRST/d/d/ ... /d/a.py" of so many parts. */
static void make_path(char *path, char first, size_t parts)
{
	*path++ = '/';
	*path++ = first;
	for (size_t i = 0; i < parts; i++, path += 2)
		memcpy(path, "/d", 2);
	memcpy(path, "/a.py", sizeof("/a.py"));
}

static void short_names_stay_apart(void **state)
{
	static const char *const paths[] = {
	    "/srv/app/main.py", "/srv/app/a/utils.py", "/srv/app/b/utils.py", "/usr/lib/python3.12/json/decoder.py",
	    "<string>",
	};
	static const char *const names[] = {"main.py", "a/utils.py", "b/utils.py", "json/decoder.py", "<string>"};
	char alike[2][512], near[64], endless[DT_SHORT_NAMES_PATH + 64];
	struct dt_short_names all = {0};

	(void)state;
	assert_string_equal(dt_short_name(&all, "/srv/app/main.py"), "/srv/app/main.py");
	/* Different only so far outside that adding parts one by one is given up; and too long to look at. */
	make_path(alike[0], 'x', 200);
	make_path(alike[1], 'y', 200);
	make_path(near, 'z', 3);
	make_path(endless, 'x', DT_SHORT_NAMES_PATH / 2);
	for (int round = 0; round < 300; round++)
		for (size_t i = 0; i < DT_COUNT(paths); i++)
			assert_int_equal(dt_short_names_add(&all, paths[i]), 0);
	assert_int_equal(dt_short_names_add(&all, alike[0]), 0);
	assert_int_equal(dt_short_names_add(&all, alike[1]), 0);
	assert_int_equal(dt_short_names_add(&all, near), 0);
	assert_int_equal(dt_short_names_add(&all, endless), 0);
	assert_int_equal(dt_short_names_finish(&all), 0);
	for (size_t i = 0; i < DT_COUNT(paths); i++)
		assert_string_equal(dt_short_name(&all, paths[i]), names[i]);
	assert_string_equal(dt_short_name(&all, alike[0]), alike[0]);
	assert_string_equal(dt_short_name(&all, alike[1]), alike[1]);
	assert_string_equal(dt_short_name(&all, near), near);
	assert_string_equal(dt_short_name(&all, endless), endless);
	dt_short_names_release(&all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_arena_settles_on_one_block), cmocka_unit_test(an_arena_keeps_its_limit),
	    cmocka_unit_test(a_buffer_grows_and_clears),     cmocka_unit_test(errors_carry_text_and_hints),
	    cmocka_unit_test(numbers_are_whole_or_refused),  cmocka_unit_test(test_user_name),
	    cmocka_unit_test(an_event_is_waited_for),        cmocka_unit_test(short_names_stay_apart),
	};

	return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
