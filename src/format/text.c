/*
 * A snapshot for people: the process, then one block per thread, innermost frame first. Long runs of one recursive
 * frame are folded; nothing else is left out.
 */
#include "format/text.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/numbers.h"
#include "base/short_names.h"
#include "base/utf8.h"
#include "format/formats.h"

/* Runs of an equal frame longer than this are folded. */
#define FOLD_ABOVE 8

static const struct dt_render plain;

struct writer {
	const struct dt_render *render;
	struct dt_short_names names;
	const struct dt_core_death *core; /* NULL: a live process */
	struct dt_buf buf;
	FILE *out;
};

static void put_note(struct writer *w, const char *text)
{
	const char *on = dt_style_on(w->render, DT_STYLE_NOTE), *off = dt_style_off(w->render, DT_STYLE_NOTE);

	dt_buf_printf(&w->buf, "%snote:%s ", on, off);
	dt_escape(&w->buf, text);
	dt_buf_putc(&w->buf, '\n');
}

static void put_measure(struct writer *w, const struct dt_snapshot *snapshot)
{
	time_t seconds = (time_t)(snapshot->taken_ns / 1000000000u);
	char when[32];
	struct tm utc;

	if (!gmtime_r(&seconds, &utc) || !strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &utc))
		return;
	dt_buf_printf(&w->buf, "Taken %s.%06uZ within %.1f us; looks: %u, interpreters: %u, threads: %zu, torn: %u\n",
		      when, (unsigned)(snapshot->taken_ns % 1000000000u / 1000), (double)snapshot->window_ns / 1e3,
		      snapshot->looks, snapshot->interpreters, snapshot->thread_count, snapshot->torn);
}

/* "Core file core.12: killed by SIGSEGV in _speedups.so+0x1a2: there is no memory at address 0x0" */
static void put_death(struct writer *w, const struct dt_core_death *core)
{
	const char *on = dt_style_on(w->render, DT_STYLE_BLOCKED), *off = dt_style_off(w->render, DT_STYLE_BLOCKED);

	dt_buf_puts(&w->buf, "Core file ");
	dt_escape(&w->buf, core->file);
	if (!core->signal) {
		dt_buf_puts(&w->buf, " of a process that was alive\n");
		return;
	}
	dt_buf_printf(&w->buf, ": %skilled by %s%s", on, core->signal_name, off);
	if (core->module) {
		const char *slash = strrchr(core->module, '/');

		dt_buf_puts(&w->buf, " in ");
		dt_escape(&w->buf, slash && !w->render->full_names ? slash + 1 : core->module);
		dt_buf_printf(&w->buf, "+0x%" PRIx64, core->module_offset);
	}
	if (core->cause) {
		dt_buf_puts(&w->buf, ": ");
		dt_escape(&w->buf, core->cause);
	}
	dt_buf_putc(&w->buf, '\n');
}

static void put_process(struct writer *w, const struct dt_snapshot *snapshot)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", snapshot->pid);
	dt_buf_puts(&w->buf, "Process ");
	dt_paint(&w->buf, w->render, DT_STYLE_ID, pid);
	dt_buf_puts(&w->buf, ": ");
	dt_escape(&w->buf, snapshot->command);
	dt_buf_putc(&w->buf, '\n');
	if (snapshot->core)
		put_death(w, snapshot->core);
	dt_buf_puts(&w->buf, "Python ");
	dt_paint(&w->buf, w->render, DT_STYLE_BOLD, snapshot->version_text);
	if (snapshot->executable) {
		dt_buf_printf(&w->buf, " %s(%s", dt_style_on(w->render, DT_STYLE_DIM),
			      snapshot->version.free_threaded ? "free-threaded, " : "");
		dt_escape(&w->buf, snapshot->executable);
		if (snapshot->library && strcmp(snapshot->library, snapshot->executable) != 0) {
			dt_buf_puts(&w->buf, ", ");
			dt_escape(&w->buf, snapshot->library);
		}
		dt_buf_printf(&w->buf, ")%s", dt_style_off(w->render, DT_STYLE_DIM));
	}
	dt_buf_putc(&w->buf, '\n');
	if (snapshot->container) {
		dt_buf_puts(&w->buf, "Container ");
		dt_escape(&w->buf, snapshot->container);
		dt_buf_putc(&w->buf, '\n');
	}
	if (w->render->verbose)
		put_measure(w, snapshot);
	for (size_t i = 0; i < snapshot->warning_count; i++)
		put_note(w, snapshot->warnings[i]);
	dt_buf_putc(&w->buf, '\n');
}

