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

/* Is the thread state in its interpreter's list? */
static bool listed(struct dt_mem *live, const struct dt_layout *layout, uint64_t interpreter, uint64_t thread)
{
	uint64_t at;

	if (dt_mem_read_u64(live, interpreter + layout->interpreter.threads_head, &at) < 0)
		return false;
	for (size_t i = 0; at && i < DT_WALK_THREADS; i++) {
		if (at == thread)
			return true;
		if (dt_mem_read_u64(live, at + layout->thread.next, &at) < 0)
			return false;
	}
	return false;
}

/* The last holder may have ended long ago; its memory may be anything by now. Only a thread state that names one of the
 * interpreters counts, unless the GIL is taken: then somebody has it, and we do not know who. */
static void identify(const struct dt_proc *proc, struct dt_mem *live, const struct dt_python *python,
		     struct dt_tids *tids, const struct dt_walk *walk, struct dt_suspect *suspect)
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
	if (!suspect->words.locked && !listed(live, layout, interpreter, thread))
		suspect->thread = 0;
}

int dt_suspects_collect(const struct dt_proc *proc, struct dt_mem *live, const struct dt_python *python,
			struct dt_tids *tids, struct dt_arena *arena, struct dt_suspects *suspects)
{
	struct dt_walk walk;
	int rc;

	*suspects = (struct dt_suspects){0};
	rc = dt_walk_interpreters(live, python, arena, &walk);
	if (rc < 0)
		return rc;
	suspects->list = dt_arena_calloc(arena, walk.interpreter_count, sizeof(*suspects->list));
	if (!suspects->list)
		return -ENOMEM;
	for (size_t i = 0; i < walk.interpreter_count; i++) {
		struct dt_suspect *suspect = &suspects->list[suspects->count];
		size_t j;

		for (j = 0; j < suspects->count; j++)
			if (suspects->list[j].words.address == walk.interpreters[i].gil.address)
				break;
		if (j < suspects->count)
			continue;
		suspect->words = walk.interpreters[i].gil;
		identify(proc, live, python, tids, &walk, suspect);
		if (suspect->thread && !suspect->tid)
			suspects->unknown = true;
		if (suspect->running)
			suspects->running++;
		suspects->count++;
	}
	return 0;
}

bool dt_suspects_words_equal(struct dt_mem *live, const struct dt_python *python, const struct dt_suspects *suspects,
			     const struct dt_walk *walk)
{
	for (size_t i = 0; i < walk->interpreter_count; i++) {
		size_t j;

		for (j = 0; j < suspects->count; j++)
			if (suspects->list[j].words.address == walk->interpreters[i].gil.address)
				break;
		if (j == suspects->count)
			return false;
	}
	for (size_t i = 0; i < suspects->count; i++) {
		const struct dt_gil_words *then = &suspects->list[i].words;
		struct dt_gil_words now;

		if (dt_walk_gil(live, python, then->address, &now) < 0 || now.holder != then->holder ||
		    now.switches != then->switches || now.locked != then->locked)
			return false;
	}
	return true;
}

bool dt_suspect_slept(const struct dt_proc *proc, const struct dt_suspect *suspect)
{
	uint64_t slices;

	return !suspect->running && suspect->counted && dt_thread_slices(proc, suspect->tid, &slices) == 0 &&
	       slices == suspect->slices;
}

const struct dt_suspect *dt_suspects_find(const struct dt_suspects *suspects, uint64_t thread)
{
	for (size_t i = 0; i < suspects->count; i++)
		if (suspects->list[i].thread == thread)
			return &suspects->list[i];
	return NULL;
}
