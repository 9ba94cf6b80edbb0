/* The last rung: nothing is held, and looks must agree. */
#include <errno.h>
#include <time.h>

#include "base/util.h"
#include "sample/agree.h"
#include "sample/look.h"

#define HELD_LOOK      DT_AGREE_LOOKS /* each fifth, when looks may first agree, and the last one */
#define AGREE_ATTEMPTS 25
#define JITTER_NS      250000

/* Looks at a thread that was put aside by the kernel in the middle of a call agree, too, and all see what never was. */
static bool doubtful(const struct dt_walk_thread *thread, bool suspect)
{
	return thread->end == DT_WALK_BROKEN || (suspect && thread->end == DT_WALK_BETWEEN);
}

/* Looks at equal distances may meet a loop at the same place each time: they are taken at unequal ones. */
static void jitter(struct dt_sampler *s)
{
	s->random = s->random * UINT64_C(6364136223846793005) + (uint64_t)getpid() + 1;
	nanosleep(&(struct timespec){.tv_nsec = (long)(s->random >> 33) % JITTER_NS}, NULL);
}

/* What proves a thread of the last look, if nothing has changed meanwhile: agreement is for suspects. On free-threaded
 * builds each thread that slept through the look, or was held, is proven by that. */
static enum dt_proof proof_of(struct dt_sampler *s, size_t t, bool kept)
{
	const struct dt_walk *walk = &s->look.walk;
	const struct dt_suspect *suspect = dt_suspects_find(&s->suspects, walk->threads[t].address, t);

	if (!s->python->layout.free_threaded)
		return dt_suspects_may_run(&s->suspects, walk, t) ? DT_PROOF_AGREE : DT_PROOF_STILL;
	if (!suspect)
		return DT_PROOF_AGREE;
	if (dt_holds_has(&s->holds, suspect->tid))
		return kept ? DT_PROOF_PAUSE : DT_PROOF_AGREE;
	return suspect->unborn || dt_suspect_slept(s->proc, suspect) ? DT_PROOF_STILL : DT_PROOF_AGREE;
}

/* The proofs of all threads of the last look. NULL if there is no memory. */
static enum dt_proof *find_proofs(struct dt_sampler *s)
{
	const struct dt_walk *walk = &s->look.walk;
	enum dt_proof *proofs = dt_arena_calloc(&s->arenas[s->current], walk->thread_count + 1, sizeof(*proofs));
	bool all = s->suspects.unknown || !s->suspects.counted ||
		   !dt_suspects_equal(s->live, s->python, &s->suspects, walk);
	bool own = s->python->layout.free_threaded;
	bool kept = dt_holds_kept(&s->holds);

	all = all || (own && dt_suspects_doubt(s->live, s->python, &s->suspects, walk));
	for (size_t t = 0; proofs && t < walk->thread_count; t++)
		proofs[t] = all ? DT_PROOF_AGREE : proof_of(s, t, kept);
	return proofs;
}

/* Free-threaded: that one thread cannot be held is no reason to believe less of the others. Now and then a look is
 * taken while those are held that can be; as a rule the first time is enough, for who computes in C keeps his stack. */
static int look_once(struct dt_sampler *s, bool held, enum dt_proof **proofs)
{
	int rc = 0;

	if (s->python->layout.free_threaded && held) {
		dt_holds_take_some(&s->holds, &s->suspects);
		rc = dt_look_collect(s);
	}
	if (rc == 0)
		rc = dt_look_once(s);
	if (rc == 0) {
		*proofs = find_proofs(s);
		rc = *proofs ? 0 : -ENOMEM;
	}
	dt_holds_end(&s->holds);
	return rc;
}

/* Rung 4: see agree.h. Threads that are no suspects need no agreement if the words were equal around the last look. */
int dt_look_until_agreed(struct dt_sampler *s)
{
	struct dt_agree before = {0};
	struct dt_agree now = {0};
	struct dt_look *look = &s->look;
	enum dt_proof *proofs = NULL;

	for (int i = 0, last = 0; !last; i++) {
		size_t missing = 0;
		int rc = dt_look_collect(s);

		if (rc < 0)
			return rc;
		last = i == AGREE_ATTEMPTS - 1 || dt_look_late(s);
		s->current ^= 1;
		jitter(s);
		rc = look_once(s, last || i % HELD_LOOK == HELD_LOOK - 1, &proofs);
		if (rc < 0 || !proofs)
			return rc < 0 ? rc : -ENOMEM;
		if (dt_agree_step(&before, &look->walk, &s->arenas[s->current], &now) < 0)
			return -ENOMEM;
		before = now;
		for (size_t t = 0; t < now.count; t++) {
			bool moving = proofs[t] == DT_PROOF_AGREE;

			missing += doubtful(&look->walk.threads[t], moving) ||
				   (moving && now.threads[t].equal < DT_AGREE_LOOKS);
		}
		if (!missing && look->walk.lists_whole)
			break;
	}
	if (!look->walk.thread_count && !look->walk.lists_whole)
		return -EAGAIN; /* of a program that only just began or changes all the time nothing was seen */
	look->torn = 0;
	if (!proofs || dt_look_threads(s) < 0)
		return -ENOMEM;
	for (size_t t = 0; t < look->thread_count; t++) {
		struct dt_look_thread *thread = &look->threads[t];
		bool moving = proofs[t] == DT_PROOF_AGREE;

		thread->gil = dt_look_has_gil(look, thread->walk);
		thread->proof = proofs[t];
		if (doubtful(thread->walk, moving))
			dt_look_tear(look, thread, 0);
		else if (moving && now.threads[t].equal < DT_AGREE_LOOKS)
			dt_look_tear(look, thread, now.threads[t].common);
	}
	return 0;
}
