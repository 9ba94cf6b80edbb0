/* What the texts for people share: colours, and everything from a target escaped. */
#ifndef DT_FORMAT_TEXT_H
#define DT_FORMAT_TEXT_H

#include <darter/darter.h>

#include "base/buf.h"

enum dt_style {
	DT_STYLE_PLAIN,
	DT_STYLE_BOLD,
	DT_STYLE_DIM,
	DT_STYLE_ID,     /* pids and thread ids */
	DT_STYLE_NAME,   /* functions */
	DT_STYLE_NATIVE, /* of C */
	DT_STYLE_FILE,
	DT_STYLE_BUSY,    /* running */
	DT_STYLE_BLOCKED, /* wants to run and may not */
	DT_STYLE_NOTE,
};

/* The sequence that switches a style on; dt_style_off ends it. Empty strings without colour. */
const char *dt_style_on(const struct dt_render *render, enum dt_style style);
const char *dt_style_off(const struct dt_render *render, enum dt_style style);

/* Appends escaped text in a style. */
void dt_paint(struct dt_buf *buf, const struct dt_render *render, enum dt_style style, const char *text);

/* "running, holds the GIL", "sleeping in poll", "in read". */
void dt_describe_state(struct dt_buf *buf, const struct dt_thread *thread);
enum dt_style dt_state_style(enum dt_state state);

/* Writes the buffer, clears it, and returns as the dt_render functions do. */
int dt_flush(struct dt_buf *buf, FILE *out);

#endif
