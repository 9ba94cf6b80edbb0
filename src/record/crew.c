/* The threads that sample a recording: see crew.h. */
#include "record/crew.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include "base/util.h"
#include "record/watcher_inside.h"

#define NS_PER_S   UINT64_C(1000000000)
#define BALANCE_NS (NS_PER_S / 10)
#define STRAYS     3              /* in that time, and another thread is made */
#define IDLE_NS    (5 * NS_PER_S) /* after which a process goes back to the first thread */
#define BUSY_PART  20             /* of the time on a CPU, and it is busy */

struct dt_crew {
	struct dt_watcher_options options;
	uint64_t began_ns;
	struct dt_watchers all;
	struct dt_watcher **made; /* all that ever were: those, and the ones that were left behind */
	size_t made_count;
	size_t most;
	struct dt_subject *subjects; /* of all of them, linked by beside */
	uint64_t balanced_ns, strays;
};

/* As many as there are CPUs that we may use. */
static size_t most_watchers(void)
{
	cpu_set_t allowed;
	int count = sched_getaffinity(0, sizeof(allowed), &allowed) == 0 ? CPU_COUNT(&allowed) : 1;

	return (size_t)DT_MIN(DT_MAX(count, 1), DT_WATCHERS);
}

static int make_watcher(struct dt_crew *crew, struct dt_watcher **result, struct dt_error *err)
{
	struct dt_watcher **grown = reallocarray(crew->made, crew->made_count + 1, sizeof(*grown));
	int rc;

	if (!grown)
		return dt_fail(err, DT_EMEMORY, "out of memory");
	crew->made = grown;
	rc = dt_watcher_new(&crew->options, crew->began_ns, &crew->all, result, err);
	if (rc == 0)
		crew->made[crew->made_count++] = *result;
	return rc;
}

static int add_watcher(struct dt_crew *crew, struct dt_error *err)
{
	size_t count = crew->all.count;
	struct dt_watcher *watcher = NULL;
	int rc = make_watcher(crew, &watcher, err);

	if (rc)
		return rc;
	crew->all.list[count] = watcher;
	atomic_store_explicit(&crew->all.count, count + 1, memory_order_release);
	return 0;
}

int dt_crew_new(const struct dt_watcher_options *options, uint64_t began_ns, struct dt_crew **result,
		struct dt_error *err)
{
	struct dt_crew *crew = calloc(1, sizeof(*crew));
	int rc;

	if (!crew)
		return dt_fail(err, DT_EMEMORY, "out of memory");
	crew->options = *options;
	crew->began_ns = crew->balanced_ns = began_ns;
	crew->most = most_watchers();
	rc = add_watcher(crew, err);
	if (rc < 0) {
		free(crew->made);
		free(crew);
		return rc;
	}
	*result = crew;
	return 0;
}

void dt_crew_add(struct dt_crew *crew, struct dt_subject *subject)
{
	subject->beside = crew->subjects;
	crew->subjects = subject;
	atomic_store(&subject->first, true);
	dt_watcher_add(crew->all.list[0], subject);
}

void dt_crew_let_go(struct dt_crew *crew)
{
	for (size_t i = 0; i < crew->all.count; i++)
		dt_watcher_let_go(crew->all.list[i]);
}

static void forget(struct dt_crew *crew, const struct dt_subject *subject)
{
	struct dt_subject **link = &crew->subjects;

	while (*link && *link != subject)
		link = &(*link)->beside;
	if (*link)
		*link = subject->beside;
}

/* How many processes had a good part of a CPU. Those that have had none for long are to go back. */
static size_t measure(struct dt_crew *crew, uint64_t passed_ns, uint64_t now)
{
	size_t busy = 0;

	for (struct dt_subject *subject = crew->subjects; subject; subject = subject->beside) {
		uint64_t spent = atomic_load_explicit(&subject->spent_ns, memory_order_relaxed);

		if ((spent - subject->spent_before) * BUSY_PART > passed_ns) {
			subject->busy_ns = now;
			busy++;
		}
		subject->spent_before = spent;
		if (now - subject->busy_ns > IDLE_NS && !atomic_load(&subject->first))
			atomic_store(&subject->back, true);
	}
	return busy;
}

/* Processes that were found on another CPU, and nobody was there to have them: then another thread will do better, as
 * long as there is a busy process for each. Without it all goes on as it did. */
static void balance(struct dt_crew *crew)
{
	uint64_t now = dt_clock_ns(), passed = now - crew->balanced_ns, strays = 0;
	size_t busy;

	if (crew->most == 1 || passed < BALANCE_NS)
		return;
	busy = measure(crew, passed, now);
	for (size_t i = 0; i < crew->made_count; i++)
		strays += dt_watcher_strays(crew->made[i]);
	if (strays - crew->strays >= STRAYS && crew->all.count < DT_MIN(busy, crew->most))
		add_watcher(crew, NULL);
	crew->strays = strays;
	crew->balanced_ns = now;
}

/* A round may have to wait for one that is in another ring, which was told before: while something waits there is
 * always something that can be collected. */
