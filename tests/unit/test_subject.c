/* What is told of a look: what is new and what has changed; nothing that a lost round has told counts as told. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "profile/profile.h"
#include "record/collector.h"
#include "record/message.h"
#include "record/subject.h"
#include "sample/recorder_inside.h"

#define MS        UINT64_C(1000000)
#define THREADS   3
#define RING_SIZE ((size_t)4096)

struct fixture {
	struct dt_recorder recorder; /* whose threads are made up */
	struct dt_recorded threads[THREADS];
	struct dt_subject subject;
	struct dt_tally tally;
	struct dt_code codes[2];
	struct dt_walk_frame frames[THREADS];
	struct dt_ring *ring;
	struct dt_profile *profile;
	struct dt_collector *collector;
	uint64_t now;
};

/* A look that has read all stacks: each thread is in the same function, on a line of its own. */
static void look_fresh(struct fixture *f)
{
	for (size_t i = 0; i < THREADS; i++) {
		f->frames[i] = (struct dt_walk_frame){.code = &f->codes[0], .line = (uint32_t)(10 + i)};
		f->threads[i].frames = &f->frames[i];
		f->threads[i].frame_count = 1;
		f->threads[i].fresh = true;
		f->threads[i].unseen = false;
	}
}

/* One that has read none. */
static void look_same(struct fixture *f)
{
	for (size_t i = 0; i < THREADS; i++)
		f->threads[i].fresh = false;
}

static bool tell(struct fixture *f)
{
	f->now += 10 * MS;
	return dt_subject_tell(&f->subject, f->ring, &(struct dt_span){.to_ns = f->now, .at_ns = f->now}, &f->tally);
}

static void collect(struct fixture *f)
{
	size_t collected = 0;

	assert_int_equal(dt_collector_drain(f->collector, f->ring, &collected), 0);
}

/* Lets a round find no room. */
static void lose(struct fixture *f)
{
	struct dt_ring *ring = f->ring;

	f->ring = dt_ring_new(RING_SIZE, RING_SIZE);
	while (dt_ring_put(f->ring, 8))
		;
	dt_ring_publish(f->ring);
	assert_false(tell(f));
	dt_ring_free(f->ring);
	f->ring = ring;
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	const struct dt_profile_process process = {.pid = 7};

	assert_non_null(f);
	for (uint32_t i = 0; i < THREADS; i++)
		f->threads[i] = (struct dt_recorded){
		    .serial = i + 1, .tid = (int)(100 + i), .state = DT_STATE_SLEEPING, .began = true};
	f->recorder.threads = f->threads;
	f->recorder.count = THREADS;
	f->subject.number = 1;
	f->subject.recorder = &f->recorder;
	f->codes[0] = (struct dt_code){.id = 1, .oldest = 1, .name = "wait", .file = "a.py", .first_line = 1};
	f->codes[1] = (struct dt_code){.id = 2, .oldest = 1, .name = "outermost", .file = "a.py", .first_line = 1};
	f->ring = dt_ring_new(RING_SIZE, 1024 * RING_SIZE);
	f->profile = dt_profile_new();
	f->collector = dt_collector_new(f->profile, NULL);
	*state = f;
	return dt_collector_join(f->collector, 1, &process);
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	dt_collector_free(f->collector);
	dt_profile_free(f->profile);
	dt_ring_free(f->ring);
	free(f->subject.told_codes);
	free(f->subject.threads);
	dt_index_release(&f->subject.by_ident);
	free(f);
	return 0;
}

/* Time of a thread with a stack, or with these flags. */
static uint64_t time_of(const struct fixture *f, uint32_t thread, bool stack, uint8_t flags)
{
	const struct dt_profile_run *runs = dt_profile_runs(f->profile);
	uint64_t sum = 0;

	for (size_t i = 0; i < dt_profile_counts(f->profile).runs; i++)
		if (runs[i].thread == thread && !!runs[i].stack == stack && runs[i].flags == flags)
			sum += runs[i].wall_ns;
	return sum;
}

/* Names are read by a look at all threads: a new thread in each round is no reason for one in each. One that has
 * no name yet is asked for it again soon, and ever more seldom: 50, 100, 200, 400 ms. */
