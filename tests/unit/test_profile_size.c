/*
 * The size of a .darter file: an hour of 50 threads at 100 Hz, a block each second, is to take less than 20 MB. A
 * minute of it is made here: a program with a GIL, in which one to three threads change at each sample and the others
 * sleep or wait; 500 stacks of which few are seen often; instants that jitter; scheduler figures in nanoseconds. The
 * mix is the same in every run.
 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "profile/file.h"
#include "profile_example.h"
#include "profile_same.h"

#define THREADS 50
#define STACKS  500
#define MINUTE  60
#define RATE    100
#define LIMIT   (UINT64_C(20) * 1000 * 1000) /* of an hour */

static uint64_t random_state = 42;

static uint32_t random_below(uint32_t bound)
{
	random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)((random_state >> 33) % bound);
}

/* Few are seen often: half of all are among the first twenty. */
static uint32_t random_stack(const uint32_t *stacks)
{
	uint32_t range = 1 + random_below(STACKS);

	return stacks[random_below(1 + random_below(range))];
}

static void make_stacks(struct dt_profile *profile, uint32_t *stacks)
{
	for (uint32_t i = 0; i < STACKS; i++) {
		uint32_t depth = 15 + random_below(20), stack = i && random_below(4) ? stacks[random_below(i)] : 0;
		char name[64], file[96];

		for (; dt_profile_stack_at(profile, stack)->depth > 12;)
			stack = dt_profile_stack_at(profile, stack)->parent;
		while (dt_profile_stack_at(profile, stack)->depth < depth) {
			uint32_t function = random_below(800);

			snprintf(name, sizeof(name), "Service%u.handle_request_%u", function % 37, function);
			snprintf(file, sizeof(file), "/usr/lib/python3/dist-packages/package_%u/module_%u.py",
				 function % 17, function % 90);
			stack = example_frame(profile, stack, name, file, 10 * function + random_below(9));
		}
		stacks[i] = stack;
	}
}

struct simulated {
	struct dt_profile_run now[THREADS];
};

static void change_thread(struct dt_profile *profile, struct dt_profile_run *run, const uint32_t *stacks)
{
	static const char *const calls[] = {"futex", "epoll_wait", "clock_nanosleep", "read"};

	run->stack = random_stack(stacks);
	run->flags = 0;
	run->call = 0;
	switch (random_below(4)) {
	case 0:
		run->state = DT_STATE_RUNNING;
		run->flags = DT_RUN_GIL;
		break;
	case 1:
		run->state = DT_STATE_GIL_WAIT;
		run->call = example_string(profile, "futex");
		break;
	case 2:
		run->state = DT_STATE_RUNNING;
		break;
	default:
		run->state = DT_STATE_SLEEPING;
		run->call = example_string(profile, calls[random_below(4)]);
	}
}

/* All threads between two instants. */
static uint64_t round_of(struct dt_profile *profile, struct simulated *program, const uint32_t *stacks, uint64_t at)
{
	uint64_t next = at + 1000000000 / RATE - 2500000 + random_below(5000000);
	uint32_t changes = 1 + random_below(3);

	for (uint32_t i = 0; i < changes; i++) /* mostly of the same few */
		change_thread(profile, &program->now[random_below(random_below(4) ? 6 : THREADS)], stacks);
	for (uint32_t i = 0; i < THREADS; i++) {
		struct dt_profile_run *run = &program->now[i];

		run->start_ns = at;
		run->wall_ns = next - at;
		run->cpu_ns = run->state == DT_STATE_RUNNING ? run->wall_ns - random_below(200000) : 0;
		run->samples = 1;
		assert_int_equal(dt_profile_add_run(profile, run), 0);
	}
	return next;
}

static void test_an_hour(void **state)
{
	struct dt_profile *profile = dt_profile_new(), *again;
	struct dt_profile_process process = {.pid = 1, .command = example_string(profile, "python app.py")};
	struct simulated program = {0};
	struct dt_file_state file;
	struct dt_writer *writer;
	struct dt_error err;
	uint32_t stacks[STACKS], id;
	uint64_t at = 0, first = 0, whole, written = 0;
	int fd = example_file();

	(void)state;
	make_stacks(profile, stacks);
	assert_int_equal(dt_profile_add_process(profile, &process, &id), 0);
	for (uint32_t i = 0; i < THREADS; i++) {
		struct dt_profile_thread thread = {.process = 1, .tid = 1000 + i, .ident = 0x7f0000000000 + i * 4096};

		assert_int_equal(dt_profile_add_thread(profile, &thread, &program.now[i].thread), 0);
		program.now[i].stack = random_stack(stacks);
		program.now[i].state = DT_STATE_SLEEPING;
		program.now[i].call = example_string(profile, "futex");
	}
	assert_int_equal(dt_writer_new(fd, profile, &writer, &err), 0);
	for (uint64_t second = 1; second <= MINUTE; second++) {
		while (at < second * 1000000000)
			at = round_of(profile, &program, stacks, at);
		written += dt_profile_counts(profile).runs;
		assert_int_equal(dt_writer_flush(writer, &err), 0);
		if (second == 1)
			first = dt_writer_bytes(writer);
	}
	assert_int_equal(dt_writer_end(writer, &err), 0);
	/* What comes with the first block comes once an hour. */
	whole = first + (dt_writer_bytes(writer) - first) * 3600 / (MINUTE - 1);
	print_message("%llu runs: %llu bytes, %llu of them in the first block; an hour takes %.1f MB\n",
		      (unsigned long long)written, (unsigned long long)dt_writer_bytes(writer),
		      (unsigned long long)first, (double)whole / 1e6);
	assert_true(written > (uint64_t)MINUTE * RATE * 2);
	assert_true(whole < LIMIT);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(dt_profile_read(fd, "hour.darter", &again, &file, &err), 0);
	assert_true(file.ended && !file.damaged && !file.lost_runs);
	assert_true(dt_profile_counts(again).runs > (size_t)MINUTE * RATE);
	dt_profile_free(again);
	dt_writer_free(writer);
	dt_profile_free(profile);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_an_hour)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
