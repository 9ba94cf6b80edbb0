/* What to say when there is no interpreter to be found, and what else the user may have meant. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/util.h"
#include "python/find_inside.h"

#define CHILDREN_MAX  64 /* processes looked at for a hint */
#define DEPTH_MAX     3
#define YOUNG_SECONDS 10

void dt_find_name(const struct dt_proc *proc, char name[32])
{
	ssize_t length = dt_proc_read(proc, "comm", name, 32);

	if (length <= 0) {
		strcpy(name, "?");
		return;
	}
	name[strcspn(name, "\n")] = '\0';
	for (char *c = name; *c; c++)
		if ((uint8_t)*c < 0x20 || *c == 0x7f)
			*c = '?';
}

void dt_find_where(const struct dt_find_place *place, char where[DT_FIND_WHERE])
{
	char name[32];

	if (place->still) {
		snprintf(where, DT_FIND_WHERE, "%s", place->still->what);
		return;
	}
	dt_find_name(place->proc, name);
	snprintf(where, DT_FIND_WHERE, "process %d (%s)", place->proc->pid, name);
}

/* The first descendant that looks like Python, 0 if there is none. A shell or a wrapper has one as a rule. */
static int python_below(const struct dt_proc *proc, struct dt_find_cache *cache, int depth, struct dt_budget *budget)
{
	char path[64], text[1024], *at = text, *end;
	int found = 0;

	snprintf(path, sizeof(path), "task/%d/children", proc->pid);
	if (dt_proc_read(proc, path, text, sizeof(text)) <= 0)
		return 0;
	for (long pid = strtol(at, &end, 10); !found && end != at && pid > 0; pid = strtol(at, &end, 10)) {
		struct dt_proc child;

		at = end;
		if (!dt_budget_step(budget))
			return 0;
		if (*end != ' ' || dt_proc_open((int)pid, &child) < 0)
			continue;
		if (dt_find_likely(&child, cache, budget))
			found = (int)pid;
		else if (depth < DEPTH_MAX)
			found = python_below(&child, cache, depth + 1, budget);
		dt_proc_release(&child);
	}
	return found;
}

bool dt_find_young(const struct dt_proc *proc)
{
	struct dt_proc_info info;

	return dt_proc_info(proc, &info) == 0 && dt_proc_age(&info) < YOUNG_SECONDS;
}

/* An exec puts other memory in the place of the one that was read; a thread takes its view of it along when it ends. */
static int fail_no_memory(const struct dt_proc *proc, const char *name, struct dt_error *err)
{
	return dt_fail(err, DT_EAGAIN, "process %d (%s) has no memory at this moment: it is beginning or ending",
		       proc->pid, name);
}

static int fail_no_maps(const struct dt_proc *proc, const char *name, struct dt_error *err)
{
	bool ended = dt_proc_ended(proc);
	struct dt_proc_info info;
	bool known = dt_proc_info(proc, &info) == 0;

	if (ended && known && info.state == 'Z')
		return dt_fail(err, DT_EENDED,
			       "process %d (%s) has ended; it is a zombie until process %d takes notice", proc->pid,
			       name, info.ppid);
	if (ended)
		return dt_fail(err, DT_EENDED, "process %d (%s) has ended", proc->pid, name);
	if (known && (proc->pid == 2 || info.ppid == 2))
		return dt_fail(err, DT_ENOTPYTHON, "process %d (%s) is a thread of the kernel", proc->pid, name);
	return fail_no_memory(proc, name, err);
}

int dt_find_fail_not_python(const struct dt_proc *proc, bool no_maps, struct dt_find_cache *cache, struct dt_error *err)
{
	struct dt_budget budget;
	char name[32];
	int child;

	dt_find_name(proc, name);
	if (no_maps)
		return fail_no_maps(proc, name, err);
	dt_fail(err, DT_ENOTPYTHON, "process %d (%s) has no Python interpreter in it", proc->pid, name);
	if (!err)
		return DT_ENOTPYTHON;
	dt_budget_begin(&budget, CHILDREN_MAX);
	child = python_below(proc, cache, 1, &budget);
	if (child)
		dt_hint(err,
			"its child %d looks like Python: give that one instead, or '--children' to have all of them",
			child);
	else
		dt_hint(err, "'darter ps' lists the Python processes of this host");
	return DT_ENOTPYTHON;
}

int dt_find_fail_spent(const struct dt_find_place *place, struct dt_error *err)
{
	char where[DT_FIND_WHERE];

	dt_find_where(place, where);
	return dt_fail(
	    err, DT_ERUNTIME,
	    "no Python interpreter was found in %s before the search was given up: too much in it looks like one",
	    where);
}

int dt_find_fail_errno(const struct dt_proc *proc, int code, struct dt_error *err)
{
	char name[32];

	dt_find_name(proc, name);
	switch (code) {
	case -EPERM:
	case -EACCES:
		return dt_fail(err, DT_EPERMISSION, "process %d (%s) may not be read", proc->pid, name);
	case -ESRCH:
	case -ENOENT:
		if (dt_proc_ended(proc))
			return dt_fail(err, DT_EENDED, "process %d has ended", proc->pid);
		return fail_no_memory(proc, name, err);
	case -ENOMEM:
	case -EFBIG:
		return dt_fail(err, DT_EMEMORY, "the memory map of process %d (%s) is too large to be read", proc->pid,
			       name);
	default:
		return dt_fail(err, DT_ERUNTIME, "process %d (%s) cannot be read: %s", proc->pid, name,
			       strerror(-code));
	}
}