static void test_names_of_new_threads(void **state)
{
	const size_t rounds = 100; /* a second */
	struct fixture *f = *state;
	size_t wanted = 0;

	f->now = 3600000 * MS;
	for (size_t i = 0; i < rounds; i++) {
		look_fresh(f);
		for (size_t k = 0; k < THREADS; k++)
			f->threads[k].began = true;
		memset(&f->threads[0].told, 0, sizeof(f->threads[0].told)); /* another one each time */
		f->recorder.pulse.threads = 1;
		assert_true(tell(f));
		collect(f);
		assert_int_equal(f->recorder.pulse.threads == 0, f->subject.names_wanted);
		wanted += f->subject.names_wanted;
	}
	assert_in_range(wanted, 2, rounds / 5);
	wanted = 0;
	for (size_t i = 0; i < rounds; i++) {
		f->subject.names_read = f->subject.names_wanted;
		assert_true(tell(f));
		wanted += f->subject.names_wanted;
	}
	assert_int_equal(wanted, 4);
}

/* A stack that was in a lost round is not known: until it is read again the thread is unseen, whatever it was before.
 */
static void test_lost(void **state)
{
	struct fixture *f = *state;

	look_fresh(f);
	assert_true(tell(f));
	look_same(f);
	assert_true(tell(f)); /* nothing to tell */
	collect(f);
	look_fresh(f);
	f->codes[0].name = "another";
	f->codes[0].id = 3;
	lose(f);
	assert_int_equal(f->tally.lost, 1);
	look_same(f);
	assert_true(tell(f));
	collect(f);
	assert_int_equal(f->tally.unseen, THREADS);
	look_same(f);
	assert_true(tell(f));
	collect(f);
	assert_int_equal(f->tally.unseen, 2 * THREADS);
	look_fresh(f);
	assert_true(tell(f));
	look_same(f);
	assert_true(tell(f));
	collect(f);
	assert_int_equal(f->tally.unseen, 2 * THREADS);
	assert_int_equal(dt_collector_settle(f->collector, true), 0);
	for (uint32_t i = 1; i <= THREADS; i++) {
		assert_int_equal(time_of(f, i, true, 0), 40 * MS);
		assert_int_equal(time_of(f, i, false, DT_RUN_UNSEEN), 30 * MS);
	}
	assert_string_equal(dt_profile_text(f->profile, dt_profile_function_at(f->profile, 2)->name), "another");
}

/* One that was seen, and is unseen now though nothing of its stack is new: it has none from then on. */
static void test_unseen_and_not_fresh(void **state)
{
	struct fixture *f = *state;

	look_fresh(f);
	assert_true(tell(f));
	look_same(f);
	f->threads[0].unseen = true;
	f->threads[0].frame_count = 0;
	assert_true(tell(f));
	look_fresh(f);
	assert_true(tell(f));
	collect(f);
	assert_int_equal(dt_collector_settle(f->collector, true), 0);
	assert_int_equal(time_of(f, 1, true, 0), 20 * MS);
	assert_int_equal(time_of(f, 1, false, DT_RUN_UNSEEN), 10 * MS);
	assert_int_equal(time_of(f, 2, true, 0), 30 * MS);
}

static uint64_t spent_by(const struct fixture *f, uint32_t thread)
{
	const struct dt_profile_run *runs = dt_profile_runs(f->profile);
	uint64_t sum = 0;

	for (size_t i = 0; i < dt_profile_counts(f->profile).runs; i++)
		if (runs[i].thread == thread)
			sum += runs[i].cpu_ns;
	return sum;
}

/* CPU time that was in a lost round is told with the next one, and once. */
static void test_lost_spent(void **state)
{
	struct fixture *f = *state;

	look_fresh(f);
	assert_true(tell(f));
	dt_recorder_begin(&f->recorder);
	f->threads[0].spent_ns += 5 * MS;
	lose(f);
	dt_recorder_begin(&f->recorder);
	f->threads[0].spent_ns += 3 * MS;
	assert_true(tell(f));
	dt_recorder_begin(&f->recorder);
	assert_true(tell(f));
	collect(f);
	assert_int_equal(dt_collector_settle(f->collector, true), 0);
	assert_int_equal(spent_by(f, 1), 8 * MS);
	assert_int_equal(spent_by(f, 2), 0);
}

