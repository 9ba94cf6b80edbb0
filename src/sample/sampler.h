/*
 * Takes a proven look at all threads of one process: the ladder still -> perch -> pause -> agree. See sampler.c for the
 * proof.
 */
#ifndef DT_SAMPLE_SAMPLER_H
#define DT_SAMPLE_SAMPLER_H

#include "base/error.h"
#include "python/find.h"
#include "python/walk.h"
#include "sample/c_stack.h"

struct dt_sampler;

/* All borrowed, and must outlive the sampler. pool: see dt_mem_open_image(); it may be NULL. */
int dt_sampler_new(const struct dt_proc *proc, struct dt_mem *live, const struct dt_python *python,
		   const struct dt_options *options, struct dt_image_pool *pool, struct dt_sampler **sampler,
		   struct dt_error *err);
void dt_sampler_free(struct dt_sampler *sampler);

struct dt_look_thread {
	const struct dt_walk_thread *walk;
	int tid; /* as seen by us, 0 unknown */
	int ns_tid;
	int runner; /* a thread that may be the one that runs it, though it names another; 0: none */
	enum dt_state state;
	const char *syscall; /* its name; NULL: none */
	bool gil;
	bool torn;
	bool foreign;               /* no thread of Python: it has frames of C alone */
	const char *native_missing; /* if C frames are asked for: why they are not there, or not all; NULL: they are */
	enum dt_proof proof;
};

struct dt_look {
	struct dt_walk walk;
	struct dt_look_thread *threads; /* parallel to walk.threads */
	size_t thread_count;
	unsigned looks;
	unsigned torn;
	uint64_t window_ns;
	bool traced;                 /* another tracer has the process: no pause was possible */
	int tracer;                  /* its pid */
	struct dt_c_stacks c_stacks; /* if the options ask for them */
	struct dt_mem *image;        /* what was read, for names: valid until the next look */
};

/* The look lives in the sampler until the next one. DT_EENDED, DT_EAGAIN, DT_EPERMISSION, DT_ERUNTIME. */
int dt_sampler_look(struct dt_sampler *sampler, const struct dt_look **look, struct dt_error *err);

/* Called while the proof of a look still stands to read more through image into the arena (thread names): set once. */
typedef int dt_sampler_extra_fn(void *context, struct dt_mem *image, const struct dt_walk *walk,
				struct dt_arena *arena);
void dt_sampler_set_extra(struct dt_sampler *sampler, dt_sampler_extra_fn *extra, void *context);

#endif
