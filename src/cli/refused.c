/*
 * What follows the table of processes: see refused.h. The hint of a process is a list of ways, each a sentence that
 * ends with a colon and lines to paste, which begin with four spaces. The nearest way is the first; it is told in the
 * line itself if it is one to paste. What the list itself does not know, such as whether sudo helps here, is not
 * guessed.
 */
#include "cli/refused.h"

#include <string.h>

#include "base/error.h"
#include "cli/terminal.h"

#define PASTE "    "

static bool is_pasted(const char *line)
{
	return strncmp(line, PASTE, strlen(PASTE)) == 0;
}

static const char *next_line(const char *line)
{
	line += strcspn(line, "\n");
	return line + (*line == '\n');
}

/* The sentence and the one line to paste that a hint begins with: its length, 0 if it begins otherwise. */
static size_t nearest_way(const char *hint)
{
	const char *second = hint ? next_line(hint) : "";

	if (!is_pasted(second) || is_pasted(next_line(second)))
		return 0;
	return (size_t)(second - hint) + strcspn(second, "\n");
}

static bool same_way(const struct dt_process *a, const struct dt_process *b)
{
	size_t length = nearest_way(a->hint);

	return length == nearest_way(b->hint) && (!length || !memcmp(a->hint, b->hint, length));
}

static void tell_way(const struct dt_common *common, const struct dt_process *process, size_t count)
{
	const char *noun = count == 1 ? "process" : "processes", *second;

	if (nearest_way(process->hint)) {
		second = next_line(process->hint);
		dt_note(common, "%zu %s may not be read. %.*s '%.*s'", count, noun, (int)(second - process->hint - 1),
			process->hint, (int)strcspn(second + strlen(PASTE), "\n"), second + strlen(PASTE));
	} else {
		dt_note(common, "%zu %s may not be read; 'darter ps -v' says why", count, noun);
	}
}

/* A line for each way, at the first process that has it. */
static void tell_ways(const struct dt_common *common, const struct dt_process_list *list)
{
	size_t total = dt_process_list_count(list);

	for (size_t i = 0; i < total; i++) {
		const struct dt_process *process = dt_process_list_at(list, i), *other;
		size_t count = 0;

		if (process->code != DT_EPERMISSION)
			continue;
		for (size_t j = 0; j < total; j++) {
			other = dt_process_list_at(list, j);
			if (other->code != DT_EPERMISSION || !same_way(process, other))
				continue;
			if (j < i)
				break;
			count++;
		}
		if (count)
			tell_way(common, process, count);
	}
}

static bool hint_follows(const struct dt_process_list *list, size_t i)
{
	const char *hint = dt_process_list_at(list, i)->hint;

	for (size_t j = i + 1; j < dt_process_list_count(list); j++) {
		const struct dt_process *other = dt_process_list_at(list, j);

		if (other->hint && !strcmp(other->hint, hint))
			return true;
	}
	return false;
}

/* Each process; a hint that several have stands behind the last of them. */
static void tell_all(const struct dt_common *common, const struct dt_process_list *list)
{
	for (size_t i = 0; i < dt_process_list_count(list); i++) {
		const struct dt_process *process = dt_process_list_at(list, i);
		struct dt_error err;

		if (!process->code)
			continue;
		if (process->message)
			dt_fail(&err, process->code, "%s", process->message);
		else
			dt_fail(&err, process->code, "process %d: %s", process->pid, process->reason);
		if (process->hint && !hint_follows(list, i))
			dt_hint(&err, "%s", process->hint);
		dt_report(common, &err);
	}
}

void dt_refused_tell(const struct dt_common *common, const struct dt_process_list *list)
{
	if (common->quiet)
		return;
	if (common->verbose)
		tell_all(common, list);
	else
		tell_ways(common, list);
}
