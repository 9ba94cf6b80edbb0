/*
 * frugal PID RATE [no-perch] [never-pause]: records a process and prints how often memory was asked for by the threads
 * that sample: in the first seconds, and in those after them, when nothing is new any more. Linked so that every
 * request of ours comes here first.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record.h"

#define SECONDS 1.0

static pid_t keeper; /* the thread that looks after the recording may ask for what it likes */
static _Atomic unsigned asked;

static void count(void)
{
	asked += keeper && gettid() != keeper;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_reallocarray(void *old, size_t count, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t number, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_reallocarray(void *old, size_t number, size_t size);

void *__wrap_malloc(size_t size)
{
	count();
	return __real_malloc(size);
}

void *__wrap_calloc(size_t number, size_t size)
{
	count();
	return __real_calloc(number, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	count();
	return __real_realloc(old, size);
}

void *__wrap_reallocarray(void *old, size_t number, size_t size)
{
	count();
	return __real_reallocarray(old, number, size);
}

int main(int argc, char **argv)
{
	struct dt_record_options options = {0};
	struct dt_record_status status;
	struct dt_recording *recording;
	struct dt_error err;
	unsigned first;
	int rc;

	if (argc < 3)
		return 2;
	options.fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	options.rate = strtod(argv[2], NULL);
	record_words(argc, argv, 3, &options);
	keeper = gettid();
	rc = dt_record(&options, &recording, &err);
	if (rc == 0)
		rc = dt_record_add(recording, (int)strtol(argv[1], NULL, 10), 60, &err);
	if (rc == 0)
		rc = dt_record_tend(recording, SECONDS, NULL, NULL, &err);
	first = asked;
	if (rc == 0)
		rc = dt_record_tend(recording, SECONDS, NULL, NULL, &err);
	if (rc < 0) {
		fprintf(stderr, "frugal: %s\n", err.message);
		return 2;
	}
	printf("{\"first\": %u, \"then\": %u, ", first, asked - first);
	dt_record_status(recording, &status);
	printf("\"rounds\": %llu}\n", (unsigned long long)status.rounds);
	rc = dt_record_end(recording, &err);
	dt_record_free(recording);
	return rc < 0 ? 2 : 0;
}
