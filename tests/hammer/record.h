/* What the programs that record have in common. */
#ifndef DT_HAMMER_RECORD_H
#define DT_HAMMER_RECORD_H

#include <darter/darter.h>

/* The words no-perch, never-pause and always-pause from argv[first] on; others are not ours. */
void record_words(int argc, char **argv, int first, struct dt_record_options *options);

/* Records processes (ids, separated by commas) for some seconds. As dt_record(). */
int record(char *pids, const struct dt_record_options *options, double seconds, struct dt_record_status *status,
	   struct dt_error *err);

#endif
