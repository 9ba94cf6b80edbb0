/* The flame graph, speedscope's JSON and Chrome's trace events: their bytes, their bounds, and which file is which. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "format/bounded.h"
#include "format/module_color.h"
#include "format/profile_formats.h"
#include "golden.h"
#include "profile_example.h"

static struct dt_view *view_of(struct dt_profile *profile, struct dt_view_options options)
{
	struct dt_view *view;

	assert_int_equal(dt_view_new(profile, &options, &view, NULL), 0);
	return view;
}

/* The caller frees it. */
static char *render(const struct dt_profile_format *format, struct dt_profile *profile, struct dt_view_options options,
		    size_t *size)
{
	struct dt_view *view = view_of(profile, options);
	struct dt_profile_render how = {0};
	char *text = NULL;
	FILE *out = open_memstream(&text, size);

	assert_non_null(out);
	assert_int_equal(format->render(view, &how, out), 0);
	assert_int_equal(fclose(out), 0);
	dt_view_free(view);
	return text;
}

/* The style and the script are not what is compared. */
static void take_out(char *text, const char *from, const char *to)
{
	char *start = strstr(text, from), *end = start ? strstr(start + strlen(from), to) : NULL;

	assert_non_null(end);
	memmove(start + strlen(from), end, strlen(end) + 1);
}

static void compare_with(struct dt_profile *profile, const struct dt_profile_format *format,
			 struct dt_view_options options, const char *name)
{
	size_t size;
	char *text = render(format, profile, options, &size);
	struct golden golden;

	/* Nor is darter's version. */
	if (format == &dt_profile_chrome || format == &dt_profile_speedscope) {
		take_out(text, "\"exporter\":\"darter", "\"");
	} else if (format == &dt_profile_svg) {
		take_out(text, "<style><![CDATA[", "]]>");
		take_out(text, "<script><![CDATA[", "]]>");
	}
	fputs(text, golden_begin(&golden));
	golden_end(&golden, name);
	free(text);
}

static void compare(const struct dt_profile_format *format, struct dt_view_options options, const char *name)
{
	struct dt_profile *profile = example_profile();

	compare_with(profile, format, options, name);
	dt_profile_free(profile);
}

static void test_flame_graph(void **state)
{
	(void)state;
	compare(&dt_profile_svg, (struct dt_view_options){0}, "flamegraph.svg");
	compare(&dt_profile_svg, (struct dt_view_options){.idle = true, .threads = true, .functions = true},
		"flamegraph-threads.svg");
}

static void test_speedscope(void **state)
{
	(void)state;
	compare(&dt_profile_speedscope, (struct dt_view_options){0}, "speedscope.json");
	compare(&dt_profile_speedscope,
		(struct dt_view_options){.weight = DT_WEIGHT_CPU, .idle = true, .functions = true},
		"speedscope-cpu.json");
}

static void test_chrome(void **state)
{
	(void)state;
	compare(&dt_profile_chrome, (struct dt_view_options){0}, "chrome.trace.json");
	compare(&dt_profile_chrome, (struct dt_view_options){.idle = true}, "chrome-idle.trace.json");
}

static size_t count(const char *text, const char *part)
{
	size_t found = 0;

	for (text = strstr(text, part); text; text = strstr(text + 1, part))
		found++;
	return found;
}

static void add_run(struct dt_profile *profile, uint32_t stack, uint64_t start, uint64_t ns)
{
	struct dt_profile_run run = {.start_ns = start,
				     .wall_ns = ns,
				     .cpu_ns = ns,
				     .samples = 1,
				     .thread = 1,
				     .stack = stack,
				     .state = DT_STATE_RUNNING};

	assert_int_equal(dt_profile_add_run(profile, &run), 0);
}

static struct dt_profile *empty_profile(void)
{
	struct dt_profile *profile = dt_profile_new();
	struct dt_profile_process process = {.pid = 12};
	struct dt_profile_thread thread = {.process = 1, .tid = 12};
	uint32_t id;

	assert_non_null(profile);
	assert_int_equal(dt_profile_add_process(profile, &process, &id), 0);
	assert_int_equal(dt_profile_add_thread(profile, &thread, &id), 0);
	return profile;
}

