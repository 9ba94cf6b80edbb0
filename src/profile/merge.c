/*
 * Recordings put together: see dt_profile_merge(). Numbers of the other recording are translated through tables, one
 * per kind, which are filled in the order of the numbers; what an item speaks of is translated before it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "profile/inside.h"
#include "profile/known.h"

struct merge {
	struct dt_profile *into;
	const struct dt_profile *from;
	uint64_t later_ns;                /* that the other one began after this one */
	uint64_t until_ns;                /* where this one ends */
	uint64_t twice_ns, twice_samples; /* of runs, that was left out */
	uint64_t wall_ns;                 /* of all runs of the other one */
	struct known_processes known;
	uint32_t *strings, *functions, *locations, *stacks, *process_ids, *thread_ids;
};

static uint64_t plus(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static int merge_strings(struct merge *m, uint32_t count)
{
	int rc = 0;

	for (uint32_t i = 1; i <= count && rc == 0; i++) {
		const struct dt_profile_string *string = profile_string_at(m->from, i);

		rc = dt_profile_string(m->into, string->text, string->length, &m->strings[i]);
	}
	return rc;
}

static int merge_stacks(struct merge *m, const struct dt_profile_counts *counts)
{
	int rc = 0;

	for (uint32_t i = 1; i <= counts->functions && rc == 0; i++) {
		struct dt_profile_function function = *dt_profile_function_at(m->from, i);

		function.name = m->strings[function.name];
		function.file = m->strings[function.file];
		rc = dt_profile_function(m->into, &function, &m->functions[i]);
	}
	for (uint32_t i = 1; i <= counts->locations && rc == 0; i++) {
		struct dt_profile_location location = *dt_profile_location_at(m->from, i);

		location.function = m->functions[location.function];
		rc = dt_profile_location(m->into, &location, &m->locations[i]);
	}
	for (uint32_t i = 1; i <= counts->stacks && rc == 0; i++) {
		const struct dt_profile_stack *stack = dt_profile_stack_at(m->from, i);

		rc = dt_profile_stack(m->into, m->stacks[stack->parent], m->locations[stack->location], &m->stacks[i]);
	}
	return rc;
}

/* A process that is in both: a rotation goes on with it, or two looked at it at once. It has the words that it was
 * first met with, and has ended if the recording says so that has seen it last. */
static int go_on(struct merge *m, uint32_t id, const struct dt_profile_process *again)
{
	struct dt_profile_process process = *dt_profile_process_at(m->into, id);
	uint64_t end_ns = plus(m->later_ns, m->from->meta.duration_ns);

	process.began_ns = DT_MIN(process.began_ns, again->began_ns);
	if (again->ended_ns)
		process.ended_ns = DT_MAX(process.ended_ns, again->ended_ns);
	else if (process.ended_ns <= end_ns)
		process.ended_ns = 0;
	if (!process.start_ns)
		process.start_ns = again->start_ns;
	if (!process.image)
		process.image = again->image;
	return dt_profile_set_process(m->into, id, &process);
}

static int merge_process(struct merge *m, uint32_t number)
{
	struct dt_profile_process process = *dt_profile_process_at(m->from, number);
	uint32_t known;

	process.command = m->strings[process.command];
	process.executable = m->strings[process.executable];
	process.version = m->strings[process.version];
	process.container = m->strings[process.container];
	process.began_ns = DT_MIN(process.began_ns + m->later_ns, DT_PROFILE_TIME);
	if (process.ended_ns)
		process.ended_ns = DT_MIN(process.ended_ns + m->later_ns, DT_PROFILE_TIME);
	known = known_processes_find(&m->known, &process);
	if (!known)
		return dt_profile_add_process(m->into, &process, &m->process_ids[number]);
	m->process_ids[number] = known;
	return go_on(m, known, &process);
}

/* Ids of another host mean others, and no process outlives its kernel. */
static bool may_go_on(const struct merge *m)
{
	const struct dt_profile_meta *ours = &m->into->meta, *theirs = &m->from->meta;

	return m->strings[theirs->host] == ours->host &&
	       (!theirs->boot || !ours->boot || m->strings[theirs->boot] == ours->boot);
}

static int merge_processes(struct merge *m, const struct dt_profile_counts *counts)
{
	int rc = may_go_on(m) ? known_processes_init(&m->known, m->into, dt_profile_same_boot(m->into, m->from)) : 0;

	for (uint32_t i = 1; i <= counts->processes && rc == 0; i++)
		rc = merge_process(m, i);
	known_processes_release(&m->known);
	return rc;
}

/* The threads of processes that are known, by process, id and ident, to be found again. */
struct known_thread {
	uint32_t process, id;
	uint64_t tid, ident;
	int64_t interpreter;
};

static int by_identity(const void *a, const void *b)
{
	const struct known_thread *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	if (x->ident != y->ident)
		return x->ident < y->ident ? -1 : 1;
	return (x->interpreter > y->interpreter) - (x->interpreter < y->interpreter);
}

static struct known_thread identity(const struct dt_profile_thread *thread, uint32_t id)
{
	return (struct known_thread){.process = thread->process,
				     .id = id,
				     .tid = thread->tid,
				     .ident = thread->ident,
				     .interpreter = thread->interpreter};
}

static int merge_thread(struct merge *m, uint32_t number, const struct known_thread *known, size_t known_count)
{
	struct dt_profile_thread thread = *dt_profile_thread_at(m->from, number);
	const struct known_thread *same;
	struct known_thread key;

	thread.process = m->process_ids[thread.process];
	thread.name = m->strings[thread.name];
	key = identity(&thread, 0);
	same = known_count ? bsearch(&key, known, known_count, sizeof(*known), by_identity) : NULL;
	if (!same)
		return dt_profile_add_thread(m->into, &thread, &m->thread_ids[number]);
	m->thread_ids[number] = same->id;
	if (!thread.name)
		thread.name = dt_profile_thread_at(m->into, same->id)->name;
	return dt_profile_set_thread(m->into, same->id, &thread);
}

static int merge_threads(struct merge *m, const struct dt_profile_counts *counts)
{
	size_t known_count = m->into->threads.count;
	struct known_thread *known = calloc(known_count + 1, sizeof(*known));
	int rc = known ? 0 : -ENOMEM;

	for (uint32_t i = 0; known && i < known_count; i++)
		known[i] = identity(dt_profile_thread_at(m->into, i + 1), i + 1);
	if (known)
		qsort(known, known_count, sizeof(*known), by_identity);
	for (uint32_t i = 1; i <= counts->threads && rc == 0; i++)
		rc = merge_thread(m, i, known, known_count);
	free(known);
	return rc;
}

/* Leaves out the part of a run that its thread has already; false: all of it. */
static bool cut_off(struct merge *m, struct dt_profile_run *run)
{
	uint64_t until_ns = profile_thread_entry(m->into, run->thread)->end_ns;
	uint64_t twice = run->start_ns < until_ns ? until_ns - run->start_ns : 0;
	uint32_t samples = run->samples;
	double left;

	if (!twice)
		return true;
	m->twice_ns = plus(m->twice_ns, DT_MIN(twice, run->wall_ns));
	if (twice >= run->wall_ns) {
		m->twice_samples = plus(m->twice_samples, samples);
		return false;
	}
	left = (double)(run->wall_ns - twice) / (double)run->wall_ns;
	run->cpu_ns = (uint64_t)((double)run->cpu_ns * left);
	run->samples = (uint32_t)((double)samples * left + 0.5);
	m->twice_samples = plus(m->twice_samples, samples - run->samples);
	run->start_ns += twice;
	run->wall_ns -= twice;
	return true;
}

static int merge_runs(struct merge *m)
{
	int rc = 0;

	for (size_t i = 0; i < m->from->run_count && rc == 0; i++) {
		struct dt_profile_run run = m->from->runs[i];

		run.thread = m->thread_ids[run.thread];
		run.stack = m->stacks[run.stack];
		run.call = m->strings[run.call];
		run.start_ns += m->later_ns;
		if (run.start_ns > DT_PROFILE_TIME || run.wall_ns > DT_PROFILE_TIME - run.start_ns)
			return -EINVAL;
		m->wall_ns = plus(m->wall_ns, run.wall_ns);
		if (cut_off(m, &run))
			rc = dt_profile_add_run(m->into, &run);
	}
	return rc;
}

static uint32_t same_or_none(const struct merge *m, uint32_t ours, uint32_t theirs)
{
	return m->strings[theirs] == ours ? ours : 0;
}

/* Where a recording ends, by its own clock. */
static uint64_t end_of(const struct dt_profile *profile)
{
	uint64_t end_ns = plus(profile->meta.duration_ns, profile->meta.damaged_ns);

	if (profile->until_ns)
		return profile->until_ns;
	for (uint32_t i = 1; i <= profile->threads.count; i++)
		end_ns = DT_MAX(end_ns, profile_thread_entry(profile, i)->end_ns);
	return end_ns;
}

/* Time that both cover counts once. What was left out of the other one is in none of its figures: rounds that brought
 * nothing but that are not counted. The rest of them is of time in which both looked, each at its own processes. */
static void merge_times(const struct merge *m, struct dt_profile_meta *meta)
{
	const struct dt_profile_meta *theirs = &m->from->meta;
	double left = m->wall_ns ? 1 - (double)m->twice_ns / (double)m->wall_ns : 1;
	uint64_t both_ns = m->until_ns > m->later_ns ? m->until_ns - m->later_ns : 0;
	uint64_t looked_ns = dt_profile_looked(theirs);
	struct dt_profile_quality quality = theirs->quality;

	looked_ns = plus(dt_profile_looked(meta), left < 1 ? (uint64_t)((double)looked_ns * left) : looked_ns);
	meta->duration_ns = plus(meta->duration_ns, theirs->duration_ns - DT_MIN(both_ns, theirs->duration_ns));
	meta->looked_ns = looked_ns > meta->duration_ns ? looked_ns : 0;
	meta->damaged_ns = plus(meta->damaged_ns, theirs->damaged_ns);
	meta->damaged_samples = plus(meta->damaged_samples, theirs->damaged_samples);
	profile_quality_part(&quality, left);
	quality.samples = theirs->quality.samples - DT_MIN(m->twice_samples, theirs->quality.samples);
	profile_quality_add(&meta->quality, &quality);
}

static int merge_meta(struct merge *m)
{
	static const char several[] = "several ways";
	struct dt_profile_meta meta = m->into->meta;
	uint32_t rung = m->strings[m->from->meta.rung];
	int rc = 0;

	merge_times(m, &meta);
	if (meta.rate < m->from->meta.rate || meta.rate > m->from->meta.rate)
		meta.rate = 0;
	meta.mode = same_or_none(m, meta.mode, m->from->meta.mode);
	meta.host = same_or_none(m, meta.host, m->from->meta.host);
	meta.darter = same_or_none(m, meta.darter, m->from->meta.darter);
	meta.rung_why = same_or_none(m, meta.rung_why, m->from->meta.rung_why);
	if (!meta.rung)
		meta.rung = rung;
	else if (rung && rung != meta.rung)
		rc = dt_profile_string(m->into, several, strlen(several), &meta.rung);
	if (rc == 0)
		dt_profile_set_meta(m->into, &meta);
	return rc;
}

bool dt_profile_same_boot(const struct dt_profile *a, const struct dt_profile *b)
{
	return a->meta.boot && b->meta.boot && a->meta.began_boot_ns && b->meta.began_boot_ns &&
	       !strcmp(dt_profile_text(a, a->meta.boot), dt_profile_text(b, b->meta.boot));
}

/* One that does not tell when it began follows behind what there is. */
static uint64_t how_much_later(const struct dt_profile *first, const struct dt_profile *second)
{
	bool boot = dt_profile_same_boot(first, second);
	uint64_t a = boot ? first->meta.began_boot_ns : first->meta.began_realtime_ns;
	uint64_t b = boot ? second->meta.began_boot_ns : second->meta.began_realtime_ns;

	return DT_MIN(a && b >= a ? b - a : end_of(first), DT_PROFILE_TIME);
}

int dt_profile_merge(struct dt_profile *into, const struct dt_profile *from, uint64_t *twice_ns)
{
	struct dt_profile_counts counts = dt_profile_counts(from);
	struct merge m = {.into = into, .from = from, .later_ns = how_much_later(into, from), .until_ns = end_of(into)};
	struct {
		uint32_t **table;
		size_t count;
	} const tables[] = {{&m.strings, counts.strings},       {&m.functions, counts.functions},
			    {&m.locations, counts.locations},   {&m.stacks, counts.stacks},
			    {&m.process_ids, counts.processes}, {&m.thread_ids, counts.threads}};
	int rc = 0;

	for (size_t i = 0; i < DT_COUNT(tables); i++) {
		*tables[i].table = calloc(tables[i].count + 1, sizeof(uint32_t));
		if (!*tables[i].table)
			rc = -ENOMEM;
	}
	if (rc == 0)
		rc = merge_strings(&m, counts.strings);
	if (rc == 0)
		rc = merge_stacks(&m, &counts);
	if (rc == 0)
		rc = merge_processes(&m, &counts);
	if (rc == 0)
		rc = merge_threads(&m, &counts);
	if (rc == 0)
		rc = merge_runs(&m);
	if (rc == 0)
		rc = merge_meta(&m);
	*twice_ns = plus(*twice_ns, m.twice_ns);
	into->until_ns = DT_MAX(m.until_ns, plus(m.later_ns, end_of(from)));
	for (size_t i = 0; i < DT_COUNT(tables); i++)
		free(*tables[i].table);
	return rc;
}
