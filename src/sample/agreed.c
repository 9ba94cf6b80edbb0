/* The last rung: nothing is held, and looks must agree. */
#include <errno.h>
#include <time.h>

#include "base/util.h"
#include "sample/agree.h"
#include "sample/look.h"

#define AGREE_ATTEMPTS 24
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

/* Rung 4: see agree.h. Threads that are no suspects need no agreement if the words were equal around the last look. */
int dt_look_until_agreed(struct dt_sampler *s)
{
	struct dt_agree before = {0};
	struct dt_agree now = {0};
	struct dt_look *look = &s->look;
	bool all = true; /* are suspect */

	for (int i = 0; i < AGREE_ATTEMPTS && (i == 0 || !dt_look_late(s)); i++) {
		size_t missing = 0;
		int rc = dt_look_collect(s);

		if (rc < 0)
			return rc;
		s->current ^= 1;
		jitter(s);
		rc = dt_look_once(s);
		if (rc < 0)
			return rc;
		all = s->suspects.unknown || !dt_suspects_words_equal(s->live, s->python, &s->suspects, &look->walk);
		if (dt_agree_step(&before, &look->walk, &s->arenas[s->current], &now) < 0)
			return -ENOMEM;
		before = now;
		for (size_t t = 0; t < now.count; t++) {
			bool suspect = all || dt_suspects_may_run(&s->suspects, &look->walk, t);

			missing += doubtful(&look->walk.threads[t], suspect) ||
				   (suspect && now.threads[t].equal < DT_AGREE_LOOKS);
		}
		if (!missing && look->walk.lists_whole)
			break;
	}
	if (!look->walk.thread_count && !look->walk.lists_whole)
		return -EAGAIN; /* of a program that only just began or changes all the time nothing was seen */
	look->torn = 0;
	if (dt_look_threads(s) < 0)
		return -ENOMEM;
	for (size_t t = 0; t < look->thread_count; t++) {
		struct dt_look_thread *thread = &look->threads[t];
		bool suspect = all || dt_suspects_may_run(&s->suspects, &look->walk, t);

		thread->gil = dt_look_has_gil(look, thread->walk);
		thread->proof = suspect ? DT_PROOF_AGREE : DT_PROOF_STILL;
		if (doubtful(thread->walk, suspect))
			dt_look_tear(look, thread, 0);
		else if (suspect && now.threads[t].equal < DT_AGREE_LOOKS)
			dt_look_tear(look, thread, now.threads[t].common);
	}
	return 0;
}
