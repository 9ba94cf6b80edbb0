/*
 * Every Python process of the host, each with one look. Two passes: the first finds them, reads their CPU time and
 * looks into them; after the interval the second reads the CPU time again. Between the passes nothing of a process is
 * kept open (a host has more processes than we may have files), so the second pass knows it again by its start time.
 * Processes that end meanwhile are left out.
 */
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "base/user.h"
#include "base/util.h"
#include "doctor/refusal.h"
#include "lib/doing.h"
#include "lib/host.h"
#include "lib/process_list.h"
#include "python/find.h"

#define SECONDS_MAX 3600.0

struct user {
	uid_t uid;
	const char *name;
};

/* What is remembered of a process between the passes; parallel to the items of the list. */
struct reading {
	uint64_t start_ticks, cpu_ticks;
	uint64_t at; /* CLOCK_MONOTONIC */
};

struct survey {
	struct dt_process_list *list;
	struct reading *readings;
	size_t capacity; /* of readings */
	struct dt_find_cache *cache;
	struct user *users;
	size_t user_count;
	struct dt_evidence evidence; /* its self is filled at the first refusal */
	bool evidence_known;
};

/* The name of a user, asked for once. The system's databases may be slow: a network is behind them on some hosts. */
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

static const char *refusal(struct survey *survey, int pid)
{
	char text[128];

	if (!survey->evidence_known)
		dt_evidence_self(&survey->evidence.self);
	survey->evidence_known = true;
	dt_evidence_target(pid, &survey->evidence.target);
	dt_refusal_say_short(dt_refusal_judge(&survey->evidence), &survey->evidence, text, sizeof(text));
	return dt_arena_strdup(&survey->list->arena, text);
}

static int out_of_memory(struct dt_error *err)
{
	return dt_fail(err, DT_EMEMORY, "out of memory");
}

/* The first thread of a process may end before the others: then the process goes on as a zombie with threads. */
static bool ended(const struct dt_proc_info *info)
{
	return (info->state == 'Z' || info->state == 'X') && info->threads <= 1;
}

static int look_into(struct survey *survey, const struct dt_proc *proc, struct dt_process *process,
		     struct dt_error *err)
{
	struct dt_python *python = malloc(sizeof(*python));
	struct dt_mem *mem = NULL;
	int rc;

	if (!python)
		return out_of_memory(err);
	rc = dt_mem_open_live(proc->living, proc->dir, &mem);
	if (rc == -ENOMEM)
		rc = out_of_memory(err);
	else if (rc == -EPERM || rc == -EACCES)
		rc = dt_fail(err, DT_EPERMISSION, "the memory of process %d may not be read", proc->pid);
	else if (rc < 0)
		rc = dt_fail(err, DT_EENDED, "process %d has ended", proc->pid);
	else
		rc = dt_python_find_cached(proc, mem, survey->cache, python, err);
	if (rc == 0) {
		process->version = python->version;
		dt_version_text(&python->version, process->version_text);
		rc = dt_doing(proc, mem, python, &survey->list->arena, process, err);
	}
	dt_mem_free(mem);
	free(python);
	return rc;
}

/* Percent of one CPU. Ticks are coarse: the time is never taken as less than one of them. */
static double percent(uint64_t ticks, double seconds)
{
	double tick = 1.0 / (double)sysconf(_SC_CLK_TCK);

	return 100.0 * (double)ticks * tick / DT_MAX(seconds, tick);
}

static double seconds_since_start(const struct dt_proc_info *info)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9 -
	       (double)info->start_ticks / (double)sysconf(_SC_CLK_TCK);
}

/* Fills one item. *keep is false if the process is no Python after all, or gone. Fails only where going on makes no
 * sense. */
static int describe(struct survey *survey, const struct dt_proc *proc, struct dt_process *process,
		    struct reading *reading, bool *keep, struct dt_error *err)
{
	struct dt_arena *arena = &survey->list->arena;
	struct dt_proc_info info;
	struct dt_error why;

