/*
 * What no row of the summary can have: time before the first look at anybody, and behind the last one. A program that
 * is started is no Python for a while, and what it does after its last thread has ended is not seen either; or the
 * machine was busy, and darter came late. The recording does not tell which of them it was, so that is not said.
 */
#include "base/util.h"
#include "base/wrap.h"
#include "format/summary.h"
#include "format/units.h"

#define LITTLE 20 /* a part of the duration that is not worth a sentence: the twentieth */
#define LOOKS  5  /* that may have been missing at the end because the next one was not due yet */

/* Where the next look was not due yet nothing was missed. */
static bool is_much(const struct dt_profile_meta *meta, uint64_t ns)
{
	return ns > meta->duration_ns / LITTLE && (double)ns * meta->rate > LOOKS * 1e9;
}

static void put_part(struct dt_buf *text, const char *which, uint64_t ns)
{
	dt_buf_puts(text, text->length ? " and " : "Nothing could be looked at in ");
	dt_buf_puts(text, which);
	dt_put_time(text, ns);
}

/* "Nothing could be looked at in the first 25.1 ms: that is in no row." Of a damaged file nobody knows: it may be what
 * is lost, which is told elsewhere. */
void dt_summary_absent(struct dt_buf *buf, const struct dt_profile *profile, const struct dt_render *render)
{
	const struct dt_profile_run *runs = dt_profile_runs(profile);
	size_t count = dt_profile_counts(profile).runs;
	const struct dt_profile_meta *meta = dt_profile_meta(profile);
	uint64_t duration = meta->duration_ns, first = duration, last = 0;
	struct dt_buf text = DT_BUF_INIT;

	for (size_t i = 0; i < count; i++) {
		first = DT_MIN(first, runs[i].start_ns);
		last = DT_MAX(last, runs[i].start_ns + DT_MIN(runs[i].wall_ns, UINT64_MAX - runs[i].start_ns));
	}
	last = DT_MIN(last, duration);
	if (!count || meta->damaged_ns)
		return;
	if (first > duration / LITTLE)
		put_part(&text, "the first ", first);
	if (is_much(meta, duration - last))
		put_part(&text, "the last ", duration - last);
	if (text.length) {
		dt_buf_puts(&text, ": that is in no row.");
		dt_wrap(buf, text.data, text.length, 0, 0, render->columns);
		dt_buf_putc(buf, '\n');
	}
	buf->failed |= text.failed;
	dt_buf_release(&text);
}
