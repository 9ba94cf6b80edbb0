/*
 * Chrome's trace events: a time line with a row of nested slices for each thread, for Perfetto and chrome://tracing.
 *
 * Runs are written as they come: all that is kept is the slices of each thread that are open. A slice begins (B) with
 * the first run that has its frame and ends (E) with the last one in a row. A frame goes on from one run to the next
 * if its function is the same and no caller has moved on to another line, which it can only have done after a return.
 * The events of one thread are in order and balanced; those of different threads may be in any order.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/util.h"
#include "format/json_writer.h"
#include "format/profile_formats.h"
#include "format/profile_words.h"

/* Ids that the kernel does not give (it has up to 2^22), for those that are not known or were used before. */
#define MADE_UP (UINT32_C(1) << 30)

struct slice {
	uint32_t location;
	uint32_t left_out; /* a slice in place of so many frames */
	const char *text;  /* of a slice that is no frame: a mark or a state */
};

struct track {
	uint32_t pid, tid; /* no two tracks have the same */
	bool named;
	uint64_t end; /* of the last run that was shown */
	struct slice *open;
	uint32_t count, room;
};

struct trace {
	struct dt_view *view;
	const struct dt_profile *profile;
	struct dt_profile_counts counts;
	struct dt_json json;
	struct track *tracks; /* by thread */
	uint32_t *pids;       /* by process */
	bool *process_named;
	struct slice *wanted; /* by the run that is being written */
	uint32_t room;
	struct dt_buf words; /* of a name, or of the path of a file */
	int code;
};

/* ---- ids ---- */

struct key {
	uint64_t value;
	uint32_t owner;
};

static int compare_keys(const void *a, const void *b)
{
	const struct key *left = a, *right = b;

	if (left->value != right->value)
		return left->value < right->value ? -1 : 1;
	return left->owner < right->owner ? -1 : left->owner > right->owner;
}

/* Pids and thread ids are used again, and several hosts use the same ones: the first owner keeps it. */
static int give_pids(struct trace *t)
{
	dt_auto_free struct key *keys = calloc((size_t)t->counts.processes + 1, sizeof(*keys));

	if (!keys)
		return DT_EMEMORY;
	for (uint32_t i = 1; i <= t->counts.processes; i++)
		keys[i - 1] = (struct key){(uint32_t)dt_profile_process_at(t->profile, i)->pid, i};
	qsort(keys, t->counts.processes, sizeof(*keys), compare_keys);
	for (uint32_t i = 0; i < t->counts.processes; i++) {
		bool usable = keys[i].value && keys[i].value < MADE_UP && (!i || keys[i].value != keys[i - 1].value);

		t->pids[keys[i].owner] = usable ? (uint32_t)keys[i].value : MADE_UP + keys[i].owner;
	}
	return 0;
}

static int give_tids(struct trace *t)
{
	dt_auto_free struct key *keys = calloc((size_t)t->counts.threads + 1, sizeof(*keys));

	if (!keys)
		return DT_EMEMORY;
	for (uint32_t i = 1; i <= t->counts.threads; i++) {
		const struct dt_profile_thread *thread = dt_profile_thread_at(t->profile, i);
		uint64_t tid = thread->tid < MADE_UP ? thread->tid : 0;

		t->tracks[i].pid = t->pids[thread->process];
		keys[i - 1] = (struct key){(uint64_t)t->tracks[i].pid << 32 | tid, i};
	}
	qsort(keys, t->counts.threads, sizeof(*keys), compare_keys);
	for (uint32_t i = 0; i < t->counts.threads; i++) {
		uint32_t tid = (uint32_t)keys[i].value;
		bool usable = tid && (!i || keys[i].value != keys[i - 1].value);

		t->tracks[keys[i].owner].tid = usable ? tid : MADE_UP + keys[i].owner;
	}
	return 0;
}

/* ---- events ---- */

static uint32_t function_of(const struct trace *t, uint32_t location)
{
	return dt_profile_location_at(t->profile, location)->function;
}

static void begin_event(struct trace *t, const char *kind, const struct track *track)
{
	putc('\n', t->json.out);
	dt_json_object(&t->json, NULL);
	dt_json_text(&t->json, "ph", kind);
	dt_json_number(&t->json, "pid", track->pid);
	dt_json_number(&t->json, "tid", track->tid);
}

static void put_name(struct trace *t, const struct track *track, const char *what, const char *name)
{
	begin_event(t, "M", track);
	dt_json_text(&t->json, "name", what);
	dt_json_object(&t->json, "args");
	dt_json_text(&t->json, "name", dt_shown(name, DT_NAME_SHOWN, &t->words));
	dt_json_object_end(&t->json);
	dt_json_object_end(&t->json);
}

