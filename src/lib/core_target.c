/* A core file as a target: opened once, and the same snapshot each time. */
#include <errno.h>
#include <stdlib.h>

#include "base/util.h"
#include "lib/target.h"

#define COMPLAINTS 3

static int open_mapped(void *context, const struct dt_map *map)
{
	return dt_core_open_mapped(context, map);
}

static int open_source(void *context, const char *path)
{
	return dt_core_open_file(context, path);
}

/* When the process began is not told: what was changed after its death cannot be what it ran. Files below a root that
 * was given were copied there, which is a change too; whoever gives it knows what they are. */
static uint64_t began_before_death(void *context)
{
	return dt_core_info(context)->taken_ns;
}

static uint64_t began_any_time(void *context)
{
	(void)context;
	return UINT64_MAX / 2;
}

/* Not one frame can be read where there are threads: the program file, or what else is missing, is needed for all. */
static bool nothing_readable(const struct dt_look *look)
{
	for (size_t i = 0; i < look->thread_count; i++)
		if (!look->threads[i].torn || look->walk.threads[i].frame_count)
			return false;
	return true;
}

/* Why Python was not found may be that something is missing: that is told then, and what would help. */
static int explain(struct dt_target *target, int code, struct dt_error *err)
{
	const struct dt_core_info *info = dt_core_info(target->core);
	const char *complaints[COMPLAINTS];
	size_t count;

	if (code == DT_EMEMORY || !err)
		return code;
	count = dt_core_complaints(target->core, target->python.library, &target->arena, complaints, COMPLAINTS);
	if (info->damaged)
		code = dt_fail(err, DT_ERUNTIME, "%s is damaged, and Python cannot be read from what is left of it",
			       info->path);
	else if (info->size < info->whole)
		code = dt_fail(err, DT_ERUNTIME,
			       "%s is cut short, and Python cannot be read from what is there: %llu of %llu bytes",
			       info->path, (unsigned long long)info->size, (unsigned long long)info->whole);
	if (info->size < info->whole)
		dt_hint(err,
			"'ulimit -c unlimited' in the shell that starts the program lets the kernel write cores whole, "
			"as long as the disk has room");
	for (size_t i = 0; i < count && complaints[i]; i++)
		dt_hint(err, "%s", complaints[i]);
	if (count)
		dt_hint(err,
			"--exe gives the program, --root a directory that has the files of the machine where it ran");
	return code;
}

static int learn(struct dt_target *target, const char *root, struct dt_error *err)
{
	const struct dt_core_info *info = dt_core_info(target->core);
	const struct dt_find_still still = {
	    .maps = dt_core_maps(target->core),
	    .open = open_mapped,
	    .context = target->core,
	    .what = info->path,
	};
	int rc = dt_python_find_still(&still, dt_core_memory(target->core), &target->python, err);

	if (rc < 0)
		return explain(target, rc, err);
	target->proc.pid = info->pid;
	target->executable = info->program;
	target->command = info->command;
	target->source = (struct dt_source){
	    .open = open_source, .began = root ? began_any_time : began_before_death, .context = target->core};
	return dt_dead_new(target->core, &target->python, &target->dead, err);
}

int dt_open_core(const char *file, const char *root, const char *exe, const struct dt_options *options,
		 struct dt_target **result, struct dt_error *err)
{
	struct dt_target *target;
	int rc;

	if (!file || !result)
		return dt_fail(err, DT_EUSAGE, "there is no core file to look at");
	target = dt_target_new(options);
	if (!target)
		return dt_fail(err, DT_EMEMORY, "out of memory");
	rc = dt_core_open(file, root, exe, options, &target->core, err);
	if (rc == 0)
		rc = learn(target, root, err);
	if (rc < 0) {
		dt_release(target);
		return rc;
	}
	*result = target;
	return 0;
}

int dt_core_take(struct dt_target *target, struct dt_error *err)
{
	const struct dt_look *look;
	int rc = dt_dead_look(target->dead, target->options.no_names ? NULL : dt_target_names, target, &look, err);

	if (rc == 0 && nothing_readable(look))
		rc = dt_fail(err, DT_ERUNTIME,
			     "the stacks in %s cannot be read: memory that Python needs is not in the core",
			     dt_core_info(target->core)->path);
	return rc < 0 ? explain(target, rc, err) : dt_snapshot_build(target, look, err);
}
