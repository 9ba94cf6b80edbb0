/* darter record: where the time goes. */
#include <math.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/shell.h"
#include "base/util.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/record.h"
#include "cli/signals.h"
#include "cli/terminal.h"

#define RATE         100.0
#define MOST_RATE    1e6
#define LEAST_TIME   0.001

#define LONGEST_LINE 400 /* of a hint */

static int set_rate(void *options, const char *value, struct dt_error *err)
{
	double rate;
	char *end;

	rate = strtod(value, &end);
	if (end == value || *end || !isfinite(rate))
		return dt_fail(err, DT_EUSAGE, "'%s' is not a number of samples per second", value);
	if (rate < 1 || rate > MOST_RATE)
		return dt_fail(err, DT_EUSAGE, "'%s': from 1 to 1000000 samples per second are possible", value);
	((struct dt_record_command *)options)->how.rate = rate;
	return 0;
}

static int set_duration(void *options, const char *value, struct dt_error *err)
{
	struct dt_record_command *o = options;

	if (strcmp(value, "unlimited") != 0)
		return dt_value_seconds(value, LEAST_TIME, &o->duration, err);
	o->duration = 0;
	return 0;
}

static int set_rotate(void *options, const char *value, struct dt_error *err)
{
	return dt_value_seconds(value, LEAST_TIME, &((struct dt_record_command *)options)->rotate, err);
}

static int set_keep(void *options, const char *value, struct dt_error *err)
{
	return dt_value_count(value, &((struct dt_record_command *)options)->keep, err);
}

static int set_native(void *options, const char *value, struct dt_error *err)
{
	(void)err;
	((struct dt_record_command *)options)->how.native = dt_native_of(value);
	return 0;
}

static int set_pause(void *options, const char *value, struct dt_error *err)
{
	(void)err;
	/* Without a value it is --nonblocking. */
	((struct dt_record_command *)options)->how.pause = !value || !strcmp(value, "never") ? DT_PAUSE_NEVER
							   : !strcmp(value, "always")        ? DT_PAUSE_ALWAYS
											     : DT_PAUSE_AUTO;
	return 0;
}

static int set_perch(void *options, const char *value, struct dt_error *err)
{
	(void)err;
	((struct dt_record_command *)options)->how.no_perch = !strcmp(value, "off");
	return 0;
}

static int set_wait(void *options, const char *value, struct dt_error *err)
{
	(void)value, (void)err;
	((struct dt_record_command *)options)->wait = true;
	return 0;
}

static int program(void *options, char *const *words, int count, struct dt_error *err)
{
	if (!count || !words[0][0]) {
		dt_fail(err, DT_EUSAGE, "which program? None stands behind --");
		dt_hint(err, "'darter record -- python3 app.py' starts one and records it");
		return DT_EUSAGE;
	}
	((struct dt_record_command *)options)->program = words;
	return 0;
}

static bool is_number(const char *text)
{
	return !text[0] || strchr("-0123456789", text[0]);
}

static int argument(void *options, const char *text, struct dt_error *err)
{
	if (is_number(text))
		return dt_select_pid(options, text, err);
	return dt_fail(err, DT_EUSAGE, "'%s' is not a process id", text);
}

/* A program with all of its arguments, to be pasted. */
static void meant(char *const *words, int count, struct dt_error *err)
{
	struct dt_buf line = DT_BUF_INIT;
	const char *start = dt_start_of(words[0]);
	bool good = start != NULL;

	if (is_number(words[0]))
		return;
	for (int i = 0; i < count && good; i++) {
		dt_buf_printf(&line, " %s", i ? "" : start);
		good = dt_shell_quote(&line, words[i]) && line.length < LONGEST_LINE;
	}
	if (good && !line.failed)
		dt_hint(err, "A program is started behind two dashes:\n    darter record --%s", line.data);
	else if (start)
		dt_hint(err, "A program is started behind two dashes: 'darter record -- %s%.80s ...'", start, words[0]);
	dt_hint(err, "--name '%s' finds processes by their command line; 'darter ps' lists them", words[0]);
	dt_buf_release(&line);
}

