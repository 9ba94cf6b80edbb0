/* The summary of recordings made by hand, against tests/golden: wide and narrow, with colours, with nothing to show. */
#include "unit.h"

#include <errno.h>

#include "base/numbers.h"
#include "base/utf8.h"
#include "format/profile_formats.h"
#include "format/units.h"
#include "golden.h"
#include "profile_example.h"
#include "record/watcher.h"

static void render_to(FILE *out, const struct dt_profile *profile, const struct dt_view_options *options,
		      const struct dt_profile_render *render)
{
	struct dt_view *view;

	assert_int_equal(dt_view_new(profile, options, &view, NULL), 0);
	assert_int_equal(dt_profile_summary.render(view, render, out), 0);
	dt_view_free(view);
}

static void compare(const struct dt_profile *profile, const struct dt_view_options *options,
		    const struct dt_profile_render *render, const char *name)
{
	struct golden golden;

	render_to(golden_begin(&golden), profile, options, render);
	golden_end(&golden, name);
}

static void test_example(void **state)
{
	static const char *const everything[] = {"."};
	struct dt_profile *profile = example_profile();

	(void)state;
	compare(profile, NULL, NULL, "summary.txt");
	compare(profile, NULL, &(struct dt_profile_render){.columns = 60, .rows = 4}, "summary-60.txt");
	compare(profile, NULL, &(struct dt_profile_render){.columns = 160, .color = true}, "summary-160-color.txt");
	compare(profile, &(struct dt_view_options){.idle = true, .no_lines = true, .full_names = true},
		&(struct dt_profile_render){.columns = 100}, "summary-idle.txt");
	compare(profile, &(struct dt_view_options){.threads = true, .idle = true},
		&(struct dt_profile_render){.columns = 100, .rows = 3}, "summary-threads.txt");
	compare(profile,
		&(struct dt_view_options){
		    .weight = DT_WEIGHT_CPU, .main_thread = true, .hide = everything, .hide_count = 1},
		&(struct dt_profile_render){.columns = 80}, "summary-hidden.txt");
	dt_profile_free(profile);
}

/* A recording of one thread of a busy program, as most of them are. */
static struct dt_profile *busy_profile(enum dt_state state, uint64_t ns)
{
	struct dt_profile *profile = dt_profile_new();
	struct dt_profile_process process = {.pid = 12, .command = example_string(profile, "python3 app.py")};
	struct dt_profile_thread thread = {.tid = 12, .name = example_string(profile, "MainThread"), .main = true};
	struct dt_profile_run run = {.samples = 1000, .state = (uint8_t)state};
	struct dt_profile_meta meta = {.duration_ns = 10000 * EXAMPLE_MS,
				       .rate = 100,
				       .rung = example_string(profile, "perch"),
				       .quality = {.samples = 1000, .rounds = 1000, .own_rss = 7200000}};

	assert_int_equal(dt_profile_add_process(profile, &process, &thread.process), 0);
	assert_int_equal(dt_profile_add_thread(profile, &thread, &run.thread), 0);
	run.stack = example_frame(profile, example_frame(profile, 0, "<module>", "/srv/app.py", 9), "main",
				  "/srv/app.py", 15);
	run.wall_ns = ns;
	meta.quality.own_cpu_ns = 90 * EXAMPLE_MS;
	if (ns)
		assert_int_equal(dt_profile_add_run(profile, &run), 0);
	dt_profile_set_meta(profile, &meta);
	return profile;
}

static void test_little_to_say(void **state)
{
	static const struct {
		enum dt_state state;
		uint64_t ns;
		struct dt_view_options options;
		const char *name;
	} cases[] = {
	    {DT_STATE_RUNNING, 10000 * EXAMPLE_MS, {0}, "summary-busy.txt"},
	    {DT_STATE_SLEEPING, 10000 * EXAMPLE_MS, {0}, "summary-all-idle.txt"},
	    {DT_STATE_SLEEPING, 10000 * EXAMPLE_MS, {.weight = DT_WEIGHT_GIL, .gc = true}, "summary-filtered.txt"},
	    {DT_STATE_RUNNING, 0, {0}, "summary-empty.txt"},
	};

	(void)state;
	for (size_t i = 0; i < DT_COUNT(cases); i++) {
		struct dt_profile *profile = busy_profile(cases[i].state, cases[i].ns);

		compare(profile, &cases[i].options, &(struct dt_profile_render){.columns = 80}, cases[i].name);
		dt_profile_free(profile);
	}
}

