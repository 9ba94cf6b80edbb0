/*
 * In a short time slice or beside? Which of the two sees more depends on what else the machine does, and changes: a
 * slice is worth nothing while others keep us from our CPU, and beside only so many looks may stop who runs. So what
 * is not seen is measured where we sit, as a share of the time in which somebody ran, over a second of that at least.
 * The other one is taken if it is expected to leave out less: it is believed to be as it was when it was left, and to
 * have become good again after 2 seconds, or where it did not last a second then, 4, 8, up to 60. Pure logic.
 */
#ifndef DT_RECORD_SEATING_H
#define DT_RECORD_SEATING_H

#include <stdbool.h>
#include <stdint.h>

#include "sample/seat.h"

struct dt_seating {
	enum dt_seat_kind kind; /* DT_SEAT_SLICE or DT_SEAT_BESIDE */
	bool tried;             /* it was taken again, and has not lasted for a second yet */
	double other;           /* what the other one is expected not to see, 0 to 1 */
	double hoped;           /* of beside, where nothing was measured or that is long ago */
	uint64_t since_ns;      /* when this one was taken */
	uint64_t again_ns[2];   /* by kind: so long after it was left it is hoped to be good again */
	uint64_t last_ns;       /* the last round */
	uint64_t ran_ns, unseen_ns;
	unsigned rounds;
};

/* In a slice. stops: so many a second may there be beside. */
void dt_seating_begin(struct dt_seating *seating, double rate, double stops, uint64_t now_ns);

/* After a round. ran: somebody did; unseen: not each stack was seen to its innermost frame. The kind to sit in. */
enum dt_seat_kind dt_seating_next(struct dt_seating *seating, bool ran, bool unseen, uint64_t now_ns);

#endif
