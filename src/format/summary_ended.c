/*
 * What no row of CPU time can have: what a process used after the last look at it, when it had ended before the next
 * one. On average that is half the time between two looks, which is little of a long life and much of many short ones.
 * Of wall time nothing is missing so: there each look stands for the time before it, whoever began meanwhile.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/numbers.h"
#include "base/util.h"
#include "base/wrap.h"
#include "format/summary.h"
#include "format/units.h"

#define LITTLE 20 /* a part of what is shown that is not worth a sentence: the twentieth */
#define LOOKS  2  /* since the last of which a process has ended if nothing is told of it any more */

struct last {
	uint64_t ns; /* to which it is known, 0: never seen */
	bool ran;
};

/* How many ended that ran when they were last looked at. 0 if memory is out. */
static uint64_t count_ended(const struct dt_profile *profile, uint64_t period_ns)
{
	const struct dt_profile_run *runs = dt_profile_runs(profile);
	struct dt_profile_counts counts = dt_profile_counts(profile);
	uint64_t duration_ns = dt_profile_meta(profile)->duration_ns, ended = 0;
	dt_auto_free struct last *lasts = calloc((size_t)counts.processes + 1, sizeof(*lasts));

	for (size_t i = 0; lasts && i < counts.runs; i++) {
		struct last *last = &lasts[dt_profile_thread_at(profile, runs[i].thread)->process];
		uint64_t ns = runs[i].start_ns + DT_MIN(runs[i].wall_ns, UINT64_MAX - runs[i].start_ns);

		if (ns < last->ns)
			continue;
		last->ran = runs[i].state == DT_STATE_RUNNING || (ns == last->ns && last->ran);
		last->ns = ns;
	}
	for (uint32_t i = 1; lasts && i <= counts.processes; i++)
		ended += lasts[i].ran && lasts[i].ns < duration_ns && duration_ns - lasts[i].ns > LOOKS * period_ns;
	return ended;
}

/* Between two looks: as it was asked for, or as it could be kept up with. */
static uint64_t period_of(const struct dt_profile_meta *meta, const struct dt_summary_missing *missing)
{
	uint64_t asked_ns = meta->rate >= 1 ? (uint64_t)(1e9 / meta->rate) : 0;
	uint64_t kept_ns = meta->quality.rounds ? DT_MIN(missing->watched, meta->duration_ns) / meta->quality.rounds
						: 0;

	return asked_ns ? DT_MAX(asked_ns, kept_ns) : 0;
}

void dt_summary_ended(struct dt_buf *buf, const struct dt_view *view, const struct dt_render *render,
		      const struct dt_summary_missing *missing)
{
	const struct dt_profile *profile = dt_view_profile(view);
	uint64_t period_ns = period_of(dt_profile_meta(profile), missing), ended, lost_ns;
	struct dt_buf text = DT_BUF_INIT;

	if (!period_ns || dt_view_options(view)->weight != DT_WEIGHT_CPU)
		return;
	ended = count_ended(profile, period_ns);
	lost_ns = ended * (period_ns / 2);
	if (lost_ns <= missing->whole / LITTLE)
		return;
	dt_thousands(&text, ended);
	dt_buf_puts(&text, ended == 1 ? " process" : " processes");
	dt_buf_puts(&text, " ended between two looks: what was used of a CPU after the last one, some ");
	dt_put_time(&text, lost_ns);
	dt_buf_puts(&text, " in all, is in no row. A higher '--rate' loses less.");
	dt_wrap(buf, text.data, text.length, 0, 0, render->columns);
	dt_buf_putc(buf, '\n');
	buf->failed |= text.failed;
	dt_buf_release(&text);
}
