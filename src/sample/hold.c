/* Holds: see hold.h. */
#include "sample/hold.h"

#include <errno.h>
#include <time.h>

#include "base/util.h"

#define PERCH_MISSES  3           /* in a row, before pausing */
#define PAUSE_DENIALS 8           /* before pausing is believed to be forbidden */
#define WITHOUT_GIL   12          /* times in a row that the same thread runs without the GIL: it goes on so */
#define UNCOUNTED     100         /* the same, where it may be another one each time */
#define WITHOUT_NS    10000000    /* that these must last: it may have been waiting for a CPU */
#define LOOSE_WAITS   80          /* in a look, for threads that run without their thread state */
#define ENDING_NS     300000      /* in which a thread that ends is gone */
#define TRACER_NS     2000000     /* to wait for a tracer to go */
#define TRACED_NS     250000000u  /* one that stays longer is no look of another darter */
#define BELIEVED_NS   1000000000u /* after which a refusal or a tracer is asked for again */
#define TOGETHER_NS   2000000u    /* in which several threads are to stand, where that is limited */

void dt_holds_begin(struct dt_holds *holds)
{
	holds->perch_misses = 0;
	holds->pause_denials = 0;
	holds->without_gil = 0;
	holds->loose_waits = 0;
	holds->met_count = 0;
	holds->tracer = 0;
	holds->stood_ns = dt_pause_sum().stood_ns;
	if (holds->seen && dt_clock_ns() - holds->seen_ns > BELIEVED_NS)
		holds->seen = 0;
	if (holds->refused_ns && dt_clock_ns() - holds->refused_ns > BELIEVED_NS) {
		holds->pause_refused = false;
		holds->refused_ns = 0;
	}
}

bool dt_holds_any(const struct dt_holds *holds)
{
	return holds->perched || holds->pause_count;
}

bool dt_holds_has(const struct dt_holds *holds, int tid)
{
	if (!tid)
		return false;
	if (holds->perched == tid)
		return true;
	for (size_t i = 0; i < holds->pause_count; i++)
		if (holds->pauses[i].hold.tid == tid)
			return true;
	return false;
}

const struct dt_registers *dt_holds_registers(const struct dt_holds *holds, int tid)
{
	for (size_t i = 0; i < holds->pause_count; i++)
		if (holds->pauses[i].hold.tid == tid && holds->pauses[i].hold.has_registers)
			return &holds->pauses[i].hold.registers;
	return NULL;
}

int dt_holds_single(const struct dt_holds *holds)
{
	if (holds->perched)
		return holds->pause_count ? 0 : holds->perched;
	return holds->pause_count == 1 ? holds->pauses[0].hold.tid : 0;
}

void dt_holds_end(struct dt_holds *holds)
{
	for (size_t i = 0; i < holds->pause_count; i++)
		dt_pause_let_go(&holds->pauses[i].hold);
	for (size_t i = 0; i < holds->pause_count; i++)
		dt_pause_end(&holds->pauses[i].hold);
	holds->pause_count = 0;
	if (holds->perched)
		dt_perch_end(&holds->perch);
	holds->perched = 0;
	if (holds->hurries)
		dt_perch_give_back(&holds->saved);
	holds->hurries = false;
}

bool dt_holds_kept(const struct dt_holds *holds)
{
	for (size_t i = 0; i < holds->pause_count; i++)
		if (!dt_pause_held(&holds->pauses[i].hold))
			return false;
	return !holds->perched || dt_perch_held(holds->proc, holds->perched, &holds->perch);
}

void dt_holds_release(struct dt_holds *holds)
{
	free(holds->pauses);
	holds->pauses = NULL;
}

/* A quarter of a megabyte, which most never need. */
static bool has_room(struct dt_holds *holds)
{
	if (!holds->pauses)
		holds->pauses = calloc(DT_HOLDS, sizeof(*holds->pauses));
	return holds->pauses;
}

static enum dt_verdict take_by_perch(struct dt_holds *holds, int tid)
{
	int rc = dt_perch_begin(holds->proc, tid, &holds->perch);

	if (rc == 0) {
		holds->perched = tid;
		return DT_PROVEN;
	}
	if (rc == -EPERM)
		holds->perch_refused = true;
	else
		holds->perch_misses++;
	return DT_AGAIN;
}

/* A refusal is final if a tracer has the thread and keeps it, or if the kernel says so several times of threads that
 * live on: one that is ending cannot be traced either, and is gone soon after. */
