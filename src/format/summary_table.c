/*
 * Tables of the summary. The bar shows both times: full blocks for a function's own, shades up to its total. On a
 * narrow terminal the times go, then the bar, then the share of the total. Where a name has no room the directories of
 * its file go, then the bar gets shorter, then the middle of the file goes, down to what most files are called, then
 * that of the name: names that begin alike differ at their ends. The line stays, which tells one function from another,
 * and the process of a thread, which tells that from another.
 */
#include <inttypes.h>
#include <string.h>

#include "base/numbers.h"
#include "base/utf8.h"
#include "base/util.h"
#include "format/summary.h"
#include "format/units.h"

#define SHARE_WIDTH   6 /* "100.0%" */
#define TIME_WIDTH    8
#define NAME_MIN      8  /* of a function */
#define FILE_MIN      12 /* of its file */
#define BAR_MIN       4  /* a shorter one shows nothing */
#define PROCESS_SHOWN 80 /* bytes of its number and command line, unless names are full */

/* Shares of the whole from which on a bar is red and yellow. */
#define HOT  0.25
#define WARM 0.05

struct layout {
	bool own_time, total_share, total_time;
	size_t bar;   /* columns, 0: none */
	size_t label; /* columns, SIZE_MAX: not cut */
};

static struct layout lay_out(size_t columns, bool totals)
{
	struct layout layout = {
	    .own_time = true, .total_share = totals, .total_time = totals, .bar = 16, .label = SIZE_MAX};
	size_t taken;

	if (!columns)
		return layout;
	layout.own_time = !totals || columns >= 72;
	layout.total_time = totals && columns >= 80;
	layout.total_share = totals && columns >= 48;
	layout.bar = columns >= 120 ? 24 : columns >= 100 ? 16 : columns >= 72 ? 6 : 0;
	taken = SHARE_WIDTH + (layout.own_time ? 1 + TIME_WIDTH : 0) + 2;
	taken += layout.total_share ? SHARE_WIDTH + (layout.total_time ? 1 + TIME_WIDTH : 0) + 2 : 0;
	taken += layout.bar ? layout.bar + 2 : 0;
	layout.label = columns > taken ? columns - taken : 1;
	return layout;
}

static void put_right(struct dt_buf *buf, const char *text, size_t width)
{
	size_t columns = dt_columns(text);

	dt_buf_printf(buf, "%*s%s", (int)(columns < width ? width - columns : 0), "", text);
}

static void put_figures(struct dt_buf *buf, uint64_t ns, uint64_t whole, bool share, bool time)
{
	struct dt_buf cell = DT_BUF_INIT;

	if (share) {
		if (ns)
			dt_put_share(&cell, ns, whole);
		else
			dt_buf_putc(&cell, '-');
		put_right(buf, cell.data, SHARE_WIDTH);
	}
	if (share && time) {
		dt_buf_clear(&cell);
		if (ns)
			dt_put_time(&cell, ns);
		dt_buf_putc(buf, ' ');
		put_right(buf, cell.data, TIME_WIDTH);
	}
	if (share)
		dt_buf_puts(buf, "  ");
	buf->failed |= cell.failed;
	dt_buf_release(&cell);
}

/* Eighths of a column that stand for a part of the whole. */
static size_t eighths(uint64_t part, uint64_t whole, size_t width)
{
	double share = whole ? (double)part / (double)whole : 0;

	return (size_t)(DT_MIN(share, 1) * (double)width * 8 + 0.5);
}

/* Where most of the time goes is to be seen at once; states have their own colours. */
static enum dt_style bar_style(enum dt_summary_kind kind, const struct dt_summary_row *row, uint64_t whole)
{
	double share = whole ? (double)row->own / (double)whole : 0;

	if (kind == DT_SUMMARY_STATE)
		return dt_state_style((enum dt_state)row->id);
	return kind == DT_SUMMARY_THREAD ? DT_STYLE_FILE
	       : share >= HOT            ? DT_STYLE_BLOCKED
	       : share >= WARM           ? DT_STYLE_NOTE
					 : DT_STYLE_NAME;
}

