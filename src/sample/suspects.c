/* Suspects: see suspects.h. */
#include "sample/suspects.h"

#include <errno.h>

#include "base/util.h"

static bool known_interpreter(const struct dt_walk *walk, uint64_t address)
{
	for (size_t i = 0; i < walk->interpreter_count; i++)
		if (walk->interpreters[i].address == address)
			return true;
	return false;
}

/* Is the thread state in its interpreter's list? Every step is a read; *steps are left for all lists together, a list
 * that is longer tells nothing. */
static bool listed(struct dt_mem *live, const struct dt_layout *layout, uint64_t interpreter, uint64_t thread,
		   size_t *steps)
{
	uint64_t at;

	if (dt_mem_read_u64(live, interpreter + layout->interpreter.threads_head, &at) < 0)
		return false;
	while (at && *steps) {
		--*steps;
		if (at == thread)
			return true;
		if (dt_mem_read_u64(live, at + layout->thread.next, &at) < 0)
			return false;
	}
	return at != 0;
}

/* The last holder may have ended long ago; its memory may be anything by now. Only a thread state that names one of the
 * interpreters counts, unless the GIL is taken: then somebody has it, and we do not know who. */
static void identify(const struct dt_proc *proc, struct dt_mem *live, const struct dt_python *python,
		     struct dt_tids *tids, const struct dt_walk *walk, size_t *steps, struct dt_suspect *suspect)
{
	const struct dt_layout *layout = &python->layout;
	struct dt_thread_call call;
	uint64_t thread = suspect->words.holder;
	uint64_t interpreter;
	uint64_t ident;
	uint64_t native = 0;
	int ns_tid;

	if (!thread)
		return;
	if (dt_mem_read_u64(live, thread + layout->thread.interp, &interpreter) < 0 ||
	    !known_interpreter(walk, interpreter) ||
	    dt_mem_read_u64(live, thread + layout->thread.thread_id, &ident) < 0 ||
	    (layout->thread.native_thread_id != DT_ABSENT &&
	     dt_mem_read_u64(live, thread + layout->thread.native_thread_id, &native) < 0)) {
		if (suspect->words.locked)
			suspect->thread = thread;
		return;
	}
	suspect->thread = thread;
	suspect->ident = ident;
	suspect->native = native;
	suspect->tid = dt_tids_of(tids, live, ident, native, &ns_tid);
	/* First the count, then the state: of a thread that is blocked after it was counted, an equal count later on
	 * means that it has not been on a CPU since. The other way round it might be running when it is counted, and go
	 * on doing so. */
	suspect->counted = dt_thread_slices(proc, suspect->tid, &suspect->slices) == 0;
	if (dt_thread_call(proc, suspect->tid, &call) == 0) {
		suspect->running = call.running;
		return;
	}
	suspect->tid = 0;
	/* Freed memory looks the same for a while. A thread state that is in no list, and has left the GIL, is gone. */
	if (!suspect->words.locked && !listed(live, layout, interpreter, thread, steps))
		suspect->thread = 0;
}

static bool has_gil(const struct dt_suspects *suspects, uint64_t address)
{
	for (size_t i = 0; i < suspects->gils; i++)
		if (suspects->list[i].words.address == address)
			return true;
	return false;
}

static bool has_tid(const struct dt_suspects *suspects, int tid)
{
	for (size_t i = 0; i < suspects->count; i++)
		if (suspects->list[i].tid == tid)
			return true;
	return false;
}

/* One thread may be suspect of several GILs: it runs, and is held, once. */
static void append(struct dt_suspects *suspects, const struct dt_suspect *suspect)
{
	if (suspect->running && !has_tid(suspects, suspect->tid))
		suspects->running++;
	if (suspect->thread && !suspect->tid)
		suspects->unknown = true;
	suspects->list[suspects->count++] = *suspect;
}

