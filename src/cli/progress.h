/* How far something has come that takes long: one line on a terminal, which is gone when it is done. */
#ifndef DT_CLI_PROGRESS_H
#define DT_CLI_PROGRESS_H

#include <darter/darter.h>

struct dt_progress {
	const char *file;
	FILE *out;        /* NULL: nothing is shown */
	size_t columns;   /* of the terminal */
	uint64_t next_ns; /* when something is shown: not in the first second, and not all the time */
	size_t width;     /* of the line that is there */
};

/* Shows nothing where out is no terminal, or NULL. */
void dt_progress_begin(struct dt_progress *progress, const char *file, FILE *out);

/* A dt_progress_fn; its context is the progress. */
void dt_progress_show(void *progress, uint64_t done, uint64_t whole);

/* The same at a moment of dt_clock_ns(). */
void dt_progress_at(struct dt_progress *progress, uint64_t now_ns, uint64_t done, uint64_t whole);

/* Takes the line away. */
void dt_progress_end(struct dt_progress *progress);

#endif
