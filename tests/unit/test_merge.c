/* Recordings put together: what was the same stays the same, times lie as they lay, and nothing counts twice. */
#include "unit.h"

#include <errno.h>

#include "profile/known.h"
#include "profile_example.h"
#include "profile_same.h"

#define BEGAN (UINT64_C(1700000000123456789))

/* The example, begun so much later, on a host of this name. */
static struct dt_profile *example_at(uint64_t later_ns, const char *host)
{
	struct dt_profile *profile = example_profile();
	struct dt_profile_meta meta = *dt_profile_meta(profile);

	meta.began_realtime_ns = BEGAN + later_ns;
	meta.host = example_string(profile, host);
	meta.boot = 0;
	dt_profile_set_meta(profile, &meta);
	return profile;
}

/* The example of another moment: of the wall clock, and of the clock since boot, in milliseconds. */
static struct dt_profile *example_of_boot(uint64_t wall_ms, const char *boot, uint64_t boot_ms)
{
	struct dt_profile *profile = example_at(wall_ms * EXAMPLE_MS, "host");
	struct dt_profile_meta meta = *dt_profile_meta(profile);

	meta.boot = example_string(profile, boot);
	meta.began_boot_ns = boot_ms * EXAMPLE_MS;
	dt_profile_set_meta(profile, &meta);
	return profile;
}

static uint64_t twice_ns;

static int merge(struct dt_profile *into, const struct dt_profile *from)
{
	twice_ns = 0;
	return dt_profile_merge(into, from, &twice_ns);
}

static uint64_t wall_of(const struct dt_profile *profile, uint64_t *cpu_ns)
{
	uint64_t wall_ns = 0;

	*cpu_ns = 0;
	for (size_t i = 0; i < dt_profile_counts(profile).runs; i++) {
		wall_ns += dt_profile_runs(profile)[i].wall_ns;
		*cpu_ns += dt_profile_runs(profile)[i].cpu_ns;
	}
	return wall_ns;
}

static void test_into_an_empty_one(void **state)
{
	struct dt_profile *example = example_profile(), *empty = dt_profile_new();

	(void)state;
	assert_int_equal(merge(empty, example), 0);
	assert_int_equal(dt_profile_counts(empty).runs, dt_profile_counts(example).runs);
	for (size_t i = 0; i < dt_profile_counts(example).runs; i++)
		assert_true(has_run(empty, example, &dt_profile_runs(example)[i]));
	assert_int_equal(dt_profile_counts(empty).stacks, dt_profile_counts(example).stacks);
	dt_profile_free(example);
	dt_profile_free(empty);
}

/* Two files of a rotation: the process that was there at the end goes on, the one that had ended is another one. */
static void test_one_after_the_other(void **state)
{
	struct dt_profile *first = example_at(0, "host"), *second = example_at(500 * EXAMPLE_MS, "host");
	struct dt_profile_counts before = dt_profile_counts(first), after;
	uint64_t cpu_before, cpu_after, wall_before = wall_of(first, &cpu_before);
	const struct dt_profile_meta *meta;

	(void)state;
	assert_int_equal(merge(first, second), 0);
	after = dt_profile_counts(first);
	assert_int_equal(after.strings, before.strings);
	assert_int_equal(after.functions, before.functions);
	assert_int_equal(after.locations, before.locations);
	assert_int_equal(after.stacks, before.stacks);
	assert_int_equal(after.processes, 3);
	assert_int_equal(after.threads, 5);
	assert_int_equal(dt_profile_process_at(first, 3)->began_ns, 550 * EXAMPLE_MS);
	assert_int_equal(dt_profile_process_at(first, 3)->ended_ns, 950 * EXAMPLE_MS);
	assert_int_equal(dt_profile_thread_at(first, 5)->process, 3);
	assert_int_equal(wall_of(first, &cpu_after), 2 * wall_before);
	assert_int_equal(cpu_after, 2 * cpu_before);
	meta = dt_profile_meta(first);
	assert_int_equal(meta->began_realtime_ns, BEGAN);
	assert_int_equal(meta->duration_ns, 1000 * EXAMPLE_MS);
	assert_int_equal(meta->quality.samples, 2 * dt_profile_meta(second)->quality.samples);
	assert_int_equal(meta->quality.missed, 2 * dt_profile_meta(second)->quality.missed);
	assert_int_equal(meta->quality.own_rss, dt_profile_meta(second)->quality.own_rss);
	assert_true(meta->rate >= 100 && meta->rate <= 100);
	assert_string_equal(dt_profile_text(first, meta->host), "host");
	dt_profile_free(first);
	dt_profile_free(second);
}

