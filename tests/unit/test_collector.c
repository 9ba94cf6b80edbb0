/* From messages to runs: what was told, for as long as it held; what was not told goes on. */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "profile/profile.h"
#include "record/collector.h"
#include "record/message.h"

#define MS UINT64_C(1000000)

struct fixture {
	struct dt_profile *profile;
	struct dt_collector *collector;
	struct dt_ring *ring;
};

static uint32_t told; /* rounds, so far */

static struct dt_message head(enum dt_message_kind kind, uint32_t thread)
{
	return (struct dt_message){.kind = kind, .subject = 1, .thread = thread, .round = told};
}

static void tell_later_code(struct fixture *f, uint32_t id, uint32_t oldest, const char *name)
{
	struct dt_message_code *message = dt_ring_put(f->ring, sizeof(*message) + strlen(name) + 4);

	*message = (struct dt_message_code){head(DT_MESSAGE_CODE, 0), id, oldest, 10, (uint32_t)strlen(name), 4};
	memcpy(message->text, name, strlen(name));
	memcpy(message->text + strlen(name), "f.py", 4);
}

static void tell_code(struct fixture *f, uint32_t id, const char *name)
{
	tell_later_code(f, id, 1, name);
}

static struct dt_message_thread *tell_thread(struct fixture *f, uint32_t serial, const char *name)
{
	struct dt_message_thread *message = dt_ring_put(f->ring, sizeof(*message) + strlen(name));

	*message = (struct dt_message_thread){
	    .head = head(DT_MESSAGE_THREAD, serial), .tid = 100 + serial, .name_length = (uint32_t)strlen(name)};
	memcpy(message->name, name, strlen(name));
	return message;
}

/* depth 0 .. 2: main, main -> inner; DT_SAME_STACK. */
static void tell_change(struct fixture *f, uint32_t serial, uint32_t depth, enum dt_state state, const char *call)
{
	size_t frames = depth == DT_SAME_STACK ? 0 : depth;
	struct dt_message_change *message = dt_ring_put(f->ring,
							sizeof(*message) + frames * sizeof(struct dt_told_frame));

	*message = (struct dt_message_change){
	    .head = head(DT_MESSAGE_CHANGE, serial), .call = call, .depth = depth, .state = (uint8_t)state};
	for (size_t i = 0; i < frames; i++) /* innermost first */
		message->frames[i] = (struct dt_told_frame){.code = (uint32_t)(frames - i), .line = (uint32_t)(20 + i)};
}

static struct dt_message_spent *tell_spent(struct fixture *f, uint32_t serial, uint64_t ns)
{
	struct dt_message_spent *message = dt_ring_put(f->ring, sizeof(*message));

	*message = (struct dt_message_spent){head(DT_MESSAGE_SPENT, serial), ns, 0};
	return message;
}

static void publish_round(struct dt_ring *ring, uint64_t from_ms, uint64_t to_ms)
{
	struct dt_message_round *message = dt_ring_put(ring, sizeof(*message));

	*message = (struct dt_message_round){head(DT_MESSAGE_ROUND, 0), from_ms * MS, to_ms * MS, to_ms * MS};
	dt_ring_publish(ring);
	told++;
}

/* How many messages there were. */
static size_t drain(struct fixture *f, struct dt_ring *ring)
{
	size_t collected = 0;

	assert_int_equal(dt_collector_drain(f->collector, ring, &collected), 0);
	return collected;
}

static void tell_round(struct fixture *f, uint64_t from_ms, uint64_t to_ms)
{
	publish_round(f->ring, from_ms, to_ms);
	assert_true(drain(f, f->ring) > 0);
}

static int set_up_with(void **state, const struct dt_collector_limits *limits)
{
	static struct fixture f;
	const struct dt_profile_process process = {.pid = 7};

	told = 0;
	f = (struct fixture){.profile = dt_profile_new(), .ring = dt_ring_new(65536, 65536)};
	f.collector = dt_collector_new(f.profile, limits);
	*state = &f;
	return dt_collector_join(f.collector, 1, &process);
}

