/* The parser against a small table of its own, and the tables of the real commands against the rules. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/util.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/watch.h"

struct options {
	struct dt_common common;
	int pid;
	double seconds;
	size_t count;
	bool flag;
	char words[256];
};

static int set_pid(void *options, const char *value, struct dt_error *err)
{
	return dt_value_pid(value, &((struct options *)options)->pid, err);
}

static int set_seconds(void *options, const char *value, struct dt_error *err)
{
	return dt_value_seconds(value, 0.5, &((struct options *)options)->seconds, err);
}

static int set_count(void *options, const char *value, struct dt_error *err)
{
	return dt_value_count(value, &((struct options *)options)->count, err);
}

static int set_flag(void *options, const char *value, struct dt_error *err)
{
	(void)err;
	assert_null(value);
	((struct options *)options)->flag = true;
	return 0;
}

static int argument(void *options, const char *text, struct dt_error *err)
{
	struct options *o = options;

	(void)err;
	snprintf(o->words + strlen(o->words), sizeof(o->words) - strlen(o->words), "%s|", text);
	return 0;
}

static const struct dt_option table[] = {
    {.letter = 'p', .name = "pid", .kind = DT_VALUE_PID, .value = "PID", .set = set_pid},
    {.name = "every", .kind = DT_VALUE_SECONDS, .value = "SECONDS", .set = set_seconds},
    {.letter = 'n', .name = "number", .kind = DT_VALUE_NUMBER, .value = "N", .several = true, .set = set_count},
    {.name = "frames", .kind = DT_VALUE_NUMBER, .value = "N", .set = set_count},
    {.letter = 'x', .name = "flag", .set = set_flag},
    DT_OPTION_COLOR,
    DT_OPTION_QUIET("Quiet."),
    {0},
};
static const struct dt_command command = {
    .name = "try", .options = table, .options_size = sizeof(struct options), .argument = argument};
static const struct dt_command lonely = {.name = "lonely", .options_size = sizeof(struct options)};

/* Splits line at spaces and parses it. */
static int parse(const struct dt_command *c, const char *line, struct options *options, struct dt_error *err)
{
	char copy[256], *words[16], *rest = copy, *word;
	int count = 0;

	snprintf(copy, sizeof(copy), "%s", line);
	while ((word = strsep(&rest, " ")) && *line)
		words[count++] = word;
	*options = (struct options){0};
	*err = (struct dt_error){0};
	return dt_parse(c, count, words, options, err);
}

static void test_values(void **state)
{
	static const char *const ways[] = {"-p 5", "-p5", "-p=5", "--pid 5", "--pid=5", "-xp5", "-xp 5 -q"};
	struct options options;
	struct dt_error err;

	(void)state;
	for (size_t i = 0; i < DT_COUNT(ways); i++) {
		assert_int_equal(parse(&command, ways[i], &options, &err), DT_PARSE_RUN);
		assert_int_equal(options.pid, 5);
		assert_int_equal(options.flag, strchr(ways[i], 'x') != NULL);
		assert_int_equal(options.common.quiet, strchr(ways[i], 'q') != NULL);
	}
	assert_int_equal(parse(&command, "--every 1.5 --frames=7 --color never", &options, &err), DT_PARSE_RUN);
	assert_true(options.seconds > 1.4 && options.seconds < 1.6);
	assert_int_equal(options.count, 7);
	assert_int_equal(options.common.color, DT_COLOR_NEVER);
	assert_int_equal(parse(&command, "", &options, &err), DT_PARSE_RUN);
}

static void test_units(void **state)
{
	static const struct {
		const char *line;
		double seconds;
	} cases[] = {{"--every 600ms", 0.6},
		     {"--every 10s", 10},
		     {"--every 2m", 120},
		     {"--every=2min", 120},
		     {"--every 1.5h", 5400},
		     {"--every 1d", 86400},
		     {"--every 5e5us", 0.5},
		     {"--every 1m30s", 90},
		     {"--every 1h30m", 5400},
		     {"--every 2m0.5s", 120.5},
		     {"--every 1d2h3min4s500ms", 93784.5},
		     {"--every 0m1s", 1},
		     {"--every .5s", 0.5},
		     {"--every 1m90s", 150}};
	struct options options;
	struct dt_error err;

	(void)state;
	for (size_t i = 0; i < DT_COUNT(cases); i++) {
		assert_int_equal(parse(&command, cases[i].line, &options, &err), DT_PARSE_RUN);
		assert_true(options.seconds > cases[i].seconds * 0.999 && options.seconds < cases[i].seconds * 1.001);
	}
}

/* Also those that a command line can hold in quotes only. */
static void test_times_that_are_none(void **state)
{
	static const char *const texts[] = {"1m1m",  "1m1min", "30s1m", "1m-3s", "1m+3s",  "1m 30s", " 1m",  "1m ",
					    "-",     "+1",     "1m30",  "1:30",  "1m30x",  "1m.s",   "m30s", "1mm",
					    "1ms1s", "1,5s",   "",      ".",     "1e400h", "1M",     "--1",  "-x"};
	struct dt_error err;
	double seconds = 7;

	(void)state;
	for (size_t i = 0; i < DT_COUNT(texts); i++) {
		assert_int_equal(dt_value_seconds(texts[i], 0, &seconds, &err), DT_EUSAGE);
		assert_non_null(strstr(err.message, "is not a number of seconds"));
	}
	assert_true(seconds >= 7 && seconds <= 7);
}