/* What was too much to be kept apart is told, and a stack that was not kept is no true one. */
static void test_limits(void **state)
{
	struct dt_profile *profile = busy_profile(DT_STATE_RUNNING, 9000 * EXAMPLE_MS);
	struct dt_profile_thread other = {.process = 1, .ident = 2, .name = example_string(profile, DT_OTHER_THREADS)};
	struct dt_profile_function mark = {.kind = DT_FUNCTION_MARK,
					   .name = example_string(profile, DT_TOO_MANY_STACKS)};
	struct dt_profile_run run = {.wall_ns = 1000 * EXAMPLE_MS, .samples = 100, .state = DT_STATE_RUNNING};
	struct dt_profile_location location = {0};
	struct golden golden;
	uint32_t id;

	(void)state;
	assert_int_equal(dt_profile_add_thread(profile, &other, &run.thread), 0);
	assert_int_equal(dt_profile_function(profile, &mark, &location.function), 0);
	assert_int_equal(dt_profile_location(profile, &location, &id), 0);
	assert_int_equal(dt_profile_stack(profile, 0, id, &run.stack), 0);
	assert_int_equal(dt_profile_add_run(profile, &run), 0);
	render_to(golden_begin(&golden), profile, NULL, NULL);
	assert_int_equal(fclose(golden.out), 0);
	assert_non_null(strstr(golden.data, "Quality: fair, 90.0% of this time has a true stack"));
	assert_non_null(strstr(golden.data, " other threads, 2\n"));
	assert_non_null(strstr(golden.data, " [too many stacks]\n"));
	assert_non_null(strstr(golden.data, "note: there were too many threads "));
	assert_non_null(strstr(golden.data, "note: there were too many different stacks "));
	free(golden.data);
	dt_profile_free(profile);
}

/* Processes that were too quick are told, and if they are many the recording is not good. */
static void test_missed(void **state)
{
	static const struct {
		uint64_t missed;
		const char *verdict, *note;
	} cases[] = {
	    {0, "Quality: good", NULL},
	    {1, "Quality: fair", "note: 1 process ended before it could be looked at, "},
	    {1246, "Quality: fair", "note: 1,246 processes ended before they could be looked at, "},
	};

	(void)state;
	for (size_t i = 0; i < DT_COUNT(cases); i++) {
		struct dt_profile *profile = busy_profile(DT_STATE_RUNNING, 10000 * EXAMPLE_MS);
		struct dt_profile_meta meta = *dt_profile_meta(profile);
		struct golden golden;

		meta.quality.missed = cases[i].missed;
		dt_profile_set_meta(profile, &meta);
		render_to(golden_begin(&golden), profile, NULL, NULL);
		assert_int_equal(fclose(golden.out), 0);
		assert_non_null(strstr(golden.data, cases[i].verdict));
		assert_true(cases[i].note ? !!strstr(golden.data, cases[i].note)
					  : !strstr(golden.data, "could be looked at"));
		free(golden.data);
		dt_profile_free(profile);
	}
}

/* What a damaged file has lost is told, and takes the word down, however good the rest is. */
static void test_damage(void **state)
{
	static const struct {
		uint64_t ms, samples;
		const char *verdict, *note;
	} cases[] = {
	    {0, 0, "Quality: good, 100.0% of this time has a true stack; 100.0 of 100", NULL},
	    {0, 1, "Quality: good, 100.0% of this time has a true stack, 0.1% of the recording lost; 100.0 of 100",
	     "note: the file of this recording was damaged: 1 of 1,001 samples are lost. All "},
	    {500, 50, "Quality: fair, 100.0% of this time has a true stack, 4.8% of the recording lost; ",
	     "note: the file of this recording was damaged: 500 ms of 10.5 s and 50 of 1,050 samples are lost. All "},
	    {10000, 1000, "Quality: poor, 100.0% of this time has a true stack, 50.0% of the recording lost; ",
	     "note: the file of this recording was damaged: 10.0 s of 20.0 s and 1,000 of 2,000 samples are lost. "},
	};

	(void)state;
	for (size_t i = 0; i < DT_COUNT(cases); i++) {
		struct dt_profile *profile = busy_profile(DT_STATE_RUNNING, 10000 * EXAMPLE_MS);
		struct dt_profile_meta meta = *dt_profile_meta(profile);
		struct golden golden;

		meta.damaged_ns = cases[i].ms * EXAMPLE_MS;
		meta.damaged_samples = cases[i].samples;
		dt_profile_set_meta(profile, &meta);
		render_to(golden_begin(&golden), profile, NULL, NULL);
		assert_int_equal(fclose(golden.out), 0);
		assert_non_null(strstr(golden.data, cases[i].verdict));
		assert_true(cases[i].note ? !!strstr(golden.data, cases[i].note) : !strstr(golden.data, "damaged"));
		free(golden.data);
		dt_profile_free(profile);
	}
}

/* A file may say anything of itself. */
static void test_hostile_meta(void **state)
{
	struct dt_profile *profile = example_profile();
	struct dt_profile_meta meta = {.duration_ns = 0,
				       .rate = 1e300,
				       .rung = example_string(profile, "\x1b[2J"),
				       .rung_why = example_string(profile, "a\nb"),
				       .quality = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, 0,
						   UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}};
	struct golden golden;

	(void)state;
	dt_profile_set_meta(profile, &meta);
	render_to(golden_begin(&golden), profile, NULL, &(struct dt_profile_render){.columns = 80});
	assert_int_equal(fclose(golden.out), 0);
	for (size_t i = 0; i < golden.size; i++)
		assert_true(golden.data[i] == '\n' || (unsigned char)golden.data[i] >= ' ');
	free(golden.data);
	dt_profile_free(profile);
}