static enum dt_verdict denied(struct dt_holds *holds, int tid)
{
	int tracer = dt_thread_tracer(holds->proc, tid);

	dt_holds_end(holds); /* nobody stands while we wait */
	if (tracer != holds->seen)
		holds->seen_ns = dt_clock_ns();
	holds->seen = tracer;
	if (tracer && dt_clock_ns() - holds->seen_ns > TRACED_NS) {
		holds->tracer = dt_thread_process(tracer);
		return DT_HOPELESS;
	}
	nanosleep(&(struct timespec){.tv_nsec = tracer ? TRACER_NS : ENDING_NS}, NULL);
	if (tracer || !dt_thread_exists(holds->proc, tid))
		return DT_AGAIN;
	if (++holds->pause_denials < PAUSE_DENIALS)
		return DT_AGAIN;
	holds->pause_refused = true;
	holds->refused_ns = dt_clock_ns();
	return DT_HOPELESS;
}

static struct dt_met *find_met(struct dt_holds *holds, int tid)
{
	for (size_t i = 0; i < DT_MIN(holds->met_count, (size_t)DT_MET); i++)
		if (holds->met[i].tid == tid)
			return &holds->met[i];
	return NULL;
}

/* Notes that a thread was met with or without the GIL. What was long ago does not count: three meetings with it in a
 * row are enough in any case. */
static void meet(struct dt_holds *holds, int tid, bool with)
{
	struct dt_met *met = find_met(holds, tid);

	if (!met) {
		met = &holds->met[holds->met_count++ % DT_MET];
		*met = (struct dt_met){.tid = tid};
	}
	met->balance = with ? DT_MIN(met->balance + 1, 1) : DT_MAX(met->balance - 1, -2);
}

/* Was a thread met with the GIL more often than without lately? One that was not goes in and out of calls: if it has
 * the GIL now, the next call is about to begin. */
static bool mostly_with_gil(struct dt_holds *holds, int tid)
{
	const struct dt_met *met = find_met(holds, tid);

	return holds->insist || !met || met->balance > 0;
}

/* Can all that run be stopped? */
static bool all_have_gil(struct dt_holds *holds, const struct dt_suspects *suspects)
{
	bool all = true;

	for (size_t i = 0; i < suspects->count; i++) {
		int tid = suspects->list[i].tid;
		bool with = suspects->list[i].running && dt_suspects_has_gil(suspects, tid);

		if (!suspects->list[i].running)
			continue;
		meet(holds, tid, with);
		if (!with || !mostly_with_gil(holds, tid))
			all = false;
	}
	return all;
}

/* Is what the thread has in hand as it was? If no GIL names the thread, it is one of all those that are taken. */
static bool has_gil_still(const void *context)
{
	const struct dt_asked *asked = context;
	const struct dt_holds *holds = asked->holds;
	const struct dt_suspects *suspects = asked->suspects;
	bool own = dt_suspects_names(suspects, asked->tid);

	for (size_t i = 0; i < suspects->gils; i++) {
		const struct dt_suspect *then = &suspects->list[i];
		struct dt_gil_words now;

		if (then->words.locked != 1 || (own && then->tid != asked->tid))
			continue;
		if (dt_walk_gil(holds->live, holds->python, then->words.address, &now) < 0 || now.locked != 1 ||
		    now.holder != then->words.holder)
			return false;
	}
	return true;
}

/* Has this been waited for in vain, with no sign that somebody has got on? Until then a CPU may be had. */
static bool waited_enough(struct dt_holds *holds, uint64_t sign, unsigned times)
{
	uint64_t now = dt_clock_ns();

	holds->perch_misses = 0;
	if (sign != holds->without_gil_sign)
		holds->without_gil = 0;
	if (!holds->without_gil)
		holds->without_gil_ns = now;
	holds->without_gil_sign = sign;
	return ++holds->without_gil > times && now - holds->without_gil_ns > WITHOUT_NS;
}

/* Nobody who runs without the GIL is stopped. As a rule it is back in a moment, or it ends and others come. */
static enum dt_verdict wait_for_gil(struct dt_holds *holds, const struct dt_suspects *suspects)
{
	unsigned times = suspects->counted ? WITHOUT_GIL : UNCOUNTED;

	return waited_enough(holds, dt_suspects_switches(suspects), times) ? DT_HOPELESS : DT_AGAIN;
}

/* Let us stop threads once more? */
static bool may_pause(const struct dt_holds *holds)
{
	return !holds->pause_refused && dt_pause_sum().stood_ns - holds->stood_ns < holds->most_ns;
}

