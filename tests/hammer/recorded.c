/*
 * recorded PID RULES RATE SECONDS [no-perch] [never-pause] [always-pause]: records tests/targets/hammer.py, reads the
 * recording back and checks every stack in it against the rules of the target. Prints figures as JSON; exits with 0 if
 * nothing was impossible, 1 if something was, 2 if it could not be recorded.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "profile/file.h"
#include "record.h"
#include "rules.h"

struct tally {
	uint64_t runs, checked, empty, impossible;
	uint64_t samples, seen, unseen, torn; /* each sample is one of the last three */
	uint64_t wall_ns, unseen_ns;
	char first[1024];
};

/* The frames of a stack as dump shows them, innermost first. The caller frees them. */
static struct dt_frame *frames_of(const struct dt_profile *profile, uint32_t stack, size_t *count)
{
	struct dt_frame *frames;

	*count = stack ? dt_profile_stack_at(profile, stack)->depth : 0;
	frames = calloc(*count + 1, sizeof(*frames));
	for (size_t i = 0; frames && stack; i++) {
		const struct dt_profile_stack *node = dt_profile_stack_at(profile, stack);
		const struct dt_profile_location *location = dt_profile_location_at(profile, node->location);
		const struct dt_profile_function *function = dt_profile_function_at(profile, location->function);

		frames[i] = (struct dt_frame){.name = dt_profile_text(profile, function->name),
					      .file = dt_profile_text(profile, function->file),
					      .line = location->line,
					      .first_line = function->first_line};
		stack = node->parent;
	}
	return frames;
}

static void check_run(const struct dt_profile *profile, const struct rules *rules, const struct dt_profile_run *run,
		      struct tally *tally)
{
	const struct dt_profile_thread *from = dt_profile_thread_at(profile, run->thread);
	const char *name = dt_profile_text(profile, from->name);
	struct dt_thread thread = {.tid = from->tid, .main = from->main};
	dt_auto_free struct dt_frame *frames = frames_of(profile, run->stack, &thread.frame_count);
	char what[1024];

	tally->runs++;
	tally->samples += run->samples;
	tally->wall_ns += run->wall_ns;
	if (run->flags & DT_RUN_UNSEEN) {
		tally->unseen += run->samples;
		tally->unseen_ns += run->wall_ns;
		return;
	}
	if (run->flags & DT_RUN_TORN) {
		tally->torn += run->samples;
		return;
	}
	tally->checked++;
	tally->seen += run->samples;
	tally->empty += !thread.frame_count;
	thread.frames = frames;
	/* Threads may change their names while they are recorded: those that do are not asked for it. */
	thread.name = strncmp(name, "name-", 5) == 0 ? NULL : name;
	if (rules_check(rules, &thread, what, sizeof(what)) < 0 && !tally->impossible++)
		snprintf(tally->first, sizeof(tally->first), "%s", what);
}

static void print_text(const char *text)
{
	putchar('"');
	for (; *text; text++)
		printf(*text == '"' || *text == '\\' || (unsigned char)*text < 0x20 ? "\\u%04x" : "%c",
		       (unsigned char)*text);
	putchar('"');
}

static void print_tally(const struct tally *tally, const struct dt_record_status *status, size_t stacks)
{
	printf("{\"runs\": %" PRIu64 ", \"samples\": %" PRIu64 ", \"seen\": %" PRIu64 ", \"checked\": %" PRIu64
	       ", \"empty\": %" PRIu64 ", \"unseen\": %" PRIu64 ", \"torn\": %" PRIu64 ", \"impossible\": %" PRIu64
	       ", \"wall_ns\": %" PRIu64 ", \"unseen_ns\": %" PRIu64 ", \"stacks\": %zu, ",
	       tally->runs, tally->samples, tally->seen, tally->checked, tally->empty, tally->unseen, tally->torn,
	       tally->impossible, tally->wall_ns, tally->unseen_ns, stacks);
	printf("\"rounds\": %" PRIu64 ", \"told_samples\": %" PRIu64 ", \"late\": %" PRIu64
	       ", \"told_unseen\": %" PRIu64 ", \"settled\": %" PRIu64 ", \"told_torn\": %" PRIu64
	       ", \"lost\": %" PRIu64 ", \"stops\": %" PRIu64 ", \"stopped_ns\": %" PRIu64 ", \"cpu_ns\": %" PRIu64
	       ", \"duration_ns\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"rung\": ",
	       status->rounds, status->samples, status->late, status->unseen, status->settled, status->torn,
	       status->lost, status->stops, status->stopped_ns, status->cpu_ns, status->duration_ns, status->bytes);
	print_text(status->rung);
	printf(", \"first\": ");
	print_text(tally->first);
	printf("}\n");
}

static int check(FILE *file, const char *path, const struct dt_record_status *status, struct dt_error *err)
{
	struct rules *rules = rules_read(path);
	struct dt_profile *profile = NULL;
	struct dt_file_state state;
	struct tally tally = {0};
	int rc;

	if (!rules)
		return dt_fail(err, DT_ERUNTIME, "there are no rules");
	rewind(file);
	rc = dt_profile_read(fileno(file), "the recording", &profile, &state, err);
	if (rc == 0 && !state.ended)
		rc = dt_fail(err, DT_ERUNTIME, "the recording has no end");
	for (size_t i = 0; rc == 0 && i < dt_profile_counts(profile).runs; i++)
		check_run(profile, rules, &dt_profile_runs(profile)[i], &tally);
	if (rc == 0) {
		print_tally(&tally, status, dt_profile_counts(profile).stacks);
		rc = tally.impossible ? 1 : 0;
	}
	dt_profile_free(profile);
	rules_free(rules);
	return rc;
}

int main(int argc, char **argv)
{
	struct dt_record_options options = {0};
	struct dt_record_status status;
	struct dt_error err;
	FILE *file = tmpfile();
	int rc;

	if (argc < 5 || !file) {
		fprintf(stderr, "usage: recorded PID RULES RATE SECONDS [no-perch] [never-pause] [always-pause]\n");
		return 2;
	}
	options.rate = strtod(argv[3], NULL);
	options.fd = fileno(file);
	record_words(argc, argv, 5, &options);
	rc = record(argv[1], &options, strtod(argv[4], NULL), &status, &err);
	if (rc == 0)
		rc = check(file, argv[2], &status, &err);
	if (rc < 0)
		fprintf(stderr, "recorded: %s\n%s\n", err.message, err.hint);
	fclose(file);
	return rc < 0 ? 2 : rc;
}
