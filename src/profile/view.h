/*
 * How a profile is looked at: which runs count, how much, and what of a stack is shown. Every output goes through a
 * view, so that a filter means the same in all of them.
 */
#ifndef DT_PROFILE_VIEW_H
#define DT_PROFILE_VIEW_H

#include "base/buf.h"
#include "base/error.h"
#include "profile/profile.h"

/* DT_EUSAGE with a sentence that quotes a regular expression that makes no sense. options may be NULL. The profile is
 * borrowed, and must not be added to while there is a view of it. */
int dt_view_new(const struct dt_profile *profile, const struct dt_view_options *options, struct dt_view **view,
		struct dt_error *err);
void dt_view_free(struct dt_view *view);

const struct dt_profile *dt_view_profile(const struct dt_view *view);
const struct dt_view_options *dt_view_options(const struct dt_view *view);

/* Nanoseconds that a run counts, 0 if it is filtered out. */
uint64_t dt_view_weight(const struct dt_view *view, const struct dt_profile_run *run);

/* Is there no run that counts? */
bool dt_view_is_empty(const struct dt_view *view);

/* From now on only this thread's runs count, as far as they did before; 0: those of all again. */
void dt_view_narrow(struct dt_view *view, uint32_t thread);

/* Nanoseconds of waiting that the options hide. */
uint64_t dt_view_hidden(const struct dt_view *view);

/* The frames of a stack that are shown, outermost first: numbers of locations, in the view's own buffer until the next
 * call. With `functions` a location stands for all lines of its function. There are none if all of them are hidden. */
const uint32_t *dt_view_frames(struct dt_view *view, uint32_t stack, size_t *count);

/* What is shown of a location: its line, by the options (0: none), and its file, shortened unless they say otherwise.
 * The text lives as long as the view. */
uint32_t dt_view_line(const struct dt_view *view, uint32_t location);
const char *dt_view_file(const struct dt_view *view, uint32_t location);
const char *dt_view_function_file(const struct dt_view *view, uint32_t function);

/* What is said instead of a stack: "[running, stack not seen]", "[no Python frames]"; or what is put inside of one
 * that is torn: "[torn]". NULL: nothing. The same words are the same pointer. */
const char *dt_view_mark(const struct dt_profile_run *run);

/* What the tree says of a stack whose frames are all hidden. */
#define DT_MARK_HIDDEN "[hidden]"

/* ---- the tree: what a flame graph shows ---- */

enum dt_node_kind {
	DT_NODE_ALL, /* the root */
	DT_NODE_PROCESS,
	DT_NODE_THREAD,
	DT_NODE_FRAME, /* `id` is a location */
	DT_NODE_MARK,  /* `text` is what dt_view_mark() said, or DT_MARK_HIDDEN */
};

struct dt_node {
	enum dt_node_kind kind;
	uint32_t id;
	const char *text;
	uint64_t total, own;  /* nanoseconds */
	uint64_t samples;     /* total */
	uint32_t parent;      /* index; the root is 0 and its own parent */
	uint32_t first, next; /* first child, next sibling: 0 none. Children are in order of their labels: by name, file
				 and line, processes and threads by number, marks last */
	uint32_t depth;
};

struct dt_tree {
	struct dt_node *nodes; /* parents before children */
	size_t count;
};

/* More nodes than this are refused, with DT_EMEMORY: a stack counts once for each thread with `threads`. */
#define DT_TREE_LIMIT ((size_t)16 << 20)

int dt_tree_build(struct dt_view *view, struct dt_tree *tree, struct dt_error *err);
void dt_tree_release(struct dt_tree *tree);

/* Bytes of a name that are shown, and of the path of a file: a target may call a function whatever it likes, and an
 * output repeats it. */
#define DT_NAME_SHOWN ((size_t)1 << 10)
#define DT_PATH_SHOWN ((size_t)4 << 10)

/* The words of a node: "name (file.py:12)", "thread 12 \"name\"", "process 12 python app.py", "[torn]", "all". Names in
 * them are cut. Not escaped. */
void dt_node_label(const struct dt_view *view, const struct dt_node *node, struct dt_buf *out);

/* ---- tables: where the time goes ---- */

#define DT_ROW_GIL 0x80u /* a state that would be idle without the GIL in hand */

struct dt_row {
	uint32_t id;         /* function, location, thread, or enum dt_state, with: */
	uint64_t own, total; /* nanoseconds; a function that calls itself counts once */
	uint64_t samples;    /* own */
};

struct dt_rows {
	struct dt_row *rows; /* most own time first; of equal ones the smaller id */
	size_t count;
};

enum dt_table {
	DT_TABLE_FUNCTIONS, /* time that only a mark stands for is nobody's own */
	DT_TABLE_LINES,
	DT_TABLE_THREADS,
	DT_TABLE_STATES, /* of all runs that pass the filters, idle ones too */
};

int dt_rows_build(struct dt_view *view, enum dt_table table, struct dt_rows *rows, struct dt_error *err);
void dt_rows_release(struct dt_rows *rows);

#endif