/* A tree of 4 * 200 * 200 leaves that weigh the same: far too many to draw. */
static void test_a_picture_stays_small(void **state)
{
	struct dt_profile *profile = empty_profile();
	uint64_t at = 0;
	size_t size;
	char *text;

	(void)state;
	for (uint32_t i = 1; i <= 4; i++) {
		uint32_t outer = example_frame(profile, 0, "outer", "/srv/a.py", i);

		for (uint32_t k = 1; k <= 200; k++) {
			uint32_t inner = example_frame(profile, outer, "inner", "/srv/a.py", k);

			for (uint32_t m = 1; m <= 200; m++, at += 1000)
				add_run(profile, example_frame(profile, inner, "leaf", "/srv/a.py", m), at, 1000);
		}
	}
	text = render(&dt_profile_svg, profile, (struct dt_view_options){0}, &size);
	assert_int_equal(count(text, "<g class=\"f"), 1 + 4 + 4 * 200);
	assert_non_null(strstr(text, "160,000 frames are not drawn, with 100% of the time"));
	assert_true(size < 1 << 20);
	free(text);
	dt_profile_free(profile);
}

/* Share alone does not bound this one: every frame has all of the time. */
static void test_a_deep_stack_ends(void **state)
{
	struct dt_profile *profile = empty_profile();
	uint32_t stack = 0;
	size_t size;
	char *text;

	(void)state;
	for (uint32_t i = 0; i < 30000; i++)
		stack = example_frame(profile, stack, "down", "/srv/a.py", 3);
	add_run(profile, stack, 0, 1000000);
	text = render(&dt_profile_svg, profile, (struct dt_view_options){0}, &size);
	assert_int_equal(count(text, "<g class=\"f"), 2000);
	assert_non_null(strstr(text, "28,001 frames"));
	free(text);
	dt_profile_free(profile);
}

/* Of names that are far too long, as a hostile program has them, the beginning is shown; none is cut in a character. */
static void test_long_names_are_cut(void **state)
{
	struct dt_profile *profile = empty_profile();
	char *name = malloc(8001), *file = malloc(8001);
	uint32_t stack;

	(void)state;
	assert_non_null(name);
	assert_non_null(file);
	for (size_t i = 0; i < 8000; i++) {
		name[i] = i % 2 ? '\xa9' : '\xc3';
		file[i] = i % 16 ? 'f' : '/';
	}
	name[8000] = file[8000] = '\0';
	stack = example_frame(profile, 0, name, file, 3);
	stack = example_other_frame(profile, stack, name, "", DT_FUNCTION_MARK);
	memset(name, '\x80', 8000);
	add_run(profile, example_frame(profile, stack, name, "/srv/a.py", 5), 0, 1000000);
	compare_with(profile, &dt_profile_folded, (struct dt_view_options){0}, "long-names.folded");
	compare_with(profile, &dt_profile_speedscope, (struct dt_view_options){0}, "long-names.json");
	compare_with(profile, &dt_profile_chrome, (struct dt_view_options){0}, "long-names.trace.json");
	free(name);
	free(file);
	dt_profile_free(profile);
}

/* Signs that take no column are not cut by columns: a thousand boxes have such a name, and such a path. */
static void test_a_picture_of_long_names_stays_small(void **state)
{
	static char name[200001], file[200001];
	struct dt_profile *profile = empty_profile();
	uint32_t stack = 0;
	size_t size;
	char *text;

	(void)state;
	for (size_t i = 0; i < sizeof(name) - 1; i++)
		name[i] = file[i] = i % 2 ? '\x81' : '\xcc';
	memcpy(name, "na", 2);
	memcpy(file, "/p", 2);
	for (uint32_t i = 0; i < 1000; i++)
		stack = example_frame(profile, stack, name, file, 3);
	add_run(profile, stack, 0, 1000000);
	text = render(&dt_profile_svg, profile, (struct dt_view_options){.full_names = true}, &size);
	assert_int_equal(count(text, "<g class=\"f"), 1001);
	assert_int_equal(count(text, "<title>na\xcc\x81"), 1000);
	assert_int_equal(count(text, "\n/p\xcc\x81"), 1000);
	assert_true(size < 16 << 20);
	free(text);
	dt_profile_free(profile);
}

