/* The threads of a recorder from one look to the next: see recorder_inside.h. */
#include <errno.h>
#include <sched.h>

#include "base/util.h"
#include "sample/look.h"
#include "sample/recorder_inside.h"
#include "sample/state.h"

#define FEW      8                  /* threads are asked for their state in each look */
#define LONG_NS  UINT64_C(50000000) /* in that the scheduler has booked most of what was run */
#define NS_PER_S UINT64_C(1000000000)
#define MIX_A    UINT64_C(0x9e3779b97f4a7c15)
#define MIX_B    UINT64_C(0xc2b2ae3d27d4eb4f)

static void begin(struct dt_recorded *thread)
{
	thread->began = thread->fresh = false;
	thread->waited = thread->waits || thread->unseen;
	thread->ran = thread->waits = false;
	thread->ready_ns = thread->span_ns = 0;
	thread->before = thread->state;
	thread->call_before = thread->syscall;
	thread->seen = thread->asked = false;
}

/* Those that the last look has not touched are as they were when it had begun. */
void dt_recorder_begin(struct dt_recorder *r)
{
	const struct dt_touched *before = &r->touched_before;

	r->touched_before = r->touched;
	r->touched = (struct dt_touched){.few = true};
	for (size_t i = 0; i < (before->few ? before->count : r->count); i++)
		begin(&r->threads[before->few ? before->list[i] : i]);
	r->going_on = false;
	r->asked_all = false;
	r->waited_ns = r->beside_ns = 0;
	r->away = (struct dt_away){0};
}

static uint64_t mix(uint64_t hash, uint64_t value, uint64_t factor)
{
	hash = (hash ^ value) * factor;
	return hash ^ hash >> 29;
}

void dt_recorded_stack(struct dt_recorded *thread, const struct dt_walk_thread *walk)
{
	uint64_t a = walk->frame_count + 1, b = ~a;
	bool unseen = walk->end != DT_WALK_WHOLE;

	for (size_t i = 0; i < walk->frame_count; i++) {
		uint64_t place = (uint64_t)walk->frames[i].code->id << 32 | walk->frames[i].line;

		a = mix(a, place, MIX_A);
		b = mix(b, place, MIX_B);
	}
	if (unseen)
		a = b = 1;
	thread->frames = walk->frames;
	thread->frame_count = unseen ? 0 : walk->frame_count;
	thread->fresh = thread->began || thread->digest[0] != a || thread->digest[1] != b || thread->torn;
	thread->unseen = unseen;
	thread->torn = false;
	thread->digest[0] = a;
	thread->digest[1] = b;
	thread->c_stack = walk->c_stack;
	thread->frames_there = walk->frame_count != 0;
}

void dt_recorded_tear(struct dt_recorded *thread, const struct dt_walk_thread *walk)
{
	thread->torn = thread->fresh = true;
	thread->unseen = false;
	thread->frames = walk->frames;
	thread->frame_count = walk->frame_count;
}

struct dt_recorded *dt_recorder_find(struct dt_recorder *r, uint64_t address)
{
	struct dt_recorded *ended = NULL;
	size_t step = 0, at;

	while (dt_index_next(&r->by_address, address, &step, &at)) {
		if (!r->threads[at].ended)
			return &r->threads[at];
		ended = &r->threads[at];
	}
	return ended;
}

void dt_recorded_ended(struct dt_recorder *r, struct dt_recorded *thread)
{
	dt_recorder_touch_all(r);
	thread->state = DT_STATE_UNKNOWN;
	thread->syscall = NULL;
	thread->ended = true;
	dt_recorder_refresh(r);
}

/* A new thread may get the thread state, and before 3.11 even the numbers, of one that ended. */
static bool is_it(const struct dt_recorded *thread, const struct dt_walk_thread *walk)
{
	return thread->address == walk->address && thread->ident == walk->ident && thread->native == walk->native &&
	       !thread->ended;
}

struct dt_recorded *dt_recorder_known(struct dt_recorder *r, const struct dt_walk_thread *walk, size_t likely)
{
	size_t step = 0, at;

	if (likely < r->count && is_it(&r->threads[likely], walk))
		return &r->threads[likely];
	while (dt_index_next(&r->by_address, walk->address, &step, &at))
		if (is_it(&r->threads[at], walk))
			return &r->threads[at];
	return NULL;
}

static struct dt_recorded *add(struct dt_recorder *r, const struct dt_walk_thread *walk)
{
	struct dt_recorded *thread;

