/*
 * What is shown of a profile: see view.h. Everything that depends on texts (which threads, which functions, which file
 * names) is decided once when the view is made, so that looking at a run or at a frame is an array lookup.
 */
#include <stdlib.h>

#include "base/regex.h"
#include "base/util.h"
#include "profile/view_inside.h"

static int no_memory(struct dt_error *err)
{
	dt_fail(err, DT_EMEMORY, "there is not enough memory to look at this recording");
	return DT_EMEMORY;
}

static int choose_threads(struct dt_view *view, struct dt_error *err)
{
	const struct dt_view_options *options = &view->options;
	uint32_t count = dt_profile_counts(view->profile).threads;
	regex_t regex = {0};
	int code;

	if (options->thread_name) {
		code = dt_regex_compile(options->thread_name, &regex, err);
		if (code)
			return code;
	}
	for (uint32_t id = 1; id <= count; id++) {
		const struct dt_profile_thread *thread = dt_profile_thread_at(view->profile, id);
		const char *name = dt_profile_text(view->profile, thread->name);

		view->thread_out[id] = (options->main_thread && !thread->main) ||
				       (options->thread_name && regexec(&regex, name, 0, NULL, 0) != 0);
	}
	if (options->thread_name)
		regfree(&regex);
	return 0;
}

/* Is "name" or "file:name" what is to be hidden? The file is its path, what is shown of that, or its last part. */
static bool matches(const regex_t *regex, const struct dt_view *view, uint32_t id, struct dt_buf *text)
{
	const struct dt_profile_function *function = dt_profile_function_at(view->profile, id);
	const char *name = dt_profile_text(view->profile, function->name);
	const char *path = dt_profile_text(view->profile, function->file), *slash = strrchr(path, '/');
	const char *const files[] = {path, dt_short_name(&view->names, path), slash ? slash + 1 : path};

	if (!regexec(regex, name, 0, NULL, 0))
		return true;
	for (size_t i = 0; i < DT_COUNT(files); i++) {
		if (i && files[i] == files[i - 1])
			continue;
		dt_buf_clear(text);
		dt_buf_printf(text, "%s:%s", files[i], name);
		if (text->failed || !regexec(regex, text->data, 0, NULL, 0))
			return true;
	}
	return false;
}

static int hide_functions(struct dt_view *view, bool *hidden, struct dt_error *err)
{
	uint32_t count = dt_profile_counts(view->profile).functions;
	struct dt_buf text = DT_BUF_INIT;
	int code = 0;

	for (size_t i = 0; i < view->options.hide_count && !code; i++) {
		regex_t regex;

		code = dt_regex_compile(view->options.hide[i], &regex, err);
		if (code)
			break;
		for (uint32_t id = 1; id <= count; id++)
			if (!hidden[id])
				hidden[id] = matches(&regex, view, id, &text);
		regfree(&regex);
		if (text.failed)
			code = no_memory(err);
	}
	dt_buf_release(&text);
	return code;
}

/* With `functions`, the first location of a function stands for all of them. */
static int choose_locations(struct dt_view *view, struct dt_error *err)
{
	struct dt_profile_counts counts = dt_profile_counts(view->profile);
	dt_auto_free bool *hidden = calloc((size_t)counts.functions + 1, sizeof(bool));
	dt_auto_free uint32_t *first = calloc((size_t)counts.functions + 1, sizeof(uint32_t));
	bool functions = view->options.functions || view->options.no_lines;
	int code;

	if (!hidden || !first)
		return no_memory(err);
	code = hide_functions(view, hidden, err);
	for (uint32_t id = 1; id <= counts.locations && !code; id++) {
		uint32_t function = dt_profile_location_at(view->profile, id)->function;

		if (!first[function])
			first[function] = id;
		view->shown[id] = hidden[function] ? 0 : functions ? first[function] : id;
	}
	return code;
}

static int shorten_names(struct dt_view *view, struct dt_error *err)
{
	struct dt_profile_counts counts = dt_profile_counts(view->profile);
	dt_auto_free bool *seen = calloc((size_t)counts.strings + 1, sizeof(bool));
	int code = 0;

	if (!seen)
		return no_memory(err);
	for (uint32_t id = 1; id <= counts.functions && !code; id++) {
		uint32_t file = dt_profile_function_at(view->profile, id)->file;

		if (file && !seen[file])
			code = dt_short_names_add(&view->names, dt_profile_text(view->profile, file));
		seen[file] = true;
	}
	if (!code)
		code = dt_short_names_finish(&view->names);
	return code ? no_memory(err) : 0;
}

int dt_view_new(const struct dt_profile *profile, const struct dt_view_options *options, struct dt_view **view,
		struct dt_error *err)
{
	struct dt_profile_counts counts = dt_profile_counts(profile);
	struct dt_view *made = calloc(1, sizeof(*made));
	int code;

