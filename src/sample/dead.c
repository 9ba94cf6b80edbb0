/* A look at a dead process: see dead.h. */
#include "sample/dead.h"

#include <errno.h>

#include "base/util.h"
#include "sample/look.h"
#include "sample/state.h"

#define LOOP_FRAME 16384 /* bytes that the evaluation loop has on the C stack, at most */

struct dt_dead {
	struct dt_core *core;
	const struct dt_python *python;
	struct dt_mem *image;
	struct dt_code_cache *codes;
	struct dt_arena arena;
	struct dt_look look;
};

int dt_dead_new(struct dt_core *core, const struct dt_python *python, struct dt_dead **result, struct dt_error *err)
{
	struct dt_dead *dead = calloc(1, sizeof(*dead));

	if (!dead)
		return dt_fail(err, DT_EMEMORY, "out of memory");
	dead->core = core;
	dead->python = python;
	dt_arena_init(&dead->arena, 0);
	dead->codes = dt_code_cache_new(&python->layout);
	if (!dead->codes || dt_mem_open_image(dt_core_memory(core), NULL, &dead->image) < 0) {
		dt_dead_free(dead);
		return dt_fail(err, DT_EMEMORY, "out of memory");
	}
	*result = dead;
	return 0;
}

void dt_dead_free(struct dt_dead *dead)
{
	if (!dead)
		return;
	dt_mem_free(dead->image);
	dt_code_cache_free(dead->codes);
	dt_arena_release(&dead->arena);
	free(dead);
}

/* ---- whose thread state is it? ---- */

static int by_pointer(const void *a, const void *b)
{
	const struct dt_core_thread *x = *(const struct dt_core_thread *const *)a;
	const struct dt_core_thread *y = *(const struct dt_core_thread *const *)b;

	return (x->pointer > y->pointer) - (x->pointer < y->pointer);
}

static int by_tid(const void *a, const void *b)
{
	const struct dt_core_thread *x = *(const struct dt_core_thread *const *)a;
	const struct dt_core_thread *y = *(const struct dt_core_thread *const *)b;

	return (x->tid > y->tid) - (x->tid < y->tid);
}

struct index {
	const struct dt_core_thread **by_pointer, **by_tid;
	size_t *taken; /* parallel to the threads of the core: the last interpreter that had it, counted from 1 */
	size_t count;
};

static int make_index(struct dt_dead *dead, struct index *index)
{
	const struct dt_core_info *info = dt_core_info(dead->core);

	index->count = info->thread_count;
	index->by_pointer = dt_arena_calloc(&dead->arena, index->count + 1, sizeof(*index->by_pointer));
	index->by_tid = dt_arena_calloc(&dead->arena, index->count + 1, sizeof(*index->by_tid));
	index->taken = dt_arena_calloc(&dead->arena, index->count + 1, sizeof(*index->taken));
	if (!index->by_pointer || !index->by_tid || !index->taken)
		return -ENOMEM;
	for (size_t i = 0; i < index->count; i++)
		index->by_pointer[i] = index->by_tid[i] = &info->threads[i];
	qsort(index->by_pointer, index->count, sizeof(*index->by_pointer), by_pointer);
	qsort(index->by_tid, index->count, sizeof(*index->by_tid), by_tid);
	return 0;
}

/* The thread whose pointer is the first one at or above the ident, if it is within reach. */
static const struct dt_core_thread *find_pointer(const struct index *index, uint64_t ident, uint32_t reach)
{
	size_t low = 0, high = index->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (index->by_pointer[middle]->pointer < ident)
			low = middle + 1;
		else
			high = middle;
	}
	if (!ident || low == index->count || index->by_pointer[low]->pointer - ident > reach)
		return NULL;
	return index->by_pointer[low];
}

