/*
 * assault PID ROUNDS [no-perch] [never-pause] [always-pause] [idle] [record]: in each round a child attaches to the
 * process and looks again and again, or records it, until it is killed, after up to 20 ms, wherever it happens to be.
 * After each kill every thread of the process must be free: not stopped, without a tracer. On a busy machine nothing
 * may have been seen in so short a time: then there are more rounds, and longer ones, until something was, and until a
 * thread was paused if that is the only way (idle: no thread of the process has to be one that can be). Prints figures
 * as JSON; exits with 1 if a thread was left stopped.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "darter/darter.h"

#define MOST_US    20000
#define RECORD_US  100000 /* the same for a recording: it takes longer to begin */
#define RATE       1000
#define STEP       0.002 /* seconds after which a recording tells how it goes */
#define LONGEST_US 500000
#define PATIENCE   60 /* seconds for the rounds beyond those that were asked for */
/* The kernel lets go of whatever a process traces, and wakes it, before the process can be waited for. So from then on
 * a thread that is stopped is one that was left behind, however busy the machine is: no time is allowed for it, only a
 * few looks, which are not taken of all threads at once. */
#define LOOKS 5

struct shared {
	atomic_ulong attaches, takes, pauses, failures;
	char first[512]; /* what the first failure was */
};

static struct shared *shared;

static void note_failure(const struct dt_error *err)
{
	if (atomic_fetch_add(&shared->failures, 1) == 0)
		snprintf(shared->first, sizeof(shared->first), "%d", err->code);
}

/* Never returns: it is killed. */
__attribute__((noreturn)) static void look_until_killed(int pid, const struct dt_options *options, unsigned seed)
{
	for (;;) {
		const struct dt_snapshot *snapshot;
		struct dt_target *target;
		struct dt_error err;

		if (dt_attach(pid, options, &target, &err) < 0) {
			note_failure(&err);
			continue;
		}
		atomic_fetch_add(&shared->attaches, 1);
		for (int i = rand_r(&seed) % 8; i >= 0; i--) {
			if (dt_take(target, &snapshot, &err) < 0) {
				note_failure(&err);
				break;
			}
			atomic_fetch_add(&shared->takes, 1);
			for (size_t t = 0; t < snapshot->thread_count; t++)
				if (snapshot->threads[t].proof == DT_PROOF_PAUSE)
					atomic_fetch_add(&shared->pauses, 1);
		}
		dt_release(target);
	}
}

/* The same for a recording. */
__attribute__((noreturn)) static void record_until_killed(int pid, const struct dt_options *options)
{
	const struct dt_record_options how = {
	    .rate = RATE, .no_perch = options->no_perch, .pause = options->pause, .fd = fileno(tmpfile())};
	struct dt_record_status status = {0}, before = {0};
	struct dt_recording *recording;
	struct dt_error err;

	if (dt_record(&how, &recording, &err) < 0 || dt_record_add(recording, pid, 60, &err) < 0) {
		note_failure(&err);
		for (;;)
			pause();
	}
	atomic_fetch_add(&shared->attaches, 1);
	for (;;) {
		if (dt_record_tend(recording, STEP, NULL, NULL, &err) < 0)
			note_failure(&err);
		dt_record_status(recording, &status);
		atomic_fetch_add(&shared->takes, status.rounds - before.rounds);
		atomic_fetch_add(&shared->pauses, status.stops - before.stops);
		before = status;
	}
}

/* A thread is free if it neither is stopped nor has a tracer; one that has ended is free, too. */
static bool thread_free(int pid, const char *tid)
{
	char path[96], line[256];
	bool result = true;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%.16s/status", pid, tid);
	file = fopen(path, "r");
	if (!file)
		return true;
	while (fgets(line, sizeof(line), file)) {
		if (strncmp(line, "State:", 6) == 0 && (line[7] == 'T' || line[7] == 't'))
			result = false;
		if (strncmp(line, "TracerPid:", 10) == 0 && strtol(line + 10, NULL, 10) != 0)
			result = false;
	}
	fclose(file);
	return result;
}

static bool all_free(int pid)
{
	struct dirent *entry;
	bool result = true;
	char path[64];
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	tasks = opendir(path);
	if (!tasks)
		return true;
	while (result && (entry = readdir(tasks)))
		if (entry->d_name[0] != '.')
			result = thread_free(pid, entry->d_name);
	closedir(tasks);
	return result;
}

/* The one who looked is gone. 0: all were free at the first look, 1: at a later one, -1: somebody was left stopped. */
static int see_if_free(int pid)
{
	for (int look = 0; look < LOOKS; look++) {
		if (all_free(pid))
			return look > 0;
		usleep(1000);
	}
	return -1;
}

static int one_round(int pid, const struct dt_options *options, bool record, unsigned round, int most_us)
{
	pid_t child = fork();

	if (child == 0 && record)
		record_until_killed(pid, options);
	if (child == 0)
		look_until_killed(pid, options, round);
	if (child < 0)
		return -1;
	usleep((useconds_t)(rand() % most_us));
	kill(child, SIGKILL);
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		continue;
	return see_if_free(pid);
}

/* Is there something yet that was to be tried and was not? */
static bool lacking(const struct dt_options *options, bool idle)
{
	if (!atomic_load(&shared->takes))
		return true;
	return options->no_perch && options->pause != DT_PAUSE_NEVER && !idle && !atomic_load(&shared->pauses);
}

int main(int argc, char **argv)
{
	struct dt_options options = {0};
	unsigned rounds, done = 0, soon = 0, left = 0;
	int most_us;
	bool idle = false, record = false;
	time_t end = 0;
	int pid;

	if (argc < 3)
		return 2;
	pid = (int)strtol(argv[1], NULL, 10);
	rounds = (unsigned)strtoul(argv[2], NULL, 10);
	for (int i = 3; i < argc; i++) {
		options.no_perch = options.no_perch || strcmp(argv[i], "no-perch") == 0;
		idle = idle || strcmp(argv[i], "idle") == 0;
		record = record || strcmp(argv[i], "record") == 0;
		if (strcmp(argv[i], "never-pause") == 0)
			options.pause = DT_PAUSE_NEVER;
		if (strcmp(argv[i], "always-pause") == 0)
			options.pause = DT_PAUSE_ALWAYS;
	}
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return 2;
	srand(1);
	most_us = record ? RECORD_US : MOST_US;
	for (; kill(pid, 0) == 0; done++) {
		int found;

		if (done == rounds)
			end = time(NULL) + PATIENCE;
		if (done >= rounds) {
			if (!lacking(&options, idle) || time(NULL) > end)
				break;
			most_us = most_us * 2 < LONGEST_US ? most_us * 2 : LONGEST_US;
		}
		found = one_round(pid, &options, record, done, most_us);
		soon += found == 1;
		left += found < 0;
	}
	printf("{\"rounds\": %u, \"left\": %u, \"soon\": %u, \"attaches\": %lu, \"takes\": %lu, \"pauses\": %lu, "
	       "\"failures\": %lu, \"first\": \"%s\"}\n",
	       done, left, soon, atomic_load(&shared->attaches), atomic_load(&shared->takes),
	       atomic_load(&shared->pauses), atomic_load(&shared->failures), shared->first);
	return left ? 1 : 0;
}