/* Do all of them stand in time? Until the last one does the others wait for it, and that may be long where there are
 * more of them than CPUs. */
static bool all_decided(struct dt_holds *holds)
{
	uint64_t until = dt_clock_ns() + TOGETHER_NS;

	if (holds->most_ns == DT_HOLD_LONG || holds->pause_count < 2)
		return true;
	for (size_t i = 0; i < holds->pause_count; i++)
		if (!dt_pause_decided(&holds->pauses[i].hold, until))
			return false;
	return true;
}

/* Waits for all that are being stopped. Of a thread that blocked first (EBUSY) the caller has to know what that means:
 * it is not held. */
static enum dt_verdict await_pauses(struct dt_holds *holds, bool *busy)
{
	bool decided = all_decided(holds);
	enum dt_verdict verdict = decided ? DT_PROVEN : DT_AGAIN;
	int refused = 0;

	*busy = false;
	for (size_t i = 0; i < holds->pause_count && !decided; i++)
		dt_pause_let_go(&holds->pauses[i].hold);
	for (size_t i = 0; i < holds->pause_count; i++) {
		int tid = holds->pauses[i].hold.tid;
		int rc = dt_pause_wait(&holds->pauses[i].hold);

		*busy = *busy || rc == -EBUSY;
		if (rc == -EPERM || rc == -EACCES || rc == -ENOSYS)
			refused = tid;
		else if (rc < 0 && rc != -EBUSY)
			verdict = DT_AGAIN;
		else
			holds->seen = 0;
	}
	if (!refused)
		holds->pause_denials = 0;
	return refused ? denied(holds, refused) : verdict;
}

static void hurry(struct dt_holds *holds)
{
	if (holds->hurry && !holds->hurries && dt_perch_sched(&holds->saved) == 0 && holds->saved.policy == SCHED_OTHER)
		holds->hurries = dt_perch_fifo();
}

/* Begins to stop each thread that runs. */
static enum dt_verdict start_all(struct dt_holds *holds, const struct dt_suspects *suspects)
{
	for (size_t i = 0; i < suspects->count; i++) {
		const struct dt_suspect *suspect = &suspects->list[i];
		dt_pause_ask_fn *ask = dt_suspects_has_gil(suspects, suspect->tid) ? has_gil_still : NULL;
		struct dt_paused *paused;

		if (!suspect->running || dt_holds_has(holds, suspect->tid))
			continue;
		if (holds->pause_count == DT_HOLDS || !has_room(holds))
			return DT_HOPELESS;
		paused = &holds->pauses[holds->pause_count];
		paused->asked = (struct dt_asked){holds, suspects, suspect->tid};
		if (dt_pause_start(holds->proc, suspect->tid, ask, &paused->asked, &paused->hold) < 0)
			return DT_AGAIN;
		holds->pause_count++;
	}
	return DT_PROVEN;
}

static enum dt_verdict take_by_pause(struct dt_holds *holds, const struct dt_suspects *suspects)
{
	enum dt_verdict started, awaited;
	bool busy;

	if (!holds->anybody && !all_have_gil(holds, suspects))
		return wait_for_gil(holds, suspects);
	hurry(holds);
	started = start_all(holds, suspects);
	awaited = await_pauses(holds, &busy);
	if (started != DT_PROVEN || awaited != DT_PROVEN)
		return started == DT_PROVEN ? awaited : started;
	return busy ? DT_AGAIN : DT_PROVEN;
}

static bool is_attached_still(const void *context)
{
	const struct dt_attached *attached = context;
	uint32_t state;

	return dt_mem_read_u32(attached->live, attached->state, &state) == 0 && state == DT_THREAD_ATTACHED;
}

/* Threads that run and may not be stopped: they have no thread state attached, or mostly had none. */
struct loose {
	size_t count;
	int tid;       /* of the last one */
	uint64_t mark; /* differs if one of them has got on in Python, as far as that can be seen */
};

/* The instruction that a thread was at when it left Python; 0 if there is none. */
static uint64_t instruction_of(const struct dt_holds *holds, const struct dt_suspect *suspect)
{
	const struct dt_layout *layout = &holds->python->layout;
	uint64_t frame = 0, ip = 0;

	if (!suspect->thread || dt_mem_read_u64(holds->live, suspect->thread + layout->thread.frame, &frame) < 0 ||
	    !frame || dt_mem_read_u64(holds->live, frame + layout->frame.ip, &ip) < 0)
		return 0;
	return ip;
}

