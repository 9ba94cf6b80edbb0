/*
 * From messages to runs: see collector.h.
 *
 * Each thread has an open run: the stack and state it was last told with, and since which round. A round that says
 * nothing of a thread costs nothing: how long a run has lasted is the difference between the process's clock now and
 * when it began.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "record/collector_inside.h"

static const struct dt_collector_limits usual_limits = {
    .process_threads = 65536, .threads = 1u << 20, .stacks = 8u << 20};

struct dt_collector *dt_collector_new(struct dt_profile *profile, const struct dt_collector_limits *limits)
{
	struct dt_collector *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->profile = profile;
	c->limits = limits ? *limits : usual_limits;
	dt_profile_limit_stacks(profile, c->limits.stacks);
	return c;
}

static void release_process(struct collected_process *process)
{
	free(process->functions);
	free(process->threads);
	free(process->free);
	*process = (struct collected_process){0};
}

void dt_collector_free(struct dt_collector *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->count; i++)
		release_process(&c->processes[i]);
	free(c->processes);
	free(c);
}

/* A process that was met too early, while Python was starting or before an exec, and comes again: nothing is known of
 * its first try, so it is not told as another process. 0: there is none. */
static uint32_t take_unused(struct dt_collector *c, int32_t pid)
{
	for (size_t i = 0; i < c->count; i++) {
		uint32_t id = c->processes[i].unused;

		if (id && dt_profile_process_at(c->profile, id)->pid == pid) {
			c->processes[i].unused = 0;
			return id;
		}
	}
	return 0;
}

