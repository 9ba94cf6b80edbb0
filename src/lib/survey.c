/*
 * Every Python process of the host, each with one look. Two passes: the first finds them, reads their CPU time and
 * looks into them; after the interval the second reads the CPU time again. Between the passes nothing of a process is
 * kept open (a host has more processes than we may have files), so the second pass knows it again by its start time.
 * Processes that end meanwhile are left out.
 *
 * A process whose memory does not answer must not take the others away: each is visited with limited patience. Until it
 * is known that the visit came back, all that is learnt lies in the visit, which may be left behind.
 */
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "base/patience.h"
#include "base/user.h"
#include "base/util.h"
#include "lib/host.h"
#include "lib/process_list.h"
#include "lib/visit.h"

#define SECONDS_MAX      3600.0
#define PATIENCE_SECONDS 3 /* for one process */

struct user {
	uid_t uid;
	const char *name;
};

struct survey {
	struct dt_process_list *list;
	const int *pids;
	struct dt_reading *readings; /* parallel to the items of the list */
	size_t capacity;             /* of readings */
	struct user *users;
	size_t user_count;
	int code;
	struct dt_error *err;
};

/* The name of a user, looked for once. */
static const char *user_name(struct survey *survey, uid_t uid)
{
	struct user *users;
	char name[256];

	for (size_t i = 0; i < survey->user_count; i++)
		if (survey->users[i].uid == uid)
			return survey->users[i].name;
	users = reallocarray(survey->users, survey->user_count + 1, sizeof(*users));
	if (!users)
		return NULL;
	survey->users = users;
	dt_user_name(uid, name, sizeof(name));
	if (!name[0])
		snprintf(name, sizeof(name), "%u", (unsigned)uid);
	users[survey->user_count].uid = uid;
	users[survey->user_count].name = dt_arena_strdup(&survey->list->arena, name);
	return users[survey->user_count++].name;
}

static int out_of_memory(struct dt_error *err)
{
	return dt_fail(err, DT_EMEMORY, "out of memory");
}

static bool begin(void *context, void *work, size_t i)
{
	const struct survey *survey = context;

	dt_visit_begin(work, survey->pids[i]);
	return true;
}

static void step(void *work, size_t i)
{
	(void)i;
	dt_visit(work);
}

/* Into the list's own arena. True if there was nothing to copy, or there was room. */
static bool adopt(struct survey *survey, const char **text)
{
	return !*text || (*text = dt_arena_strdup(&survey->list->arena, *text));
}

static int add(struct survey *survey, struct dt_process process, const struct dt_reading *reading, uid_t uid)
{
	struct dt_process *item;

	process.user = user_name(survey, uid);
	if (!process.user || !adopt(survey, &process.command) || !adopt(survey, &process.container) ||
	    !adopt(survey, &process.reason) || !adopt(survey, &process.message) || !adopt(survey, &process.hint) ||
	    !adopt(survey, &process.function) || !adopt(survey, &process.file))
		return out_of_memory(survey->err);
	item = dt_process_list_add(survey->list);
	if (!item)
		return out_of_memory(survey->err);
	*item = process;
	if (survey->capacity < survey->list->capacity) {
		struct dt_reading *more = reallocarray(survey->readings, survey->list->capacity, sizeof(*more));

		if (!more)
			return out_of_memory(survey->err);
		survey->readings = more;
		survey->capacity = survey->list->capacity;
	}
	survey->readings[survey->list->count - 1] = *reading;
	return 0;
}

static bool done(void *context, void *work, size_t i)
{
	struct survey *survey = context;
	struct dt_visit *visit = work;

	(void)i;
	survey->code = visit->code;
	if (visit->code && survey->err)
		*survey->err = visit->err;
	else if (visit->keep)
		survey->code = add(survey, visit->process, &visit->reading, visit->uid);
	return survey->code == 0;
}

/* A visit that did not come back. What is told of the process comes from where nothing can block: its command line lies
 * in its memory, too. */
