/*
 * A recording: processes come and go, one thread samples (record/watcher.h), this one collects and writes. Attaching
 * takes milliseconds and may block, so it is done here and never by the thread that samples.
 */
#include <errno.h>
#include <time.h>

#include "base/util.h"
#include "lib/target.h"
#include "profile/file.h"
#include "record/collector.h"
#include "record/watcher.h"

#define RATE        100.0
#define MOST_RATE   1e6
#define NS_PER_S    UINT64_C(1000000000)
#define STEP_NS     10000000                   /* between two looks into the ring */
#define BLOCK_NS    (NS_PER_S - NS_PER_S / 10) /* what a kill may cost: less than a second */
#define BECOMING_NS (10 * NS_PER_S)            /* for Python to come back after an exec, through a shell say */
#define RETRY_NS    (NS_PER_S / 50)

/* A process of the recording: one that is looked at, or that has just become another program and is asked for again. */
struct member {
	int pid;
	uint32_t number;
	struct dt_target *target;   /* NULL: being asked for */
	struct dt_subject *subject; /* the watcher's, as long as target is there */
	uint64_t lost_ns;           /* since when it is asked for */
	struct dt_error err;        /* why it was not found the last time */
	struct member *next;
};

struct dt_recording {
	struct dt_record_options options;
	struct dt_profile *profile;
	struct dt_writer *writer;
	struct dt_collector *collector;
	struct dt_watcher *watcher;
	struct member *members;
	size_t living, joined;
	uint64_t began_ns, began_realtime_ns, began_cpu_ns;
	uint64_t ended_ns; /* 0: it goes on */
	uint64_t flushed_ns, retried_ns;
	bool failed; /* the file could not be written: err says why */
	bool hangs;  /* the thread that samples does not come back */
	struct dt_error err;
};

static uint64_t process_cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static const char *rung_of(const struct dt_recording *r, const char **why)
{
	switch (dt_watcher_seat(r->watcher, why)) {
	case DT_SEAT_FIFO:
		return "perch, real-time priority";
	case DT_SEAT_SLICE:
		return "perch, short time slice";
	case DT_SEAT_BESIDE:
		break;
	}
	return r->options.pause == DT_PAUSE_NEVER ? "beside" : "beside, with pauses";
}

static int intern(struct dt_recording *r, const char *text, uint32_t *id)
{
	return text ? dt_profile_string(r->profile, text, strlen(text), id) : 0;
}

/* How it was made goes into the file at once, what it is worth at the end. */
static int describe(struct dt_recording *r)
{
	const struct dt_tally *tally = dt_watcher_tally(r->watcher);
	struct dt_profile_meta meta = {
	    .began_realtime_ns = r->began_realtime_ns,
	    .duration_ns = (r->ended_ns ? r->ended_ns : dt_clock_ns()) - r->began_ns,
	    .rate = r->options.rate,
	    .quality = {.samples = tally->samples,
			.rounds = tally->rounds,
			.late = tally->late,
			.unseen = tally->unseen,
			.settled = tally->settled,
			.torn = tally->torn,
			.lost = tally->lost,
			.stops = tally->stops,
			.stopped_ns = tally->stopped_ns,
			.own_cpu_ns = process_cpu_ns() - r->began_cpu_ns,
			.own_rss = dt_own_rss()},
	};
	char host[256] = "";
	const char *why, *rung = rung_of(r, &why);

	gethostname(host, sizeof(host) - 1);
	if (intern(r, "wall", &meta.mode) < 0 || intern(r, rung, &meta.rung) < 0 ||
	    intern(r, why, &meta.rung_why) < 0 || intern(r, host, &meta.host) < 0 ||
	    intern(r, DT_VERSION, &meta.darter) < 0)
		return -ENOMEM;
	dt_profile_set_meta(r->profile, &meta);
	return 0;
}

int dt_record(const struct dt_record_options *options, struct dt_recording **result, struct dt_error *err)
{
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
	if (r->options.rate == 0)
		r->options.rate = RATE;
	r->began_cpu_ns = process_cpu_ns();
	r->began_realtime_ns = dt_clock_realtime_ns();
	r->began_ns = r->flushed_ns = dt_clock_ns();
	r->profile = dt_profile_new();
	r->collector = r->profile ? dt_collector_new(r->profile) : NULL;
	rc = r->collector ? dt_writer_new(options->fd, r->profile, &r->writer, err)
			  : dt_fail(err, DT_EMEMORY, "out of memory");
	watching = (struct dt_watcher_options){.rate = r->options.rate,
					       .perch = !options->no_perch,
					       .pause = options->pause != DT_PAUSE_NEVER,
					       .pause_always = options->pause == DT_PAUSE_ALWAYS};
	if (rc == 0)
		rc = dt_watcher_new(&watching, r->began_ns, &r->watcher, err);
	if (rc < 0) {
		dt_record_free(r);
		return rc;
	}
	*result = r;
	return 0;
}

