/*
 * A recording: processes come and go, some threads sample (record/crew.h), this one collects and writes. Attaching
 * takes milliseconds and may block, so it is done by neither (enlist.h).
 */
#include "lib/recording.h"

#include <errno.h>
#include <fcntl.h>

#include "base/util.h"
#include "sample/holding.h"

#define RATE      100.0
#define MOST_RATE 1e6
#define NS_PER_S  UINT64_C(1000000000)
#define STEP_NS   200000000           /* between two looks into the rings, which hold more than that */
#define LOOKS     5                   /* that may be missing at the end because the next one was not due yet */
#define BLOCK_NS  (7 * NS_PER_S / 10) /* what a kill may cost: with the step less than a second */

static uint64_t process_cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static const char *rung_of(const struct dt_recording *r, const char **why)
{
	switch (dt_crew_seat(r->crew, why)) {
	case DT_SEAT_FIFO:
		return "perch, real-time priority";
	case DT_SEAT_SLICE:
		return "perch, short time slice";
	case DT_SEAT_BESIDE:
		break;
	}
	return r->options.pause == DT_PAUSE_NEVER ? "beside" : "beside, with pauses";
}

int dt_recording_intern(struct dt_recording *r, const char *text, uint32_t *id)
{
	return text ? dt_profile_string(r->profile, text, strlen(text), id) : 0;
}

/* The first looks are taken by those who attach. */
static void take_tally(const struct dt_recording *r, struct dt_crew_tally *tally)
{
	const struct dt_pause_sum first = dt_enlister_stops(r->enlister);

	dt_crew_tally(r->crew, tally);
	tally->stops += first.count;
	tally->stopped_ns += first.stood_ns;
}

static const char *const modes[] = {[DT_WEIGHT_WALL] = "wall", [DT_WEIGHT_CPU] = "cpu", [DT_WEIGHT_GIL] = "gil"};

/* How it was made goes into the file at once, what it is worth at the end. */
static int describe(struct dt_recording *r)
{
	struct dt_crew_tally tally;
	struct dt_profile_meta meta = {
	    .began_realtime_ns = r->began_realtime_ns,
	    .began_boot_ns = r->boot[0] ? r->began_boot_ns : 0,
	    .duration_ns = (r->ended_ns ? r->ended_ns : dt_clock_ns()) - r->began_ns,
	    .rate = r->options.rate,
	    .quality = {.own_cpu_ns = process_cpu_ns() - r->began_cpu_ns, .own_rss = dt_own_rss()},
	};
	char host[256] = "";
	const char *why, *rung = rung_of(r, &why);

	r->seen |= dt_profile_counts(r->profile).runs > 0;
	take_tally(r, &tally);
	meta.quality.samples = tally.samples;
	meta.quality.rounds = tally.rounds;
	meta.quality.late = tally.late;
	meta.quality.unseen = tally.unseen;
	meta.quality.settled = tally.settled;
	meta.quality.stops = tally.stops;
	meta.quality.stopped_ns = tally.stopped_ns;
	meta.quality.torn = tally.torn;
	meta.quality.lost = tally.lost;
	meta.quality.missed = r->missed;
	gethostname(host, sizeof(host) - 1);
	if (dt_recording_intern(r, modes[r->options.weight], &meta.mode) < 0 ||
	    dt_recording_intern(r, rung, &meta.rung) < 0 || dt_recording_intern(r, why, &meta.rung_why) < 0 ||
	    dt_recording_intern(r, r->boot, &meta.boot) < 0 || dt_recording_intern(r, host, &meta.host) < 0 ||
	    dt_recording_intern(r, DT_VERSION, &meta.darter) < 0)
		return -ENOMEM;
	dt_profile_set_meta(r->profile, &meta);
	return 0;
}

/* How the calling thread was scheduled before the first of its recordings: the next one of a rotation begins before the
 * last one ends. */
static _Thread_local struct {
	struct dt_sched saved;
	unsigned recordings;
} turns;

/* On a busy machine a process that lives for 50 ms is gone before our turn has come: who takes short turns gets them
 * sooner, and no more of them. The threads that attach inherit that. */
static void take_short_turns(struct dt_recording *r)
{
	struct dt_sched saved;

	if (r->options.no_perch || dt_perch_sched(&saved) < 0 || saved.policy != SCHED_OTHER)
		return;
	if (!turns.recordings)
		turns.saved = saved;
	r->short_turns = dt_perch_slice(&turns.saved);
	turns.recordings += r->short_turns;
}

static void give_turns_back(struct dt_recording *r)
{
	if (r->short_turns && turns.recordings && --turns.recordings == 0)
		dt_perch_give_back(&turns.saved);
	r->short_turns = false;
}

static void keep_spare_files(struct dt_recording *r)
{
	for (size_t i = 0; i < DT_SPARE_FILES; i++)
		r->spare[i] = fcntl(r->options.fd, F_DUPFD_CLOEXEC, 0);
}

static void free_spare_files(struct dt_recording *r)
{
	for (size_t i = 0; i < DT_SPARE_FILES; i++) {
		if (r->spare[i] >= 0)
			close(r->spare[i]);
		r->spare[i] = -1;
	}
}

