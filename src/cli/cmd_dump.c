/* darter dump: the stacks of running programs. */
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/dump.h"
#include "cli/options.h"
#include "cli/terminal.h"

static int set_every(void *options, const char *value, struct dt_error *err)
{
	return dt_value_seconds(value, 0.001, &((struct dt_dump_options *)options)->every, err);
}

static int set_full_names(void *options, const char *value, struct dt_error *err)
{
	(void)value, (void)err;
	((struct dt_dump_options *)options)->render.full_names = true;
	return 0;
}

static int set_max_frames(void *options, const char *value, struct dt_error *err)
{
	return dt_value_count(value, &((struct dt_dump_options *)options)->render.max_frames, err);
}

static int set_no_source(void *options, const char *value, struct dt_error *err)
{
	(void)value, (void)err;
	((struct dt_dump_options *)options)->attach.source = false;
	return 0;
}

static int set_native(void *options, const char *value, struct dt_error *err)
{
	(void)err;
	((struct dt_dump_options *)options)->attach.native = dt_native_of(value);
	return 0;
}

static int set_pause(void *options, const char *value, struct dt_error *err)
{
	(void)err;
	/* Without a value it is --nonblocking. */
	((struct dt_dump_options *)options)->attach.pause = !value || !strcmp(value, "never") ? DT_PAUSE_NEVER
											      : DT_PAUSE_AUTO;
	return 0;
}

static int set_format(void *options, const char *value, struct dt_error *err)
{
	struct dt_dump_options *o = options;

	o->format = dt_format_by_name(value);
	if (o->format)
		return 0;
	dt_fail(err, DT_EUSAGE, "there is no format '%s'", value);
	for (const struct dt_format *const *format = dt_formats(); *format; format++)
		dt_hint(err, "%s: %s", (*format)->name, (*format)->description);
	return DT_EUSAGE;
}

static int set_core(void *options, const char *value, struct dt_error *err)
{
	(void)err;
	((struct dt_dump_options *)options)->core = value;
	return 0;
}

static int set_exe(void *options, const char *value, struct dt_error *err)
{
	(void)err;
	((struct dt_dump_options *)options)->exe = value;
	return 0;
}

static int set_root(void *options, const char *value, struct dt_error *err)
{
	(void)err;
	((struct dt_dump_options *)options)->root = value;
	return 0;
}

static void defaults(void *options)
{
	((struct dt_dump_options *)options)->attach.source = true;
}

static int run(void *options)
{
	struct dt_dump_options *o = options;
	struct dt_common *common = &o->selecting.common;
	int code;

	o->render.color = dt_terminal_color(common, STDOUT_FILENO);
	o->render.verbose = common->verbose;
	if (!o->format)
		o->format = dt_format_by_name(common->json ? "json" : "text");
	common->json = !strcmp(o->format->name, "json");
	if (o->core && o->attach.native) {
		struct dt_error err;

		dt_fail(&err, DT_EUSAGE, "--native is not possible with --core yet");
		dt_hint(&err, "without it the Python frames of the core are shown");
		dt_report(common, &err);
		return dt_exit_code(DT_EUSAGE);
	}
	if (o->core || o->exe || o->root)
		code = dt_dump_core(o);
	else
		code = o->every > 0 ? dt_dump_every(o) : dt_dump_once(o);
	dt_selection_release(&o->selecting.selection);
	return code;
}

