/*
 * The Python processes of a host as a table. Columns are as wide as their widest cell; the last two share what is left
 * of the terminal's width. Where it is too little the command is cut first, in its middle, then the name of the
 * function; file and line, which lead to it, stay as long as there is room for them alone.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "base/util.h"
#include "format/processes.h"
#include "format/short_names.h"
#include "format/text.h"

enum column { PID, PYTHON, THREADS, CPU, RSS, CONTAINER, COMMAND, DOING, COLUMNS };

#define CONTAINER_MAX 20 /* columns; ids are long and their beginning is enough */
#define COMMAND_MIN   12
#define FUNCTION_MIN  8
#define COMMAND_PAD   60 /* where nothing is cut, one long command must not push all others apart */
#define GAP           "  "

static const char *const titles[COLUMNS] = {"PID", "PYTHON", "THREADS", "CPU%", "RSS", "CONTAINER", "COMMAND", "DOING"};
static const bool right[COLUMNS] = {[PID] = true, [THREADS] = true, [CPU] = true, [RSS] = true};

static void put_size(struct dt_buf *buf, uint64_t bytes)
{
	static const char units[] = "KMGTPE";
	double value = (double)bytes / 1024;
	size_t unit = 0;

	while (value >= 999.5 && unit + 1 < strlen(units)) {
		value /= 1024;
		unit++;
	}
	dt_buf_printf(buf, value < 9.95 && unit ? "%.1f%c" : "%.0f%c", value, units[unit]);
}

/* " (server.py:28)" */
static void put_place(struct dt_buf *buf, const struct dt_process *process)
{
	struct dt_frame frame = {.file = process->file};
	struct dt_thread thread = {.frames = &frame, .frame_count = 1};
	struct dt_snapshot one = {.threads = &thread, .thread_count = 1};
	struct dt_short_names names = {0};

	if (process->file && !dt_short_names_init(&names, &one)) {
		dt_buf_puts(buf, " (");
		dt_escape(buf, dt_short_name(&names, process->file));
		if (process->line)
			dt_buf_printf(buf, ":%" PRIu32, process->line);
		dt_buf_putc(buf, ')');
	}
	dt_short_names_release(&names);
}

static void put_function(struct dt_buf *buf, const struct dt_process *process, size_t columns)
{
	struct dt_buf place = DT_BUF_INIT, state = DT_BUF_INIT;
	size_t taken, function = dt_columns(process->function);

	put_place(&place, process);
	if (process->state != DT_STATE_RUNNING && process->state != DT_STATE_UNKNOWN)
		dt_buf_printf(&state, " %s", dt_state_name(process->state));
	taken = dt_columns(place.data) + dt_columns(state.data);
	if (taken + DT_MIN(function, (size_t)FUNCTION_MIN) > columns) {
		dt_buf_clear(&state);
		taken = dt_columns(place.data);
	}
	if (taken < columns)
		dt_escape_cut(buf, process->function, columns - taken);
	dt_buf_puts(buf, place.data + (taken >= columns && taken));
	dt_buf_puts(buf, state.data);
	buf->failed |= place.failed || state.failed;
	dt_buf_release(&place);
	dt_buf_release(&state);
}

static void put_doing(struct dt_buf *buf, const struct dt_process *process, size_t columns)
{
	if (process->code) {
		dt_buf_putc(buf, '[');
		dt_escape(buf, process->reason ? process->reason : dt_error_name(process->code));
		dt_buf_putc(buf, ']');
	} else if (process->function) {
		put_function(buf, process, columns);
	} else {
		dt_buf_putc(buf, '-');
	}
}

/* Where room is short, the directory of the interpreter is the least interesting part of a command. */
static const char *without_directory(const char *command)
{
	const char *at = command;

	for (size_t i = 0; command && command[i] && command[i] != ' '; i++)
		if (command[i] == '/' && command[i + 1] && command[i + 1] != ' ')
			at = command + i + 1;
	return at;
}

/* A text that is escaped already, its middle left out: "python3…server". */
static void put_ends(struct dt_buf *buf, const char *text, size_t columns)
{
	size_t total = dt_columns(text), left = strlen(text), tail = columns / 2;

	if (total <= columns) {
		dt_buf_puts(buf, text);
		return;
	}
	dt_escape_cut(buf, text, columns - tail);
	while (left && total > tail) {
		char one[8] = "";
		uint32_t code;
		size_t size = dt_utf8_next(text, left, &code);

		memcpy(one, text, DT_MIN(size, sizeof(one) - 1));
		total -= DT_MIN(total, dt_columns(one));
		text += size;
		left -= size;
	}
	dt_buf_puts(buf, text);
}

/* doing: how many columns the last cell may have. */
static void put_cell(struct dt_buf *buf, const struct dt_process *process, enum column column, bool cut, size_t doing)
{
	switch (column) {
	case PID:
		dt_buf_printf(buf, "%d", process->pid);
		break;
	case PYTHON:
		dt_escape(buf, process->version_text[0] ? process->version_text : "?");
		break;
	case THREADS:
		dt_buf_printf(buf, "%u", process->threads);
		break;
	case CPU:
		if (process->cpu >= 0)
			dt_buf_printf(buf, "%.1f", process->cpu);
		else
			dt_buf_putc(buf, '?');
		break;
	case RSS:
		put_size(buf, process->rss);
		break;
	case CONTAINER:
		dt_escape_cut(buf, process->container ? process->container : "-", CONTAINER_MAX);
		break;
	case COMMAND:
		dt_escape(buf, cut ? without_directory(process->command) : process->command);
		break;
	case DOING:
		put_doing(buf, process, doing);
		break;
	case COLUMNS:
		break;
	}
}