static void test_what_overlaps_counts_once(void **state)
{
	struct dt_profile *first = example_at(0, "host"), *second = example_at(0, "host");
	struct dt_profile *third = example_at(490 * EXAMPLE_MS, "host");
	uint64_t cpu_before, cpu_after, wall_before = wall_of(first, &cpu_before), whole;

	(void)state;
	/* Also of the process that had ended: it was there at the same time. */
	assert_int_equal(merge(first, second), 0);
	whole = wall_of(first, &cpu_after);
	assert_int_equal(whole, wall_before);
	assert_int_equal(twice_ns, wall_before);
	assert_int_equal(dt_profile_counts(first).processes, 2);
	/* Thread 3 had one run of 500 ms, which the next one of the same kind continues. */
	assert_int_equal(merge(first, third), 0);
	for (size_t i = 0; i < dt_profile_counts(first).runs; i++) {
		const struct dt_profile_run *run = &dt_profile_runs(first)[i];

		if (run->thread == 3)
			assert_int_equal(run->start_ns + run->wall_ns, 990 * EXAMPLE_MS);
	}
	dt_profile_free(first);
	dt_profile_free(second);
	dt_profile_free(third);
}

/* A thread that computes, recorded for 3 seconds from a moment on, a hundred times a second. */
static struct dt_profile *three_seconds(uint64_t later_ns, const char *host)
{
	struct dt_profile *profile = dt_profile_new();
	struct dt_profile_process process = {.pid = 12};
	struct dt_profile_thread thread = {.tid = 12, .main = true};
	struct dt_profile_run run = {.wall_ns = 3000 * EXAMPLE_MS, .samples = 300, .state = DT_STATE_RUNNING};
	struct dt_profile_meta meta = {.began_realtime_ns = BEGAN + later_ns,
				       .duration_ns = 3000 * EXAMPLE_MS,
				       .rate = 100,
				       .host = example_string(profile, host),
				       .quality = {.samples = 300, .rounds = 300, .lost = 30, .own_cpu_ns = 3000}};

	assert_int_equal(dt_profile_add_process(profile, &process, &thread.process), 0);
	assert_int_equal(dt_profile_add_thread(profile, &thread, &run.thread), 0);
	run.stack = example_frame(profile, 0, "main", "/srv/app.py", 15);
	assert_int_equal(dt_profile_add_run(profile, &run), 0);
	dt_profile_set_meta(profile, &meta);
	return profile;
}

/* Figures of a time that is covered twice: of the same process they count once, of two hosts both do. */
static void test_figures_of_what_overlaps(void **state)
{
	static const struct {
		uint64_t later_ms;
		const char *host;
		uint64_t duration_ms, looked_ms, samples, lost;
	} cases[] = {
	    {0, "host", 3000, 3000, 300, 30},     {1000, "host", 4000, 4000, 400, 40},
	    {3000, "host", 6000, 6000, 600, 60},  {90000, "host", 6000, 6000, 600, 60},
	    {1000, "other", 4000, 6000, 600, 60}, {0, "other", 3000, 6000, 600, 60},
	};

	(void)state;
	for (size_t i = 0; i < DT_COUNT(cases); i++) {
		struct dt_profile *first = three_seconds(0, "host");
		struct dt_profile *second = three_seconds(cases[i].later_ms * EXAMPLE_MS, cases[i].host);
		const struct dt_profile_meta *meta = dt_profile_meta(first);

		assert_int_equal(merge(first, second), 0);
		assert_int_equal(meta->duration_ns, cases[i].duration_ms * EXAMPLE_MS);
		assert_int_equal(dt_profile_looked(meta), cases[i].looked_ms * EXAMPLE_MS);
		assert_int_equal(meta->quality.samples, cases[i].samples);
		assert_int_equal(meta->quality.rounds, cases[i].samples);
		assert_int_equal(meta->quality.lost, cases[i].lost);
		assert_int_equal(meta->quality.own_cpu_ns, cases[i].looked_ms);
		dt_profile_free(first);
		dt_profile_free(second);
	}
}