/* A stack as deep as a recording may have them: the outer and the inner frames, and a word on those between. */
static void test_very_deep_stacks_are_cut(void **state)
{
	static const struct {
		const struct dt_profile_format *format;
		const char *frame, *left_out;
		size_t times;
	} cases[] = {
	    {&dt_profile_folded, "down (/srv/a.py:3)", ";[… 55,537 frames];", 9999},
	    {&dt_profile_speedscope, ",0", ",\"name\":\"[… 55,537 frames]\"", 0},
	    {&dt_profile_chrome, "\"ph\":\"B\"", "\"name\":\"[… 55,537 frames]\",\"cat\":\"state\"", 10000},
	};
	struct dt_profile *profile = empty_profile();
	uint32_t stack = 0;

	(void)state;
	for (uint32_t i = 0; i < DT_PROFILE_DEPTH; i++)
		stack = example_frame(profile, stack, "down", "/srv/a.py", 3);
	add_run(profile, stack, 0, 1000000);
	for (size_t i = 0; i < DT_COUNT(cases); i++) {
		size_t size;
		char *text = render(cases[i].format, profile, (struct dt_view_options){.full_names = true}, &size);

		if (cases[i].times)
			assert_int_equal(count(text, cases[i].frame), cases[i].times);
		else
			assert_true(count(text, cases[i].frame) >= 9990);
		assert_non_null(strstr(text, cases[i].left_out + (cases[i].times ? 0 : 1)));
		free(text);
	}
	dt_profile_free(profile);
}

/* What is not deeper than that is whole. */
static void test_deep_stacks_are_whole(void **state)
{
	struct dt_profile *profile = empty_profile();
	uint32_t stack = 0;
	size_t size;
	char *text;

	(void)state;
	for (uint32_t i = 0; i < 10000; i++)
		stack = example_frame(profile, stack, "down", "/srv/a.py", 3);
	add_run(profile, stack, 0, 1000000);
	text = render(&dt_profile_folded, profile, (struct dt_view_options){0}, &size);
	assert_int_equal(count(text, "down"), 10000);
	assert_null(strstr(text, "[…"));
	free(text);
	dt_profile_free(profile);
}

static void test_a_bounded_output(void **state)
{
	struct dt_bounded bounded;
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size), *out;

	(void)state;
	assert_non_null(to);
	out = dt_bounded_open(&bounded, to, 5);
	assert_non_null(out);
	assert_true(fputs("12345", out) >= 0);
	assert_int_equal(fflush(out), 0);
	assert_false(bounded.full);
	assert_true(fputs("6", out) >= 0);
	errno = 0;
	assert_int_equal(fflush(out), EOF);
	assert_int_equal(errno, EFBIG);
	assert_true(bounded.full && ferror(out));
	fclose(out);
	assert_int_equal(fclose(to), 0);
	assert_string_equal(text, "12345");
	free(text);
}

/* A recording in which nothing is to be shown is a document all the same. */
static void test_nothing_recorded(void **state)
{
	struct dt_profile *profile = empty_profile();
	size_t size;
	char *text;

	(void)state;
	text = render(&dt_profile_svg, profile, (struct dt_view_options){0}, &size);
	assert_non_null(strstr(text, "There is nothing to show: no thread was seen."));
	assert_null(strstr(text, "--idle"));
	assert_non_null(strstr(text, "quality: poor, no sample was taken"));
	assert_non_null(strstr(text, "</svg>\n"));
	free(text);
	text = render(&dt_profile_speedscope, profile, (struct dt_view_options){0}, &size);
	assert_int_equal(count(text, "\"sampled\""), 1);
	free(text);
	text = render(&dt_profile_chrome, profile, (struct dt_view_options){0}, &size);
	assert_non_null(strstr(text, "\"traceEvents\":[]"));
	free(text);
	dt_profile_free(profile);
}

