/* The inside of libdarter: one attached process. Not for the command line. */
#ifndef DT_LIB_TARGET_H
#define DT_LIB_TARGET_H

#include "base/arena.h"
#include "lib/source.h"
#include "python/thread_names.h"
#include "sample/dead.h"
#include "sample/sampler.h"

struct dt_names {
	struct dt_thread_name *names;
	size_t count;
};

struct dt_target {
	struct dt_proc proc;
	struct dt_mem *live;
	struct dt_python python;
	struct dt_sampler *sampler;  /* NULL: it is for a recording, which has its own, or has lost its program */
	struct dt_find_cache *cache; /* while it is being attached; NULL: none */
	bool recorded;
	struct dt_core *core; /* with dead, instead of proc, live and sampler */
	struct dt_dead *dead;
	struct dt_options options;
	struct dt_arena fixed;  /* what stays the same as long as the target is the same program */
	struct dt_arena arena;  /* the snapshot */
	struct dt_names *names; /* of the last look, one for each interpreter; in the look's arena */
	size_t name_groups;
	const char *executable, *command, *container;
	uint64_t lost_ns; /* dt_clock_ns() when the program that was known was gone */
	struct dt_source source;
	struct dt_snapshot snapshot;
};

/* A target that is neither a process nor a core yet. NULL if out of memory. */
struct dt_target *dt_target_new(const struct dt_options *options);

/* dt_attach() for a recording, which looks for itself: dt_take() is not possible. What was learnt of files is kept in
 * the cache, which may be NULL. */
int dt_attach_recorded(int pid, struct dt_find_cache *cache, struct dt_target **target, struct dt_error *err);

/* Reads the names of threads: a dt_sampler_extra_fn, its context is the target. */
int dt_target_names(void *context, struct dt_mem *image, const struct dt_walk *walk, struct dt_arena *arena);

/* dt_take() of a core. */
int dt_core_take(struct dt_target *target, struct dt_error *err);

/* Fills in what only the snapshot of a core has. 0 or DT_EMEMORY. */
int dt_core_describe(struct dt_target *target, const struct dt_look *look, struct dt_error *err);

/* Adds to the message of an error which process the core is of, and what it died of. */
void dt_core_say_who(const struct dt_core_info *info, struct dt_error *err);

/* Turns a look into target->snapshot. 0 or DT_EMEMORY. */
int dt_snapshot_build(struct dt_target *target, const struct dt_look *look, struct dt_error *err);

#endif
