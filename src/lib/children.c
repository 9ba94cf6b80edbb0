/*
 * The descendants of a process. /proc is listed once and every process asked for its parent; the answers are not from
 * one instant, so a loop of parents is possible in theory, and every process is taken at most once.
 */
#include <errno.h>

#include "base/util.h"
#include "lib/host.h"

int dt_host_pids(int **pids, size_t *count, struct dt_error *err)
{
	int rc = dt_proc_list(pids, count);

	if (rc == -ENOMEM)
		return dt_fail(err, DT_EMEMORY, "out of memory");
	if (rc < 0)
		return dt_fail(err, DT_ERUNTIME, "/proc cannot be listed: %s", strerror(-rc));
	return 0;
}

struct link {
	int parent, pid;
	bool taken;
};

static int by_parent(const void *a, const void *b)
{
	const struct link *x = a;
	const struct link *y = b;

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	return (x->pid > y->pid) - (x->pid < y->pid);
}

/* Index of the first link whose parent is not below the given one. */
static size_t first_of(const struct link *links, size_t count, int parent)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (links[middle].parent < parent)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Depth first, in the order of pids. `stack` and `out` have room for count each. */
static size_t descend(struct link *links, size_t count, int root, size_t *stack, int *out)
{
	size_t depth = 0, found = 0;
	int parent = root;

	for (;;) {
		size_t first = first_of(links, count, parent), end = first;

		while (end < count && links[end].parent == parent)
			end++;
		/* The last one goes down first, so that the first one comes up first. */
		while (end-- > first) {
			if (links[end].taken || links[end].pid == root)
				continue;
			links[end].taken = true;
			stack[depth++] = end;
		}
		if (!depth)
			return found;
		parent = out[found++] = links[stack[--depth]].pid;
	}
}

static size_t read_links(const int *pids, size_t count, struct link *links)
{
	size_t found = 0;

	for (size_t i = 0; i < count; i++) {
		struct dt_proc_info info;

		if (dt_proc_glance(pids[i], &info) == 0)
			links[found++] = (struct link){.parent = info.ppid, .pid = pids[i]};
	}
	qsort(links, found, sizeof(*links), by_parent);
	return found;
}

int dt_children(int pid, int **pids, size_t *count, struct dt_error *err)
{
	struct link *links;
	struct dt_proc root;
	size_t *stack;
	size_t total;
	int *all;
	int rc;

	if (dt_proc_open(pid, &root) < 0)
		return dt_fail(err, DT_ENOTFOUND, "there is no process %d", pid);
	dt_proc_release(&root);
	rc = dt_host_pids(&all, &total, err);
	if (rc < 0)
		return rc;
	links = calloc(total + 1, sizeof(*links));
	stack = calloc(total + 1, sizeof(*stack));
	if (links && stack) {
		total = read_links(all, total, links);
		/* The list of all pids is read no more: it becomes the answer. */
		*count = descend(links, total, pid, stack, all);
		*pids = all;
	} else {
		free(all);
		rc = dt_fail(err, DT_EMEMORY, "out of memory");
	}
	free(stack);
	free(links);
	return rc;
}
