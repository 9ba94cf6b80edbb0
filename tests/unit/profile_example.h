/*
 * A small recording that has everything in it, for tests of what shows or keeps recordings: two processes, four
 * threads, twenty stacks (calls of itself, a native frame, a mark), every state and flag, runs whose stack was not seen
 * or is torn, and names that are hard to write: quotes, semicolons, UTF-8, control characters, bytes that are no UTF-8.
 */
#ifndef DT_TESTS_PROFILE_EXAMPLE_H
#define DT_TESTS_PROFILE_EXAMPLE_H

#include "unit.h"

#include <string.h>

#include "base/util.h"
#include "profile/profile.h"

#define EXAMPLE_MS UINT64_C(1000000)

static inline uint32_t example_string(struct dt_profile *profile, const char *text)
{
	uint32_t id;

	assert_int_equal(dt_profile_string(profile, text, strlen(text), &id), 0);
	return id;
}

/* A function begins at a line that ends with 1. */
static inline uint32_t example_location(struct dt_profile *profile, const char *name, const char *file, uint32_t line,
					enum dt_function_kind kind)
{
	struct dt_profile_function function = {
	    .name = example_string(profile, name),
	    .file = example_string(profile, file),
	    .first_line = kind == DT_FUNCTION_PYTHON ? line / 10 * 10 + 1 : 0,
	    .kind = kind,
	};
	struct dt_profile_location location = {.line = line};
	uint32_t id;

	assert_int_equal(dt_profile_function(profile, &function, &location.function), 0);
	assert_int_equal(dt_profile_location(profile, &location, &id), 0);
	return id;
}

static inline uint32_t example_frame(struct dt_profile *profile, uint32_t parent, const char *name, const char *file,
				     uint32_t line)
{
	uint32_t location = example_location(profile, name, file, line, DT_FUNCTION_PYTHON);
	uint32_t id;

	assert_int_equal(dt_profile_stack(profile, parent, location, &id), 0);
	return id;
}

static inline uint32_t example_other_frame(struct dt_profile *profile, uint32_t parent, const char *name,
					   const char *file, enum dt_function_kind kind)
{
	uint32_t location = example_location(profile, name, file, 0, kind);
	uint32_t id;

	assert_int_equal(dt_profile_stack(profile, parent, location, &id), 0);
	return id;
}

/* Stacks by number, outermost frame first:
 *  1 <module>:90                       2 .. main:42               3 .. main:42 parse:12     4 .. main:43
 *  5 .. main:43 walk:21                6 .. walk:21 x 2           7 .. walk:21 x 3          8 .. walk:21 x 3 leaf:33
 *  9 .. main:42 parse:13              10 .. main:44              11 .. main:44 say "hi;":7  12 .. main:44 naïve:17
 * 13 .. main:44 control:27            14 .. main:44 no UTF-8:37  15 .. main:44 native      16 .. main:44 native mark
 * 17 <module>:5 (of the other)        18 .. work:55              19 .. work:56             20 .. work:56 <lambda>:57 */
