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

/* Of those that tell no difference no more than so many are looked at, the newest. No pid is used as often in a
 * recording, but a file that was made up may have a million of them; one that is not found is another process then. */
#define MOST_ALIKE 1024

static int by_origin(const void *a, const void *b)
{
	const struct known_process *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	if (x->image != y->image)
		return x->image < y->image ? -1 : 1;
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

		list[i] = (struct known_process){.pid = process->pid,
						 .id = i + 1,
						 .start_ns = process->start_ns,
						 .image = process->image,
						 .until_ns = process->ended_ns};
	}
	for (uint32_t i = 1; i <= profile->threads.count; i++) {
		const struct dt_thread_entry *entry = profile_thread_entry(profile, i);
		struct known_process *owner = &list[entry->thread.process - 1];

		owner->until_ns = DT_MAX(owner->until_ns, entry->end_ns);
	}
	qsort(list, count, sizeof(*list), by_origin);
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

/* Where the first one is that stands behind `key`, or is it. */
static size_t first_from(const struct known_processes *known, struct known_process key)
{
	size_t low = 0, high = known->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (by_origin(&known->list[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct search {
	const struct known_processes *known;
	const struct dt_profile_process *process;
	unsigned most; /* likeness so far, */
	uint32_t id;   /* and whose */
};

/* Those that began and have an image in these limits. Of several that are as likely it is the newest one. */
static void search_in(struct search *s, uint64_t first_start, uint64_t last_start, uint64_t first_image,
		      uint64_t last_image)
{
	struct known_process from = {.pid = s->process->pid, .start_ns = first_start, .image = first_image};
	struct known_process to = {
	    .pid = s->process->pid, .start_ns = last_start, .image = last_image, .id = UINT32_MAX};
	size_t begin = first_from(s->known, from), end = first_from(s->known, to);

	if (end - begin > MOST_ALIKE)
		begin = end - MOST_ALIKE;
	for (size_t i = begin; i < end; i++) {
		const struct known_process *entry = &s->known->list[i];
		unsigned like = likeness(s->known, entry, s->process);

		if (like > s->most || (like && like == s->most && entry->id > s->id)) {
			s->most = like;
			s->id = entry->id;
		}
	}
}

/* What differs in what both of them tell is not looked at: a pid may have been used a million times. */
uint32_t known_processes_find(const struct known_processes *known, const struct dt_profile_process *process)
{
	struct search s = {.known = known, .process = process};
	uint64_t start = process->start_ns, image = process->image;

	search_in(&s, 0, 0, 0, UINT64_MAX);
	if (!start) {
		search_in(&s, 1, UINT64_MAX, 0, UINT64_MAX);
	} else if (!image) {
		search_in(&s, start, start, 0, UINT64_MAX);
	} else {
		search_in(&s, start, start, 0, 0);
		search_in(&s, start, start, image, image);
	}
	return s.id;
}
