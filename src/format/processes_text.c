/*
 * The Python processes of a host as a table. Columns are as wide as their widest cell; COMMAND and DOING share what is
 * left of the terminal's width. Where it is too little the command is cut, then the name of the function; then columns
 * are left out, from the one that is missed least. The state and the line, without which a row says something else,
 * stay to the last.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/short_command.h"
#include "base/short_names.h"
#include "base/utf8.h"
#include "base/util.h"
#include "format/processes.h"
#include "format/text.h"

enum column { PID, PYTHON, THREADS, CPU, RSS, CONTAINER, COMMAND, STATE, DOING, COLUMNS };

#define CONTAINER_MAX 20 /* columns; ids are long and their beginning is enough */
#define COMMAND_MIN   12
#define FUNCTION_MIN  8
#define COMMAND_PAD   60 /* where nothing is cut, one long command must not push all others apart */
#define GAP           2

struct table {
	const struct dt_render *render;
	size_t width[COLUMNS]; /* 0: left out */
};

static const char *const titles[COLUMNS] = {[PID] = "PID",         [PYTHON] = "PYTHON", [THREADS] = "THR",
					    [CPU] = "CPU%",        [RSS] = "RSS",       [CONTAINER] = "CONTAINER",
					    [COMMAND] = "COMMAND", [STATE] = "STATE",   [DOING] = "DOING"};
static const bool right[COLUMNS] = {[PID] = true, [THREADS] = true, [CPU] = true, [RSS] = true};

/* What is left out on a narrow terminal, in this order: a column goes where DOING needs that many columns and would get
 * fewer. */
static const struct {
	enum column column;
	size_t doing;
} spare[] = {{RSS, 26}, {THREADS, 26}, {PYTHON, 26}, {CONTAINER, 26}, {COMMAND, 24}, {CPU, 24}};

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

/* "(server.py:28)". Where that is too long the file's name is cut: the line stays. */
static void put_place(struct dt_buf *buf, const struct dt_process *process, const struct dt_render *render,
		      size_t columns)
{
	struct dt_short_names names = {0};
	char line[16] = "";
	size_t rest;

	if (!process->file)
		return;
	if (process->line)
		snprintf(line, sizeof(line), ":%" PRIu32, process->line);
	rest = strlen("()") + strlen(line);
	/* Out of memory, the name is whole. */
	if (!render->full_names && !dt_short_names_add(&names, process->file))
		dt_short_names_finish(&names);
	dt_buf_putc(buf, '(');
	dt_escape_cut(buf, dt_short_name(&names, process->file), columns > rest ? columns - rest : 1);
	dt_buf_printf(buf, "%s)", line);
	dt_short_names_release(&names);
}

static void put_function(struct dt_buf *buf, const struct dt_process *process, const struct dt_render *render,
			 size_t columns)
{
	struct dt_buf place = DT_BUF_INIT;
	size_t taken;

	put_place(&place, process, render, columns);
	taken = place.length ? dt_columns(place.data) + 1 : 0;
	if (taken < columns) {
		dt_escape_cut(buf, process->function, columns - taken);
		dt_buf_puts(buf, taken ? " " : "");
	}
	dt_buf_puts(buf, place.data);
	buf->failed |= place.failed;
	dt_buf_release(&place);
}

static void put_doing(struct dt_buf *buf, const struct dt_process *process, const struct dt_render *render,
		      size_t columns)
{
	if (process->code) {
		dt_buf_putc(buf, '[');
		dt_escape(buf, process->reason ? process->reason : dt_error_name(process->code));
		dt_buf_putc(buf, ']');
	} else if (process->function) {
		put_function(buf, process, render, columns);
	} else {
		dt_buf_putc(buf, '-');
	}
}

/* Without the directory of the interpreter; where that is too long, without the interpreter, which has a column of its
 * own: "server.py --po…". */
static void put_command(struct dt_buf *buf, const char *command, size_t columns)
{
	if (!command)
		return;
	dt_escape(buf, dt_command_program(command));
	if (dt_columns(buf->data) <= columns)
		return;
	dt_buf_clear(buf);
	dt_escape_cut(buf, dt_command_script(command), columns);
}

static const char *state_word(enum dt_state state)
{
	switch (state) {
	case DT_STATE_RUNNING:
		return "run";
	case DT_STATE_GIL_WAIT:
		return "gil";
	case DT_STATE_SYSCALL:
		return "call";
	case DT_STATE_SLEEPING:
		return "sleep";
	case DT_STATE_STOPPED:
		return "stop";
	case DT_STATE_UNKNOWN:
		break;
	}
	return "-";
}

/* Into an empty buffer. columns: what there is for a command or for what is being done. */
static void put_cell(struct dt_buf *buf, const struct dt_process *process, const struct dt_render *render,
		     enum column column, size_t columns)
{
	switch (column) {
	case PID:
		dt_buf_printf(buf, "%d", process->pid);
		break;
	case PYTHON:
		dt_escape(buf, process->version_text[0] ? process->version_text : "?");
		dt_buf_puts(buf, process->version.free_threaded ? "t" : "");
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
		if (render->columns)
			put_command(buf, process->command, columns);
		else
			dt_escape(buf, process->command);
		break;
	case STATE:
		dt_buf_puts(buf, state_word(process->state));
		break;
	case DOING:
		put_doing(buf, process, render, columns);
		break;
	case COLUMNS:
		break;
	}
}

