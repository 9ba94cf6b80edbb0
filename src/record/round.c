/*
 * A round of the thread that samples: every process is looked at by the short way first. To go to another CPU takes
 * longer than some looks, so those that ran the last time come first, CPU by CPU as they were then; then those that did
 * not run; then, as long as the moment lasts, those that turned out to be elsewhere. The rest is stopped for a look
 * where that is allowed, or counted as not seen, and goes to the thread that sits where it was found.
 *
 * While we are on a CPU nobody else runs there, and who sleeps may sleep on. So where there are several processes their
 * accounts are read first (that is quick, and tells who has run), and a look at one of them may come when the moment is
 * over: if its account is still the same then, it has not run from the moment on, and the stack is the one it had then.
 * The time on a CPU has to be equal as well as the number of slices: one that was still running elsewhere when its
 * account was read has got more of it since. It may be met for a little longer, like any that is followed. A process
 * with several threads does not stand like that, and comes first.
 */
#include "base/util.h"
#include "record/watcher_inside.h"

#define LATE_NS 200000u /* after which a look is not one of its moment any more */
#define NATIVE_NS                                                                                                      \
	2000000u /* the same where C stacks are copied: nobody is put aside by the instant, who runs is stopped some   \
		    time later */
#define ASIDE_NS  100000u   /* in which who runs at an instant is put aside for us, though we may have to wait then */
#define STOP_NS   300000u   /* more may pass until one is met that ran when it was first asked */
#define VAIN_NS   800000u   /* the same of one that was to stop, and waits for a CPU: it stands */
#define OVER_NS   2000000u  /* a round that is over by so much is not made longer by looks that stop threads */
#define LONG_NS   5000000u  /* after which it is asked how much of a round we were on a CPU */
#define FROZEN_NS 50000000u /* so late we are likelier to have been stopped ourselves */
#define MOVES     2         /* to the CPU of a thread that goes from one to another */

struct moment {
	struct dt_watcher *w;
	struct dt_subject *list;
	int home; /* the CPU that we sat on when it began, -1: none */
	uint64_t due_ns, woke_ns, late_ns;
	bool punctual; /* as far as the kernel could let us be: see is_punctual() */
};

enum way { SHORT, WHOLE, STOP, OUTER, LADDER };

/* Its only thread; NULL if it has several, or one that the kernel does not know. */
static struct dt_recorded *only_thread(const struct dt_subject *subject)
{
	size_t count;
	struct dt_recorded *threads = dt_recorder_threads(subject->recorder, &count);

	return count == 1 && threads->tid ? threads : NULL;
}

/* What threads have stood for us until now is charged to their process. */
static void charge(struct dt_watcher *w, struct dt_subject *subject)
{
	uint64_t stood_ns = w->stop.stood_ns + dt_pause_sum().stood_ns;

	if (subject)
		subject->stood_ns += stood_ns - w->charged_ns;
	w->charged_ns = stood_ns;
}

/* One that did not stop in time may have stood between two looks. */
static void charge_late(struct dt_watcher *w)
{
	struct dt_subject *subject = w->subjects;

	if (w->stop.stood_ns + dt_pause_sum().stood_ns == w->charged_ns)
		return;
	while (subject && subject->pid != w->stop.pid)
		subject = subject->next;
	charge(w, subject);
}

/* May threads of a process be stopped, and for how long in all? */
static uint64_t may_stand(const struct dt_watcher *w, struct dt_subject *subject)
{
	if (w->options.pause_always)
		return DT_HOLD_LONG;
	if (!w->options.pause || !dt_allowance_ask(&subject->allowance, subject->stood_ns, dt_clock_ns()))
		return 0;
	return dt_allowance_left(&subject->allowance);
}

