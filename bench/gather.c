/*
 * gather PID SECONDS: reads the stack of the main thread again and again, as a recording does where only that thread
 * can have run, and prints as JSON how often that was possible: raw, and with all that proves a look, as it is asked
 * for each sample. The target has to stand still: nothing is held here.
 */
#include <darter/darter.h>
#include <stdlib.h>
#include <time.h>

#include "base/util.h"
#include "lib/target.h"
#include "proc/thread_files.h"
#include "sample/look.h"

#define WARM_UP 100
#define BATCH   256 /* gathers between two looks at the clock */

struct lane {
	struct dt_target *target;
	struct dt_mem *image;
	struct dt_arena arena;
	struct dt_budget budget;
	struct dt_walk_interpreter interpreter;
	struct dt_walk_thread thread;
	struct dt_thread_files files;
	uint64_t failed;
};

/* The stack, with names and lines: the pages of the last time in one call, and what is not there in others. */
static bool gather(struct lane *lane)
{
	struct dt_walk_thread thread = {.address = lane->thread.address};
	struct dt_code_cache *codes = lane->target->sampler->codes;

	dt_arena_reset(&lane->arena);
	dt_budget_begin(&lane->budget, DT_WALK_FRAMES);
	dt_image_begin(lane->image);
	dt_image_prefetch(lane->image);
	dt_code_cache_begin(codes); /* each gather is a look of its own: what is kept of codes is checked again */
	if (dt_walk_one(lane->image, &lane->target->python, codes, &lane->arena, &lane->budget, &thread) < 0 ||
	    thread.end != DT_WALK_WHOLE || thread.frame_count != lane->thread.frame_count)
		return false;
	dt_code_cache_confirm(codes);
	return true;
}

/* The same between two equal counts of time slices, with the words of the GIL and the thread's state. */
static bool prove(struct lane *lane)
{
	struct dt_target *target = lane->target;
	struct dt_thread_sched before, after;
	struct dt_thread_stat stat;
	struct dt_pulse pulse;

	if (dt_thread_sched_now(&lane->files, &before) < 0 ||
	    dt_walk_pulse(target->live, &target->python, &lane->interpreter, &pulse) < 0 ||
	    dt_thread_stat_now(&lane->files, &stat) < 0)
		return false;
	dt_code_cache_generation(target->sampler->codes, pulse.code_generation);
	return gather(lane) && dt_thread_sched_now(&lane->files, &after) == 0 && after.slices == before.slices;
}

/* CPU time: nothing here ever waits, so what others do on the machine is no part of it. */
static uint64_t spent_ns(void)
{
	struct timespec spent;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
	return (uint64_t)spent.tv_sec * 1000000000u + (uint64_t)spent.tv_nsec;
}

static double rate(struct lane *lane, bool (*once)(struct lane *), double seconds)
{
	uint64_t begin, now, done = 0;

	for (int i = 0; i < WARM_UP; i++)
		once(lane);
	begin = spent_ns();
	do {
		for (int i = 0; i < BATCH; i++)
			lane->failed += !once(lane);
		done += BATCH;
		now = spent_ns();
	} while ((double)(now - begin) < seconds * 1e9);
	return (double)done * 1e9 / (double)(now - begin);
}

/* The main thread as a look at everything has it. */
static int find_thread(struct lane *lane, struct dt_error *err)
{
	const struct dt_look *look;
	int rc = dt_sampler_look(lane->target->sampler, &look, err);

	if (rc < 0)
		return rc;
	if (!look->thread_count || !look->threads[0].tid)
		return dt_fail(err, DT_ERUNTIME, "the thread is not known");
	lane->interpreter = look->walk.interpreters[0];
	lane->thread = *look->threads[0].walk;
	dt_thread_files_init(&lane->files, &lane->target->proc, look->threads[0].tid);
	return 0;
}

static int measure(struct lane *lane, double seconds, struct dt_error *err)
{
	double raw, proven;
	int rc = find_thread(lane, err);

	if (rc < 0)
		return rc;
	if (dt_mem_open_image(lane->target->live, NULL, &lane->image) < 0)
		return dt_fail(err, DT_EMEMORY, "out of memory");
	/* First, because where the interpreter counts code objects that ended this tells the cache. */
	proven = rate(lane, prove, seconds / 2);
	raw = rate(lane, gather, seconds / 2);
	printf("{\"raw\": %.0f, \"proven\": %.0f, \"frames\": %zu, \"failed\": %llu}\n", raw, proven,
	       lane->thread.frame_count, (unsigned long long)lane->failed);
	return 0;
}

int main(int argc, char **argv)
{
	struct lane lane = {0};
	struct dt_error err;
	int rc;

	if (argc != 3) {
		fprintf(stderr, "usage: gather PID SECONDS\n");
		return 2;
	}
	rc = dt_attach((int)strtol(argv[1], NULL, 10), NULL, &lane.target, &err);
	if (rc < 0) {
		fprintf(stderr, "gather: %s\n%s\n", err.message, err.hint);
		return 1;
	}
	dt_arena_init(&lane.arena, 0);
	dt_thread_files_init(&lane.files, &lane.target->proc, 0);
	rc = measure(&lane, strtod(argv[2], NULL), &err);
	if (rc < 0)
		fprintf(stderr, "gather: %s\n%s\n", err.message, err.hint);
	dt_thread_files_release(&lane.files);
	dt_mem_free(lane.image);
	dt_arena_release(&lane.arena);
	dt_release(lane.target);
	return rc ? 1 : 0;
}
