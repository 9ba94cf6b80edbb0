/*
 * A recording in one screen, for people: where the time goes, first by function, then by line, thread and state, and at
 * the end what the figures are worth. Shares are of the time that the view shows, summed over threads; time that is no
 * function's own (not seen, torn, hidden) has rows of its own, so that the rest is never taken for the whole.
 */
#include "format/summary.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "base/short_command.h"
#include "base/utf8.h"
#include "base/util.h"
#include "base/wrap.h"
#include "format/profile_words.h"
#include "format/units.h"

/* Rows of the tables, unless the caller wants another number. */
enum { OWN_ROWS = 10, TOTAL_ROWS = 8, LINE_ROWS = 6, THREAD_ROWS = 6, EACH_ROWS = 5 };

#define EACH_THREADS 8 /* that have a table of their own */

#define COMMAND_MIN  24 /* columns */

#define MARKS        5 /* dt_view_mark() has four, and DT_MARK_HIDDEN */

struct summary {
	struct dt_view *view;
	const struct dt_profile *profile;
	struct dt_render render;
	size_t rows;    /* of each table, 0: the usual number */
	uint64_t shown; /* nanoseconds */
	uint64_t idle;  /* that the view hides */
	struct dt_summary_missing missing;
	struct dt_summary_row marks[MARKS];
	struct dt_buf buf;
};

/* Moves a sentence or more, escaped already, into lines that fit, with a newline behind them. The text is empty then.
 */
static void say(struct dt_buf *buf, const struct dt_render *render, struct dt_buf *text)
{
	dt_wrap(buf, text->data, text->length, 0, 0, render->columns);
	dt_buf_putc(buf, '\n');
	buf->failed |= text->failed;
	dt_buf_clear(text);
}