static void add_everybody(const struct dt_proc *proc, const int *tids, size_t count, struct dt_suspects *suspects)
{
	for (size_t i = 0; i < count; i++) {
		struct dt_suspect suspect = {.tid = tids[i]};
		struct dt_thread_call call;

		suspect.counted = dt_thread_slices(proc, tids[i], &suspect.slices) == 0;
		if (has_tid(suspects, tids[i]) || dt_thread_call(proc, tids[i], &call) < 0)
			continue;
		suspect.running = call.running;
		append(suspects, &suspect);
	}
}

int dt_suspects_collect(const struct dt_proc *proc, struct dt_mem *live, const struct dt_python *python,
			struct dt_tids *tids, bool everybody, struct dt_arena *arena, struct dt_suspects *suspects)
{
	dt_auto_free int *all = NULL;
	size_t steps = DT_WALK_THREADS;
	size_t all_count = 0;
	struct dt_walk walk;
	int rc;

	*suspects = (struct dt_suspects){0};
	if (everybody) {
		rc = dt_proc_threads(proc, &all, &all_count);
		if (rc < 0)
			return rc;
	}
	rc = dt_walk_interpreters(live, python, arena, &walk);
	if (rc < 0)
		return rc;
	suspects->list = dt_arena_calloc(arena, walk.interpreter_count + all_count, sizeof(*suspects->list));
	if (!suspects->list)
		return -ENOMEM;
	for (size_t i = 0; i < walk.interpreter_count; i++) {
		struct dt_suspect suspect = {.words = walk.interpreters[i].gil};

		if (has_gil(suspects, suspect.words.address))
			continue;
		identify(proc, live, python, tids, &walk, &steps, &suspect);
		append(suspects, &suspect);
		suspects->gils++;
	}
	add_everybody(proc, all, all_count, suspects);
	return 0;
}

/* A thread state that is found where the last holder was must be the same one. */
static bool same_holders(const struct dt_suspects *suspects, const struct dt_walk *walk)
{
	for (size_t t = 0; t < walk->thread_count; t++) {
		const struct dt_walk_thread *thread = &walk->threads[t];

		for (size_t i = 0; i < suspects->gils; i++) {
			const struct dt_suspect *suspect = &suspects->list[i];

			if (thread->address == suspect->words.holder &&
			    (!suspect->thread || thread->ident != suspect->ident || thread->native != suspect->native))
				return false;
		}
	}
	return true;
}

bool dt_suspects_ambiguous(const struct dt_suspects *suspects, const struct dt_walk *walk)
{
	for (size_t i = 0; i < suspects->gils; i++) {
		const struct dt_suspect *suspect = &suspects->list[i];

		if (!suspect->thread)
			continue;
		if (suspect->words.locked && !suspect->running)
			return true;
		/* A new thread state without frames names its maker for a moment, and is run by nobody. */
		for (size_t t = 0; t < walk->thread_count; t++)
			if (walk->threads[t].address != suspect->thread && walk->threads[t].ident == suspect->ident &&
			    walk->threads[t].top)
				return true;
	}
	return false;
}

bool dt_suspects_words_equal(struct dt_mem *live, const struct dt_python *python, const struct dt_suspects *suspects,
			     const struct dt_walk *walk)
{
	for (size_t i = 0; i < walk->interpreter_count; i++)
		if (!has_gil(suspects, walk->interpreters[i].gil.address))
			return false;
	for (size_t i = 0; i < suspects->gils; i++) {
		const struct dt_gil_words *then = &suspects->list[i].words;
		struct dt_gil_words now;

		if (dt_walk_gil(live, python, then->address, &now) < 0 || now.holder != then->holder ||
		    now.switches != then->switches || now.locked != then->locked)
			return false;
	}
	return same_holders(suspects, walk);
}

bool dt_suspect_slept(const struct dt_proc *proc, const struct dt_suspect *suspect)
{
	uint64_t slices;

	return !suspect->running && suspect->counted && dt_thread_slices(proc, suspect->tid, &slices) == 0 &&
	       slices == suspect->slices;
}

const struct dt_suspect *dt_suspects_find(const struct dt_suspects *suspects, uint64_t thread)
{
	for (size_t i = 0; i < suspects->gils; i++)
		if (suspects->list[i].thread == thread)
			return &suspects->list[i];
	return NULL;
}