/* No line is wider than the terminal, and those of tables end with what they are about. */
static void test_fits(void **state)
{
	struct dt_profile *profile = example_profile();
	size_t lines = 0;

	(void)state;
	for (size_t columns = 40; columns <= 250; columns++) {
		struct golden golden;
		char *rest = NULL;

		render_to(golden_begin(&golden), profile, &(struct dt_view_options){.idle = true, .full_names = true},
			  &(struct dt_profile_render){.columns = columns});
		assert_int_equal(fclose(golden.out), 0);
		assert_non_null(strstr(golden.data, ":21)\n"));
		for (char *line = strtok_r(golden.data, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
			if (dt_columns(line) > columns)
				fail_msg("wider than %zu: %s", columns, line);
			lines++;
		}
		free(golden.data);
	}
	assert_true(lines > 211 * 30);
	dt_profile_free(profile);
}

/* Names that begin alike are told apart, and the bar gives them its room before anything of them is cut. */
static void test_long_names(void **state)
{
	static const struct {
		size_t columns;
		const char *shown[3];
	} cases[] = {
	    {120,
	     {"  AVeryLongClassNameForTesting.a_method_with_quite_a_long_name (long.py:1)\n",
	      "  AVeryLongClassNameForTesting.a_method…quite_a_long_name.<locals>.<genexpr> (long.py:1)\n",
	      "  f (long.py:1)\n"}},
	    {80,
	     {"AVeryLongClassNam…uite_a_long_name (long.py:1)\n", "AVeryLongClassNam…ocals>.<genexpr> (long.py:1)\n",
	      "  f (long.py:1)\n"}},
	    {50, {"AVeryLongCl…_long_name (long.py:1)\n", "AVeryLongCl….<genexpr> (long.py:1)\n", "  f (long.py:1)\n"}},
	};
	static const char *const names[] = {
	    "AVeryLongClassNameForTesting.a_method_with_quite_a_long_name",
	    "AVeryLongClassNameForTesting.a_method_with_quite_a_long_name.<locals>.<genexpr>", "f"};
	struct dt_profile *profile = busy_profile(DT_STATE_RUNNING, 1000 * EXAMPLE_MS);

	(void)state;
	for (uint32_t i = 0; i < DT_COUNT(names); i++) {
		struct dt_profile_run run = {
		    .thread = 1, .wall_ns = 1000 * EXAMPLE_MS, .samples = 100, .state = DT_STATE_RUNNING};

		run.start_ns = (i + 1) * 1000 * EXAMPLE_MS;
		run.stack = example_frame(profile, 0, names[i], "/srv/some/where/long.py", 4 + i);
		assert_int_equal(dt_profile_add_run(profile, &run), 0);
	}
	for (size_t i = 0; i < DT_COUNT(cases); i++) {
		struct golden golden;

		render_to(golden_begin(&golden), profile, NULL,
			  &(struct dt_profile_render){.columns = cases[i].columns});
		assert_int_equal(fclose(golden.out), 0);
		for (size_t k = 0; k < DT_COUNT(cases[i].shown); k++)
			if (!strstr(golden.data, cases[i].shown[k]))
				fail_msg("at %zu columns no '%s' in\n%s", cases[i].columns, cases[i].shown[k],
					 golden.data);
		free(golden.data);
	}
	dt_profile_free(profile);
}

/* A command that has to be cut leaves room for what follows it, or has the line for itself. */
static void test_first_line(void **state)
{
	static const char *const commands[] = {
	    "/usr/bin/python3 server.py --port 8080 --workers 12 --log /var/log/server.log --config /etc/server.conf",
	    "python3 -c "
	    "x=1;import_nothing_and_do_nothing_but_one_word_of_a_hundred_and_more_letters_that_is_never_broken_",
	};

	(void)state;
	for (size_t i = 0; i < DT_COUNT(commands); i++) {
		struct dt_profile *profile = dt_profile_new();
		struct dt_profile_process process = {.pid = 1234567, .command = example_string(profile, commands[i])};
		struct dt_profile_meta meta = {.duration_ns = 12300 * EXAMPLE_MS, .quality = {.samples = 12345}};
		uint32_t id;

		assert_int_equal(dt_profile_add_process(profile, &process, &id), 0);
		dt_profile_set_meta(profile, &meta);
		for (size_t columns = 60; columns <= 200; columns++) {
			struct golden golden;
			char *second, *cut;

			render_to(golden_begin(&golden), profile, NULL,
				  &(struct dt_profile_render){.columns = columns});
			assert_int_equal(fclose(golden.out), 0);
			cut = strstr(golden.data, "…)");
			second = strchr(golden.data, '\n') + 1;
			if (!strncmp(second - strlen("threads\n"), "threads", strlen("threads")))
				second += strlen(second);
			if (!strstr(golden.data, "12,345 samples of 0 threads\n") && cut)
				fail_msg("%s", golden.data);
			if (cut && second[0])
				assert_memory_equal(second, "for 12.3 s: ", strlen("for 12.3 s: "));
			free(golden.data);
		}
		dt_profile_free(profile);
	}
}

static void test_units(void **state)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} times[] = {
	    {0, "0 ns"},
	    {999, "999 ns"},
	    {1000, "1.00 us"},
	    {12345, "12.3 us"},
	    {999499, "999 us"},
	    {999500, "1.00 ms"},
	    {40 * EXAMPLE_MS, "40.0 ms"},
	    {UINT64_C(999999999), "1.00 s"},
	    {UINT64_C(1860000000), "1.86 s"},
	    {UINT64_C(99949999999), "99.9 s"},
	    {UINT64_C(99950000000), "1m40s"},
	    {UINT64_C(3599400000000), "59m59s"},
	    {UINT64_C(3599500000000), "1h00m"},
	    {UINT64_C(360000) * 1000 * EXAMPLE_MS, "4d04h"},
	    {UINT64_MAX, "213503d23h"},
	};
	struct dt_buf buf = DT_BUF_INIT;

	(void)state;
	for (size_t i = 0; i < DT_COUNT(times); i++) {
		dt_buf_clear(&buf);
		dt_put_time(&buf, times[i].ns);
		assert_string_equal(buf.data, times[i].text);
	}
	dt_buf_clear(&buf);
	dt_put_share(&buf, 1, 3);
	dt_put_share(&buf, 1, 0);
	dt_put_bytes(&buf, 999);
	dt_put_bytes(&buf, 5 << 20);
	dt_put_bytes(&buf, UINT64_MAX);
	assert_string_equal(buf.data, "33.3%-1.0 kB5.2 MB18 EB");
	dt_buf_release(&buf);
}

