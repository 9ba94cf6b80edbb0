/* Views, trees and tables of recordings: of an example against tests/golden, and of random ones against a count that is
 * slow and plain. */
#include "unit.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/utf8.h"
#include "golden.h"
#include "profile/view.h"
#include "profile_example.h"

static struct dt_view *view_of(const struct dt_profile *profile, const struct dt_view_options *options)
{
	struct dt_view *view = NULL;
	struct dt_error err;

	assert_int_equal(dt_view_new(profile, options, &view, &err), 0);
	assert_ptr_equal(dt_view_profile(view), profile);
	return view;
}

/* "    walk (tree.py:21) total/own samples", as deep as the node is. */
static void print_tree(struct dt_view *view, FILE *out)
{
	struct dt_tree tree;
	struct dt_error err;
	uint32_t at = 0;

	assert_int_equal(dt_tree_build(view, &tree, &err), 0);
	for (;;) {
		const struct dt_node *node = &tree.nodes[at];
		struct dt_buf label = DT_BUF_INIT, shown = DT_BUF_INIT;

		dt_node_label(view, node, &label);
		dt_escape(&shown, label.data);
		fprintf(out, "%*s%s %" PRIu64 "/%" PRIu64 " %" PRIu64 "\n", (int)node->depth * 2, "", shown.data,
			node->total / EXAMPLE_MS, node->own / EXAMPLE_MS, node->samples);
		dt_buf_release(&label);
		dt_buf_release(&shown);
		assert_true(at == 0 || node->parent < at);
		if (node->first) {
			at = node->first;
			continue;
		}
		while (at && !tree.nodes[at].next)
			at = tree.nodes[at].parent;
		if (!at)
			break;
		at = tree.nodes[at].next;
	}
	dt_tree_release(&tree);
	assert_null(tree.nodes);
}

static void test_trees(void **state)
{
	static const char *const hide[] = {"^(walk|native)", "parser\\.py:.*parse$", "no such"};
	static const char *const everything[] = {"."};
	static const struct {
		const char *name;
		struct dt_view_options options;
	} cases[] = {
	    {"plain", {0}},
	    {"threads, idle", {.threads = true, .idle = true, .full_names = true}},
	    {"functions", {.functions = true}},
	    {"no lines, cpu", {.no_lines = true, .weight = DT_WEIGHT_CPU}},
	    {"gil, main threads", {.weight = DT_WEIGHT_GIL, .main_thread = true}},
	    {"gc", {.gc = true}},
	    {"threads named pool", {.thread_name = "^pool", .threads = true}},
	    {"hide", {.hide = hide, .hide_count = DT_COUNT(hide)}},
	    {"hide all", {.hide = everything, .hide_count = 1, .threads = true}},
	};
	struct dt_profile *profile = example_profile();
	struct golden golden;
	FILE *out = golden_begin(&golden);

	(void)state;
	for (size_t i = 0; i < DT_COUNT(cases); i++) {
		struct dt_view *view = view_of(profile, &cases[i].options);

		fprintf(out, "%s# %s\n", i ? "\n" : "", cases[i].name);
		print_tree(view, out);
		dt_view_free(view);
	}
	golden_end(&golden, "view-trees.txt");
	dt_profile_free(profile);
}

/* A file is matched by its path, by what is shown of it and by its name alone. */
static void test_hide_files(void **state)
{
	static const struct {
		const char *hide;
		bool full_names, hidden[3]; /* by file */
	} cases[] = {
	    {"^/usr/lib/python3/threading.py:run$", false, {true, false, false}},
	    {"^threading\\.py:run$", false, {true, false, false}},
	    {"^threading\\.py:run$", true, {true, false, false}},
	    {"^one/app\\.py:", false, {false, true, false}},
	    {"^one/app\\.py:", true, {false, false, false}},
	    {"^app\\.py:", false, {false, true, true}},
	    {"^p\\.py:", false, {false, false, false}},
	};
	static const char *const files[] = {"/usr/lib/python3/threading.py", "/srv/one/app.py", "/srv/two/app.py"};
	struct dt_profile *profile = dt_profile_new();
	uint32_t stack = 0;

	(void)state;
	for (size_t i = 0; i < DT_COUNT(files); i++)
		stack = example_frame(profile, stack, "run", files[i], 1);
	for (size_t i = 0; i < DT_COUNT(cases); i++) {
		struct dt_view_options options = {
		    .hide = &cases[i].hide, .hide_count = 1, .full_names = cases[i].full_names};
		struct dt_view *view = view_of(profile, &options);
		size_t count, at = 0;
		const uint32_t *frames = dt_view_frames(view, stack, &count);

		for (size_t k = 0; k < DT_COUNT(files); k++) {
			if (cases[i].hidden[k])
				continue;
			assert_true(at < count);
			assert_int_equal(frames[at++], k + 1);
		}
		assert_int_equal(count, at);
		dt_view_free(view);
	}
	dt_profile_free(profile);
}