	dt_recorder_touch_all(r);
	if (r->count == r->capacity) {
		size_t capacity = r->capacity ? r->capacity * 2 : 16;
		struct dt_recorded *grown = reallocarray(r->threads, capacity, sizeof(*grown));

		if (!grown)
			return NULL;
		r->threads = grown;
		r->capacity = capacity;
	}
	if (!dt_index_put(&r->by_address, walk->address, r->count))
		return NULL;
	thread = &r->threads[r->count++];
	*thread = (struct dt_recorded){.serial = ++r->last_serial,
				       .address = walk->address,
				       .ident = walk->ident,
				       .native = walk->native,
				       .since_ns = r->taken_ns,
				       .began = true};
	dt_thread_files_init(&thread->files, r->proc, 0);
	return thread;
}

/* A thread state is made before its thread runs, and names its maker until then: its number may change. */
void dt_recorded_set_tid(struct dt_recorder *r, struct dt_recorded *thread, int tid, int ns_tid)
{
	if (thread->tid == tid)
		return;
	dt_recorder_touch_all(r);
	dt_thread_files_release(&thread->files);
	dt_thread_files_init(&thread->files, r->proc, tid);
	thread->tid = tid;
	thread->ns_tid = ns_tid;
	thread->stack_start = thread->stack_end = 0;
	thread->counted = thread->lent = thread->stands = false;
	thread->state = DT_STATE_UNKNOWN;
	thread->syscall = NULL;
}

/* A thread state may be left when its thread has ended, and be lent to another one: it has none then. */
static void find_tid(struct dt_recorder *r, struct dt_recorded *thread)
{
	int ns_tid, tid = dt_tids_of(r->sampler->tids, r->sampler->image, thread->ident, thread->native, &ns_tid);

	if (tid && dt_thread_exists(r->proc, tid))
		dt_recorded_set_tid(r, thread, tid, ns_tid);
}

struct dt_recorded *dt_recorder_adopt(struct dt_recorder *r, const struct dt_walk_thread *walk)
{
	struct dt_recorded *thread = dt_recorder_known(r, walk, SIZE_MAX);
	int ns_tid, tid;

	dt_tids_begin(r->sampler->tids);
	tid = dt_tids_of(r->sampler->tids, r->live, walk->ident, walk->native, &ns_tid);
	if (!tid)
		return NULL;
	if (!thread)
		thread = add(r, walk);
	if (thread)
		dt_recorded_set_tid(r, thread, tid, ns_tid);
	return thread;
}

/* Those that stay keep their order. False: out of memory. */
static bool drop_unmet(struct dt_recorder *r)
{
	size_t kept = 0, count = r->count;
	bool good = true;

	for (size_t i = 0; i < count; i++) {
		if (r->threads[i].met) {
			if (kept != i)
				r->threads[kept] = r->threads[i];
			r->threads[kept++].met = false;
		} else {
			dt_thread_files_release(&r->threads[i].files);
		}
	}
	r->count = kept;
	if (kept == count)
		return true;
	good = dt_index_clear(&r->by_address, kept);
	for (size_t i = 0; i < kept; i++)
		good = good && dt_index_put(&r->by_address, r->threads[i].address, i);
	return good;
}

/* If two name the same thread, one of them may be run by another one. */
bool dt_recorder_all_differ(struct dt_recorder *r, const struct dt_walk *walk)
{
	bool differ = dt_index_clear(&r->by_ident, walk->thread_count);

	for (size_t i = 0; differ && i < walk->thread_count; i++) {
		size_t step = 0, at;

		differ = !dt_index_next(&r->by_ident, walk->threads[i].ident, &step, &at) &&
			 dt_index_put(&r->by_ident, walk->threads[i].ident, i);
	}
	return differ;
}

/* The ladder does not ask with whom a call talks: see dt_recorded_state(). */
static void ask_talk(const struct dt_recorder *r, struct dt_recorded *thread)
{
	const struct dt_walk_interpreter *home = &r->interpreter;
	struct dt_thread_call call;
	const char *name;

	if (thread->state == DT_STATE_SYSCALL && !thread->gil && dt_call_talks(thread->syscall) &&
	    dt_thread_call_now(&thread->files, &call) == 0 && !call.running &&
	    dt_state_of_call(dt_machine_here(), &call, home->wait_start, home->wait_end, &name) == DT_STATE_SYSCALL &&
	    name == thread->syscall && dt_proc_talks(r->proc, call.args[0]))
		thread->state = DT_STATE_SLEEPING;
}

static void take_labels(const struct dt_recorder *r, struct dt_recorded *thread, const struct dt_look_thread *from)
{
	thread->state = from->state;
	thread->syscall = from->syscall;
	thread->gil = from->gil;
	thread->stands = false;
	thread->lent = from->runner && from->runner == from->tid;
	ask_talk(r, thread);
	if (from->torn)
		dt_recorded_tear(thread, from->walk);
}

