/*
 * speedscope's own JSON: one sampled profile for each thread, a sample for each run, weights in nanoseconds. The table
 * of frames comes last, because which of them are used is known then; order does not matter in JSON.
 */
#include <stdlib.h>

#include "base/util.h"
#include "format/json_writer.h"
#include "format/profile_formats.h"
#include "format/profile_words.h"

_Static_assert(DT_PROFILE_RUNS <= UINT32_MAX, "a number of a run is 32 bits");

/* Marks are the few constant texts of dt_run_mark(). */
#define MOST_MARKS 16

struct scope {
	struct dt_view *view;
	const struct dt_profile *profile;
	struct dt_json json;
	struct dt_profile_counts counts;
	uint32_t *index; /* of each location, its place in the table of frames + 1; 0: not used yet */
	uint32_t *used;  /* the other way round: what is at each place; for marks counts.locations + 1 + their number,
			    for  frames that are left out MOST_MARKS + how many they are instead */
	uint32_t *left_out; /* of each number of frames that are left out, its place + 1; 0: not used yet */
	uint32_t frames;
	const char *marks[MOST_MARKS];
	uint32_t mark_place[MOST_MARKS];
	size_t mark_count;
	size_t *first;   /* of each thread, where its runs begin in `order`; one more at the end */
	uint32_t *order; /* numbers of runs, those of a thread together and in order of time */
	struct dt_buf words;
};

/* Runs of all threads are mixed: sorts them by thread, by counting. 0 or DT_EMEMORY. */
static int sort_runs(struct scope *s)
{
	const struct dt_profile_run *runs = dt_profile_runs(s->profile);
	size_t *first = s->first = calloc((size_t)s->counts.threads + 2, sizeof(*first));

	s->order = calloc(s->counts.runs + 1, sizeof(*s->order));
	if (!s->first || !s->order)
		return DT_EMEMORY;
	for (size_t i = 0; i < s->counts.runs; i++)
		first[runs[i].thread + 1]++;
	for (size_t t = 1; t <= s->counts.threads; t++)
		first[t + 1] += first[t];
	/* Now first[t] is the end of thread t - 1; filling moves it on to the end of t, so that is shifted back. */
	for (uint32_t i = 0; i < s->counts.runs; i++)
		s->order[first[runs[i].thread]++] = i;
	memmove(first + 1, first, ((size_t)s->counts.threads + 1) * sizeof(*first));
	first[0] = 0;
	return 0;
}

static uint32_t place_of_mark(struct scope *s, const char *mark)
{
	size_t i = 0;

	while (i < s->mark_count && strcmp(s->marks[i], mark) != 0)
		i++;
	if (i == MOST_MARKS)
		return s->mark_place[0];
	if (i == s->mark_count) {
		s->marks[s->mark_count++] = mark;
		s->mark_place[i] = s->frames;
		s->used[s->frames++] = s->counts.locations + 1 + (uint32_t)i;
	}
	return s->mark_place[i];
}

static uint32_t place_of(struct scope *s, uint32_t location)
{
	if (!s->index[location]) {
		s->used[s->frames++] = location;
		s->index[location] = s->frames;
	}
	return s->index[location] - 1;
}

static uint32_t place_of_left_out(struct scope *s, size_t frames)
{
	if (!s->left_out[frames]) {
		s->used[s->frames++] = s->counts.locations + 1 + MOST_MARKS + (uint32_t)frames;
		s->left_out[frames] = s->frames;
	}
	return s->left_out[frames] - 1;
}

static void put_sample(struct scope *s, const struct dt_profile_run *run)
{
	struct dt_depth shown;
	size_t count;
	const uint32_t *frames = dt_view_frames(s->view, run->stack, &count);
	const char *mark = dt_run_mark(run, count);

	shown = dt_depth_shown(count);
	dt_json_array(&s->json, NULL);
	for (size_t i = 0; i < shown.outer; i++)
		dt_json_number(&s->json, NULL, place_of(s, frames[i]));
	if (shown.left_out)
		dt_json_number(&s->json, NULL, place_of_left_out(s, shown.left_out));
	for (size_t i = count - shown.inner; i < count; i++)
		dt_json_number(&s->json, NULL, place_of(s, frames[i]));
	if (mark)
		dt_json_number(&s->json, NULL, place_of_mark(s, mark));
	dt_json_array_end(&s->json);
}

/* What a thread counts in all. */
static uint64_t weigh(const struct scope *s, uint32_t thread)
{
	const struct dt_profile_run *runs = dt_profile_runs(s->profile);
	uint64_t sum = 0;

	for (size_t i = s->first[thread]; i < s->first[thread + 1]; i++)
		sum += dt_view_weight(s->view, &runs[s->order[i]]);
	return sum;
}