/* One look. A process that is to be dropped is done with, and has a code. */
static void take(const struct moment *m, struct dt_subject *subject, enum way way)
{
	const struct dt_moment moment = {.seat = &m->w->seat,
					 .stop = way == STOP ? &m->w->stop : NULL,
					 .agree = way == WHOLE   ? DT_AGREE_WHOLE
						  : way == OUTER ? DT_AGREE_OUTER
								 : DT_AGREE_NOT,
					 .ladder = way == LADDER,
					 .hold_ns = may_stand(m->w, subject),
					 .more = subject->tries > 0,
					 .hurry = m->list->next != NULL,
					 .overslept = m->woke_ns > m->late_ns,
					 .punctual = m->punctual && m->w->seat.cpu == m->home && !m->w->got_up,
					 .due_ns = m->due_ns,
					 .woke_ns = m->woke_ns,
					 .late_ns = m->late_ns,
					 .early = subject->asked ? &subject->early : NULL,
					 .on_ns = m->late_ns + STOP_NS};
	enum dt_taken taken = DT_TAKEN_HARD;
	uint64_t began = dt_clock_ns();
	int code;

	subject->tries++;
	charge_late(m->w);
	dt_watcher_look_begin(m->w, subject);
	code = dt_recorder_take(subject->recorder, &moment, &taken, &subject->err);
	dt_watcher_look_end(m->w);
	charge(m->w, subject);
	subject->took_ns += dt_clock_ns() - began;
	m->w->got_up = m->w->got_up || dt_recorder_up_ns(subject->recorder) >= m->woke_ns;
	subject->code = code;
	if (subject->code == 0 && taken == DT_TAKEN_AWAY)
		subject->stage = DT_STAGE_AWAY;
	else if (subject->code == 0 && taken == DT_TAKEN_HARD)
		subject->stage = DT_STAGE_HARD;
	else
		subject->stage = DT_STAGE_DONE;
	m->w->tally.settled += subject->tries == 1 && subject->stage != DT_STAGE_DONE;
}

/* The CPU that it is to be looked at on; -1: any, or none. */
static int cpu_of(const struct dt_subject *subject)
{
	if (subject->stage != DT_STAGE_AWAY && (subject->stage != DT_STAGE_NEXT || !subject->active))
		return -1;
	return subject->tries <= MOVES ? dt_recorder_cpu(subject->recorder) : -1;
}

static bool is_here(const struct moment *m, const struct dt_subject *subject)
{
	return m->w->seat.cpu >= 0 && cpu_of(subject) == m->w->seat.cpu;
}

/* We are late, because a third one kept us from the CPU. When we are woken, the one that we watch is put aside, and
 * then the kernel may find that the CPU is due to neither of us (programs of another group have had less of it). Who is
 * on our CPU and has not got it since stands where it was when we should have come: for who is ready to run that is as
 * soon after the instant as we come in time, for who sleeps the instant itself, for it may have run on after it. */
static bool has_stood(const struct moment *m, struct dt_recorded *thread)
{
	struct dt_thread_booked booked;
	struct dt_thread_stat stat;

	return m->w->seat.cpu >= 0 && dt_thread_stat_now(&thread->files, &stat) == 0 &&
	       stat.processor == m->w->seat.cpu && dt_thread_booked_now(&thread->files, &booked) == 0 &&
	       dt_seat_stood(&m->w->seat, &booked, m->due_ns + (stat.state == 'R' ? ASIDE_NS : 0));
}

/* Reads the account of a process, and whether it has run: then it is like those that ran the last time. Which threads
 * may matter of a process with several is only known in the look: of that one it is told by its own time. If we are
 * late it must have stood since the moment, and is as if it had been asked then. */
static void ask_account(const struct moment *m, struct dt_subject *subject)
{
	struct dt_recorded *thread = only_thread(subject);
	struct dt_early *early = &subject->early;
	bool late = m->woke_ns > m->late_ns;

	if (!thread) {
		subject->active = dt_recorder_ran(subject->recorder) || subject->active;
		return;
	}
	early->tid = thread->tid;
	early->asked_ns = late ? m->late_ns : dt_clock_ns();
	subject->asked = (late || early->asked_ns < m->late_ns) &&
			 dt_thread_sched_now(&thread->files, &early->sched) == 0 && (!late || has_stood(m, thread));
	subject->active = subject->active || (subject->asked && early->sched.slices != thread->sched.slices);
}

/* If there are several, or we are late. Those that ran the last time are most likely to run. */
static void ask_early(const struct moment *m)
{
	bool wanted = m->list && (m->list->next || m->woke_ns > m->late_ns);

	for (struct dt_subject *subject = m->list; subject && wanted; subject = subject->next)
		if (subject->active)
			ask_account(m, subject);
	for (struct dt_subject *subject = m->list; subject && wanted; subject = subject->next)
		if (!subject->active && !subject->asked)
			ask_account(m, subject);
}

/* Those that are on our CPU. Whose account was read can wait. */
static void look_here(const struct moment *m)
{
	for (struct dt_subject *subject = m->list; subject; subject = subject->next)
		if (!subject->asked && is_here(m, subject))
			take(m, subject, SHORT);
	for (struct dt_subject *subject = m->list; subject; subject = subject->next)
		if (subject->asked && is_here(m, subject))
			take(m, subject, SHORT);
}