static void put_thread_line(struct writer *w, const struct dt_thread *thread)
{
	enum dt_style style = dt_state_style(thread->state);
	char id[32];

	if (thread->tid)
		snprintf(id, sizeof(id), "%" PRIu64, thread->tid);
	else
		snprintf(id, sizeof(id), "0x%" PRIx64, thread->ident);
	dt_buf_puts(&w->buf, "Thread ");
	dt_paint(&w->buf, w->render, DT_STYLE_ID, id);
	if (thread->name) {
		dt_buf_puts(&w->buf, " \"");
		dt_paint(&w->buf, w->render, DT_STYLE_BOLD, thread->name);
		dt_buf_putc(&w->buf, '"');
	}
	if (thread->interpreter)
		dt_buf_printf(&w->buf, " of interpreter %" PRId64, thread->interpreter);
	dt_buf_printf(&w->buf, " %s(", dt_style_on(w->render, style));
	if (thread->faulting && w->core && w->core->signal_name)
		dt_buf_printf(&w->buf, "killed by %s; ", w->core->signal_name);
	dt_describe_state(&w->buf, thread);
	dt_buf_printf(&w->buf, ")%s", dt_style_off(w->render, style));
	if (w->render->verbose) {
		dt_buf_printf(&w->buf, " [proof: %s, ident 0x%" PRIx64, dt_proof_name(thread->proof), thread->ident);
		if (thread->ns_tid && thread->ns_tid != thread->tid)
			dt_buf_printf(&w->buf, ", %" PRIu64 " in its namespace", thread->ns_tid);
		dt_buf_puts(&w->buf, thread->main ? ", main]" : "]");
	}
	dt_buf_putc(&w->buf, '\n');
}

/* "    sha256_update (libcrypto.so.3)"; without a name where it is in the file: "0x12f4 (libcrypto.so.3)". */
static void put_native(struct writer *w, const struct dt_frame *frame)
{
	const char *slash = strrchr(frame->file, '/');
	const char *file = slash && !w->render->full_names ? slash + 1 : frame->file;
	char address[32];

	snprintf(address, sizeof(address), "0x%" PRIx64, frame->address);
	dt_buf_puts(&w->buf, "    ");
	dt_paint(&w->buf, w->render, DT_STYLE_NATIVE, frame->name ? frame->name : address);
	dt_buf_puts(&w->buf, " (");
	dt_paint(&w->buf, w->render, DT_STYLE_FILE, *file ? file : "made at run time");
	dt_buf_puts(&w->buf, ")\n");
}

static void put_frame(struct writer *w, const struct dt_frame *frame)
{
	const char *file = frame->file ? frame->file : "?";

	dt_buf_puts(&w->buf, "    ");
	dt_paint(&w->buf, w->render, DT_STYLE_NAME, frame->name ? frame->name : "?");
	dt_buf_puts(&w->buf, " (");
	dt_paint(&w->buf, w->render, DT_STYLE_FILE, w->render->full_names ? file : dt_short_name(&w->names, file));
	if (frame->line)
		dt_buf_printf(&w->buf, ":%" PRIu32, frame->line);
	dt_buf_puts(&w->buf, ")\n");
	if (frame->source && frame->source[0]) {
		dt_buf_puts(&w->buf, "        ");
		dt_paint(&w->buf, w->render, DT_STYLE_DIM, frame->source);
		dt_buf_putc(&w->buf, '\n');
	}
}

