/*
 * render FORMAT [idle|threads|functions|cpu ...] < lines: a recording made of lines, in an output format.
 *
 * A line is a run; its fields are separated by tabs, and %xx stands for a byte: PID TID THREAD STATE MS FRAME...
 * Frames are outermost first, NAME@FILE:LINE, or NAME@FILE for native code. STATE is running, gil, sleeping, stopped,
 * unseen, torn, gc or the name of a system call. Runs of a thread follow each other; "gap" leaves time out.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "format/profile_formats.h"
#include "profile/profile.h"

#define MS      UINT64_C(1000000)
#define THREADS 4096

static struct {
	unsigned long pid, tid;
	uint64_t end;
} threads[THREADS + 1];

static uint64_t samples, last_end, unseen;

static void check(int code, const char *what)
{
	if (!code)
		return;
	fprintf(stderr, "render: %s: %d\n", what, code);
	exit(1);
}

static uint32_t string(struct dt_profile *profile, const char *text)
{
	size_t length = 0;
	char *plain = malloc(strlen(text) + 1);
	uint32_t id;

	check(plain ? 0 : -1, "memory");
	for (; *text; text++) {
		char hex[3] = {0};

		if (*text == '%' && text[1] && text[2]) {
			memcpy(hex, text + 1, 2);
			plain[length++] = (char)strtoul(hex, NULL, 16);
			text += 2;
		} else {
			plain[length++] = *text;
		}
	}
	check(dt_profile_string(profile, plain, length, &id), "a string");
	free(plain);
	return id;
}

static uint32_t add_frame(struct dt_profile *profile, uint32_t parent, char *frame)
{
	char *file = strrchr(frame, '@'), *line = strrchr(frame, ':');
	struct dt_profile_function function = {.kind = DT_FUNCTION_NATIVE};
	struct dt_profile_location location = {0};
	uint32_t id, stack;

	check(file ? 0 : -1, "a frame is NAME@FILE:LINE");
	*file++ = '\0';
	if (line && line > file) {
		*line++ = '\0';
		function.kind = DT_FUNCTION_PYTHON;
		location.line = (uint32_t)strtoul(line, NULL, 10);
		function.first_line = location.line / 10 * 10 + 1;
	}
	function.name = string(profile, frame);
	function.file = string(profile, file);
	check(dt_profile_function(profile, &function, &location.function), "a function");
	check(dt_profile_location(profile, &location, &id), "a location");
	check(dt_profile_stack(profile, parent, id, &stack), "a stack");
	return stack;
}

static uint32_t process_of(struct dt_profile *profile, unsigned long pid)
{
	struct dt_profile_process process = {.pid = (int32_t)pid, .command = string(profile, "python3 shop.py")};
	uint32_t id;

	for (uint32_t i = 1; i <= dt_profile_counts(profile).processes; i++)
		if (dt_profile_process_at(profile, i)->pid == (int32_t)pid)
			return i;
	check(dt_profile_add_process(profile, &process, &id), "a process");
	return id;
}

static uint32_t thread_of(struct dt_profile *profile, unsigned long pid, unsigned long tid, const char *name)
{
	struct dt_profile_thread thread = {.tid = tid, .ident = 0x7f0000001000 + tid, .main = pid == tid};
	uint32_t id = 1;

	while (id <= dt_profile_counts(profile).threads && (threads[id].pid != pid || threads[id].tid != tid))
		id++;
	if (id <= dt_profile_counts(profile).threads)
		return id;
	check(id < THREADS ? 0 : -1, "too many threads");
	thread.process = process_of(profile, pid);
	thread.name = string(profile, name);
	check(dt_profile_add_thread(profile, &thread, &id), "a thread");
	threads[id].pid = pid;
	threads[id].tid = tid;
	return id;
}

static void set_state(struct dt_profile *profile, struct dt_profile_run *run, const char *state)
{
	static const struct {
		const char *word;
		uint8_t state, flags;
	} states[] = {
	    {"running", DT_STATE_RUNNING, DT_RUN_GIL},
	    {"gil", DT_STATE_GIL_WAIT, 0},
	    {"sleeping", DT_STATE_SLEEPING, 0},
	    {"stopped", DT_STATE_STOPPED, 0},
	    {"unseen", DT_STATE_RUNNING, DT_RUN_UNSEEN},
	    {"torn", DT_STATE_RUNNING, DT_RUN_TORN},
	    {"gc", DT_STATE_RUNNING, DT_RUN_GC | DT_RUN_GIL},
	};

	for (size_t i = 0; i < DT_COUNT(states); i++) {
		if (strcmp(states[i].word, state) != 0)
			continue;
		run->state = states[i].state;
		run->flags = states[i].flags;
		run->cpu_ns = run->state == DT_STATE_RUNNING ? run->wall_ns : 0;
		return;
	}
	run->state = DT_STATE_SYSCALL;
	run->call = string(profile, state);
}

static void add_run(struct dt_profile *profile, char *line)
{
	char *fields[5], *frame;
	struct dt_profile_run run = {0};

	for (size_t i = 0; i < DT_COUNT(fields); i++) {
		fields[i] = strsep(&line, "\t");
		check(fields[i] ? 0 : -1, "a line has five fields before its frames");
	}
	run.thread = thread_of(profile, strtoul(fields[0], NULL, 10), strtoul(fields[1], NULL, 10), fields[2]);
	run.start_ns = threads[run.thread].end;
	run.wall_ns = (uint64_t)(strtod(fields[4], NULL) * (double)MS);
	run.samples = (uint32_t)DT_MAX(run.wall_ns / (10 * MS), UINT64_C(1));
	threads[run.thread].end += run.wall_ns;
	last_end = DT_MAX(last_end, threads[run.thread].end);
	if (!strcmp(fields[3], "gap"))
		return;
	set_state(profile, &run, fields[3]);
	while ((frame = strsep(&line, "\t")))
		run.stack = add_frame(profile, run.stack, frame);
	samples += run.samples;
	unseen += run.flags & DT_RUN_UNSEEN ? run.samples : 0;
	check(dt_profile_add_run(profile, &run), "a run");
}

static void read_lines(struct dt_profile *profile)
{
	dt_auto_free char *line = NULL;
	size_t size = 0;

	while (getline(&line, &size, stdin) > 0) {
		line[strcspn(line, "\n")] = '\0';
		add_run(profile, line);
	}
	dt_profile_set_meta(profile,
			    &(struct dt_profile_meta){
				.duration_ns = last_end,
				.rate = 100,
				.mode = string(profile, "wall"),
				.rung = string(profile, "perch"),
				.quality = {.samples = samples, .unseen = unseen, .rounds = last_end / (10 * MS)},
			    });
}

static void set_option(struct dt_view_options *options, const char *word)
{
	options->idle |= !strcmp(word, "idle");
	options->threads |= !strcmp(word, "threads");
	options->functions |= !strcmp(word, "functions");
	if (!strcmp(word, "cpu"))
		options->weight = DT_WEIGHT_CPU;
}

int main(int argc, char **argv)
{
	const struct dt_profile_format *format = argc > 1 ? dt_profile_format_by_name(argv[1]) : NULL;
	struct dt_profile *profile = dt_profile_new();
	struct dt_view_options options = {0};
	struct dt_profile_render render = {0};
	struct dt_view *view;

	check(format ? 0 : -1, "which format?");
	check(profile ? 0 : -1, "memory");
	for (int i = 2; i < argc; i++)
		set_option(&options, argv[i]);
	read_lines(profile);
	check(dt_view_new(profile, &options, &view, NULL), "a view");
	check(format->render(view, &render, stdout), "the output");
	dt_view_free(view);
	dt_profile_free(profile);
	return fclose(stdout) ? 1 : 0;
}
