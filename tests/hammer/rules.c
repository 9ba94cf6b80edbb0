/*
 * Rules are kept as the lines that they are, in one sorted array: a rule holds if its line is there. Only the range of
 * lines of a function has to be looked up by its beginning.
 */
#include "rules.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define GENERATED "/hammer/generated.py"
#define FRESH     "/fresh/"
#define CHANGING  "name-"   /* a name of two numbers, the second of which follows from the first */
#define BELONGS   "hammer-" /* a thread of this name runs only functions that begin with what follows */

struct rules {
	char *text;
	char **lines;
	size_t count;
};

static int compare(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

struct rules *rules_read(const char *path)
{
	FILE *file = fopen(path, "r");
	struct rules *rules = calloc(1, sizeof(*rules));
	size_t size = 0, room = 0;

	if (!file || !rules || getdelim(&rules->text, &size, '\0', file) < 0) {
		fprintf(stderr, "%s: no rules to be read\n", path);
		rules_free(rules);
		if (file)
			fclose(file);
		return NULL;
	}
	fclose(file);
	for (char *line = strtok(rules->text, "\n"); line; line = strtok(NULL, "\n")) {
		if (rules->count == room) {
			char **more;

			room = room ? room * 2 : 256;
			more = realloc(rules->lines, room * sizeof(*more));
			if (!more) {
				rules_free(rules);
				return NULL;
			}
			rules->lines = more;
		}
		rules->lines[rules->count++] = line;
	}
	qsort(rules->lines, rules->count, sizeof(*rules->lines), compare);
	return rules;
}

void rules_free(struct rules *rules)
{
	if (rules) {
		free(rules->lines);
		free(rules->text);
	}
	free(rules);
}

/* The first rule that is not less than the given line, or NULL. */
static const char *rules_from(const struct rules *rules, const char *line)
{
	size_t low = 0, high = rules->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(rules->lines[middle], line) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < rules->count ? rules->lines[low] : NULL;
}

__attribute__((format(printf, 2, 3))) static bool holds(const struct rules *rules, const char *format, ...)
{
	char line[1024];
	const char *found;
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	found = rules_from(rules, line);
	return found && strcmp(found, line) == 0;
}

/* A number between two texts; nothing may follow. */
static bool number_in(const char *text, const char *before, const char *after, unsigned *number)
{
	size_t length = strlen(before);
	char *end;

	if (strncmp(text, before, length) != 0 || text[length] < '0' || text[length] > '9')
		return false;
	*number = (unsigned)strtoul(text + length, &end, 10);
	return strcmp(end, after) == 0;
}

/* The functions of fresh() and twins() carry a number in their name, which has to be that of their file, and for
 * fresh() that of their lines, too. */
static bool fresh_number(const struct dt_frame *frame, const char *kind, unsigned *number)
{
	unsigned in_file;

	return number_in(frame->file, FRESH, ".py", &in_file) && number_in(frame->name, kind, "", number) &&
	       *number == in_file;
}

static bool fresh_possible(const struct dt_frame *frame, bool innermost)
{
	unsigned number, line;
	bool inner = frame->name[0] == 'i';

	if (!fresh_number(frame, inner ? "inner_" : "outer_", &number))
		return false;
	if (frame->first_line != number + (inner ? 10 : 0) && frame->first_line != (inner ? 20u : 10u))
		return false;
	line = frame->line - frame->first_line;
	return innermost ? line <= 3 : !inner && line == 2;
}

static bool fresh_pair(const struct dt_frame *caller, const struct dt_frame *callee)
{
	unsigned outer, inner;

	if (strncmp(caller->file, FRESH, strlen(FRESH)) != 0)
		return fresh_number(callee, "outer_", &outer);
	return fresh_number(caller, "outer_", &outer) && fresh_number(callee, "inner_", &inner) && outer == inner;
}

static bool is_fresh(const struct dt_frame *frame)
{
	return strncmp(frame->file, FRESH, strlen(FRESH)) == 0;
}

static bool is_generated(const struct dt_frame *frame)
{
	return strcmp(frame->file, GENERATED) == 0;
}

/* Its line is one of its own lines. Line 0, "the code has no line here", happens only in a frame that calls nobody. */
static bool body_possible(const struct rules *rules, const struct dt_frame *frame, bool innermost)
{
	char start[1024];
	const char *found;
	unsigned long first, last;
	size_t length;
	char *end;

	length = (size_t)snprintf(start, sizeof(start), "body\t%s\t%s\t", frame->file, frame->name);
	found = length < sizeof(start) ? rules_from(rules, start) : NULL;
	if (!found || strncmp(found, start, length) != 0)
		return false;
	first = strtoul(found + length, &end, 10);
	last = strtoul(end, NULL, 10);
	if (frame->line == 0)
		return innermost;
	return frame->first_line == first && frame->line >= first && frame->line <= last;
}

static bool frame_possible(const struct rules *rules, const struct dt_frame *frame, bool innermost)
{
	if (!frame->name || !frame->file)
		return false;
	if (is_fresh(frame))
		return fresh_possible(frame, innermost);
	if (is_generated(frame))
		return body_possible(rules, frame, innermost);
	return true;
}

static bool pair_possible(const struct rules *rules, const struct dt_frame *caller, const struct dt_frame *callee)
{
	if (is_fresh(caller) || is_fresh(callee))
		return fresh_pair(caller, callee);
	if (is_generated(caller) && is_generated(callee))
		return holds(rules, "call\t%s\t%u\t%s\t%s", caller->file, caller->line, caller->name, callee->name);
	if (is_generated(caller))
		return holds(rules, "away\t%s\t%u", caller->file, caller->line);
	if (is_generated(callee))
		return holds(rules, "entry\t%s\t%s", callee->file, callee->name);
	return true;
}

/* Threads of the generated program have call paths of their own, and names that change say so themselves. */
static bool name_possible(const struct dt_thread *thread)
{
	if (!thread->name)
		return true;
	if (strncmp(thread->name, CHANGING, strlen(CHANGING)) == 0) {
		unsigned first = (unsigned)strtoul(thread->name + strlen(CHANGING), NULL, 10);
		char whole[64];

		snprintf(whole, sizeof(whole), CHANGING "%u-%u", first, first * 7 + 3);
		return strcmp(whole, thread->name) == 0;
	}
	if (strncmp(thread->name, BELONGS, strlen(BELONGS)) != 0)
		return true;
	for (size_t i = 0; i < thread->frame_count; i++) {
		const char *prefix = thread->name + strlen(BELONGS);

		if (is_generated(&thread->frames[i]) && strncmp(thread->frames[i].name, prefix, strlen(prefix)) != 0)
			return false;
	}
	return true;
}

static int say(char *what, size_t size, const char *why, const struct dt_frame *caller, const struct dt_frame *callee)
{
	snprintf(what, size, "%s: %s (%s:%u) calls %s (%s:%u)", why, caller ? caller->name : "-",
		 caller ? caller->file : "-", caller ? caller->line : 0, callee ? callee->name : "-",
		 callee ? callee->file : "-", callee ? callee->line : 0);
	return -1;
}

bool rules_idle(const struct rules *rules)
{
	return holds(rules, "idle");
}

int rules_check(const struct rules *rules, const struct dt_thread *thread, char *what, size_t size)
{
	const struct dt_frame *frames = thread->frames;
	size_t count = thread->frame_count;

	for (size_t i = 0; i < count; i++) {
		if (!frame_possible(rules, &frames[i], i == 0))
			return say(what, size, "impossible frame", &frames[i], i ? &frames[i - 1] : NULL);
		if (i > 0 && !pair_possible(rules, &frames[i], &frames[i - 1]))
			return say(what, size, "impossible call", &frames[i], &frames[i - 1]);
	}
	if (count && !holds(rules, "root\t%s", frames[count - 1].file))
		return say(what, size, "impossible root", &frames[count - 1], NULL);
	if (!name_possible(thread)) {
		snprintf(what, size, "impossible name: %s", thread->name);
		return -1;
	}
	return 0;
}

/* What the innermost frame of another thread has to be while this one is there; NULL: anything. */
static const char *wanted_meanwhile(const struct rules *rules, const struct dt_frame *frame)
{
	char start[1024];
	const char *found;
	size_t length = (size_t)snprintf(start, sizeof(start), "meanwhile\t%s\t%s\t", frame->file, frame->name);

	found = length < sizeof(start) ? rules_from(rules, start) : NULL;
	return found && strncmp(found, start, length) == 0 ? found + length : NULL;
}

static bool somebody_is(const struct dt_snapshot *snapshot, const char *wanted)
{
	for (size_t t = 0; t < snapshot->thread_count; t++) {
		const struct dt_thread *thread = &snapshot->threads[t];
		char innermost[1024];

		if (!thread->frame_count)
			continue;
		snprintf(innermost, sizeof(innermost), "%s\t%s\t%u", thread->frames[0].file, thread->frames[0].name,
			 thread->frames[0].line);
		if (strcmp(innermost, wanted) == 0)
			return true;
	}
	return false;
}

int rules_check_together(const struct rules *rules, const struct dt_snapshot *snapshot, char *what, size_t size)
{
	if (snapshot->torn)
		return 0;
	for (size_t t = 0; t < snapshot->thread_count; t++) {
		const struct dt_thread *thread = &snapshot->threads[t];

		for (size_t i = 0; i < thread->frame_count; i++) {
			const char *wanted = wanted_meanwhile(rules, &thread->frames[i]);

			if (wanted && !somebody_is(snapshot, wanted))
				return say(what, size, "nobody is where it was called from", NULL, &thread->frames[i]);
		}
	}
	return 0;
}