/* Which columns there are and how wide: 0 leaves one out. The last is never padded. */
static void measure(const struct dt_process *const *rows, size_t count, size_t available, size_t width[COLUMNS])
{
	struct dt_buf cell = DT_BUF_INIT;
	size_t fixed = 0, left;
	bool contained = false;

	for (int column = 0; column < COLUMNS; column++)
		width[column] = strlen(titles[column]);
	for (size_t i = 0; i < count; i++) {
		for (int column = 0; column < COLUMNS; column++) {
			dt_buf_clear(&cell);
			put_cell(&cell, rows[i], (enum column)column, available != 0, SIZE_MAX);
			width[column] = DT_MAX(width[column], dt_columns(cell.data));
		}
		contained |= rows[i]->container != NULL;
	}
	dt_buf_release(&cell);
	if (!contained)
		width[CONTAINER] = 0;
	if (!available) {
		width[COMMAND] = DT_MIN(width[COMMAND], (size_t)COMMAND_PAD);
		return;
	}
	for (int column = 0; column < COMMAND; column++)
		fixed += width[column] ? width[column] + strlen(GAP) : 0;
	left = available > fixed + strlen(GAP) ? available - fixed - strlen(GAP) : 0;
	/* What is being done matters more than the command: it gets all but the little that a command needs. */
	left = DT_MAX(left, 2 * (size_t)COMMAND_MIN);
	if (width[COMMAND] + width[DOING] > left) {
		width[COMMAND] = DT_MIN(width[COMMAND], (size_t)COMMAND_MIN);
		width[DOING] = DT_MIN(width[DOING], left - width[COMMAND]);
		width[COMMAND] = left - width[DOING];
	}
}

static enum dt_style style_of(const struct dt_process *process, enum column column)
{
	if (column == PID)
		return DT_STYLE_ID;
	if (column == DOING)
		return process->code                         ? DT_STYLE_NOTE
		       : process->state == DT_STATE_SLEEPING ? DT_STYLE_DIM
							     : DT_STYLE_NAME;
	if (column == CPU && process->cpu >= 50)
		return DT_STYLE_BUSY;
	return DT_STYLE_PLAIN;
}

static void put_padded(struct dt_buf *line, const char *text, enum column column, size_t width, const char *on,
		       const char *off)
{
	size_t columns = dt_columns(text), padding = columns < width ? width - columns : 0;

	if (column)
		dt_buf_puts(line, GAP);
	for (size_t i = 0; right[column] && i < padding; i++)
		dt_buf_putc(line, ' ');
	dt_buf_printf(line, "%s%s%s", on, text, off);
	for (size_t i = 0; !right[column] && column != DOING && i < padding; i++)
		dt_buf_putc(line, ' ');
}

static void put_row(struct dt_buf *line, const struct dt_process *process, const struct dt_render *render,
		    const size_t width[COLUMNS])
{
	struct dt_buf cell = DT_BUF_INIT, cut = DT_BUF_INIT;

	for (int i = 0; i < COLUMNS; i++) {
		enum column column = (enum column)i;
		enum dt_style style = process ? style_of(process, column) : DT_STYLE_BOLD;

		if (!width[column])
			continue;
		dt_buf_clear(&cell);
		dt_buf_clear(&cut);
		if (process)
			put_cell(&cell, process, column, render->columns != 0,
				 render->columns ? width[DOING] : SIZE_MAX);
		else
			dt_buf_puts(&cell, titles[column]);
		if (column == COMMAND && render->columns && !cell.failed)
			put_ends(&cut, cell.data, width[column]);
		else
			dt_escape_cut(&cut, cell.data, render->columns ? width[column] : SIZE_MAX);
		put_padded(line, cut.data, column, width[column], dt_style_on(render, style),
			   dt_style_off(render, style));
	}
	dt_buf_putc(line, '\n');
	line->failed |= cell.failed || cut.failed;
	dt_buf_release(&cell);
	dt_buf_release(&cut);
}

static int busiest_first(const void *a, const void *b)
{
	const struct dt_process *x = *(const struct dt_process *const *)a;
	const struct dt_process *y = *(const struct dt_process *const *)b;

	if (x->cpu > y->cpu || x->cpu < y->cpu)
		return x->cpu > y->cpu ? -1 : 1;
	return (x->pid > y->pid) - (x->pid < y->pid);
}

void dt_processes_sort(const struct dt_process **rows, size_t count)
{
	if (count)
		qsort(rows, count, sizeof(struct dt_process *), busiest_first);
}

int dt_processes_text(const struct dt_process *const *rows, size_t count, const struct dt_render *render, FILE *out)
{
	static const struct dt_render plain;
	struct dt_buf line = DT_BUF_INIT;
	size_t width[COLUMNS];
	int code;

	if (!render)
		render = &plain;
	measure(rows, count, render->columns, width);
	put_row(&line, NULL, render, width);
	code = dt_flush(&line, out);
	for (size_t i = 0; !code && i < count; i++) {
		put_row(&line, rows[i], render, width);
		code = dt_flush(&line, out);
	}
	dt_buf_release(&line);
	return code;
}