/* Of three the last one lies within what the first two cover together. */
static void test_three_that_overlap(void **state)
{
	struct dt_profile *first = three_seconds(0, "host");

	(void)state;
	for (uint64_t later_ms = 2000; later_ms <= 2500; later_ms += 500) {
		struct dt_profile *next = three_seconds(later_ms * EXAMPLE_MS, "host");

		assert_int_equal(merge(first, next), 0);
		dt_profile_free(next);
	}
	assert_int_equal(dt_profile_meta(first)->duration_ns, 5500 * EXAMPLE_MS);
	assert_in_range(dt_profile_looked(dt_profile_meta(first)), 5499 * EXAMPLE_MS, 5500 * EXAMPLE_MS);
	assert_int_equal(dt_profile_meta(first)->quality.samples, 550);
	dt_profile_free(first);
}

static void test_other_hosts_have_other_processes(void **state)
{
	struct dt_profile *first = example_at(0, "one"), *second = example_at(0, "two");
	uint64_t cpu, wall = wall_of(first, &cpu);

	(void)state;
	assert_int_equal(merge(first, second), 0);
	assert_int_equal(dt_profile_counts(first).processes, 4);
	assert_int_equal(dt_profile_counts(first).threads, 8);
	assert_int_equal(wall_of(first, &cpu), 2 * wall);
	assert_int_equal(dt_profile_meta(first)->host, 0);
	dt_profile_free(first);
	dt_profile_free(second);
}

/* The wall clock was set back by an hour, or far ahead: the other one tells, and nothing is lost. */
static void test_a_clock_that_was_set(void **state)
{
	const uint64_t walls[] = {1, 0, 7200000, 3599900};

	(void)state;
	for (size_t i = 0; i < DT_COUNT(walls); i++) {
		struct dt_profile *first = example_of_boot(3600000, "b", 1000);
		struct dt_profile *second = example_of_boot(walls[i], "b", 1500);
		uint64_t cpu, wall = wall_of(first, &cpu);

		assert_int_equal(merge(first, second), 0);
		assert_int_equal(wall_of(first, &cpu), 2 * wall);
		assert_int_equal(twice_ns, 0);
		assert_int_equal(dt_profile_counts(first).processes, 3);
		assert_int_equal(dt_profile_process_at(first, 3)->began_ns, 550 * EXAMPLE_MS);
		dt_profile_free(first);
		dt_profile_free(second);
	}
}

/* Ids begin anew with each boot. */
static void test_no_process_outlives_its_kernel(void **state)
{
	struct dt_profile *first = example_of_boot(0, "b", 1000), *second = example_of_boot(100, "c", 1000);
	uint64_t cpu, wall = wall_of(first, &cpu);

	(void)state;
	assert_int_equal(merge(first, second), 0);
	assert_int_equal(dt_profile_counts(first).processes, 4);
	assert_int_equal(wall_of(first, &cpu), 2 * wall);
	assert_int_equal(twice_ns, 0);
	assert_string_equal(dt_profile_text(first, dt_profile_meta(first)->boot), "b");
	dt_profile_free(first);
	dt_profile_free(second);
}

/* ---- who is the same ---- */

/* The example of some moment since boot, in milliseconds, whose first process has this command line, began then, and
 * has this image; it left at so many milliseconds, if not 0. */
struct origin {
	const char *command;
	uint64_t start_ns, image, left_ms;
};