static size_t samples_in(const struct fixture *f, uint32_t thread, enum dt_state state)
{
	const struct dt_profile_run *runs = dt_profile_runs(f->profile);
	size_t sum = 0;

	for (size_t i = 0; i < dt_profile_counts(f->profile).runs; i++)
		sum += runs[i].thread == thread && runs[i].state == (uint8_t)state ? runs[i].samples : 0;
	return sum;
}

/* A look says which threads it has touched. Only those are told, and all are counted; who goes is told in any case. */
static void test_few(void **state)
{
	struct fixture *f = *state;

	look_fresh(f);
	assert_true(tell(f));
	for (int i = 0; i < 2; i++) {
		dt_recorder_begin(&f->recorder);
		assert_true(tell(f));
	}
	dt_recorder_begin(&f->recorder); /* from the second one on */
	dt_recorder_touch(&f->recorder, &f->threads[1]);
	f->threads[1].state = DT_STATE_RUNNING;
	f->threads[1].spent_ns = 5 * MS;
	assert_true(tell(f));
	assert_true(f->subject.active);
	assert_int_equal(f->threads[1].spent_ns, 0);
	dt_recorder_begin(&f->recorder);
	assert_true(tell(f));
	assert_true(f->subject.active);
	dt_recorder_begin(&f->recorder);
	dt_recorder_touch(&f->recorder, &f->threads[1]);
	dt_recorded_unseen(&f->recorder, &f->threads[1], true);
	assert_true(tell(f));
	assert_int_equal(f->tally.unseen, 1);
	assert_int_equal(f->tally.samples, 6 * THREADS);
	dt_recorder_begin(&f->recorder);
	dt_recorded_ended(&f->recorder, &f->threads[1]);
	assert_true(tell(f));
	assert_false(f->subject.active);
	assert_int_equal(f->tally.samples, 7 * THREADS - 1);
	assert_int_equal(f->tally.unseen, 1);
	collect(f);
	assert_int_equal(dt_collector_settle(f->collector, true), 0);
	assert_int_equal(samples_in(f, 2, DT_STATE_RUNNING), 3);
	assert_int_equal(samples_in(f, 3, DT_STATE_SLEEPING), 7);
	assert_int_equal(spent_by(f, 2), 5 * MS);
}

/* What a lost round had of few threads is told with the next one, of all. */
static void test_few_lost(void **state)
{
	struct fixture *f = *state;

	look_fresh(f);
	assert_true(tell(f));
	for (int i = 0; i < 2; i++) {
		dt_recorder_begin(&f->recorder);
		assert_true(tell(f));
	}
	dt_recorder_begin(&f->recorder);
	dt_recorder_touch(&f->recorder, &f->threads[1]);
	f->threads[1].spent_ns = 5 * MS;
	lose(f);
	for (int i = 0; i < 3; i++) {
		dt_recorder_begin(&f->recorder);
		assert_true(tell(f));
	}
	collect(f);
	assert_int_equal(dt_collector_settle(f->collector, true), 0);
	assert_int_equal(spent_by(f, 2), 5 * MS);
	for (uint32_t i = 1; i <= THREADS; i++)
		assert_int_equal(time_of(f, i, false, DT_RUN_UNSEEN), 40 * MS); /* no stack was read since */
}

/* Of the time in which we were stopped nothing is told, whether a thread goes on as before or not. */
static void test_gap(void **state)
{
	struct fixture *f = *state;

	look_fresh(f);
	assert_true(tell(f));
	dt_recorder_begin(&f->recorder);
	f->threads[0].state = DT_STATE_RUNNING;
	for (size_t i = 0; i < THREADS; i++)
		f->threads[i].spent_ns = 900 * MS;
	f->now += 1000 * MS;
	assert_true(dt_subject_tell(&f->subject, f->ring,
				    &(struct dt_span){.since_ns = f->now - 10 * MS, .to_ns = f->now}, &f->tally));
	dt_recorder_begin(&f->recorder);
	assert_true(tell(f));
	collect(f);
	assert_int_equal(dt_collector_settle(f->collector, true), 0);
	for (uint32_t i = 1; i <= THREADS; i++) {
		assert_int_equal(time_of(f, i, true, 0), 30 * MS);
		assert_int_equal(spent_by(f, i), 0);
	}
	for (size_t i = 0; i < dt_profile_counts(f->profile).runs; i++) {
		const struct dt_profile_run *run = &dt_profile_runs(f->profile)[i];

		assert_true(run->start_ns + run->wall_ns <= 10 * MS || run->start_ns >= 1000 * MS);
	}
}

