/* Colours, states in words, numbers: what the text formats share. See text.h. */
#include <errno.h>

#include "base/utf8.h"
#include "base/util.h"
#include "format/text.h"

const char *dt_style_on(const struct dt_render *render, enum dt_style style)
{
	static const char *const sequences[] = {
	    [DT_STYLE_PLAIN] = "",          [DT_STYLE_BOLD] = "\033[1m",    [DT_STYLE_DIM] = "\033[2m",
	    [DT_STYLE_ID] = "\033[1;33m",   [DT_STYLE_NAME] = "\033[32m",   [DT_STYLE_FILE] = "\033[36m",
	    [DT_STYLE_NATIVE] = "\033[35m", [DT_STYLE_BUSY] = "\033[1;32m", [DT_STYLE_BLOCKED] = "\033[31m",
	    [DT_STYLE_NOTE] = "\033[33m",
	};

	return render->color ? sequences[style] : "";
}

const char *dt_style_off(const struct dt_render *render, enum dt_style style)
{
	return render->color && style != DT_STYLE_PLAIN ? "\033[0m" : "";
}

void dt_paint(struct dt_buf *buf, const struct dt_render *render, enum dt_style style, const char *text)
{
	dt_buf_puts(buf, dt_style_on(render, style));
	dt_escape(buf, text);
	dt_buf_puts(buf, dt_style_off(render, style));
}

const char *dt_state_name(enum dt_state state)
{
	switch (state) {
	case DT_STATE_RUNNING:
		return "running";
	case DT_STATE_GIL_WAIT:
		return "waiting for the GIL";
	case DT_STATE_SYSCALL:
		return "in a system call";
	case DT_STATE_SLEEPING:
		return "sleeping";
	case DT_STATE_STOPPED:
		return "stopped";
	case DT_STATE_UNKNOWN:
		break;
	}
	return "unknown";
}

const char *dt_proof_name(enum dt_proof proof)
{
	switch (proof) {
	case DT_PROOF_STILL:
		return "still";
	case DT_PROOF_PERCH:
		return "perch";
	case DT_PROOF_PAUSE:
		return "pause";
	case DT_PROOF_AGREE:
		return "agree";
	case DT_PROOF_NONE:
		break;
	}
	return "none";
}

enum dt_style dt_state_style(enum dt_state state)
{
	switch (state) {
	case DT_STATE_RUNNING:
	case DT_STATE_SYSCALL:
		return DT_STYLE_BUSY;
	case DT_STATE_GIL_WAIT:
	case DT_STATE_STOPPED:
		return DT_STYLE_BLOCKED;
	case DT_STATE_SLEEPING:
	case DT_STATE_UNKNOWN:
		break;
	}
	return DT_STYLE_DIM;
}

void dt_describe_state(struct dt_buf *buf, const struct dt_thread *thread)
{
	if (thread->state == DT_STATE_SYSCALL && thread->syscall) {
		dt_buf_puts(buf, "in ");
		dt_escape(buf, thread->syscall);
	} else if (thread->state == DT_STATE_UNKNOWN) {
		dt_buf_puts(buf, "state unknown");
	} else {
		dt_buf_puts(buf, dt_state_name(thread->state));
	}
	if ((thread->state == DT_STATE_SLEEPING || thread->state == DT_STATE_STOPPED) && thread->syscall) {
		dt_buf_puts(buf, " in ");
		dt_escape(buf, thread->syscall);
	}
	if (thread->gil)
		dt_buf_puts(buf, ", holds the GIL");
	if (thread->gc)
		dt_buf_puts(buf, ", during a garbage collection");
}

int dt_flush(struct dt_buf *buf, FILE *out)
{
	bool failed = buf->failed, refused = fwrite(buf->data, 1, buf->length, out) != buf->length;

	dt_buf_clear(buf);
	if (refused || ferror(out))
		return DT_ERUNTIME;
	return failed ? DT_EMEMORY : 0;
}