int dt_record(const struct dt_record_options *options, struct dt_recording **result, struct dt_error *err)
{
	const struct dt_options looking = {.pause = options->pause == DT_PAUSE_NEVER ? DT_PAUSE_NEVER : DT_PAUSE_AUTO,
					   .no_perch = options->no_perch,
					   .native = options->native};
	struct dt_watcher_options watching;
	struct dt_recording *r;
	int rc;

	if (!result || (options->rate != 0 && !(options->rate >= 1 && options->rate <= MOST_RATE)))
		return dt_fail(err, DT_EUSAGE, "%g is no rate: from 1 to 1,000,000 looks per second can be taken",
			       options->rate);
	r = calloc(1, sizeof(*r));
	if (!r)
		return dt_fail(err, DT_EMEMORY, "out of memory");
	r->options = *options;
	dt_ends_open(r);
	if (r->options.rate == 0)
		r->options.rate = RATE;
	r->began_cpu_ns = process_cpu_ns();
	r->began_realtime_ns = dt_clock_realtime_ns();
	r->began_boot_ns = dt_clock_boot_ns();
	dt_boot_id(r->boot);
	r->began_ns = r->flushed_ns = dt_clock_ns();
	r->profile = dt_profile_new();
	keep_spare_files(r);
	take_short_turns(r);
	r->enlister = dt_enlister_new(&looking);
	r->collector = r->profile && r->enlister ? dt_collector_new(r->profile, NULL) : NULL;
	rc = r->collector ? dt_writer_new(options->fd, r->profile, &r->writer, err)
			  : dt_fail(err, DT_EMEMORY, "out of memory");
	watching = (struct dt_watcher_options){.bell = r->bell,
					       .rate = r->options.rate,
					       .perch = !options->no_perch && !options->native,
					       .pause = options->pause != DT_PAUSE_NEVER,
					       .pause_always = options->pause == DT_PAUSE_ALWAYS ||
							       (options->native && options->pause != DT_PAUSE_NEVER),
					       .native = options->native != DT_NATIVE_NONE};
	if (rc == 0)
		rc = dt_crew_new(&watching, r->began_ns, &r->crew, err);
	if (rc < 0) {
		dt_record_free(r);
		return rc;
	}
	*result = r;
	return 0;
}

/* A file that cannot be written is no reason to stop: what it did not take is kept for another one. */
static int write_block(struct dt_recording *r)
{
	int rc = dt_collector_settle(r->collector, false);

	if (rc == 0)
		rc = describe(r);
	if (rc < 0)
		return rc;
	r->flushed_ns = dt_clock_ns();
	rc = dt_writer_flush(r->writer, &r->err);
	r->failed = rc < 0;
	return rc == DT_EMEMORY ? -ENOMEM : 0;
}

/* A page behind a dead file system, or one that nobody serves: the kernel keeps who reads it. */
static int fail_hanging(struct dt_error *err)
{
	dt_fail(err, DT_ERUNTIME,
		"the memory of a process does not come while one of its threads is stopped for a look");
	dt_hint(err,
		"the recording is ended so that the thread goes on; --pause never records without stopping anything");
	return DT_ERUNTIME;
}

/* Why what was told could not be collected. */
static int fail_collecting(int rc, struct dt_error *err)
{
	if (rc == -ENOMEM)
		return dt_fail(err, DT_EMEMORY, "out of memory");
	if (rc == -EAGAIN)
		return dt_fail(
		    err, DT_ERUNTIME,
		    "the memory of a process does not come, and there is no thread to go on with the others");
	return dt_fail(err, DT_ERUNTIME, "the samples of a process contradict each other: this is a mistake in darter");
}

int dt_record_tend(struct dt_recording *r, double seconds, dt_record_ended_fn *ended, void *context,
		   struct dt_error *err)
{
	uint64_t until = dt_clock_ns() + (uint64_t)(DT_MAX(seconds, 0.0) * (double)NS_PER_S);
	int rc, left;

	if (!r->members) /* others are waited for: this time counts */
		r->gone_ns = 0;
	if (r->ended_ns) {
		dt_members_left(r, ended, context);
		return 0;
	}
	for (;;) {
		struct dt_subject *list;
		uint64_t now;

		if (dt_crew_hangs(r->crew))
			return fail_hanging(err);
		rc = dt_crew_collect(r->crew, r->collector, &list);
		left = dt_members_ended(r, list, ended, context);
		rc = rc ? rc : left;
		if (rc == 0) {
			dt_members_retry(r, ended, context);
			now = dt_clock_ns();
			if (now - r->flushed_ns >= BLOCK_NS) {
				dt_enlister_tidy(r->enlister);
				rc = write_block(r);
			}
		}
		now = dt_clock_ns();
		if (rc < 0 || now >= until || !r->members)
			break;
		if (dt_ends_await(r, DT_MIN(until - now, (uint64_t)STEP_NS)))
			break; /* a signal */
	}
	return rc < 0 ? fail_collecting(rc, err) : 0;
}

