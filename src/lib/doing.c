/*
 * What a process is doing now: the innermost frame of one thread. Of a process that computes that is the thread with
 * the GIL, else another one that runs (a C function that let the GIL go); of a process that waits it is the main
 * thread, which is what its author would name.
 *
 * Only a running thread costs more than a few microseconds: its CPU is borrowed for the look. It is never stopped.
 */
#include "lib/doing.h"

static unsigned rank(const struct dt_look *look, const struct dt_look_thread *thread)
{
	if (!thread->walk->frame_count && !thread->torn)
		return 0;
	if (thread->state == DT_STATE_RUNNING)
		return thread->gil ? 5 : 4;
	if (thread->walk->ident == look->walk.main_ident && thread->walk->interpreter == 0)
		return 3;
	return thread->walk->interpreter == 0 ? 2 : 1;
}

static const struct dt_look_thread *choose(const struct dt_look *look)
{
	const struct dt_look_thread *best = NULL;
	unsigned highest = 0;

	for (size_t i = 0; i < look->thread_count; i++) {
		unsigned r = rank(look, &look->threads[i]);

		if (r > highest) {
			highest = r;
			best = &look->threads[i];
		}
	}
	return best;
}

int dt_doing(const struct dt_proc *proc, struct dt_mem *mem, const struct dt_python *python, struct dt_arena *arena,
	     struct dt_process *process, struct dt_error *err)
{
	static const struct dt_options options = {.pause = DT_PAUSE_NEVER, .no_names = true};
	const struct dt_look_thread *thread;
	const struct dt_walk_frame *frame;
	struct dt_sampler *sampler;
	const struct dt_look *look;
	int rc = dt_sampler_new(proc, mem, python, &options, NULL, &sampler, err);

	if (rc < 0)
		return rc;
	rc = dt_sampler_look(sampler, &look, err);
	if (rc < 0)
		goto out;
	thread = choose(look);
	if (!thread)
		goto out;
	process->state = thread->state;
	/* Of a torn stack only outer frames are left: none of them is what it does now. */
	if (thread->torn || !thread->walk->frame_count || !thread->walk->frames[0].code)
		goto out;
	frame = &thread->walk->frames[0];
	process->function = dt_arena_strdup(arena, frame->code->name);
	process->file = dt_arena_strdup(arena, frame->code->file);
	process->line = frame->line;
	if (!process->function || !process->file)
		rc = dt_fail(err, DT_EMEMORY, "out of memory");
out:
	dt_sampler_free(sampler);
	return rc;
}