static const struct dt_row *row_named(const struct dt_profile *profile, const struct dt_rows *rows, const char *name)
{
	for (size_t i = 0; i < rows->count; i++)
		if (!strcmp(dt_profile_text(profile, dt_profile_function_at(profile, rows->rows[i].id)->name), name))
			return &rows->rows[i];
	fail_msg("no row %s", name);
	return NULL;
}

static void test_tables(void **state)
{
	struct dt_profile *profile = example_profile();
	struct dt_view *view = view_of(profile, NULL);
	const struct dt_row *row;
	struct dt_error err;
	struct dt_rows rows;

	(void)state;
	assert_int_equal(dt_rows_build(view, DT_TABLE_FUNCTIONS, &rows, &err), 0);
	for (size_t i = 1; i < rows.count; i++)
		assert_true(rows.rows[i - 1].own >= rows.rows[i].own);
	/* It calls itself, counts once, and what is torn inside of it is not its own. */
	row = row_named(profile, &rows, "walk");
	assert_int_equal(row->total, (50 + 10 + 20 + 30) * EXAMPLE_MS);
	assert_int_equal(row->own, (50 + 20) * EXAMPLE_MS);
	assert_int_equal(row->samples, 5 + 2);
	row = row_named(profile, &rows, "native mark");
	assert_int_equal(row->own, 50 * EXAMPLE_MS);
	dt_rows_release(&rows);
	assert_null(rows.rows);

	assert_int_equal(dt_rows_build(view, DT_TABLE_THREADS, &rows, &err), 0);
	assert_int_equal(rows.count, 3); /* the third one only slept */
	assert_int_equal(rows.rows[0].id, 1);
	assert_int_equal(rows.rows[0].own, 260 * EXAMPLE_MS);
	dt_rows_release(&rows);

	assert_int_equal(dt_rows_build(view, DT_TABLE_STATES, &rows, &err), 0);
	assert_int_equal(rows.count, 6);
	assert_int_equal(rows.rows[0].id, DT_STATE_SLEEPING); /* hidden elsewhere */
	assert_int_equal(rows.rows[0].own, 1000 * EXAMPLE_MS);
	dt_rows_release(&rows);
	dt_view_free(view);
	dt_profile_free(profile);
}

static void test_weights(void **state)
{
	const struct dt_profile_run idle = {.thread = 1, .wall_ns = 7, .cpu_ns = 2, .state = DT_STATE_SLEEPING};
	const struct dt_profile_run busy = {
	    .thread = 2, .wall_ns = 7, .cpu_ns = 3, .state = DT_STATE_RUNNING, .flags = DT_RUN_GIL | DT_RUN_GC};
	static const struct {
		struct dt_view_options options;
		uint64_t idle, busy, keeping;
	} cases[] = {
	    {{0}, 0, 7, 7},
	    {{.idle = true}, 7, 7, 7},
	    {{.weight = DT_WEIGHT_CPU, .idle = true}, 2, 3, 2},
	    {{.weight = DT_WEIGHT_GIL, .idle = true}, 0, 7, 7},
	    {{.weight = DT_WEIGHT_GIL}, 0, 7, 7},
	    {{.gc = true, .idle = true}, 0, 7, 0},
	    {{.main_thread = true, .idle = true}, 7, 0, 7},
	    {{.thread_name = "Main|none", .idle = true}, 7, 0, 7},
	};
	const struct dt_profile_run keeping = {
	    .thread = 1, .wall_ns = 7, .cpu_ns = 2, .state = DT_STATE_SLEEPING, .flags = DT_RUN_GIL};
	struct dt_profile *profile = example_profile();

	(void)state;
	for (size_t i = 0; i < DT_COUNT(cases); i++) {
		struct dt_view *view = view_of(profile, &cases[i].options);

		assert_int_equal(dt_view_weight(view, &keeping), cases[i].keeping);
		assert_int_equal(dt_view_weight(view, &idle), cases[i].idle);
		assert_int_equal(dt_view_weight(view, &busy), cases[i].busy);
		dt_view_free(view);
	}
	dt_profile_free(profile);
}

