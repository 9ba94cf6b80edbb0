/*
 * Which process of two recordings is one. The kernel uses ids again, and a process becomes another program by exec, so
 * the id alone would not do; nor may the command line decide, which a program may change as often as it likes. When a
 * process began and where the kernel has put its program settle it. Files that do not tell that are judged by lives:
 * two processes that were there at the same time and had the same id are one.
 */
#include "profile/known.h"

#include <errno.h>
#include <stdlib.h>

#include "base/util.h"
#include "profile/inside.h"

static int by_pid(const void *a, const void *b)
{
	const struct known_process *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

int known_processes_init(struct known_processes *known, const struct dt_profile *profile, bool one_clock)
{
	size_t count = profile->processes.count;
	struct known_process *list = calloc(count + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		const struct dt_profile_process *process = dt_profile_process_at(profile, i + 1);

		list[i] = (struct known_process){.pid = process->pid, .id = i + 1, .until_ns = process->ended_ns};
	}
	for (uint32_t i = 1; i <= profile->threads.count; i++) {
		const struct dt_thread_entry *entry = profile_thread_entry(profile, i);
		struct known_process *owner = &list[entry->thread.process - 1];

		owner->until_ns = DT_MAX(owner->until_ns, entry->end_ns);
	}
	qsort(list, count, sizeof(*list), by_pid);
	*known = (struct known_processes){.profile = profile, .list = list, .count = count, .one_clock = one_clock};
	return 0;
}

void known_processes_release(struct known_processes *known)
{
	free(known->list);
	*known = (struct known_processes){0};
}

/* 0: they are not the same; else the more the likelier, of several. */
static unsigned likeness(const struct known_processes *known, const struct known_process *entry,
			 const struct dt_profile_process *process)
{
	const struct dt_profile_process *before = dt_profile_process_at(known->profile, entry->id);
	bool dated = before->start_ns && process->start_ns, same;
	bool named = before->command == process->command;
	bool alike = before->executable == process->executable && before->version == process->version;
	bool together = process->began_ns < entry->until_ns &&
			(!process->ended_ns || before->began_ns < process->ended_ns);

	if (dated && before->start_ns != process->start_ns)
		return 0;
	if (dated && before->image && process->image)
		same = before->image == process->image;
	else if (together)
		same = alike && (named || known->one_clock);
	else /* it was there at the end, and may have gone on */
		same = alike && named && before->container == process->container && !before->ended_ns;
	return same ? 1u + 2u * together + named : 0;
}

uint32_t known_processes_find(const struct known_processes *known, const struct dt_profile_process *process)
{
	size_t low = 0, high = known->count;
	unsigned most = 0;
	uint32_t id = 0;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (known->list[middle].pid <= process->pid)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low && known->list[low - 1].pid == process->pid; low--) {
		unsigned like = likeness(known, &known->list[low - 1], process);

		if (like > most) {
			most = like;
			id = known->list[low - 1].id;
		}
	}
	return id;
}
