/*
 * take PID LOOKS: takes the stacks of a process again and again through the library and prints, as JSON, how long one
 * took in microseconds: every value, in the order measured. The first looks, which fill the caches, are left out.
 */
#include <darter/darter.h>
#include <stdlib.h>
#include <time.h>

#define WARM_UP 20

static double now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int measure(struct dt_target *target, long looks, struct dt_error *err)
{
	/* Not in step with the target, and not all in one stretch of its time. */
	const struct timespec pause = {.tv_nsec = 500000};
	const struct dt_snapshot *snapshot;
	size_t threads = 0;
	unsigned torn = 0;

	printf("{\"us\": [");
	for (long i = -WARM_UP; i < looks; i++) {
		double begin = now_us(), took;
		int code = dt_take(target, &snapshot, err);

		took = now_us() - begin;
		if (code < 0)
			return code;
		threads = snapshot->thread_count;
		torn += snapshot->torn;
		if (i >= 0)
			printf("%s%.2f", i ? ", " : "", took);
		nanosleep(&pause, NULL);
	}
	printf("], \"threads\": %zu, \"torn\": %u}\n", threads, torn);
	return 0;
}

int main(int argc, char **argv)
{
	struct dt_target *target = NULL;
	struct dt_error err;
	int code;

	if (argc != 3) {
		fprintf(stderr, "usage: take PID LOOKS\n");
		return 2;
	}
	code = dt_attach((int)strtol(argv[1], NULL, 10), NULL, &target, &err);
	if (!code)
		code = measure(target, strtol(argv[2], NULL, 10), &err);
	if (code)
		fprintf(stderr, "take: %s\n%s\n", err.message, err.hint);
	dt_release(target);
	return code ? 1 : 0;
}
