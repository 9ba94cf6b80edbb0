/* The line about what takes long, at moments made up; and that a compressed core tells how far it is. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/progress.h"

#define NS_PER_S UINT64_C(1000000000)

struct shown {
	char *text;
	size_t size;
	struct dt_progress progress;
};

static void begin(struct shown *shown, const char *file, size_t columns)
{
	*shown = (struct shown){.progress = {.file = file, .columns = columns, .next_ns = 10 * NS_PER_S}};
	shown->progress.out = open_memstream(&shown->text, &shown->size);
	assert_non_null(shown->progress.out);
}

static void end(struct shown *shown, const char *expected)
{
	dt_progress_end(&shown->progress);
	assert_int_equal(fclose(shown->progress.out), 0);
	assert_string_equal(shown->text, expected);
	free(shown->text);
}

static void test_a_line_that_is_taken_away(void **state)
{
	struct shown shown;

	(void)state;
	begin(&shown, "a\033.zst", 80);
	dt_progress_at(&shown.progress, 10 * NS_PER_S - 1, 1, 8);
	dt_progress_at(&shown.progress, 10 * NS_PER_S, 2, 8);
	dt_progress_at(&shown.progress, 10 * NS_PER_S + 1, 3, 8); /* too soon */
	dt_progress_at(&shown.progress, 11 * NS_PER_S, 8, 8);
	end(&shown, "\ra\\x1b.zst: 25% decompressed\ra\\x1b.zst: 100% decompressed\r"
		    "                            \r");
}

static void test_what_is_done_at_once_has_no_line(void **state)
{
	struct shown shown;

	(void)state;
	begin(&shown, "core.zst", 80);
	dt_progress_at(&shown.progress, 9 * NS_PER_S, 8, 8);
	end(&shown, "");
}

static void test_a_narrow_terminal(void **state)
{
	struct shown shown;

	(void)state;
	begin(&shown, "a-long-name-of-a-core.zst", 30);
	dt_progress_at(&shown.progress, 10 * NS_PER_S, 0, 0);
	end(&shown, "\ra-long-name…: 0% decompressed\r                             \r");
	begin(&shown, "core.zst", 20);
	dt_progress_at(&shown.progress, 10 * NS_PER_S, 0, 0);
	end(&shown, "");
}

static void test_no_terminal(void **state)
{
	struct dt_progress progress;
	FILE *file = tmpfile();

	(void)state;
	assert_non_null(file);
	dt_progress_begin(&progress, "core.zst", file);
	assert_null(progress.out);
	dt_progress_at(&progress, UINT64_MAX / 2, 1, 2);
	dt_progress_end(&progress);
	assert_int_equal(ftell(file), 0);
	fclose(file);
	dt_progress_begin(&progress, "core.zst", NULL);
	assert_null(progress.out);
}

struct told {
	unsigned calls;
	uint64_t done, whole;
};

static void tell(void *context, uint64_t done, uint64_t whole)
{
	struct told *told = context;

	assert_true(done >= told->done && done <= whole);
	*told = (struct told){told->calls + 1, done, whole};
}

/* gzip of bytes as they are: one block, and no checksum behind it. */
static void test_a_core_tells_how_far_it_is(void **state)
{
	static const uint8_t head[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 1, 200, 0, 0x37, 0xff};
	struct told told = {0};
	struct dt_options options = {.progress = tell, .progress_context = &told};
	uint8_t bytes[sizeof(head) + 200] = {0};
	char path[] = "/tmp/darter-progress-XXXXXX";
	int fd = mkstemp(path), code;
	struct dt_target *target;
	struct dt_error err;

	(void)state;
	assert_true(fd >= 0);
	memcpy(bytes, head, sizeof(head));
	assert_int_equal(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
	close(fd);
	code = dt_open_core(path, NULL, NULL, &options, &target, &err);
	unlink(path);
	if (code == DT_EUNSUPPORTED)
		skip(); /* built without zlib */
	assert_int_equal(code, DT_ERUNTIME);
	assert_non_null(strstr(err.message, "is not a core file"));
	assert_int_equal(told.calls, 1);
	assert_int_equal(told.done, sizeof(bytes));
	assert_int_equal(told.whole, sizeof(bytes));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_line_that_is_taken_away),  cmocka_unit_test(test_what_is_done_at_once_has_no_line),
	    cmocka_unit_test(test_a_narrow_terminal),          cmocka_unit_test(test_no_terminal),
	    cmocka_unit_test(test_a_core_tells_how_far_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
