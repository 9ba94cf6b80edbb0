/* Attach, take, release. */
#include "lib/target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "base/util.h"
#include "doctor/refusal.h"

#define NS_PER_S    1000000000u
#define NAMES       65536 /* looked at, of all interpreters together: no more threads are shown either */
#define BECOMING_NS UINT64_C(10000000000) /* for Python to come back after an exec, through a shell say */

const char *dt_library_version(void)
{
	return DT_VERSION;
}

/* Names are read while the proof of the look stands. A name that cannot be read is no reason to lose the stacks. */
int dt_target_names(void *context, struct dt_mem *image, const struct dt_walk *walk, struct dt_arena *arena)
{
	struct dt_target *target = context;
	struct dt_budget budget = walk->budget; /* the same time, but other steps */

	target->names = dt_arena_calloc(arena, walk->interpreter_count, sizeof(*target->names));
	target->name_groups = target->names ? walk->interpreter_count : 0;
	budget.steps = NAMES;
	for (size_t i = 0; i < target->name_groups && dt_budget_in_time(&budget) && budget.steps; i++) {
		struct dt_names *group = &target->names[i];

		if (dt_thread_names(image, &target->python.layout, walk->interpreters[i].address, arena, &budget,
				    &group->names, &group->count) < 0)
			group->count = 0;
	}
	return 0;
}

/* Lets go of what depends on the program that runs in the process. */
static void forget_program(struct dt_target *target)
{
	dt_sampler_free(target->sampler);
	target->sampler = NULL;
	dt_mem_free(target->live);
	target->live = NULL;
	target->names = NULL;
	target->name_groups = 0;
}

/* Asked after a failure, which may have been because of that. */
static bool no_more_files(void)
{
	int fd = open("/", O_PATH | O_CLOEXEC);

	if (fd < 0)
		return errno == EMFILE || errno == ENFILE;
	close(fd);
	return false;
}

static int learn_program(struct dt_target *target, struct dt_error *err)
{
	int pid = target->proc.pid;
	int rc = dt_mem_open_live(target->proc.living, target->proc.dir, &target->live);

	if (rc == -ENOMEM)
		return dt_fail(err, DT_EMEMORY, "out of memory");
	if (rc == -EPERM || rc == -EACCES)
		return dt_refusal_explain(pid, err);
	if (rc < 0)
		return dt_fail(err, DT_EENDED, "process %d ended while it was being looked at", pid);
	dt_live_watch(target->live); /* before anything is learnt, so that all of it is of this program */
	rc = target->cache ? dt_python_find_cached(&target->proc, target->live, target->cache, &target->python, err)
			   : dt_python_find(&target->proc, target->live, &target->python, err);
	if (rc == DT_EPERMISSION)
		return dt_refusal_explain(pid, err);
	if (rc < 0)
		return rc;
	dt_arena_reset(&target->fixed);
	target->executable = dt_proc_executable(&target->proc, &target->fixed);
	target->command = dt_proc_command(&target->proc, &target->fixed);
	target->container = dt_proc_container(&target->proc, &target->fixed);
	if (!target->executable || !target->command)
		return dt_fail(err, DT_EMEMORY, "out of memory");
	if (target->recorded)
		return 0;
	rc = dt_sampler_new(&target->proc, target->live, &target->python, &target->options, NULL, &target->sampler,
			    err);
	if (rc < 0)
		return rc;
	if (!target->options.no_names)
		dt_sampler_set_extra(target->sampler, dt_target_names, target);
	return 0;
}

static int open_source(void *context, const char *path)
{
	return dt_proc_open_file(&((struct dt_target *)context)->proc, path);
}

static uint64_t process_began(void *context)
{
	const struct dt_target *target = context;
	uint64_t now = dt_clock_realtime_ns();
	struct dt_proc_info info;
	double age;

	if (dt_proc_info(&target->proc, &info) < 0)
		return now;
	age = dt_proc_age(&info);
	return age > 0 && age * NS_PER_S < (double)now ? now - (uint64_t)(age * NS_PER_S) : now;
}

static uid_t user_of(void *context)
{
	const struct dt_target *target = context;
	struct dt_proc_info info;

	return dt_proc_info(&target->proc, &info) == 0 ? info.uid : (uid_t)-1;
}

/* /proc has a directory for every thread too, though it does not list them. */
static int refuse_thread(const struct dt_proc *proc, struct dt_error *err)
{
	char status[2048];
	const char *line;
	int leader;

	if (dt_proc_read(proc, "status", status, sizeof(status)) < 0)
		return 0;
	line = strstr(status, "\nTgid:");
	leader = line ? (int)strtol(line + strlen("\nTgid:"), NULL, 10) : proc->pid;
	if (leader == proc->pid)
		return 0;
	dt_fail(err, DT_ENOTFOUND, "%d is not a process but a thread of process %d", proc->pid, leader);
	dt_hint(err, "give %d instead", leader);
	return DT_ENOTFOUND;
}