static int set_up(void **state)
{
	return set_up_with(state, NULL);
}

static int set_up_limited(void **state)
{
	return set_up_with(state, &(struct dt_collector_limits){.process_threads = 2, .threads = 1000, .stacks = 3});
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	dt_collector_free(f->collector);
	dt_ring_free(f->ring);
	dt_profile_free(f->profile);
	return 0;
}

static const struct dt_profile_run *run_at(const struct fixture *f, size_t index)
{
	assert_true(index < dt_profile_counts(f->profile).runs);
	return &dt_profile_runs(f->profile)[index];
}

static const char *innermost(const struct fixture *f, uint32_t stack)
{
	const struct dt_profile_stack *node = dt_profile_stack_at(f->profile, stack);
	const struct dt_profile_location *location = dt_profile_location_at(f->profile, node->location);

	return dt_profile_text(f->profile, dt_profile_function_at(f->profile, location->function)->name);
}

/* A part of a rest is still the last look's: it is told though a block was written in between, and no look of that run
 * came behind it. So is CPU time of a thread that ends there. */
static void test_a_rest_behind_a_block(void **state)
{
	struct fixture *f = *state;
	struct dt_message_round *rest;
	uint64_t wall_ns = 0, cpu_ns = 0;

	tell_code(f, 1, "main");
	tell_code(f, 2, "inner");
	tell_thread(f, 1, "MainThread");
	tell_change(f, 1, 2, DT_STATE_RUNNING, NULL);
	tell_round(f, 0, 10);
	assert_int_equal(dt_collector_settle(f->collector, false), 0);
	rest = dt_ring_put(f->ring, sizeof(*rest));
	*rest = (struct dt_message_round){
	    .head = head(DT_MESSAGE_ROUND, 0), .to_ns = 15 * MS, .at_ns = 15 * MS, .rest = true};
	dt_ring_publish(f->ring);
	told++;
	assert_true(drain(f, f->ring) > 0);
	tell_change(f, 1, 1, DT_STATE_RUNNING, NULL);
	tell_round(f, 0, 20);
	assert_int_equal(dt_collector_settle(f->collector, false), 0);
	tell_spent(f, 1, 3 * MS);
	*(struct dt_message *)dt_ring_put(f->ring, sizeof(struct dt_message)) = head(DT_MESSAGE_GONE, 1);
	tell_round(f, 0, 30);
	for (size_t i = 0; i < dt_profile_counts(f->profile).runs; i++) {
		wall_ns += run_at(f, i)->wall_ns;
		cpu_ns += run_at(f, i)->cpu_ns;
	}
	assert_int_equal(wall_ns, 20 * MS);
	assert_int_equal(cpu_ns, 3 * MS);
	assert_string_equal(innermost(f, run_at(f, 0)->stack), "inner");
	assert_int_equal(
	    run_at(f, 0)->wall_ns + (run_at(f, 1)->stack == run_at(f, 0)->stack ? run_at(f, 1)->wall_ns : 0), 15 * MS);
}