/* A part of the time in which nobody looked is that of the look before, and no sample of its own. */
static void test_rest(void **state)
{
	struct fixture *f = *state;
	uint64_t before;

	look_fresh(f);
	assert_true(tell(f));
	before = f->now;
	dt_recorder_begin(&f->recorder);
	for (size_t i = 0; i < THREADS; i++) {
		dt_recorder_touch(&f->recorder, &f->threads[i]);
		f->threads[i].state = DT_STATE_RUNNING;
	}
	f->now += 40 * MS;
	assert_true(dt_subject_tell(&f->subject, f->ring,
				    &(struct dt_span){.to_ns = f->now, .half_ns = before + 15 * MS, .at_ns = f->now},
				    &f->tally));
	collect(f);
	assert_int_equal(dt_collector_settle(f->collector, true), 0);
	for (size_t i = 0; i < dt_profile_counts(f->profile).runs; i++) {
		const struct dt_profile_run *run = &dt_profile_runs(f->profile)[i];

		assert_int_equal(run->samples, 1);
		assert_int_equal(run->wall_ns, run->state == DT_STATE_RUNNING ? 25 * MS : before + 15 * MS);
	}
	assert_int_equal(f->tally.samples, 2 * THREADS);
}

static size_t samples_of(const struct fixture *f, uint32_t thread)
{
	const struct dt_profile_run *runs = dt_profile_runs(f->profile);
	size_t sum = 0;

	for (size_t i = 0; i < dt_profile_counts(f->profile).runs; i++)
		sum += runs[i].thread == thread ? runs[i].samples : 0;
	return sum;
}

/* Joins at 100 ms, while the others are told up to 90; it has lived for 30 ms by then, 20 of them on a CPU. */
static bool begin_late(struct fixture *f)
{
	const struct dt_profile_process process = {.pid = 8, .began_ns = 100 * MS};

	f->subject.number = 2;
	f->subject.pid = f->threads[0].tid;
	f->subject.lived_ns = 30 * MS;
	f->subject.until_ns = 100 * MS;
	f->subject.ran_ns = 20 * MS;
	f->now = 90 * MS;
	assert_int_equal(dt_collector_join(f->collector, 2, &process), 0);
	return dt_subject_begin(&f->subject, f->ring, 0, f->now, &f->tally);
}

/* Who joins while others are recorded has had a life: that is told, the look from before the first instant is not, and
 * its time ends as far behind the clock as it begins. */
static void test_late(void **state)
{
	struct fixture *f = *state;

	look_fresh(f);
	assert_true(begin_late(f));
	collect(f);
	look_same(f);
	f->now += 10 * MS;
	assert_true(dt_subject_tell(&f->subject, f->ring, &(struct dt_span){.to_ns = f->now, .at_ns = f->now + 15 * MS},
				    &f->tally));
	collect(f);
	assert_int_equal(dt_collector_leave(f->collector, 2, f->now), 0);
	for (uint32_t i = 1; i <= THREADS; i++) {
		assert_int_equal(time_of(f, i, true, 0), 10 * MS);
		assert_int_equal(time_of(f, i, false, DT_RUN_UNSEEN), i == 1 ? 30 * MS : 0);
		assert_int_equal(spent_by(f, i), i == 1 ? 20 * MS : 0);
		assert_int_equal(samples_of(f, i), i == 1 ? 3 : 1);
	}
	assert_int_equal(f->tally.samples, 3 + 2);
	assert_int_equal(f->tally.unseen, 2);
	assert_int_equal(dt_profile_process_at(f->profile, 2)->began_ns, 60 * MS);
	assert_int_equal(dt_profile_process_at(f->profile, 2)->ended_ns, 100 * MS);
}

