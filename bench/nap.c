/*
 * nap PID RATE SECONDS: does nothing but sleep until the next instant, RATE times a second, on the CPU where PID's main
 * thread computes and, where that is allowed, with real-time priority, as a recording does. Prints as JSON how much
 * CPU time that takes: no profiler that sleeps before each sample can do with less.
 */
#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NS_PER_S  1000000000
#define PROCESSOR 37 /* fields of /proc/PID/stat behind the name, and the CPU is the last of them */

static int64_t ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* Of the main thread of a process; -1 if it is not known. */
static int cpu_of(const char *pid)
{
	char path[64], text[1024] = "", *field;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return -1;
	field = fgets(text, sizeof(text), file) ? strrchr(text, ')') : NULL;
	fclose(file);
	for (int i = 0; field && i < PROCESSOR; i++)
		field = strchr(field + 1, ' ');
	return field ? (int)strtol(field, NULL, 10) : -1;
}

static void sit_on(int cpu)
{
	const struct sched_param priority = {.sched_priority = 1};
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET((size_t)cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one) < 0 || sched_setscheduler(0, SCHED_FIFO, &priority) < 0)
		fprintf(stderr, "nap: %s\n", strerror(errno)); /* then it sleeps as anybody does */
}

int main(int argc, char **argv)
{
	int64_t period, due, used;
	int cpu = argc == 4 ? cpu_of(argv[1]) : -1, wakes;

	if (cpu < 0) {
		fprintf(stderr, "usage: nap PID RATE SECONDS\n");
		return 2;
	}
	sit_on(cpu);
	period = (int64_t)(NS_PER_S / strtod(argv[2], NULL));
	wakes = (int)(strtod(argv[2], NULL) * strtod(argv[3], NULL));
	due = ns(CLOCK_MONOTONIC);
	used = ns(CLOCK_PROCESS_CPUTIME_ID);
	for (int i = 0; i < wakes; i++) {
		struct timespec at;

		due += period;
		at = (struct timespec){.tv_sec = due / NS_PER_S, .tv_nsec = due % NS_PER_S};
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
	}
	used = ns(CLOCK_PROCESS_CPUTIME_ID) - used;
	printf("{\"us\": %.1f}\n", (double)used / 1e3 / wakes);
	return 0;
}
