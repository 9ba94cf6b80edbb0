/* What was seen of a process last time, so that only what changed is shown. */
#ifndef DT_CLI_WATCH_H
#define DT_CLI_WATCH_H

#include <darter/darter.h>

struct dt_seen_thread {
	uint64_t tid, ident;
	int64_t interpreter;
	uint64_t digest; /* of state and stack */
	char *name;
};

struct dt_seen {
	struct dt_seen_thread *threads; /* sorted */
	size_t count;
	uint64_t program; /* digest of what it runs, 0: nothing was seen yet */
};

struct dt_change {
	bool whole; /* nothing was seen yet, or another program runs in the process: all is to be shown */
	struct dt_thread *threads; /* changed or new, in the snapshot's order; the strings are the snapshot's */
	size_t count, fresh;       /* fresh: how many of them are new */
	struct dt_seen_thread *ended;
	size_t ended_count;
};

/* Compares with last time and remembers this one. change must be released before the next call. 0 or DT_EMEMORY. */
int dt_seen_update(struct dt_seen *seen, const struct dt_snapshot *snapshot, struct dt_change *change);
void dt_seen_release(struct dt_seen *seen);
void dt_change_release(struct dt_change *change);

#endif