/* "    [... 99,990 ...]", with one number inside. */
static void put_remark(struct writer *w, const char *before, uint64_t number, const char *after)
{
	dt_buf_printf(&w->buf, "    %s[%s", dt_style_on(w->render, DT_STYLE_DIM), before);
	if (number)
		dt_thousands(&w->buf, number);
	dt_buf_printf(&w->buf, "%s]%s\n", after, dt_style_off(w->render, DT_STYLE_DIM));
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool same_frame(const struct dt_frame *a, const struct dt_frame *b)
{
	return a->line == b->line && a->address == b->address && same_text(a->name, b->name) &&
	       same_text(a->file, b->file);
}

/* Of a stack that kept changing the outer frames are there. None at all of a thread that does not run: its chain of
 * frames is broken. */
static const char *why_torn(const struct writer *w, const struct dt_thread *thread)
{
	bool runs = thread->state == DT_STATE_RUNNING || thread->state == DT_STATE_UNKNOWN;

	if (w->core)
		return thread->frame_count ? "its other frames are missing or damaged in the core"
					   : "its frames are missing or damaged in the core";
	return runs || thread->frame_count ? "it ran on while it was read: what could not be proven is left out"
					   : "its frames lead nowhere, or are too many: they are left out";
}

static int put_thread(struct writer *w, const struct dt_thread *thread)
{
	size_t limit = thread->frame_count, max = w->render->max_frames;
	int code;

	if (max && max < limit)
		limit = max;
	put_thread_line(w, thread);
	for (size_t i = 0, end; i < limit; i = end) {
		for (end = i + 1; end < limit && same_frame(&thread->frames[end], &thread->frames[i]); end++)
			;
		if (end - i <= FOLD_ABOVE)
			end = i + 1;
		if (thread->frames[i].native)
			put_native(w, &thread->frames[i]);
		else
			put_frame(w, &thread->frames[i]);
		if (end - i > 1)
			put_remark(w, "the same frame ", end - i - 1, " times more");
		code = dt_flush(&w->buf, w->out);
		if (code)
			return code;
	}
	if (limit < thread->frame_count)
		put_remark(w, "", thread->frame_count - limit,
			   limit + 1 < thread->frame_count ? " frames more" : " frame more");
	if (thread->torn)
		put_remark(w, why_torn(w, thread), 0, "");
	else if (thread->native_missing && (w->render->verbose || thread->foreign))
		put_remark(w, thread->native_missing, 0, "");
	else if (!thread->frame_count)
		put_remark(w, "no Python code", 0, "");
	return dt_flush(&w->buf, w->out);
}

static int shorten_names(struct dt_short_names *names, const struct dt_snapshot *snapshot)
{
	const char *last = NULL;
	int code = 0;

	for (size_t t = 0; t < snapshot->thread_count; t++) {
		const struct dt_thread *thread = &snapshot->threads[t];

		for (size_t f = 0; f < thread->frame_count && !code; f++) {
			const char *path = thread->frames[f].native ? NULL : thread->frames[f].file;

			if (path && path != last)
				code = dt_short_names_add(names, path);
			last = path;
		}
	}
	return code ? code : dt_short_names_finish(names);
}

static int render_with(const struct dt_snapshot *snapshot, const struct dt_render *render, bool process, FILE *out)
{
	struct writer w = {.render = render ? render : &plain, .core = snapshot->core, .buf = DT_BUF_INIT, .out = out};
	int code = 0;

	if (!w.render->full_names)
		code = shorten_names(&w.names, snapshot);
	if (!code && process)
		put_process(&w, snapshot);
	for (size_t i = 0; !code && i < snapshot->thread_count; i++) {
		if (i)
			dt_buf_putc(&w.buf, '\n');
		code = put_thread(&w, &snapshot->threads[i]);
	}
	if (!code)
		code = dt_flush(&w.buf, out);
	dt_short_names_release(&w.names);
	dt_buf_release(&w.buf);
	return code;
}

int dt_render_text(const struct dt_snapshot *snapshot, const struct dt_render *render, FILE *out)
{
	return render_with(snapshot, render, true, out);
}

int dt_render_threads_text(const struct dt_snapshot *snapshot, const struct dt_render *render, FILE *out)
{
	return render_with(snapshot, render, false, out);
}

static int text_snapshot(const struct dt_snapshot *snapshot, const struct dt_render *render, bool first, FILE *out)
{
	if (!first && putc('\n', out) == EOF)
		return DT_ERUNTIME;
	return dt_render_text(snapshot, render, out);
}

const struct dt_format dt_format_text = {
    .name = "text",
    .extension = ".txt",
    .description = "stacks for people, innermost frame first",
    .snapshot = text_snapshot,
};