static void put_bar(struct dt_buf *buf, const struct dt_render *render, enum dt_style style,
		    const struct dt_summary_row *row, uint64_t whole, size_t width)
{
	static const char *const parts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
	size_t own = eighths(row->own, whole, width), total = (eighths(row->total, whole, width) + 4) / 8, at = own / 8;

	if (own)
		dt_buf_puts(buf, dt_style_on(render, style));
	for (size_t i = 0; i < at; i++)
		dt_buf_puts(buf, "█");
	if (own)
		dt_buf_printf(buf, "%s%s", parts[own % 8], dt_style_off(render, style));
	at += own % 8 != 0;
	if (at < total) {
		dt_buf_puts(buf, dt_style_on(render, DT_STYLE_DIM));
		for (; at < total; at++)
			dt_buf_puts(buf, "░");
		dt_buf_puts(buf, dt_style_off(render, DT_STYLE_DIM));
	}
	dt_buf_printf(buf, "%*s", (int)(width - at + 2), "");
}

static void put_cut(struct dt_buf *buf, const struct dt_render *render, enum dt_style style, const char *text,
		    size_t columns)
{
	dt_buf_puts(buf, dt_style_on(render, style));
	dt_escape_cut(buf, text, columns);
	dt_buf_puts(buf, dt_style_off(render, style));
}

static void put_cut_middle(struct dt_buf *buf, const struct dt_render *render, enum dt_style style, const char *text,
			   size_t columns)
{
	dt_buf_puts(buf, dt_style_on(render, style));
	dt_escape_cut_middle(buf, text, columns);
	dt_buf_puts(buf, dt_style_off(render, style));
}

static size_t escaped_columns(struct dt_buf *buf, const char *text)
{
	struct dt_buf shown = DT_BUF_INIT;
	size_t columns;

	dt_escape(&shown, text);
	columns = dt_columns(shown.data);
	buf->failed |= shown.failed;
	dt_buf_release(&shown);
	return columns;
}

static const char *base_name(const char *file)
{
	const char *slash = strrchr(file, '/');

	return slash ? slash + 1 : file;
}

/* What a row of functions or lines is about. */
struct frame {
	const char *name, *file;
	uint32_t line; /* 0: none is shown */
	bool mark;
};

static struct frame frame_of(const struct dt_view *view, enum dt_summary_kind kind, uint32_t id)
{
	const struct dt_profile *profile = dt_view_profile(view);
	const uint32_t function_id = kind == DT_SUMMARY_LINE ? dt_profile_location_at(profile, id)->function : id;
	const struct dt_profile_function *function = dt_profile_function_at(profile, function_id);
	struct frame frame = {.name = dt_profile_text(profile, function->name),
			      .file = dt_view_function_file(view, function_id),
			      .mark = function->kind == DT_FUNCTION_MARK};

	if (!frame.name[0] && !frame.mark)
		frame.name = "?";
	if (kind == DT_SUMMARY_LINE)
		frame.line = dt_view_line(view, id);
	else if (!dt_view_options(view)->no_lines)
		frame.line = function->first_line;
	return frame;
}

/* ":12", or nothing. */
static void line_words(char words[16], uint32_t line)
{
	words[0] = '\0';
	if (line)
		snprintf(words, 16, ":%" PRIu32, line);
}

/* What its label takes at least where nothing of it is cut. */
static size_t frame_columns(struct dt_buf *buf, const struct frame *frame)
{
	const char *file = base_name(frame->file);
	char number[16];

	if (frame->mark || !file[0])
		return escaped_columns(buf, frame->name) + (frame->mark ? strlen("[]") : 0);
	line_words(number, frame->line);
	return escaped_columns(buf, frame->name) + strlen(" ()") + escaped_columns(buf, file) + strlen(number);
}

/* The bar gives its room to names that would be cut. */
static void give_room(struct layout *layout, size_t wanted)
{
	size_t missing = wanted > layout->label ? wanted - layout->label : 0, given;

	if (!layout->bar || !missing)
		return;
	given = missing + BAR_MIN <= layout->bar ? missing : layout->bar + 2;
	layout->bar -= DT_MIN(given, layout->bar);
	layout->label += given;
}

