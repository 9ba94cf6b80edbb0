/* One look, and what is made of it: see look.h. */
#include "sample/look.h"

#include <errno.h>

#include "base/util.h"

#define LOOK_CPU_NS 1500000000u  /* of our own, after which nothing more is tried: a hostile target may make it slow */
#define LOOK_NS     20000000000u /* the same by the clock: on a busy machine we wait more than we work */

int dt_look_once(struct dt_sampler *s)
{
	struct dt_arena *arena = &s->arenas[s->current];
	uint64_t start;
	int rc;

	dt_arena_reset(arena);
	dt_image_begin(s->image);
	dt_tids_begin(s->tids);
	start = dt_clock_ns();
	if (s->warm)
		dt_image_prefetch(s->image);
	else
		dt_image_follow(s->image);
	rc = dt_walk_all(s->image, s->python, s->codes, s->threads, arena, &s->look.walk);
	if (rc == 0 && s->extra)
		rc = s->extra(s->context, s->image, &s->look.walk, arena);
	s->look.window_ns = dt_clock_ns() - start;
	s->look.looks++;
	if (rc == 0 && !s->warm)
		dt_image_lead(s->image);
	s->warm = s->warm || rc == 0;
	if (rc == 0 && s->python->layout.thread.native_thread_id == DT_ABSENT)
		dt_tids_learn(s->tids, s->image, &s->look.walk);
	return rc;
}

bool dt_look_late(const struct dt_sampler *s)
{
	return dt_cpu_ns() - s->began_cpu_ns > LOOK_CPU_NS ||
	       dt_clock_ns() - s->began_ns > (s->limit_ns ? s->limit_ns : LOOK_NS);
}

void dt_look_clock(struct dt_sampler *s)
{
	s->threads = dt_proc_thread_count(s->proc);
	s->began_ns = dt_clock_ns();
	s->began_cpu_ns = dt_cpu_ns();
}

int dt_look_collect(struct dt_sampler *s)
{
	const struct dt_suspects_wanted wanted = {s->everybody, s->threads, s->began_cpu_ns + LOOK_CPU_NS};
	int rc;

	dt_arena_reset(&s->scratch);
	dt_tids_begin(s->tids);
	rc = dt_suspects_collect(s->proc, s->live, s->python, s->tids, &wanted, &s->scratch, &s->suspects);
	if (rc == 0 && s->everybody) /* there was a look, the walk of which is still there */
		dt_suspects_doubt(s->live, s->python, &s->suspects, &s->look.walk);
	return rc;
}

int dt_look_threads(struct dt_sampler *s)
{
	struct dt_look *look = &s->look;

	look->thread_count = look->walk.thread_count;
	look->threads = dt_arena_calloc(&s->arenas[s->current], look->thread_count + 1, sizeof(*look->threads));
	if (!look->threads)
		return -ENOMEM;
	for (size_t i = 0; i < look->thread_count; i++)
		look->threads[i].walk = &look->walk.threads[i];
	return 0;
}

bool dt_look_has_gil(const struct dt_look *look, const struct dt_walk_thread *thread)
{
	return dt_walk_runs(&look->walk.interpreters[thread->interpreter].gil) == thread->address;
}

void dt_look_tear(struct dt_look *look, struct dt_look_thread *thread, size_t outer_frames)
{
	struct dt_walk_thread *walk = &look->walk.threads[thread - look->threads];

	walk->frames += walk->frame_count - outer_frames;
	walk->frame_count = outer_frames;
	thread->torn = true;
	thread->proof = DT_PROOF_NONE;
	look->torn++;
}
