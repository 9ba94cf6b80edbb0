/*
 * shares PID[,PID...] RATE SECONDS NAMES [no-perch] [never-pause] [always-pause]: records processes and prints, as
 * JSON, how much of the time of their threads was spent below each of the functions (NAMES, separated by commas; the
 * innermost one that a stack has counts), in each state, and unseen. In nanoseconds, by wall time and by CPU time.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "profile/file.h"
#include "record.h"

#define NAMES 32

struct share {
	uint64_t wall, cpu;
};

struct shares {
	char *names[NAMES];
	size_t count;
	struct share by_name[NAMES], by_state[DT_STATE_STOPPED + 1], unseen, all;
	double cpu_squares; /* of the runs' CPU times */
};

static void add(struct share *share, const struct dt_profile_run *run)
{
	share->wall += run->wall_ns;
	share->cpu += run->cpu_ns;
}

static void add_run(const struct dt_profile *profile, const struct dt_profile_run *run, struct shares *shares)
{
	add(&shares->all, run);
	shares->cpu_squares += (double)run->cpu_ns * (double)run->cpu_ns;
	add(&shares->by_state[run->state], run);
	if (run->flags & DT_RUN_UNSEEN)
		add(&shares->unseen, run);
	for (uint32_t at = run->stack; at; at = dt_profile_stack_at(profile, at)->parent) {
		uint32_t location = dt_profile_stack_at(profile, at)->location;
		uint32_t function = dt_profile_location_at(profile, location)->function;
		const char *name = dt_profile_text(profile, dt_profile_function_at(profile, function)->name);

		for (size_t i = 0; i < shares->count; i++) {
			if (strcmp(name, shares->names[i]) == 0) {
				add(&shares->by_name[i], run);
				return;
			}
		}
	}
}

static void print_share(const char *name, const struct share *share)
{
	printf("\"%s\": {\"wall\": %" PRIu64 ", \"cpu\": %" PRIu64 "}, ", name, share->wall, share->cpu);
}

/* A share of time that is booked in parts of different sizes is as certain as one of so many parts of equal size. */
static double cpu_parts(const struct shares *shares)
{
	double cpu = (double)shares->all.cpu;

	return shares->cpu_squares > 0 ? cpu * cpu / shares->cpu_squares : 0;
}

static void print_shares(const struct shares *shares, const struct dt_record_status *status)
{
	static const char *const states[] = {"unknown", "running", "gil", "syscall", "sleeping", "stopped"};

	printf("{\"functions\": {");
	for (size_t i = 0; i < shares->count; i++)
		print_share(shares->names[i], &shares->by_name[i]);
	printf("\"\": 0}, \"states\": {");
	for (size_t i = 0; i < DT_COUNT(states); i++)
		print_share(states[i], &shares->by_state[i]);
	printf("\"\": 0}, ");
	print_share("unseen", &shares->unseen);
	print_share("all", &shares->all);
	printf("\"cpu_parts\": %.1f, ", cpu_parts(shares));
	printf("\"samples\": %" PRIu64 ", \"rounds\": %" PRIu64 ", \"late\": %" PRIu64 ", \"settled\": %" PRIu64
	       ", \"torn\": %" PRIu64 ", \"lost\": %" PRIu64 ", \"stops\": %" PRIu64 ", \"stopped_ns\": %" PRIu64
	       ", \"cpu_ns\": %" PRIu64 ", \"duration_ns\": %" PRIu64 ", \"rung\": \"%s\", \"why\": \"%s\"}\n",
	       status->samples, status->rounds, status->late, status->settled, status->torn, status->lost,
	       status->stops, status->stopped_ns, status->cpu_ns, status->duration_ns, status->rung, status->why);
}

int main(int argc, char **argv)
{
	struct dt_record_options options = {0};
	struct dt_record_status status;
	struct dt_profile *profile = NULL;
	struct dt_file_state state;
	struct shares shares = {0};
	struct dt_error err;
	FILE *file = tmpfile();
	int rc;

	if (argc < 5 || !file) {
		fprintf(stderr,
			"usage: shares PID[,PID...] RATE SECONDS NAMES [no-perch] [never-pause] [always-pause]\n");
		return 2;
	}
	options.rate = strtod(argv[2], NULL);
	options.fd = fileno(file);
	for (char *name = strtok(argv[4], ","); name && shares.count < NAMES; name = strtok(NULL, ","))
		shares.names[shares.count++] = name;
	record_words(argc, argv, 5, &options);
	rc = record(argv[1], &options, strtod(argv[3], NULL), &status, &err);
	if (rc == 0) {
		rewind(file);
		rc = dt_profile_read(fileno(file), "the recording", &profile, &state, &err);
	}
	for (size_t i = 0; rc == 0 && i < dt_profile_counts(profile).runs; i++)
		add_run(profile, &dt_profile_runs(profile)[i], &shares);
	if (rc == 0)
		print_shares(&shares, &status);
	else
		fprintf(stderr, "shares: %s\n%s\n", err.message, err.hint);
	dt_profile_free(profile);
	fclose(file);
	return rc < 0 ? 1 : 0;
}
