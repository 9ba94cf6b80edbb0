/*
 * One stack out of two: the C stack of a thread, and the Python frames that it runs. Each call of the interpreter's
 * loop runs a row of Python frames (one of them up to 3.10), and what C code it calls comes between this row and the
 * next. Pure logic.
 *
 * From 3.10 on something of each call of the loop lies on the C stack, and Python tells where: that settles which C
 * frame it is, whatever symbols there are. Before, the calls are counted, from the leaf outwards, so that a C stack
 * whose outer part is not known does no harm. Where neither fits, the Python frames are kept whole, the C frames inside
 * of the innermost call are put at the leaf, and the result says so.
 */
#ifndef DT_NATIVE_MERGE_H
#define DT_NATIVE_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Innermost first. */
struct dt_merge_native {
	uint64_t sp; /* rising; the frame reaches up to that of the next one */
	bool loop;   /* it is in the interpreter's loop, by its symbol */
	bool maybe;  /* it may be: it is in the interpreter, and has no symbol */
};

/* Python frames that one call of the loop runs, innermost first. */
struct dt_merge_row {
	uint64_t place; /* on the C stack, in the frame of the loop; 0: not known */
	uint32_t count; /* of Python frames; 0: it has none yet, or none any more */
};

struct dt_merge {
	const struct dt_merge_native *natives;
	size_t native_count;
	bool whole; /* the C stack is known to its outermost frame */
	const struct dt_merge_row *rows;
	size_t row_count;
};

struct dt_merged {
	bool native;
	uint32_t index; /* of the C frame, or of the Python frame, counted over all rows */
};

enum dt_merge_end {
	DT_MERGED,       /* every row is where it belongs */
	DT_MERGED_INNER, /* the same, of the part of the C stack that is known; what is further out is not seen */
	DT_MERGED_LEAF,  /* C frames and Python frames do not fit: only what the innermost row called is there */
};

/* Puts both together, innermost first; merged has room for all of them. The frames of the loop itself are left out, for
 * their rows stand for them; kept: they are not. *count: how many there are then. */
enum dt_merge_end dt_merge(const struct dt_merge *merge, bool kept, struct dt_merged *merged, size_t *count);

#endif