static int take_program(void *options, char *const *words, int count, struct dt_error *err)
{
	for (int i = 0; i < count; i++)
		argument(options, words[i], err);
	return 0;
}

/* What stands behind -- is not looked at, options or not. */
static void test_programs(void **state)
{
	struct dt_command starting = command;
	struct options options;
	struct dt_error err;

	(void)state;
	starting.program = take_program;
	assert_int_equal(parse(&starting, "-x -- python --every -- -h", &options, &err), DT_PARSE_RUN);
	assert_true(options.flag);
	assert_string_equal(options.words, "python|--every|--|-h|");
	assert_int_equal(parse(&starting, "-x --", &options, &err), DT_PARSE_RUN);
	assert_string_equal(options.words, "");
}

static void test_arguments(void **state)
{
	struct options options;
	struct dt_error err;

	(void)state;
	assert_int_equal(parse(&command, "a -x b -", &options, &err), DT_PARSE_RUN);
	assert_string_equal(options.words, "a|b|-|");
	assert_int_equal(parse(&command, "-x -- -p --pid", &options, &err), DT_PARSE_RUN);
	assert_string_equal(options.words, "-p|--pid|");
	assert_int_equal(parse(&command, "-- --", &options, &err), DT_PARSE_RUN);
	assert_string_equal(options.words, "--|");
	assert_int_equal(parse(&lonely, "a", &options, &err), DT_EUSAGE);
	assert_non_null(strstr(err.message, "'a'"));
}

static void test_help_wins(void **state)
{
	struct options options;
	struct dt_error err;

	(void)state;
	assert_int_equal(parse(&command, "--help", &options, &err), DT_PARSE_HELP);
	assert_int_equal(parse(&command, "-xh", &options, &err), DT_PARSE_HELP);
	assert_int_equal(parse(&command, "a -h --nonsense", &options, &err), DT_PARSE_HELP);
}

static void test_mistakes(void **state)
{
	static const struct {
		const char *line, *message, *hint;
	} cases[] = {
	    {"--falg", "no option --falg", "--flag"},
	    {"--evry=3", "no option --evry", "--every"},
	    {"--fla", "no option --fla", "--flag"},
	    {"--wholly-different", "no option --wholly-different", NULL},
	    {"-z", "no option -z", NULL},
	    {"-xz", "no option -z", NULL},
	    {"--pid", "--pid needs a value (PID)", NULL},
	    {"-xp", "-p needs a value (PID)", NULL},
	    {"--flag=1", "--flag takes no value", NULL},
	    {"--help=1", "--help takes no value", NULL},
	    {"--color blue", "'blue' is none of: auto always never", NULL},
	    {"--color=auto always", NULL, NULL},
	    {"--color=alwa", "'alwa' is none of", NULL},
	    {"-p abc", "-p: 'abc' is not a process id", NULL},
	    {"--pid=-5", "'-5' is not", NULL},
	    {"--pid=0", "'0' is not", NULL},
	    {"--pid=2147483648", "'2147483648' is not", NULL},
	    {"--pid=99999999999999999999999", "is not a process id", NULL},
	    {"--pid=", "'' is not", NULL},
	    {"--every 1x", "'1x' is not a number of seconds", "500ms"},
	    {"--every ms", "'ms' is not a number of seconds", "other units"},
	    {"--every 1hm", "'1hm' is not", "other units"},
	    {"--every 499ms", "'499ms': from 0.5 s", NULL},
	    {"--every 9000h", "a year", NULL},
	    {"--every nan", "'nan' is not", "other units"},
	    {"--every inf", "'inf' is not", "other units"},
	    {"--every -1", "'-1': from 0.5 s to a year is possible", NULL},
	    {"--every=-0", "'-0': from 0.5 s", NULL},
	    {"--every -1m", "'-1m': from 0.5 s", NULL},
	    {"--every -x", "'-x' is not a number of seconds", "other units"},
	    {"--every 0.1", "from 0.5 s", NULL},
	    {"--every 1e300", "a year", NULL},
	    {"--frames 0", "'0' is not a number above 0", NULL},
	    {"--frames 1x", "'1x' is not", NULL},
	    {"--frames 1 --frames 1", "--frames is given twice: it takes one value (N)", NULL},
	    {"--pid=5 -x -p 6", "-p is given twice: it takes one value (PID)", NULL},
	    {"--color=auto --color always", "--color is given twice", NULL},
	    {"-n1 --number 2 -n 3 -x -x -qq --frames 4", NULL, NULL},
	};
	struct options options;
	struct dt_error err;

	(void)state;
	for (size_t i = 0; i < DT_COUNT(cases); i++) {
		int code = parse(&command, cases[i].line, &options, &err);

		if (!cases[i].message) {
			assert_int_equal(code, DT_PARSE_RUN);
			continue;
		}
		if (code != DT_EUSAGE || !strstr(err.message, cases[i].message))
			fail_msg("%s: %d %s", cases[i].line, code, err.message);
		if (cases[i].hint ? !strstr(err.hint, cases[i].hint)
				  : strcmp(err.hint, "'darter try --help' shows its options") != 0)
			fail_msg("%s: hint %s", cases[i].line, err.hint);
	}
}

