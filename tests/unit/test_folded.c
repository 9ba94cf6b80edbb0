/* Folded stacks against tests/golden, and read back the way other programs read them. */
#include "unit.h"

#include <ctype.h>
#include <errno.h>

#include "format/profile_formats.h"
#include "golden.h"
#include "profile_example.h"

static void render_to(FILE *out, const struct dt_profile *profile, const struct dt_view_options *options)
{
	struct dt_view *view;

	assert_int_equal(dt_view_new(profile, options, &view, NULL), 0);
	assert_int_equal(dt_profile_folded.render(view, NULL, out), 0);
	dt_view_free(view);
}

static void test_example(void **state)
{
	struct dt_profile *profile = example_profile();
	struct golden golden;

	(void)state;
	render_to(golden_begin(&golden), profile, NULL);
	golden_end(&golden, "profile.folded");
	render_to(golden_begin(&golden), profile, &(struct dt_view_options){.threads = true, .idle = true});
	golden_end(&golden, "profile-threads.folded");
	dt_profile_free(profile);
}

/* One sample of a stack of one frame. */
static void add(struct dt_profile *profile, const char *name, const char *file, uint64_t ns)
{
	static uint64_t start;
	struct dt_profile_run run = {
	    .thread = 3, .samples = 1, .state = DT_STATE_RUNNING, .start_ns = 1000 * EXAMPLE_MS + start, .wall_ns = ns};

	run.stack = example_frame(profile, 0, name, file, 0);
	assert_int_equal(dt_profile_add_run(profile, &run), 0);
	start += ns;
}

/* As flamegraph.pl takes a line apart: the last word is the number, a number before it another one. */
static uint64_t read_line(char *line, char **stack)
{
	char *space = strrchr(line, ' '), *before, *end;
	uint64_t number;

	assert_non_null(space);
	number = strtoull(space + 1, &end, 10);
	assert_int_equal(*end, '\0');
	*space = '\0';
	before = strrchr(line, ' ');
	for (before = before ? before + 1 : line; isdigit((unsigned char)*before) || *before == '.'; before++)
		;
	assert_true(strchr(line, ' ') == NULL || *before);
	*stack = line;
	return number;
}

static void test_hostile_names(void **state)
{
	struct dt_profile *profile = example_profile();
	uint64_t sum = 0;
	size_t lines = 0;
	struct golden golden;
	char *rest = NULL;

	(void)state;
	add(profile, "# no comment", "", 5000);
	add(profile, "name 12", "", 6000);
	add(profile, "a;b\nc 7\n", "/x;y.py", 7000);
	add(profile, " ", " 1.5", 8000);
	render_to(golden_begin(&golden), profile, NULL);
	assert_int_equal(fclose(golden.out), 0);
	assert_null(strstr(golden.data, "\n#"));
	assert_non_null(strstr(golden.data, "\nname_12 6\n"));
	assert_non_null(strstr(golden.data, "\na,b\\nc 7\\n (x,y.py) 7\n"));
	for (char *line = strtok_r(golden.data, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char *stack;

		sum += read_line(line, &stack);
		assert_true(strlen(stack) > 1);
		lines++;
	}
	assert_int_equal(sum, 550000 + 26);
	assert_int_equal(lines, 17 + 4);
	free(golden.data);
	dt_profile_free(profile);
}

/* What is rounded off is not lost: ten times 0.4 us are 4 us. */
static void test_rounding(void **state)
{
	struct dt_profile *profile = dt_profile_new();
	uint64_t sum = 0;
	struct golden golden;
	char *rest = NULL;

	(void)state;
	example_threads(profile);
	for (char name[] = "a"; name[0] <= 'j'; name[0]++)
		add(profile, name, "", 400);
	render_to(golden_begin(&golden), profile, NULL);
	assert_int_equal(fclose(golden.out), 0);
	for (char *line = strtok_r(golden.data, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		uint64_t number = read_line(line, &line);

		assert_true(number > 0);
		sum += number;
	}
	assert_int_equal(sum, 4);
	free(golden.data);
	dt_profile_free(profile);
}

static void test_empty_and_full(void **state)
{
	struct dt_profile *empty = dt_profile_new(), *profile = example_profile();
	FILE *full = fopen("/dev/full", "w");
	struct golden golden;
	struct dt_view *view;

	(void)state;
	render_to(golden_begin(&golden), empty, NULL);
	assert_int_equal(fclose(golden.out), 0);
	assert_int_equal(golden.size, 0);
	free(golden.data);
	assert_non_null(full);
	assert_int_equal(dt_view_new(profile, NULL, &view, NULL), 0);
	errno = 0;
	assert_int_equal(dt_profile_folded.render(view, NULL, full), DT_ERUNTIME);
	assert_int_equal(errno, ENOSPC);
	fclose(full);
	dt_view_free(view);
	dt_profile_free(empty);
	dt_profile_free(profile);
}

static void test_table_of_formats(void **state)
{
	(void)state;
	for (const struct dt_profile_format *const *format = dt_profile_formats(); *format; format++) {
		assert_ptr_equal(dt_profile_format_by_name((*format)->name), *format);
		if ((*format)->alias)
			assert_ptr_equal(dt_profile_format_by_name((*format)->alias), *format);
		assert_int_equal((*format)->render == NULL, !strcmp((*format)->name, "darter"));
		assert_true(strlen((*format)->description) > 10);
		for (const char *const *extension = (*format)->extensions; *extension; extension++) {
			char file[64];

			assert_int_equal((*extension)[0], '.');
			snprintf(file, sizeof(file), "a.b/c%s", *extension);
			assert_ptr_equal(dt_profile_format_by_file(file), *format);
		}
	}
	assert_ptr_equal(dt_profile_format_by_name("raw"), &dt_profile_folded);
	assert_null(dt_profile_format_by_name("no such format"));
	assert_null(dt_profile_format_by_file("out.unheard-of"));
	assert_null(dt_profile_format_by_file(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_example),          cmocka_unit_test(test_hostile_names),
	    cmocka_unit_test(test_rounding),         cmocka_unit_test(test_empty_and_full),
	    cmocka_unit_test(test_table_of_formats),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