/* "name (file.py:12)". */
static void put_function(struct dt_buf *buf, const struct dt_render *render, const struct frame *frame, size_t columns)
{
	const char *name = frame->name, *file = frame->file;
	size_t name_columns = escaped_columns(buf, name), file_columns, least, rest, room;
	char number[16];

	line_words(number, frame->line);
	rest = strlen(" ()") + strlen(number);
	if (columns != SIZE_MAX && columns < name_columns + rest + escaped_columns(buf, file))
		file = base_name(file);
	file_columns = escaped_columns(buf, file);
	least = DT_MIN(name_columns, (size_t)NAME_MIN);
	if (!file[0] || columns <= rest + least) {
		put_cut_middle(buf, render, DT_STYLE_NAME, name, columns);
		return;
	}
	columns -= rest;
	room = DT_MAX(columns - DT_MIN(name_columns, columns), DT_MIN(file_columns, (size_t)FILE_MIN));
	room = DT_MIN(DT_MIN(room, file_columns), columns - least);
	put_cut_middle(buf, render, DT_STYLE_NAME, name, columns - room);
	dt_buf_puts(buf, " (");
	put_cut_middle(buf, render, DT_STYLE_FILE, file, room);
	dt_buf_printf(buf, "%s)", number);
}

/* " of process 12 python3 app.py". A command line of hundreds of letters in each row hides what the rows are about. */
static void put_process(struct dt_buf *label, const struct dt_view *view, uint32_t id)
{
	struct dt_node node = {.kind = DT_NODE_PROCESS, .id = id};
	struct dt_buf process = DT_BUF_INIT;

	dt_node_label(view, &node, &process);
	dt_buf_puts(label, " of ");
	if (process.data)
		dt_cut(label, process.data, dt_view_options(view)->full_names ? process.length : PROCESS_SHOWN);
	label->failed |= process.failed;
	dt_buf_release(&process);
}

/* "thread 12 "name" of process 12 python3 app.py"; where that has no room "thread 12 "na… of 12". */
static void put_thread(struct dt_buf *buf, const struct dt_view *view, const struct dt_render *render, uint32_t id,
		       size_t columns)
{
	const struct dt_profile *profile = dt_view_profile(view);
	struct dt_node node = {.kind = DT_NODE_THREAD, .id = id};
	const uint32_t process = dt_profile_thread_at(profile, id)->process;
	struct dt_buf label = DT_BUF_INIT;
	char number[16] = "";
	size_t room;

	dt_node_label(view, &node, &label);
	if (dt_profile_counts(profile).processes > 1) {
		snprintf(number, sizeof(number), " of %" PRId32, dt_profile_process_at(profile, process)->pid);
		room = escaped_columns(buf, label.data) + strlen(number) + strlen("process ");
		if (columns >= room) {
			put_process(&label, view, process);
			number[0] = '\0';
		}
	}
	put_cut(buf, render, DT_STYLE_PLAIN, label.data,
		columns - (columns > strlen(number) && columns != SIZE_MAX ? strlen(number) : 0));
	dt_buf_puts(buf, columns > strlen(number) ? number : "");
	buf->failed |= label.failed;
	dt_buf_release(&label);
}

static void put_state(struct dt_buf *buf, const struct dt_view *view, const struct dt_render *render, uint32_t id,
		      size_t columns)
{
	enum dt_state state = (enum dt_state)(id & ~DT_ROW_GIL);
	bool hidden = dt_profile_idle(state) && !(id & DT_ROW_GIL) && !dt_view_options(view)->idle;
	char words[64];

	snprintf(words, sizeof(words), "%s%s%s", dt_state_name(state), id & DT_ROW_GIL ? " with the GIL in hand" : "",
		 hidden ? " (hidden above)" : "");
	put_cut(buf, render, dt_state_style(state), words, columns);
}