/* Makes a process known to the profile, and hands it to the thread that samples. */
static int hand_over(struct dt_recording *r, struct member *member, struct dt_error *err)
{
	const struct dt_options looking = {.pause = r->options.pause == DT_PAUSE_NEVER ? DT_PAUSE_NEVER : DT_PAUSE_AUTO,
					   .no_perch = r->options.no_perch};
	struct dt_target *target = member->target;
	struct dt_profile_process told = {.pid = member->pid, .began_ns = dt_clock_ns() - r->began_ns};
	struct dt_proc_info info = {0};
	char version[24];
	int rc;

	dt_sampler_free(target->sampler); /* the recorder has its own */
	target->sampler = NULL;
	dt_proc_info(&target->proc, &info);
	told.ppid = info.ppid;
	dt_version_text(&target->python.version, version);
	if (intern(r, target->command, &told.command) < 0 || intern(r, target->executable, &told.executable) < 0 ||
	    intern(r, version, &told.version) < 0 || intern(r, target->container, &told.container) < 0)
		return dt_fail(err, DT_EMEMORY, "out of memory");
	member->number = (uint32_t)++r->joined;
	rc = dt_subject_new(member->number, &target->proc, target->live, &target->python, &looking,
			    dt_watcher_pool(r->watcher), &member->subject, err);
	if (rc < 0)
		return rc;
	member->subject->owner = member;
	if (dt_collector_join(r->collector, member->number, &told) < 0) {
		dt_subject_free(member->subject);
		return dt_fail(err, DT_EMEMORY, "out of memory");
	}
	r->living++;
	dt_watcher_add(r->watcher, member->subject);
	return 0;
}

static int join(struct dt_recording *r, struct member *member, struct dt_error *err)
{
	const struct dt_options options = {.no_names = true};
	int rc = dt_attach(member->pid, &options, &member->target, err);

	if (rc == 0)
		rc = hand_over(r, member, err);
	if (rc < 0) {
		dt_release(member->target);
		member->target = NULL;
	}
	return rc;
}

int dt_record_add(struct dt_recording *r, int pid, struct dt_error *err)
{
	struct member *member;
	int rc;

	for (member = r->members; member; member = member->next)
		if (member->pid == pid)
			return 0;
	member = calloc(1, sizeof(*member));
	if (!member)
		return dt_fail(err, DT_EMEMORY, "out of memory");
	member->pid = pid;
	rc = join(r, member, err);
	if (rc < 0) {
		free(member);
		return rc;
	}
	member->next = r->members;
	r->members = member;
	return 0;
}

/* Takes a member out of the list. */
static void drop(struct dt_recording *r, struct member *member)
{
	struct member **link = &r->members;

	while (*link && *link != member)
		link = &(*link)->next;
	if (*link)
		*link = member->next;
	free(member);
}

/* A process has come back from the thread that samples. */
static int let_go(struct dt_recording *r, struct dt_subject *subject, struct member *member)
{
	uint64_t last_ns = subject->last_ns ? subject->last_ns - r->began_ns : 0;
	int rc = dt_collector_leave(r->collector, member->number, last_ns);

	member->err = subject->err;
	dt_subject_free(subject);
	dt_release(member->target);
	member->target = NULL;
	member->subject = NULL;
	r->living--;
	return rc;
}

static int collect_ended(struct dt_recording *r, dt_record_ended_fn *ended, void *context)
{
	struct dt_subject *list = dt_watcher_ended(r->watcher), *next;
	int rc = list ? dt_collector_drain(r->collector, dt_watcher_ring(r->watcher)) : 0;

	for (; list; list = next) {
		struct member *member = list->owner;
		int code = list->code;

		next = list->next;
		if (let_go(r, list, member) < 0)
			rc = -ENOMEM;
		if (code == DT_EAGAIN) { /* another program has begun, or Python is on its way in or out */
			member->lost_ns = dt_clock_ns();
			continue;
		}
		if (ended)
			ended(context, member->pid, &member->err);
		drop(r, member);
	}
	return rc;
}

