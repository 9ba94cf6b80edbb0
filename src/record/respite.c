/* How much of its CPU a target keeps: see respite.h. */
#include "record/respite.h"

#include "base/util.h"

#define SAVED_NS 1e9     /* of what was not used, that of so long is kept */
#define MOST_NS  4e9     /* and no rest is longer */
#define PER_RATE 20000.0 /* a look at each instant may take so much of the time between two: */
#define LEAST    0.03
#define MOST     0.2
#define LATELY   16 /* looks that make the usual one */

uint64_t dt_respite_after(struct dt_respite *r, double rate, uint64_t took_ns, uint64_t now_ns)
{
	double share = DT_MAX(LEAST, DT_MIN(rate / PER_RATE, MOST)), took = (double)took_ns;

	if (!r->asked_ns)
		*r = (struct dt_respite){.left_ns = SAVED_NS / 4 * share, .usual_ns = took, .asked_ns = now_ns};
	r->usual_ns += (took - r->usual_ns) / LATELY;
	r->left_ns = DT_MIN(r->left_ns + (double)(now_ns - r->asked_ns) * share, SAVED_NS * share) - took;
	r->left_ns = DT_MAX(r->left_ns, -MOST_NS * share);
	r->asked_ns = now_ns;
	return r->left_ns < 0 ? (uint64_t)DT_MIN(r->usual_ns / share, MOST_NS) : 0;
}