/* /proc may be mounted so that it hides the processes of others: then they are there, and we may not look. */
static int explain_missing(int pid, int rc, struct dt_error *err)
{
	if (rc == -EPERM || rc == -EACCES || (rc == -ESRCH && getpgid(pid) >= 0))
		return dt_refusal_explain(pid, err);
	dt_fail(err, DT_ENOTFOUND, "there is no process %d", pid);
	dt_hint(err, "'darter ps' lists the Python processes of this host");
	return DT_ENOTFOUND;
}

struct dt_target *dt_target_new(const struct dt_options *options)
{
	struct dt_target *target = calloc(1, sizeof(*target));

	if (!target)
		return NULL;
	target->proc.dir = -1;
	dt_arena_init(&target->fixed, 0);
	dt_arena_init(&target->arena, 0);
	if (options)
		target->options = *options;
	return target;
}

/* Of a target that has nothing yet; it is released if that fails. */
static int attach(struct dt_target *target, int pid, struct dt_target **result, struct dt_error *err)
{
	int rc;

	target->source = (struct dt_source){
	    .open = open_source, .began = process_began, .owner = user_of, .context = target};
	rc = dt_proc_open(pid, &target->proc);
	rc = rc < 0 ? explain_missing(pid, rc, err) : refuse_thread(&target->proc, err);
	if (rc == 0) {
		dt_proc_outlive(&target->proc);
		rc = learn_program(target, err);
	}
	if (rc < 0) {
		if (no_more_files())
			rc = dt_fail_files(err, pid);
		dt_release(target);
		return rc;
	}
	target->cache = NULL;
	*result = target;
	return 0;
}

int dt_attach(int pid, const struct dt_options *options, struct dt_target **result, struct dt_error *err)
{
	struct dt_target *target;

	if (pid <= 0 || !result)
		return dt_fail(err, DT_EUSAGE, "%d is not a process id", pid);
	target = dt_target_new(options);
	return target ? attach(target, pid, result, err) : dt_fail(err, DT_EMEMORY, "out of memory");
}

int dt_attach_recorded(int pid, struct dt_find_cache *cache, struct dt_target **result, struct dt_error *err)
{
	struct dt_target *target = dt_target_new(NULL);

	if (!target)
		return dt_fail(err, DT_EMEMORY, "out of memory");
	target->cache = cache;
	target->recorded = true;
	return attach(target, pid, result, err);
}

static int fail_becoming(const struct dt_target *target, struct dt_error *err)
{
	dt_fail(err, DT_EAGAIN, "another program has just begun in process %d", target->proc.pid);
	dt_hint(err, "try again in a moment");
	return DT_EAGAIN;
}

/* Another program may have the same addresses as the known one. It is asked after the look, so that what was seen and
 * what is known belong together; a program that has ended since then was still seen. */
static int look_at_known(struct dt_target *target, const struct dt_look **look, struct dt_error *err)
{
	int rc = dt_sampler_look(target->sampler, look, err);

	if (rc != DT_EENDED && dt_live_replaced(target->live, target->python.runtime) && !dt_proc_ended(&target->proc))
		return fail_becoming(target, err);
	return rc;
}

/* Another program may run in the process by now, or its first thread has ended. */
static int look_at_new(struct dt_target *target, const struct dt_look **look, struct dt_error *err)
{
	int rc;

	if (target->sampler)
		target->lost_ns = dt_clock_ns();
	forget_program(target);
	dt_proc_outlive(&target->proc);
	rc = learn_program(target, err);
	if (rc == 0)
		return look_at_known(target, look, err);
	if (rc == DT_ENOTPYTHON && dt_clock_ns() - target->lost_ns < BECOMING_NS)
		return fail_becoming(target, err);
	return rc;
}

int dt_take(struct dt_target *target, const struct dt_snapshot **snapshot, struct dt_error *err)
{
	const struct dt_look *look;
	int rc;

	if (!target || !snapshot)
		return dt_fail(err, DT_EUSAGE, "there is no target to look at");
	if (target->core) {
		rc = dt_core_take(target, err);
		if (rc == 0)
			*snapshot = &target->snapshot;
		return rc;
	}
	rc = target->sampler ? look_at_known(target, &look, err) : DT_EAGAIN;
	if (rc == DT_EAGAIN)
		rc = look_at_new(target, &look, err);
	if (rc == DT_EPERMISSION)
		return dt_refusal_explain(target->proc.pid, err);
	if (rc == 0)
		rc = dt_snapshot_build(target, look, err);
	if (rc == 0)
		*snapshot = &target->snapshot;
	return rc;
}

void dt_release(struct dt_target *target)
{
	if (!target)
		return;
	forget_program(target);
	dt_dead_free(target->dead);
	dt_core_free(target->core);
	dt_proc_release(&target->proc);
	dt_source_clear(&target->source);
	dt_arena_release(&target->fixed);
	dt_arena_release(&target->arena);
	free(target);
}
