/*
 * The end of the summary: what the recording is worth. Every figure is told, also those that are 0, so that a reader
 * knows that they were counted; a share of more than a hundredth is put into a sentence that says what it means.
 */
#include <string.h>

#include "base/utf8.h"
#include "base/wrap.h"
#include "format/summary.h"
#include "format/units.h"

/* "late 3 (1.2%)" */
static void put_count(struct dt_buf *text, const char *name, uint64_t count, uint64_t whole)
{
	dt_buf_printf(text, "%s ", name);
	dt_thousands(text, count);
	if (count && whole) {
		dt_buf_puts(text, " (");
		dt_put_share(text, count, whole);
		dt_buf_putc(text, ')');
	}
}

/* "Quality: 2,991 samples in 1,000 rounds, 99.8 a second of 100 asked for; stacks by perch (root may)" */
static void put_rate(struct dt_buf *text, const struct dt_profile *profile)
{
	const struct dt_profile_meta *meta = dt_profile_meta(profile);
	const struct dt_profile_quality *quality = &meta->quality;

	dt_buf_puts(text, "Quality: ");
	dt_thousands(text, quality->samples);
	dt_buf_puts(text, " samples in ");
	dt_thousands(text, quality->rounds);
	dt_buf_puts(text, " rounds");
	if (meta->duration_ns)
		dt_buf_printf(text, ", %.1f a second", (double)quality->rounds * 1e9 / (double)meta->duration_ns);
	if (meta->rate > 0)
		dt_buf_printf(text, " of %.6g asked for", meta->rate);
	if (meta->rung) {
		dt_buf_puts(text, "; stacks by ");
		dt_escape(text, dt_profile_text(profile, meta->rung));
	}
	if (meta->rung && meta->rung_why) {
		dt_buf_puts(text, " (");
		dt_escape(text, dt_profile_text(profile, meta->rung_why));
		dt_buf_putc(text, ')');
	}
}

static void put_counts(struct dt_buf *text, const struct dt_profile_quality *quality)
{
	put_count(text, "late", quality->late, quality->rounds);
	put_count(text, ", lost", quality->lost, quality->rounds + quality->lost);
	put_count(text, ", unseen", quality->unseen, quality->samples);
	put_count(text, ", torn", quality->torn, quality->samples);
	put_count(text, ", settled", quality->settled, quality->samples);
	put_count(text, ", stops", quality->stops, 0);
	if (quality->stops) {
		dt_buf_puts(text, " (");
		dt_put_time(text, quality->stopped_ns);
		dt_buf_puts(text, " in all)");
	}
}

static void put_own_cost(struct dt_buf *text, const struct dt_profile_meta *meta)
{
	dt_buf_puts(text, "darter itself took ");
	if (meta->duration_ns) {
		dt_put_share(text, meta->quality.own_cpu_ns, meta->duration_ns);
		dt_buf_puts(text, " of a CPU and ");
	} else {
		dt_put_time(text, meta->quality.own_cpu_ns);
		dt_buf_puts(text, " of CPU time and ");
	}
	dt_put_bytes(text, meta->quality.own_rss);
}

static bool matters(uint64_t part, uint64_t whole)
{
	return whole && part > whole / 100;
}

static void put_note(struct dt_buf *buf, const struct dt_render *render, uint64_t part, uint64_t whole,
		     const char *meaning)
{
	struct dt_buf text = DT_BUF_INIT;

	if (!matters(part, whole))
		return;
	dt_buf_putc(&text, ' ');
	dt_put_share(&text, part, whole);
	dt_buf_printf(&text, " %s", meaning);
	dt_paint(buf, render, DT_STYLE_NOTE, "note:");
	dt_wrap(buf, text.data, text.length, strlen("note:"), 0, render->columns);
	dt_buf_putc(buf, '\n');
	buf->failed |= text.failed;
	dt_buf_release(&text);
}

void dt_summary_quality(struct dt_buf *buf, const struct dt_profile *profile, const struct dt_render *render)
{
	const struct dt_profile_meta *meta = dt_profile_meta(profile);
	const struct dt_profile_quality *quality = &meta->quality;
	struct dt_buf text = DT_BUF_INIT;

	put_rate(&text, profile);
	dt_summary_say(buf, render, &text);
	put_counts(&text, quality);
	dt_summary_say(buf, render, &text);
	put_own_cost(&text, meta);
	dt_summary_say(buf, render, &text);
	dt_buf_release(&text);
	put_note(buf, render, quality->unseen, quality->samples,
		 "of the samples met a thread that ran, and could not see where. Their time is shown as [running, "
		 "stack not seen]: any function may have up to that much more than its row says.");
	put_note(buf, render, quality->late, quality->rounds,
		 "of the rounds came too late: the stack that they found is not the one of the time they stand for, "
		 "and is not used. The machine was busy, or the rate is too high for it.");
	put_note(buf, render, quality->torn, quality->samples,
		 "of the samples have no inner frames, because those could not be proven. [torn] stands for them: the "
		 "functions outside of it are true, and their total time is right.");
	put_note(buf, render, quality->lost, quality->rounds + quality->lost,
		 "of the rounds did not take place: the machine was busy or suspended. Times are measured and stay "
		 "right, but there are fewer samples than were asked for.");
}