/* Pids and thread ids that are used again would mix two time lines. */
static void test_every_time_line_has_its_own_ids(void **state)
{
	struct dt_profile *profile = empty_profile();
	struct dt_profile_process process = {.pid = 12};
	struct dt_profile_thread thread = {.process = 1, .tid = 12};
	uint32_t stack = example_frame(profile, 0, "f", "/srv/a.py", 3), id;
	size_t size;
	char *text;

	(void)state;
	assert_int_equal(dt_profile_add_process(profile, &process, &id), 0);
	assert_int_equal(dt_profile_add_thread(profile, &thread, &id), 0);
	thread.process = 2;
	assert_int_equal(dt_profile_add_thread(profile, &thread, &id), 0);
	for (id = 1; id <= 3; id++) {
		struct dt_profile_run run = {
		    .wall_ns = 10, .samples = 1, .thread = id, .stack = stack, .state = DT_STATE_RUNNING};

		assert_int_equal(dt_profile_add_run(profile, &run), 0);
	}
	text = render(&dt_profile_chrome, profile, (struct dt_view_options){0}, &size);
	assert_int_equal(count(text, "{\"ph\":\"B\",\"pid\":12,\"tid\":12,"), 1);
	assert_int_equal(count(text, "{\"ph\":\"B\",\"pid\":12,\"tid\":1073741826,"), 1);
	assert_int_equal(count(text, "{\"ph\":\"B\",\"pid\":1073741826,\"tid\":12,"), 1);
	assert_int_equal(count(text, "\"process_name\""), 2);
	free(text);
	dt_profile_free(profile);
}

static void test_a_full_disk_is_told(void **state)
{
	struct dt_profile *profile = example_profile();
	struct dt_view *view = view_of(profile, (struct dt_view_options){0});
	struct dt_profile_render how = {0};

	(void)state;
	for (const struct dt_profile_format *const *format = dt_profile_formats(); *format; format++) {
		FILE *full;

		if (!(*format)->render)
			continue; /* the recording itself */
		full = fopen("/dev/full", "w");
		assert_non_null(full);
		setvbuf(full, NULL, _IONBF, 0);
		assert_int_equal((*format)->render(view, &how, full), DT_ERUNTIME);
		fclose(full);
	}
	dt_view_free(view);
	dt_profile_free(profile);
}

/* What stands between two words: the caller frees it. */
static char *between(const char *text, const char *from, const char *to)
{
	const char *start = strstr(text, from), *end = start ? strstr(start += strlen(from), to) : NULL;

	assert_non_null(end);
	return strndup(start, (size_t)(end - start));
}

/* The verdict of a recording of which most is waiting that is not shown, and `unseen` of `busy` looks saw no stack. */
static void check_verdict(uint32_t busy, uint32_t unseen, struct dt_profile_quality quality, const char *verdict,
			  const char *more)
{
	struct dt_profile *profile = empty_profile();
	uint32_t stack = example_frame(profile, 0, "f", "/srv/a.py", 3);
	struct dt_profile_run run = {.thread = 1};
	const struct {
		uint32_t samples;
		enum dt_state state;
		uint8_t flags;
	} runs[] = {{10000, DT_STATE_SLEEPING, 0},
		    {busy - unseen, DT_STATE_RUNNING, 0},
		    {unseen, DT_STATE_RUNNING, DT_RUN_UNSEEN}};
	struct dt_profile_meta meta = {.rate = 100, .quality = quality};
	char expected[256], *picture, *words, *told;
	size_t size;

	for (size_t i = 0; i < DT_COUNT(runs); i++, run.start_ns += run.wall_ns) {
		run.samples = runs[i].samples;
		run.wall_ns = run.samples * 10 * EXAMPLE_MS;
		run.state = (uint8_t)runs[i].state;
		run.flags = runs[i].flags;
		run.stack = run.flags & DT_RUN_UNSEEN ? 0 : stack;
		if (run.samples)
			assert_int_equal(dt_profile_add_run(profile, &run), 0);
	}
	meta.duration_ns = run.start_ns;
	meta.quality.samples = 10000 + busy;
	meta.quality.unseen = unseen;
	meta.quality.rounds = quality.rounds ? quality.rounds : 10000 + busy;
	dt_profile_set_meta(profile, &meta);
	picture = render(&dt_profile_svg, profile, (struct dt_view_options){0}, &size);
	told = between(picture, "y=\"50\">", "</text>");
	snprintf(expected, sizeof(expected), "quality: %s has a true stack%s; wall time, 1m40s of waiting hidden ",
		 verdict, more);
	if (strncmp(told, expected, strlen(expected)) != 0)
		fail_msg("not '%s', but '%s'", expected, told);
	free(picture);
	free(told);
	/* In the summary the same. */
	words = render(&dt_profile_summary, profile, (struct dt_view_options){0}, &size);
	told = between(words, "Quality: ", " of this time has a true stack");
	if (strncmp(told, verdict, strcspn(verdict, ",")) != 0 || !strstr(told, strrchr(verdict, ',')))
		fail_msg("not '%s', but '%s'", verdict, told);
	free(words);
	free(told);
	dt_profile_free(profile);
}

