/*
 * Which thread runs a thread state? It names the one that made it, and up to 3.12 an interpreter's first thread state
 * is lent to whoever runs code in it. Two things tell.
 *
 * From 3.11 on, each time Python is entered a struct is put on the C stack, and the frames lead to it. On whose stack
 * it lies, that thread runs them: it has yet to return there. A thread's own structure, to which its ident points, is
 * at the upper end of its stack; the first thread's is where the kernel says.
 *
 * Before that, nothing does. But if no thread of the process ran during a look, nobody ran any of them.
 */
#include <string.h>

#include "base/util.h"
#include "sample/recorder_inside.h"

#define MAPS_REST 50 /* times as long as it took to find the stacks they are not looked for */

static bool lies_on(const struct dt_recorded *thread, uint64_t place)
{
	return !thread->lent && place >= thread->stack_start && place < thread->stack_end;
}

/* Where two stacks lie in one piece of memory it is that of the one whose end is next. */
static struct dt_recorded *find_stack(const struct dt_recorder *r, uint64_t place)
{
	struct dt_recorded *found = NULL;

	for (size_t i = 0; i < r->count; i++)
		if (r->threads[i].tid && lies_on(&r->threads[i], place) &&
		    (!found || r->threads[i].stack_end < found->stack_end))
			found = &r->threads[i];
	return found;
}

static const struct dt_map *first_stack(const struct dt_maps *maps)
{
	for (size_t i = 0; i < maps->count; i++)
		if (strcmp(maps->maps[i].path, "[stack]") == 0)
			return &maps->maps[i];
	return NULL;
}

static void find_stacks(struct dt_recorder *r)
{
	uint64_t began = dt_clock_ns();
	struct dt_maps maps;

	if (dt_maps_read(r->proc, &maps) == 0) {
		for (size_t i = 0; i < r->count; i++) {
			struct dt_recorded *thread = &r->threads[i];
			bool first = thread->tid == r->proc->pid;
			const struct dt_map *map = first ? first_stack(&maps) : dt_maps_at(&maps, thread->ident);

			if (thread->lent || !map || !map->write)
				continue;
			thread->stack_start = map->start;
			thread->stack_end = first ? map->end : thread->ident;
		}
		dt_maps_release(&maps);
	}
	r->maps_ns = dt_clock_ns() + (dt_clock_ns() - began) * MAPS_REST;
}

struct dt_recorded *dt_recorder_runner(struct dt_recorder *r, uint64_t place)
{
	struct dt_recorded *found = find_stack(r, place);

	if (found || dt_clock_ns() < r->maps_ns)
		return found;
	find_stacks(r);
	return find_stack(r, place);
}

static bool among(const int *tids, size_t count, int tid)
{
	for (size_t i = 0; i < count; i++)
		if (tids[i] == tid)
			return true;
	return false;
}

static struct dt_thread_files *files_of(const struct dt_recorder *r, int tid)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->threads[i].tid == tid)
			return &r->threads[i].files;
	return NULL;
}

static int slices_of(const struct dt_recorder *r, int tid, uint64_t *slices)
{
	struct dt_thread_files *files = files_of(r, tid);
	struct dt_thread_sched sched;
	int rc = files ? dt_thread_sched_now(files, &sched) : dt_thread_slices(r->proc, tid, slices);

	if (rc == 0 && files)
		*slices = sched.slices;
	return rc;
}

/* First the count, then the state: see suspects.c. */
static bool watch(struct dt_crowd *crowd, const struct dt_recorder *r, int tid)
{
	struct dt_thread_files *files = files_of(r, tid);
	struct dt_thread_call call;

	if (crowd->count == DT_COUNT(crowd->list) || slices_of(r, tid, &crowd->list[crowd->count].slices) < 0)
		return false;
	crowd->list[crowd->count++].tid = tid;
	return (files ? dt_thread_call_now(files, &call) : dt_thread_call(r->proc, tid, &call)) == 0 && !call.running;
}

/* Was anybody made before all others were watched? From then on nobody can be: whoever makes a thread has to run. */
static bool same_threads(const struct dt_recorder *r, const int *tids, size_t count)
{
	dt_auto_free int *now = NULL;
	size_t now_count;

	return dt_proc_threads(r->proc, &now, &now_count) == 0 && now_count == count &&
	       memcmp(now, tids, count * sizeof(*tids)) == 0;
}

void dt_crowd_begin(struct dt_crowd *crowd, const struct dt_recorder *r, const int *standing, size_t count)
{
	dt_auto_free int *tids = NULL;
	size_t all;

	crowd->count = 0;
	crowd->stands = dt_proc_threads(r->proc, &tids, &all) == 0;
	for (size_t i = 0; crowd->stands && i < all; i++)
		if (!among(standing, count, tids[i]))
			crowd->stands = watch(crowd, r, tids[i]);
	crowd->stands = crowd->stands && same_threads(r, tids, all);
}

bool dt_crowd_stood(const struct dt_crowd *crowd, const struct dt_recorder *r)
{
	uint64_t slices = 0;

	for (size_t i = 0; crowd->stands && i < crowd->count; i++)
		if (slices_of(r, crowd->list[i].tid, &slices) < 0 || slices != crowd->list[i].slices)
			return false;
	return crowd->stands;
}
