/* In a slice or beside: see seating.h. */
#include "record/seating.h"

#include "base/util.h"

#define NS_PER_S   UINT64_C(1000000000)
#define AGAIN_NS   (2 * NS_PER_S)
#define LONGEST_NS (60 * NS_PER_S)
#define FEWEST     5    /* rounds that tell anything */
#define CLEARLY    0.05 /* so much better is worth a change */
#define HARD       0.6  /* of the looks that may not stop who runs, so many do not see it */

_Static_assert(DT_SEAT_BESIDE == 0 && DT_SEAT_SLICE == 1, "kinds are places in again_ns");

static void begin_window(struct dt_seating *s)
{
	s->ran_ns = s->unseen_ns = 0;
	s->rounds = 0;
}

void dt_seating_begin(struct dt_seating *s, double rate, double stops, uint64_t now_ns)
{
	double hoped = stops < rate ? HARD * (1 - stops / rate) : 0;

	*s = (struct dt_seating){.kind = DT_SEAT_SLICE,
				 .other = hoped,
				 .hoped = hoped,
				 .since_ns = now_ns,
				 .last_ns = now_ns,
				 .again_ns = {AGAIN_NS, AGAIN_NS}};
}

static void change(struct dt_seating *s, double share, uint64_t now_ns)
{
	s->again_ns[s->kind] = s->tried ? DT_MIN(s->again_ns[s->kind] * 2, LONGEST_NS) : AGAIN_NS;
	s->kind = s->kind == DT_SEAT_SLICE ? DT_SEAT_BESIDE : DT_SEAT_SLICE;
	s->tried = true;
	s->other = share;
	s->since_ns = now_ns;
	begin_window(s);
}

/* A long time without rounds is none in which somebody was looked at. */
static void note(struct dt_seating *s, bool ran, bool unseen, uint64_t now_ns)
{
	uint64_t passed = DT_MIN(now_ns - s->last_ns, NS_PER_S);

	s->last_ns = now_ns;
	s->rounds++;
	if (ran)
		s->ran_ns += passed;
	if (ran && unseen)
		s->unseen_ns += passed;
}

enum dt_seat_kind dt_seating_next(struct dt_seating *s, bool ran, bool unseen, uint64_t now_ns)
{
	enum dt_seat_kind other = s->kind == DT_SEAT_SLICE ? DT_SEAT_BESIDE : DT_SEAT_SLICE;
	bool whole, lost;
	double share;

	note(s, ran, unseen, now_ns);
	whole = s->ran_ns >= NS_PER_S && s->rounds >= FEWEST;
	/* What is only tried may have been too bad for the whole second before it is over. */
	lost = s->tried && s->rounds >= FEWEST && (double)s->unseen_ns > (s->other + CLEARLY) * (double)NS_PER_S;
	if (!whole && !lost)
		return s->kind;
	share = (double)s->unseen_ns / (double)s->ran_ns;
	if (now_ns - s->since_ns >= s->again_ns[other])
		s->other = DT_MIN(s->other, other == DT_SEAT_SLICE ? 0 : s->hoped);
	if (lost || share > s->other + CLEARLY) {
		change(s, share, now_ns);
	} else {
		s->tried = false;
		begin_window(s);
	}
	return s->kind;
}
