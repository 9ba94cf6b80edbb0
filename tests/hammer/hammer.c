/*
 * hammer PID RULES LOOKS [no-perch] [never-pause]: takes many snapshots of tests/targets/hammer.py and checks every
 * stack that is said to be proven against the rules of the target. Prints figures as JSON; exits with 0 if nothing was
 * impossible, 1 if something was, 2 if it could not look.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "darter/darter.h"
#include "rules.h"

struct tally {
	uint64_t snapshots, threads, frames, empty;
	uint64_t impossible, torn, looks;
	uint64_t deceived; /* impossible, and not said to be proven: five looks in a row agreed on it */
	uint64_t changed;  /* snapshots that show other stacks than the one before: the target does move */
	uint64_t print;    /* fingerprint of those stacks */
	uint64_t proofs[DT_PROOF_AGREE + 1];
	uint64_t window_ns;
	uint64_t *took_ns; /* per snapshot */
	char first[1024];  /* what was impossible first */
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void blame(struct tally *tally, const char *what)
{
	if (!tally->impossible++)
		snprintf(tally->first, sizeof(tally->first), "%s", what);
}

static void check_thread(struct tally *tally, const struct rules *rules, const struct dt_thread *thread)
{
	char what[1024];

	tally->threads++;
	tally->frames += thread->frame_count;
	tally->proofs[thread->proof]++;
	if (thread->torn != (thread->proof == DT_PROOF_NONE))
		blame(tally, "torn and proven at once");
	if (thread->torn) {
		tally->torn++;
		return;
	}
	if (!thread->frame_count) {
		/* A thread that starts or ends has no frame; the main thread of these targets always has. */
		tally->empty++;
		if (thread->main && !rules_idle(rules)) {
			snprintf(what, sizeof(what), "the main thread is empty: %s, %s", dt_proof_name(thread->proof),
				 dt_state_name(thread->state));
			blame(tally, what);
		}
	}
	if (rules_check(rules, thread, what, sizeof(what)) == 0)
		return;
	if (thread->proof == DT_PROOF_AGREE)
		tally->deceived++;
	else
		blame(tally, what);
}

static void note_change(struct tally *tally, const struct dt_snapshot *snapshot)
{
	uint64_t print = snapshot->thread_count;

	for (size_t t = 0; t < snapshot->thread_count; t++)
		for (size_t i = 0; i < snapshot->threads[t].frame_count; i++)
			print = (print ^ snapshot->threads[t].frames[i].line) * 1099511628211u;
	tally->changed += print != tally->print;
	tally->print = print;
}

static int look(struct dt_target *target, const struct rules *rules, struct tally *tally)
{
	const struct dt_snapshot *snapshot;
	struct dt_error err;
	char what[1024];
	uint64_t begin = now_ns();
	int code = dt_take(target, &snapshot, &err);

	if (code < 0) {
		fprintf(stderr, "look %" PRIu64 ": %s\n%s\n", tally->snapshots, err.message, err.hint);
		return code;
	}
	tally->took_ns[tally->snapshots++] = now_ns() - begin;
	tally->looks += snapshot->looks;
	tally->window_ns += snapshot->window_ns;
	if (!snapshot->thread_count)
		blame(tally, "no thread at all");
	note_change(tally, snapshot);
	for (size_t i = 0; i < snapshot->thread_count; i++)
		check_thread(tally, rules, &snapshot->threads[i]);
	if (rules_check_together(rules, snapshot, what, sizeof(what)) < 0)
		blame(tally, what);
	return 0;
}

static int compare(const void *left, const void *right)
{
	uint64_t one = *(const uint64_t *)left, other = *(const uint64_t *)right;

	return (one > other) - (one < other);
}

static void print_text(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\' || (unsigned char)*text < 0x20)
			printf("\\u%04x", (unsigned char)*text);
		else
			putchar(*text);
	}
	putchar('"');
}

static void print_tally(struct tally *tally)
{
	double count = tally->snapshots ? (double)tally->snapshots : 1;
	size_t last = tally->snapshots ? tally->snapshots - 1 : 0;
	size_t half = last / 2;
	size_t most = last * 99 / 100;

	qsort(tally->took_ns, tally->snapshots, sizeof(*tally->took_ns), compare);
	printf("{\"snapshots\": %" PRIu64 ", \"threads\": %" PRIu64 ", \"frames\": %" PRIu64 ", \"empty\": %" PRIu64
	       ", \"impossible\": %" PRIu64 ", \"deceived\": %" PRIu64 ", \"torn\": %" PRIu64 ", \"changed\": %" PRIu64
	       ", \"proofs\": {",
	       tally->snapshots, tally->threads, tally->frames, tally->empty, tally->impossible, tally->deceived,
	       tally->torn, tally->changed);
	for (int proof = DT_PROOF_NONE; proof <= DT_PROOF_AGREE; proof++)
		printf("%s\"%s\": %" PRIu64, proof ? ", " : "", dt_proof_name((enum dt_proof)proof),
		       tally->proofs[proof]);
	printf("}, \"looks_per_snapshot\": %.3f, \"window_us\": %.1f, \"us\": {\"p50\": %.1f, \"p99\": %.1f, \"max\": "
	       "%.1f}",
	       (double)tally->looks / count, (double)tally->window_ns / count / 1e3, (double)tally->took_ns[half] / 1e3,
	       (double)tally->took_ns[most] / 1e3, (double)tally->took_ns[last] / 1e3);
	printf(", \"first\": ");
	print_text(tally->first);
	printf("}\n");
}

static int hammer(int pid, const char *path, uint64_t looks, const struct dt_options *options)
{
	struct rules *rules = rules_read(path);
	struct tally tally = {.took_ns = calloc(looks + 1, sizeof(*tally.took_ns))};
	struct dt_target *target = NULL;
	struct dt_error err;
	int status = 2;

	if (!rules || !tally.took_ns)
		goto out;
	if (dt_attach(pid, options, &target, &err) < 0) {
		fprintf(stderr, "%s\n%s\n", err.message, err.hint);
		goto out;
	}
	srand(1);
	for (uint64_t i = 0; i < looks; i++) {
		if (look(target, rules, &tally) < 0)
			goto out;
		/* The target gets on meanwhile, which it cannot while we are on its CPU, and we do not fall in step. */
		usleep((useconds_t)(rand() % (i % 16 ? 100 : 2000)));
	}
	print_tally(&tally);
	status = tally.impossible ? 1 : 0;
out:
	dt_release(target);
	rules_free(rules);
	free(tally.took_ns);
	return status;
}

int main(int argc, char **argv)
{
	struct dt_options options = {0};

	if (argc < 4) {
		fprintf(stderr, "usage: hammer PID RULES LOOKS [no-perch] [never-pause]\n");
		return 2;
	}
	for (int i = 4; i < argc; i++) {
		if (strcmp(argv[i], "no-perch") == 0)
			options.no_perch = true;
		else if (strcmp(argv[i], "never-pause") == 0)
			options.pause = DT_PAUSE_NEVER;
		else
			return 2;
	}
	return hammer((int)strtol(argv[1], NULL, 10), argv[2], strtoull(argv[3], NULL, 10), &options);
}