/* May the thread be stopped? The thread state that it has attached stands for the GIL. */
static bool is_firm(struct dt_holds *holds, const struct dt_suspect *suspect)
{
	if (holds->anybody)
		return true;
	return suspect->runs && mostly_with_gil(holds, suspect->tid);
}

static struct loose find_loose(struct dt_holds *holds, const struct dt_suspects *suspects)
{
	struct loose loose = {0};

	for (size_t i = 0; i < suspects->count; i++) {
		const struct dt_suspect *suspect = &suspects->list[i];

		if (suspect->running)
			meet(holds, suspect->tid, suspect->runs != 0);
		if (!suspect->running || is_firm(holds, suspect) || suspect->tid == loose.tid)
			continue;
		loose.count++;
		loose.tid = suspect->tid;
		loose.mark = (loose.mark ^ instruction_of(holds, suspect)) * 31 + (uint64_t)suspect->tid;
	}
	return loose;
}

/* Nobody else than those who run Python is stopped. As a rule a system call ends in a moment: one that computes in C is
 * where it was all the time. */
static enum dt_verdict wait_for_loose(struct dt_holds *holds, const struct loose *loose)
{
	bool enough = waited_enough(holds, loose->mark, WITHOUT_GIL);

	return ++holds->loose_waits > LOOSE_WAITS || enough ? DT_HOPELESS : DT_AGAIN;
}

/* Begins to stop each thread that may be stopped. */
static enum dt_verdict start_pauses(struct dt_holds *holds, const struct dt_suspects *suspects)
{
	for (size_t i = 0; i < suspects->count; i++) {
		const struct dt_suspect *suspect = &suspects->list[i];
		size_t n = holds->pause_count;
		int rc;

		if (!suspect->running || !is_firm(holds, suspect) || dt_holds_has(holds, suspect->tid))
			continue;
		if (n == DT_HOLDS || !has_room(holds))
			return DT_HOPELESS;
		holds->pauses[n].attached = (struct dt_attached){
		    .live = holds->live, .state = suspect->runs + holds->python->layout.thread.state};
		rc = dt_pause_start(holds->proc, suspect->tid, suspect->runs ? is_attached_still : NULL,
				    &holds->pauses[n].attached, &holds->pauses[n].hold);
		if (rc == 0)
			holds->pause_count++;
		else if (rc != -EBUSY)
			return DT_AGAIN;
	}
	return DT_PROVEN;
}

/* Free-threaded: each thread that may be stopped is, all at once, and one that may not is perched on. */
static enum dt_verdict take_attached(struct dt_holds *holds, const struct dt_suspects *suspects)
{
	enum dt_verdict started, awaited;
	struct loose loose = find_loose(holds, suspects);
	bool busy;

	if (loose.count > 1 || (loose.count && (holds->perch_refused || holds->perch_misses >= PERCH_MISSES)))
		return wait_for_loose(holds, &loose);
	hurry(holds);
	started = start_pauses(holds, suspects);
	/* Who blocked before it was stopped need not be held: suspects are collected again after this. */
	awaited = await_pauses(holds, &busy);
	if (started != DT_PROVEN || awaited != DT_PROVEN)
		return started == DT_PROVEN ? awaited : started;
	return loose.tid ? take_by_perch(holds, loose.tid) : DT_PROVEN;
}

void dt_holds_take_some(struct dt_holds *holds, const struct dt_suspects *suspects)
{
	bool busy;

	if (!may_pause(holds))
		return;
	hurry(holds);
	start_pauses(holds, suspects);
	await_pauses(holds, &busy);
}

static int first_running(const struct dt_suspects *suspects)
{
	for (size_t i = 0; i < suspects->count; i++)
		if (suspects->list[i].running)
			return suspects->list[i].tid;
	return 0;
}

enum dt_verdict dt_holds_take(struct dt_holds *holds, const struct dt_suspects *suspects, uint64_t window_ns)
{
	enum dt_verdict verdict;

	if (window_ns > DT_PERCH_NS)
		holds->perch_misses = PERCH_MISSES;
	/* Where nothing can be paused, a perch that was missed may be had another time. */
	if (!holds->perch_refused && suspects->running == 1 &&
	    (holds->perch_misses < PERCH_MISSES || !may_pause(holds)))
		return take_by_perch(holds, first_running(suspects));
	if (!may_pause(holds))
		return DT_HOPELESS;
	verdict = holds->python->layout.free_threaded ? take_attached(holds, suspects) : take_by_pause(holds, suspects);
	if (verdict != DT_PROVEN)
		dt_holds_end(holds);
	return verdict;
}
