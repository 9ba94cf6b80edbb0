/*
 * An interactive flame graph in one SVG file: nothing is loaded from elsewhere, and without its script the picture is
 * still right. The root is at the top.
 *
 *   <svg> style, background
 *     <g class="head">    title, how it was made, and a line about the frame under the mouse
 *     <svg class="frames"> one <g class="f"> for each frame in order of the tree, parents before children:
 *                          data-d="depth start total parts" (nanoseconds; parts of
 *                          the path that are shown in the box), and a title of three lines: name, file:line, figures
 *     <text class="note"> what was left out
 *     <script>
 *
 * A name is whatever the target likes. It is escaped as for a terminal, then for XML, cut, and only ever the content of
 * an element: nothing of it is in an attribute, in the style or in the script.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "base/utf8.h"
#include "base/util.h"
#include "format/flamegraph.h"
#include "format/module_color.h"
#include "format/profile_formats.h"
#include "format/profile_words.h"
#include "format/text.h"
#include "format/units.h"

/* Pixels of the picture as it is without its script; GLYPH is the usual width of a character of 12 pixels. */
#define WIDTH 1200
#define PAD   12
#define TOP   88
#define ROW   19
#define GLYPH 7.25

/* What is left out: frames that stand for less than one part in LEAST_SHARE, so that a picture of a million frames can
 * still be opened; fewer parts if more than MOST_FRAMES would be shown. Below FEWEST_PARTS the number of rows, which is
 * bounded as well, bounds the frames: FEWEST_PARTS * MOST_ROWS <= MOST_FRAMES. */
#define LEAST_SHARE  20000
#define FEWEST_PARTS 8
#define MOST_FRAMES  16000
#define MOST_ROWS    2000
#define MOST_COLUMNS 240 /* of a name */

struct picture {
	struct dt_view *view;
	const struct dt_tree *tree;
	uint64_t total, least; /* of the root; frames with less are left out */
	uint32_t rows;
	size_t left_out;
	uint64_t left_out_ns;
	struct dt_buf out, words;       /* what is to be written; a text before it is made harmless */
	struct dt_buf path, short_path; /* those that are cut */
	FILE *file;
};

/* ---- text ---- */

static void put_xml(struct dt_buf *out, const char *text, size_t columns)
{
	struct dt_buf shown = DT_BUF_INIT;

	dt_escape_cut(&shown, text, columns);
	for (const char *c = shown.data; *c; c++) {
		switch (*c) {
		case '&':
			dt_buf_puts(out, "&amp;");
			break;
		case '<':
			dt_buf_puts(out, "&lt;");
			break;
		case '>':
			dt_buf_puts(out, "&gt;");
			break;
		default:
			dt_buf_putc(out, *c);
		}
	}
	out->failed |= shown.failed;
	dt_buf_release(&shown);
}

/* Those of what is no function are put into p->words. A name may be very long, and is shown in thousands of boxes:
 * nothing behind here looks at more of it than can be seen. */
static struct dt_frame_words words_of(struct picture *p, const struct dt_node *node)
{
	if (node->kind == DT_NODE_FRAME) {
		struct dt_frame_words words = dt_frame_words(p->view, node->id, &p->words);

		words.name = dt_shown(words.name[0] ? words.name : "?", DT_NAME_SHOWN, &p->words);
		words.file = dt_shown(words.file, DT_PATH_SHOWN, &p->path);
		words.short_file = dt_shown(words.short_file, DT_PATH_SHOWN, &p->short_path);
		return words;
	}
	dt_buf_clear(&p->words);
	dt_node_label(p->view, node, &p->words);
	return (struct dt_frame_words){.name = p->words.data, .file = "", .short_file = "", .kind = DT_FUNCTION_MARK};
}

static void put_place(struct dt_buf *out, const char *file, uint32_t line)
{
	put_xml(out, file, MOST_COLUMNS);
	if (*file && line)
		dt_buf_printf(out, ":%" PRIu32, line);
}

/* "1.23 s, 12.34%, own 0.5 s, 123 samples" */
static void put_figures(struct picture *p, const struct dt_node *node)
{
	dt_put_time(&p->out, node->total);
	dt_buf_printf(&p->out, ", %.2f%%", dt_share(node->total, p->total));
	if (node->own && node->own != node->total) {
		dt_buf_puts(&p->out, ", own ");
		dt_put_time(&p->out, node->own);
	}
	dt_buf_puts(&p->out, ", ");
	dt_thousands(&p->out, node->samples);
	dt_buf_puts(&p->out, node->samples == 1 ? " sample" : " samples");
}

/* ---- frames ---- */