int dt_crew_drain(struct dt_crew *crew, struct dt_collector *collector)
{
	size_t collected;
	int rc = 0;

	do {
		collected = 0;
		for (size_t i = 0; i < crew->made_count && rc == 0; i++)
			rc = dt_collector_drain(collector, dt_watcher_ring(crew->made[i]), &collected);
	} while (collected && rc == 0 && crew->made_count > 1);
	return rc;
}

static void give_back(struct dt_crew *crew, struct dt_subject *subject, struct dt_subject **ended)
{
	forget(crew, subject);
	subject->next = *ended;
	*ended = subject;
}

static void hand_all_on(struct dt_watcher *to, struct dt_subject *list)
{
	struct dt_subject *next;

	for (; list; list = next) {
		next = list->next;
		dt_watcher_hand_on(to, list);
	}
}

/* The other one is made first: without one all would go on as it is, and that is told. */
static int replace(struct dt_crew *crew, size_t i, struct dt_subject **ended)
{
	struct dt_watcher *other = NULL;
	struct dt_subject *stuck = NULL, *rest = NULL;
	int rc = make_watcher(crew, &other, NULL);

	if (rc)
		return rc == DT_EMEMORY ? -ENOMEM : -EAGAIN;
	if (!dt_watcher_leave(crew->all.list[i], &stuck, &rest)) { /* it has come back */
		crew->made_count--;
		dt_watcher_stop(other);
		dt_watcher_free(other);
		return 0;
	}
	crew->all.list[i] = other;
	give_back(crew, stuck, ended);
	hand_all_on(other, rest);
	return 0;
}

/* Those that hang in a look are left behind with the process that they look at; another one has the others. */
static int replace_hanging(struct dt_crew *crew, struct dt_subject **ended)
{
	int rc = 0;

	for (size_t i = 0; i < crew->all.count && rc == 0; i++)
		if (dt_watcher_hangs(crew->all.list[i]) == DT_HANG_LOOK)
			rc = replace(crew, i, ended);
	for (size_t i = 0; i < crew->made_count; i++)
		hand_all_on(crew->all.list[0], dt_watcher_strayed(crew->made[i]));
	return rc;
}

int dt_crew_collect(struct dt_crew *crew, struct dt_collector *collector, struct dt_subject **ended)
{
	int rc, hanging;

	*ended = NULL;
	hanging = replace_hanging(crew, ended);
	/* First the boxes: what was told of a process is in the rings by then. */
	for (size_t i = 0; i < crew->made_count; i++) {
		struct dt_subject *list = dt_watcher_ended(crew->made[i]), *next;

		for (; list; list = next) {
			next = list->next;
			give_back(crew, list, ended);
		}
	}
	rc = dt_crew_drain(crew, collector);
	balance(crew);
	return rc ? rc : hanging;
}

void dt_crew_tally(const struct dt_crew *crew, struct dt_crew_tally *tally)
{
	uint64_t watched = 0, passed = dt_clock_ns() - crew->began_ns;

	*tally = (struct dt_crew_tally){0};
	for (size_t i = 0; i < crew->made_count; i++) {
		const struct dt_tally *one = dt_watcher_tally(crew->made[i]);

		tally->rounds += one->rounds;
		tally->late += one->late;
		tally->samples += one->samples;
		tally->unseen += one->unseen;
		tally->settled += one->settled;
		tally->stops += one->stops;
		tally->stopped_ns += one->stopped_ns;
		tally->torn += one->torn;
		tally->lost += one->lost;
		watched += one->watched_ns;
	}
	if (crew->made_count == 1 || watched <= passed)
		return;
	tally->rounds = (uint64_t)((double)tally->rounds * (double)passed / (double)watched);
	tally->late = (uint64_t)((double)tally->late * (double)passed / (double)watched);
}

enum dt_seat_kind dt_crew_seat(const struct dt_crew *crew, const char **why)
{
	enum dt_seat_kind kind = dt_watcher_seat(crew->all.list[0], why);

	for (size_t i = 1; i < crew->all.count; i++) {
		const char *other_why;
		enum dt_seat_kind other = dt_watcher_seat(crew->all.list[i], &other_why);

		if (other_why && other < kind) {
			kind = other;
			*why = other_why;
		}
	}
	return kind;
}

bool dt_crew_hangs(const struct dt_crew *crew)
{
	for (size_t i = 0; i < crew->made_count; i++)
		if (dt_watcher_hangs(crew->made[i]) == DT_HANG_HOLD)
			return true;
	return false;
}

bool dt_crew_stop(struct dt_crew *crew)
{
	struct dt_subject *stuck, *rest;
	bool stopped = true;

	for (size_t i = 0; i < crew->made_count; i++) /* while one is waited for no other one goes on */
		atomic_store(&crew->made[i]->quit, true);
	for (size_t i = 0; i < crew->made_count; i++)
		stopped = (dt_watcher_stop(crew->made[i]) || dt_watcher_leave(crew->made[i], &stuck, &rest)) && stopped;
	return stopped;
}

void dt_crew_free(struct dt_crew *crew)
{
	if (!crew)
		return;
	for (size_t i = 0; i < crew->made_count; i++)
		dt_watcher_free(crew->made[i]);
	free(crew->made);
	free(crew);
}
