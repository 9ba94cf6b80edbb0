/*
 * Tables of a view: see view.h. The time of each stack is added up over the runs, then carried outwards once; functions
 * and lines collect it on one walk over the tree of stacks, which knows what is open on the way to each of them, so
 * that recursion counts once. The cost is one step per run and per stack.
 */
#include <stdlib.h>

#include "base/util.h"
#include "profile/view_inside.h"

/* Arrays by stack. */
struct stacks {
	uint64_t *own, *samples, *total; /* of all runs with this stack; total: and of those further in */
	uint32_t *first, *next;          /* children */
	uint32_t *inner;                 /* the row of the innermost frame that is shown, 0: none */
};

static int no_memory(struct dt_error *err)
{
	return dt_fail(err, DT_EMEMORY, "there is not enough memory for the tables of this recording");
}

static void add(struct dt_row *row, uint64_t weight, uint64_t samples)
{
	row->own = dt_view_sum(row->own, weight);
	row->total = dt_view_sum(row->total, weight);
	row->samples = dt_view_sum(row->samples, samples);
}

/* ---- functions and lines ---- */

static void weigh_stacks(const struct dt_view *view, const struct stacks *s)
{
	const struct dt_profile_run *runs = dt_profile_runs(view->profile);
	struct dt_profile_counts counts = dt_profile_counts(view->profile);

	for (size_t i = 0; i < counts.runs; i++) {
		uint64_t weight = dt_view_weight(view, &runs[i]);
		uint32_t stack = runs[i].stack;

		if (!weight)
			continue;
		s->total[stack] = dt_view_sum(s->total[stack], weight);
		if (dt_view_mark(&runs[i]))
			continue;
		s->own[stack] = dt_view_sum(s->own[stack], weight);
		s->samples[stack] = dt_view_sum(s->samples[stack], runs[i].samples);
	}
	/* A parent has a smaller number. */
	for (uint32_t stack = counts.stacks; stack > 0; stack--) {
		uint32_t parent = dt_profile_stack_at(view->profile, stack)->parent;

		s->total[parent] = dt_view_sum(s->total[parent], s->total[stack]);
		s->next[stack] = s->first[parent];
		s->first[parent] = stack;
	}
}

/* The row that a stack's innermost frame belongs to, 0 if that is hidden. */
static uint32_t row_of(const struct dt_view *view, enum dt_table table, uint32_t stack)
{
	uint32_t location = view->shown[dt_profile_stack_at(view->profile, stack)->location];

	return location && table == DT_TABLE_FUNCTIONS ? dt_profile_location_at(view->profile, location)->function
						       : location;
}

/* From the outside inwards: own time goes to the innermost frame that is shown. */
static void give_own(const struct dt_view *view, enum dt_table table, const struct stacks *s, struct dt_row *rows)
{
	uint32_t count = dt_profile_counts(view->profile).stacks;

	for (uint32_t stack = 1; stack <= count; stack++) {
		uint32_t row = row_of(view, table, stack);

		s->inner[stack] = row ? row : s->inner[dt_profile_stack_at(view->profile, stack)->parent];
		row = s->inner[stack];
		if (row) {
			rows[row].own = dt_view_sum(rows[row].own, s->own[stack]);
			rows[row].samples = dt_view_sum(rows[row].samples, s->samples[stack]);
		}
	}
}

/* Total time goes to the outermost of equal frames: open[row] is how many there are on the way. */
static void give_total(const struct dt_view *view, enum dt_table table, const struct stacks *s, uint32_t *open,
		       struct dt_row *rows)
{
	uint32_t stack = s->first[0];

	while (stack) {
		uint32_t row = row_of(view, table, stack);

		if (row && !open[row]++)
			rows[row].total = dt_view_sum(rows[row].total, s->total[stack]);
		if (s->first[stack]) {
			stack = s->first[stack];
			continue;
		}
		for (; stack; stack = dt_profile_stack_at(view->profile, stack)->parent) {
			row = row_of(view, table, stack);
			if (row)
				open[row]--;
			if (s->next[stack])
				break;
		}
		stack = s->next[stack];
	}
}

static bool fill_frames(const struct dt_view *view, enum dt_table table, struct dt_row *rows, size_t row_count)
{
	size_t count = (size_t)dt_profile_counts(view->profile).stacks + 1;
	dt_auto_free uint64_t *wide = calloc(count, 3 * sizeof(uint64_t));
	dt_auto_free uint32_t *narrow = calloc(count, 3 * sizeof(uint32_t));
	dt_auto_free uint32_t *open = calloc(row_count, sizeof(uint32_t));

	if (!wide || !narrow || !open)
		return false;
	struct stacks s = {.own = wide,
			   .samples = wide + count,
			   .total = wide + 2 * count,
			   .first = narrow,
			   .next = narrow + count,
			   .inner = narrow + 2 * count};
	weigh_stacks(view, &s);
	give_own(view, table, &s, rows);
	give_total(view, table, &s, open, rows);
	return true;
}

/* ---- threads and states ---- */

static size_t state_row(const struct dt_profile_run *run)
{
	return dt_profile_idle((enum dt_state)run->state) && !dt_profile_run_idle(run) ? run->state | DT_ROW_GIL
										       : run->state;
}

static void fill_runs(const struct dt_view *view, enum dt_table table, struct dt_row *rows)
{
	const struct dt_profile_run *runs = dt_profile_runs(view->profile);
	size_t count = dt_profile_counts(view->profile).runs;

	for (size_t i = 0; i < count; i++) {
		bool states = table == DT_TABLE_STATES;
		uint64_t weight = states ? dt_view_weight_idle(view, &runs[i]) : dt_view_weight(view, &runs[i]);

		if (weight)
			add(&rows[states ? state_row(&runs[i]) : runs[i].thread], weight, runs[i].samples);
	}
}

/* ---- all ---- */

static size_t rows_of(const struct dt_view *view, enum dt_table table)
{
	struct dt_profile_counts counts = dt_profile_counts(view->profile);

	switch (table) {
	case DT_TABLE_FUNCTIONS:
		return (size_t)counts.functions + 1;
	case DT_TABLE_LINES:
		return (size_t)counts.locations + 1;
	case DT_TABLE_THREADS:
		return (size_t)counts.threads + 1;
	case DT_TABLE_STATES:
		break;
	}
	return UINT8_MAX + 1;
}

static int most_first(const void *a, const void *b)
{
	const struct dt_row *x = a, *y = b;

	if (x->own != y->own)
		return x->own > y->own ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

int dt_rows_build(struct dt_view *view, enum dt_table table, struct dt_rows *rows, struct dt_error *err)
{
	size_t count = rows_of(view, table), kept = 0;
	struct dt_row *all = calloc(count, sizeof(*all)), *fitting;

	*rows = (struct dt_rows){0};
	if (!all)
		return no_memory(err);
	if (table == DT_TABLE_THREADS || table == DT_TABLE_STATES) {
		fill_runs(view, table, all);
	} else if (!fill_frames(view, table, all, count)) {
		free(all);
		return no_memory(err);
	}
	for (size_t i = 0; i < count; i++)
		if (all[i].total) {
			all[kept] = all[i];
			all[kept++].id = (uint32_t)i;
		}
	qsort(all, kept, sizeof(*all), most_first);
	fitting = realloc(all, DT_MAX(kept, 1) * sizeof(*all));
	*rows = (struct dt_rows){.rows = fitting ? fitting : all, .count = kept};
	return 0;
}

void dt_rows_release(struct dt_rows *rows)
{
	free(rows->rows);
	*rows = (struct dt_rows){0};
}