static struct dt_profile *example_from(uint64_t boot_ms, const struct origin *origin)
{
	struct dt_profile *profile = example_of_boot(boot_ms, "b", boot_ms);
	struct dt_profile_process process = *dt_profile_process_at(profile, 1);

	process.command = example_string(profile, origin->command);
	process.start_ns = origin->start_ns;
	process.image = origin->image;
	process.ended_ns = origin->left_ms * EXAMPLE_MS;
	assert_int_equal(dt_profile_set_process(profile, 1, &process), 0);
	return profile;
}

/* A title, an exec, an id that is used again; the other process has ended in the first recording. */
static void test_who_is_the_same(void **state)
{
	static const struct {
		struct origin first, second;
		uint64_t later_ms;
		bool same;
	} cases[] = {
	    {{"job 1", 70, 5, 0}, {"job 2", 70, 5, 0}, 500, true}, /* its title has changed */
	    {{"job 1", 70, 5, 0}, {"job 2", 70, 5, 0}, 490, true},
	    {{"job", 70, 5, 500}, {"job", 70, 5, 0}, 600, true}, /* it could not be looked at for a while */
	    {{"job", 70, 5, 0}, {"job", 70, 6, 0}, 500, false},  /* an exec */
	    {{"job", 70, 5, 0}, {"job", 80, 5, 0}, 500, false},  /* its id is used again */
	    {{"job", 70, 5, 0}, {"job", 80, 0, 0}, 500, false},
	    {{"job", 70, 0, 0}, {"job", 70, 5, 0}, 500, true},
	    {{"job", 0, 0, 0}, {"job", 70, 5, 0}, 500, true}, /* the first file does not tell */
	    {{"job 1", 0, 0, 0}, {"job 2", 70, 5, 0}, 500, false},
	    {{"job 1", 0, 0, 0}, {"job 2", 0, 0, 0}, 490, true},    /* both were there */
	    {{"job 1", 0, 0, 500}, {"job 2", 0, 0, 0}, 500, false}, /* an exec, or another process */
	    {{"job", 0, 0, 500}, {"job", 0, 0, 0}, 600, false},
	};

	(void)state;
	for (size_t i = 0; i < DT_COUNT(cases); i++) {
		struct dt_profile *first = example_from(1000, &cases[i].first);
		struct dt_profile *second = example_from(1000 + cases[i].later_ms, &cases[i].second);

		assert_int_equal(merge(first, second), 0);
		assert_int_equal(dt_profile_counts(first).processes, cases[i].same ? 3 : 4);
		assert_int_equal(dt_profile_counts(first).threads, cases[i].same ? 5 : 8);
		assert_string_equal(dt_profile_text(first, dt_profile_process_at(first, 1)->command),
				    cases[i].first.command);
		if (cases[i].same) {
			assert_int_equal(dt_profile_process_at(first, 1)->ended_ns, 0);
			assert_int_equal(dt_profile_process_at(first, 1)->start_ns, cases[i].second.start_ns);
			assert_int_equal(dt_profile_process_at(first, 1)->image, cases[i].second.image);
		}
		dt_profile_free(first);
		dt_profile_free(second);
	}
}

/* Two recorders of one process: the first goes on, and sees it end after the second has gone. */
static void test_the_last_one_tells_of_the_end(void **state)
{
	struct dt_profile *first = example_from(1000, &(struct origin){"job", 70, 5, 700});
	struct dt_profile *second = example_from(1100, &(struct origin){"job", 70, 5, 0});
	struct dt_profile *third = example_from(1300, &(struct origin){"job", 70, 5, 480});

	(void)state;
	assert_int_equal(merge(first, second), 0);
	assert_int_equal(dt_profile_process_at(first, 1)->ended_ns, 700 * EXAMPLE_MS);
	assert_int_equal(merge(first, third), 0);
	assert_int_equal(dt_profile_process_at(first, 1)->ended_ns, 780 * EXAMPLE_MS);
	dt_profile_free(first);
	dt_profile_free(second);
	dt_profile_free(third);
}

