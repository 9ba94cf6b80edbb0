/* Comparing a snapshot with the one before: see watch.h. */
#include "cli/watch.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"

/* FNV-1a. A clash would hide one change of one thread until the next. */
static uint64_t mix(uint64_t digest, const void *data, size_t size)
{
	const unsigned char *bytes = data;

	for (size_t i = 0; i < size; i++)
		digest = (digest ^ bytes[i]) * 0x100000001b3u;
	return digest;
}

static uint64_t mix_text(uint64_t digest, const char *text)
{
	return text ? mix(digest, text, strlen(text) + 1) : mix(digest, "\1", 2);
}

static uint64_t digest_of(const struct dt_thread *thread)
{
	uint64_t digest = 0xcbf29ce484222325u;
	unsigned char flags[] = {(unsigned char)thread->state, thread->gil, thread->gc, thread->torn};

	digest = mix(digest, flags, sizeof(flags));
	digest = mix_text(digest, thread->syscall);
	for (size_t i = 0; i < thread->frame_count; i++) {
		const struct dt_frame *frame = &thread->frames[i];

		digest = mix_text(digest, frame->name);
		digest = mix_text(digest, frame->file);
		digest = mix(digest, &frame->line, sizeof(frame->line));
	}
	return digest;
}

static uint64_t digest_of_program(const struct dt_snapshot *snapshot)
{
	return mix_text(mix_text(0xcbf29ce484222325u, snapshot->executable), snapshot->command);
}

static int by_identity(const void *a, const void *b)
{
	const struct dt_seen_thread *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	if (x->ident != y->ident)
		return x->ident < y->ident ? -1 : 1;
	return (x->interpreter > y->interpreter) - (x->interpreter < y->interpreter);
}

static void free_threads(struct dt_seen_thread *threads, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(threads[i].name);
	free(threads);
}

void dt_seen_release(struct dt_seen *seen)
{
	free_threads(seen->threads, seen->count);
	*seen = (struct dt_seen){0};
}

void dt_change_release(struct dt_change *change)
{
	free(change->threads);
	free_threads(change->ended, change->ended_count);
	*change = (struct dt_change){0};
}

static struct dt_seen_thread *find(struct dt_seen_thread *threads, size_t count, const struct dt_seen_thread *wanted)
{
	return count ? bsearch(wanted, threads, count, sizeof(*wanted), by_identity) : NULL;
}

int dt_seen_update(struct dt_seen *seen, const struct dt_snapshot *snapshot, struct dt_change *change)
{
	size_t count = snapshot->thread_count;
	struct dt_seen_thread *now = calloc(count + 1, sizeof(*now));
	struct dt_thread *changed = calloc(count + 1, sizeof(*changed));
	struct dt_seen_thread *ended = calloc(seen->count + 1, sizeof(*ended));
	uint64_t program = digest_of_program(snapshot);

	*change = (struct dt_change){.threads = changed, .ended = ended};
	change->whole = seen->program != program;
	if (!now || !changed || !ended) {
		free(now);
		dt_change_release(change);
		return DT_EMEMORY;
	}
	for (size_t i = 0; i < count; i++) {
		const struct dt_thread *thread = &snapshot->threads[i];
		const struct dt_seen_thread *before;

		now[i] = (struct dt_seen_thread){thread->tid, thread->ident, thread->interpreter, digest_of(thread),
						 thread->name ? strdup(thread->name) : NULL};
		before = find(seen->threads, seen->count, &now[i]);
		if (before && before->digest == now[i].digest)
			continue;
		changed[change->count++] = *thread;
		change->fresh += !before;
	}
	qsort(now, count, sizeof(*now), by_identity);
	for (size_t i = 0; i < seen->count; i++) {
		if (find(now, count, &seen->threads[i]))
			continue;
		ended[change->ended_count++] = seen->threads[i];
		seen->threads[i].name = NULL;
	}
	dt_seen_release(seen);
	*seen = (struct dt_seen){now, count, program};
	return 0;
}