static const struct dt_option table[] = {
    DT_OPTIONS_SELECTION,
    {.name = "core",
     .kind = DT_VALUE_FILE,
     .value = "FILE",
     .help = "A core file instead of a process: what it was doing when it died. May be compressed (gzip, zstd, lz4).",
     .set = set_core},
    {.name = "exe",
     .kind = DT_VALUE_FILE,
     .value = "FILE",
     .help = "With --core: the program that the core is of, if it is not where it was.",
     .set = set_exe},
    {.name = "root",
     .kind = DT_VALUE_FOLDER,
     .value = "DIR",
     .help = "With --core: where the files of the machine are that the core comes from, libraries and sources; / by "
	     "default.",
     .set = set_root},
    {.letter = 'f',
     .name = "format",
     .kind = DT_VALUE_FORMAT,
     .value = "FORMAT",
     .help = "The output format, text by default.",
     .set = set_format},
    DT_OPTION_JSON,
    {.name = "every",
     .kind = DT_VALUE_SECONDS,
     .value = "SECONDS",
     .help = "Look again and again, and show the threads that changed; Ctrl-C ends it.",
     .set = set_every},
    {.name = "full-filenames", .help = "Do not shorten the names of files.", .set = set_full_names},
    {.name = "max-frames",
     .kind = DT_VALUE_NUMBER,
     .value = "N",
     .help = "Show the innermost N frames of each thread.",
     .set = set_max_frames},
    DT_OPTION_NATIVE(
	"Show frames of C, C++, Rust and Cython between those of Python, and threads that have no Python at "
	"all. all: those too that only carry calls inside of the interpreter. leaf: only what the innermost "
	"Python function has called. A thread that runs is stopped while its stack is copied, one after the "
	"other; one that is in a system call is not."),
    {.name = "no-source", .help = "Leave the line of source code out.", .set = set_no_source},
    {.name = "pause",
     .kind = DT_VALUE_CHOICE,
     .value = "WHEN",
     .choices = "auto never",
     .help =
	 "auto (the default): where nothing gentler proves that a stack is true, the thread that runs Python is "
	 "stopped while it is read, some 0.1 ms; of a free-threaded build all that do are stopped together. never: a "
	 "stack must be the same in several looks, which is evidence and not proof; what differs is left out, and "
	 "told.",
     .set = set_pause},
    {.name = "nonblocking", .help = "The same as --pause=never.", .hidden = true, .set = set_pause},
    DT_OPTION_COLOR,
    DT_OPTION_QUIET("Say nothing but the result and errors; with --json the errors are in the result alone."),
    DT_OPTION_VERBOSE("Say more: how it was seen and what was left out."),
    {0},
};

static const struct dt_variable variables[] = {
    {"DARTER_CORE_LIMIT", "With --core: how large a compressed core may be when it is decompressed, such as 40G (K, M, "
			  "G or T; bytes without "
			  "a unit); 16G by default."},
    {"TMPDIR",
     "With --core: the directory in which a compressed core is decompressed; /var/tmp by default, or /tmp where "
     "nothing can be written there."},
    {0},
};

static const struct dt_example examples[] = {
    {"darter dump 1234", "The stack of every thread of process 1234."},
    {"darter dump --name gunicorn --children", "The same for all processes of a server, by the name of the command."},
    {"darter dump --name celery --name flask", "Every process whose command line matches one of the two."},
    {"darter dump --every 1 1234", "What changes from second to second; a program that hangs changes nothing."},
    {"darter dump --core core.1234", "What a program was doing when it died."},
    {"darter dump --json 1234 | jq '.snapshots[].threads[] | select(.gil)'", "The thread that holds the GIL."},
    {0},
};

static const struct dt_exits exits = {
    .done = "; also when Ctrl-C (SIGINT) or SIGTERM ended --every, or the process did",
    .failed = "a Python that cannot be read, a file that is no core or one that is not whole enough",
    .permission = "The kernel does not allow it (a core file: its owner does not); the message says what would.",
    .not_found = "There is no such process or core file, it ended, or there is no Python in it.",
    .besides = "With several processes it is the code of the first error; the others are shown all the same.",
};

const struct dt_command dt_command_dump = {
    .name = "dump",
    .arguments = "[PID...]",
    .instead = "--core FILE",
    .argument_kind = DT_VALUE_PID,
    .summary = "show the stacks of running Python programs, or of one that died",
    .about =
	"Shows the Python stack of every thread of a running program: the main thread first, the innermost frame on "
	"top, with the line of source code it is at. Each thread is shown with what it is doing: running, waiting for "
	"the GIL, in a system call or sleeping.\n\n"
	"The program needs no preparation, is not signalled and not written to. Every stack is one that the program "
	"really had. Each stack is read while its thread stands still, or is held still for that moment, and is never "
	"put together from two moments. Where a thread may not be held, several looks that agree stand for that, and "
	"-v says so. What could not be proven is left out, and the dump says so.\n\n"
	"In rare cases a thread is held that has just entered a system call: the call is interrupted, as it would be "
	"by a signal. --pause never rules that out.\n\n"
	"With --core it shows what a program was doing when it died: the signal, the thread that got it first, then "
	"the others. Pages that a core leaves out are read from the files of the program. One that the core shows to "
	"be another file is not used, and where the core cannot tell, the dump says so.\n\n"
	"With several processes each one is shown or its error is told. Processes found by --name, --all and "
	"--children that are not Python are passed over.",
    .options = table,
    .variables = variables,
    .examples = examples,
    .options_size = sizeof(struct dt_dump_options),
    .defaults = defaults,
    .argument = dt_dump_argument,
    .run = run,
    .exits = &exits,
};