static uint64_t plus(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* What there is, and what is no function's own. */
static void weigh(struct summary *s)
{
	const struct dt_profile_run *runs = dt_profile_runs(s->profile);
	size_t count = dt_profile_counts(s->profile).runs;

	for (size_t i = 0; i < count; i++) {
		uint64_t weight = dt_view_weight(s->view, &runs[i]);
		const char *mark = weight ? dt_view_mark(&runs[i]) : NULL;

		s->shown = plus(s->shown, weight);
		for (size_t k = 0; mark && k < MARKS; k++)
			if (!s->marks[k].mark || s->marks[k].mark == mark) {
				s->marks[k].mark = mark;
				s->marks[k].own = s->marks[k].total = plus(s->marks[k].own, weight);
				break;
			}
	}
}

static int add_up(struct summary *s)
{
	weigh(s);
	s->idle = dt_view_hidden(s->view);
	return dt_summary_weigh(s->view, &s->missing);
}

/* ---- the head ---- */

static void put_number(struct dt_buf *text, uint64_t number, const char *one, const char *many)
{
	dt_thousands(text, number);
	dt_buf_printf(text, " %s", number == 1 ? one : many);
}

/* A script behind -c may be of many pages: where it is shown to people it is cut to what its line has room for. Where
 * that is little, what follows has a line of its own. */
static void put_command(const struct summary *s, struct dt_buf *text, const char *command, const struct dt_buf *behind)
{
	size_t before = dt_columns_part(text->data, text->length), columns = s->render.columns, room;
	size_t taken = before + strlen(")") + dt_columns_part(behind->data, behind->length);

	room = columns > taken ? columns - taken : 0;
	if (room < COMMAND_MIN)
		room = DT_MAX(columns, before + strlen(")") + COMMAND_MIN) - before - strlen(")");
	if (columns)
		dt_escape_cut(text, dt_command_program(command), room);
	else
		dt_escape(text, dt_command_program(command));
}

/* "Recorded process 12 (python3 app.py) for 10.0 s: 1,000 samples of 3 threads" */
static void put_what(struct summary *s)
{
	struct dt_profile_counts counts = dt_profile_counts(s->profile);
	const struct dt_profile_meta *meta = dt_profile_meta(s->profile);
	struct dt_buf text = DT_BUF_INIT, behind = DT_BUF_INIT;

	dt_buf_puts(&behind, " for ");
	dt_put_time(&behind, meta->duration_ns);
	dt_buf_puts(&behind, ": ");
	put_number(&behind, meta->quality.samples, "sample", "samples");
	dt_buf_puts(&behind, " of ");
	put_number(&behind, counts.threads, "thread", "threads");
	dt_buf_puts(&text, "Recorded ");
	if (counts.processes == 1) {
		const struct dt_profile_process *process = dt_profile_process_at(s->profile, 1);

		dt_buf_printf(&text, "process %" PRId32, process->pid);
		if (process->command) {
			dt_buf_puts(&text, " (");
			put_command(s, &text, dt_profile_text(s->profile, process->command), &behind);
			dt_buf_putc(&text, ')');
		}
	} else {
		put_number(&text, counts.processes, "process", "processes");
	}
	dt_buf_append(&text, behind.data, behind.length);
	dt_buf_puts(&s->buf, dt_style_on(&s->render, DT_STYLE_BOLD));
	dt_wrap(&s->buf, text.data, text.length, 0, 0, s->render.columns);
	dt_buf_printf(&s->buf, "%s\n", dt_style_off(&s->render, DT_STYLE_BOLD));
	s->buf.failed |= text.failed | behind.failed;
	dt_buf_release(&behind);
	dt_buf_release(&text);
}

/* What the shares below are of, or why there are none. */
static void put_how_much(struct summary *s)
{
	const struct dt_view_options *options = dt_view_options(s->view);
	struct dt_buf text = DT_BUF_INIT;

	if (s->shown) {
		dt_buf_puts(&text, "100% is ");
		dt_put_time(&text, s->shown);
		dt_buf_printf(&text, " of %s", dt_weight_words(options->weight));
		dt_filter_words(options, &text);
		if (dt_profile_counts(s->profile).threads > 1)
			dt_buf_puts(&text, ", all threads together");
		/* The CPU time of a run that waits is what it took to begin and end that: no waiting. */
		if (s->idle && options->weight != DT_WEIGHT_CPU) {
			dt_buf_puts(&text, "; ");
			dt_put_time(&text, s->idle);
			dt_buf_puts(&text, " of waiting is hidden, '--idle' shows it");
		}
	} else {
		dt_nothing_words(s->view, &text);
	}
	say(&s->buf, &s->render, &text);
	dt_buf_release(&text);
}

/* ---- tables ---- */

static int by_own(const void *a, const void *b)
{
	const struct dt_summary_row *x = a, *y = b;

	if (x->own != y->own)
		return x->own > y->own ? -1 : 1;
	if (!x->mark != !y->mark)
		return x->mark ? 1 : -1;
	return x->mark ? strcmp(x->mark, y->mark) : (x->id > y->id) - (x->id < y->id);
}

static int by_total(const void *a, const void *b)
{
	const struct dt_summary_row *x = a, *y = b;

	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return by_own(a, b);
}

/* Of rows in order, all that have time. */
static void put_table(struct summary *s, const struct dt_summary_table *wanted)
{
	struct dt_summary_table table = *wanted;

	table.limit = s->rows ? s->rows : wanted->limit;
	/* Who has no time of his own has no place in a table of it. */
	for (table.count = 0; table.count < wanted->count && table.rows[table.count].total; table.count++)
		if (table.kind != DT_SUMMARY_FUNCTION && !table.rows[table.count].own)
			break;
	table.whole = table.kind == DT_SUMMARY_STATE ? plus(s->shown, s->idle) : s->shown;
	if (!table.count)
		return;
	dt_buf_putc(&s->buf, '\n');
	dt_summary_table(&s->buf, s->view, &s->render, &table);
}

/* A table of the view with room for the marks behind its rows; NULL if memory is out. */
static struct dt_summary_row *take_rows(struct summary *s, enum dt_table table, size_t *count)
{
	struct dt_summary_row *taken = NULL;
	struct dt_rows rows;

	if (dt_rows_build(s->view, table, &rows, NULL))
		return NULL;
	taken = calloc(rows.count + MARKS, sizeof(*taken));
	for (size_t i = 0; taken && i < rows.count; i++)
		taken[i] = (struct dt_summary_row){
		    .id = rows.rows[i].id, .own = rows.rows[i].own, .total = rows.rows[i].total};
	*count = rows.count;
	dt_rows_release(&rows);
	return taken;
}

/* The marks go behind the rows; what then is missing is of stacks that are hidden whole. */
static size_t add_marks(const struct summary *s, struct dt_summary_row *rows, size_t count)
{
	uint64_t rest = s->shown;
	size_t end = count;

	for (size_t i = 0; i < MARKS && s->marks[i].mark; i++)
		rows[end++] = s->marks[i];
	for (size_t i = 0; i < end; i++)
		rest -= DT_MIN(rest, rows[i].own);
	if (rest)
		rows[end++] = (struct dt_summary_row){.mark = DT_MARK_HIDDEN, .own = rest, .total = rest};
	return end;
}

static int put_functions(struct summary *s)
{
	dt_auto_free struct dt_summary_row *rows = NULL;
	size_t count, all, own = 0;

	rows = take_rows(s, DT_TABLE_FUNCTIONS, &count);
	if (!rows)
		return DT_EMEMORY;
	all = add_marks(s, rows, count);
	qsort(rows, all, sizeof(*rows), by_own);
	while (own < all && rows[own].own)
		own++;
	put_table(s,
		  &(struct dt_summary_table){DT_SUMMARY_FUNCTION, "FUNCTION by own time", 0, rows, own, OWN_ROWS, 0});
	qsort(rows, all, sizeof(*rows), by_total);
	put_table(
	    s, &(struct dt_summary_table){DT_SUMMARY_FUNCTION, "FUNCTION by total time", 0, rows, all, TOTAL_ROWS, 0});
	return 0;
}

/* The functions of one thread; shares are of the same whole as everywhere. */
static int put_thread(struct summary *s, uint32_t thread)
{
	struct summary part = {.view = s->view, .profile = s->profile};
	dt_auto_free struct dt_summary_row *rows = NULL;
	size_t count = 0;

	dt_view_narrow(s->view, thread);
	weigh(&part);
	rows = take_rows(&part, DT_TABLE_FUNCTIONS, &count);
	dt_view_narrow(s->view, 0);
	if (!rows)
		return DT_EMEMORY;
	count = add_marks(&part, rows, count);
	qsort(rows, count, sizeof(*rows), by_own);
	while (count && !rows[count - 1].own)
		count--;
	put_table(s,
		  &(struct dt_summary_table){
		      .kind = DT_SUMMARY_FUNCTION, .thread = thread, .rows = rows, .count = count, .limit = EACH_ROWS});
	return 0;
}

static int put_each_thread(struct summary *s)
{
	struct dt_rows threads;
	int code = dt_rows_build(s->view, DT_TABLE_THREADS, &threads, NULL);
	size_t shown = threads.count > 1 ? DT_MIN(threads.count, (size_t)EACH_THREADS) : 0;

	for (size_t i = 0; i < shown && !code; i++)
		code = put_thread(s, threads.rows[i].id);
	if (shown < threads.count && shown) {
		dt_buf_printf(&s->buf, "\n%s… ", dt_style_on(&s->render, DT_STYLE_DIM));
		put_number(&s->buf, threads.count - shown, "more thread", "more threads");
		dt_buf_printf(&s->buf, "%s\n", dt_style_off(&s->render, DT_STYLE_DIM));
	}
	dt_rows_release(&threads);
	return code;
}

static int put_others(struct summary *s)
{
	const struct dt_view_options *options = dt_view_options(s->view);
	const struct {
		enum dt_table table;
		enum dt_summary_kind kind;
		const char *title;
		size_t limit;
		bool wanted;
	} tables[] = {
	    {DT_TABLE_LINES, DT_SUMMARY_LINE, "LINE by own time", LINE_ROWS, !options->functions && !options->no_lines},
	    {DT_TABLE_THREADS, DT_SUMMARY_THREAD, "THREAD", THREAD_ROWS, dt_profile_counts(s->profile).threads > 1},
	    {DT_TABLE_STATES, DT_SUMMARY_STATE, "STATE", SIZE_MAX, true},
	};

	for (size_t i = 0; i < DT_COUNT(tables); i++) {
		dt_auto_free struct dt_summary_row *rows = NULL;
		size_t count;

		if (!tables[i].wanted)
			continue;
		rows = take_rows(s, tables[i].table, &count);
		if (!rows)
			return DT_EMEMORY;
		put_table(
		    s, &(struct dt_summary_table){tables[i].kind, tables[i].title, 0, rows, count, tables[i].limit, 0});
	}
	return 0;
}

static int render_summary(struct dt_view *view, const struct dt_profile_render *render, FILE *out)
{
	struct summary s = {.view = view, .profile = dt_view_profile(view), .buf = DT_BUF_INIT};
	int code;

	if (render) {
		s.render = (struct dt_render){.color = render->color, .columns = render->columns};
		s.rows = render->rows;
	}
	code = add_up(&s);
	put_what(&s);
	put_how_much(&s);
	dt_summary_absent(&s.buf, s.profile, &s.render);
	dt_summary_ended(&s.buf, view, &s.render, &s.missing);
	if (!code)
		code = put_functions(&s);
	if (!code)
		code = put_others(&s);
	if (!code && dt_view_options(view)->threads)
		code = put_each_thread(&s);
	dt_buf_putc(&s.buf, '\n');
	dt_summary_quality(&s.buf, s.profile, &s.render, &s.missing, render ? render->program : NULL);
	if (!code)
		code = dt_flush(&s.buf, out);
	dt_buf_release(&s.buf);
	return code;
}

const struct dt_profile_format dt_profile_summary = {
    .name = "text",
    .extensions = (const char *const[]){NULL},
    .description = "tables for people: functions, lines, threads, states, and the quality of the recording",
    .render = render_summary,
};