	*keep = false;
	if (dt_proc_info(proc, &info) < 0 || ended(&info))
		return 0;
	*reading = (struct reading){info.start_ticks, info.cpu_ticks, dt_clock_ns()};
	process->pid = proc->pid;
	process->ppid = info.ppid;
	process->threads = info.threads;
	process->rss = info.rss;
	process->cpu = percent(info.cpu_ticks, seconds_since_start(&info));
	process->code = look_into(survey, proc, process, &why);
	if (process->code == DT_EENDED || process->code == DT_ENOTPYTHON || process->code == DT_ENOTFOUND)
		return 0;
	if (process->code == DT_EPERMISSION)
		process->reason = refusal(survey, proc->pid);
	else if (process->code)
		process->reason = dt_arena_strdup(arena, why.message);
	process->user = user_name(survey, info.uid);
	process->container = dt_proc_container(proc, arena);
	process->command = dt_proc_command(proc, arena);
	if (!process->user || !process->command || (process->code && !process->reason))
		return out_of_memory(err);
	*keep = true;
	return 0;
}

static int visit(struct survey *survey, int pid, struct dt_error *err)
{
	struct dt_process process = {0};
	struct reading reading;
	struct dt_process *item;
	struct dt_proc proc;
	bool keep = false;
	int rc = 0;

	if (pid == getpid() || dt_proc_open(pid, &proc) < 0)
		return 0;
	dt_proc_outlive(&proc);
	if (dt_python_likely(&proc, survey->cache))
		rc = describe(survey, &proc, &process, &reading, &keep, err);
	dt_proc_release(&proc);
	if (rc < 0 || !keep)
		return rc;
	item = dt_process_list_add(survey->list);
	if (!item)
		return out_of_memory(err);
	*item = process;
	if (survey->capacity < survey->list->capacity) {
		struct reading *more = reallocarray(survey->readings, survey->list->capacity, sizeof(*more));

		if (!more)
			return out_of_memory(err);
		survey->readings = more;
		survey->capacity = survey->list->capacity;
	}
	survey->readings[survey->list->count - 1] = reading;
	return 0;
}

static void sleep_until(uint64_t deadline)
{
	struct timespec until = {.tv_sec = (time_t)(deadline / 1000000000u), .tv_nsec = (long)(deadline % 1000000000u)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

/* The second pass over one process; false if it is no longer there. */
static bool measure(const struct reading *first, struct dt_process *process)
{
	struct dt_proc_info info;
	struct dt_proc proc;
	bool there;

	if (dt_proc_open(process->pid, &proc) < 0)
		return false;
	dt_proc_outlive(&proc);
	there = dt_proc_info(&proc, &info) == 0 && info.start_ticks == first->start_ticks && !ended(&info);
	dt_proc_release(&proc);
	if (!there)
		return false;
	/* A thread that ends may take a tick with it for a moment. */
	info.cpu_ticks -= DT_MIN(info.cpu_ticks, first->cpu_ticks);
	process->cpu = percent(info.cpu_ticks, (double)(dt_clock_ns() - first->at) / 1e9);
	return true;
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
	struct survey survey = {.list = dt_process_list_new(), .cache = dt_find_cache_new()};
	dt_auto_free int *pids = NULL;
	size_t count = 0;
	int rc;

	if (!(cpu_seconds >= 0 && cpu_seconds <= SECONDS_MAX))
		rc = dt_fail(err, DT_EUSAGE, "CPU use can be measured over 0 to %.0f seconds", SECONDS_MAX);
	else if (!survey.list || !survey.cache)
		rc = out_of_memory(err);
	else
		rc = dt_host_pids(&pids, &count, err);
	for (size_t i = 0; i < count && rc == 0; i++)
		rc = visit(&survey, pids[i], err);
	if (rc == 0 && cpu_seconds > 0)
		second_pass(&survey, cpu_seconds);
	if (rc == 0) {
		*list = survey.list;
		survey.list = NULL;
	}
	dt_process_list_free(survey.list);
	dt_find_cache_free(survey.cache);
	free(survey.readings);
	free(survey.users);
	return rc;
}