/* One that was handed over long before it is told lived until then, and nothing is known of it after that. */
static void test_late_and_told_later(void **state)
{
	struct fixture *f = *state;
	const struct dt_profile_run *runs;

	look_fresh(f);
	f->subject.number = 2;
	f->subject.lived_ns = f->subject.ran_ns = 30 * MS;
	f->subject.until_ns = 60 * MS;
	assert_int_equal(
	    dt_collector_join(f->collector, 2, &(struct dt_profile_process){.pid = 8, .began_ns = 60 * MS}), 0);
	assert_true(dt_subject_begin(&f->subject, f->ring, 0, 90 * MS, &f->tally));
	collect(f);
	assert_int_equal(dt_collector_leave(f->collector, 2, 95 * MS), 0);
	assert_int_equal(dt_collector_settle(f->collector, true), 0);
	assert_int_equal(time_of(f, 1, false, DT_RUN_UNSEEN), 30 * MS);
	runs = dt_profile_runs(f->profile);
	for (size_t i = 0; i < dt_profile_counts(f->profile).runs; i++)
		assert_true(!runs[i].wall_ns || runs[i].start_ns + runs[i].wall_ns <= 60 * MS);
}

/* One that has ended at the first instant has no other time. */
static void test_late_and_gone(void **state)
{
	struct fixture *f = *state;

	look_fresh(f);
	assert_true(begin_late(f));
	collect(f);
	assert_int_equal(dt_collector_leave(f->collector, 2, f->now), 0);
	for (uint32_t i = 1; i <= THREADS; i++)
		assert_int_equal(time_of(f, i, true, 0), 0);
	assert_int_equal(time_of(f, 1, false, DT_RUN_UNSEEN), 30 * MS);
	assert_int_equal(dt_profile_process_at(f->profile, 2)->ended_ns, 90 * MS);
}

/* If there was no room for its beginning its time begins with its first look. */
static void test_late_and_lost(void **state)
{
	struct fixture *f = *state;
	struct dt_ring *ring = f->ring;

	look_fresh(f);
	f->ring = dt_ring_new(RING_SIZE, RING_SIZE);
	while (dt_ring_put(f->ring, 8))
		;
	dt_ring_publish(f->ring);
	assert_false(begin_late(f));
	dt_ring_free(f->ring);
	f->ring = ring;
	assert_int_equal(f->tally.lost, 1);
	look_fresh(f);
	assert_true(tell(f));
	assert_true(tell(f));
	collect(f);
	assert_int_equal(dt_collector_settle(f->collector, true), 0);
	for (uint32_t i = 1; i <= THREADS; i++)
		assert_int_equal(time_of(f, i, true, 0), 10 * MS);
	assert_int_equal(time_of(f, 1, false, DT_RUN_UNSEEN), 0);
}

/* The last look was not told, and nobody looked for a second: nothing is told of that time, and what is told then is
 * not what was known before it. */
static void test_missed(void **state)
{
	struct fixture *f = *state;

	look_fresh(f);
	assert_true(tell(f));
	collect(f);
	look_fresh(f);
	f->now += 1000 * MS;
	dt_subject_missed(&f->subject, f->now);
	look_same(f);
	lose(f);
	look_same(f);
	assert_true(tell(f));
	look_fresh(f);
	assert_true(tell(f));
	collect(f);
	assert_int_equal(dt_collector_settle(f->collector, true), 0);
	for (uint32_t i = 1; i <= THREADS; i++) {
		assert_int_equal(time_of(f, i, true, 0), 20 * MS);
		assert_int_equal(time_of(f, i, false, DT_RUN_UNSEEN), 20 * MS);
	}
}

