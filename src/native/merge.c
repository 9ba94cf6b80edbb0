/* Where the rows of Python frames belong in the C stack: see merge.h. */
#include "native/merge.h"

#include "base/util.h"

#define NOWHERE SIZE_MAX

struct work {
	const struct dt_merge *in;
	struct dt_merged *out;
	size_t count;
	size_t row;    /* the next one to be put */
	size_t python; /* its innermost frame */
	bool kept;
};

/* A frame ends where the next one begins. The outermost one began the thread and is not the loop's; of the last one
 * that is known otherwise only the symbol can tell. */
static bool holds(const struct dt_merge *merge, size_t native, uint64_t place)
{
	if (place < merge->natives[native].sp)
		return false;
	if (native + 1 < merge->native_count)
		return place < merge->natives[native + 1].sp;
	return !merge->whole && merge->natives[native].loop;
}

/* Is the place further out than all that is known? */
static bool lies_beyond(const struct dt_merge *merge, uint64_t place)
{
	return !merge->whole && merge->native_count && place >= merge->natives[merge->native_count - 1].sp;
}

/* The C frame of a row, by its place. */
static size_t next_by_place(const struct dt_merge *merge, size_t row, size_t from)
{
	for (size_t i = from; i < merge->native_count; i++)
		if (holds(merge, i, merge->rows[row].place))
			return i;
	return NOWHERE;
}

static size_t next_loop(const struct dt_merge *merge, size_t from)
{
	while (from < merge->native_count && !merge->natives[from].loop)
		from++;
	return from < merge->native_count ? from : NOWHERE;
}

/* From the leaf outwards. Two rows are never in one frame. */
static bool places_fit(const struct dt_merge *merge)
{
	size_t from = 0;
	bool beyond = false;

	for (size_t row = 0; row < merge->row_count; row++) {
		uint64_t place = merge->rows[row].place;
		size_t found = place && !beyond ? next_by_place(merge, row, from) : NOWHERE;

		if (found == NOWHERE && (!place || !lies_beyond(merge, place)))
			return false;
		beyond = found == NOWHERE;
		from = beyond ? from : found + 1;
	}
	return true;
}

/* A call of the loop that has no frame yet, or has none any more, can only be the innermost, and calls nothing then.
 * Whether there is such a one is only known if all calls are. */
static bool counts_fit(const struct dt_merge *merge, size_t *skipped)
{
	bool leaf = merge->native_count && merge->natives[0].loop;
	size_t loops = 0;
	bool maybe = false;

	for (size_t i = 0; i < merge->native_count; i++) {
		loops += merge->natives[i].loop;
		maybe = maybe || merge->natives[i].maybe;
	}
	*skipped = merge->whole && leaf && loops == merge->row_count + 1;
	if (merge->whole)
		return loops == merge->row_count + *skipped;
	if (!loops) /* the walk has not come to the innermost call */
		return !merge->row_count || !maybe;
	return !leaf && loops <= merge->row_count;
}

static void put_native(struct work *w, size_t native)
{
	w->out[w->count++] = (struct dt_merged){.native = true, .index = (uint32_t)native};
}

static void put_row(struct work *w)
{
	for (uint32_t i = 0; i < w->in->rows[w->row].count; i++)
		w->out[w->count++] = (struct dt_merged){.index = (uint32_t)w->python++};
	w->row++;
}

static void put_rest(struct work *w)
{
	while (w->row < w->in->row_count)
		put_row(w);
}

/* The rows, each at its frame of the loop. */
static void put_all(struct work *w, bool by_place, size_t skipped)
{
	size_t from = 0;

	while (from < w->in->native_count) {
		bool more = w->row < w->in->row_count;
		size_t found = NOWHERE;

		if (by_place)
			found = more ? next_by_place(w->in, w->row, from) : NOWHERE;
		else
			found = next_loop(w->in, from);
		for (; from < DT_MIN(found, w->in->native_count); from++)
			put_native(w, from);
		if (found == NOWHERE)
			break;
		if (w->kept)
			put_native(w, from);
		from++;
		if (skipped)
			skipped--;
		else
			put_row(w);
	}
	put_rest(w);
}

/* The frame of the innermost call of the loop. If the walk has not come to one, all that is known is inside of it. */
static size_t leaf_end(const struct dt_merge *merge)
{
	size_t found = merge->row_count && merge->rows[0].place ? next_by_place(merge, 0, 0) : NOWHERE;

	if (found == NOWHERE)
		found = next_loop(merge, 0);
	if (found == NOWHERE)
		found = merge->whole ? 0 : merge->native_count;
	return found;
}

static void put_leaf(struct work *w)
{
	size_t end = leaf_end(w->in);

	for (size_t i = 0; i < end; i++)
		put_native(w, i);
	put_rest(w);
}

enum dt_merge_end dt_merge(const struct dt_merge *merge, bool kept, struct dt_merged *merged, size_t *count)
{
	struct work w = {.in = merge, .out = merged, .kept = kept};
	enum dt_merge_end end = DT_MERGED;
	size_t skipped = 0;

	if (merge->row_count && places_fit(merge)) {
		put_all(&w, true, 0);
		end = merge->whole ? DT_MERGED : DT_MERGED_INNER;
	} else if (counts_fit(merge, &skipped)) {
		put_all(&w, false, skipped);
		end = merge->whole ? DT_MERGED : DT_MERGED_INNER;
	} else {
		put_leaf(&w);
		end = DT_MERGED_LEAF;
	}
	*count = w.count;
	return end;
}
