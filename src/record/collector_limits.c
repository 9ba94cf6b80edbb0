/*
 * What the collector asks the profile to keep: codes, stacks and threads. A program may have ever new ones for days,
 * and a recording of it must neither end nor take all memory. So there are limits: a stack that is beyond them is told
 * as [too many stacks], while those that are known stay what they are; further threads of a process get an entry one
 * after the other.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "record/collector_inside.h"

/* Where the function of a code goes. NULL if out of memory. */
static uint32_t *function_slot(struct collected_process *process, const struct dt_message_code *message)
{
	size_t index = message->id - message->oldest;

	if (message->oldest != process->oldest_code && process->function_count)
		memset(process->functions, 0, process->function_count * sizeof(*process->functions));
	process->oldest_code = message->oldest;
	if (index >= process->function_count) {
		size_t count = DT_MAX(index * 2, (size_t)256);
		uint32_t *grown = reallocarray(process->functions, count, sizeof(*grown));

		if (!grown)
			return NULL;
		memset(grown + process->function_count, 0, (count - process->function_count) * sizeof(*grown));
		process->functions = grown;
		process->function_count = count;
	}
	return &process->functions[index];
}

int collect_code(struct dt_collector *c, struct collected_process *process, const struct dt_message_code *message)
{
	struct dt_profile_function function = {.first_line = message->first_line, .kind = DT_FUNCTION_PYTHON};
	uint32_t *slot = function_slot(process, message);
	int rc;

	if (!slot)
		return -ENOMEM;
	rc = dt_profile_string(c->profile, message->text, message->name_length, &function.name);
	if (rc == 0)
		rc = dt_profile_string(c->profile, message->text + message->name_length, message->file_length,
				       &function.file);
	if (rc == 0)
		rc = dt_profile_function(c->profile, &function, slot);
	if (rc == -ENOMEM)
		*slot = 0;
	return rc == -ENOMEM ? 0 : rc;
}

/* The stack for all that are too many. There is always room for this one. */
static int find_too_many(struct dt_collector *c, uint32_t *stack)
{
	struct dt_profile_function function = {.kind = DT_FUNCTION_MARK};
	struct dt_profile_location location = {0};
	uint32_t id;
	int rc = 0;

	if (!c->too_many) {
		dt_profile_limit_stacks(c->profile, (size_t)c->limits.stacks + 1);
		rc = dt_profile_string(c->profile, DT_TOO_MANY_STACKS, strlen(DT_TOO_MANY_STACKS), &function.name);
		if (rc == 0)
			rc = dt_profile_function(c->profile, &function, &location.function);
		if (rc == 0)
			rc = dt_profile_location(c->profile, &location, &id);
		if (rc == 0)
			rc = dt_profile_stack(c->profile, 0, id, &c->too_many);
	}
	*stack = c->too_many;
	return rc;
}

int collect_stack(struct dt_collector *c, const struct collected_process *process,
		  const struct dt_message_change *message, uint32_t *stack)
{
	*stack = 0;
	for (uint32_t i = message->depth; i-- > 0;) {
		uint32_t index = message->frames[i].code - process->oldest_code;
		struct dt_profile_location location = {.line = message->frames[i].line};
		uint32_t id;
		int rc;

		location.function = index < process->function_count ? process->functions[index] : 0;
		rc = location.function ? dt_profile_location(c->profile, &location, &id) : -ENOMEM;
		if (rc == 0)
			rc = dt_profile_stack(c->profile, *stack, id, stack);
		if (rc == -ENOMEM)
			return find_too_many(c, stack);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* An entry for other threads: one that is free, or a new one. They have numbers instead of an ident, which is what
 * tells one from the other. */
static int find_other(struct dt_collector *c, struct collected_process *process, uint32_t *id)
{
	struct dt_profile_thread other = {.process = process->id, .ident = process->others + 1};
	uint32_t *grown;
	int rc;

	if (process->free_count) {
		*id = process->free[--process->free_count];
		return 0;
	}
	grown = reallocarray(process->free, process->others + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	process->free = grown;
	rc = dt_profile_string(c->profile, DT_OTHER_THREADS, strlen(DT_OTHER_THREADS), &other.name);
	if (rc == 0)
		rc = dt_profile_add_thread(c->profile, &other, id);
	process->others += rc == 0;
	return rc;
}

/* The first thread of a process always has one of its own. */
int collect_entry(struct dt_collector *c, struct collected_process *process, const struct dt_profile_thread *told,
		  struct collected_thread *thread)
{
	thread->other = process->own && (process->own >= c->limits.process_threads ||
					 dt_profile_counts(c->profile).threads >= c->limits.threads);
	if (thread->other)
		return find_other(c, process, &thread->id);
	process->own++;
	return dt_profile_add_thread(c->profile, told, &thread->id);
}

void collect_entry_free(struct collected_process *process, const struct collected_thread *thread)
{
	if (thread->other)
		process->free[process->free_count++] = thread->id;
}
