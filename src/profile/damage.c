/* What a damaged file has lost: see damage.h. Time in which no thread has a run, where something was lost, is lost. */
#include "profile/damage.h"

#include <errno.h>
#include <stdlib.h>

#include "base/util.h"
#include "profile/inside.h"

#define FIRST_HOLES 16

void file_damage_release(struct file_damage *damage)
{
	free(damage->holes);
}

int file_damage_note(struct file_damage *damage, uint64_t until_ns, bool hurt)
{
	struct file_hole hole = {damage->until_ns, DT_MAX(damage->until_ns, until_ns)};
	struct file_hole *last = damage->count ? &damage->holes[damage->count - 1] : NULL;

	damage->until_ns = hole.to;
	if (!hurt)
		return 0;
	if (last && last->to == hole.from) {
		last->to = hole.to;
		return 0;
	}
	if (!damage->holes || damage->count == damage->capacity) {
		size_t capacity = damage->capacity ? damage->capacity * 2 : FIRST_HOLES;
		struct file_hole *grown = reallocarray(damage->holes, capacity, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		damage->holes = grown;
		damage->capacity = capacity;
	}
	damage->holes[damage->count++] = hole;
	return 0;
}

static int by_beginning(const void *a, const void *b)
{
	const struct file_hole *x = a, *y = b;

	return (x->from > y->from) - (x->from < y->from);
}

/* The time that runs cover, whosever they are. */
static uint64_t covered(const struct file_hole *runs, size_t count)
{
	uint64_t sum_ns = 0, end = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t from = DT_MAX(runs[i].from, end);

		sum_ns += runs[i].to > from ? runs[i].to - from : 0;
		end = DT_MAX(end, runs[i].to);
	}
	return sum_ns;
}

/* The part of the holes that no run covers. */
static uint64_t uncovered(const struct file_damage *damage, const struct file_hole *runs, size_t count)
{
	uint64_t sum_ns = 0;
	size_t at = 0;

	for (size_t i = 0; i < damage->count; i++) {
		uint64_t from = damage->holes[i].from, to = damage->holes[i].to;

		while (at < count && runs[at].from < to) {
			sum_ns += runs[at].from > from ? runs[at].from - from : 0;
			from = DT_MAX(from, runs[at].to);
			if (from >= to)
				break; /* it may cover the next one, too */
			at++;
		}
		sum_ns += to > from ? to - from : 0;
	}
	return sum_ns;
}

static struct file_hole *runs_in_order(const struct dt_profile *profile)
{
	struct file_hole *runs = calloc(profile->run_count + 1, sizeof(*runs));

	if (!runs)
		return NULL;
	for (size_t i = 0; i < profile->run_count; i++)
		runs[i] = (struct file_hole){profile->runs[i].start_ns,
					     profile->runs[i].start_ns + profile->runs[i].wall_ns};
	qsort(runs, profile->run_count, sizeof(*runs), by_beginning);
	return runs;
}

static uint64_t samples_left(const struct dt_profile *profile)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < profile->run_count; i++)
		sum += profile->runs[i].samples;
	return DT_MIN(sum, profile->meta.quality.samples);
}

int file_damage_settle(const struct file_damage *damage, struct dt_profile *profile)
{
	dt_auto_free struct file_hole *runs = damage->count ? runs_in_order(profile) : NULL;
	struct dt_profile_meta meta = profile->meta;
	uint64_t lost_ns, left_ns, left = samples_left(profile);

	if (!runs)
		return damage->count ? -ENOMEM : 0;
	lost_ns = DT_MIN(uncovered(damage, runs, profile->run_count), meta.duration_ns);
	left_ns = covered(runs, profile->run_count);
	meta.damaged_ns += DT_MIN(lost_ns, UINT64_MAX - meta.damaged_ns);
	meta.damaged_samples += DT_MIN(meta.quality.samples - left, UINT64_MAX - meta.damaged_samples);
	/* Nobody looks while there is nobody to be looked at. */
	profile_quality_part(&meta.quality, lost_ns ? (double)left_ns / ((double)left_ns + (double)lost_ns) : 1);
	meta.quality.samples = left;
	meta.duration_ns -= lost_ns;
	dt_profile_set_meta(profile, &meta);
	return 0;
}
