/* One process of a survey: see visit.h. */
#include "lib/visit.h"

#include <errno.h>

#include "base/util.h"
#include "lib/doing.h"

/* Why we may not look, with the fix for this host. */
static int refusal(struct dt_visit *visit, char *reason, size_t size, struct dt_error *why)
{
	enum dt_refusal verdict;

	if (!visit->evidence_known)
		dt_evidence_self(&visit->evidence.self);
	visit->evidence_known = true;
	dt_evidence_target(visit->pid, &visit->evidence.target);
	verdict = dt_refusal_judge(&visit->evidence);
	dt_refusal_say_short(verdict, &visit->evidence, reason, size);
	return dt_refusal_say(verdict, &visit->evidence, why);
}

static int out_of_memory(struct dt_error *err)
{
	return dt_fail(err, DT_EMEMORY, "out of memory");
}

bool dt_visit_ended(const struct dt_proc_info *info)
{
	return (info->state == 'Z' || info->state == 'X') && info->threads <= 1;
}

static int look_into(struct dt_visit *visit, const struct dt_proc *proc, struct dt_error *err)
{
	struct dt_process *process = &visit->process;
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
		rc = dt_python_find_cached(proc, mem, visit->cache, python, err);
	if (rc == 0) {
		process->version = python->version;
		dt_version_text(&python->version, process->version_text);
		rc = dt_doing(proc, mem, python, &visit->arena, process, err);
	}
	dt_mem_free(mem);
	free(python);
	return rc;
}

struct dt_reading dt_reading_take(int pid, const struct dt_proc_info *info)
{
	return (struct dt_reading){info->start_ticks, info->cpu_ticks, dt_proc_cpu_ns(pid, info), dt_clock_ns()};
}

uint64_t dt_reading_spent(const struct dt_reading *from, const struct dt_reading *to)
{
	bool exact = to->cpu_ns && (from->cpu_ns || !from->at);
	uint64_t before = exact ? from->cpu_ns : from->cpu_ticks, after = exact ? to->cpu_ns : to->cpu_ticks;

	/* A thread that ends may take some of it along for a moment. */
	after -= DT_MIN(after, before);
	return exact ? after : after * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
}

double dt_cpu_percent(uint64_t ns, double seconds)
{
	return 100.0 * (double)ns / 1e9 / DT_MAX(seconds, 1.0 / (double)sysconf(_SC_CLK_TCK));
}

void dt_visit_outside(struct dt_process *process, struct dt_reading *reading, int pid, const struct dt_proc_info *info)
{
	*reading = dt_reading_take(pid, info);
	process->pid = pid;
	process->ppid = info->ppid;
	process->threads = info->threads;
	process->rss = info->rss;
	process->cpu = dt_cpu_percent(dt_reading_spent(&(struct dt_reading){0}, reading), dt_proc_age(info));
}

static bool passes_over(int code)
{
	return code == DT_EENDED || code == DT_ENOTPYTHON || code == DT_ENOTFOUND;
}

/* Keeps why a process could not be read; true unless out of memory. */
static bool keep_words(struct dt_visit *visit, const char *reason, const struct dt_error *why)
{
	struct dt_process *process = &visit->process;

	process->message = dt_arena_strdup(&visit->arena, why->message);
	process->reason = reason ? dt_arena_strdup(&visit->arena, reason) : process->message;
	if (why->hint[0])
		process->hint = dt_arena_strdup(&visit->arena, why->hint);
	return process->message && process->reason && (process->hint || !why->hint[0]);
}

/* Fails only where going on makes no sense. */
static int describe(struct dt_visit *visit, const struct dt_proc *proc)
{
	struct dt_process *process = &visit->process;
	struct dt_proc_info info;
	struct dt_error why;
	char reason[128] = "";

	if (dt_proc_info(proc, &info) < 0 || dt_visit_ended(&info))
		return 0;
	dt_visit_outside(process, &visit->reading, proc->pid, &info);
	visit->uid = info.uid;
	process->command = dt_proc_command(proc, &visit->arena);
	atomic_store(&visit->command, process->command);
	process->code = look_into(visit, proc, &why);
	if (process->code == DT_EPERMISSION)
		process->code = refusal(visit, reason, sizeof(reason), &why);
	if (passes_over(process->code))
		return 0;
	process->container = dt_proc_container(proc, &visit->arena);
	if (!process->command || (process->code && !keep_words(visit, reason[0] ? reason : NULL, &why)))
		return out_of_memory(&visit->err);
	visit->keep = true;
	return 0;
}

struct dt_visit *dt_visit_new(void)
{
	struct dt_visit *visit = calloc(1, sizeof(*visit));

	if (!visit)
		return NULL;
	dt_arena_init(&visit->arena, 0);
	visit->cache = dt_find_cache_new();
	if (visit->cache)
		return visit;
	free(visit);
	return NULL;
}

void dt_visit_free(struct dt_visit *visit)
{
	if (!visit)
		return;
	dt_find_cache_free(visit->cache);
	dt_arena_release(&visit->arena);
	free(visit);
}

void dt_visit_begin(struct dt_visit *visit, int pid)
{
	visit->pid = pid;
	visit->process = (struct dt_process){0};
	visit->keep = false;
	visit->code = 0;
	dt_arena_reset(&visit->arena);
	atomic_store(&visit->likely, false);
	atomic_store(&visit->command, NULL);
}

void dt_visit(struct dt_visit *visit)
{
	struct dt_proc proc;

	if (visit->pid == getpid() || dt_proc_open(visit->pid, &proc) < 0)
		return;
	dt_proc_outlive(&proc);
	if (dt_python_likely(&proc, visit->cache)) {
		atomic_store(&visit->likely, true);
		visit->code = describe(visit, &proc);
	}
	dt_proc_release(&proc);
}
