/*
 * What is said when a result could not be written: where the recording is kept, and the command that makes the result
 * of it after all. That command works as it stands: it has the format and the view that were asked for, and another
 * place for the result than the one that was refused.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/shell.h"
#include "base/util.h"
#include "cli/record.h"

#define MOST 1000 /* names that are tried */

/* A name that begins with a dash would be taken for an option. */
static bool put_path(struct dt_buf *line, const char *path)
{
	if (path[0] == '-')
		dt_buf_puts(line, "./");
	return dt_shell_quote(line, path);
}

static bool put_value(struct dt_buf *line, const char *option, const char *value)
{
	if (!value)
		return true;
	dt_buf_printf(line, " %s=", option);
	return dt_shell_quote(line, value);
}

static bool put_view(struct dt_buf *line, const struct dt_view_options *view)
{
	const struct {
		bool on;
		const char *option;
	} switches[] = {
	    {view->weight == DT_WEIGHT_CPU, "--cpu"},
	    {view->weight == DT_WEIGHT_GIL, "--gil"},
	    {view->idle, "--idle"},
	    {view->threads, "--threads"},
	    {view->main_thread, "--main-thread"},
	    {view->gc, "--gc"},
	    {view->functions, "--function"},
	    {view->no_lines, "--no-lines"},
	    {view->full_names, "--full-filenames"},
	};
	bool good = put_value(line, "--thread-name", view->thread_name);

	for (size_t i = 0; i < DT_COUNT(switches); i++)
		if (switches[i].on)
			dt_buf_printf(line, " %s", switches[i].option);
	for (size_t i = 0; i < view->hide_count; i++)
		good = good && put_value(line, "--hide", view->hide[i]);
	return good;
}

/* The directory that a file is in. */
static char *folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return strdup(".");
	return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

static bool on_one_disk(const char *one, const char *other)
{
	struct stat a, b;

	return stat(one, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev;
}

/* A directory for what was refused: that of the data, unless its disk is the same. */
static char *another_folder(const struct dt_record_run *run)
{
	dt_auto_free char *refused = folder_of(run->output);
	char *folder = folder_of(run->data.path);
	const char *other = dt_data_other_folder(&run->data);

	if (!refused || !folder || !other || !on_one_disk(refused, folder))
		return folder;
	free(folder);
	return strdup(other);
}

/* The name of the output in another directory, which no file has yet. */
static bool put_other_name(struct dt_buf *line, const struct dt_record_run *run)
{
	dt_auto_free char *folder = another_folder(run);
	const char *slash = strrchr(run->output, '/'), *base = slash ? slash + 1 : run->output;
	struct dt_buf name = DT_BUF_INIT;
	bool good = false;

	for (unsigned i = 1; folder && i <= MOST && !good; i++) {
		dt_buf_clear(&name);
		if (i == 1)
			dt_buf_printf(&name, "%s/%s", folder, base);
		else
			dt_buf_printf(&name, "%s/%u-%s", folder, i, base);
		good = !name.failed && access(name.data, F_OK) < 0;
	}
	good = good && put_path(line, name.data);
	dt_buf_release(&name);
	return good;
}

/* The recording itself is there already, and the text is for people: both are shown. */
static bool put_result(struct dt_buf *line, const struct dt_record_run *run, bool refused)
{
	const struct dt_profile_format *format = run->command->showing.format;

	if (!format->render || !strcmp(format->name, "text"))
		return true;
	dt_buf_printf(line, " -f %s", format->name);
	if (!run->output)
		return true;
	dt_buf_puts(line, " -o ");
	return refused ? put_other_name(line, run) : put_path(line, run->output);
}

void dt_record_tell_kept(const struct dt_record_run *run, bool refused, struct dt_error *err)
{
	struct dt_buf line = DT_BUF_INIT;
	bool good;

	if (!dt_data_named(&run->data)) {
		dt_hint(err, "The recording is lost: '%.400s' was removed, and there is no other place for it",
			run->data.path);
		return;
	}
	dt_buf_puts(&line, "darter report ");
	/* What was too large for us will be again: the summary is shown. */
	good = put_path(&line, run->data.path) && (err->code == DT_EMEMORY || put_result(&line, run, refused)) &&
	       put_view(&line, &run->command->showing.view);
	dt_hint(err, "The recording is kept in %s%s", run->data.path, good ? ". This shows it:" : "");
	if (good && !line.failed)
		dt_hint(err, "    %s", line.data);
	dt_buf_release(&line);
}