/* What DOING needs for a row to be of use. */
static size_t least_doing(const struct dt_process *process, const struct dt_render *render, size_t whole)
{
	struct dt_buf place = DT_BUF_INIT;
	size_t least = whole;

	if (!process->code && process->function) {
		put_place(&place, process, render, SIZE_MAX);
		least = DT_MIN(whole, dt_columns(place.data) + 1 + FUNCTION_MIN);
		dt_buf_release(&place);
	}
	return least;
}

/* The columns that are never cut, and the gaps behind them. */
static size_t fixed_width(const size_t width[COLUMNS])
{
	size_t sum = 0;

	for (int column = 0; column < DOING; column++)
		if (column != COMMAND && width[column])
			sum += width[column] + GAP;
	return sum;
}

/* Brings the columns to the width of the terminal. */
static void fit(size_t width[COLUMNS], size_t available, size_t doing)
{
	size_t command = DT_MIN(width[COMMAND], (size_t)COMMAND_MIN), taken, left;

	for (size_t i = 0; i < DT_COUNT(spare); i++) {
		taken = fixed_width(width) + (width[COMMAND] ? command + GAP : 0);
		if (taken + DT_MIN(doing, spare[i].doing) <= available)
			break;
		width[spare[i].column] = 0;
	}
	taken = fixed_width(width) + (width[COMMAND] ? GAP : 0);
	left = available > taken ? available - taken : 0;
	if (!width[COMMAND]) {
		width[DOING] = DT_MIN(width[DOING], left);
	} else if (width[COMMAND] + width[DOING] > left) {
		/* What is being done matters more than the command. */
		command = DT_MAX(command, DT_MIN(width[COMMAND], left / 3));
		width[DOING] = DT_MIN(width[DOING], left - command);
		width[COMMAND] = left - width[DOING];
	}
}

static void measure(struct table *table, const struct dt_process *const *rows, size_t count)
{
	const struct dt_render *render = table->render;
	struct dt_buf cell = DT_BUF_INIT;
	size_t *width = table->width, doing = strlen(titles[DOING]);
	bool contained = false;

	for (int column = 0; column < COLUMNS; column++)
		width[column] = strlen(titles[column]);
	for (size_t i = 0; i < count; i++) {
		size_t columns = 0;

		for (int column = 0; column < COLUMNS; column++) {
			dt_buf_clear(&cell);
			put_cell(&cell, rows[i], render, (enum column)column, SIZE_MAX);
			columns = dt_columns(cell.data);
			width[column] = DT_MAX(width[column], columns);
		}
		if (render->columns) {
			columns = least_doing(rows[i], render, columns);
			doing = DT_MAX(doing, columns);
		}
		contained |= rows[i]->container != NULL;
	}
	dt_buf_release(&cell);
	if (!contained)
		width[CONTAINER] = 0;
	if (render->columns)
		fit(width, render->columns, doing);
	else
		width[COMMAND] = DT_MIN(width[COMMAND], (size_t)COMMAND_PAD);
}

static enum dt_style style_of(const struct dt_process *process, enum column column)
{
	if (column == PID)
		return DT_STYLE_ID;
	if (column == STATE)
		return dt_state_style(process->state);
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
		dt_buf_printf(line, "%*s", GAP, "");
	for (size_t i = 0; right[column] && i < padding; i++)
		dt_buf_putc(line, ' ');
	dt_buf_printf(line, "%s%s%s", on, text, off);
	for (size_t i = 0; !right[column] && column != DOING && i < padding; i++)
		dt_buf_putc(line, ' ');
}

/* The row of a process, or the titles. */
static void put_row(struct dt_buf *line, const struct table *table, const struct dt_process *process)
{
	const struct dt_render *render = table->render;
	struct dt_buf cell = DT_BUF_INIT, cut = DT_BUF_INIT;

	for (int i = 0; i < COLUMNS; i++) {
		enum column column = (enum column)i;
		enum dt_style style = process ? style_of(process, column) : DT_STYLE_BOLD;
		size_t columns = render->columns ? table->width[column] : SIZE_MAX;

		if (!table->width[column])
			continue;
		dt_buf_clear(&cell);
		dt_buf_clear(&cut);
		if (process)
			put_cell(&cell, process, render, column, columns);
		else
			dt_buf_puts(&cell, titles[column]);
		dt_escape_cut(&cut, cell.data, columns);
		put_padded(line, cut.data, column, table->width[column], dt_style_on(render, style),
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
	struct table table = {.render = render ? render : &plain};
	struct dt_buf line = DT_BUF_INIT;
	int code;

	measure(&table, rows, count);
	put_row(&line, &table, NULL);
	code = dt_flush(&line, out);
	for (size_t i = 0; !code && i < count; i++) {
		put_row(&line, &table, rows[i]);
		code = dt_flush(&line, out);
	}
	dt_buf_release(&line);
	return code;
}