/* A rate of a million is written as people do. */
static void test_numbers(void **state)
{
	static const struct {
		double number;
		const char *text;
	} cases[] = {{1, "1"},
		     {1e6, "1,000,000"},
		     {1234.5, "1,234.5"},
		     {99.95, "99.95"},
		     {0.001, "0.001"},
		     {0.0004, "0"},
		     {999.9996, "1,000"},
		     {12.05, "12.05"},
		     {1e300, "1,000,000,000,000,000"}};
	struct dt_profile *profile = busy_profile(DT_STATE_RUNNING, 10000 * EXAMPLE_MS);
	struct dt_profile_meta meta = *dt_profile_meta(profile);
	struct dt_buf buf = DT_BUF_INIT;
	struct golden golden;

	(void)state;
	for (size_t i = 0; i < DT_COUNT(cases); i++) {
		dt_buf_clear(&buf);
		dt_put_number(&buf, cases[i].number);
		assert_string_equal(buf.data, cases[i].text);
	}
	dt_buf_release(&buf);
	meta.rate = 1e6;
	meta.quality.rounds = 9876543;
	dt_profile_set_meta(profile, &meta);
	render_to(golden_begin(&golden), profile, NULL, NULL);
	assert_int_equal(fclose(golden.out), 0);
	assert_non_null(strstr(golden.data, "; 987,654 of 1,000,000 rounds a second\n"));
	free(golden.data);
	dt_profile_free(profile);
}

/* Rounds that did not take place because a look took long are in no count: the word and a note speak of them. Where
 * there was nobody to look at for most of the time none is missing. */
static void test_fewer_rounds(void **state)
{
	static const struct {
		uint64_t ns, rounds, lost;
		const char *word, *note;
	} cases[] = {
	    {10000, 985, 0, "good", NULL},
	    {10000, 60, 0, "poor", "of 1,000 looks that were asked for 60 took place"},
	    {10000, 480, 0, "poor", "'--rate 48'"},
	    {10000, 700, 0, "fair", "of 1,000 looks that were asked for 700 took place"},
	    {10000, 5, 0, "poor", "of 1,000 looks that were asked for 5 took place"},
	    {10000, 600, 395, "poor", "of the rounds did not take place, or were not kept"},
	    {1000, 98, 0, "good", NULL},
	    {1000, 60, 0, "fair", "of 100 looks that were asked for 60 took place"},
	};

	(void)state;
	for (size_t i = 0; i < DT_COUNT(cases); i++) {
		struct dt_profile *profile = busy_profile(DT_STATE_RUNNING, cases[i].ns * EXAMPLE_MS);
		struct dt_profile_meta meta = *dt_profile_meta(profile);
		struct golden golden;
		char expected[64];

		meta.quality.rounds = cases[i].rounds;
		meta.quality.lost = cases[i].lost;
		dt_profile_set_meta(profile, &meta);
		render_to(golden_begin(&golden), profile, NULL, NULL);
		assert_int_equal(fclose(golden.out), 0);
		snprintf(expected, sizeof(expected), "Quality: %s,", cases[i].word);
		assert_non_null(strstr(golden.data, expected));
		if (cases[i].note)
			assert_non_null(strstr(golden.data, cases[i].note));
		else
			assert_null(strstr(golden.data, "note:"));
		free(golden.data);
		dt_profile_free(profile);
	}
}

static void set_rung(struct dt_profile *profile, double rate, uint64_t rounds, const char *rung, const char *why)
{
	struct dt_profile_meta meta = *dt_profile_meta(profile);

	meta.rate = rate;
	meta.quality.rounds = rounds;
	meta.rung = example_string(profile, rung);
	meta.rung_why = example_string(profile, why);
	dt_profile_set_meta(profile, &meta);
}

