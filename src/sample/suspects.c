/* Suspects: see suspects.h. */
#include "sample/suspects.h"

#include <errno.h>

#include "base/util.h"
#include "sample/states.h"

#define STACK_STEP  ((size_t)4096)
#define STACK_LIMIT ((size_t)256 << 10) /* of a C stack that are searched for the interpreter */

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

/* What the kernel says of it. First the count, then the state: of a thread that is blocked after it was counted, an
 * equal count later on means that it has not been on a CPU since. The other way round it might be running when it is
 * counted, and go on doing so. False if there is no such thread. */
static bool watch(const struct dt_proc *proc, struct dt_suspect *suspect)
{
	struct dt_thread_call call;

	suspect->counted = dt_thread_slices(proc, suspect->tid, &suspect->slices) == 0;
	if (dt_thread_call(proc, suspect->tid, &call) < 0)
		return false;
	suspect->running = call.running;
	suspect->sp = call.running ? 0 : call.sp;
	return true;
}

bool dt_suspect_watch(const struct dt_proc *proc, struct dt_mem *live, struct dt_tids *tids, struct dt_suspect *suspect)
{
	suspect->tid = dt_tids_of(tids, live, suspect->ident, suspect->native, &suspect->ns_tid);
	if (watch(proc, suspect))
		return true;
	suspect->tid = dt_tids_by_ident(tids, live, suspect->ident, &suspect->ns_tid);
	if (suspect->tid && watch(proc, suspect))
		return true;
	suspect->tid = 0;
	return false;
}

/* The last holder may have ended long ago; its memory may be anything by now. Only a thread state that names one of the
 * interpreters counts, unless the GIL is taken: then somebody has it, and we do not know who. */
static void identify(const struct dt_proc *proc, struct dt_mem *live, const struct dt_python *python,
		     struct dt_tids *tids, const struct dt_walk *walk, size_t *steps, struct dt_suspect *suspect)
{
	const struct dt_layout *layout = &python->layout;
	uint64_t thread = suspect->words.holder;
	uint64_t interpreter;
	uint64_t ident;
	uint64_t native = 0;

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
	if (dt_suspect_watch(proc, live, tids, suspect))
		return;
	/* Freed memory looks the same for a while. A thread state that is in no list, and has left the GIL, is gone. */
	if (!suspect->words.locked && !listed(live, layout, interpreter, thread, steps))
		suspect->thread = 0;
}

static const struct dt_gil_words *words_of(const struct dt_suspects *suspects, uint64_t address)
{
	for (size_t i = 0; i < suspects->gils; i++)
		if (suspects->list[i].words.address == address)
			return &suspects->list[i].words;
	return NULL;
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

		if (!has_tid(suspects, tids[i]) && watch(proc, &suspect))
			append(suspects, &suspect);
	}
}

/* The last holder of each GIL. */
static void collect_holders(const struct dt_proc *proc, struct dt_mem *live, const struct dt_python *python,
			    struct dt_tids *tids, const struct dt_walk *walk, struct dt_suspects *suspects)
{
	size_t steps = DT_WALK_THREADS;

	for (size_t i = 0; i < walk->interpreter_count; i++) {
		struct dt_suspect suspect = {.words = walk->interpreters[i].gil};

		if (words_of(suspects, suspect.words.address))
			continue;
		identify(proc, live, python, tids, walk, &steps, &suspect);
		append(suspects, &suspect);
		suspects->states = ++suspects->gils;
	}
}

/* Was anybody made before all others were watched? From then on nobody can be made unseen: whoever is to make a thread
 * has to run. */
static int look_for_missed(const struct dt_proc *proc, struct dt_suspects *suspects)
{
	dt_auto_free int *now = NULL;
	size_t count;
	int rc = dt_proc_threads(proc, &now, &count);

	for (size_t i = 0; rc == 0 && i < count; i++)
		suspects->missed = suspects->missed || !has_tid(suspects, now[i]);
	return rc;
}

/* May anybody take a GIL without a trace? */
static bool free_for_all(const struct dt_walk *walk)
{
	for (size_t i = 0; i < walk->interpreter_count; i++)
		if (walk->interpreters[i].gil.locked != 1)
			return true;
	return false;
}

int dt_suspects_collect(const struct dt_proc *proc, struct dt_mem *live, const struct dt_python *python,
			struct dt_tids *tids, const struct dt_suspects_wanted *wanted, struct dt_arena *arena,
			struct dt_suspects *suspects)
{
	dt_auto_free int *all = NULL;
	size_t all_count = 0;
	struct dt_walk walk;
	int rc;