static void test_bad_expressions(void **state)
{
	static const char *const hide[] = {"fine", "[a-"};
	struct dt_profile *profile = example_profile();
	struct dt_view *view = NULL;
	struct dt_error err;

	(void)state;
	assert_int_equal(dt_view_new(profile, &(struct dt_view_options){.thread_name = "("}, &view, &err), DT_EUSAGE);
	assert_non_null(strstr(err.message, "'('"));
	assert_int_equal(dt_view_new(profile, &(struct dt_view_options){.hide = hide, .hide_count = 2}, &view, &err),
			 DT_EUSAGE);
	assert_non_null(strstr(err.message, "'[a-'"));
	assert_null(view);
	dt_view_free(NULL);
	dt_profile_free(profile);
}

static void test_empty(void **state)
{
	struct dt_profile *profile = dt_profile_new();
	struct dt_view *view = view_of(profile, &(struct dt_view_options){.threads = true});
	struct dt_error err;
	struct dt_tree tree;
	size_t count;

	(void)state;
	assert_int_equal(dt_tree_build(view, &tree, &err), 0);
	assert_int_equal(tree.count, 1);
	assert_int_equal(tree.nodes[0].total, 0);
	dt_tree_release(&tree);
	for (int table = DT_TABLE_FUNCTIONS; table <= DT_TABLE_STATES; table++) {
		struct dt_rows rows;

		assert_int_equal(dt_rows_build(view, (enum dt_table)table, &rows, &err), 0);
		assert_int_equal(rows.count, 0);
		dt_rows_release(&rows);
	}
	dt_view_frames(view, 0, &count);
	assert_int_equal(count, 0);
	dt_view_free(view);
	dt_profile_free(profile);
}

/* The deepest stack there may be: nothing recurses. */
static void test_deep(void **state)
{
	struct dt_profile *profile = example_profile();
	uint32_t stack = 0, odd = 0;
	struct dt_tree tree;
	struct dt_rows rows;
	struct dt_error err;
	struct dt_view *view;
	size_t count;

	(void)state;
	for (uint32_t i = 0; i < DT_PROFILE_DEPTH; i++) {
		stack = example_frame(profile, stack, i % 2 ? "odd" : "even", "/srv/deep.py", 5);
		if (i == 1)
			odd = stack;
	}
	assert_int_equal(dt_profile_add_run(profile, &(struct dt_profile_run){.thread = 3,
									      .start_ns = 1000 * EXAMPLE_MS,
									      .wall_ns = 5000,
									      .samples = 1,
									      .stack = stack,
									      .state = DT_STATE_RUNNING}),
			 0);
	view = view_of(profile, NULL);
	dt_view_frames(view, stack, &count);
	assert_int_equal(count, DT_PROFILE_DEPTH);
	assert_int_equal(dt_tree_build(view, &tree, &err), 0);
	assert_int_equal(tree.nodes[tree.count - 1].depth, DT_PROFILE_DEPTH);
	assert_int_equal(tree.nodes[tree.count - 1].own, 5000);
	dt_tree_release(&tree);
	assert_int_equal(dt_rows_build(view, DT_TABLE_FUNCTIONS, &rows, &err), 0);
	assert_int_equal(row_named(profile, &rows, "even")->total, 5000);
	assert_int_equal(row_named(profile, &rows, "even")->own, 0);
	assert_int_equal(row_named(profile, &rows, "odd")->own, 5000);
	dt_rows_release(&rows);
	dt_view_frames(view, odd, &count);
	assert_int_equal(count, 2);
	dt_view_free(view);
	dt_profile_free(profile);
}

/* ---- random recordings ---- */

static uint64_t seed = 20;

static uint32_t below(uint32_t limit)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(seed >> 33) % limit;
}

static struct dt_profile *random_profile(uint32_t stacks, uint32_t runs)
{
	struct dt_profile *profile = dt_profile_new();
	uint64_t end[6] = {0};