/* What does not go together. */
static int check(struct dt_record_command *o, struct dt_error *err)
{
	const struct dt_selection *selection = &o->showing.selecting.selection;
	const char *output = o->showing.output;
	int code = dt_showing_settle(&o->showing, "svg", err);
	bool text = code == 0 && !strcmp(o->showing.format->name, "text");
	bool to_stdout = output ? !strcmp(output, "-") : text;

	if (code)
		return code;
	if (o->program && (selection->pid_count || selection->name_count || selection->all))
		return dt_fail(err, DT_EUSAGE, "a program behind -- and processes that run already exclude each other");
	if (!o->program && !selection->pid_count && !selection->name_count && !selection->all) {
		dt_fail(err, DT_EUSAGE, "which process? Give a process id, --name, --all, or a program behind --");
		dt_hint(err, "'darter ps' lists the Python processes with their ids");
		dt_hint(err, "'darter record -- python3 app.py' starts a program and records it");
		return DT_EUSAGE;
	}
	if (o->wait && (o->program || selection->pid_count))
		return dt_fail(err, DT_EUSAGE, "--wait is for --name and --all: %s",
			       o->program ? "a program behind -- is started" : "a process id is there, or it is not");
	if (o->keep && o->rotate == 0)
		return dt_fail(err, DT_EUSAGE,
			       "--keep says how many files of a rotation are kept: --rotate is missing");
	if (o->rotate > 0 && to_stdout) {
		dt_fail(err, DT_EUSAGE, "--rotate needs files: this goes to stdout");
		dt_hint(err, "-o FILE.svg makes FILE-DATE-TIME.svg, one after the other");
		return DT_EUSAGE;
	}
	if (o->showing.selecting.common.json && to_stdout)
		return dt_fail(err, DT_EUSAGE, "--json and %s are two results for stdout: only one can be written",
			       output ? "-o -" : "-f text");
	return to_stdout || o->showing.selecting.common.json ? dt_output_check(err) : 0;
}

static void defaults(void *options)
{
	((struct dt_record_command *)options)->how.rate = RATE;
}

static int run(void *options)
{
	struct dt_record_command *o = options;
	struct dt_error err;
	int code;

	code = check(o, &err);
	if (code) {
		dt_report(&o->showing.selecting.common, &err);
		code = dt_exit_code(code);
	} else {
		o->how.weight = o->showing.view.weight;
		code = dt_record_run(o);
	}
	dt_showing_release(&o->showing);
	return code;
}

static const struct dt_option table[] = {
    DT_OPTIONS_SELECTION,
    {.name = "wait",
     .help = "With --name or --all: if no process matches, wait for the first one. --duration counts from then on.",
     .set = set_wait},
    {.letter = 'r',
     .name = "rate",
     .kind = DT_VALUE_NUMBER,
     .value = "RATE",
     .help = "Samples per second, from 1 to 1000000; 100 by default. Above 5000 there is no perch (see --perch), and "
	     "stacks of what computes are mostly not proven.",
     .set = set_rate},
    {.letter = 'd',
     .name = "duration",
     .kind = DT_VALUE_SECONDS,
     .value = "TIME",
     .help = "How long: 10, 0.5, 500ms, 2m, 1h30m. By default until Ctrl-C, or until the processes end.",
     .set = set_duration},
    {.letter = 'o',
     .name = "output",
     .kind = DT_VALUE_FILE,
     .value = "FILE",
     .help = "Write to this file, - for stdout. By default a name is made from program, process id and time.",
     .set = dt_show_output},
    {.letter = 'f',
     .name = "format",
     .kind = DT_VALUE_PROFILE_FORMAT,
     .value = "FORMAT",
     .help = "The output format; by default the one that the name of the output ends with, else svg. With text and "
	     "without -o the summary goes to stdout and no file is kept.",
     .set = dt_show_format},
    {.name = "rotate",
     .kind = DT_VALUE_SECONDS,
     .value = "TIME",
     .help = "Begin a new file each time so much has passed, with the time in its name.",
     .set = set_rotate},
    {.name = "keep",
     .kind = DT_VALUE_NUMBER,
     .value = "N",
     .help = "With --rotate: keep the last N files of this run, and remove older ones.",
     .set = set_keep},
    DT_OPTIONS_SHOWING,
    DT_OPTION_NATIVE(
	"Record frames of C, C++, Rust and Cython, too, and threads that have no Python. all: those too that "
	"only carry calls inside of the interpreter. leaf: only what the innermost Python function has "
	"called. Whoever runs is stopped for each look, some 0.2 ms; who is in a system call is not."),
    {.name = "pause",
     .kind = DT_VALUE_CHOICE,
     .value = "WHEN",
     .choices = "auto never always",
     .help = "auto (the default): where nothing gentler proves that a stack is true, the thread that runs Python is "
	     "stopped while it is read, some 0.1 ms. never: what could only be seen that way is counted as not seen. "
	     "always: it is stopped rather than put aside.",
     .set = set_pause},
    {.name = "nonblocking", .help = "The same as --pause=never.", .hidden = true, .set = set_pause},
    {.name = "perch",
     .kind = DT_VALUE_CHOICE,
     .value = "WHEN",
     .choices = "auto off",
     .help = "auto (the default): wait on the CPU of the thread that is watched, which the kernel puts aside for a "
	     "look. off: look from another CPU; darter still takes a real-time priority where it may, to be woken in "
	     "time.",
     .set = set_perch},
    {.letter = 'j',
     .name = "json",
     .help = "Write what was recorded and where it is to stdout as JSON, for programs.",
     .set = dt_set_json},
    DT_OPTION_COLOR,
    DT_OPTION_QUIET("Say nothing but the result and errors, one of which is that nothing was recorded: no progress, no "
		    "summary. A name that was made for the output is a line of its own on stderr."),
    DT_OPTION_VERBOSE(
	"Say more: who joins and who ends, each file of a rotation, and where the recording is kept while it "
	"goes on."),
    {0},
};