static void test_runs(void **state)
{
	struct fixture *f = *state;
	const struct dt_profile_run *run;

	tell_code(f, 1, "main");
	tell_code(f, 2, "inner");
	tell_thread(f, 1, "MainThread");
	tell_change(f, 1, 2, DT_STATE_RUNNING, NULL);
	tell_spent(f, 1, 3 * MS);
	tell_round(f, 0, 10);
	tell_spent(f, 1, 4 * MS);
	tell_round(f, 10, 20); /* nothing is said of the stack: it goes on */
	tell_change(f, 1, 1, DT_STATE_SYSCALL, "read");
	tell_round(f, 20, 25);
	tell_change(f, 1, DT_SAME_STACK, DT_STATE_SLEEPING, NULL);
	tell_round(f, 25, 40);
	assert_int_equal(dt_profile_counts(f->profile).runs, 2); /* the last one is open */
	assert_int_equal(dt_collector_settle(f->collector, false), 0);
	assert_int_equal(dt_profile_counts(f->profile).runs, 3);
	run = run_at(f, 0);
	assert_string_equal(innermost(f, run->stack), "inner");
	assert_int_equal(run->start_ns, 0);
	assert_int_equal(run->wall_ns, 20 * MS);
	assert_int_equal(run->cpu_ns, 7 * MS);
	assert_int_equal(run->samples, 2);
	assert_int_equal(run->state, DT_STATE_RUNNING);
	run = run_at(f, 1);
	assert_string_equal(innermost(f, run->stack), "main");
	assert_int_equal(run->start_ns, 20 * MS);
	assert_int_equal(run->wall_ns, 5 * MS);
	assert_string_equal(dt_profile_text(f->profile, run->call), "read");
	run = run_at(f, 2);
	assert_string_equal(innermost(f, run->stack), "main");
	assert_int_equal(run->state, DT_STATE_SLEEPING);
	assert_int_equal(run->wall_ns, 15 * MS);
	assert_int_equal(run->call, 0);
}

/* Settling in between, as a file wants it, changes nothing of the time. */
static void test_settled(void **state)
{
	struct fixture *f = *state;
	uint64_t wall = 0;
	uint32_t samples = 0;

	tell_code(f, 1, "main");
	tell_thread(f, 1, "");
	tell_change(f, 1, 1, DT_STATE_RUNNING, NULL);
	for (unsigned i = 0; i < 10; i++) {
		tell_round(f, i * 10, i * 10 + 10);
		assert_int_equal(dt_collector_settle(f->collector, false), 0);
	}
	for (size_t i = 0; i < dt_profile_counts(f->profile).runs; i++) {
		wall += run_at(f, i)->wall_ns;
		samples += run_at(f, i)->samples;
	}
	assert_int_equal(wall, 100 * MS);
	assert_int_equal(samples, 10);
}

static uint64_t cpu_in(const struct fixture *f, enum dt_state state)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < dt_profile_counts(f->profile).runs; i++)
		sum += run_at(f, i)->state == state ? run_at(f, i)->cpu_ns : 0;
	return sum;
}

/* Whoever waits was somewhere else when it used its CPU; and one that is never met running has used it all the same. */
static void test_cpu_time(void **state)
{
	struct fixture *f = *state;

	tell_code(f, 1, "main");
	tell_code(f, 2, "inner");
	tell_thread(f, 1, "");
	tell_thread(f, 2, "");
	tell_change(f, 1, 1, DT_STATE_SLEEPING, NULL);
	tell_change(f, 2, 1, DT_STATE_SLEEPING, NULL);
	tell_spent(f, 1, 3 * MS);
	tell_spent(f, 2, 1 * MS);
	tell_round(f, 0, 10);
	assert_int_equal(dt_collector_settle(f->collector, false), 0);
	tell_change(f, 1, 2, DT_STATE_RUNNING, NULL);
	tell_round(f, 10, 20);
	tell_spent(f, 1, 4 * MS);
	tell_round(f, 20, 30);
	tell_change(f, 1, 1, DT_STATE_SYSCALL, "read");
	tell_spent(f, 1, 5 * MS);
	tell_round(f, 30, 40);
	tell_change(f, 1, 2, DT_STATE_RUNNING, NULL);
	tell_spent(f, 1, 6 * MS);
	tell_round(f, 40, 50);
	assert_int_equal(dt_collector_settle(f->collector, true), 0);
	assert_int_equal(cpu_in(f, DT_STATE_RUNNING), 18 * MS);
	assert_int_equal(cpu_in(f, DT_STATE_SYSCALL), 0);
	assert_int_equal(cpu_in(f, DT_STATE_SLEEPING), 1 * MS);
	assert_int_equal(dt_collector_settle(f->collector, true), 0);
	assert_int_equal(cpu_in(f, DT_STATE_RUNNING) + cpu_in(f, DT_STATE_SLEEPING), 19 * MS);
}