int dt_collector_join(struct dt_collector *c, uint32_t subject, const struct dt_profile_process *from)
{
	struct collected_process *process;

	if (subject > c->capacity) {
		size_t capacity = DT_MAX((size_t)subject * 2, (size_t)16);
		struct collected_process *grown = reallocarray(c->processes, capacity, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		c->processes = grown;
		c->capacity = capacity;
	}
	while (c->count < subject)
		c->processes[c->count++] = (struct collected_process){0};
	process = &c->processes[subject - 1];
	process->now_ns = from->began_ns;
	process->id = take_unused(c, from->pid);
	if (process->id)
		return dt_profile_set_process(c->profile, process->id, from);
	return dt_profile_add_process(c->profile, from, &process->id);
}

static struct collected_process *find_process(struct dt_collector *c, uint32_t subject)
{
	return subject && subject <= c->count && c->processes[subject - 1].id ? &c->processes[subject - 1] : NULL;
}

/* Where the thread is, or is to be: they are in the order of their serials. */
static size_t place_of(const struct collected_process *process, uint32_t serial)
{
	size_t low = 0, high = process->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (process->threads[middle].serial < serial)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct collected_thread *find_thread(struct collected_process *process, uint32_t serial)
{
	size_t at = place_of(process, serial);

	return at < process->count && process->threads[at].serial == serial ? &process->threads[at] : NULL;
}

/* Mostly behind all others. Not so where its thread began later than one that was met after it: dt_recorded_lives(). */
static struct collected_thread *add_thread(struct collected_process *process, uint32_t serial)
{
	size_t at = place_of(process, serial);
	struct collected_thread *thread;

	if (process->count == process->capacity) {
		size_t capacity = process->capacity ? process->capacity * 2 : 16;
		struct collected_thread *grown = reallocarray(process->threads, capacity, sizeof(*grown));

		if (!grown)
			return NULL;
		process->threads = grown;
		process->capacity = capacity;
	}
	thread = process->threads + at;
	memmove(thread + 1, thread, (process->count - at) * sizeof(*thread));
	process->count++;
	*thread = (struct collected_thread){.serial = serial};
	return thread;
}

/* Puts an open run into the profile, up to the end of the last round; it may go on from there. Time of a rest, and CPU
 * time behind the last look, are of a run even if no look of its own was. */
static int close_run(struct dt_collector *c, const struct collected_process *process, struct collected_thread *thread)
{
	struct dt_profile_run run = {
	    .start_ns = thread->since_ns,
	    .wall_ns = process->now_ns - thread->since_ns,
	    .cpu_ns = thread->cpu_ns,
	    .samples = (uint32_t)(process->looks - thread->since_looks),
	    .thread = thread->id,
	    .stack = thread->stack,
	    .call = thread->call,
	    .state = thread->state,
	    .flags = thread->flags,
	};

	thread->since_ns = process->now_ns;
	thread->since_looks = process->looks;
	thread->cpu_ns = 0;
	return thread->open && (run.samples || run.wall_ns || run.cpu_ns) ? dt_profile_add_run(c->profile, &run) : 0;
}

/* A main thread without a name has the one that threading gives it once it is imported: processes that began at other
 * moments, or never import it, are not to be told apart by that. */
static int thread_name(struct dt_collector *c, const struct dt_message_thread *message, uint32_t *name)
{
	static const char usual[] = "MainThread";
	bool named = message->name_length || !message->main;
	int rc = dt_profile_string(c->profile, named ? message->name : usual,
				   named ? message->name_length : strlen(usual), name);

	if (rc != -ENOMEM)
		return rc;
	*name = 0; /* no room for one more */
	return 0;
}

static int collect_thread(struct dt_collector *c, struct collected_process *process,
			  const struct dt_message_thread *message)
{
	struct collected_thread *thread = find_thread(process, message->head.thread);
	struct dt_profile_thread told = {.process = process->id,
					 .tid = message->tid,
					 .ident = message->ident,
					 .interpreter = message->interpreter,
					 .main = message->main};
	int rc;

	if (thread && thread->other)
		return 0;
	rc = thread_name(c, message, &told.name);
	if (rc < 0)
		return rc;
	if (thread) {
		const struct dt_profile_thread *before = dt_profile_thread_at(c->profile, thread->id);

		if (before->main && !message->main) /* it had its name for that */
			;
		else if (!message->name_length || !told.name)
			told.name = before->name;
		return dt_profile_set_thread(c->profile, thread->id, &told);
	}
	thread = add_thread(process, message->head.thread);
	return thread ? collect_entry(c, process, &told, thread) : -ENOMEM;
}

static int find_call(struct dt_collector *c, const char *call, uint32_t *id)
{
	int rc = 0;

	*id = 0;
	if (!call)
		return 0;
	if (call != c->last_call)
		rc = dt_profile_string(c->profile, call, strlen(call), &c->last_call_id);
	c->last_call = rc == 0 ? call : NULL;
	*id = c->last_call_id;
	return rc;
}

static int collect_change(struct dt_collector *c, struct collected_process *process,
			  const struct dt_message_change *message)
{
	struct collected_thread *thread = find_thread(process, message->head.thread);
	int rc;

	if (!thread)
		return -EINVAL;
	rc = close_run(c, process, thread);
	if (rc == 0 && message->depth != DT_SAME_STACK)
		rc = collect_stack(c, process, message, &thread->stack);
	if (rc == 0)
		rc = find_call(c, message->call, &thread->call);
	thread->state = message->state;
	thread->flags = message->flags;
	thread->open = rc == 0;
	return rc;
}

/* A thread that is met where it waits, be it for a CPU, was on its CPU somewhere else: that time belongs to where it is
 * met running. */
static void spend(struct collected_thread *thread, const struct dt_message_spent *message)
{
	thread->owed_ns += message->cpu_ns;
	if (thread->state != DT_STATE_RUNNING || message->elsewhere)
		return;
	thread->cpu_ns += thread->owed_ns;
	thread->owed_ns = 0;
}

/* It is not met running any more: nothing is lost. */
static int close_last_run(struct dt_collector *c, const struct collected_process *process,
			  struct collected_thread *thread)
{
	thread->cpu_ns += thread->owed_ns;
	thread->owed_ns = 0;
	return close_run(c, process, thread);
}

static int collect_gone(struct dt_collector *c, struct collected_process *process, uint32_t serial)
{
	struct collected_thread *thread = find_thread(process, serial);
	int rc;

	if (!thread)
		return -EINVAL;
	rc = close_last_run(c, process, thread);
	collect_entry_free(process, thread);
	memmove(thread, thread + 1, (size_t)(process->threads + process->count - thread - 1) * sizeof(*thread));
	process->count--;
	return rc;
}

/* Of the time until then nothing is told. */
static int leave_out(struct dt_collector *c, struct collected_process *process, uint64_t until_ns)
{
	int rc = 0;

	for (size_t i = 0; i < process->count && rc == 0; i++) {
		rc = close_run(c, process, &process->threads[i]);
		process->threads[i].since_ns = until_ns;
	}
	return rc;
}

/* The first round: when its time begins, which may be before it joined. */
static int begin(struct dt_collector *c, struct collected_process *process, uint64_t from_ns)
{
	struct dt_profile_process told = *dt_profile_process_at(c->profile, process->id);

	for (size_t i = 0; i < process->count; i++)
		process->threads[i].since_ns = from_ns;
	process->behind = from_ns < process->now_ns;
	process->now_ns = from_ns;
	if (from_ns >= told.began_ns)
		return 0;
	told.began_ns = from_ns;
	return dt_profile_set_process(c->profile, process->id, &told);
}

static int collect_round(struct dt_collector *c, struct collected_process *process,
			 const struct dt_message_round *message)
{
	int rc = 0;

	if (!process->rounds)
		rc = begin(c, process, message->from_ns ? message->from_ns : DT_MIN(process->now_ns, message->to_ns));
	else if (message->from_ns > process->now_ns)
		rc = leave_out(c, process, message->from_ns);
	process->now_ns = message->to_ns;
	process->seen_ns = message->at_ns;
	process->rounds++;
	process->looks += !message->rest;
	return rc;
}

static int collect(struct dt_collector *c, const struct dt_message *message)
{
	struct collected_process *process = find_process(c, message->subject);
	struct collected_thread *thread;

	if (!process)
		return 0; /* it has left */
	switch ((enum dt_message_kind)message->kind) {
	case DT_MESSAGE_CODE:
		return collect_code(c, process, (const struct dt_message_code *)message);
	case DT_MESSAGE_THREAD:
		return collect_thread(c, process, (const struct dt_message_thread *)message);
	case DT_MESSAGE_CHANGE:
		return collect_change(c, process, (const struct dt_message_change *)message);
	case DT_MESSAGE_SPENT:
		thread = find_thread(process, message->thread);
		if (thread)
			spend(thread, (const struct dt_message_spent *)message);
		return 0;
	case DT_MESSAGE_GONE:
		return collect_gone(c, process, message->thread);
	case DT_MESSAGE_ROUND:
		return collect_round(c, process, (const struct dt_message_round *)message);
	}
	return -EINVAL;
}

/* Does an earlier round of the same process wait in another ring? */
static bool is_early(struct dt_collector *c, const struct dt_message *message)
{
	const struct collected_process *process = find_process(c, message->subject);

	return process && message->round != (uint32_t)process->rounds;
}

int dt_collector_drain(struct dt_collector *c, struct dt_ring *ring, size_t *collected)
{
	const struct dt_message *message;
	size_t size;
	int rc = 0;

	while (rc == 0 && (message = dt_ring_get(ring, &size)) && !is_early(c, message)) {
		rc = collect(c, message);
		dt_ring_next(ring);
		++*collected;
	}
	return rc;
}

/* At the end the last look stands for what has not been told. Not so of a process that has left and began behind the
 * clock: what is missing at its end was told at its beginning. */
static int settle_process(struct dt_collector *c, struct collected_process *process, bool last, bool whole)
{
	int rc = 0;

	if (last && whole)
		process->now_ns = DT_MAX(process->now_ns, process->seen_ns);
	for (size_t i = 0; i < process->count && rc == 0; i++)
		rc = (last ? close_last_run : close_run)(c, process, &process->threads[i]);
	return rc;
}

int dt_collector_settle(struct dt_collector *c, bool last)
{
	int rc = 0;

	for (size_t i = 0; i < c->count && rc == 0; i++)
		if (c->processes[i].id)
			rc = settle_process(c, &c->processes[i], last, true);
	return rc;
}

int dt_collector_leave(struct dt_collector *c, uint32_t subject, uint64_t at_ns)
{
	struct collected_process *process = find_process(c, subject);
	struct dt_profile_process told;
	uint32_t unused;
	int rc;

	if (!process)
		return -EINVAL;
	rc = settle_process(c, process, true, !process->behind);
	told = *dt_profile_process_at(c->profile, process->id);
	told.ended_ns = DT_MAX(DT_MAX(at_ns, process->now_ns), told.began_ns);
	if (rc == 0)
		rc = dt_profile_set_process(c->profile, process->id, &told);
	unused = process->rounds ? 0 : process->id;
	release_process(process);
	process->unused = unused;
	return rc;
}