static void test_the_verdict_is_that_of_the_summary(void **state)
{
	struct dt_profile_quality well = {0};

	(void)state;
	check_verdict(200, 111, well, "poor, 44.5%", "");
	check_verdict(200, 10, well, "fair, 95.0%", "");
	check_verdict(200, 0, well, "good, 100.0%", "");
	check_verdict(20, 4, well, "poor, only 20 samples, 80.0%", "");
	/* What the share does not explain. */
	check_verdict(200, 0, (struct dt_profile_quality){.rounds = 3060}, "poor, 100.0%",
		      ", 30.0 of 100 rounds a second");
	check_verdict(200, 0, (struct dt_profile_quality){.rounds = 9690, .lost = 510}, "fair, 100.0%",
		      ", 5.0% of the rounds lost");
}

static void test_formats_are_found(void **state)
{
	(void)state;
	assert_ptr_equal(dt_profile_format_by_name("svg"), &dt_profile_svg);
	assert_ptr_equal(dt_profile_format_by_name("flamegraph"), &dt_profile_svg);
	assert_ptr_equal(dt_profile_format_by_name("chrometrace"), &dt_profile_chrome);
	assert_null(dt_profile_format_by_name("sv"));
	assert_ptr_equal(dt_profile_format_by_file("a.b.svg"), &dt_profile_svg);
	assert_ptr_equal(dt_profile_format_by_file("/x/a.json"), &dt_profile_speedscope);
	assert_ptr_equal(dt_profile_format_by_file("/x/a.trace.json"), &dt_profile_chrome);
	assert_null(dt_profile_format_by_file("svg"));
	assert_null(dt_profile_format_by_file(".svg"));
	assert_null(dt_profile_format_by_file(""));
}

static void test_colours_say_whose_code_it_is(void **state)
{
	static const struct {
		char band;
		const char *file;
	} files[] = {
	    {'o', "/srv/app/main.py"},
	    {'o', "main.py"},
	    {'o', "<string>"},
	    {'o', ""},
	    {'o', "/srv/pythonic/main.py"},
	    {'l', "/usr/lib/python3/dist-packages/numpy/core.py"},
	    {'l', "/srv/.venv/lib/python3.13t/site-packages/six.py"},
	    {'s', "/usr/lib/python3.11/threading.py"},
	    {'s', "/usr/lib64/python2.7/json/__init__.py"},
	    {'s', "<frozen importlib._bootstrap>"},
	};
	struct dt_color one, other;

	(void)state;
	for (size_t i = 0; i < DT_COUNT(files); i++)
		assert_int_equal(dt_module_color(DT_FUNCTION_PYTHON, files[i].file, "f").band, files[i].band);
	assert_int_equal(dt_module_color(DT_FUNCTION_NATIVE, "/lib/libc.so.6", "f").band, 'n');
	assert_int_equal(dt_module_color(DT_FUNCTION_MARK, "", "[torn]").band, 'm');
	/* One package, wherever it is installed. */
	one = dt_module_color(DT_FUNCTION_PYTHON, "/a/lib/python3.9/site-packages/numpy/core.py", "f");
	other = dt_module_color(DT_FUNCTION_PYTHON, "/b/site-packages/numpy/lib/io.py", "f");
	assert_int_equal(one.number, other.number);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_flame_graph),
	    cmocka_unit_test(test_speedscope),
	    cmocka_unit_test(test_chrome),
	    cmocka_unit_test(test_a_picture_stays_small),
	    cmocka_unit_test(test_a_deep_stack_ends),
	    cmocka_unit_test(test_long_names_are_cut),
	    cmocka_unit_test(test_a_picture_of_long_names_stays_small),
	    cmocka_unit_test(test_very_deep_stacks_are_cut),
	    cmocka_unit_test(test_deep_stacks_are_whole),
	    cmocka_unit_test(test_a_bounded_output),
	    cmocka_unit_test(test_nothing_recorded),
	    cmocka_unit_test(test_every_time_line_has_its_own_ids),
	    cmocka_unit_test(test_a_full_disk_is_told),
	    cmocka_unit_test(test_the_verdict_is_that_of_the_summary),
	    cmocka_unit_test(test_formats_are_found),
	    cmocka_unit_test(test_colours_say_whose_code_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
