/* The line is overwritten with blanks, as any terminal can: see progress.h. */
#include "cli/progress.h"

#include <unistd.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "base/util.h"
#include "cli/terminal.h"

#define NS_PER_S   UINT64_C(1000000000)
#define EVERY_NS   (NS_PER_S / 5)
#define NAME_LEAST 8 /* columns: on a terminal that has no room for more nothing is shown */

void dt_progress_begin(struct dt_progress *progress, const char *file, FILE *out)
{
	size_t columns = out && isatty(fileno(out)) ? dt_terminal_columns(fileno(out)) : 0;

	*progress = (struct dt_progress){
	    .file = file, .out = columns ? out : NULL, .columns = columns, .next_ns = dt_clock_ns() + NS_PER_S};
}

/* A window may have become narrower: blanks beyond it would begin another line. */
static void follow(struct dt_progress *progress)
{
	progress->columns = dt_terminal_columns_now(fileno(progress->out), progress->columns);
	progress->width = DT_MIN(progress->width, progress->columns - 1);
}

void dt_progress_at(struct dt_progress *progress, uint64_t now_ns, uint64_t done, uint64_t whole)
{
	unsigned percent = whole ? (unsigned)(100.0 * (double)done / (double)whole) : 0;
	struct dt_buf line = DT_BUF_INIT, words = DT_BUF_INIT;

	if (!progress->out || now_ns < progress->next_ns)
		return;
	progress->next_ns = now_ns + EVERY_NS;
	dt_buf_printf(&words, ": %u%% decompressed", percent);
	follow(progress);
	if (progress->columns > words.length + NAME_LEAST) {
		dt_escape_cut(&line, progress->file, progress->columns - words.length - 1);
		dt_buf_puts(&line, words.data);
		progress->width = DT_MAX(progress->width, dt_columns(line.data));
		fprintf(progress->out, "\r%s", line.data);
		fflush(progress->out);
	}
	dt_buf_release(&line);
	dt_buf_release(&words);
}

void dt_progress_show(void *progress, uint64_t done, uint64_t whole)
{
	dt_progress_at(progress, dt_clock_ns(), done, whole);
}

void dt_progress_end(struct dt_progress *progress)
{
	if (!progress->width)
		return;
	follow(progress);
	fprintf(progress->out, "\r%*s\r", (int)progress->width, "");
	fflush(progress->out);
}