int dt_recorder_meet(struct dt_recorder *r, const struct dt_walk *walk, const struct dt_look *look, bool stacks)
{
	bool changed = look != NULL;

	dt_recorder_touch_all(r);
	r->touched_before.few = false; /* places are other ones from here on */
	r->marked = 0;
	for (size_t i = 0; i < walk->thread_count; i++) {
		const struct dt_walk_thread *from = &walk->threads[i];
		struct dt_recorded *thread = dt_recorder_known(r, from, i);

		changed = changed || !thread;
		if (!thread)
			thread = add(r, from);
		if (!thread)
			return -ENOMEM;
		thread->met = true;
		if (look)
			dt_recorded_set_tid(r, thread, look->threads[i].tid, look->threads[i].ns_tid);
		else if (!thread->tid)
			find_tid(r, thread);
		thread->home = from->interpreter;
		thread->interpreter = walk->interpreters[from->interpreter].id;
		thread->main = walk->main_ident ? from->ident == walk->main_ident : thread->tid == r->proc->pid;
		thread->main = thread->main && !thread->lent;
		if (stacks)
			dt_recorded_stack(thread, from);
		if (look)
			take_labels(r, thread, &look->threads[i]);
	}
	changed = changed || walk->thread_count != r->count || walk->interpreter_count != r->home_count;
	if (!drop_unmet(r) || dt_recorder_homes(r, walk) < 0)
		return -ENOMEM;
	if (changed) {
		r->way = dt_recorder_way(r, walk);
		dt_recorder_group(r);
	}
	return 0;
}

void dt_recorded_account(struct dt_recorded *thread, const struct dt_thread_sched *now, uint64_t asked_ns)
{
	if (thread->counted) {
		uint64_t ran_ns = now->ran_ns - DT_MIN(thread->sched.ran_ns, now->ran_ns);

		thread->spent_ns += ran_ns;
		thread->ready_ns += ran_ns + (now->waited_ns - DT_MIN(thread->sched.waited_ns, now->waited_ns));
		thread->span_ns += asked_ns - DT_MIN(thread->asked_ns, asked_ns);
	}
	/* A thread that is younger than the look before it was met has spent all of its time since. If it is not (it
	 * may have done other things before it came to Python) at least not more than has passed. One without frames
	 * may have yet to get its own number. */
	if (!thread->counted && thread->since_ns && thread->frames_there)
		thread->spent_ns += DT_MIN(now->ran_ns, asked_ns - DT_MIN(thread->since_ns, asked_ns));
	thread->asked_ns = asked_ns;
	thread->ran = thread->ran || !thread->counted || now->slices != thread->sched.slices ||
		      now->ran_ns != thread->sched.ran_ns || thread->state == DT_STATE_RUNNING;
	thread->sched = *now;
	thread->counted = true;
}

void dt_recorded_state(const struct dt_recorder *r, struct dt_recorded *thread, const struct dt_thread_call *call,
		       bool gil)
{
	const struct dt_walk_interpreter *home = thread->home < r->home_count ? &r->homes[thread->home].interpreter
									      : &r->interpreter;

	thread->syscall = NULL;
	thread->off = call && !call->running;
	if (thread->off && call->number < 0) {
		thread->state = dt_state_without_call(r->proc, thread->tid);
		return;
	}
	thread->state = call ? dt_state_of_call(dt_machine_here(), call, home->wait_start, home->wait_end,
						&thread->syscall)
			     : DT_STATE_RUNNING;
	/* Who blocks in a talk with somebody else only waits. Not so with the GIL in hand: then all others wait for it.
	 */
	if (thread->state == DT_STATE_SYSCALL && !gil && dt_call_talks(thread->syscall) &&
	    dt_proc_talks(r->proc, call->args[0]))
		thread->state = DT_STATE_SLEEPING;
}

void dt_recorder_suspect_state(struct dt_recorder *r, struct dt_recorded *suspect, const struct dt_thread_call *call,
			       const struct dt_thread_sched *sched, uint64_t asked_ns)
{
	dt_recorder_touch(r, suspect);
	dt_recorded_state(r, suspect, call, r->pulse.words.locked == 1);
	dt_recorded_account(suspect, sched, asked_ns);
	suspect->stands = false;
	dt_recorder_mark(r, suspect);
}

