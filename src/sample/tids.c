/*
 * The table of ids is read from /proc when an id is asked for that it does not have, once in each look: a target may
 * name any number of threads that never were. A thread that is not there after that is not a thread of the process.
 */
#include "sample/tids.h"

#include <errno.h>

#include "base/util.h"
#include "machine/machine.h"

#define PTHREAD_BYTES 1024 /* of struct pthread that are searched */
#define LEARN_THREADS 64   /* that must agree, if there are so many */

struct pair {
	int ns_tid, tid;
};

struct dt_tids {
	const struct dt_proc *proc;
	bool same_namespace;
	struct pair *pairs; /* by ns_tid */
	size_t count;
	bool fresh; /* read in this look */
	bool learnt;
	uint32_t offset; /* of the id in struct pthread; DT_ABSENT: not known */
};

struct dt_tids *dt_tids_new(const struct dt_proc *proc)
{
	struct dt_tids *tids = calloc(1, sizeof(*tids));

	if (!tids)
		return NULL;
	tids->proc = proc;
	tids->same_namespace = dt_proc_same_pid_ns(proc);
	tids->offset = DT_ABSENT;
	return tids;
}

void dt_tids_free(struct dt_tids *tids)
{
	if (!tids)
		return;
	free(tids->pairs);
	free(tids);
}

static int by_ns_tid(const void *a, const void *b)
{
	const struct pair *x = a;
	const struct pair *y = b;

	return (x->ns_tid > y->ns_tid) - (x->ns_tid < y->ns_tid);
}

static int refresh(struct dt_tids *tids)
{
	dt_auto_free int *list = NULL;
	struct pair *pairs;
	size_t count;
	size_t kept = 0;
	int rc = dt_proc_threads(tids->proc, &list, &count);

	tids->fresh = true;
	if (rc < 0)
		return rc;
	pairs = calloc(count ? count : 1, sizeof(*pairs));
	if (!pairs)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		int ns_tid;

		if (dt_thread_ns_tid(tids->proc, list[i], &ns_tid) < 0)
			continue;
		pairs[kept++] = (struct pair){.ns_tid = ns_tid, .tid = list[i]};
	}
	qsort(pairs, kept, sizeof(*pairs), by_ns_tid);
	free(tids->pairs);
	tids->pairs = pairs;
	tids->count = kept;
	return 0;
}

void dt_tids_begin(struct dt_tids *tids)
{
	tids->fresh = false;
}

/* Our id for one of the target's namespace; 0 if the process has no such thread. In our own namespace the kernel is
 * asked for that one thread: to list all of them costs some microseconds each. */
static int lookup(const struct dt_tids *tids, uint64_t ns_tid)
{
	struct pair key = {.ns_tid = (int)ns_tid};
	const struct pair *found;

	if (ns_tid == 0 || ns_tid > INT32_MAX)
		return 0;
	if (tids->same_namespace)
		return dt_thread_exists(tids->proc, (int)ns_tid) ? (int)ns_tid : 0;
	found = tids->count ? bsearch(&key, tids->pairs, tids->count, sizeof(key), by_ns_tid) : NULL;
	return found ? found->tid : 0;
}

/* The same, of a number that is meant to be an id: one that is not known is looked for in a new list. */
static int to_ours(struct dt_tids *tids, uint64_t ns_tid)
{
	int tid;

	if (tids->same_namespace)
		return ns_tid <= INT32_MAX ? (int)ns_tid : 0; /* whoever uses it finds out if it is gone */
	tid = lookup(tids, ns_tid);
	if (!tid && ns_tid && !tids->fresh && refresh(tids) == 0)
		tid = lookup(tids, ns_tid);
	return tid;
}

/* True if each of the first threads has an id of this process at the offset, no two the same one. */
static bool offset_fits(struct dt_tids *tids, struct dt_mem *mem, const struct dt_walk *walk, uint32_t offset)
{
	uint32_t seen[LEARN_THREADS];
	uint64_t idents[LEARN_THREADS];
	size_t checked = 0;

	for (size_t i = 0; i < walk->thread_count && checked < LEARN_THREADS; i++) {
		uint64_t ident = walk->threads[i].ident;
		uint32_t id;

		for (size_t j = 0; j < checked; j++)
			if (idents[j] == ident)
				goto next;
		if (dt_mem_read_u32(mem, ident + offset, &id) < 0)
			return false;
		if (id == 0) /* the kernel clears it when the thread ends; its thread state may stay */
			continue;
		if (!lookup(tids, id))
			return false;
		for (size_t j = 0; j < checked; j++)
			if (seen[j] == id)
				return false;
		idents[checked] = ident;
		seen[checked++] = id;
	next:;
	}
	return checked > 0;
}

/* The usual place is tried first: in a small PID namespace ids are small numbers, which stand in other fields too. */
static bool learn_from(struct dt_tids *tids, struct dt_mem *mem, const struct dt_walk *walk)
{
	uint64_t ident = walk->main_ident ? walk->main_ident : walk->threads[0].ident;
	uint8_t bytes[PTHREAD_BYTES];

	tids->offset = dt_machine_here()->glibc_tid;
	if (offset_fits(tids, mem, walk, tids->offset))
		return true;
	if (dt_mem_read(mem, ident, bytes, sizeof(bytes)) == 0) {
		for (tids->offset = 0; tids->offset < sizeof(bytes); tids->offset += sizeof(uint32_t)) {
			if (lookup(tids, dt_get32(bytes + tids->offset)) && offset_fits(tids, mem, walk, tids->offset))
				return true;
		}
	}
	tids->offset = DT_ABSENT;
	return false;
}

void dt_tids_learn(struct dt_tids *tids, struct dt_mem *mem, const struct dt_walk *walk)
{
	if (!tids->learnt && walk->thread_count && (tids->same_namespace || tids->fresh || refresh(tids) == 0))
		tids->learnt = learn_from(tids, mem, walk);
}

int dt_tids_by_ident(struct dt_tids *tids, struct dt_mem *mem, uint64_t ident, int *ns_tid)
{
	uint32_t offset = tids->offset == DT_ABSENT ? dt_machine_here()->glibc_tid : tids->offset;
	uint32_t id;
	int tid;

	*ns_tid = 0;
	if (!ident || dt_mem_read_u32(mem, ident + offset, &id) < 0)
		return 0;
	tid = to_ours(tids, id);
	if (!dt_thread_exists(tids->proc, tid))
		return 0;
	*ns_tid = (int)id;
	return tid;
}

int dt_tids_of(struct dt_tids *tids, struct dt_mem *mem, uint64_t ident, uint64_t native, int *ns_tid)
{
	uint32_t id;
	int tid = to_ours(tids, native);

	*ns_tid = (int)native;
	if (tid)
		return tid;
	*ns_tid = 0;
	if (tids->offset == DT_ABSENT || !ident || dt_mem_read_u32(mem, ident + tids->offset, &id) < 0)
		return 0;
	tid = to_ours(tids, id);
	if (tid)
		*ns_tid = (int)id;
	return tid;
}
