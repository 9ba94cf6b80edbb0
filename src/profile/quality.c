/* Figures of quality: of a part of a recording, and of several. */
#include "base/util.h"
#include "profile/inside.h"

static uint64_t plus(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

void profile_quality_part(struct dt_profile_quality *quality, double part)
{
	uint64_t *const figures[] = {
	    &quality->samples, &quality->rounds, &quality->late,  &quality->unseen,     &quality->settled,
	    &quality->torn,    &quality->lost,   &quality->stops, &quality->stopped_ns, &quality->own_cpu_ns,
	};

	if (part >= 1)
		return;
	for (size_t i = 0; i < DT_COUNT(figures); i++) {
		double left = (double)*figures[i] * DT_MAX(part, 0) + 0.5;

		/* As a double the largest ones are larger than they are. */
		*figures[i] = left < (double)*figures[i] ? (uint64_t)left : *figures[i];
	}
}

uint64_t dt_profile_looked(const struct dt_profile_meta *meta)
{
	return DT_MAX(meta->looked_ns, meta->duration_ns);
}

void profile_quality_add(struct dt_profile_quality *quality, const struct dt_profile_quality *other)
{
	quality->samples = plus(quality->samples, other->samples);
	quality->rounds = plus(quality->rounds, other->rounds);
	quality->late = plus(quality->late, other->late);
	quality->unseen = plus(quality->unseen, other->unseen);
	quality->settled = plus(quality->settled, other->settled);
	quality->torn = plus(quality->torn, other->torn);
	quality->lost = plus(quality->lost, other->lost);
	quality->stops = plus(quality->stops, other->stops);
	quality->stopped_ns = plus(quality->stopped_ns, other->stopped_ns);
	quality->missed = plus(quality->missed, other->missed);
	quality->own_cpu_ns = plus(quality->own_cpu_ns, other->own_cpu_ns);
	quality->own_rss = DT_MAX(quality->own_rss, other->own_rss);
}
