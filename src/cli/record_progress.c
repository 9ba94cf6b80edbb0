/* How a recording goes: one line on a terminal, which is written over and gone at the end. */
#include <inttypes.h>

#include "base/utf8.h"
#include "base/util.h"
#include "cli/record.h"
#include "cli/standing.h"
#include "cli/terminal.h"

#define NS_PER_S UINT64_C(1000000000)
#define FIRST_NS (NS_PER_S / 2)
#define EVERY_NS (NS_PER_S / 5)
#define ECHOED   2 /* columns: "^C" or "^Z" behind the line, which must not wrap it */

void dt_record_progress_begin(struct dt_record_progress *progress, FILE *out)
{
	size_t columns = out && isatty(fileno(out)) ? dt_terminal_columns(fileno(out)) : 0;

	*progress = (struct dt_record_progress){
	    .out = columns ? out : NULL, .columns = columns, .next_ns = dt_clock_ns() + FIRST_NS};
}

/* The columns that a line may have now. Of one that was wider, blanks beyond them would begin another one. */
static size_t follow(struct dt_record_progress *progress)
{
	progress->columns = dt_terminal_columns_now(fileno(progress->out), progress->columns);
	progress->width = DT_MIN(progress->width, progress->columns - 1);
	return progress->columns - DT_MIN(progress->columns, (size_t)ECHOED + 1);
}

/* With what may be echoed behind it. */
static size_t with_echo(const struct dt_record_progress *progress, size_t width)
{
	return DT_MIN(width + ECHOED, progress->columns - 1);
}

static void put_time(struct dt_buf *line, uint64_t ns)
{
	uint64_t seconds = ns / NS_PER_S;

	if (seconds < 60)
		dt_buf_printf(line, "%.1f s", (double)ns / (double)NS_PER_S);
	else if (seconds < 3600)
		dt_buf_printf(line, "%" PRIu64 "m%02" PRIu64 "s", seconds / 60, seconds % 60);
	else
		dt_buf_printf(line, "%" PRIu64 "h%02" PRIu64 "m", seconds / 3600, seconds / 60 % 60);
}

static void put_line(struct dt_buf *line, const struct dt_record_status *status, uint64_t before_ns)
{
	double seconds = (double)status->duration_ns / (double)NS_PER_S;

	dt_buf_puts(line, "recording ");
	put_time(line, before_ns + status->duration_ns);
	dt_buf_printf(line, ": %" PRIu64 " samples, %.0f rounds/s, %zu %s", status->samples,
		      seconds > 0 ? (double)status->rounds / seconds : 0, status->processes,
		      status->processes == 1 ? "process" : "processes");
	if (status->samples)
		dt_buf_printf(line, ", unseen %.1f%%", 100.0 * (double)status->unseen / (double)status->samples);
	if (status->bytes < 1000000)
		dt_buf_printf(line, ", %.1f kB", (double)status->bytes / 1e3);
	else
		dt_buf_printf(line, ", %.1f MB", (double)status->bytes / 1e6);
}

void dt_record_progress_show(struct dt_record_progress *progress, const struct dt_recording *recording,
			     uint64_t before_ns)
{
	struct dt_record_status status;
	struct dt_buf words = DT_BUF_INIT, line = DT_BUF_INIT;
	uint64_t now = dt_clock_ns();
	size_t room, width;

	if (!progress->out || now < progress->next_ns)
		return;
	progress->next_ns = now + EVERY_NS;
	dt_record_status(recording, &status);
	put_line(&words, &status, before_ns);
	room = follow(progress);
	dt_escape_cut(&line, words.data, room);
	width = dt_columns(line.data);
	fprintf(progress->out, "\r%s%*s", line.data, (int)(progress->width > width ? progress->width - width : 0), "");
	fflush(progress->out);
	progress->width = width;
	dt_standing_line(with_echo(progress, width));
	dt_buf_release(&line);
	dt_buf_release(&words);
}

void dt_record_progress_hide(struct dt_record_progress *progress)
{
	if (!progress->width)
		return;
	follow(progress);
	fprintf(progress->out, "\r%*s\r", (int)with_echo(progress, progress->width), "");
	fflush(progress->out);
	progress->width = 0;
	dt_standing_line(0);
}