static void put_profile(struct scope *s, const char *name, uint32_t thread, uint64_t sum)
{
	const struct dt_profile_run *runs = dt_profile_runs(s->profile);

	putc('\n', s->json.out);
	dt_json_object(&s->json, NULL);
	dt_json_text(&s->json, "type", "sampled");
	dt_json_text(&s->json, "name", name);
	dt_json_text(&s->json, "unit", "nanoseconds");
	dt_json_number(&s->json, "startValue", 0);
	dt_json_number(&s->json, "endValue", sum);
	dt_json_array(&s->json, "samples");
	for (size_t i = s->first[thread]; i < s->first[thread + 1] && !ferror(s->json.out); i++)
		if (dt_view_weight(s->view, &runs[s->order[i]]))
			put_sample(s, &runs[s->order[i]]);
	dt_json_array_end(&s->json);
	dt_json_array(&s->json, "weights");
	for (size_t i = s->first[thread]; i < s->first[thread + 1]; i++) {
		uint64_t weight = dt_view_weight(s->view, &runs[s->order[i]]);

		if (weight)
			dt_json_number(&s->json, NULL, weight);
	}
	dt_json_array_end(&s->json);
	dt_json_object_end(&s->json);
}

/* The thread with most time is shown first. A file without any profile could not be opened: then there is an empty one.
 */
static void put_profiles(struct scope *s)
{
	uint64_t most = 0;
	uint32_t heaviest = 0, count = 0;

	dt_json_array(&s->json, "profiles");
	for (uint32_t thread = 1; thread <= s->counts.threads && !ferror(s->json.out); thread++) {
		uint64_t sum = weigh(s, thread);

		if (!sum)
			continue;
		if (sum > most) {
			most = sum;
			heaviest = count;
		}
		dt_buf_clear(&s->words);
		dt_thread_words(s->view, thread, &s->words);
		put_profile(s, s->words.data, thread, sum);
		count++;
	}
	if (!count) {
		dt_buf_clear(&s->words);
		dt_nothing_words(s->view, &s->words);
		put_profile(s, s->words.data, 0, 0);
	}
	dt_json_array_end(&s->json);
	dt_json_number(&s->json, "activeProfileIndex", heaviest);
}

static void put_frame(struct scope *s, uint32_t what)
{
	struct dt_frame_words words;

	if (what > s->counts.locations + MOST_MARKS) {
		dt_buf_clear(&s->words);
		dt_left_out_words(what - s->counts.locations - 1 - MOST_MARKS, &s->words);
		dt_json_text(&s->json, "name", s->words.data);
		return;
	}
	if (what > s->counts.locations) {
		dt_json_text(&s->json, "name", s->marks[what - s->counts.locations - 1]);
		return;
	}
	words = dt_frame_words(s->view, what, &s->words);
	dt_json_text(&s->json, "name", dt_shown(words.name, DT_NAME_SHOWN, &s->words));
	if (*words.file)
		dt_json_text(&s->json, "file", dt_shown(words.file, DT_PATH_SHOWN, &s->words));
	if (words.line)
		dt_json_number(&s->json, "line", words.line);
}

static void put_frames(struct scope *s)
{
	putc('\n', s->json.out);
	dt_json_object(&s->json, "shared");
	dt_json_array(&s->json, "frames");
	for (uint32_t i = 0; i < s->frames && !ferror(s->json.out); i++) {
		dt_json_object(&s->json, NULL);
		put_frame(s, s->used[i]);
		dt_json_object_end(&s->json);
	}
	dt_json_array_end(&s->json);
	dt_json_object_end(&s->json);
}

static void put_document(struct scope *s, const struct dt_profile_render *render)
{
	dt_json_object(&s->json, NULL);
	dt_json_text(&s->json, "$schema", "https://www.speedscope.app/file-format-schema.json");
	dt_json_text(&s->json, "exporter", "darter@" DT_VERSION);
	dt_buf_clear(&s->words);
	dt_title_words(s->view, render, &s->words);
	dt_json_text(&s->json, "name", s->words.data);
	put_profiles(s);
	put_frames(s);
	dt_json_object_end(&s->json);
	putc('\n', s->json.out);
}

static int speedscope_render(struct dt_view *view, const struct dt_profile_render *render, FILE *out)
{
	const struct dt_profile *profile = dt_view_profile(view);
	struct scope s = {.view = view,
			  .profile = profile,
			  .json = {.out = out},
			  .counts = dt_profile_counts(profile),
			  .words = DT_BUF_INIT};
	int code = sort_runs(&s);

	s.index = calloc((size_t)s.counts.locations + 1, sizeof(*s.index));
	s.left_out = calloc(DT_PROFILE_DEPTH + 1, sizeof(*s.left_out));
	s.used = calloc((size_t)s.counts.locations + MOST_MARKS + DT_PROFILE_DEPTH + 1, sizeof(*s.used));
	if (!s.index || !s.used || !s.left_out)
		code = DT_EMEMORY;
	if (!code) {
		put_document(&s, render);
		code = ferror(out) ? DT_ERUNTIME : s.words.failed ? DT_EMEMORY : 0;
	}
	free(s.index);
	free(s.left_out);
	free(s.used);
	free(s.first);
	free(s.order);
	dt_buf_release(&s.words);
	return code;
}

const struct dt_profile_format dt_profile_speedscope = {
    .name = "speedscope",
    .extensions = (const char *const[]){".speedscope.json", ".json", NULL},
    .description = "a profile per thread, for speedscope",
    .render = speedscope_render,
};