	assert_non_null(profile);
	example_threads(profile);
	for (uint32_t i = 0; i < stacks; i++) {
		char name[16], file[16];

		snprintf(name, sizeof(name), "f%u", below(40));
		snprintf(file, sizeof(file), "/%c.py", 'a' + (char)below(3));
		example_frame(profile, below(dt_profile_counts(profile).stacks + 1), name, file, below(20));
	}
	for (uint32_t i = 0; i < runs; i++) {
		struct dt_profile_run run = {
		    .thread = 1 + below(4), .stack = below(dt_profile_counts(profile).stacks + 1), .samples = below(5)};

		run.start_ns = end[run.thread];
		run.wall_ns = below(1000);
		run.state = (uint8_t)below(DT_STATE_STOPPED + 1);
		run.flags = run.stack ? (uint8_t)below(8) : DT_RUN_UNSEEN;
		end[run.thread] += run.wall_ns;
		assert_int_equal(dt_profile_add_run(profile, &run), 0);
	}
	return profile;
}

/* Own and total time of functions, run by run and frame by frame. */
static void count_slowly(struct dt_view *view, uint64_t *own, uint64_t *total, uint64_t *all)
{
	const struct dt_profile *profile = dt_view_profile(view);
	struct dt_profile_counts counts = dt_profile_counts(profile);
	size_t *last = calloc(counts.functions + 1, sizeof(*last));

	for (size_t i = 0; i < counts.runs; i++) {
		const struct dt_profile_run *run = &dt_profile_runs(profile)[i];
		uint64_t weight = dt_view_weight(view, run);
		size_t count;
		const uint32_t *frames = dt_view_frames(view, run->stack, &count);

		*all += weight;
		for (size_t k = 0; k < count; k++) {
			uint32_t function = dt_profile_location_at(profile, frames[k])->function;

			if (last[function] != i + 1)
				total[function] += weight;
			last[function] = i + 1;
			if (k + 1 == count && !dt_view_mark(run))
				own[function] += weight;
		}
	}
	free(last);
}

static void compare_with_slow_count(struct dt_view *view)
{
	struct dt_profile_counts counts = dt_profile_counts(dt_view_profile(view));
	uint64_t *own = calloc(counts.functions + 1, sizeof(*own)),
		 *total = calloc(counts.functions + 1, sizeof(*total));
	uint64_t all = 0, sum = 0;
	struct dt_error err;
	struct dt_rows rows;
	struct dt_tree tree;

	count_slowly(view, own, total, &all);
	assert_int_equal(dt_rows_build(view, DT_TABLE_FUNCTIONS, &rows, &err), 0);
	for (size_t i = 0; i < rows.count; i++) {
		assert_int_equal(rows.rows[i].own, own[rows.rows[i].id]);
		assert_int_equal(rows.rows[i].total, total[rows.rows[i].id]);
		total[rows.rows[i].id] = 0;
	}
	for (uint32_t i = 1; i <= counts.functions; i++)
		assert_int_equal(total[i], 0); /* none is missing */
	assert_int_equal(dt_tree_build(view, &tree, &err), 0);
	assert_int_equal(tree.nodes[0].total, all);
	for (size_t i = 0; i < tree.count; i++)
		sum += tree.nodes[i].own;
	assert_int_equal(sum, all);
	dt_tree_release(&tree);
	dt_rows_release(&rows);
	free(own);
	free(total);
}

static void test_random(void **state)
{
	static const char *const hide[] = {"3"};
	static const struct dt_view_options options[] = {
	    {0}, {.idle = true, .threads = true}, {.functions = true, .hide = hide, .hide_count = 1}};

	(void)state;
	for (int round = 0; round < 20; round++) {
		struct dt_profile *profile = random_profile(1 + below(300), below(2000));

		for (size_t i = 0; i < DT_COUNT(options); i++) {
			struct dt_view *view = view_of(profile, &options[i]);

			compare_with_slow_count(view);
			dt_view_free(view);
		}
		dt_profile_free(profile);
	}
}

/* As many stacks and runs as an hour of a large program has. */
static void test_large(void **state)
{
	struct dt_profile *profile = random_profile(100000, 1000000);
	struct dt_view *view = view_of(profile, &(struct dt_view_options){.threads = true, .idle = true});

	(void)state;
	compare_with_slow_count(view);
	dt_view_free(view);
	dt_profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_trees),  cmocka_unit_test(test_tables),          cmocka_unit_test(test_weights),
	    cmocka_unit_test(test_empty),  cmocka_unit_test(test_bad_expressions), cmocka_unit_test(test_deep),
	    cmocka_unit_test(test_random), cmocka_unit_test(test_hide_files),      cmocka_unit_test(test_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
