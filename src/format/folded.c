/*
 * Folded stacks: a line for each stack that has time of its own, frames from the outermost on, as flamegraph.pl,
 * inferno and speedscope read it:
 *
 *     <module> (app.py:90);main (app.py:42);Parser.parse (parser.py:12) 40000
 *
 * The number is microseconds. Counts of samples, which py-spy's raw has there, would throw away what was measured: a
 * sample stands for the time that it covers, and that is not the same for all of them. Readers want whole numbers;
 * nanoseconds would be as true but make people count digits. What a line rounds off goes to the next one, so that the
 * sum is right to a microsecond whatever the rate was.
 *
 * Names are the program's own choice. What would break a line or a frame is replaced: control characters and bytes that
 * are no UTF-8 by escapes, a semicolon by a comma.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "base/util.h"
#include "format/profile_formats.h"
#include "format/profile_words.h"
#include "format/text.h"

struct writer {
	struct dt_view *view;
	struct dt_tree tree;
	size_t *ends;          /* by depth: where the label of the node there ends in the line */
	struct dt_buf line;    /* labels down to the present node */
	struct dt_buf scratch; /* a label as it is */
	uint64_t written_ns;
	FILE *out;
};

/* "name 12" before the number would be read as two numbers: a comparison of two recordings. */
static void guard_number(char *label, size_t length)
{
	size_t at = length;

	while (at && ((label[at - 1] >= '0' && label[at - 1] <= '9') || label[at - 1] == '.'))
		at--;
	if (at && at < length && label[at - 1] == ' ')
		label[at - 1] = '_';
}

/* Replaces what stands in the line from this depth on. */
static void put_label(struct writer *w, const struct dt_node *node)
{
	size_t start = node->depth > 1 ? w->ends[node->depth - 1] : 0;

	w->line.length = start;
	if (start)
		dt_buf_putc(&w->line, ';');
	start = w->line.length;
	dt_buf_clear(&w->scratch);
	dt_node_label(w->view, node, &w->scratch);
	w->line.failed |= w->scratch.failed;
	dt_escape_part(&w->line, w->scratch.data, w->scratch.length);
	for (size_t i = start; i < w->line.length; i++)
		if (w->line.data[i] == ';')
			w->line.data[i] = ',';
	/* Some readers take a line that begins like this for a comment. */
	if (!start && w->line.length && w->line.data[0] == '#')
		w->line.data[0] = '_';
	guard_number(w->line.data + start, w->line.length - start);
	w->ends[node->depth] = w->line.length;
}

static bool put_part(const struct writer *w, const char *part, size_t length)
{
	return fwrite(part, 1, length, w->out) == length;
}

/* All labels down to this depth; of a very deep stack the outer and the inner ones. */
static bool put_labels(struct writer *w, uint32_t depth)
{
	struct dt_depth shown = dt_depth_shown(depth);
	size_t from;

	if (!shown.left_out)
		return put_part(w, w->line.data, w->line.length);
	dt_buf_clear(&w->scratch);
	dt_left_out_words(shown.left_out, &w->scratch);
	from = w->ends[depth - shown.inner];
	return put_part(w, w->line.data, w->ends[shown.outer]) && fputc(';', w->out) != EOF &&
	       put_part(w, w->scratch.data, w->scratch.length) &&
	       put_part(w, w->line.data + from, w->line.length - from);
}

static int put_line(struct writer *w, uint32_t depth, uint64_t own)
{
	uint64_t before = w->written_ns, after, count;

	if (__builtin_add_overflow(before, own, &after))
		after = UINT64_MAX;
	w->written_ns = after;
	count = after / 1000 - before / 1000;
	if (!count)
		return 0;
	if (w->line.failed || w->scratch.failed)
		return DT_EMEMORY;
	return put_labels(w, depth) && fprintf(w->out, " %" PRIu64 "\n", count) > 0 ? 0 : DT_ERUNTIME;
}

/* The node after this one, going down first; 0 at the end. */
static uint32_t after(const struct dt_tree *tree, uint32_t at)
{
	if (tree->nodes[at].first)
		return tree->nodes[at].first;
	while (at && !tree->nodes[at].next)
		at = tree->nodes[at].parent;
	return at ? tree->nodes[at].next : 0;
}

static int put_tree(struct writer *w)
{
	uint32_t deepest = 0;
	int code = 0;

	for (size_t i = 0; i < w->tree.count; i++)
		deepest = DT_MAX(deepest, w->tree.nodes[i].depth);
	w->ends = calloc((size_t)deepest + 1, sizeof(*w->ends));
	if (!w->ends)
		return DT_EMEMORY;
	for (uint32_t at = after(&w->tree, 0); at && !code; at = after(&w->tree, at)) {
		put_label(w, &w->tree.nodes[at]);
		if (w->tree.nodes[at].own)
			code = put_line(w, w->tree.nodes[at].depth, w->tree.nodes[at].own);
	}
	if (!code && (fflush(w->out) || ferror(w->out)))
		code = DT_ERUNTIME;
	return code;
}

static int render_folded(struct dt_view *view, const struct dt_profile_render *render, FILE *out)
{
	struct writer w = {.view = view, .line = DT_BUF_INIT, .scratch = DT_BUF_INIT, .out = out};
	int code = dt_tree_build(view, &w.tree, NULL);

	(void)render;
	if (!code)
		code = put_tree(&w);
	dt_tree_release(&w.tree);
	dt_buf_release(&w.line);
	dt_buf_release(&w.scratch);
	free(w.ends);
	return code;
}

const struct dt_profile_format dt_profile_folded = {
    .name = "folded",
    .alias = "raw",
    .extensions = (const char *const[]){".folded", ".txt", NULL},
    .description = "a line for each stack with its microseconds, for flame graph programs",
    .render = render_folded,
};
