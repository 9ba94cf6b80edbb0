/*
 * The tree of a view: see view.h. A stack becomes a node once for each root; after that a run is an array lookup. Nodes
 * are made from the outside inwards, so that a parent's index is always smaller than its children's, and totals are one
 * pass from the end. Nothing recurses: a stack may be 65536 deep.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "profile/view_inside.h"

struct builder {
	struct dt_view *view;
	struct dt_node *nodes;
	size_t count, capacity;
	uint32_t *slots; /* hash table of nodes by parent and what they are; 0 is free: the root is not in it */
	size_t slot_count;
	uint32_t *node_of; /* by stack: its node below the present root, plus 1 */
	uint32_t *made;    /* stacks that have one */
	size_t made_count;
	uint32_t *path;
	uint32_t *rank; /* by function: its place by name, file and first line */
	int code;
	struct dt_error *err;
};

static void fail(struct builder *b, const char *what)
{
	if (!b->code)
		dt_fail(b->err, DT_EMEMORY, "%s", what);
	b->code = DT_EMEMORY;
}

static void no_memory(struct builder *b)
{
	fail(b, "there is not enough memory for the call tree of this recording");
}

/* ---- nodes ---- */

static size_t slot_of(const struct builder *b, uint32_t parent, enum dt_node_kind kind, uint32_t id, const char *text)
{
	uint64_t key = ((uint64_t)parent << 32 | id) ^ (uint64_t)(uintptr_t)text ^ (uint64_t)kind << 61;

	key = (key ^ key >> 32) * UINT64_C(0x9e3779b97f4a7c15);
	key = (key ^ key >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
	return (size_t)(key ^ key >> 32) & (b->slot_count - 1);
}

static bool grow_slots(struct builder *b)
{
	b->slot_count = b->slot_count ? b->slot_count * 2 : 1024;
	free(b->slots);
	b->slots = calloc(b->slot_count, sizeof(uint32_t));
	if (!b->slots)
		return false;
	for (size_t i = 1; i < b->count; i++) {
		const struct dt_node *node = &b->nodes[i];
		size_t slot = slot_of(b, node->parent, node->kind, node->id, node->text);

		while (b->slots[slot])
			slot = (slot + 1) & (b->slot_count - 1);
		b->slots[slot] = (uint32_t)i;
	}
	return true;
}

static bool grow(struct builder *b)
{
	if (b->count == DT_TREE_LIMIT) {
		fail(b, "this recording has too many different stacks for a call tree");
		dt_hint(b->err, "leave '--threads' out: a stack that threads have in common is there once for each");
		return false;
	}
	if (b->count == b->capacity) {
		size_t wanted = b->capacity ? b->capacity * 2 : 256;
		struct dt_node *grown = realloc(b->nodes, wanted * sizeof(*grown));

		if (!grown) {
			no_memory(b);
			return false;
		}
		b->nodes = grown;
		b->capacity = wanted;
	}
	if (b->count * 2 < b->slot_count || grow_slots(b))
		return true;
	no_memory(b);
	return false;
}

/* The child of a node that is this, made if there is none yet; 0 on failure. */
static uint32_t child(struct builder *b, uint32_t parent, enum dt_node_kind kind, uint32_t id, const char *text)
{
	size_t slot;

	if (!grow(b))
		return 0;
	for (slot = slot_of(b, parent, kind, id, text); b->slots[slot]; slot = (slot + 1) & (b->slot_count - 1)) {
		const struct dt_node *node = &b->nodes[b->slots[slot]];

		if (node->parent == parent && node->kind == kind && node->id == id && node->text == text)
			return b->slots[slot];
	}
	b->slots[slot] = (uint32_t)b->count;
	b->nodes[b->count] = (struct dt_node){
	    .kind = kind, .id = id, .text = text, .parent = parent, .depth = b->nodes[parent].depth + 1};
	return (uint32_t)b->count++;
}

/* ---- runs ---- */

/* The node of a stack below a root; false on failure. */
static bool node_of_stack(struct builder *b, uint32_t root, uint32_t stack, uint32_t *node)
{
	const struct dt_profile *profile = b->view->profile;
	size_t depth = 0;

	for (; stack && !b->node_of[stack]; stack = dt_profile_stack_at(profile, stack)->parent)
		b->path[depth++] = stack;
	*node = stack ? b->node_of[stack] - 1 : root;
	while (depth) {
		uint32_t at = b->path[--depth];
		uint32_t location = b->view->shown[dt_profile_stack_at(profile, at)->location];

		if (location) {
			*node = child(b, *node, DT_NODE_FRAME, location, NULL);
			if (!*node)
				return false;
		}
		b->node_of[at] = *node + 1;
		b->made[b->made_count++] = at;
	}
	return true;
}

static void add_run(struct builder *b, uint32_t root, const struct dt_profile_run *run)
{
	static const char hidden[] = DT_MARK_HIDDEN;
	uint64_t weight = dt_view_weight(b->view, run);
	const char *mark = dt_view_mark(run);
	uint32_t node;

	if (!weight || !node_of_stack(b, root, run->stack, &node))
		return;
	if (!mark && node == root)
		mark = hidden;
	if (mark) {
		node = child(b, node, DT_NODE_MARK, 0, mark);
		if (!node)
			return;
	}
	b->nodes[node].own = dt_view_sum(b->nodes[node].own, weight);
	b->nodes[node].samples = dt_view_sum(b->nodes[node].samples, run->samples);
}

static uint32_t root_of_thread(struct builder *b, uint32_t thread)
{
	const struct dt_profile *profile = b->view->profile;
	uint32_t root = 0;

	if (dt_profile_counts(profile).processes > 1) {
		root = child(b, root, DT_NODE_PROCESS, dt_profile_thread_at(profile, thread)->process, NULL);
		if (!root)
			return 0;
	}
	return child(b, root, DT_NODE_THREAD, thread, NULL);
}

/* Runs thread by thread, so that each stack is looked up once below the root of each. */
static void add_by_thread(struct builder *b)
{
	const struct dt_profile_run *runs = dt_profile_runs(b->view->profile);
	struct dt_profile_counts counts = dt_profile_counts(b->view->profile);
	dt_auto_free uint32_t *end = calloc((size_t)counts.threads + 2, sizeof(uint32_t));
	dt_auto_free uint32_t *order = calloc(counts.runs + 1, sizeof(uint32_t));
	size_t at = 0;

	if (!end || !order) {
		no_memory(b);
		return;
	}
	for (size_t i = 0; i < counts.runs; i++)
		if (dt_view_weight(b->view, &runs[i]))
			end[runs[i].thread + 1]++;
	for (uint32_t thread = 1; thread <= counts.threads; thread++)
		end[thread + 1] += end[thread];
	/* end[t] is where the runs of t begin, until they are put there. */
	for (size_t i = 0; i < counts.runs; i++)
		if (dt_view_weight(b->view, &runs[i]))
			order[end[runs[i].thread]++] = (uint32_t)i;
	for (uint32_t thread = 1; thread <= counts.threads && !b->code; thread++) {
		uint32_t root = at < end[thread] ? root_of_thread(b, thread) : 0;

		for (; at < end[thread] && !b->code; at++)
			add_run(b, root, &runs[order[at]]);
		while (b->made_count)
			b->node_of[b->made[--b->made_count]] = 0;
	}
}

static void add_runs(struct builder *b)
{
	const struct dt_profile_run *runs = dt_profile_runs(b->view->profile);
	size_t count = dt_profile_counts(b->view->profile).runs;

	if (b->view->options.threads) {
		add_by_thread(b);
		return;
	}
	for (size_t i = 0; i < count && !b->code; i++)
		add_run(b, 0, &runs[i]);
}

static void sum_up(struct builder *b)
{
	for (size_t i = b->count; i-- > 0;) {
		struct dt_node *node = &b->nodes[i], *parent = &b->nodes[node->parent];

		node->total = dt_view_sum(node->total, node->own);
		if (i) {
			parent->total = dt_view_sum(parent->total, node->total);
			parent->samples = dt_view_sum(parent->samples, node->samples);
		}
	}
}

/* ---- order ---- */

static int compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int by_label_of_function(const void *a, const void *b, void *context)
{
	const struct dt_profile *profile = context;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct dt_profile_function *f = dt_profile_function_at(profile, x),
					 *g = dt_profile_function_at(profile, y);
	int order = f->name == g->name ? 0
				       : strcmp(dt_profile_text(profile, f->name), dt_profile_text(profile, g->name));

	if (!order && f->file != g->file)
		order = strcmp(dt_profile_text(profile, f->file), dt_profile_text(profile, g->file));
	if (!order)
		order = compare_numbers(f->first_line, g->first_line);
	return order ? order : compare_numbers(x, y);
}

/* Texts are compared once for each function, not once for each pair of nodes. */
static bool rank_functions(struct builder *b)
{
	uint32_t count = dt_profile_counts(b->view->profile).functions;
	dt_auto_free uint32_t *order = malloc(((size_t)count + 1) * sizeof(uint32_t));

	b->rank = calloc((size_t)count + 1, sizeof(uint32_t));
	if (!order || !b->rank)
		return false;
	for (uint32_t i = 0; i < count; i++)
		order[i] = i + 1;
	qsort_r(order, count, sizeof(*order), by_label_of_function, (void *)(uintptr_t)b->view->profile);
	for (uint32_t i = 0; i < count; i++)
		b->rank[order[i]] = i;
	return true;
}

static int by_label(const void *a, const void *b, void *context)
{
	const struct builder *builder = context;
	const struct dt_profile *profile = builder->view->profile;
	const struct dt_node *x = &builder->nodes[*(const uint32_t *)a], *y = &builder->nodes[*(const uint32_t *)b];
	int order = 0;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->kind == DT_NODE_MARK)
		return strcmp(x->text, y->text);
	if (x->kind == DT_NODE_PROCESS) {
		int32_t p = dt_profile_process_at(profile, x->id)->pid, q = dt_profile_process_at(profile, y->id)->pid;

		order = (p > q) - (p < q);
	} else if (x->kind == DT_NODE_THREAD) {
		order = compare_numbers(dt_profile_thread_at(profile, x->id)->tid,
					dt_profile_thread_at(profile, y->id)->tid);
	} else {
		const struct dt_profile_location *l = dt_profile_location_at(profile, x->id);
		const struct dt_profile_location *m = dt_profile_location_at(profile, y->id);

		order = compare_numbers(builder->rank[l->function], builder->rank[m->function]);
		if (!order)
			order = compare_numbers(l->line, m->line);
	}
	return order ? order : compare_numbers(x->id, y->id);
}

