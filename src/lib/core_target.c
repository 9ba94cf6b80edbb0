/* A core file as a target: opened once, and the same snapshot each time. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/util.h"
#include "doctor/refusal.h"
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

/* ---- why it could not be read ---- */

static int explain_damage(const struct dt_core_info *info, struct dt_error *err)
{
	dt_fail(err, DT_ERUNTIME, "%s is damaged, and Python cannot be read from what could be decompressed",
		info->path);
	dt_hint(err, "a fresh copy of the compressed file may be whole");
	return DT_ERUNTIME;
}

static int explain_cut(const struct dt_core_info *info, struct dt_error *err)
{
	dt_fail(err, DT_ERUNTIME, "%s is cut short, and Python cannot be read from what is there: %llu of %llu bytes",
		info->path, (unsigned long long)info->size, (unsigned long long)info->whole);
	dt_hint(
	    err,
	    "'ulimit -c unlimited' in the shell that starts the program lets the kernel write cores whole, as long as "
	    "the disk has room");
	return DT_ERUNTIME;
}

/* Files that are missing, or are others; of a core that is not whole only the missing ones, for it cannot tell more. */
static void complain(struct dt_target *target, bool broken, struct dt_error *err)
{
	struct dt_core_asked asked = {
	    .library = target->python.library,
	    .kinds = broken ? DT_CORE_ABSENT : DT_CORE_ABSENT | DT_CORE_REPLACED | DT_CORE_UNSURE,
	};
	const char *complaints[COMPLAINTS];
	size_t count = dt_core_complaints(target->core, &asked, &target->arena, complaints, COMPLAINTS);

	if (!count && !broken) {
		asked.others = true;
		count = dt_core_complaints(target->core, &asked, &target->arena, complaints, COMPLAINTS);
	}
	for (size_t i = 0; i < count && complaints[i]; i++)
		dt_hint(err, "%s", complaints[i]);
	if (dt_core_forbidden(target->core, target->python.library))
		dt_refusal_hint_files(err);
	else if (count)
		dt_hint(err,
			"--exe gives the program, --root a directory that has the files of the machine where it ran");
}

/* Why Python was not found may be that something is missing: that is told then, and what would help. */
static int explain(struct dt_target *target, int code, struct dt_error *err)
{
	const struct dt_core_info *info = dt_core_info(target->core);
	bool broken = info->damaged || info->size < info->whole;
	struct dt_error said;

	if (code == DT_EMEMORY || !err)
		return code;
	said = *err;
	if (info->damaged) {
		code = explain_damage(info, err);
	} else if (broken) {
		code = explain_cut(info, err);
	} else if (dt_core_forbidden(target->core, target->python.library)) {
		code = dt_fail(err, DT_EPERMISSION, "files of the program in %s may not be read", info->path);
	} else if (dt_core_exe_in_doubt(target->core)) {
		code = dt_fail(err, DT_ERUNTIME, "the program that --exe gives probably does not belong to %s",
			       info->path);
		dt_hint(err, "with that one: %s", said.message);
	} else if (!info->files_told) {
		dt_hint(err, "this core does not tell which files were mapped: give its program with --exe FILE");
	}
	dt_core_say_who(info, err);
	complain(target, broken, err);
	return code;
}

/* A core may come from anybody: what it says of its user is no reason to show that user's files. */
static uid_t who_looks(void *context)
{
	(void)context;
	return geteuid() ? geteuid() : (uid_t)-1;
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
	    .open = open_source,
	    .began = root ? began_any_time : began_before_death,
	    .owner = who_looks,
	    .context = target->core,
	};
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
	if (rc == DT_EPERMISSION)
		dt_refusal_hint_files(err);
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