static int add_stuck(struct survey *survey, struct dt_visit *visit, int pid)
{
	struct dt_process process = {.code = DT_ERUNTIME, .command = atomic_load(&visit->command)};
	struct dt_thread_stat stat = {0};
	struct dt_proc_info info;
	struct dt_reading reading;
	char reason[128], name[sizeof(stat.comm) + 2];
	struct dt_proc proc;
	bool there;

	if (dt_proc_open(pid, &proc) < 0)
		return 0;
	dt_proc_outlive(&proc);
	there = dt_proc_info(&proc, &info) == 0 && dt_thread_stat(&proc, pid, &stat) == 0 && !dt_visit_ended(&info);
	dt_proc_release(&proc);
	/* Where its files do not answer it is known by its name alone. */
	if (!there || (!atomic_load(&visit->likely) && strncmp(stat.comm, "python", strlen("python")) != 0))
		return 0;
	dt_visit_outside(&process, &reading, pid, &info);
	snprintf(reason, sizeof(reason), "its memory does not answer (waited %d s)", PATIENCE_SECONDS);
	snprintf(name, sizeof(name), "[%s]", stat.comm);
	process.reason = reason;
	if (!process.command)
		process.command = name;
	return add(survey, process, &reading, info.uid);
}

static void *stuck(void *context, void *work, size_t i)
{
	struct survey *survey = context;
	struct dt_visit *next = NULL;

	survey->code = add_stuck(survey, work, survey->pids[i]);
	if (survey->code)
		return NULL;
	next = dt_visit_new();
	if (!next)
		survey->code = out_of_memory(survey->err);
	return next;
}

static void sleep_until(uint64_t deadline)
{
	struct timespec until = {.tv_sec = (time_t)(deadline / 1000000000u), .tv_nsec = (long)(deadline % 1000000000u)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

/* The second pass over one process; false if it is no longer there. */
static bool measure(const struct dt_reading *first, struct dt_process *process)
{
	struct dt_reading second = {0};
	struct dt_proc_info info;
	struct dt_proc proc;
	bool there;

	if (dt_proc_open(process->pid, &proc) < 0)
		return false;
	dt_proc_outlive(&proc);
	there = dt_proc_stat_info(&proc, &info) == 0 && info.start_ticks == first->start_ticks &&
		!dt_visit_ended(&info);
	if (there)
		second = dt_reading_take(process->pid, &info);
	dt_proc_release(&proc);
	if (there)
		process->cpu = dt_cpu_percent(dt_reading_spent(first, &second), (double)(second.at - first->at) / 1e9);
	return there;
}

static void second_pass(struct survey *survey, double interval)
{
	struct dt_process_list *list = survey->list;
	size_t kept = 0;

	if (!survey->readings)
		return; /* nothing was found */
	/* Each process gets at least the whole interval: they are measured in the order of the first pass. */
	sleep_until(survey->readings[list->count - 1].at + (uint64_t)(interval * 1e9));
	for (size_t i = 0; i < list->count; i++)
		if (measure(&survey->readings[i], &list->items[i]))
			list->items[kept++] = list->items[i];
	list->count = kept;
}

int dt_survey(double cpu_seconds, struct dt_process_list **list, struct dt_error *err)
{
	struct survey survey = {.list = dt_process_list_new(), .err = err};
	const struct dt_patience patience = {
	    PATIENCE_SECONDS * UINT64_C(1000000000), &survey, begin, step, done, stuck};
	struct dt_visit *visit = dt_visit_new();
	dt_auto_free int *pids = NULL;
	size_t count = 0;

	if (!(cpu_seconds >= 0 && cpu_seconds <= SECONDS_MAX))
		survey.code = dt_fail(err, DT_EUSAGE, "CPU use can be measured over 0 to %.0f seconds", SECONDS_MAX);
	else if (!survey.list || !visit)
		survey.code = out_of_memory(err);
	else
		survey.code = dt_host_pids(&pids, &count, err);
	survey.pids = pids;
	if (survey.code == 0)
		visit = dt_patiently(&patience, visit, count);
	if (survey.code == 0 && cpu_seconds > 0)
		second_pass(&survey, cpu_seconds);
	if (survey.code == 0) {
		*list = survey.list;
		survey.list = NULL;
	}
	dt_process_list_free(survey.list);
	dt_visit_free(visit);
	free(survey.readings);
	free(survey.users);
	return survey.code;
}