static inline void example_stacks(struct dt_profile *profile)
{
	static const char app[] = "/srv/app/main.py", odd[] = "/srv/a \"b\";c\\d/odd.py";
	uint32_t module = example_frame(profile, 0, "<module>", app, 90);
	uint32_t main42 = example_frame(profile, module, "main", app, 42);
	uint32_t main44, walk, work;

	example_frame(profile, main42, "Parser.parse", "/srv/app/parser.py", 12);
	walk = example_frame(profile, module, "main", app, 43);
	for (int i = 0; i < 3; i++)
		walk = example_frame(profile, walk, "walk", "/srv/app/tree.py", 21);
	example_frame(profile, walk, "leaf", "/srv/app/tree.py", 33);
	example_frame(profile, main42, "Parser.parse", "/srv/app/parser.py", 13);
	main44 = example_frame(profile, module, "main", app, 44);
	example_frame(profile, main44, "say \"hi\"; <b>&amp;'", odd, 7);
	example_frame(profile, main44, "na\xc3\xafve_\xe4\xb8\xad\xe6\x96\x87_\xf0\x9f\x90\x8d", "/srv/\xc3\xbc.py",
		      17);
	example_frame(profile, main44, "tab\tline\nescape\x1b[31m\x7f", "<string>", 27);
	example_frame(profile, main44, "bad\xff\xc3(\xed\xa0\x80", "\xfe.py", 37);
	example_other_frame(profile,
			    example_other_frame(profile, main44, "memcpy", "/lib/libc.so.6", DT_FUNCTION_NATIVE),
			    "native mark", "", DT_FUNCTION_MARK);
	module = example_frame(profile, 0, "<module>", "/srv/worker.py", 5);
	example_frame(profile, module, "work", "/srv/worker.py", 55);
	work = example_frame(profile, module, "work", "/srv/worker.py", 56);
	example_frame(profile, work, "work.<locals>.<lambda>", "/srv/worker.py", 57);
	assert_int_equal(dt_profile_counts(profile).stacks, 20);
}

static inline void example_threads(struct dt_profile *profile)
{
	const struct dt_profile_process processes[] = {
	    {.pid = 4711,
	     .ppid = 1,
	     .command = example_string(profile, "python3 main.py --name=\"a b\""),
	     .executable = example_string(profile, "/usr/bin/python3.13"),
	     .version = example_string(profile, "3.13.0"),
	     .container = example_string(profile, "docker 0123456789ab")},
	    {.pid = 4712,
	     .ppid = 4711,
	     .command = example_string(profile, "python3 worker.py"),
	     .executable = example_string(profile, "/usr/bin/python3.8"),
	     .version = example_string(profile, "3.8.18"),
	     .began_ns = 50 * EXAMPLE_MS,
	     .ended_ns = 450 * EXAMPLE_MS},
	};
	const struct dt_profile_thread threads[] = {
	    {.process = 1,
	     .name = example_string(profile, "MainThread"),
	     .tid = 4711,
	     .ident = 0x7f0011112222,
	     .main = true},
	    {.process = 1,
	     .name = example_string(profile, "pool;\"1\"\n"),
	     .tid = 4713,
	     .ident = 0x7f0011113333,
	     .interpreter = 1},
	    {.process = 1, .ident = 0x7f0011114444},
	    {.process = 2,
	     .name = example_string(profile, "MainThread"),
	     .tid = 4712,
	     .ident = 0x7f0022221111,
	     .main = true},
	};
	uint32_t id;

	for (size_t i = 0; i < DT_COUNT(processes); i++)
		assert_int_equal(dt_profile_add_process(profile, &processes[i], &id), 0);
	for (size_t i = 0; i < DT_COUNT(threads); i++)
		assert_int_equal(dt_profile_add_thread(profile, &threads[i], &id), 0);
}

