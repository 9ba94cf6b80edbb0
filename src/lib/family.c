/*
 * Who belongs to whom. A process is asked for its parent once, when it is new. If that one has ended before it was seen
 * (a shell that started something in the background) the kernel has given the child to another parent, and nothing in
 * /proc tells of the one before. What is left of it is the session and the process group, which are inherited:
 *
 * - All processes of a session descend from its leader: no other can get into it. If the leader is of the tree they
 * are.
 * - A group is nearly as good. Others than descendants of its leader are in it only if a shell has put them there, or
 * if the leader is above the tree: a script that has started it, and may have started more. So a process that is in the
 *   same group as its parent is nobody's orphan, but that parent's own child, and a group whose leader is there and is
 *   neither of the tree nor above it (a desktop that starts all programs) tells nothing.
 */
#include "lib/family.h"

#include <stdlib.h>

#include "base/util.h"
#include "lib/host.h"

static struct dt_relative *find(const struct dt_relative *list, size_t count, int pid)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (list[middle].pid < pid)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && list[low].pid == pid ? (struct dt_relative *)&list[low] : NULL;
}

struct dt_relative *dt_family_find(const struct dt_family *family, int pid)
{
	return find(family->list, family->count, pid);
}

static void ask(struct dt_relative *one)
{
	struct dt_proc_info info = {0};

	one->asked = true;
	one->unsure = false;
	dt_proc_glance(one->pid, &info);
	one->parent = info.ppid;
	one->group = info.group;
	one->session = info.session;
}

/* Also one that has just ended: its number is not given away while a session or a group has it. */
static bool of_tree(const struct dt_family *before, const struct dt_family *now, int pid)
{
	const struct dt_relative *one = dt_family_find(now, pid);

	if (!one)
		one = dt_family_find(before, pid);
	return one && one->tree;
}

static bool descends(const struct dt_family *family, const struct dt_relative *one, int from)
{
	/* Parents are not from one instant: a loop of them is possible in theory. */
	for (size_t steps = 0; one && steps < family->count; steps++) {
		if (one->parent == from)
			return true;
		one = dt_family_find(family, one->parent);
	}
	return false;
}

/* Whether the parent that it had was one of the tree. */
static bool left_behind(const struct dt_family *before, const struct dt_family *now, const struct dt_relative *one)
{
	const struct dt_relative *parent = dt_family_find(now, one->parent);
	const struct dt_relative *leader = dt_family_find(now, one->group);

	if (!one->late || !one->asked || !one->group)
		return false;
	if (of_tree(before, now, one->session))
		return true;
	if (parent ? parent->group == one->group : one->parent && one->fresh)
		return false; /* it has one, or will be asked again */
	if (of_tree(before, now, one->group))
		return true;
	for (size_t i = 0; i < now->count; i++) {
		const struct dt_relative *other = &now->list[i];

		if (other->tree && other->group == one->group && (!leader || descends(now, other, leader->pid)))
			return true;
	}
	return false;
}

/* Children of the tree belong to it, generation by generation. */
static void spread(const struct dt_family *before, struct dt_family *now)
{
	bool more = true;

	while (more) {
		more = false;
		for (size_t i = 0; i < now->count; i++) {
			struct dt_relative *one = &now->list[i];

			if (one->tree || (!one->parent && !one->asked))
				continue;
			if (of_tree(now, now, one->parent) || (now->orphans && left_behind(before, now, one)))
				one->tree = one->fresh = more = true;
		}
	}
}

/* A parent that has gone is forgotten: its number may be given to another process. */
static void forget(struct dt_family *family)
{
	family->unsettled = false;
	for (size_t i = 0; i < family->count; i++) {
		struct dt_relative *one = &family->list[i];

		if (one->tree || !one->parent || dt_family_find(family, one->parent))
			continue;
		one->parent = 0;
		one->unsure = one->fresh;
		family->unsettled |= one->unsure;
	}
}

int dt_family_list(struct dt_family *family, bool kin, const int *roots, size_t root_count, struct dt_error *err)
{
	dt_auto_free int *pids = NULL;
	struct dt_family now = {.listed = true, .orphans = family->orphans};
	size_t old = 0;
	int rc = dt_host_pids(&pids, &now.count, err);

	if (rc < 0)
		return rc;
	now.list = calloc(now.count + 1, sizeof(*now.list));
	if (!now.list)
		return dt_fail(err, DT_EMEMORY, "out of memory");
	for (size_t i = 0; i < now.count; i++) {
		struct dt_relative *one = &now.list[i];

		while (old < family->count && family->list[old].pid < pids[i])
			old++;
		if (old < family->count && family->list[old].pid == pids[i]) {
			*one = family->list[old];
			one->fresh = one->asked = false;
		} else {
			*one = (struct dt_relative){.pid = pids[i], .fresh = true, .late = family->listed};
			for (size_t r = 0; !family->listed && r < root_count; r++)
				one->tree |= roots[r] == pids[i];
		}
		if (kin && (one->fresh || one->unsure))
			ask(one);
	}
	if (kin) {
		spread(family, &now);
		forget(&now);
	}
	free(family->list);
	*family = now;
	return 0;
}

void dt_family_release(struct dt_family *family)
{
	free(family->list);
	*family = (struct dt_family){0};
}