/* Those that became another program are asked for again. */
static void retry(struct dt_recording *r, dt_record_ended_fn *ended, void *context)
{
	uint64_t now = dt_clock_ns();
	struct member *member, *next;

	if (now - r->retried_ns < RETRY_NS)
		return;
	r->retried_ns = now;
	for (member = r->members; member; member = next) {
		int rc;

		next = member->next;
		if (member->target)
			continue;
		rc = join(r, member, &member->err);
		if (rc == 0 || ((rc == DT_EAGAIN || rc == DT_ENOTPYTHON) && now - member->lost_ns < BECOMING_NS))
			continue;
		if (ended)
			ended(context, member->pid, &member->err);
		drop(r, member);
	}
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

int dt_record_tend(struct dt_recording *r, double seconds, dt_record_ended_fn *ended, void *context,
		   struct dt_error *err)
{
	uint64_t until = dt_clock_ns() + (uint64_t)(DT_MAX(seconds, 0.0) * (double)NS_PER_S);
	int rc;

	for (;;) {
		uint64_t now;

		if (dt_watcher_hangs(r->watcher)) {
			r->hangs = true;
			return fail_hanging(err);
		}
		rc = dt_collector_drain(r->collector, dt_watcher_ring(r->watcher));
		if (rc == 0)
			rc = collect_ended(r, ended, context);
		if (rc == 0) {
			retry(r, ended, context);
			now = dt_clock_ns();
			if (now - r->flushed_ns >= BLOCK_NS)
				rc = write_block(r);
		}
		now = dt_clock_ns();
		if (rc < 0 || now >= until || !r->members)
			break;
		if (nanosleep(&(struct timespec){.tv_nsec = (long)DT_MIN(until - now, (uint64_t)STEP_NS)}, NULL) < 0)
			break; /* a signal */
	}
	return rc < 0 ? dt_fail(err, DT_EMEMORY, "out of memory") : 0;
}

void dt_record_status(const struct dt_recording *r, struct dt_record_status *status)
{
	const struct dt_tally *tally = dt_watcher_tally(r->watcher);

	*status = (struct dt_record_status){.duration_ns = (r->ended_ns ? r->ended_ns : dt_clock_ns()) - r->began_ns,
					    .processes = r->living,
					    .joined = r->joined,
					    .rounds = tally->rounds,
					    .samples = tally->samples,
					    .late = tally->late,
					    .unseen = tally->unseen,
					    .settled = tally->settled,
					    .torn = tally->torn,
					    .lost = tally->lost,
					    .stops = tally->stops,
					    .stopped_ns = tally->stopped_ns,
					    .bytes = dt_writer_bytes(r->writer),
					    .cpu_ns = process_cpu_ns() - r->began_cpu_ns,
					    .rss = dt_own_rss(),
					    .error = r->failed ? r->err.message : NULL};
	status->rung = rung_of(r, &status->why);
}

int dt_record_flush(struct dt_recording *r, struct dt_error *err)
{
	int rc = r->ended_ns ? 0 : dt_collector_drain(r->collector, dt_watcher_ring(r->watcher));

	if (rc == 0)
		rc = write_block(r);
	if (rc < 0)
		return dt_fail(err, DT_EMEMORY, "out of memory");
	if (r->failed && err)
		*err = r->err;
	return r->failed ? DT_ERUNTIME : 0;
}

void dt_record_resume(struct dt_recording *r, int fd)
{
	dt_writer_resume(r->writer, fd);
	r->failed = false;
}

int dt_record_move(struct dt_recording *r, int fd, struct dt_error *err)
{
	int rc = dt_writer_move(r->writer, fd, err);

	if (rc == 0)
		r->failed = false;
	return rc;
}

int dt_record_end(struct dt_recording *r, struct dt_error *err)
{
	int rc = 0;

	if (!r->ended_ns) {
		r->hangs = r->hangs || !dt_watcher_stop(r->watcher);
		r->ended_ns = dt_clock_ns();
		rc = dt_collector_drain(r->collector, dt_watcher_ring(r->watcher));
		if (rc == 0)
			rc = dt_collector_settle(r->collector, true);
		if (rc == 0)
			rc = describe(r);
	}
	if (rc < 0)
		return dt_fail(err, DT_EMEMORY, "out of memory");
	rc = dt_writer_end(r->writer, err);
	r->failed = rc < 0;
	return rc;
}

void dt_record_free(struct dt_recording *r)
{
	struct member *member, *next;

	if (!r)
		return;
	if (r->watcher && !r->hangs)
		r->hangs = !dt_watcher_stop(r->watcher);
	if (r->hangs) /* what the thread that hangs may still touch is never freed */
		return;
	for (member = r->members; member; member = next) {
		next = member->next;
		dt_subject_free(member->subject);
		dt_release(member->target);
		free(member);
	}
	dt_watcher_free(r->watcher);
	dt_collector_free(r->collector);
	dt_writer_free(r->writer);
	dt_profile_free(r->profile);
	free(r);
}
