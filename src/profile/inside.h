/* The inside of a profile, for this room alone. */
#ifndef DT_PROFILE_INSIDE_H
#define DT_PROFILE_INSIDE_H

#include "base/arena.h"
#include "profile/intern.h"
#include "profile/profile.h"

/* Items by number. Item 0 is there, too, and all zero: so a number is an index. */
struct dt_list {
	void *items;
	size_t count, capacity; /* without and with item 0 */
	struct dt_intern index;
};

struct dt_profile_string {
	const char *text;
	uint32_t length;
};

struct dt_process_entry {
	struct dt_profile_process process;
	bool changed; /* since the writer of a file asked last */
};

struct dt_thread_entry {
	struct dt_profile_thread thread;
	uint64_t end_ns; /* of its last run, also of one that was forgotten */
	size_t last;     /* index of its last run + 1; 0: none, or forgotten */
	bool changed;
};

struct dt_profile {
	uint64_t seed;
	struct dt_arena texts;
	struct dt_list strings, functions, locations, stacks, processes, threads;
	size_t most_stacks;
	struct dt_profile_run *runs;
	size_t run_count, run_capacity;
	struct dt_profile_meta meta;
	bool meta_set, meta_changed;
	uint64_t until_ns;    /* where the recordings that were put together end; 0: it is one */
	bool entries_changed; /* one of the processes or threads */
};

/* Figures of a recording of which so great a part is left, 0 to 1; those that are of no time stay. */
void profile_quality_part(struct dt_profile_quality *quality, double part);
void profile_quality_add(struct dt_profile_quality *quality, const struct dt_profile_quality *other);

/* Forgets the first runs: dt_profile_forget_runs() for those that are in a file, while others are not. */
void profile_forget_first_runs(struct dt_profile *profile, size_t count);

static inline const struct dt_profile_string *profile_string_at(const struct dt_profile *profile, uint32_t id)
{
	return (const struct dt_profile_string *)profile->strings.items + id;
}

static inline struct dt_process_entry *profile_process_entry(const struct dt_profile *profile, uint32_t id)
{
	return (struct dt_process_entry *)profile->processes.items + id;
}

static inline struct dt_thread_entry *profile_thread_entry(const struct dt_profile *profile, uint32_t id)
{
	return (struct dt_thread_entry *)profile->threads.items + id;
}

#endif