/* Who is ready to run and has no CPU has not computed where it is. */
static void test_cpu_time_of_one_that_waits(void **state)
{
	struct fixture *f = *state;

	tell_code(f, 1, "main");
	tell_code(f, 2, "inner");
	tell_thread(f, 1, "");
	tell_change(f, 1, 1, DT_STATE_RUNNING, NULL);
	tell_spent(f, 1, 3 * MS)->elsewhere = true;
	tell_round(f, 0, 10);
	tell_change(f, 1, 2, DT_STATE_RUNNING, NULL);
	tell_spent(f, 1, 4 * MS);
	tell_round(f, 10, 20);
	assert_int_equal(dt_collector_settle(f->collector, true), 0);
	assert_int_equal(dt_profile_counts(f->profile).runs, 2);
	assert_int_equal(run_at(f, 0)->cpu_ns, 0);
	assert_int_equal(run_at(f, 1)->cpu_ns, 7 * MS);
}

/* A main thread is called so from the beginning, and by its own name as soon as that is known. */
static void test_name_of_main_thread(void **state)
{
	static const char *const given[] = {"", "chief", ""}, *const shown[] = {"MainThread", "chief", "chief"};
	struct fixture *f = *state;

	for (size_t i = 0; i < DT_COUNT(given); i++) {
		tell_thread(f, 1, given[i])->main = true;
		tell_round(f, 10 * i, 10 * i + 10);
		assert_int_equal(dt_collector_settle(f->collector, false), 0);
		assert_string_equal(dt_profile_text(f->profile, dt_profile_thread_at(f->profile, 1)->name), shown[i]);
	}
}

/* A thread that is gone has no time any more; one that joins begins when it does; a name may come later. */
static void test_threads_come_and_go(void **state)
{
	struct fixture *f = *state;
	uint64_t wall[3] = {0};

	tell_code(f, 1, "main");
	tell_thread(f, 1, "");
	tell_change(f, 1, 1, DT_STATE_RUNNING, NULL);
	tell_round(f, 0, 10);
	tell_thread(f, 2, "");
	tell_change(f, 2, 1, DT_STATE_GIL_WAIT, NULL);
	tell_round(f, 10, 30);
	*(struct dt_message *)dt_ring_put(f->ring, sizeof(struct dt_message)) = head(DT_MESSAGE_GONE, 1);
	tell_thread(f, 2, "worker");
	tell_round(f, 30, 60);
	assert_int_equal(dt_collector_leave(f->collector, 1, 60 * MS), 0);
	for (size_t i = 0; i < dt_profile_counts(f->profile).runs; i++)
		wall[run_at(f, i)->thread] += run_at(f, i)->wall_ns;
	assert_int_equal(wall[1], 30 * MS);
	assert_int_equal(wall[2], 50 * MS);
	assert_string_equal(dt_profile_text(f->profile, dt_profile_thread_at(f->profile, 2)->name), "worker");
	assert_int_equal(dt_profile_thread_at(f->profile, 2)->tid, 102);
	assert_int_equal(dt_profile_process_at(f->profile, 1)->ended_ns, 60 * MS);
	/* What is still told of it means nothing. */
	tell_change(f, 2, 1, DT_STATE_RUNNING, NULL);
	tell_round(f, 60, 70);
	assert_int_equal(dt_collector_settle(f->collector, false), 0);
	assert_int_equal(dt_collector_leave(f->collector, 1, 0), -EINVAL);
}

