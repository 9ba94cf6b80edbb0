/* darter report: what a recording shows, in any format. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/util.h"
#include "cli/commands.h"
#include "cli/dump.h"
#include "cli/options.h"
#include "cli/result_file.h"
#include "cli/showing.h"
#include "cli/terminal.h"

struct options {
	struct dt_showing showing;
	const char **files;
	size_t count;
	struct dt_failures failures; /* files that cannot be read */
};

static int argument(void *options, const char *text, struct dt_error *err)
{
	struct options *o = options;
	const char **grown;

	if (!*text)
		return dt_fail(err, DT_EUSAGE, "an empty text is no name of a file");
	for (size_t i = 0; i < o->count; i++)
		if (!strcmp(text, "-") && !strcmp(o->files[i], text))
			return dt_fail(err, DT_EUSAGE, "'-' is given twice: stdin can be read only once");
	grown = reallocarray((void *)o->files, o->count + 1, sizeof(*grown));
	if (!grown)
		return dt_fail(err, DT_EMEMORY, "out of memory");
	grown[o->count++] = text;
	o->files = grown;
	return 0;
}

static int open_recording(const char *file, struct dt_error *err)
{
	struct stat st;
	int fd;

	if (!strcmp(file, "-"))
		return dup(STDIN_FILENO);
	fd = open(file, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		close(fd);
		fd = -1;
		errno = EISDIR;
	}
	if (fd >= 0)
		return fd;
	dt_fail(err, errno == ENOENT ? DT_ENOTFOUND : DT_ERUNTIME, "'%.400s' cannot be read: %s", file,
		strerror(errno));
	if (errno == ENOENT)
		dt_hint(err, "'darter record -o FILE.darter' makes a recording");
	else if (errno == EISDIR)
		dt_hint(err, "recordings are files: DIRECTORY/*.darter are all that are in a directory, shown as one");
	return -1;
}

static int read_one(const struct options *o, const char *file, struct dt_recordings *recordings, struct dt_error *err)
{
	const char *name = strcmp(file, "-") != 0 ? file : "stdin";
	char warning[DT_WARNING_SIZE] = "";
	dt_auto_close int fd = open_recording(file, err);
	int code = fd < 0 ? err->code : dt_recordings_add(recordings, fd, name, warning, err);

	if (code == 0 && warning[0])
		dt_note(&o->showing.selecting.common, "%s", warning);
	return code;
}

/* One of several that cannot be read is told, and the others are shown. That there is nothing in it yet is no failure:
 * for a moment the newest file of a rotation is like that. */
static void pass_over(struct options *o, const struct dt_error *err)
{
	if (err->code == DT_EAGAIN) {
		dt_note(&o->showing.selecting.common, "%s", err->message);
		return;
	}
	dt_failures_add(&o->failures, &o->showing.selecting.common, 0, err);
}

static int read_all(struct options *o, struct dt_recordings *recordings, struct dt_error *err)
{
	char twice[DT_WARNING_SIZE] = "";
	size_t read = 0;
	int code;

	for (size_t i = 0; i < o->count; i++) {
		struct dt_error mine = {0};

		code = read_one(o, o->files[i], recordings, &mine);
		if (code == DT_EMEMORY || (code && o->count == 1)) {
			*err = mine;
			return code;
		}
		if (code)
			pass_over(o, &mine);
		read += !code;
	}
	if (!read) {
		dt_fail(err, o->failures.first ? o->failures.first : DT_ERUNTIME,
			"there is nothing to show in any of these %zu files", o->count);
		return err->code;
	}
	code = dt_recordings_join(recordings, twice, err);
	if (code == 0 && twice[0])
		dt_note(&o->showing.selecting.common, "%s", twice);
	return code;
}

static int show(const struct options *o, struct dt_recordings *recordings, FILE *out, struct dt_error *err)
{
	const struct dt_common *common = &o->showing.selecting.common;
	bool screen = out == stdout;
	struct dt_profile_render render = {.color = screen ? dt_terminal_color(common, STDOUT_FILENO)
							   : common->color == DT_COLOR_ALWAYS,
					   .columns = screen ? dt_terminal_columns(STDOUT_FILENO) : 0};

	char empty[DT_WARNING_SIZE] = "";
	int code = dt_recordings_show(recordings, o->showing.format, &o->showing.view, &render, out, empty, err);

	if (code == 0 && empty[0]) {
		int why = errno;

		dt_note(common, "%s", empty);
		errno = why;
	}
	return code;
}

static int show_in_file(const struct options *o, struct dt_recordings *recordings, struct dt_error *err)
{
	struct dt_result_file result;
	int code = dt_result_open(&result, o->showing.output, err);

	if (code)
		return code;
	errno = 0;
	code = show(o, recordings, result.file, err);
	if (code == DT_ERUNTIME && errno) /* nothing but the output is left to fail */
		dt_result_fail(&result, errno, err);
	if (code)
		dt_result_abandon(&result);
	else
		code = dt_result_commit(&result, err);
	return code;
}

/* For programs: what was read and what became of it, as 'darter record' tells it. */
static void put_json(const struct options *o, const struct dt_recordings *recordings, bool written)
{
	const char *files[] = {o->showing.output};
	struct dt_record_result result = {.format = written ? o->showing.format->name : NULL,
					  .files = files,
					  .file_count = written,
					  .failures = o->failures.list,
					  .failure_count = o->failures.count};

	dt_recordings_status(recordings, &result.status, &result.rate);
	if (dt_render_record_json(&result, stdout) || fflush(stdout))
		dt_output_failed();
}