/* The id in the C library's structure of the thread. */
static uint64_t library_tid(const struct dt_dead *dead, uint64_t ident)
{
	const struct dt_core_info *info = dt_core_info(dead->core);
	uint32_t tid;

	if (!ident || dt_mem_read_u32(dead->image, ident + info->machine->glibc_tid, &tid) < 0)
		return 0;
	return tid;
}

/* The same for a Python that has none and a core without pointers. */
static uint64_t tid_without_pointer(const struct dt_dead *dead, uint64_t ident)
{
	const struct dt_core_info *info = dt_core_info(dead->core);

	return info->thread_count && !info->threads[0].pointer ? library_tid(dead, ident) : 0;
}

/* As its own PID namespace numbers it. Python's number is that of the parent's thread where C code has forked; if the C
 * library's is the core's, it is that one. */
static int own_tid(const struct dt_dead *dead, const struct dt_walk_thread *walk, const struct dt_core_thread *from)
{
	bool told = walk->native && walk->native <= INT32_MAX;

	return told && library_tid(dead, walk->ident) != (uint64_t)from->tid ? (int)walk->native : from->tid;
}

/* A number may come from another PID namespace (gcore writes the host's, Python has its own): the pointer is asked
 * first. */
static const struct dt_core_thread *find(const struct dt_dead *dead, const struct index *index,
					 const struct dt_walk_thread *walk)
{
	const struct dt_core_thread *known = find_pointer(index, walk->ident,
							  dt_core_info(dead->core)->machine->pointer_reach);
	uint64_t tid = known ? 0 : walk->native ? walk->native : tid_without_pointer(dead, walk->ident);
	const struct dt_core_thread key = {.tid = tid <= INT32_MAX ? (int)tid : 0};
	const struct dt_core_thread *wanted = &key, *const *found = NULL;

	if (key.tid)
		found = bsearch(&wanted, index->by_tid, index->count, sizeof(wanted), by_tid);
	return found ? *found : known;
}

/* A new thread state names its maker at first: of two in an interpreter that name the same thread the older one is
 * believed. Thread states come interpreter by interpreter. */
static bool take(const struct dt_dead *dead, const struct index *index, const struct dt_core_thread *from,
		 size_t interpreter)
{
	size_t *taken = &index->taken[from - dt_core_info(dead->core)->threads];

	if (*taken == interpreter + 1)
		return false;
	*taken = interpreter + 1;
	return true;
}

/* ---- a thread that was just entering Python ---- */

/* Until its C frame is filled in nothing is called: it lies at the end of the C stack, and the thread is in no call. */
static bool may_enter(const struct dt_core_thread *from, uint64_t cframe)
{
	if (!from || !from->call.sp)
		return true;
	return (!from->told || from->call.running) && cframe - from->call.sp < LOOP_FRAME;
}

static size_t frames_in_common(const struct dt_walk_thread *a, const struct dt_walk_thread *b)
{
	size_t count = 0, least = DT_MIN(a->frame_count, b->frame_count);

	while (count < least &&
	       a->frames[a->frame_count - 1 - count].address == b->frames[b->frame_count - 1 - count].address)
		count++;
	return count;
}

/* Memory that the process had, and the core has not. */
static bool left_out(struct dt_dead *dead, uint64_t address)
{
	uint8_t byte;

	return dt_maps_at(dt_core_maps(dead->core), address) && dt_mem_read(dead->image, address, &byte, 1) < 0;
}

/*
 * The word that should lead to the innermost frame may not have been written yet, and nobody can look again. What lay
 * there before leads nowhere: then the frames of the C frame before it are the stack. Or it leads to a frame that has
 * returned: what is above that one and what the C frame before has in common is true. If that is nothing, the word is
 * a good one: greenlets have a stack each, and go on like this.
 */