/* A process goes from one thread that samples to another and back; the rings are drained in the wrong order. */
static void test_rounds_of_two_rings(void **state)
{
	struct fixture *f = *state;
	struct dt_ring *first = f->ring, *second = dt_ring_new(4096, 4096);
	const struct dt_profile_run *run;

	tell_code(f, 1, "main");
	tell_code(f, 2, "inner");
	tell_thread(f, 1, "MainThread");
	tell_change(f, 1, 2, DT_STATE_RUNNING, NULL);
	publish_round(first, 0, 10);
	f->ring = second;
	tell_change(f, 1, 1, DT_STATE_SLEEPING, NULL);
	publish_round(second, 10, 30);
	f->ring = first;
	tell_change(f, 1, 2, DT_STATE_RUNNING, NULL);
	publish_round(first, 30, 35);
	assert_int_equal(drain(f, second), 0);
	assert_int_equal(drain(f, first), 5);
	assert_int_equal(drain(f, first), 0);
	assert_int_equal(drain(f, second), 2);
	assert_int_equal(drain(f, first), 2);
	assert_int_equal(dt_collector_settle(f->collector, true), 0);
	assert_int_equal(dt_profile_counts(f->profile).runs, 3);
	for (size_t i = 0; i < 3; i++) {
		run = run_at(f, i);
		assert_string_equal(innermost(f, run->stack), i == 1 ? "main" : "inner");
		assert_int_equal(run->wall_ns, (i == 0 ? 10 : i == 1 ? 20 : 5) * MS);
	}
	/* Once it has left nothing of it is waited for. */
	assert_int_equal(dt_collector_leave(f->collector, 1, 40 * MS), 0);
	told = 9;
	publish_round(second, 40, 50);
	assert_int_equal(drain(f, second), 1);
	dt_ring_free(second);
}

static void tell_gone(struct fixture *f, uint32_t serial)
{
	*(struct dt_message *)dt_ring_put(f->ring, sizeof(struct dt_message)) = head(DT_MESSAGE_GONE, serial);
}

/* Of two threads that are met together the one that is numbered first may begin to run last. */
static void test_an_earlier_serial_comes_later(void **state)
{
	static const uint32_t serials[] = {2, 7, 5, 3};
	struct fixture *f = *state;
	uint64_t wall[5] = {0};

	tell_code(f, 1, "main");
	for (unsigned i = 0; i < DT_COUNT(serials); i++) {
		tell_thread(f, serials[i], "worker");
		tell_change(f, serials[i], 1, DT_STATE_RUNNING, NULL);
		tell_round(f, i * 10, i * 10 + 10);
	}
	tell_gone(f, 5);
	tell_change(f, 3, 1, DT_STATE_SLEEPING, NULL);
	tell_round(f, 40, 50);
	assert_int_equal(dt_collector_leave(f->collector, 1, 50 * MS), 0);
	for (size_t i = 0; i < dt_profile_counts(f->profile).runs; i++)
		wall[run_at(f, i)->thread] += run_at(f, i)->wall_ns;
	assert_int_equal(wall[1], 50 * MS);
	assert_int_equal(wall[2], 40 * MS);
	assert_int_equal(wall[3], 20 * MS);
	assert_int_equal(wall[4], 20 * MS);
	for (uint32_t id = 1; id <= 4; id++)
		assert_int_equal(dt_profile_thread_at(f->profile, id)->tid, 100 + serials[id - 1]);
}

/* Threads come and go for ever: those beyond the limit share entries, two of which are needed, and no time is lost. */
static void test_too_many_threads(void **state)
{
	struct fixture *f = *state;
	uint64_t wall[8] = {0};

	tell_code(f, 1, "main");
	tell_thread(f, 1, "MainThread");
	tell_change(f, 1, 1, DT_STATE_RUNNING, NULL);
	for (unsigned i = 0; i < 100; i++) {
		if (i >= 2)
			tell_gone(f, i);
		tell_thread(f, i + 2, "worker");
		tell_change(f, i + 2, 1, DT_STATE_SLEEPING, NULL);
		tell_round(f, i * 10, i * 10 + 10);
		tell_thread(f, i + 2, "it has another name now");
	}
	assert_int_equal(dt_collector_leave(f->collector, 1, 1000 * MS), 0);
	assert_int_equal(dt_profile_counts(f->profile).threads, 4);
	for (size_t i = 0; i < dt_profile_counts(f->profile).runs; i++)
		wall[run_at(f, i)->thread] += run_at(f, i)->wall_ns;
	assert_int_equal(wall[1], 1000 * MS);
	assert_int_equal(wall[2], 20 * MS);
	assert_int_equal(wall[3] + wall[4], 99 * 20 * MS - 10 * MS); /* the last one had one round */
	for (uint32_t id = 1; id <= 4; id++)
		assert_int_equal(dt_profile_other(dt_profile_thread_at(f->profile, id)), id > 2);
	assert_string_equal(dt_profile_text(f->profile, dt_profile_thread_at(f->profile, 3)->name), "other threads");
}