/* The words in a box: the name, cut if it must be; file and line only if they fit. The script does the same. */
static void put_label(struct picture *p, const struct dt_frame_words *words, double x, double y, double space)
{
	size_t room = space > 8 ? (size_t)((space - 8) / GLYPH) : 0;
	struct dt_buf name = DT_BUF_INIT, place = DT_BUF_INIT;

	if (room < 3)
		return;
	dt_escape(&name, words->name);
	dt_escape(&place, words->short_file);
	if (words->line && *words->file)
		dt_buf_printf(&place, ":%" PRIu32, words->line);
	dt_buf_printf(&p->out, "<text x=\"%.2f\" y=\"%.1f\">", x + 4, y + ROW - 5.5);
	put_xml(&p->out, words->name, DT_MIN(room, (size_t)MOST_COLUMNS));
	if (place.length && dt_columns(name.data) + 1 + dt_columns(place.data) <= DT_MIN(room, (size_t)MOST_COLUMNS)) {
		dt_buf_puts(&p->out, "<tspan class=\"p\" dx=\"0.6em\">");
		put_xml(&p->out, place.data, room);
		dt_buf_puts(&p->out, "</tspan>");
	}
	dt_buf_puts(&p->out, "</text>");
	p->out.failed |= name.failed || place.failed;
	dt_buf_release(&name);
	dt_buf_release(&place);
}

/* Of a path: the short name is the end of the whole one. */
static unsigned parts_of(const char *path)
{
	unsigned parts = 1;

	for (; *path; path++)
		parts += *path == '/';
	return parts;
}

static void put_frame(struct picture *p, const struct dt_node *node, uint64_t start)
{
	struct dt_frame_words words = words_of(p, node);
	struct dt_color color = dt_module_color(words.kind, words.file, words.name);
	double scale = (WIDTH - 2.0 * PAD) / (double)p->total;
	double x = (double)start * scale, space = (double)node->total * scale, y = (double)node->depth * ROW;

	if (node->kind == DT_NODE_THREAD || node->kind == DT_NODE_PROCESS)
		color.number = 1;
	dt_buf_printf(&p->out, "<g class=\"f%s\" data-d=\"%" PRIu32 " %" PRIu64 " %" PRIu64 " %u\"><title>",
		      color.variant ? " v" : "", node->depth, start, node->total, parts_of(words.short_file));
	put_xml(&p->out, words.name, MOST_COLUMNS);
	dt_buf_putc(&p->out, '\n');
	put_place(&p->out, words.file, words.line);
	dt_buf_putc(&p->out, '\n');
	put_figures(p, node);
	dt_buf_printf(&p->out,
		      "</title><rect class=\"%c%u\" x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%d\" rx=\"2\"/>",
		      color.band, color.number, x, y, DT_MAX(space - 0.8, space * 0.7), ROW - 1);
	put_label(p, &words, x, y, space);
	dt_buf_puts(&p->out, "</g>\n");
}

static bool is_shown(const struct picture *p, const struct dt_node *node)
{
	return node->total >= p->least && node->depth < MOST_ROWS;
}

/* How many frames are shown if those below `least` are left out. */
static size_t count_shown(struct picture *p, uint64_t least)
{
	size_t count = 0;

	p->least = DT_MAX(least, (uint64_t)1);
	p->rows = 1;
	for (size_t i = 0; i < p->tree->count; i++) {
		if (!is_shown(p, &p->tree->nodes[i]))
			continue;
		count++;
		p->rows = DT_MAX(p->rows, p->tree->nodes[i].depth + 1);
	}
	return count;
}

static void choose_least(struct picture *p)
{
	uint64_t parts = LEAST_SHARE;

	while (count_shown(p, p->total / parts) > MOST_FRAMES && parts > FEWEST_PARTS)
		parts = DT_MAX(parts * 3 / 4, (uint64_t)FEWEST_PARTS);
	for (size_t i = 1; i < p->tree->count; i++) {
		const struct dt_node *node = &p->tree->nodes[i];

		if (is_shown(p, node))
			continue;
		p->left_out++;
		if (is_shown(p, &p->tree->nodes[node->parent]))
			p->left_out_ns += node->total;
	}
}

/* In order of the tree without recursion: a stack may be deep. at[d] is where the next frame of row d begins. */
static int put_frames(struct picture *p)
{
	const struct dt_node *nodes = p->tree->nodes;
	dt_auto_free uint64_t *at = calloc(p->rows + 1, sizeof(*at));
	uint32_t i = 0;
	int code = 0;

	if (!at)
		return DT_EMEMORY;
	while (!code) {
		const struct dt_node *node = &nodes[i];
		bool shown = is_shown(p, node);

		if (shown) {
			put_frame(p, node, at[node->depth]);
			code = dt_flush(&p->out, p->file);
		}
		if (shown && node->first && node->depth + 1 < MOST_ROWS) {
			at[node->depth + 1] = at[node->depth];
			i = node->first;
			continue;
		}
		while (i && !nodes[i].next) {
			at[nodes[i].depth] += nodes[i].total;
			i = nodes[i].parent;
		}
		if (!i)
			break;
		at[nodes[i].depth] += nodes[i].total;
		i = nodes[i].next;
	}
	return code;
}

/* ---- the document ---- */