	if (!made)
		return no_memory(err);
	made->profile = profile;
	if (options)
		made->options = *options;
	made->thread_out = calloc((size_t)counts.threads + 1, sizeof(bool));
	made->shown = calloc((size_t)counts.locations + 1, sizeof(uint32_t));
	made->frames = malloc(DT_PROFILE_DEPTH * sizeof(uint32_t));
	made->path = malloc((DT_PROFILE_DEPTH + 1) * sizeof(uint32_t));
	made->counts = calloc(DT_PROFILE_DEPTH + 1, sizeof(uint32_t));
	if (!made->thread_out || !made->shown || !made->frames || !made->path || !made->counts)
		code = no_memory(err);
	else
		code = choose_threads(made, err);
	if (!code && !made->options.full_names)
		code = shorten_names(made, err);
	if (!code)
		code = choose_locations(made, err);
	if (code)
		dt_view_free(made);
	else
		*view = made;
	return code;
}

void dt_view_free(struct dt_view *view)
{
	if (!view)
		return;
	dt_short_names_release(&view->names);
	free(view->thread_out);
	free(view->shown);
	free(view->frames);
	free(view->path);
	free(view->counts);
	free(view);
}

const struct dt_profile *dt_view_profile(const struct dt_view *view)
{
	return view->profile;
}

const struct dt_view_options *dt_view_options(const struct dt_view *view)
{
	return &view->options;
}

uint64_t dt_view_weight_idle(const struct dt_view *view, const struct dt_profile_run *run)
{
	if (view->thread_out[run->thread] || (view->only && view->only != run->thread) ||
	    (view->options.gc && !(run->flags & DT_RUN_GC)))
		return 0;
	switch (view->options.weight) {
	case DT_WEIGHT_CPU:
		return run->cpu_ns;
	case DT_WEIGHT_GIL:
		return run->flags & DT_RUN_GIL ? run->wall_ns : 0;
	case DT_WEIGHT_WALL:
		break;
	}
	return run->wall_ns;
}

uint64_t dt_view_weight(const struct dt_view *view, const struct dt_profile_run *run)
{
	if (!view->options.idle && dt_profile_run_idle(run))
		return 0;
	return dt_view_weight_idle(view, run);
}

bool dt_view_is_empty(const struct dt_view *view)
{
	const struct dt_profile_run *runs = dt_profile_runs(view->profile);
	size_t count = dt_profile_counts(view->profile).runs;

	for (size_t i = 0; i < count; i++)
		if (dt_view_weight(view, &runs[i]))
			return false;
	return true;
}

void dt_view_narrow(struct dt_view *view, uint32_t thread)
{
	view->only = thread;
}

uint64_t dt_view_hidden(const struct dt_view *view)
{
	const struct dt_profile_run *runs = dt_profile_runs(view->profile);
	size_t count = dt_profile_counts(view->profile).runs;
	uint64_t hidden = 0;

	for (size_t i = 0; i < count && !view->options.idle; i++)
		if (dt_profile_run_idle(&runs[i]))
			hidden = dt_view_sum(hidden, dt_view_weight_idle(view, &runs[i]));
	return hidden;
}

const uint32_t *dt_view_frames(struct dt_view *view, uint32_t stack, size_t *count)
{
	uint32_t depth = stack ? dt_profile_stack_at(view->profile, stack)->depth : 0, same = depth;

	/* A stack has its outer frames in common with the one before, mostly: what is already there stays. */
	while (same && (same > view->depth || view->path[same] != stack)) {
		view->path[same--] = stack;
		stack = dt_profile_stack_at(view->profile, stack)->parent;
	}
	while (same < depth) {
		uint32_t shown = view->shown[dt_profile_stack_at(view->profile, view->path[same + 1])->location];

		view->counts[same + 1] = view->counts[same] + (shown != 0);
		if (shown)
			view->frames[view->counts[same]] = shown;
		same++;
	}
	view->depth = depth;
	*count = view->counts[depth];
	return view->frames;
}

uint32_t dt_view_line(const struct dt_view *view, uint32_t location)
{
	const struct dt_profile_location *at = dt_profile_location_at(view->profile, location);

	if (view->options.no_lines)
		return 0;
	return view->options.functions ? dt_profile_function_at(view->profile, at->function)->first_line : at->line;
}

const char *dt_view_function_file(const struct dt_view *view, uint32_t function)
{
	return dt_short_name(&view->names,
			     dt_profile_text(view->profile, dt_profile_function_at(view->profile, function)->file));
}

const char *dt_view_file(const struct dt_view *view, uint32_t location)
{
	return dt_view_function_file(view, dt_profile_location_at(view->profile, location)->function);
}

const char *dt_view_mark(const struct dt_profile_run *run)
{
	static const char unseen[] = "[running, stack not seen]", asleep[] = "[waiting, stack not seen]";
	static const char torn[] = "[torn]", none[] = "[no Python frames]";

	if (run->flags & DT_RUN_UNSEEN)
		return run->state == DT_STATE_RUNNING ? unseen : asleep;
	if (run->flags & DT_RUN_TORN)
		return torn;
	return run->stack ? NULL : none;
}