/* Stacks that are known stay what they are, those that are new are told as too many. */
static void test_too_many_stacks(void **state)
{
	struct fixture *f = *state;
	const char *const names[] = {"inner", "too many stacks", "inner", "too many stacks"};

	tell_code(f, 1, "main");
	tell_code(f, 2, "inner");
	tell_code(f, 3, "another");
	tell_thread(f, 1, "MainThread");
	tell_change(f, 1, 2, DT_STATE_RUNNING, NULL);
	tell_round(f, 0, 10);
	for (unsigned i = 1; i < 4; i++) {
		struct dt_message_change *message = dt_ring_put(f->ring, sizeof(*message) + 2 * sizeof(uint64_t));

		*message = (struct dt_message_change){
		    .head = head(DT_MESSAGE_CHANGE, 1), .depth = 2, .state = DT_STATE_RUNNING};
		message->frames[0] = (struct dt_told_frame){.code = 2, .line = i == 2 ? 20 : 100 + i};
		message->frames[1] = (struct dt_told_frame){.code = 1, .line = i == 2 ? 21 : 100 + i};
		tell_round(f, i * 10, i * 10 + 10);
	}
	assert_int_equal(dt_collector_settle(f->collector, true), 0);
	assert_int_equal(dt_profile_counts(f->profile).runs, 4);
	for (size_t i = 0; i < 4; i++) {
		assert_string_equal(innermost(f, run_at(f, i)->stack), names[i]);
		assert_int_equal(run_at(f, i)->wall_ns, 10 * MS);
	}
	assert_int_equal(run_at(f, 1)->stack, run_at(f, 3)->stack);
	assert_int_equal(dt_profile_counts(f->profile).stacks, 4);
}

/* Ids of codes that are gone take no room, also where they are counted round. */
static void test_later_codes(void **state)
{
	struct fixture *f = *state;
	const char *const names[] = {"main", "after many", "counted round"};
	const uint32_t ids[] = {1, UINT32_MAX - 1, 1}, oldest[] = {1, UINT32_MAX - 2, UINT32_MAX};

	tell_thread(f, 1, "MainThread");
	for (unsigned i = 0; i < 3; i++) {
		struct dt_message_change *message;

		tell_later_code(f, ids[i], oldest[i], names[i]);
		message = dt_ring_put(f->ring, sizeof(*message) + sizeof(uint64_t));
		*message = (struct dt_message_change){
		    .head = head(DT_MESSAGE_CHANGE, 1), .depth = 1, .state = DT_STATE_RUNNING};
		message->frames[0] = (struct dt_told_frame){.code = ids[i], .line = 20};
		tell_round(f, i * 10, i * 10 + 10);
	}
	assert_int_equal(dt_collector_settle(f->collector, true), 0);
	for (unsigned i = 0; i < 3; i++)
		assert_string_equal(innermost(f, run_at(f, i)->stack), names[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_rounds_of_two_rings, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_runs, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_a_rest_behind_a_block, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_settled, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_cpu_time_of_one_that_waits, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_cpu_time, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_name_of_main_thread, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_threads_come_and_go, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_later_codes, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_an_earlier_serial_comes_later, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_too_many_threads, set_up_limited, tear_down),
	    cmocka_unit_test_setup_teardown(test_too_many_stacks, set_up_limited, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