static int put_head(struct picture *p, const struct dt_profile_render *render)
{
	unsigned height = TOP + p->rows * ROW + 34;

	dt_buf_printf(&p->out,
		      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"dt\" width=\"%d\" height=\"%u\" "
		      "viewBox=\"0 0 %d %u\" role=\"img\">\n<title>",
		      WIDTH, height, WIDTH, height);
	dt_buf_clear(&p->words);
	dt_title_words(p->view, render, &p->words);
	put_xml(&p->out, p->words.data, MOST_COLUMNS);
	dt_buf_printf(&p->out,
		      "</title>\n<style><![CDATA[\n%s]]></style>\n"
		      "<rect class=\"back\" width=\"%d\" height=\"%u\"/>\n",
		      dt_flamegraph_css, WIDTH, height);
	return dt_flush(&p->out, p->file);
}

/* Over the frames in the order of drawing: it stays at the top of the window when those are scrolled. */
static int put_lid(struct picture *p, const struct dt_profile_render *render)
{
	int code;

	dt_buf_printf(&p->out,
		      "<g class=\"head\"><rect class=\"back lid\" width=\"%d\" height=\"%d\"/>\n"
		      "<text class=\"title\" x=\"%d\" y=\"30\">",
		      WIDTH, TOP - 2, PAD);
	dt_buf_clear(&p->words);
	dt_title_words(p->view, render, &p->words);
	put_xml(&p->out, p->words.data, 100);
	dt_buf_printf(&p->out, "</text>\n<text class=\"about\" x=\"%d\" y=\"50\">", PAD);
	dt_buf_clear(&p->words);
	code = dt_about_words(p->view, &p->words);
	if (code)
		return code;
	put_xml(&p->out, p->words.data, 170);
	dt_buf_printf(&p->out,
		      "</text>\n<line class=\"line\" x1=\"0\" x2=\"%d\" y1=\"60\" y2=\"60\"/>\n"
		      "<text class=\"detail\" x=\"%d\" y=\"78\"/><text class=\"found\" x=\"%d\" y=\"78\"/></g>\n",
		      WIDTH, PAD, WIDTH - PAD);
	return dt_flush(&p->out, p->file);
}

static int put_note(struct picture *p)
{
	dt_buf_printf(&p->out, "<text class=\"note\" x=\"%d\" y=\"%u\">", PAD, TOP + p->rows * ROW + 20);
	if (!p->total) {
		dt_buf_clear(&p->words);
		dt_nothing_words(p->view, &p->words);
		put_xml(&p->out, p->words.data, 170);
	} else if (p->left_out) {
		dt_thousands(&p->out, p->left_out);
		dt_buf_printf(&p->out, " %s not drawn, with ", p->left_out == 1 ? "frame is" : "frames are");
		dt_share_words(p->left_out_ns, p->total, &p->out);
		dt_buf_puts(&p->out, " of the time: those that have less than ");
		dt_share_words(p->least, p->total, &p->out);
		dt_buf_printf(&p->out, " each, or are deeper than %d.", MOST_ROWS);
	}
	dt_buf_puts(&p->out, "</text>\n");
	return dt_flush(&p->out, p->file);
}

static int put_document(struct picture *p, const struct dt_profile_render *render)
{
	int code;

	p->total = p->tree->nodes[0].total;
	choose_least(p);
	code = put_head(p, render);
	dt_buf_printf(&p->out,
		      "<svg class=\"frames\" x=\"%d\" y=\"%d\" overflow=\"visible\" data-row=\"%d\" data-top=\"%d\" "
		      "data-pad=\"%d\">\n",
		      PAD, TOP, ROW, TOP, PAD);
	if (!code && p->total)
		code = put_frames(p);
	dt_buf_puts(&p->out, "</svg>\n");
	if (!code)
		code = put_lid(p, render);
	if (!code)
		code = put_note(p);
	if (!code && p->total)
		dt_buf_printf(&p->out, "<script><![CDATA[\n%s]]></script>\n", dt_flamegraph_js);
	dt_buf_puts(&p->out, "</svg>\n");
	return code ? code : dt_flush(&p->out, p->file);
}

static int svg_render(struct dt_view *view, const struct dt_profile_render *render, FILE *out)
{
	struct picture p = {.view = view,
			    .out = DT_BUF_INIT,
			    .words = DT_BUF_INIT,
			    .path = DT_BUF_INIT,
			    .short_path = DT_BUF_INIT,
			    .file = out};
	struct dt_tree tree;
	int code = dt_tree_build(view, &tree, NULL);

	if (code)
		return code;
	p.tree = &tree;
	code = put_document(&p, render);
	if (!code && (p.words.failed || p.path.failed || p.short_path.failed))
		code = DT_EMEMORY;
	dt_buf_release(&p.out);
	dt_buf_release(&p.words);
	dt_buf_release(&p.path);
	dt_buf_release(&p.short_path);
	dt_tree_release(&tree);
	return code;
}

const struct dt_profile_format dt_profile_svg = {
    .name = "svg",
    .alias = "flamegraph",
    .extensions = (const char *const[]){".svg", NULL},
    .description = "interactive flame graph, for a browser",
    .render = svg_render,
};