static int show_all(struct options *o, struct dt_recordings *recordings, struct dt_error *err)
{
	int code = read_all(o, recordings, err);

	if (code)
		return code;
	if (o->showing.output && strcmp(o->showing.output, "-") != 0)
		return show_in_file(o, recordings, err);
	if (o->showing.selecting.common.json)
		return 0;
	code = show(o, recordings, stdout, err);
	if (code == DT_ERUNTIME && ferror(stdout)) {
		dt_output_failed(); /* told at the end, unless its reader went away */
		code = 0;
	}
	return code;
}

/* What does not go together. */
static int check(struct options *o, struct dt_error *err)
{
	bool json = o->showing.selecting.common.json, formatted = o->showing.format != NULL;
	const char *output = o->showing.output;
	int code = dt_showing_settle(&o->showing, "text", err);

	if (code)
		return code;
	if (json && (output ? !strcmp(output, "-") : formatted)) {
		dt_fail(err, DT_EUSAGE, "--json and %s are two results for stdout: only one can be written",
			output ? "-o -" : "-f");
		dt_hint(err, "-o FILE writes the other one to a file");
		return DT_EUSAGE;
	}
	if (!o->count) {
		dt_fail(err, DT_EUSAGE, "which recording? Give the name of a .darter file");
		dt_hint(err, "'darter record -o FILE.darter' makes one%s",
			isatty(STDIN_FILENO) ? "" : "; a file named - is stdin: 'darter report -'");
		return DT_EUSAGE;
	}
	return json ? dt_output_check(err) : 0;
}

static int report(struct options *o, struct dt_error *err)
{
	struct dt_recordings *recordings;
	int code;

	recordings = dt_recordings_new();
	if (!recordings) {
		dt_fail(err, DT_EMEMORY, "out of memory");
		dt_report(&o->showing.selecting.common, err);
		return DT_EMEMORY;
	}
	code = show_all(o, recordings, err);
	if (code)
		dt_failures_add(&o->failures, &o->showing.selecting.common, 0, err);
	if (o->showing.selecting.common.json)
		put_json(o, recordings, !code && o->showing.output);
	dt_recordings_free(recordings);
	return code ? code : o->failures.first;
}

static int run(void *options)
{
	struct options *o = options;
	struct dt_error err = {0};
	int code = check(o, &err);

	if (code)
		dt_report(&o->showing.selecting.common, &err);
	else
		code = report(o, &err);
	dt_showing_release(&o->showing);
	dt_failures_release(&o->failures);
	free((void *)o->files);
	return dt_exit_code(code);
}

static const struct dt_option table[] = {
    {.letter = 'f',
     .name = "format",
     .kind = DT_VALUE_PROFILE_FORMAT,
     .value = "FORMAT",
     .help = "The output format; by default the one that the name of the output ends with, else text.",
     .set = dt_show_format},
    {.letter = 'o',
     .name = "output",
     .kind = DT_VALUE_FILE,
     .value = "FILE",
     .help = "Write to this file, which is replaced when the result is whole; stdout (-) by default.",
     .set = dt_show_output},
    DT_OPTIONS_SHOWING,
    {.letter = 'j',
     .name = "json",
     .help = "Write what was read, and with -o where the result is, to stdout as JSON, for programs.",
     .set = dt_set_json},
    DT_OPTION_COLOR,
    DT_OPTION_QUIET("Say nothing but the result and errors: not that a recording was cut off or is damaged."),
    {0},
};

static const struct dt_example examples[] = {
    {"darter report app.darter", "Where the time went: the summary."},
    {"darter report app.darter -o app.svg --gil", "A flame graph of the time in which the GIL was held."},
    {"darter report app.svg.part.darter -o app.svg", "The recording that a killed darter has left behind."},
    {"darter report app-20261116-*.darter", "All files of a rotation, as one."},
    {"darter report app.darter -f folded --threads | grep worker", "Stacks as lines, for other tools."},
    {0},
};

static const struct dt_exits exits = {
    .done = "; also when a recording was cut off or is damaged, and what is left of it is shown",
    .failed = "a file that is no recording or cannot be read, or one in which nothing is left; with several files the "
	      "others are shown all the same",
    .not_found = "There is no such file.",
};

const struct dt_command dt_command_report = {
    .name = "report",
    .arguments = "FILE...",
    .argument_kind = DT_VALUE_FILE,
    .summary = "show a recording, in any format",
    .about = "Reads a recording (a .darter file that 'darter record' has written) and shows it: the summary, or with "
	     "-f or -o any other format. All that was recorded is in the file, so what counts (--cpu, --gil, --idle) "
	     "and what is shown can be chosen anew each time.\n\n"
	     "A file named - is stdin.\n\n"
	     "Several recordings are shown as one: the files of a rotation, or of several runs or hosts. A process "
	     "that goes on from one file to the next is one process, and what was recorded twice counts once.\n\n"
	     "A recording that was cut off, by a kill or a full disk, is shown up to there, and one that is still "
	     "being written up to now. Of one that is damaged the parts are shown that are whole, and whose names "
	     "are: the beginning of the file has most of them. All of that is told, and if nothing can be shown it is "
	     "an error; '-f darter -o FILE' writes what is left as a whole recording.",
    .options = table,
    .examples = examples,
    .options_size = sizeof(struct options),
    .argument = argument,
    .run = run,
    .exits = &exits,
};
