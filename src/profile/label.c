/* The words of a node: see dt_node_label() in view.h. */
#include <inttypes.h>

#include "base/short_command.h"
#include "base/utf8.h"
#include "profile/view_inside.h"

static void put_thread(const struct dt_profile *profile, uint32_t id, struct dt_buf *out)
{
	const struct dt_profile_thread *thread = dt_profile_thread_at(profile, id);

	if (dt_profile_other(thread)) {
		dt_cut(out, dt_profile_text(profile, thread->name), DT_NAME_SHOWN);
		dt_buf_printf(out, ", %" PRIu64, thread->ident);
		return;
	}
	if (thread->tid)
		dt_buf_printf(out, "thread %" PRIu64, thread->tid);
	else
		dt_buf_printf(out, "thread 0x%" PRIx64, thread->ident);
	if (!thread->name)
		return;
	dt_buf_puts(out, " \"");
	dt_cut(out, dt_profile_text(profile, thread->name), DT_NAME_SHOWN);
	dt_buf_putc(out, '"');
}

static void put_process(const struct dt_profile *profile, uint32_t id, struct dt_buf *out)
{
	const struct dt_profile_process *process = dt_profile_process_at(profile, id);

	dt_buf_printf(out, "process %" PRId32, process->pid);
	if (!process->command)
		return;
	dt_buf_putc(out, ' ');
	dt_cut(out, dt_command_program(dt_profile_text(profile, process->command)), DT_NAME_SHOWN);
}

static void put_frame(const struct dt_view *view, uint32_t location, struct dt_buf *out)
{
	const struct dt_profile *profile = view->profile;
	uint32_t id = dt_profile_location_at(profile, location)->function, line = dt_view_line(view, location);
	const struct dt_profile_function *function = dt_profile_function_at(profile, id);
	const char *name = dt_profile_text(profile, function->name);

	if (function->kind == DT_FUNCTION_MARK) {
		dt_buf_putc(out, '[');
		dt_cut(out, name, DT_NAME_SHOWN);
		dt_buf_putc(out, ']');
		return;
	}
	dt_cut(out, name[0] ? name : "?", DT_NAME_SHOWN);
	if (!function->file)
		return;
	dt_buf_puts(out, " (");
	dt_cut(out, dt_view_file(view, location), DT_NAME_SHOWN);
	if (line)
		dt_buf_printf(out, ":%" PRIu32, line);
	dt_buf_putc(out, ')');
}

void dt_node_label(const struct dt_view *view, const struct dt_node *node, struct dt_buf *out)
{
	switch (node->kind) {
	case DT_NODE_ALL:
		dt_buf_puts(out, "all");
		break;
	case DT_NODE_PROCESS:
		put_process(view->profile, node->id, out);
		break;
	case DT_NODE_THREAD:
		put_thread(view->profile, node->id, out);
		break;
	case DT_NODE_FRAME:
		put_frame(view, node->id, out);
		break;
	case DT_NODE_MARK:
		dt_buf_puts(out, node->text);
		break;
	}
}