/* Groups the nodes by parent, sorts each group and links it. */
static void link_children(struct builder *b)
{
	dt_auto_free uint32_t *end = calloc(b->count + 1, sizeof(uint32_t));
	dt_auto_free uint32_t *order = malloc(b->count * sizeof(uint32_t));
	uint32_t begin = 0;

	if (!end || !order || !rank_functions(b)) {
		no_memory(b);
		return;
	}
	for (size_t i = 1; i < b->count; i++)
		end[b->nodes[i].parent + 1]++;
	for (size_t i = 1; i < b->count; i++)
		end[i] += end[i - 1];
	for (size_t i = 1; i < b->count; i++)
		order[end[b->nodes[i].parent]++] = (uint32_t)i;
	for (size_t i = 0; i < b->count; begin = end[i++]) {
		if (begin == end[i])
			continue;
		qsort_r(order + begin, end[i] - begin, sizeof(*order), by_label, b);
		b->nodes[i].first = order[begin];
		for (uint32_t k = begin; k + 1 < end[i]; k++)
			b->nodes[order[k]].next = order[k + 1];
	}
}

int dt_tree_build(struct dt_view *view, struct dt_tree *tree, struct dt_error *err)
{
	size_t stacks = dt_profile_counts(view->profile).stacks;
	struct builder b = {.view = view, .err = err};

	b.node_of = calloc(stacks + 1, sizeof(uint32_t));
	b.made = malloc((stacks + 1) * sizeof(uint32_t));
	b.path = malloc(DT_PROFILE_DEPTH * sizeof(uint32_t));
	if (!b.node_of || !b.made || !b.path)
		no_memory(&b);
	if (!b.code && grow(&b)) {
		b.nodes[0] = (struct dt_node){.kind = DT_NODE_ALL};
		b.count = 1;
		add_runs(&b);
	}
	if (!b.code) {
		sum_up(&b);
		link_children(&b);
	}
	free(b.slots);
	free(b.node_of);
	free(b.made);
	free(b.path);
	free(b.rank);
	*tree = (struct dt_tree){.nodes = b.nodes, .count = b.count};
	if (b.code)
		dt_tree_release(tree);
	return b.code;
}

void dt_tree_release(struct dt_tree *tree)
{
	free(tree->nodes);
	*tree = (struct dt_tree){0};
}