	rc = python->layout.free_threaded ? dt_walk_threads(live, python, wanted->threads, arena, &walk)
					  : dt_walk_interpreters(live, python, arena, &walk);
	if (rc < 0)
		return rc;
	*suspects = (struct dt_suspects){.counted = dt_walk_gil_counted(python)};
	suspects->everybody = wanted->everybody || (!suspects->counted && free_for_all(&walk));
	if (suspects->everybody) {
		rc = dt_proc_threads(proc, &all, &all_count);
		if (rc < 0)
			return rc;
	}
	suspects->list = dt_arena_calloc(arena, walk.interpreter_count + walk.thread_count + all_count,
					 sizeof(*suspects->list));
	if (!suspects->list)
		return -ENOMEM;
	if (python->layout.free_threaded) {
		dt_states_collect(proc, live, tids, &walk, wanted->cpu_end, suspects);
		rc = dt_states_settle(arena, suspects);
	} else {
		collect_holders(proc, live, python, tids, &walk, suspects);
	}
	add_everybody(proc, all, all_count, suspects);
	if (python->layout.free_threaded)
		dt_states_lend(suspects);
	return rc == 0 && suspects->everybody ? look_for_missed(proc, suspects) : rc;
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

bool dt_suspect_runs_python(struct dt_mem *live, const struct dt_python *python, uint64_t sp)
{
	uint64_t words[STACK_STEP / sizeof(uint64_t)];
	uint64_t at = sp & ~(uint64_t)(sizeof(uint64_t) - 1);

	for (size_t read = 0; read < STACK_LIMIT;) {
		size_t size = STACK_STEP - at % STACK_STEP; /* up to the end of a page: the next one may not be there */

		if (dt_mem_read(live, at, words, size) < 0)
			return false;
		for (size_t i = 0; i < size / sizeof(*words); i++)
			if (words[i] >= python->code_start && words[i] < python->code_end)
				return true;
		at += size;
		read += size;
	}
	return false;
}

/* A thread may have a thread state in several interpreters and run each of them; two in one interpreter are odd. */
static bool may_be_run_by_another(struct dt_mem *live, const struct dt_python *python, struct dt_suspect *suspect,
				  const struct dt_walk *walk)
{
	const struct dt_walk_thread *mine = NULL;
	bool shared = false;

	for (size_t t = 0; t < walk->thread_count && !mine; t++)
		if (walk->threads[t].address == suspect->thread)
			mine = &walk->threads[t];
	for (size_t t = 0; t < walk->thread_count; t++) {
		const struct dt_walk_thread *other = &walk->threads[t];

		if (other == mine || other->ident != suspect->ident)
			continue;
		shared = true;
		suspect->odd = suspect->odd || (mine && other->interpreter == mine->interpreter);
	}
	if (shared)
		return true;
	if (suspect->running)
		return false;
	if (!mine || !mine->top || !suspect->sp || !python->code_end)
		return suspect->words.locked == 1;
	return !dt_suspect_runs_python(live, python, suspect->sp);
}

/* The same of a thread state that needs no GIL. The walk must be equal. */
static bool state_may_be_run_by_another(struct dt_mem *live, const struct dt_python *python,
					const struct dt_suspect *suspect, uint64_t top)
{
	if (suspect->shared)
		return true;
	if (suspect->running || suspect->unborn)
		return false;
	if (!top || !suspect->sp || !python->code_end)
		return suspect->attached;
	return !dt_suspect_runs_python(live, python, suspect->sp);
}

bool dt_suspects_doubt(struct dt_mem *live, const struct dt_python *python, struct dt_suspects *suspects,
		       const struct dt_walk *walk)
{
	bool any = false;

	if (python->layout.free_threaded)
		for (size_t i = 0; i < suspects->states && i < walk->thread_count && !any; i++)
			any = state_may_be_run_by_another(live, python, &suspects->list[i], walk->threads[i].top);
	for (size_t i = 0; i < suspects->gils; i++)
		if (suspects->list[i].thread)
			any = may_be_run_by_another(live, python, &suspects->list[i], walk) || any;
	return any;
}

static bool same_words(const struct dt_gil_words *a, const struct dt_gil_words *b)
{
	return a->holder == b->holder && a->current == b->current && a->switches == b->switches &&
	       a->locked == b->locked;
}

bool dt_suspects_equal(struct dt_mem *live, const struct dt_python *python, const struct dt_suspects *suspects,
		       const struct dt_walk *walk)
{
	if (python->layout.free_threaded)
		return dt_states_equal(live, &python->layout, suspects, walk);
	for (size_t i = 0; i < walk->interpreter_count; i++) {
		const struct dt_gil_words *then = words_of(suspects, walk->interpreters[i].gil.address);

		if (!then || !same_words(then, &walk->interpreters[i].gil))
			return false;
	}
	for (size_t i = 0; i < suspects->gils; i++) {
		const struct dt_gil_words *then = &suspects->list[i].words;
		struct dt_gil_words now;

		if (dt_walk_gil(live, python, then->address, &now) < 0 || !same_words(then, &now))
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

uint64_t dt_suspects_switches(const struct dt_suspects *suspects)
{
	uint64_t switches = 0;

	for (size_t i = 0; i < suspects->gils && suspects->counted; i++)
		switches += suspects->list[i].words.switches;
	for (size_t i = 0; i < suspects->count && !suspects->counted; i++)
		switches += suspects->list[i].slices;
	return switches;
}

const struct dt_suspect *dt_suspects_find(const struct dt_suspects *suspects, uint64_t thread, size_t index)
{
	if (index < suspects->states && suspects->list[index].thread == thread)
		return &suspects->list[index];
	for (size_t i = 0; i < suspects->gils; i++)
		if (suspects->list[i].thread == thread || dt_walk_runs(&suspects->list[i].words) == thread)
			return &suspects->list[i];
	return NULL;
}

bool dt_suspects_may_run(const struct dt_suspects *suspects, const struct dt_walk *walk, size_t thread)
{
	const struct dt_walk_thread *it = &walk->threads[thread];

	if (dt_suspects_find(suspects, it->address, thread))
		return true;
	for (size_t t = 0; t < walk->thread_count; t++) {
		const struct dt_walk_thread *other = &walk->threads[t];

		if (other->interpreter != it->interpreter && dt_suspects_find(suspects, other->address, t) &&
		    walk->interpreters[other->interpreter].gil.address ==
			walk->interpreters[it->interpreter].gil.address)
			return true;
	}
	return false;
}
