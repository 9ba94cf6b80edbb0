/* The parts of the summary of a recording; summary.c puts them together. */
#ifndef DT_FORMAT_SUMMARY_H
#define DT_FORMAT_SUMMARY_H

#include "format/profile_formats.h"
#include "format/text.h"

/* What a row of a table is about. */
enum dt_summary_kind {
	DT_SUMMARY_FUNCTION,
	DT_SUMMARY_LINE,
	DT_SUMMARY_THREAD, /* from here on without total time */
	DT_SUMMARY_STATE,
};

struct dt_summary_row {
	uint32_t id;      /* as in struct dt_row */
	const char *mark; /* instead of an id: time that is no function's */
	uint64_t own, total;
};

/* A table: a line of titles, then at most `limit` rows, and how many more there are. */
struct dt_summary_table {
	enum dt_summary_kind kind;
	const char *title;
	uint32_t thread; /* instead of a title: whose rows these are */
	const struct dt_summary_row *rows;
	size_t count, limit;
	uint64_t whole; /* what is 100 % */
};

void dt_summary_table(struct dt_buf *buf, const struct dt_view *view, const struct dt_render *render,
		      const struct dt_summary_table *table);

/* Of the time that is shown: how much has no stack, how much has only the outer part of one, and how much one that was
 * not kept. */
struct dt_summary_missing {
	uint64_t unseen, torn, unkept, whole;
	uint64_t samples; /* that the whole was seen in */
	uint64_t watched; /* time in which there was somebody to look at, in whatever view */
};

/* DT_EMEMORY if memory is out. */
int dt_summary_weigh(const struct dt_view *view, struct dt_summary_missing *missing);

/* "poor, 44.5% has a true stack": the verdict of the summary in a few words, for other outputs. */
void dt_summary_verdict(struct dt_buf *buf, const struct dt_profile *profile, const struct dt_summary_missing *missing);

/* A sentence about time in which there was nobody to look at, if it is much. */
void dt_summary_absent(struct dt_buf *buf, const struct dt_profile *profile, const struct dt_render *render);

/* A sentence about CPU time of processes that ended between two looks, if it is much of what is shown. */
void dt_summary_ended(struct dt_buf *buf, const struct dt_view *view, const struct dt_render *render,
		      const struct dt_summary_missing *missing);

/* How the recording was made and what it is worth, and what a reader should know about it. program: as in struct
 * dt_profile_render. */
void dt_summary_quality(struct dt_buf *buf, const struct dt_profile *profile, const struct dt_render *render,
			const struct dt_summary_missing *missing, const char *program);

#endif