static inline void example_runs(struct dt_profile *profile)
{
	static const struct {
		uint32_t thread, stack;
		enum dt_state state;
		uint8_t flags;
		const char *call;
		uint32_t ms, cpu_ms, samples;
	} runs[] = {
	    {1, 3, DT_STATE_RUNNING, DT_RUN_GIL, NULL, 40, 40, 4},
	    {2, 2, DT_STATE_GIL_WAIT, 0, "futex", 40, 0, 4},
	    {1, 8, DT_STATE_RUNNING, DT_RUN_GIL, NULL, 30, 29, 3},
	    {1, 7, DT_STATE_RUNNING, DT_RUN_GIL | DT_RUN_GC, NULL, 20, 20, 2},
	    {3, 1, DT_STATE_SLEEPING, 0, "futex", 500, 0, 50},
	    {4, 18, DT_STATE_SYSCALL, 0, "read", 60, 3, 6},
	    {2, 9, DT_STATE_RUNNING, DT_RUN_GIL, NULL, 20, 20, 2},
	    {1, 0, DT_STATE_RUNNING, DT_RUN_UNSEEN, NULL, 10, 10, 1},
	    {1, 6, DT_STATE_RUNNING, DT_RUN_GIL | DT_RUN_TORN, NULL, 10, 9, 1},
	    {1, 11, DT_STATE_SLEEPING, 0, "clock_nanosleep", 100, 0, 10},
	    {4, 20, DT_STATE_RUNNING, DT_RUN_GIL, NULL, 90, 88, 9},
	    {2, 12, DT_STATE_RUNNING, 0, NULL, 30, 30, 3},
	    {2, 13, DT_STATE_SYSCALL, 0, "write", 30, 1, 3},
	    {4, 19, DT_STATE_STOPPED, 0, NULL, 50, 0, 5},
	    {1, 14, DT_STATE_UNKNOWN, 0, NULL, 20, 0, 2},
	    {1, 16, DT_STATE_RUNNING, 0, NULL, 50, 48, 5},
	    {1, 15, DT_STATE_RUNNING, DT_RUN_GIL, NULL, 20, 20, 2},
	    {2, 0, DT_STATE_SLEEPING, 0, "epoll_wait", 200, 0, 20},
	    {1, 5, DT_STATE_RUNNING, DT_RUN_GIL, NULL, 50, 50, 5},
	    {4, 17, DT_STATE_SLEEPING, 0, "wait4", 200, 0, 20},
	    {2, 10, DT_STATE_RUNNING, DT_RUN_GIL | DT_RUN_GC | DT_RUN_TORN, NULL, 20, 20, 2},
	    {1, 4, DT_STATE_RUNNING, DT_RUN_GIL, NULL, 10, 10, 1},
	};
	uint64_t ends[5] = {0, 0, 0, 0, 50 * EXAMPLE_MS};

	for (size_t i = 0; i < DT_COUNT(runs); i++) {
		struct dt_profile_run run = {
		    .start_ns = ends[runs[i].thread],
		    .wall_ns = runs[i].ms * EXAMPLE_MS,
		    .cpu_ns = runs[i].cpu_ms * EXAMPLE_MS,
		    .samples = runs[i].samples,
		    .thread = runs[i].thread,
		    .stack = runs[i].stack,
		    .call = runs[i].call ? example_string(profile, runs[i].call) : 0,
		    .state = (uint8_t)runs[i].state,
		    .flags = runs[i].flags,
		};

		assert_int_equal(dt_profile_add_run(profile, &run), 0);
		ends[run.thread] += run.wall_ns;
	}
}

static inline void example_meta(struct dt_profile *profile)
{
	struct dt_profile_meta meta = {
	    .began_realtime_ns = UINT64_C(1700000000123456789),
	    .began_boot_ns = UINT64_C(98765432109876),
	    .duration_ns = 500 * EXAMPLE_MS,
	    .rate = 100,
	    .mode = example_string(profile, "wall"),
	    .rung = example_string(profile, "perch"),
	    .rung_why = example_string(profile, "real-time priority may be used"),
	    .boot = example_string(profile, "ae3a6ebc-2f86-4e24-84f9-f7b342c3ada3"),
	    .host = example_string(profile, "host.example"),
	    .darter = example_string(profile, "0.1.0"),
	    .quality = {.samples = 160,
			.rounds = 50,
			.late = 1,
			.unseen = 1,
			.settled = 7,
			.torn = 3,
			.lost = 2,
			.stops = 5,
			.stopped_ns = 123456,
			.own_cpu_ns = 2345678,
			.own_rss = 5 << 20,
			.missed = 4},
	};

	dt_profile_set_meta(profile, &meta);
}

/* Free it with dt_profile_free(). */
static inline struct dt_profile *example_profile(void)
{
	struct dt_profile *profile = dt_profile_new();

	assert_non_null(profile);
	example_stacks(profile);
	example_threads(profile);
	example_runs(profile);
	example_meta(profile);
	return profile;
}

#endif
