/* Words about a recording: see profile_words.h. */
#include "format/profile_words.h"

#include <string.h>

#include "base/numbers.h"
#include "base/short_command.h"
#include "base/utf8.h"
#include "base/util.h"
#include "format/summary.h"
#include "format/text.h"
#include "format/units.h"

struct dt_frame_words dt_frame_words(const struct dt_view *view, uint32_t location, struct dt_buf *scratch)
{
	const struct dt_profile *profile = dt_view_profile(view);
	const struct dt_profile_location *at = dt_profile_location_at(profile, location);
	const struct dt_profile_function *function = dt_profile_function_at(profile, at->function);

	const char *name = dt_profile_text(profile, function->name);

	if (function->kind == DT_FUNCTION_MARK) {
		dt_buf_clear(scratch);
		dt_buf_putc(scratch, '[');
		dt_cut(scratch, name, DT_NAME_SHOWN - 2);
		dt_buf_putc(scratch, ']');
		name = scratch->data;
	}
	return (struct dt_frame_words){
	    .name = name,
	    .file = dt_profile_text(profile, function->file),
	    .short_file = dt_view_file(view, location),
	    .line = dt_view_line(view, location),
	    .kind = function->kind,
	};
}

const char *dt_shown(const char *text, size_t most, struct dt_buf *room)
{
	struct dt_buf cut = DT_BUF_INIT;

	if (strnlen(text, most + 1) <= most)
		return text;
	dt_cut(&cut, text, most);
	dt_buf_clear(room);
	dt_buf_append(room, cut.data, cut.length);
	room->failed |= cut.failed;
	dt_buf_release(&cut);
	return room->data;
}

struct dt_depth dt_depth_shown(size_t frames)
{
	const size_t outer = DT_DEPTH_SHOWN - DT_DEPTH_SHOWN / 10, inner = DT_DEPTH_SHOWN - 1 - outer;

	if (frames <= DT_DEPTH_SHOWN)
		return (struct dt_depth){.outer = frames};
	return (struct dt_depth){.outer = outer, .left_out = frames - outer - inner, .inner = inner};
}

void dt_left_out_words(size_t frames, struct dt_buf *out)
{
	dt_buf_puts(out, "[… ");
	dt_thousands(out, frames);
	dt_buf_puts(out, " frames]");
}

const char *dt_run_mark(const struct dt_profile_run *run, size_t frames)
{
	const char *mark = dt_view_mark(run);

	return mark || frames ? mark : DT_MARK_HIDDEN;
}

void dt_thread_words(const struct dt_view *view, uint32_t thread, struct dt_buf *out)
{
	const struct dt_profile *profile = dt_view_profile(view);
	struct dt_node node = {.kind = DT_NODE_PROCESS, .id = dt_profile_thread_at(profile, thread)->process};

	if (dt_profile_counts(profile).processes > 1) {
		dt_node_label(view, &node, out);
		dt_buf_puts(out, ", ");
	}
	node = (struct dt_node){.kind = DT_NODE_THREAD, .id = thread};
	dt_node_label(view, &node, out);
}

void dt_title_words(const struct dt_view *view, const struct dt_profile_render *render, struct dt_buf *out)
{
	const struct dt_profile *profile = dt_view_profile(view);
	uint32_t count = dt_profile_counts(profile).processes;
	const struct dt_profile_process *first;

	if (render && render->title) {
		dt_buf_puts(out, render->title);
		return;
	}
	if (!count) {
		dt_buf_puts(out, "no process");
		return;
	}
	first = dt_profile_process_at(profile, 1);
	if (first->command)
		dt_cut(out, dt_command_program(dt_profile_text(profile, first->command)), DT_NAME_SHOWN);
	else
		dt_buf_printf(out, "process %d", first->pid);
	if (count > 1)
		dt_buf_printf(out, " and %u other process%s", count - 1, count > 2 ? "es" : "");
}

double dt_share(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

void dt_share_words(uint64_t part, uint64_t whole, struct dt_buf *out)
{
	double share = dt_share(part, whole);

	if (share > 0 && share < 0.001)
		dt_buf_puts(out, "under 0.001%");
	else if (share < 1)
		dt_buf_printf(out, "%.2g%%", share);
	else
		dt_buf_printf(out, "%.*f%%", share < 10, share);
}

const char *dt_weight_words(enum dt_weight weight)
{
	return weight == DT_WEIGHT_CPU   ? "CPU time"
	       : weight == DT_WEIGHT_GIL ? "time with the GIL in hand"
					 : "wall time";
}

void dt_filter_words(const struct dt_view_options *options, struct dt_buf *out)
{
	if (options->main_thread)
		dt_buf_puts(out, " of main threads");
	if (options->thread_name) {
		dt_buf_puts(out, " of threads whose name matches '");
		dt_escape(out, options->thread_name);
		dt_buf_putc(out, '\'');
	}
	if (options->gc)
		dt_buf_puts(out, " during garbage collections");
}

void dt_nothing_words(const struct dt_view *view, struct dt_buf *out)
{
	const struct dt_view_options *options = dt_view_options(view);
	const char *weight = dt_weight_words(options->weight);
	uint64_t idle = dt_view_hidden(view);

	if (!dt_profile_counts(dt_view_profile(view)).runs) {
		dt_buf_puts(out, "There is nothing to show: no thread was seen.");
	} else if (idle && options->weight != DT_WEIGHT_CPU) {
		dt_buf_puts(out, "Nothing was busy: all ");
		dt_put_time(out, idle);
		dt_buf_printf(out, " of %s", weight);
		dt_filter_words(options, out);
		dt_buf_puts(out, " went into waiting. '--idle' shows where.");
	} else {
		dt_buf_printf(out, "There is nothing to show: no %s", weight);
		dt_filter_words(options, out);
		dt_buf_puts(out, idle ? " was recorded but that of waiting." : " was recorded.");
	}
}

int dt_about_words(const struct dt_view *view, struct dt_buf *out)
{
	const struct dt_profile *profile = dt_view_profile(view);
	const struct dt_profile_meta *meta = dt_profile_meta(profile);
	const struct dt_profile_quality *quality = &meta->quality;
	const struct dt_view_options *options = dt_view_options(view);
	struct dt_summary_missing missing;
	int code = dt_summary_weigh(view, &missing);
	uint64_t hidden;

	if (code)
		return code;
	dt_buf_puts(out, "quality: ");
	dt_summary_verdict(out, profile, &missing);
	dt_buf_printf(out, "; %s%s", dt_weight_words(options->weight), options->idle ? " with idle threads" : "");
	/* The CPU time of a thread that waits is what it took to begin and end that: no waiting. */
	hidden = options->weight == DT_WEIGHT_CPU ? 0 : dt_view_hidden(view);
	if (hidden) {
		dt_buf_puts(out, ", ");
		dt_put_time(out, hidden);
		dt_buf_puts(out, " of waiting hidden (--idle shows it)");
	}
	dt_buf_puts(out, "; ");
	dt_thousands(out, quality->samples);
	dt_buf_puts(out, quality->samples == 1 ? " sample in " : " samples in ");
	dt_put_time(out, meta->duration_ns);
	if (quality->rounds && meta->duration_ns)
		dt_buf_printf(out, " at %.4g Hz", (double)quality->rounds * 1e9 / (double)dt_profile_looked(meta));
	if (meta->rung)
		dt_buf_printf(out, ", %s", dt_profile_text(profile, meta->rung));
	return 0;
}