/* Only what has slices is named: a viewer shows a row for each name. */
static void name_track(struct trace *t, uint32_t id, struct track *track)
{
	const struct dt_profile_thread *thread = dt_profile_thread_at(t->profile, id);
	const struct dt_profile_process *process = dt_profile_process_at(t->profile, thread->process);

	track->named = true;
	if (!t->process_named[thread->process]) {
		t->process_named[thread->process] = true;
		put_name(t, track, "process_name",
			 process->command ? dt_profile_text(t->profile, process->command) : "process");
	}
	put_name(t, track, "thread_name", thread->name ? dt_profile_text(t->profile, thread->name) : "thread");
}

static struct dt_frame_words slice_words(struct trace *t, const struct slice *slice)
{
	struct dt_frame_words words = {.name = slice->text, .file = ""};

	if (slice->left_out) {
		dt_buf_clear(&t->words);
		dt_left_out_words(slice->left_out, &t->words);
		words.name = t->words.data;
	} else if (!slice->text) {
		words = dt_frame_words(t->view, slice->location, &t->words);
	}
	words.name = dt_shown(words.name, DT_NAME_SHOWN, &t->words);
	return words;
}

static const char *category(const struct slice *slice, enum dt_function_kind kind)
{
	if (slice->text || slice->left_out || kind == DT_FUNCTION_MARK)
		return "state";
	return kind == DT_FUNCTION_NATIVE ? "native" : "python";
}

static void put_begin(struct trace *t, const struct track *track, const struct slice *slice, uint64_t at)
{
	struct dt_frame_words words = slice_words(t, slice);

	begin_event(t, "B", track);
	dt_json_micros(&t->json, "ts", at);
	dt_json_text(&t->json, "name", words.name);
	dt_json_text(&t->json, "cat", category(slice, words.kind));
	if (*words.file) {
		uint32_t line = dt_profile_function_at(t->profile, function_of(t, slice->location))->first_line;

		dt_json_object(&t->json, "args");
		dt_json_text(&t->json, "file", dt_shown(words.file, DT_PATH_SHOWN, &t->words));
		if (line)
			dt_json_number(&t->json, "line", line);
		dt_json_object_end(&t->json);
	}
	dt_json_object_end(&t->json);
}

/* Ends all slices but the outer `keep` ones. The format does without the names here, but not all programs do. */
static void close_to(struct trace *t, struct track *track, uint32_t keep)
{
	while (track->count > keep && !ferror(t->json.out)) {
		track->count--;
		begin_event(t, "E", track);
		dt_json_micros(&t->json, "ts", track->end);
		dt_json_text(&t->json, "name", slice_words(t, &track->open[track->count]).name);
		dt_json_object_end(&t->json);
	}
}

/* Room for so many slices; false, and t->code, without memory. */
static bool make_room(struct trace *t, struct slice **slices, uint32_t *room, uint32_t count)
{
	uint32_t enough = *room ? *room : 32;
	struct slice *grown;

	if (*room >= count && *slices)
		return true;
	while (enough < count)
		enough *= 2;
	grown = realloc(*slices, enough * sizeof(*grown));
	if (!grown) {
		t->code = DT_EMEMORY;
		return false;
	}
	*slices = grown;
	*room = enough;
	return true;
}

/* ---- runs ---- */

/* What a thread does that does not run its innermost frame; NULL if it does, or if that is not known. */
static const char *state_text(const struct trace *t, const struct dt_profile_run *run)
{
	switch (run->state) {
	case DT_STATE_GIL_WAIT:
		return "[waiting for the GIL]";
	case DT_STATE_SYSCALL:
	case DT_STATE_SLEEPING:
		if (run->call)
			return dt_profile_text(t->profile, run->call);
		return run->state == DT_STATE_SLEEPING ? "[sleeping]" : "[system call]";
	case DT_STATE_STOPPED:
		return "[stopped]";
	default:
		return run->flags & DT_RUN_GC ? "[garbage collection]" : NULL;
	}
}

/* The slices that a run wants to be open, outermost first, in t->wanted; returns how many. */
static uint32_t want(struct trace *t, const struct dt_profile_run *run)
{
	size_t count;
	const uint32_t *frames = dt_view_frames(t->view, run->stack, &count);
	const char *texts[] = {dt_run_mark(run, count), state_text(t, run)};
	const struct dt_depth shown = dt_depth_shown(count);
	uint32_t wanted = 0;

	if (!make_room(t, &t->wanted, &t->room, (uint32_t)(shown.outer + 1 + shown.inner + DT_COUNT(texts))))
		return 0;
	for (size_t i = 0; i < shown.outer; i++)
		t->wanted[wanted++] = (struct slice){.location = frames[i]};
	if (shown.left_out)
		t->wanted[wanted++] = (struct slice){.left_out = (uint32_t)shown.left_out};
	for (size_t i = count - shown.inner; i < count; i++)
		t->wanted[wanted++] = (struct slice){.location = frames[i]};
	for (size_t i = 0; i < DT_COUNT(texts); i++)
		if (texts[i])
			t->wanted[wanted++] = (struct slice){.text = texts[i]};
	return wanted;
}

