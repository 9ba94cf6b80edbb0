/* Instants: see instants.h. */
#include "record/instants.h"

#include "base/util.h"

#define NS_PER_S    1e9
#define SELDOM      50.0   /* times a second: whoever looks at so few wants them evenly */
#define OFTEN       5000.0 /* more than that, and most instants of a block would pass while we look */
#define JUST_PASSED 100000 /* ns */

/* Where an exponential distribution of mean 1 has its eighths; the last one has no end, but a middle. */
static const double parts[DT_INSTANTS_BLOCK + 1] = {0, 0.1335, 0.2877, 0.4700, 0.6931, 0.9808, 1.3863, 2.0794, 4.0794};

/* Between 0 and 1. */
static double chance(struct dt_instants *in)
{
	in->random = in->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (double)(in->random >> 11) / 9007199254740992.0;
}

/* One distance of each part, together as many as there are. */
static void draw(struct dt_instants *in, double *distance)
{
	double sum = 0;

	for (size_t i = 0; i < DT_INSTANTS_BLOCK; i++) {
		size_t at = (size_t)(chance(in) * (double)(i + 1));

		distance[i] = distance[at];
		distance[at] = parts[i] + chance(in) * (parts[i + 1] - parts[i]);
	}
	for (size_t i = 0; i < DT_INSTANTS_BLOCK; i++)
		sum += distance[i];
	for (size_t i = 0; i < DT_INSTANTS_BLOCK; i++)
		distance[i] *= DT_INSTANTS_BLOCK / sum;
}

/* Where to begin, going round, so that so many instants are never sooner than so many periods: after the one where they
 * are soonest. */
static size_t beginning(const double *distance)
{
	double ahead = 0, least = 0;
	size_t begin = 0;

	for (size_t i = 0; i < DT_INSTANTS_BLOCK; i++) {
		ahead += distance[i] - 1;
		if (ahead < least) {
			least = ahead;
			begin = i + 1;
		}
	}
	return begin;
}

static void plan(struct dt_instants *in)
{
	double drawn[DT_INSTANTS_BLOCK] = {0};
	size_t begin;

	draw(in, drawn);
	begin = beginning(drawn);
	for (size_t i = 0; i < DT_INSTANTS_BLOCK; i++)
		in->distance[i] = drawn[(begin + i) % DT_INSTANTS_BLOCK];
	in->next = 0;
}

void dt_instants_init(struct dt_instants *in, double rate, uint64_t random)
{
	*in = (struct dt_instants){
	    .period_ns = NS_PER_S / rate, .even = rate < SELDOM || rate > OFTEN, .random = random};
	plan(in);
}

void dt_instants_begin(struct dt_instants *in, uint64_t now_ns)
{
	in->told_ns = now_ns;
	plan(in);
}

static uint64_t planned_after(const struct dt_instants *in, uint64_t due_ns)
{
	return due_ns + (uint64_t)(in->period_ns * in->distance[in->next]);
}

uint64_t dt_instants_next(struct dt_instants *in, uint64_t due_ns, uint64_t now_ns)
{
	uint64_t next;

	if (in->even) {
		next = due_ns + (uint64_t)(in->period_ns * (0.5 + chance(in)));
		return next > now_ns ? next : now_ns + (uint64_t)(in->period_ns * chance(in));
	}
	next = planned_after(in, due_ns);
	if (next + JUST_PASSED >= now_ns)
		return next;
	in->next = DT_INSTANTS_BLOCK - 1; /* with the next look the block is over */
	return now_ns + (uint64_t)(in->period_ns * in->distance[in->next]);
}

uint64_t dt_instants_half(const struct dt_instants *in)
{
	return in->told_ns + in->put_off_ns / 2;
}

void dt_instants_put_off(struct dt_instants *in, uint64_t by_ns)
{
	in->put_off_ns += by_ns;
}

uint64_t dt_instants_told(struct dt_instants *in, uint64_t due_ns, uint64_t at_ns, bool lost)
{
	uint64_t planned = in->told_ns + in->put_off_ns + (uint64_t)in->period_ns;

	in->put_off_ns = 0;
	if (in->even || lost)
		dt_instants_begin(in, at_ns);
	else if (++in->next == DT_INSTANTS_BLOCK)
		dt_instants_begin(in, DT_MAX(due_ns, in->told_ns));
	else
		in->told_ns = DT_MIN(planned, at_ns);
	return in->told_ns;
}

uint64_t dt_instants_passed(struct dt_instants *in, uint64_t *due_ns, uint64_t now_ns)
{
	while (!in->even && planned_after(in, *due_ns) + JUST_PASSED < now_ns) {
		*due_ns = planned_after(in, *due_ns);
		dt_instants_told(in, *due_ns, now_ns, false);
	}
	return in->told_ns;
}