/* A pid that was used and has become another program again and again: who is who is found without a look at each pair,
 * which would take many minutes. */
static void test_a_pid_that_was_used_often(void **state)
{
	enum { USES = 500000, IMAGES = 4 };
	struct dt_profile *both[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		both[i] = example_of_boot(1000, "b", 1000);
		for (uint32_t k = 0; k < USES; k++) {
			struct dt_profile_process process = {
			    .pid = 4711, .start_ns = 1 + k / IMAGES, .image = 1 + k % IMAGES, .ended_ns = 1};
			uint32_t id;

			assert_int_equal(dt_profile_add_process(both[i], &process, &id), 0);
		}
	}
	assert_int_equal(merge(both[0], both[1]), 0);
	assert_int_equal(dt_profile_counts(both[0]).processes, 2 + USES);
	dt_profile_free(both[0]);
	dt_profile_free(both[1]);
}

/* Nor if nothing tells them apart but the time when they were there; of an ordinary number all are found. */
static void test_a_pid_of_which_nothing_is_told(void **state)
{
	static const uint32_t uses[] = {1000, 300000};

	(void)state;
	for (size_t i = 0; i < DT_COUNT(uses); i++) {
		struct dt_profile *both[2];

		for (int m = 0; m < 2; m++) {
			both[m] = example_of_boot(1000, "b", 1000);
			for (uint32_t k = 1; k <= uses[i]; k++) {
				struct dt_profile_process process = {
				    .pid = 4711, .began_ns = 10 * k, .ended_ns = 10 * k + 5};
				uint32_t id;

				assert_int_equal(dt_profile_add_process(both[m], &process, &id), 0);
			}
		}
		assert_int_equal(merge(both[0], both[1]), 0);
		if (!i)
			assert_int_equal(dt_profile_counts(both[0]).processes, 2 + uses[i]);
		dt_profile_free(both[0]);
		dt_profile_free(both[1]);
	}
}

/* As it is meant, pair by pair: see known.c. */
static unsigned likeness(const struct known_processes *known, const struct known_process *entry,
			 const struct dt_profile_process *process)
{
	/* Of whom nothing is told is always looked at. */
	struct known_process alone = {.pid = entry->pid, .id = entry->id, .until_ns = entry->until_ns};
	struct known_processes one = {
	    .profile = known->profile, .list = &alone, .count = 1, .one_clock = known->one_clock};
	const struct dt_profile_process *before = dt_profile_process_at(known->profile, entry->id);
	bool together = process->began_ns < entry->until_ns &&
			(!process->ended_ns || before->began_ns < process->ended_ns);

	return known_processes_find(&one, process) ? 1u + 2u * together + (before->command == process->command) : 0;
}

static struct dt_profile_process any_process(uint32_t *seed, const uint32_t words[2])
{
	uint32_t bits = *seed = *seed * 1664525 + 1013904223;

	bits >>= 8;
	return (struct dt_profile_process){.pid = 1 + (bits & 1),
					   .start_ns = (bits >> 1 & 3) % 3,
					   .image = (bits >> 3 & 3) % 3,
					   .command = words[bits >> 5 & 1],
					   .executable = words[(bits >> 6 & 3) == 1],
					   .container = words[(bits >> 8 & 3) == 1],
					   .began_ns = bits >> 10 & 3,
					   .ended_ns = bits >> 12 & 1 ? 3 + (bits >> 13 & 3) : 0};
}