/* Whose account was read in the moment may be met later. */
static uint64_t until(const struct moment *m, const struct dt_subject *subject)
{
	return m->late_ns + (subject->asked ? STOP_NS : 0);
}

static int next_cpu(const struct moment *m)
{
	for (const struct dt_subject *subject = m->list; subject; subject = subject->next)
		if (cpu_of(subject) >= 0 && dt_clock_ns() < until(m, subject))
			return cpu_of(subject);
	return -1;
}

/* Goes where threads run, if there is time. Each of these turns has one try more of a process. */
static void go_round(const struct moment *m)
{
	int cpu;

	if (m->w->options.pause_always)
		return;
	look_here(m);
	while ((cpu = next_cpu(m)) >= 0) {
		if (!dt_seat_move(&m->w->seat, cpu))
			return;
		look_here(m);
	}
}

/* A stop that follows many others is not worth what it does to the target. Who waits for a CPU does not stop in time,
 * but stands: looks at it agree. */
static bool is_allowed(const struct moment *m, struct dt_subject *subject, enum way way)
{
	const struct dt_watcher *w = m->w;

	if (!w->options.pause)
		return way == OUTER;
	if (w->options.pause_always)
		return way != WHOLE || w->stop.in_vain;
	return way != STOP || may_stand(w, subject);
}

/* How much later than others it may be looked at like that. */
static uint64_t more_ns(const struct moment *m, const struct dt_subject *subject, enum way way)
{
	bool in_time = m->woke_ns <= m->late_ns;

	if (way == OUTER && m->w->stop.in_vain && in_time)
		return VAIN_NS;
	return subject->asked || (way == STOP && in_time) ? STOP_NS : 0;
}

/* What could not be seen from where we sit. */
static void settle(const struct moment *m, struct dt_subject *subject)
{
	for (enum way way = WHOLE; way < LADDER; way++)
		if (subject->stage == DT_STAGE_AWAY && dt_clock_ns() < m->late_ns + more_ns(m, subject, way) &&
		    is_allowed(m, subject, way))
			take(m, subject, way);
	if (subject->stage == DT_STAGE_DONE)
		return;
	if (dt_clock_ns() < m->late_ns + OVER_NS)
		take(m, subject, LADDER);
	else
		dt_recorder_pass(subject->recorder);
}

static void look_at_all(const struct moment *m)
{
	struct dt_subject *subject;

	for (subject = m->list; subject; subject = subject->next) {
		subject->stage = DT_STAGE_NEXT;
		subject->tries = 0;
		subject->took_ns = 0;
		subject->asked = false;
	}
	ask_early(m);
	go_round(m);
	for (subject = m->list; subject; subject = subject->next)
		if (subject->stage == DT_STAGE_NEXT)
			take(m, subject, SHORT);
	go_round(m);
	for (subject = m->list; subject; subject = subject->next)
		if (subject->stage != DT_STAGE_DONE)
			settle(m, subject);
}

/* Who sits where a process was found; if nobody does, somebody who has nothing to do. NULL: it stays. */
static struct dt_watcher *find_other(const struct dt_watcher *w, int cpu)
{
	size_t count = atomic_load_explicit(&w->all->count, memory_order_acquire);
	struct dt_watcher *found = NULL;

	for (size_t i = 0; i < count; i++) {
		struct dt_watcher *other = w->all->list[i];
		int sits = atomic_load_explicit(&other->sits, memory_order_relaxed);

		if (other != w && cpu >= 0 && sits == cpu)
			return other;
		if (other != w && sits == DT_SITS_FREE)
			found = other;
	}
	return found;
}

/* Does one of them run where we were when the round began? One that runs alone is followed. */
static bool has_home(const struct moment *m)
{
	for (const struct dt_subject *subject = m->w->subjects; subject; subject = subject->next)
		if (subject->active && dt_recorder_cpu(subject->recorder) == m->home && m->home >= 0)
			return true;
	return false;
}

/* Who is to have a process from now on; NULL: we. */
static struct dt_watcher *next_of(const struct moment *m, const struct dt_subject *subject, bool has_home)
{
	struct dt_watcher *w = m->w, *other;
	int cpu = dt_recorder_cpu(subject->recorder);

	if (atomic_load_explicit(&subject->back, memory_order_relaxed))
		return w->all->list[0] == w ? NULL : w->all->list[0];
	if (!subject->active || !subject->rounds)
		return NULL;
	if (m->home >= 0 ? cpu == m->home || !has_home : subject->stage != DT_STAGE_AWAY)
		return NULL;
	other = find_other(w, cpu);
	w->strays += !other;
	return other;
}