/* The parser keeps a bit for each. */
static void test_tables(void **state)
{
	(void)state;
	for (const struct dt_command *const *at = dt_commands; *at; at++) {
		size_t count = 0;

		for (const struct dt_option *option = (*at)->options; option && option->name; option++, count++) {
			assert_int_equal(option->kind == DT_VALUE_NONE, option->value == NULL);
			assert_true(option->kind != DT_VALUE_NONE || !option->several);
		}
		assert_true(count <= 64);
	}
}

static void test_long_words(void **state)
{
	char word[5000];
	char *words[] = {word};
	struct options options = {0};
	struct dt_error err;

	(void)state;
	memset(word, 'a', sizeof(word) - 1);
	word[0] = word[1] = '-';
	word[sizeof(word) - 1] = '\0';
	assert_int_equal(dt_parse(&command, 1, words, &options, &err), DT_EUSAGE);
}

static void test_nearest(void **state)
{
	static const struct {
		const char *wanted, *best;
	} cases[] = {{"dmup", "dump"}, {"dum", "dump"}, {"versoin", "version"}, {"comp", "completion"},
		     {"p", "ps"},      {"", NULL},      {"xyzzy", NULL}};
	static const char *const words[] = {"ps", "dump", "version", "help", "completion"};

	(void)state;
	for (size_t i = 0; i < DT_COUNT(cases); i++) {
		struct dt_nearest nearest;

		dt_nearest_init(&nearest, cases[i].wanted);
		for (size_t j = 0; j < DT_COUNT(words); j++)
			dt_nearest_offer(&nearest, words[j]);
		if (cases[i].best)
			assert_string_equal(nearest.best, cases[i].best);
		else
			assert_null(nearest.best);
	}
}

/* What --every shows: changed, new and ended threads, and nothing else. */
static void test_changes(void **state)
{
	struct dt_frame frames[] = {{.name = "f", .file = "a.py", .line = 1}, {.name = "g", .file = "a.py", .line = 2}};
	struct dt_thread threads[] = {
	    {.tid = 9, .name = "main", .frames = frames, .frame_count = 2},
	    {.tid = 3, .name = "worker", .frames = frames + 1, .frame_count = 1},
	    {.tid = 5, .frames = frames + 1, .frame_count = 1},
	};
	struct dt_snapshot snapshot = {.threads = threads, .thread_count = 2};
	struct dt_seen seen = {0};
	struct dt_change change;

	(void)state;
	assert_int_equal(dt_seen_update(&seen, &snapshot, &change), 0);
	assert_int_equal(change.count, 2);
	assert_int_equal(change.fresh, 2);
	assert_true(change.whole);
	dt_change_release(&change);

	assert_int_equal(dt_seen_update(&seen, &snapshot, &change), 0);
	assert_int_equal(change.count + change.ended_count, 0);
	assert_false(change.whole);
	dt_change_release(&change);

	frames[0].line = 7;
	assert_int_equal(dt_seen_update(&seen, &snapshot, &change), 0);
	assert_int_equal(change.count, 1);
	assert_int_equal(change.threads[0].tid, 9);
	dt_change_release(&change);

	threads[1].state = DT_STATE_RUNNING;
	snapshot.thread_count = 3;
	assert_int_equal(dt_seen_update(&seen, &snapshot, &change), 0);
	assert_int_equal(change.count, 2);
	assert_int_equal(change.fresh, 1);
	dt_change_release(&change);

	snapshot.thread_count = 1;
	assert_int_equal(dt_seen_update(&seen, &snapshot, &change), 0);
	assert_int_equal(change.count, 0);
	assert_int_equal(change.ended_count, 2);
	assert_string_equal(change.ended[0].name, "worker");
	dt_change_release(&change);

	snapshot.command = "another program";
	assert_int_equal(dt_seen_update(&seen, &snapshot, &change), 0);
	assert_true(change.whole);
	dt_change_release(&change);
	dt_seen_release(&seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_values),
	    cmocka_unit_test(test_units),
	    cmocka_unit_test(test_times_that_are_none),
	    cmocka_unit_test(test_programs),
	    cmocka_unit_test(test_arguments),
	    cmocka_unit_test(test_help_wins),
	    cmocka_unit_test(test_mistakes),
	    cmocka_unit_test(test_long_words),
	    cmocka_unit_test(test_nearest),
	    cmocka_unit_test(test_changes),
	    cmocka_unit_test(test_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