void dt_recorder_mark(struct dt_recorder *r, const struct dt_recorded *suspect)
{
	bool alone = r->touched.few && suspect && suspect->address == r->marked;

	for (size_t i = alone ? (size_t)(suspect - r->threads) : 0; i < r->count; i++) {
		r->threads[i].gil = &r->threads[i] == suspect && r->pulse.words.locked == 1;
		r->threads[i].gc = r->threads[i].gil && r->pulse.collecting;
		if (alone)
			return;
	}
	r->marked = suspect ? suspect->address : 0;
	dt_recorder_touch_all(r);
}

void dt_recorded_ask(struct dt_recorder *r, struct dt_recorded *thread)
{
	struct dt_thread_sched now;
	struct dt_thread_call call;
	int rc = thread->tid ? dt_thread_sched_now(&thread->files, &now) : 0;

	dt_recorder_touch(r, thread);
	if (rc == -ESRCH)
		dt_recorded_ended(r, thread);
	if (!thread->tid || rc < 0) {
		thread->state = DT_STATE_UNKNOWN;
		return;
	}
	dt_recorded_account(thread, &now, dt_clock_ns());
	thread->stands = thread->stands && !thread->ran;
	/* Where many are looked at, that it is on no CPU has to be known. */
	if (!thread->ran && thread->state != DT_STATE_UNKNOWN && (thread->off || !r->asked_all))
		return;
	thread->off = false;
	if (dt_thread_call_now(&thread->files, &call) == 0)
		dt_recorded_state(r, thread, &call, false);
	else
		thread->state = dt_state_by_letter(r->proc, thread->tid);
	if (thread->off)
		dt_recorded_stays(r, thread, true);
	else
		dt_recorded_ready(r, thread, NULL, now.slices, false);
}