/* A second run of the busy program, whose stack is not known. */
static void add_unseen(struct dt_profile *profile, uint64_t ns)
{
	struct dt_profile_run run = {.start_ns = 10000 * EXAMPLE_MS - ns,
				     .wall_ns = ns,
				     .samples = 100,
				     .thread = 1,
				     .state = DT_STATE_RUNNING,
				     .flags = DT_RUN_UNSEEN};

	if (ns)
		assert_int_equal(dt_profile_add_run(profile, &run), 0);
}

/* Where the rate is why stacks are not proven the one is named at which they are, and no other. */
static void test_too_high_a_rate(void **state)
{
	static const struct {
		double rate;
		uint64_t unseen, rounds;
		const char *why;
		bool told, slower;
	} cases[] = {
	    {10000, 5000, 71220, DT_WHY_RATE, true, false},
	    {10000, 5000, 100000, DT_WHY_RATE, true, false},
	    {10000, 0, 71220, DT_WHY_RATE, true, false},
	    {10000, 0, 100000, DT_WHY_RATE, false, false},
	    {10000, 5000, 71220, "no perch was asked for", false, true},
	    {5000, 5000, 30000, "", false, true},
	};

	(void)state;
	for (size_t i = 0; i < DT_COUNT(cases); i++) {
		struct dt_profile *profile = busy_profile(DT_STATE_RUNNING, (10000 - cases[i].unseen) * EXAMPLE_MS);
		struct golden golden;

		set_rung(profile, cases[i].rate, cases[i].rounds, "beside, with pauses", cases[i].why);
		add_unseen(profile, cases[i].unseen * EXAMPLE_MS);
		render_to(golden_begin(&golden), profile, NULL, NULL);
		assert_int_equal(fclose(golden.out), 0);
		assert_int_equal(strstr(golden.data, "'--rate 5000' is the highest at which they can be proven") !=
				     NULL,
				 cases[i].told);
		assert_int_equal(strstr(golden.data, "asks for as many as there can be") != NULL, cases[i].slower);
		free(golden.data);
		dt_profile_free(profile);
	}
}