static const struct dt_variable variables[] = {
    {"TMPDIR", "The directory for a recording that is not written beside its output: where it goes to stdout, or where "
	       "the disk of the output is full."},
    {0},
};

static const struct dt_example examples[] = {
    {"darter record 1234", "Until Ctrl-C: a flame graph, and a summary of where the time went."},
    {"darter record -d 10 -f text 1234", "Ten seconds, the summary alone."},
    {"darter record -o app.svg -- python3 app.py --fast", "From the start of a program to its end."},
    {"darter record --children -o server.speedscope.json 1234", "With all its worker processes, for speedscope."},
    {"darter record --gil --threads -d 1m 1234", "Who holds the GIL?"},
    {"darter record --name celery -o celery.darter --rotate 10m --keep 24", "The last four hours, at any time."},
    {0},
};

static const struct dt_exits exits = {
    .done = "; also when Ctrl-C (SIGINT), SIGTERM or SIGHUP ended the recording, or the processes did",
    .failed = "a Python that cannot be read, memory that does not answer",
    .permission = "The kernel does not allow it; the message says what would.",
    .not_found = "There is no such process, no name matches, it ended, there is no Python in it, or no sample was "
		 "taken: nothing was recorded.",
    .besides =
	"With several processes it is the code of the first error; the others are recorded all the same.\n\n"
	"With a program behind -- it is the program's own: its exit code, or 128 plus the number of the signal that "
	"ended it; also if there was no Python in it, and so no output: that is said, also with -q. It is 1 if the "
	"result goes to stdout and cannot be written there. If it could not be "
	"started: 4 if there is none, 3 if it may not be executed.",
};

const struct dt_command dt_command_record = {
    .name = "record",
    .arguments = "[PID...]",
    .instead = "-- PROGRAM [ARGUMENTS]",
    .argument_kind = DT_VALUE_PID,
    .summary = "record where running Python programs spend their time",
    .about =
	"Looks at the stacks of running programs many times a second and tells where the time went: a summary on the "
	"screen, and a flame graph or any other format in a file. The programs need no preparation, are not signalled "
	"and not written to. What could not be seen is counted and told at the end, with what the recording cost.\n\n"
	"Threads that only wait are recorded, too, and shown with --idle. With --name, --all and --children processes "
	"that begin later join the recording.\n\n"
	"A program behind -- is started and recorded until it ends; with --children until those have ended, too, that "
	"it "
	"leaves behind. Its input, output, terminal and signals are its "
	"own, and darter exits as it did: with its exit code, or 128 plus the signal that ended it.\n\n"
	"SIGINT (Ctrl-C), SIGTERM and SIGHUP end the recording and write it; a second one ends the writing, too, and "
	"the data is kept. SIGUSR1 writes what is there so far and goes on. While it goes on a recording is kept in "
	"OUTPUT.part.darter, beside the output (OUTPUT.part-2.darter if there is one already); where the result "
	"goes to stdout, in a file darter-XXXXXX.darter in the directory that TMPDIR names, or in /tmp. If darter is "
	"killed, "
	"'darter report' shows what is in it; -v tells its name.",
    .options = table,
    .variables = variables,
    .examples = examples,
    .options_size = sizeof(struct dt_record_command),
    .defaults = defaults,
    .argument = argument,
    .meant = meant,
    .program = program,
    .notes_signals = true,
    .run = run,
    .exits = &exits,
};