/* The likeliest of all, and of several the newest one; also after some have learned when they began. */
static void test_the_likeliest_is_found(void **state)
{
	uint32_t seed = 1, found = 0;

	(void)state;
	for (int round = 0; round < 300; round++) {
		struct dt_profile *profile = dt_profile_new();
		uint32_t words[2] = {example_string(profile, "a"), example_string(profile, "b")}, id;
		struct known_processes known;

		for (int i = 0; i < 20; i++) {
			struct dt_profile_process process = any_process(&seed, words);

			assert_int_equal(dt_profile_add_process(profile, &process, &id), 0);
		}
		assert_int_equal(known_processes_init(&known, profile, round % 2), 0);
		for (int i = 0; i < 50; i++) {
			struct dt_profile_process process = any_process(&seed, words), learned;
			unsigned most = 0;

			id = 0;
			for (size_t k = 0; k < known.count; k++) {
				unsigned like = likeness(&known, &known.list[k], &process);

				if (like > most || (like && like == most && known.list[k].id > id)) {
					most = like;
					id = known.list[k].id;
				}
			}
			assert_int_equal(known_processes_find(&known, &process), id);
			if (!id)
				continue;
			found++;
			learned = *dt_profile_process_at(profile, id);
			learned.start_ns = learned.start_ns ? learned.start_ns : process.start_ns;
			learned.image = learned.image ? learned.image : process.image;
			assert_int_equal(dt_profile_set_process(profile, id, &learned), 0);
		}
		known_processes_release(&known);
		dt_profile_free(profile);
	}
	assert_true(found > 1000);
}

/* Of two programs that a process was, each finds itself. */
static void test_each_program_finds_itself(void **state)
{
	struct dt_profile *both[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct dt_profile_process process;
		uint32_t id;

		both[i] = example_from(1000, &(struct origin){"before", 70, 5, 200});
		process = *dt_profile_process_at(both[i], 1);
		process.command = example_string(both[i], "after");
		process.image = 6;
		process.began_ns = 200 * EXAMPLE_MS;
		process.ended_ns = 0;
		assert_int_equal(dt_profile_add_process(both[i], &process, &id), 0);
	}
	assert_int_equal(merge(both[0], both[1]), 0);
	assert_int_equal(dt_profile_counts(both[0]).processes, 3);
	assert_int_equal(dt_profile_process_at(both[0], 1)->ended_ns, 200 * EXAMPLE_MS);
	assert_int_equal(dt_profile_process_at(both[0], 3)->ended_ns, 0);
	dt_profile_free(both[0]);
	dt_profile_free(both[1]);
}

/* ---- several files ---- */

static void add_file(struct dt_recordings *recordings, struct dt_profile *profile)
{
	char warning[DT_WARNING_SIZE] = "?";
	struct dt_writer *writer;
	struct dt_error err;
	int fd = example_file();

	assert_int_equal(dt_writer_new(fd, profile, &writer, &err), 0);
	assert_int_equal(dt_writer_end(writer, &err), 0);
	dt_writer_free(writer);
	dt_profile_free(profile);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(dt_recordings_add(recordings, fd, "file", warning, &err), 0);
	assert_string_equal(warning, "");
	close(fd);
}

/* What they are together, written and read again. */
static struct dt_profile *together(struct dt_recordings *recordings, char warning[DT_WARNING_SIZE])
{
	const struct dt_view_options view = {0};
	const struct dt_profile_render render = {0};
	struct dt_file_state file;
	struct dt_profile *profile;
	struct dt_error err;
	FILE *out = tmpfile();

	assert_non_null(out);
	assert_int_equal(dt_recordings_join(recordings, warning, &err), 0);
	assert_int_equal(
	    dt_recordings_show(recordings, dt_profile_format_by_name("darter"), &view, &render, out, NULL, &err), 0);
	assert_int_equal(lseek(fileno(out), 0, SEEK_SET), 0);
	assert_int_equal(dt_profile_read(fileno(out), "all", &profile, &file, &err), 0);
	fclose(out);
	dt_recordings_free(recordings);
	return profile;
}