/* A function with its first line, or one of its lines. */
static void put_frame(struct dt_buf *buf, const struct dt_render *render, const struct frame *frame, size_t columns)
{
	struct dt_buf mark = DT_BUF_INIT;

	if (frame->mark) {
		dt_buf_printf(&mark, "[%s]", frame->name);
		put_cut(buf, render, DT_STYLE_NOTE, mark.data, columns);
	} else {
		put_function(buf, render, frame, columns);
	}
	buf->failed |= mark.failed;
	dt_buf_release(&mark);
}

static void put_label(struct dt_buf *buf, const struct dt_view *view, const struct dt_render *render,
		      enum dt_summary_kind kind, const struct dt_summary_row *row, size_t columns)
{
	struct frame frame;

	if (row->mark) {
		put_cut(buf, render, DT_STYLE_NOTE, row->mark, columns);
		return;
	}
	switch (kind) {
	case DT_SUMMARY_FUNCTION:
	case DT_SUMMARY_LINE:
		frame = frame_of(view, kind, row->id);
		put_frame(buf, render, &frame, columns);
		break;
	case DT_SUMMARY_THREAD:
		put_thread(buf, view, render, row->id, columns);
		break;
	case DT_SUMMARY_STATE:
		put_state(buf, view, render, row->id, columns);
		break;
	}
}

static void put_titles(struct dt_buf *buf, const struct dt_view *view, const struct dt_render *render,
		       const struct dt_summary_table *table, const struct layout *layout)
{
	bool totals = table->kind < DT_SUMMARY_THREAD;
	const char *on = dt_style_on(render, DT_STYLE_BOLD), *off = dt_style_off(render, DT_STYLE_BOLD);

	dt_buf_printf(buf, "%s%*s%*s  ", on, SHARE_WIDTH, totals ? "OWN" : "TIME",
		      layout->own_time ? 1 + TIME_WIDTH : 0, "");
	if (layout->total_share)
		dt_buf_printf(buf, "%*s%*s  ", SHARE_WIDTH, "TOTAL", layout->total_time ? 1 + TIME_WIDTH : 0, "");
	if (layout->bar)
		dt_buf_printf(buf, "%*s", (int)layout->bar + 2, "");
	if (table->thread)
		put_thread(buf, view, &(struct dt_render){0}, table->thread, layout->label);
	else
		put_cut(buf, &(struct dt_render){0}, DT_STYLE_PLAIN, table->title, layout->label);
	dt_buf_printf(buf, "%s\n", off);
}

void dt_summary_table(struct dt_buf *buf, const struct dt_view *view, const struct dt_render *render,
		      const struct dt_summary_table *table)
{
	struct layout layout = lay_out(render->columns, table->kind < DT_SUMMARY_THREAD);
	size_t shown = DT_MIN(table->count, table->limit), wanted = 0;

	for (size_t i = 0; i < shown && table->kind < DT_SUMMARY_THREAD; i++) {
		struct frame frame;

		if (table->rows[i].mark)
			continue;
		frame = frame_of(view, table->kind, table->rows[i].id);
		wanted = DT_MAX(wanted, frame_columns(buf, &frame));
	}
	give_room(&layout, wanted);
	put_titles(buf, view, render, table, &layout);
	for (size_t i = 0; i < shown; i++) {
		const struct dt_summary_row *row = &table->rows[i];

		put_figures(buf, row->own, table->whole, true, layout.own_time);
		put_figures(buf, row->total, table->whole, layout.total_share, layout.total_time);
		if (layout.bar)
			put_bar(buf, render, bar_style(table->kind, row, table->whole), row, table->whole, layout.bar);
		put_label(buf, view, render, table->kind, row, layout.label);
		dt_buf_putc(buf, '\n');
	}
	if (shown < table->count) {
		dt_buf_printf(buf, "%s… ", dt_style_on(render, DT_STYLE_DIM));
		dt_thousands(buf, table->count - shown);
		dt_buf_printf(buf, " more%s\n", dt_style_off(render, DT_STYLE_DIM));
	}
}