static void go_back(struct dt_dead *dead, const struct dt_core_thread *from, struct dt_look_thread *thread)
{
	struct dt_look *look = &dead->look;
	struct dt_walk_thread *walk = &look->walk.threads[thread - look->threads];
	struct dt_walk_thread before = *walk;
	bool damaged = walk->end == DT_WALK_BROKEN && (walk->frame_count || left_out(dead, walk->top));
	uint64_t cframe;

	if (dt_walk_before(dead->image, dead->python, dead->codes, &dead->arena, &look->walk.budget, &before,
			   &cframe) ||
	    before.end != DT_WALK_WHOLE || !before.frame_count || !may_enter(from, cframe))
		return;
	if (walk->end == DT_WALK_BETWEEN && walk->frame_count) {
		size_t common = frames_in_common(walk, &before);

		if (common && common < before.frame_count)
			dt_look_tear(look, thread, common);
		if (common < before.frame_count)
			return;
	}
	*walk = before;
	if (damaged)
		dt_look_tear(look, thread, walk->frame_count);
}

static void label(struct dt_dead *dead, const struct index *index, struct dt_look_thread *thread)
{
	struct dt_look *look = &dead->look;
	const struct dt_walk_interpreter *interpreter = &look->walk.interpreters[thread->walk->interpreter];
	const struct dt_core_thread *from = find(dead, index, thread->walk);

	thread->proof = DT_PROOF_STILL;
	thread->syscall = NULL;
	thread->gil = dt_look_has_gil(look, thread->walk);
	if (thread->walk->end != DT_WALK_WHOLE && thread->gil)
		go_back(dead, from, thread);
	if (thread->walk->end == DT_WALK_BROKEN)
		dt_look_tear(look, thread, thread->walk->frame_count);
	if (!from || !take(dead, index, from, thread->walk->interpreter))
		return;
	thread->tid = from->tid;
	thread->ns_tid = own_tid(dead, thread->walk, from);
	if (from->told)
		thread->state = dt_state_of_call(dt_core_info(dead->core)->machine, &from->call,
						 interpreter->wait_start, interpreter->wait_end, &thread->syscall);
}

static int label_all(struct dt_dead *dead)
{
	struct dt_look *look = &dead->look;
	struct index index = {0};
	int rc = make_index(dead, &index);

	if (rc < 0)
		return rc;
	look->thread_count = look->walk.thread_count;
	look->threads = dt_arena_calloc(&dead->arena, look->thread_count + 1, sizeof(*look->threads));
	if (!look->threads)
		return -ENOMEM;
	for (size_t i = 0; i < look->thread_count; i++) {
		look->threads[i].walk = &look->walk.threads[i];
		label(dead, &index, &look->threads[i]);
	}
	return 0;
}

/* ---- the look ---- */

static int explain(struct dt_dead *dead, int rc, struct dt_error *err)
{
	const char *path = dt_core_info(dead->core)->path;

	if (rc == -ENOMEM)
		return dt_fail(err, DT_EMEMORY, "out of memory, or %s has more frames than the limits allow", path);
	return dt_fail(err, DT_ERUNTIME, "the Python in %s cannot be read: the memory that it needs is not in the core",
		       path);
}

int dt_dead_look(struct dt_dead *dead, dt_sampler_extra_fn *extra, void *context, const struct dt_look **result,
		 struct dt_error *err)
{
	struct dt_look *look = &dead->look;
	uint64_t start = dt_clock_ns();
	int rc;

	dt_arena_reset(&dead->arena);
	dt_image_begin(dead->image);
	*look = (struct dt_look){.image = dead->image, .looks = 1};
	rc = dt_walk_all(dead->image, dead->python, dead->codes, dt_core_info(dead->core)->thread_count, &dead->arena,
			 &look->walk);
	if (rc == 0 && extra)
		rc = extra(context, dead->image, &look->walk, &dead->arena);
	if (rc == 0)
		rc = label_all(dead);
	if (rc < 0)
		return explain(dead, rc, err);
	look->window_ns = dt_clock_ns() - start;
	*result = look;
	return 0;
}