/* Two boots with two files each, the second of which the wall clock puts before the first. */
static void test_files_of_two_boots(void **state)
{
	struct dt_recordings *recordings = dt_recordings_new();
	uint64_t cpu, wall = 0;
	struct dt_profile *all, *one = example_profile();
	char warning[DT_WARNING_SIZE];

	(void)state;
	wall = wall_of(one, &cpu);
	add_file(recordings, example_of_boot(100, "c", 900));
	add_file(recordings, example_of_boot(2000, "b", 1000));
	add_file(recordings, example_of_boot(50, "b", 1500));
	add_file(recordings, example_of_boot(9000, "c", 400));
	all = together(recordings, warning);
	assert_string_equal(warning, "");
	assert_int_equal(wall_of(all, &cpu), 4 * wall);
	assert_int_equal(dt_profile_counts(all).processes, 6);
	assert_int_equal(dt_profile_meta(all)->began_realtime_ns, BEGAN + 2000 * EXAMPLE_MS);
	assert_string_equal(dt_profile_text(all, dt_profile_meta(all)->boot), "b");
	assert_int_equal(dt_profile_meta(all)->began_boot_ns, 1000 * EXAMPLE_MS);
	dt_profile_free(all);
	dt_profile_free(one);
}

/* Files that know the wall clock alone may lose time, one that is given twice as well: how much is said. */
static void test_what_is_left_out_is_told(void **state)
{
	struct dt_recordings *recordings = dt_recordings_new();
	char warning[DT_WARNING_SIZE];

	(void)state;
	add_file(recordings, example_of_boot(0, "", 0));
	add_file(recordings, example_of_boot(490, "", 0));
	dt_profile_free(together(recordings, warning));
	assert_non_null(strstr(warning, "10.0 ms of threads is left out: by the wall clock"));
	recordings = dt_recordings_new();
	add_file(recordings, example_of_boot(0, "b", 1000));
	add_file(recordings, example_of_boot(0, "b", 1490));
	dt_profile_free(together(recordings, warning));
	assert_string_equal(warning, "");
	recordings = dt_recordings_new();
	add_file(recordings, example_of_boot(0, "b", 1000));
	add_file(recordings, example_of_boot(0, "b", 1000));
	dt_profile_free(together(recordings, warning));
	assert_non_null(strstr(warning, "1.60 s of threads was recorded twice, and counts once"));
}

/* Figures of a file may be anything. */
static void test_hostile_figures(void **state)
{
	struct dt_profile *first = example_at(0, "host"), *second = example_at(0, "host");
	struct dt_profile_meta meta = *dt_profile_meta(second);

	(void)state;
	memset(&meta.quality, 0xff, sizeof(meta.quality));
	meta.duration_ns = UINT64_MAX;
	meta.began_realtime_ns = 0;
	meta.rung = example_string(second, "another way");
	meta.rate = 7;
	dt_profile_set_meta(second, &meta);
	assert_int_equal(merge(first, second), 0);
	assert_int_equal(dt_profile_meta(first)->quality.samples, UINT64_MAX);
	assert_int_equal(dt_profile_meta(first)->duration_ns, UINT64_MAX);
	assert_true(dt_profile_meta(first)->rate <= 0);
	assert_string_equal(dt_profile_text(first, dt_profile_meta(first)->rung), "several ways");
	meta.began_realtime_ns = UINT64_MAX;
	dt_profile_set_meta(second, &meta);
	assert_int_equal(merge(first, second), -EINVAL);
	dt_profile_free(first);
	dt_profile_free(second);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_into_an_empty_one),
	    cmocka_unit_test(test_one_after_the_other),
	    cmocka_unit_test(test_what_overlaps_counts_once),
	    cmocka_unit_test(test_figures_of_what_overlaps),
	    cmocka_unit_test(test_three_that_overlap),
	    cmocka_unit_test(test_other_hosts_have_other_processes),
	    cmocka_unit_test(test_hostile_figures),
	    cmocka_unit_test(test_a_clock_that_was_set),
	    cmocka_unit_test(test_no_process_outlives_its_kernel),
	    cmocka_unit_test(test_who_is_the_same),
	    cmocka_unit_test(test_the_last_one_tells_of_the_end),
	    cmocka_unit_test(test_each_program_finds_itself),
	    cmocka_unit_test(test_a_pid_that_was_used_often),
	    cmocka_unit_test(test_a_pid_of_which_nothing_is_told),
	    cmocka_unit_test(test_the_likeliest_is_found),
	    cmocka_unit_test(test_files_of_two_boots),
	    cmocka_unit_test(test_what_is_left_out_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
