/* What a look proves of each thread: see look.h. */
#include "sample/label.h"
#include "sample/look.h"

#define FEW_THREADS 16 /* whose states are read while everything is still held */

int dt_look_label(struct dt_sampler *s)
{
	s->labelled = true;
	return dt_label(&s->holds, s->tids, s->image, &s->arenas[s->current], &s->look);
}

/* A thread that runs without the GIL, and is held because everybody is suspect. */
static bool held_without_gil(struct dt_sampler *s, struct dt_look_thread *thread)
{
	if (!s->suspects.everybody || !dt_holds_any(&s->holds))
		return false;
	thread->tid = dt_tids_of(s->tids, s->image, thread->walk->ident, thread->walk->native, &thread->ns_tid);
	return dt_holds_has(&s->holds, thread->tid);
}

/* Is a suspect run by another thread than it names, and that one is held? */
static bool is_borrowed(const struct dt_sampler *s, const struct dt_suspect *suspect,
			const struct dt_look_thread *thread)
{
	if (!suspect || !dt_holds_any(&s->holds))
		return false;
	if (s->python->layout.free_threaded)
		return s->everybody && suspect->attached && !dt_holds_has(&s->holds, suspect->tid);
	return thread->gil && dt_suspects_borrowed(&s->suspects, suspect);
}

/* By whom, 0 if that cannot be told. Without a GIL it is the one thread that is held, unless it runs one in its own
 * name. */
static int runner_of(const struct dt_sampler *s, const struct dt_suspect *suspect)
{
	int tid = dt_holds_single(&s->holds);

	if (!s->python->layout.free_threaded)
		return dt_suspects_stranger(&s->suspects);
	for (size_t i = 0; i < s->suspects.states; i++)
		if (s->suspects.list[i].tid == tid && s->suspects.list[i].runs &&
		    s->suspects.list[i].runs != suspect->thread)
			return 0;
	return tid;
}

int dt_look_judge(struct dt_sampler *s)
{
	struct dt_look *look = &s->look;
	enum dt_proof held = s->holds.pause_count ? DT_PROOF_PAUSE : DT_PROOF_PERCH;
	int rc = dt_look_threads(s);

	look->torn = 0;
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < look->thread_count; i++) {
		struct dt_look_thread *thread = &look->threads[i];
		const struct dt_suspect *suspect = dt_suspects_find(&s->suspects, thread->walk->address, i);

		thread->proof = DT_PROOF_STILL;
		thread->gil = dt_look_has_gil(look, thread->walk);
		if (suspect) {
			thread->tid = suspect->tid;
			thread->ns_tid = suspect->ns_tid;
		}
		if (is_borrowed(s, suspect, thread)) {
			thread->proof = held;
			thread->runner = runner_of(s, suspect);
		} else if (suspect ? dt_holds_has(&s->holds, suspect->tid) : held_without_gil(s, thread)) {
			thread->proof = s->holds.perched == thread->tid ? DT_PROOF_PERCH : DT_PROOF_PAUSE;
			thread->state = DT_STATE_RUNNING;
		}
		if (thread->walk->end == DT_WALK_BROKEN)
			dt_look_tear(look, thread, 0);
	}
	/* Of many threads they are read after everything was let go: states are then of a moment later. */
	return look->thread_count <= FEW_THREADS ? dt_look_label(s) : 0;
}