/* If the right to a real-time priority is missing, and that may be why it is not good, what gives it is said. */
static void test_a_right_is_missing(void **state)
{
	static const struct {
		uint64_t unseen;
		const char *why, *program, *line;
	} cases[] = {
	    {500, "no right to a real-time priority (CAP_SYS_NICE)", "/usr/local/bin/darter",
	     "darter: 'sudo setcap cap_sys_nice+ep /usr/local/bin/darter'\n"},
	    {5000, DT_WHY_LATE ", and there is no right to a real-time priority (CAP_SYS_NICE)", NULL,
	     "darter: 'sudo setcap cap_sys_nice+ep \"$(command -v darter)\"'\n"},
	    {0, "no right to a real-time priority (CAP_SYS_NICE)", NULL, NULL},
	    {5000, DT_WHY_LATE, NULL, NULL},
	    {5000, "this cgroup has no real-time budget (cpu.rt_runtime_us)", NULL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < DT_COUNT(cases); i++) {
		struct dt_profile *profile = busy_profile(DT_STATE_RUNNING, (10000 - cases[i].unseen) * EXAMPLE_MS);
		struct golden golden;

		set_rung(profile, 100, 1000, "perch, short time slice", cases[i].why);
		add_unseen(profile, cases[i].unseen * EXAMPLE_MS);
		render_to(golden_begin(&golden), profile, NULL,
			  &(struct dt_profile_render){.program = cases[i].program});
		assert_int_equal(fclose(golden.out), 0);
		if (cases[i].line)
			assert_non_null(strstr(golden.data, cases[i].line));
		else
			assert_null(strstr(golden.data, "setcap"));
		free(golden.data);
		dt_profile_free(profile);
	}
}

/* What tells two rows apart stays: both ends of a function's name, its file if that is short, and the process of a
 * thread. */
static void test_short_names(void **state)
{
	static const struct {
		size_t columns;
		const char *function, *thread;
	} cases[] = {
	    {40, "\n100.0%  Thread…inner (threading.py:1031)\n", "  thread 1002 \"s… of 1002\n"},
	    {60, "  Thread._bootstrap_inner (threading.py:1031)\n", "  thread 1002 \"spin-1-of-a-pool\" of 1002\n"},
	    {80, "s  Thread._bootstrap_inner (threading.py:1031)\n", "\"spin-1-of-a-pool\" of process 1002 python3…\n"},
	};
	struct dt_profile *profile = dt_profile_new();
	struct dt_profile_run run = {.wall_ns = EXAMPLE_MS, .samples = 1000, .state = DT_STATE_RUNNING};

	(void)state;
	run.stack = example_frame(profile, 0, "Thread._bootstrap_inner", "/usr/lib/python3/threading.py", 1031);
	for (int pid = 1001; pid <= 1002; pid++) {
		struct dt_profile_process process = {.pid = pid, .command = example_string(profile, "python3 app.py")};
		struct dt_profile_thread thread = {.tid = (uint64_t)pid,
						   .name = example_string(profile, "spin-1-of-a-pool")};

		assert_int_equal(dt_profile_add_process(profile, &process, &thread.process), 0);
		assert_int_equal(dt_profile_add_thread(profile, &thread, &run.thread), 0);
		assert_int_equal(dt_profile_add_run(profile, &run), 0);
	}
	for (size_t i = 0; i < DT_COUNT(cases); i++) {
		struct golden golden;

		render_to(golden_begin(&golden), profile, NULL,
			  &(struct dt_profile_render){.columns = cases[i].columns});
		assert_int_equal(fclose(golden.out), 0);
		assert_non_null(strstr(golden.data, cases[i].function));
		assert_non_null(strstr(golden.data, cases[i].thread));
		free(golden.data);
	}
	dt_profile_free(profile);
}

/* Rows of threads do not repeat a command line of hundreds of letters, also where nothing else is cut. */
static void test_long_commands(void **state)
{
	struct dt_profile *profile = dt_profile_new();
	struct dt_profile_run run = {.wall_ns = EXAMPLE_MS, .samples = 1000, .state = DT_STATE_RUNNING};
	struct golden golden;
	char command[300];

	(void)state;
	memset(command, 'x', sizeof(command) - 1);
	command[sizeof(command) - 1] = '\0';
	run.stack = example_frame(profile, 0, "serve", "/srv/app.py", 1);
	for (int pid = 1001; pid <= 1002; pid++) {
		struct dt_profile_process process = {.pid = pid, .command = example_string(profile, command)};
		struct dt_profile_thread thread = {.tid = (uint64_t)pid};

		assert_int_equal(dt_profile_add_process(profile, &process, &thread.process), 0);
		assert_int_equal(dt_profile_add_thread(profile, &thread, &run.thread), 0);
		assert_int_equal(dt_profile_add_run(profile, &run), 0);
	}
	for (int full = 0; full < 2; full++) {
		struct dt_view_options options = {.threads = true, .full_names = full};

		render_to(golden_begin(&golden), profile, &options, NULL);
		assert_int_equal(fclose(golden.out), 0);
		assert_non_null(strstr(golden.data, " of process 1002 xxxxxxxx"));
		assert_int_equal(strstr(golden.data, command) != NULL, full);
		assert_int_equal(strstr(golden.data, "xx…\n") != NULL, !full);
		free(golden.data);
	}
	dt_profile_free(profile);
}

/* The time before there was Python is told, since no row has it. */
static void test_absent(void **state)
{
	static const struct {
		uint64_t from, to; /* ms of 10 s */
		const char *words;
		double rate; /* 0: 100 */
	} cases[] = {
	    {4000, 10000, "\nNothing could be looked at in the first 4.00 s: that is in no row.\n"},
	    {4000, 9000, "\nNothing could be looked at in the first 4.00 s and the last 1.00 s: that is in"},
	    {10, 1000, "\nNothing could be looked at in the last 9.00 s: "},
	    {10, 9990, NULL},
	    /* Until the next look nobody knows: at one a second that is long. */
	    {10, 9000, NULL, 1},
	    {10, 4000, "\nNothing could be looked at in the last 6.00 s: ", 1},
	};

	(void)state;
	for (size_t i = 0; i < DT_COUNT(cases); i++) {
		struct dt_profile *profile = busy_profile(DT_STATE_RUNNING, 0);
		struct dt_profile_meta meta = *dt_profile_meta(profile);
		struct dt_profile_run run = {.start_ns = cases[i].from * EXAMPLE_MS,
					     .wall_ns = (cases[i].to - cases[i].from) * EXAMPLE_MS,
					     .samples = 1000,
					     .thread = 1,
					     .state = DT_STATE_RUNNING};
		struct golden golden;

		meta.rate = cases[i].rate ? cases[i].rate : meta.rate;
		dt_profile_set_meta(profile, &meta);
		assert_int_equal(dt_profile_add_run(profile, &run), 0);
		render_to(golden_begin(&golden), profile, NULL, NULL);
		assert_int_equal(fclose(golden.out), 0);
		if (cases[i].words)
			assert_non_null(strstr(golden.data, cases[i].words));
		else
			assert_null(strstr(golden.data, "Nothing could be"));
		free(golden.data);
		dt_profile_free(profile);
	}
}

/* Many short lives: what each used after the last look at it is told where CPU time is shown, and it is much. */
static void test_ended(void **state)
{
	static const struct {
		int processes;
		uint64_t ran; /* ms of each */
		double rate;
		enum dt_state state;
		enum dt_weight weight;
		const char *words;
		uint64_t rounds;
	} cases[] = {
	    {60, 30, 100, DT_STATE_RUNNING, DT_WEIGHT_CPU,
	     "\n60 processes ended between two looks: what was used of a CPU "
	     "after the last one, some 300 ms in all, is in no row."},
	    {1, 30, 10, DT_STATE_RUNNING, DT_WEIGHT_CPU, "\n1 process ended between two looks: "},
	    {60, 30, 1000, DT_STATE_RUNNING, DT_WEIGHT_CPU, NULL},
	    {60, 30, 1000, DT_STATE_RUNNING, DT_WEIGHT_CPU, "some 66", 4}, /* of 89 ms */
	    {60, 140, 100, DT_STATE_RUNNING, DT_WEIGHT_CPU, NULL},
	    {60, 30, 100, DT_STATE_SLEEPING, DT_WEIGHT_CPU, NULL},
	    {60, 30, 100, DT_STATE_RUNNING, DT_WEIGHT_WALL, NULL},
	    {1, 9990, 10, DT_STATE_RUNNING, DT_WEIGHT_CPU, NULL}, /* to the end */
	};

	(void)state;
	for (size_t i = 0; i < DT_COUNT(cases); i++) {
		struct dt_profile *profile = dt_profile_new();
		struct dt_profile_meta meta = {
		    .duration_ns = 10000 * EXAMPLE_MS, .rate = cases[i].rate, .quality = {.rounds = cases[i].rounds}};
		struct golden golden;

		for (int k = 0; k < cases[i].processes; k++) {
			struct dt_profile_process process = {.pid = 100 + k};
			struct dt_profile_thread thread = {.tid = 100 + (uint64_t)k};
			struct dt_profile_run run = {.start_ns = (uint64_t)k * EXAMPLE_MS,
						     .wall_ns = cases[i].ran * EXAMPLE_MS,
						     .cpu_ns = cases[i].ran * EXAMPLE_MS,
						     .samples = 10,
						     .state = (uint8_t)cases[i].state};

			assert_int_equal(dt_profile_add_process(profile, &process, &thread.process), 0);
			assert_int_equal(dt_profile_add_thread(profile, &thread, &run.thread), 0);
			assert_int_equal(dt_profile_add_run(profile, &run), 0);
		}
		dt_profile_set_meta(profile, &meta);
		render_to(golden_begin(&golden), profile, &(struct dt_view_options){.weight = cases[i].weight}, NULL);
		assert_int_equal(fclose(golden.out), 0);
		if (cases[i].words)
			assert_non_null(strstr(golden.data, cases[i].words));
		else
			assert_null(strstr(golden.data, "between two looks"));
		free(golden.data);
		dt_profile_free(profile);
	}
}

/* The rate is that of the time in which there was a thread, which may have been another one later. */
static void test_rate(void **state)
{
	static const struct {
		uint64_t first, second; /* ms of 10 s, the second one is at the end */
		uint64_t rounds;
		const char *words;
	} cases[] = {
	    {7500, 0, 750, "100.0 of 100 rounds a second\n"},    {7500, 0, 600, "80.0 of 100 rounds a second\n"},
	    {4000, 6000, 990, "99.0 of 100 rounds a second\n"},  {7000, 8000, 1000, "100.0 of 100 rounds a second\n"},
	    {2000, 3000, 500, "100.0 of 100 rounds a second\n"},
	};

	(void)state;
	for (size_t i = 0; i < DT_COUNT(cases); i++) {
		struct dt_profile *profile = busy_profile(DT_STATE_RUNNING, cases[i].first * EXAMPLE_MS);
		struct dt_profile_meta meta = *dt_profile_meta(profile);
		struct dt_profile_thread other = {.process = 1, .tid = 13, .name = example_string(profile, "later")};
		struct dt_profile_run run = {.start_ns = (10000 - cases[i].second) * EXAMPLE_MS,
					     .wall_ns = cases[i].second * EXAMPLE_MS,
					     .samples = 1,
					     .state = DT_STATE_RUNNING};
		struct golden golden;

		meta.quality.rounds = cases[i].rounds;
		dt_profile_set_meta(profile, &meta);
		if (cases[i].second) {
			assert_int_equal(dt_profile_add_thread(profile, &other, &run.thread), 0);
			assert_int_equal(dt_profile_add_run(profile, &run), 0);
		}
		render_to(golden_begin(&golden), profile, NULL, NULL);
		assert_int_equal(fclose(golden.out), 0);
		assert_non_null(strstr(golden.data, cases[i].words));
		free(golden.data);
		dt_profile_free(profile);
	}
}

/* Few samples are not called good, and how much a share may be off is said. */
static void test_few_samples(void **state)
{
	static const struct {
		uint32_t samples;
		const char *words;
	} cases[] = {
	    {1, "Quality: poor, only 1 sample (a share may be off by 100 points), 100.0% of"},
	    {4, "Quality: poor, only 4 samples (a share may be off by 50 points), 100.0% of"},
	    {99, "Quality: fair, only 99 samples (a share may be off by 11 points), 100.0% of"},
	    {100, "Quality: good, 100.0% of"},
	};

	(void)state;
	for (size_t i = 0; i < DT_COUNT(cases); i++) {
		struct dt_profile *profile = dt_profile_new(), *from = busy_profile(DT_STATE_RUNNING, EXAMPLE_MS);
		struct dt_profile_run run = dt_profile_runs(from)[0];
		uint32_t id;
		struct golden golden;

		run.samples = cases[i].samples;
		run.stack = example_frame(profile, 0, "main", "/srv/app.py", 15);
		assert_int_equal(dt_profile_add_process(profile, &(struct dt_profile_process){.pid = 12}, &id), 0);
		assert_int_equal(
		    dt_profile_add_thread(profile, &(struct dt_profile_thread){.process = id}, &run.thread), 0);
		assert_int_equal(dt_profile_add_run(profile, &run), 0);
		render_to(golden_begin(&golden), profile, NULL, NULL);
		assert_int_equal(fclose(golden.out), 0);
		assert_non_null(strstr(golden.data, cases[i].words));
		assert_int_equal(!strstr(golden.data, "note: a higher '--rate' or a longer recording has more"),
				 cases[i].samples >= 100);
		free(golden.data);
		dt_profile_free(profile);
		dt_profile_free(from);
	}
}

/* A pool of many threads does not fill screens: the busiest ones have tables, the others are counted. */
static void test_many_threads(void **state)
{
	struct dt_profile *profile = busy_profile(DT_STATE_RUNNING, 1000 * EXAMPLE_MS);
	const struct dt_profile_run main_run = dt_profile_runs(profile)[0];
	struct golden golden;
	size_t tables = 0;

	(void)state;
	for (uint32_t i = 0; i < 10; i++) {
		struct dt_profile_thread thread = {.process = 1, .tid = 100 + i};
		struct dt_profile_run run = main_run;

		run.wall_ns = (20 - i) * EXAMPLE_MS;
		assert_int_equal(dt_profile_add_thread(profile, &thread, &run.thread), 0);
		assert_int_equal(dt_profile_add_run(profile, &run), 0);
	}
	render_to(golden_begin(&golden), profile, &(struct dt_view_options){.threads = true}, NULL);
	assert_int_equal(fclose(golden.out), 0);
	for (const char *at = golden.data; (at = strstr(at, "main (app.py:11)\n")); at++)
		tables++;
	assert_int_equal(tables, 2 + 8);
	assert_non_null(strstr(golden.data, " thread 106\n"));
	assert_null(strstr(golden.data, " thread 107\n"));
	assert_non_null(strstr(golden.data, "\n… 3 more threads\n"));
	free(golden.data);
	dt_profile_free(profile);
}

/* The little CPU time of a thread that waits is no time of waiting. */
static void test_cpu_time_of_waiting(void **state)
{
	struct dt_profile *profile = busy_profile(DT_STATE_SLEEPING, 10000 * EXAMPLE_MS);
	struct dt_profile_run run = {
	    .start_ns = 10000 * EXAMPLE_MS, .wall_ns = EXAMPLE_MS, .cpu_ns = 352000, .thread = 1};
	const struct dt_view_options cpu = {.weight = DT_WEIGHT_CPU};
	struct golden golden;

	(void)state;
	run.state = DT_STATE_SLEEPING;
	assert_int_equal(dt_profile_add_run(profile, &run), 0);
	render_to(golden_begin(&golden), profile, &cpu, NULL);
	assert_int_equal(fclose(golden.out), 0);
	assert_non_null(
	    strstr(golden.data, "\nThere is nothing to show: no CPU time was recorded but that of waiting.\n"));
	free(golden.data);
	run.start_ns += EXAMPLE_MS;
	run.cpu_ns = EXAMPLE_MS;
	run.state = DT_STATE_RUNNING;
	assert_int_equal(dt_profile_add_run(profile, &run), 0);
	render_to(golden_begin(&golden), profile, &cpu, NULL);
	assert_int_equal(fclose(golden.out), 0);
	assert_non_null(strstr(golden.data, "\n100% is 1.00 ms of CPU time\n"));
	free(golden.data);
	render_to(golden_begin(&golden), profile, NULL, NULL);
	assert_int_equal(fclose(golden.out), 0);
	assert_non_null(strstr(golden.data, "; 10.0 s of waiting is hidden, '--idle' shows it\n"));
	free(golden.data);
	dt_profile_free(profile);
}

static void test_full_disk(void **state)
{
	struct dt_profile *profile = example_profile();
	FILE *full = fopen("/dev/full", "w");
	struct dt_view *view;

	(void)state;
	assert_non_null(full);
	setvbuf(full, NULL, _IONBF, 0);
	assert_int_equal(dt_view_new(profile, NULL, &view, NULL), 0);
	errno = 0;
	assert_int_equal(dt_profile_summary.render(view, NULL, full), DT_ERUNTIME);
	assert_int_equal(errno, ENOSPC);
	fclose(full);
	dt_view_free(view);
	dt_profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_example),
	    cmocka_unit_test(test_little_to_say),
	    cmocka_unit_test(test_missed),
	    cmocka_unit_test(test_damage),
	    cmocka_unit_test(test_hostile_meta),
	    cmocka_unit_test(test_fits),
	    cmocka_unit_test(test_first_line),
	    cmocka_unit_test(test_long_names),
	    cmocka_unit_test(test_units),
	    cmocka_unit_test(test_full_disk),
	    cmocka_unit_test(test_ended),
	    cmocka_unit_test(test_rate),
	    cmocka_unit_test(test_too_high_a_rate),
	    cmocka_unit_test(test_a_right_is_missing),
	    cmocka_unit_test(test_limits),
	    cmocka_unit_test(test_numbers),
	    cmocka_unit_test(test_many_threads),
	    cmocka_unit_test(test_absent),
	    cmocka_unit_test(test_short_names),
	    cmocka_unit_test(test_long_commands),
	    cmocka_unit_test(test_few_samples),
	    cmocka_unit_test(test_fewer_rounds),
	    cmocka_unit_test(test_cpu_time_of_waiting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