void dt_record_status(const struct dt_recording *r, struct dt_record_status *status)
{
	struct dt_crew_tally tally;

	take_tally(r, &tally);
	*status = (struct dt_record_status){.duration_ns = (r->ended_ns ? r->ended_ns : dt_clock_ns()) - r->began_ns,
					    .processes = r->living,
					    .joined = r->joined,
					    .rounds = tally.rounds,
					    .samples = tally.samples,
					    .late = tally.late,
					    .unseen = tally.unseen,
					    .settled = tally.settled,
					    .torn = tally.torn,
					    .lost = tally.lost,
					    .stops = tally.stops,
					    .stopped_ns = tally.stopped_ns,
					    .bytes = dt_writer_bytes(r->writer),
					    .cpu_ns = process_cpu_ns() - r->began_cpu_ns,
					    .rss = dt_own_rss(),
					    .seen = r->seen,
					    .holds = dt_crew_hangs(r->crew),
					    .error = r->failed ? r->err.message : NULL};
	status->rung = rung_of(r, &status->why);
}

int dt_record_flush(struct dt_recording *r, struct dt_error *err)
{
	int rc = r->ended_ns ? 0 : dt_crew_drain(r->crew, r->collector);

	if (rc == 0)
		rc = write_block(r);

	if (rc < 0)
		return fail_collecting(rc, err);
	if (r->failed && err)
		*err = r->err;
	return r->failed ? DT_ERUNTIME : 0;
}

/* The old file may be removed: while it is open anywhere its room is not given back. */
static void go_on_in(struct dt_recording *r, int fd)
{
	r->options.fd = fd;
	r->failed = false;
	free_spare_files(r);
	if (!r->ended_ns)
		keep_spare_files(r);
}

void dt_record_resume(struct dt_recording *r, int fd)
{
	dt_writer_resume(r->writer, fd);
	go_on_in(r, fd);
}

int dt_record_move(struct dt_recording *r, int fd, struct dt_error *err)
{
	int rc = dt_writer_move(r->writer, fd, err);

	if (rc == 0)
		go_on_in(r, fd);
	return rc;
}

/* On a busy machine those that sample may have been left without a CPU for a while, and so was who ends it. Of what the
 * processes did since the last look nothing is known: it is not recorded time. */
uint64_t dt_recording_lasted(uint64_t until_ns, uint64_t last_ns, double rate)
{
	bool due = (double)until_ns - (double)last_ns > LOOKS * (double)NS_PER_S / rate;

	return last_ns && due ? last_ns : until_ns;
}

/* When it ended, everything was collected. */
static void end_with_the_last_look(struct dt_recording *r)
{
	const struct dt_profile_run *runs = dt_profile_runs(r->profile);
	uint64_t last_ns = 0;

	for (size_t i = 0; i < dt_profile_counts(r->profile).runs; i++)
		last_ns = DT_MAX(last_ns, runs[i].start_ns + runs[i].wall_ns);
	r->ended_ns = r->began_ns + dt_recording_lasted(r->ended_ns - r->began_ns, last_ns, r->options.rate);
}

int dt_record_end(struct dt_recording *r, struct dt_error *err)
{
	int rc = 0;

	if (!r->ended_ns) {
		uint64_t asked_ns = dt_clock_ns(), gone_ns = dt_ends_last(r);

		/* One that hangs and holds a thread of a process is not waited for: our end is what lets that go. */
		r->hangs = dt_crew_hangs(r->crew) || !dt_crew_stop(r->crew);
		/* While one was waited for that does not come back nobody looked at anything. */
		r->ended_ns = gone_ns ? gone_ns : r->hangs || dt_members_any_left(r) ? asked_ns : dt_clock_ns();
		free_spare_files(r);
		rc = dt_crew_drain(r->crew, r->collector);
		if (rc == 0)
			rc = dt_collector_settle(r->collector, true);
		/* Where one has hung, or they are no Python at the moment, why nobody looked is known. */
		if (rc == 0 && !gone_ns && r->living && !r->hangs && !dt_members_any_left(r))
			end_with_the_last_look(r);
		if (rc == 0)
			rc = describe(r);
	}
	if (rc < 0)
		return fail_collecting(rc, err);
	rc = dt_writer_end(r->writer, err);
	r->failed = rc < 0;
	return rc;
}

bool dt_hold_nothing(void)
{
	return dt_holding_refuse();
}

void dt_hold_again(void)
{
	dt_holding_allow();
}

void dt_record_free(struct dt_recording *r)
{
	if (!r)
		return;
	free_spare_files(r);
	give_turns_back(r);
	if (r->crew && !r->hangs)
		r->hangs = !dt_crew_stop(r->crew);
	if (r->hangs) /* what the thread that hangs may still touch is never freed */
		return;
	dt_ends_close(r);
	dt_members_release(r);
	dt_enlister_free(r->enlister);
	dt_crew_free(r->crew);
	dt_collector_free(r->collector);
	dt_writer_free(r->writer);
	dt_profile_free(r->profile);
	free(r);
}
