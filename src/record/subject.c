/* A process of a recording, and the names of its threads: see subject.h. */
#include "base/util.h"
#include "python/thread_names.h"
#include "record/subject_inside.h"

#define NAMES       65536
#define GROUP_SHIFT 32                   /* of the number of an interpreter, above the place of a name in its list */
#define NAMES_NS    UINT64_C(1000000000) /* names are read as often as that: a thread may get another one */
#define SOON_NS     UINT64_C(50000000)   /* or that, if there are threads without: a pool begins many at once */
#define HOLD_NS     UINT64_C(2000000)    /* for so long threads may stand in the first look */
#define NAMES_REST  100                  /* times as long as it took to read them there is none */

static int read_names(void *context, struct dt_mem *image, const struct dt_walk *walk, struct dt_arena *arena)
{
	struct dt_subject *subject = context;
	struct dt_budget budget = walk->budget;
	uint64_t began;

	subject->name_groups = 0;
	if (!subject->names_wanted || !walk->interpreter_count)
		return 0;
	began = dt_clock_ns();
	subject->names = dt_arena_calloc(arena, walk->interpreter_count, sizeof(*subject->names));
	if (!subject->names || !dt_index_clear(&subject->by_ident, 0))
		return 0;
	budget.steps = NAMES;
	for (size_t i = 0; i < walk->interpreter_count; i++) {
		struct dt_subject_names *group = &subject->names[subject->name_groups++];

		group->interpreter = walk->interpreters[i].id;
		if (dt_thread_names(image, &subject->python->layout, walk->interpreters[i].address, arena, &budget,
				    &group->names, &group->count) < 0)
			group->count = 0;
		for (size_t k = 0; k < group->count; k++)
			dt_index_put(&subject->by_ident, group->names[k].ident, i << GROUP_SHIFT | k);
	}
	subject->names_read = true;
	subject->names_took = dt_clock_ns() - began;
	return 0;
}

int dt_subject_new(const struct dt_proc *proc, struct dt_mem *live, const struct dt_python *python,
		   const struct dt_options *options, struct dt_subject **result, struct dt_error *err)
{
	struct dt_subject *subject = calloc(1, sizeof(*subject));
	int rc = DT_EMEMORY;

	if (!subject)
		return dt_fail(err, DT_EMEMORY, "out of memory");
	subject->pid = proc->pid;
	subject->python = python;
	subject->names_wanted = true;
	subject->pool = dt_image_pool_new_empty();
	if (subject->pool)
		rc = dt_recorder_new(proc, live, python, options, subject->pool, &subject->recorder, err);
	else
		dt_fail(err, DT_EMEMORY, "out of memory");
	if (rc < 0) {
		dt_subject_free(subject);
		return rc;
	}
	dt_recorder_set_extra(subject->recorder, read_names, subject);
	*result = subject;
	return 0;
}

void dt_subject_free(struct dt_subject *subject)
{
	if (!subject)
		return;
	dt_recorder_free(subject->recorder);
	dt_image_pool_free(subject->pool);
	free(subject->told_codes);
	free(subject->threads);
	dt_index_release(&subject->by_ident);
	free(subject);
}

/* Beside: who sits on the CPU of a process that was just forked, and whose look fails until it has got on, keeps it
 * from getting on. */
int dt_subject_meet(struct dt_subject *subject, struct dt_image_pool *pool, struct dt_error *err)
{
	const struct dt_seat beside = {.kind = DT_SEAT_BESIDE, .cpu = -1};
	const struct dt_moment moment = {.seat = &beside, .ladder = true, .hold_ns = HOLD_NS, .late_ns = UINT64_MAX};
	const uint64_t stood_ns = dt_pause_sum().stood_ns;
	enum dt_taken taken;
	int rc;

	dt_image_pool_lend(subject->pool, pool);
	rc = dt_recorder_take(subject->recorder, &moment, &taken, err);
	subject->met_ns = dt_clock_ns();
	subject->stood_ns = dt_pause_sum().stood_ns - stood_ns;
	dt_image_pool_lend(subject->pool, NULL);
	return rc;
}

/* The one that its own interpreter gives it. A thread state that is lent is not run by the thread that it names. */
const char *subject_name_of(const struct dt_subject *subject, const struct dt_recorded *thread)
{
	size_t step = 0, at;

	while (subject->name_groups && !thread->lent && dt_index_next(&subject->by_ident, thread->ident, &step, &at)) {
		const struct dt_subject_names *group = &subject->names[at >> GROUP_SHIFT];

		if (group->interpreter == thread->interpreter)
			return group->names[at & (((size_t)1 << GROUP_SHIFT) - 1)].name;
	}
	return NULL;
}

/* To read names is a look at all threads, and more: a program that makes new threads all the time is not looked at
 * like that for each of them. Who lives for a shorter time than that may stay without a name. Some threads have none,
 * and others not yet: a program that was met when it began has not imported threading. sought: how often the name of
 * the newest of them was looked for. */
void subject_plan_names(struct dt_subject *subject, unsigned sought, uint64_t at_ns)
{
	uint64_t rest_ns = DT_MAX(DT_MIN(SOON_NS << sought, NAMES_NS), NAMES_REST * subject->names_took);

	subject->names_wanted = at_ns - subject->names_ns > rest_ns;
	if (!subject->names_wanted)
		return;
	subject->names_ns = at_ns;
	dt_recorder_refresh(subject->recorder);
}