/* 0: that is not known. */
static uint64_t time_of_all(const struct dt_recorder *r)
{
	struct timespec now;

	if (!r->has_clock || clock_gettime(r->clock, &now) < 0)
		return 0;
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

bool dt_recorder_ran(struct dt_recorder *r)
{
	uint64_t before = r->clock_ns;

	r->clock_ns = time_of_all(r);
	return r->clock_ns != before;
}

bool dt_recorder_spent(struct dt_recorder *r, uint64_t *spent_ns)
{
	size_t known = 0;

	for (size_t i = 0; i < r->count; i++)
		known += r->threads[i].tid && !r->threads[i].ended;
	*spent_ns = !r->has_clock || r->together || known != dt_proc_thread_count(r->proc) ? 0 : time_of_all(r);
	return *spent_ns != 0;
}

/* How long all threads but the suspect have been on a CPU, as far as the kernel has booked it: what a thread has run
 * since it was put on a CPU, or since the last tick, is not. The suspect stands, so its own time is known. */
static uint64_t time_of_others(struct dt_recorder *r)
{
	uint64_t all = time_of_all(r);
	const struct dt_recorded *suspect = dt_recorder_find(r, r->suspect);

	return all && suspect ? all - DT_MIN(all, suspect->sched.ran_ns) + 1 : 0;
}

/* Those that run must be asked each time, and those that nobody has asked yet: they have run before they were met. So
 * each of them was touched by the last look. */
static void ask_running(struct dt_recorder *r)
{
	const struct dt_touched *before = &r->touched_before;

	for (size_t i = 0; i < (before->few ? before->count : r->count); i++) {
		struct dt_recorded *thread = &r->threads[before->few ? before->list[i] : i];

		if ((thread->state == DT_STATE_RUNNING || thread->state == DT_STATE_UNKNOWN) &&
		    thread->address != r->suspect)
			dt_recorded_ask(r, thread);
	}
}

/* If nobody's time has gone on nobody has run, except for one who has only just begun: so some are asked in any case,
 * one after the other. */
void dt_recorder_other_states(struct dt_recorder *r, const struct dt_seat *seat)
{
	uint64_t others = r->count > FEW ? time_of_others(r) : 0;
	size_t count = others && others == r->others_ns ? FEW : r->count;
	bool many = seat && count == r->count && dt_recorder_has_many(r);

	r->others_ns = others;
	if (many)
		dt_recorder_stand_up(r, seat);
	for (size_t i = 0; i < count; i++) {
		size_t at = count < r->count ? ++r->asked % r->count : i;

		if (r->threads[at].address != r->suspect)
			dt_recorded_ask(r, &r->threads[at]);
	}
	if (count < r->count)
		ask_running(r);
	if (many)
		dt_recorder_sit_down(r, seat);
}

void dt_recorder_account(struct dt_recorder *r)
{
	struct dt_thread_sched now;

	for (size_t i = 0; i < r->count; i++)
		if (r->threads[i].tid && dt_thread_sched_now(&r->threads[i].files, &now) == 0)
			dt_recorded_account(&r->threads[i], &now, dt_clock_ns());
}

/* Did it run at the moment, or was it ready to? Nobody knows, but how long it did since it was last asked for. met: it
 * was met running then. That says nothing of a long time, in which we were stopped or got no CPU. */
static bool ran_then(struct dt_recorder *r, const struct dt_recorded *thread, bool met)
{
	if (!thread->span_ns || (thread->span_ns < LONG_NS && (met || !thread->off)))
		return true;
	return dt_recorder_chance(r) * (double)thread->span_ns < (double)thread->ready_ns;
}

void dt_recorded_unseen(struct dt_recorder *r, struct dt_recorded *thread, bool ran)
{
	dt_recorder_touch(r, thread);
	ran = ran_then(r, thread, ran);
	thread->fresh = thread->fresh || !thread->unseen;
	thread->unseen = true;
	thread->stands = false;
	thread->torn = thread->waits = false;
	thread->frame_count = 0;
	thread->digest[0] = thread->digest[1] = 1;
	if (!ran && thread->state != DT_STATE_RUNNING && thread->state != DT_STATE_UNKNOWN)
		return; /* as it is now */
	thread->state = ran ? DT_STATE_RUNNING : DT_STATE_SLEEPING;
	thread->syscall = NULL;
}

/* Is it known to be blocked now, and likely to have been at the moment? The suspect may have run until now. */
static bool is_blocked(const struct dt_recorder *r, const struct dt_recorded *thread)
{
	return thread->state != DT_STATE_RUNNING && thread->state != DT_STATE_UNKNOWN && thread->address != r->suspect;
}

/* Has it not run since it was last told? Who waits for the GIL is woken again and again, only to wait on. */
static bool is_as_before(const struct dt_recorded *thread)
{
	return !thread->ran || thread->began ||
	       (thread->state == DT_STATE_GIL_WAIT && thread->before == DT_STATE_GIL_WAIT && !thread->fresh);
}

bool dt_recorded_lives(const struct dt_recorded *thread)
{
	bool named = thread->tid && !thread->twin;

	return !thread->ended && (named || thread->told.known || thread->frames_there || thread->torn);
}

static int last_cpu(struct dt_recorded *thread)
{
	struct dt_thread_stat stat;

	return dt_thread_stat_now(&thread->files, &stat) == 0 ? stat.processor : -1;
}

/* Was it the one that kept us from our CPU? */
static bool kept_us(const struct dt_recorder *r, struct dt_recorded *thread, const struct dt_seat *seat)
{
	struct dt_thread_booked booked;
	bool suspect = thread->address == r->suspect;
	int cpu = suspect ? r->cpu : seat->kind != DT_SEAT_BESIDE ? last_cpu(thread) : -1;

	/* Each CPU has a clock of its own for what it books. */
	if (cpu < 0 || cpu != (seat->kind == DT_SEAT_BESIDE ? sched_getcpu() : seat->cpu))
		return false;
	return dt_thread_booked_now(&thread->files, &booked) < 0 || dt_seat_followed(seat, &booked);
}

/* It was seen where it is, and on our CPU it was last: until we came, or until it went to sleep. As nobody has done
 * anything there since the moment, it was there at the moment, too. */
static bool stood_since(const struct dt_recorder *r, struct dt_recorded *thread, const struct dt_seat *seat)
{
	struct dt_thread_booked booked;

	if (thread->unseen || thread->address != r->suspect || r->cpu != seat->cpu)
		return false;
	if (r->blocked)
		return true;
	return thread->state == DT_STATE_RUNNING && seat->booked >= 0 &&
	       (sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) && dt_thread_booked_now(&thread->files, &booked) == 0 &&
	       dt_seat_followed(seat, &booked);
}

void dt_recorder_judge(struct dt_recorder *r, const struct dt_seat *seat, enum dt_lateness late, bool punctual)
{
	bool lost = false;

	for (size_t i = 0; late && i < r->count; i++) {
		struct dt_recorded *thread = &r->threads[i];
		bool blocked = late != DT_OVERSLEPT && is_blocked(r, thread);

		if (is_as_before(thread) || (blocked && late == DT_LATE) || (punctual && stood_since(r, thread, seat)))
			continue;
		dt_recorded_unseen(r, thread, late == DT_OVERSLEPT && kept_us(r, thread, seat));
		lost = true;
	}
	/* Where they are now was not told: it is asked for again, though nobody may run until then. */
	if (lost)
		dt_recorder_ask_again(r);
}