static bool same_slice(const struct trace *t, const struct slice *was, const struct slice *is)
{
	if (was->left_out || is->left_out)
		return was->left_out == is->left_out;
	if (was->text && is->text)
		return was->text == is->text || strncmp(was->text, is->text, DT_NAME_SHOWN) == 0;
	return !was->text && !is->text && function_of(t, was->location) == function_of(t, is->location);
}

/* How many open slices go on: see above. Their lines become those of the new frames. */
static uint32_t goes_on(const struct trace *t, struct track *track, uint32_t wanted)
{
	uint32_t same = 0;
	bool moved = false;

	while (!moved && same < track->count && same < wanted) {
		struct slice *was = &track->open[same];
		const struct slice *is = &t->wanted[same];

		if (!same_slice(t, was, is))
			break;
		moved = was->location != is->location;
		was->location = is->location;
		same++;
	}
	return same;
}

static void put_run(struct trace *t, const struct dt_profile_run *run)
{
	struct track *track = &t->tracks[run->thread];
	uint32_t wanted, same;

	if (!dt_view_weight(t->view, run))
		return;
	if (!track->named)
		name_track(t, run->thread, track);
	if (run->start_ns != track->end)
		close_to(t, track, 0);
	wanted = want(t, run);
	same = goes_on(t, track, wanted);
	close_to(t, track, same);
	if (!make_room(t, &track->open, &track->room, wanted))
		return;
	while (track->count < wanted) {
		track->open[track->count] = t->wanted[track->count];
		put_begin(t, track, &track->open[track->count++], run->start_ns);
	}
	track->end = run->start_ns + run->wall_ns;
}

static void put_about(struct trace *t, const struct dt_profile_render *render)
{
	dt_json_text(&t->json, "displayTimeUnit", "ms");
	dt_json_object(&t->json, "otherData");
	dt_buf_clear(&t->words);
	dt_title_words(t->view, render, &t->words);
	dt_json_text(&t->json, "title", t->words.data);
	dt_buf_clear(&t->words);
	t->code = dt_about_words(t->view, &t->words);
	dt_json_text(&t->json, "about", t->words.data);
	dt_json_text(&t->json, "exporter", "darter " DT_VERSION);
	dt_json_object_end(&t->json);
}

static void put_document(struct trace *t, const struct dt_profile_render *render)
{
	const struct dt_profile_run *runs = dt_profile_runs(t->profile);

	dt_json_object(&t->json, NULL);
	put_about(t, render);
	dt_json_array(&t->json, "traceEvents");
	for (size_t i = 0; i < t->counts.runs && !t->code && !ferror(t->json.out); i++)
		put_run(t, &runs[i]);
	for (uint32_t i = 1; i <= t->counts.threads; i++)
		close_to(t, &t->tracks[i], 0);
	dt_json_array_end(&t->json);
	dt_json_object_end(&t->json);
	putc('\n', t->json.out);
}

static int chrome_render(struct dt_view *view, const struct dt_profile_render *render, FILE *out)
{
	const struct dt_profile *profile = dt_view_profile(view);
	struct trace t = {.view = view,
			  .profile = profile,
			  .counts = dt_profile_counts(profile),
			  .json = {.out = out},
			  .words = DT_BUF_INIT};

	t.tracks = calloc((size_t)t.counts.threads + 1, sizeof(*t.tracks));
	t.pids = calloc((size_t)t.counts.processes + 1, sizeof(*t.pids));
	t.process_named = calloc((size_t)t.counts.processes + 1, sizeof(*t.process_named));
	t.code = t.tracks && t.pids && t.process_named ? give_pids(&t) : DT_EMEMORY;
	if (!t.code)
		t.code = give_tids(&t);
	if (!t.code)
		put_document(&t, render);
	if (!t.code)
		t.code = ferror(out) ? DT_ERUNTIME : t.words.failed ? DT_EMEMORY : 0;
	for (uint32_t i = 0; t.tracks && i <= t.counts.threads; i++)
		free(t.tracks[i].open);
	free(t.tracks);
	free(t.pids);
	free(t.process_named);
	free(t.wanted);
	dt_buf_release(&t.words);
	return t.code;
}

const struct dt_profile_format dt_profile_chrome = {
    .name = "chrome",
    .alias = "chrometrace",
    .extensions = (const char *const[]){".trace.json", NULL},
    .description = "time line of all threads, for Perfetto or chrome://tracing",
    .render = chrome_render,
};