/* The same for one that was unseen when the round was lost, and has a stack with the collector. */
static void test_lost_unseen(void **state)
{
	struct fixture *f = *state;

	look_fresh(f);
	assert_true(tell(f));
	collect(f);
	dt_recorder_begin(&f->recorder);
	dt_recorded_unseen(&f->recorder, &f->threads[0], true);
	lose(f);
	dt_recorder_begin(&f->recorder);
	dt_recorded_unseen(&f->recorder, &f->threads[0], true);
	assert_true(tell(f));
	collect(f);
	assert_int_equal(dt_collector_settle(f->collector, true), 0);
	assert_int_equal(time_of(f, 1, false, DT_RUN_UNSEEN), 20 * MS);
}

/* A round that is larger than the ring gets through. */
static void test_large(void **state)
{
	struct fixture *f = *state;
	const size_t depth = 5000;
	struct dt_walk_frame *frames = calloc(depth, sizeof(*frames));

	assert_non_null(frames);
	for (size_t i = 0; i < depth; i++)
		frames[i] = (struct dt_walk_frame){.code = &f->codes[0], .line = 10};
	look_fresh(f);
	for (size_t i = 0; i < THREADS; i++) {
		f->threads[i].frames = frames;
		f->threads[i].frame_count = depth;
	}
	assert_true(tell(f));
	collect(f);
	look_same(f);
	assert_true(tell(f));
	collect(f);
	assert_int_equal(dt_collector_settle(f->collector, true), 0);
	assert_int_equal(dt_profile_counts(f->profile).stacks, depth);
	for (size_t i = 0; i < dt_profile_counts(f->profile).runs; i++)
		assert_int_equal(dt_profile_stack_at(f->profile, dt_profile_runs(f->profile)[i].stack)->depth, depth);
	free(frames);
}

/* Of a stack that is too deep the outer frames are told, and that there are more: however deep it is, it grows from the
 * same root. */
static void test_deep(void **state)
{
	struct fixture *f = *state;
	const size_t depth = DT_PROFILE_DEPTH + 1000;
	struct dt_walk_frame *frames = calloc(depth, sizeof(*frames));
	const struct dt_profile_stack *node;
	uint32_t stack;

	assert_non_null(frames);
	for (size_t i = 0; i < depth; i++)
		frames[i] = (struct dt_walk_frame){.code = &f->codes[i == depth - 1], .line = 10};
	for (size_t i = 0; i < 5; i++) {
		look_fresh(f);
		f->threads[0].frames = frames + i;
		f->threads[0].frame_count = depth - i;
		assert_true(tell(f));
		collect(f);
	}
	assert_int_equal(f->tally.torn, 5);
	assert_int_equal(dt_collector_settle(f->collector, true), 0);
	assert_int_equal(time_of(f, 1, true, DT_RUN_TORN), 50 * MS);
	assert_int_equal(time_of(f, 2, true, 0), 50 * MS);
	assert_int_equal(dt_profile_counts(f->profile).stacks, DT_PROFILE_DEPTH + THREADS - 1);
	stack = dt_profile_runs(f->profile)[0].stack;
	for (node = dt_profile_stack_at(f->profile, stack); node->parent;)
		node = dt_profile_stack_at(f->profile, node->parent);
	assert_int_equal(dt_profile_location_at(f->profile, node->location)->function, 2);
	assert_string_equal(dt_profile_text(f->profile, dt_profile_function_at(f->profile, 2)->name), "outermost");
	free(frames);
}

/* Codes are told once, and again when ids have begun anew: the tables do not grow with the ids. */
static void test_codes(void **state)
{
	struct fixture *f = *state;
	size_t bytes;

	look_fresh(f);
	assert_true(tell(f));
	collect(f);
	bytes = f->subject.told_bytes;
	for (uint32_t i = 1; i <= 100; i++) {
		f->codes[0].id = f->codes[0].oldest = i * 10000000;
		f->codes[0].first_line = i + 1;
		look_fresh(f);
		assert_true(tell(f));
		collect(f);
		assert_int_equal(dt_profile_counts(f->profile).functions, i + 1);
	}
	assert_int_equal(f->subject.told_bytes, bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_names_of_new_threads, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_lost, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_unseen_and_not_fresh, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_lost_unseen, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_lost_spent, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_few, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_few_lost, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_rest, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_gap, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_missed, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_late, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_late_and_told_later, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_late_and_gone, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_late_and_lost, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_large, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_deep, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_codes, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