/* If we were stopped (SIGSTOP, a frozen cgroup, a machine that stood still) nobody knows what happened meanwhile: the
 * next round tells nothing of the time before since_ns, and what it would have been told in is lost. */
static void note_gap(struct dt_watcher *w, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t period_ns = (uint64_t)(1e9 / w->options.rate);

	if (to_ns < from_ns + DT_GAP_NS + period_ns)
		return;
	w->since_ns = to_ns - period_ns;
	w->tally.lost += (to_ns - from_ns) / period_ns;
}

/* How long a round took us; more time than that may have passed. */
static void note_length(struct dt_watcher *w, uint64_t woke_ns)
{
	uint64_t now = dt_clock_ns(), passed_ns = now - woke_ns;

	w->took_ns = passed_ns;
	for (const struct dt_subject *subject = w->subjects; subject; subject = subject->next)
		w->took_ns -= DT_MIN(dt_recorder_waited(subject->recorder), w->took_ns);
	if (passed_ns < LONG_NS)
		return;
	w->took_ns = DT_MIN(w->took_ns, dt_cpu_ns() - w->cpu_ns);
	note_gap(w, woke_ns + w->took_ns, now);
}

/* Where we sit when the next instant comes: where we were if one of them runs there, else where one runs. */
static void sit_down(const struct moment *m, bool home)
{
	struct dt_watcher *w = m->w;
	int cpu = home ? m->home : w->subjects && w->subjects->active ? dt_recorder_cpu(w->subjects->recorder) : -1;

	if (cpu >= 0 && cpu != w->seat.cpu)
		dt_seat_move(&w->seat, cpu);
}

/* Who sleeps with a real-time priority on a CPU is woken there when the clock comes to the instant, and no program gets
 * any further on it: neither if the kernel is busy with something else first, nor if the machine that we are a guest of
 * takes the CPU away for a while. Then we are late by the clock, but what ran there until we came has stood still.
 * Programs of a higher priority are another matter; they show in who it is that we followed. And if we are very late we
 * may have been stopped ourselves. */
static bool is_punctual(const struct dt_watcher *w, uint64_t due_ns, uint64_t woke_ns)
{
	return w->seat.kind == DT_SEAT_FIFO && w->seat.cpu >= 0 && w->slept_ns && w->slept_ns < due_ns &&
	       woke_ns < due_ns + FROZEN_NS;
}

uint64_t dt_watcher_round(struct dt_watcher *w, uint64_t due_ns)
{
	struct moment m = {w,      w->subjects,   w->seat.cpu,
			   due_ns, dt_clock_ns(), due_ns + (w->options.native ? NATIVE_NS : LATE_NS)};
	struct dt_subject **link = &w->subjects;
	uint64_t since_ns, half_ns, told_ns;
	bool home, late = m.woke_ns > m.late_ns, lost = m.woke_ns > due_ns + LONG_NS;

	m.punctual = is_punctual(w, due_ns, m.woke_ns);
	w->got_up = false;
	w->tally.rounds++;
	w->tally.late += late;
	half_ns = dt_instants_half(&w->instants);
	told_ns = dt_instants_told(&w->instants, due_ns, m.woke_ns, lost);
	note_gap(w, due_ns, m.woke_ns);
	since_ns = w->since_ns;
	w->since_ns = 0;
	look_at_all(&m);
	note_length(w, m.woke_ns);
	if (lost)
		due_ns = m.woke_ns;
	if (dt_clock_ns() < m.woke_ns + DT_GAP_NS)
		told_ns = dt_instants_passed(&w->instants, &due_ns, dt_clock_ns());
	home = has_home(&m);
	while (*link) {
		struct dt_subject *subject = *link;
		struct dt_watcher *next = NULL;

		if (subject->code == 0) {
			dt_subject_tell(subject, w->ring,
					&(struct dt_span){.began_ns = w->began_ns,
							  .since_ns = since_ns,
							  .to_ns = told_ns,
							  .half_ns = half_ns,
							  .at_ns = DT_MAX(m.woke_ns, told_ns)},
					&w->tally);
			next = next_of(&m, subject, home);
		}
		if (subject->code == 0 && !next) {
			link = &subject->next;
			continue;
		}
		*link = subject->next;
		if (next) {
			dt_watcher_hand_on(next, subject);
			continue;
		}
		dt_watcher_give_back(w, subject);
	}
	sit_down(&m, home);
	return due_ns;
}
