/*
 * follow PID: attaches and looks as often as it can, from before the program is Python until it has ended. Prints how
 * often each answer was given, as JSON; exits with 1 if one of them was no clean answer or a stack was no stack.
 */
#include <stdlib.h>
#include <string.h>

#include "darter/darter.h"

struct tally {
	unsigned long answers[16]; /* by code, negated */
	unsigned long stacks;
	bool clean;
	char first[1024];
};

static void blame(struct tally *tally, const char *what)
{
	if (tally->clean)
		snprintf(tally->first, sizeof(tally->first), "%s", what);
	tally->clean = false;
}

static void count(struct tally *tally, int code, const struct dt_error *err)
{
	tally->answers[-code & 15]++;
	switch (code) {
	case 0:
	case DT_ENOTFOUND:
	case DT_EENDED:
	case DT_ENOTPYTHON: /* before it has become Python */
	case DT_EAGAIN:     /* while Python starts and ends */
		return;
	default:
		blame(tally, err->message);
	}
}

/* The programs that are followed have frames of files and of the import system only. */
static bool frame_possible(const struct dt_frame *frame)
{
	size_t length = frame->file ? strlen(frame->file) : 0;

	if (!frame->name || !frame->name[0] || frame->line > 100000)
		return false;
	return (length > 3 && strcmp(frame->file + length - 3, ".py") == 0) ||
	       (length > 8 && strncmp(frame->file, "<frozen ", 8) == 0) ||
	       (length > 2 && strcmp(frame->file, "<string>") == 0);
}

static void check(struct tally *tally, const struct dt_snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->thread_count; i++) {
		const struct dt_thread *thread = &snapshot->threads[i];

		tally->stacks += thread->frame_count > 0;
		for (size_t f = 0; f < thread->frame_count; f++)
			if (!frame_possible(&thread->frames[f]))
				blame(tally, thread->frames[f].name ? thread->frames[f].name : "a frame without name");
	}
}

/* Looks until something is in the way; false when the process has ended. */
static bool look(struct tally *tally, int pid)
{
	const struct dt_snapshot *snapshot;
	struct dt_target *target;
	struct dt_error err;
	int code = dt_attach(pid, NULL, &target, &err);

	count(tally, code, &err);
	if (code < 0)
		return code != DT_ENOTFOUND && code != DT_EENDED;
	for (int i = 0; i < 5 && code == 0; i++) {
		code = dt_take(target, &snapshot, &err);
		count(tally, code, &err);
		if (code == 0)
			check(tally, snapshot);
	}
	dt_release(target);
	return code != DT_ENOTFOUND && code != DT_EENDED;
}

int main(int argc, char **argv)
{
	struct tally tally = {.clean = true};
	int pid;

	if (argc != 2)
		return 2;
	pid = (int)strtol(argv[1], NULL, 10);
	while (tally.clean && look(&tally, pid))
		continue;
	printf("{\"seen\": %lu, \"stacks\": %lu, \"ended\": %lu, \"not_found\": %lu, \"not_python\": %lu, \"again\": "
	       "%lu}\n",
	       tally.answers[0], tally.stacks, tally.answers[-DT_EENDED], tally.answers[-DT_ENOTFOUND],
	       tally.answers[-DT_ENOTPYTHON], tally.answers[-DT_EAGAIN]);
	if (!tally.clean)
		fprintf(stderr, "%s\n", tally.first);
	return tally.clean ? 0 : 1;
}
