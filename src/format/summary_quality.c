/*
 * The end of the summary: what the recording is worth. A word for it comes first. Then every figure is told, also those
 * that are 0, so that a reader knows that they were counted; what takes more than a hundredth away is put into a
 * sentence that says what it means.
 */
#include <inttypes.h>
#include <string.h>

#include "base/numbers.h"
#include "base/shell.h"
#include "base/utf8.h"
#include "base/util.h"
#include "base/wrap.h"
#include "format/summary.h"
#include "format/units.h"
#include "record/watcher.h"

#define INDENT    2
#define MOST_PACE 1e15 /* of a file that says senseless things */

/* Of the rounds that were asked for. */
#define FEW_ROUNDS 50  /* of so few nothing can be said */
#define FEWER      0.1 /* left out: so much is told */
#define MUCH_FEWER 0.5

/* Samples. */
#define FEW     100 /* below that a share may be off by more than ten points */
#define TOO_FEW 25

#define GOOD    0.01 /* the part that may be missing, and it is still good */

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

/* How long somebody looked while there was somebody to look at: of several recordings at a time each one counts. */
static double watched_ns(const struct dt_profile_meta *meta, const struct dt_summary_missing *missing)
{
	double lookers = meta->duration_ns ? (double)dt_profile_looked(meta) / (double)meta->duration_ns : 1;

	return (double)DT_MIN(missing->watched, meta->duration_ns) * lookers;
}

/* The rounds that were asked for while there was somebody to look at. */
static double asked_for(const struct dt_profile_meta *meta, const struct dt_summary_missing *missing)
{
	return DT_MIN(meta->rate * watched_ns(meta, missing) / 1e9, MOST_PACE);
}

/* The rounds a second in that time; in all of it where nothing is told of any thread. */
static double pace_of(const struct dt_profile_meta *meta, const struct dt_summary_missing *missing)
{
	double ns = missing->watched ? watched_ns(meta, missing) : (double)dt_profile_looked(meta);

	return ns > 0 ? (double)meta->quality.rounds * 1e9 / ns : 0;
}

/* The part of them that is in no other figure: instants that passed while a look took place, or while others had our
 * CPU. */
static double left_out(const struct dt_profile_meta *meta, const struct dt_summary_missing *missing)
{
	double asked = asked_for(meta, missing), told = (double)meta->quality.rounds + (double)meta->quality.lost;

	return asked >= FEW_ROUNDS ? DT_MAX(0, 1 - told / asked) : 0;
}

static bool are_few(const struct dt_summary_missing *missing)
{
	return missing->samples && missing->samples < FEW;
}

/* ", only 4 samples" */
static void put_few(struct dt_buf *text, const struct dt_summary_missing *missing)
{
	if (are_few(missing))
		dt_buf_printf(text, ", only %" PRIu64 " sample%s", missing->samples, missing->samples == 1 ? "" : "s");
}

/* " (a share may be off by 50 points)": twice the standard error where it is largest, at one half. */
static void put_points(struct dt_buf *text, const struct dt_summary_missing *missing)
{
	uint64_t points = 1;

	if (!are_few(missing))
		return;
	while (points * points * missing->samples < UINT64_C(100) * 100)
		points++;
	dt_buf_printf(text, " (a share may be off by %" PRIu64 " points)", points);
}

static uint64_t plus(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* The part of what was recorded that is lost, since its file was damaged: of the time or of the samples. */
static double damaged_part(const struct dt_profile_meta *meta)
{
	uint64_t samples = plus(meta->quality.samples, meta->damaged_samples);
	uint64_t ns = plus(meta->duration_ns, meta->damaged_ns);

	return DT_MAX(samples ? (double)meta->damaged_samples / (double)samples : 0,
		      ns ? (double)meta->damaged_ns / (double)ns : 0);
}

/* ", 28.8% of the recording lost" */
static void put_damage(struct dt_buf *text, const struct dt_profile_meta *meta)
{
	const uint64_t whole = 1000000;
	double part = damaged_part(meta);

	if (part <= 0)
		return;
	dt_buf_puts(text, ", ");
	dt_put_share(text, DT_MAX((uint64_t)(part * (double)whole), UINT64_C(1)), whole);
	dt_buf_puts(text, " of the recording lost");
}

/* A word for all of it. What cannot be seen in time or be proven is not in the rows of functions, and rounds that did
 * not take place leave fewer samples for them; other figures take nothing away. Times are measured and stay right with
 * fewer samples, so many of them have to be left out before the word is another one; but few samples are no measure. */
static double worst_of(const struct dt_summary_missing *missing, const struct dt_profile_meta *meta)
{
	const struct dt_profile_quality *quality = &meta->quality;
	double part = (double)missing->unseen + (double)missing->torn + (double)missing->unkept;
	double share = missing->whole ? part / (double)missing->whole : 0;
	double lost = quality->rounds ? (double)quality->lost / ((double)quality->rounds + (double)quality->lost) : 0;
	double worst = DT_MAX(DT_MAX(share, lost), damaged_part(meta)), slow = left_out(meta, missing);

	if (slow > FEWER)
		worst = DT_MAX(worst, slow > MUCH_FEWER ? 1 : 0.1);
	return worst;
}

/* Of nothing that was seen nothing can be said. */
static bool is_empty(const struct dt_profile *profile)
{
	return !dt_profile_counts(profile).runs;
}

static const char *verdict(const struct dt_summary_missing *missing, const struct dt_profile *profile,
			   enum dt_style *style)
{
	const struct dt_profile_meta *meta = dt_profile_meta(profile);
	double worst = worst_of(missing, meta);

	if (meta->quality.missed > dt_profile_counts(profile).processes / 10)
		worst = DT_MAX(worst, 0.1);
	if (is_empty(profile))
		worst = 1;
	if (are_few(missing))
		worst = DT_MAX(worst, missing->samples < TOO_FEW ? 1 : 0.1);
	*style = worst <= GOOD ? DT_STYLE_BUSY : worst <= 0.1 ? DT_STYLE_NOTE : DT_STYLE_BLOCKED;
	return worst <= GOOD ? "good" : worst <= 0.1 ? "fair" : "poor";
}

/* ", 99.9% of this time has a true stack" */
static void put_seen(struct dt_buf *text, const struct dt_profile *profile, const struct dt_summary_missing *missing,
		     const char *of)
{
	const struct dt_profile_quality *quality = &dt_profile_meta(profile)->quality;
	uint64_t seen = missing->whole - DT_MIN(missing->unseen, missing->whole);

	seen -= DT_MIN(missing->unkept, seen);
	if (missing->whole) {
		dt_buf_puts(text, ", ");
		dt_put_share(text, seen - DT_MIN(missing->torn, seen), missing->whole);
		dt_buf_printf(text, "%s has a true stack", of);
	} else if (is_empty(profile)) {
		dt_buf_puts(text, ", no sample was taken");
	} else if (!quality->unseen && !quality->torn) {
		dt_buf_puts(text, ", nothing was missed");
	}
}

/* "99.8", "99,998" */
static void put_pace(struct dt_buf *text, double pace)
{
	if (pace < 999.95)
		dt_buf_printf(text, "%.1f", pace);
	else
		dt_thousands(text, (uint64_t)(DT_MIN(pace, MOST_PACE) + 0.5));
}

/* "99.8 of 100 rounds a second" */
static void put_rounds(struct dt_buf *text, const struct dt_profile_meta *meta,
		       const struct dt_summary_missing *missing)
{
	put_pace(text, pace_of(meta, missing));
	if (meta->rate > 0) {
		dt_buf_puts(text, " of ");
		dt_put_number(text, meta->rate);
	}
	dt_buf_puts(text, " rounds a second");
}

/* "Quality: good, 99.9% of this time has a true stack; 99.8 of 100 rounds a second" */
static void put_verdict(struct dt_buf *buf, const struct dt_profile *profile, const struct dt_render *render,
			const struct dt_summary_missing *missing)
{
	const struct dt_profile_meta *meta = dt_profile_meta(profile);
	struct dt_buf text = DT_BUF_INIT;
	enum dt_style style;
	const char *word = verdict(missing, profile, &style);

	dt_paint(buf, render, DT_STYLE_BOLD, "Quality: ");
	dt_paint(buf, render, style, word);
	put_few(&text, missing);
	put_points(&text, missing);
	put_seen(&text, profile, missing, " of this time");
	put_damage(&text, meta);
	if (pace_of(meta, missing) > 0) {
		dt_buf_puts(&text, "; ");
		put_rounds(&text, meta, missing);
	}
	dt_wrap(buf, text.data, text.length, strlen("Quality: good"), INDENT, render->columns);
	dt_buf_putc(buf, '\n');
	buf->failed |= text.failed;
	dt_buf_release(&text);
}

/* "2,991 samples in 1,000 rounds, stacks by perch, short time slice: no right to a real-time priority" */
static void put_samples(struct dt_buf *text, const struct dt_profile *profile)
{
	const struct dt_profile_meta *meta = dt_profile_meta(profile);
	const struct dt_profile_quality *quality = &meta->quality;

	dt_thousands(text, quality->samples);
	dt_buf_puts(text, quality->samples == 1 ? " sample in " : " samples in ");
	dt_thousands(text, quality->rounds);
	dt_buf_puts(text, quality->rounds == 1 ? " round" : " rounds");
	if (meta->rung) {
		dt_buf_puts(text, "; stacks by ");
		dt_escape(text, dt_profile_text(profile, meta->rung));
	}
	if (meta->rung && meta->rung_why) {
		dt_buf_puts(text, ": ");
		dt_escape(text, dt_profile_text(profile, meta->rung_why));
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
		dt_put_share(text, meta->quality.own_cpu_ns, dt_profile_looked(meta));
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

void dt_summary_verdict(struct dt_buf *buf, const struct dt_profile *profile, const struct dt_summary_missing *missing)
{
	const struct dt_profile_meta *meta = dt_profile_meta(profile);
	const struct dt_profile_quality *quality = &meta->quality;
	uint64_t rounds = quality->lost > UINT64_MAX - quality->rounds ? UINT64_MAX : quality->rounds + quality->lost;
	enum dt_style style;

	dt_buf_puts(buf, verdict(missing, profile, &style));
	put_few(buf, missing);
	put_seen(buf, profile, missing, "");
	put_damage(buf, meta);
	/* A word that the share does not explain. */
	if (left_out(meta, missing) > FEWER) {
		dt_buf_puts(buf, ", ");
		put_rounds(buf, meta, missing);
	} else if (matters(quality->lost, rounds)) {
		dt_buf_puts(buf, ", ");
		dt_put_share(buf, quality->lost, rounds);
		dt_buf_puts(buf, " of the rounds lost");
	}
}

static void put_line(struct dt_buf *buf, const struct dt_render *render, struct dt_buf *text)
{
	dt_buf_printf(buf, "%*s", INDENT, "");
	dt_wrap(buf, text->data, text->length, INDENT, INDENT, render->columns);
	dt_buf_putc(buf, '\n');
	buf->failed |= text->failed;
	dt_buf_clear(text);
}

static void put_note(struct dt_buf *buf, const struct dt_render *render, struct dt_buf *text)
{
	dt_paint(buf, render, DT_STYLE_NOTE, "note:");
	dt_wrap(buf, text->data, text->length, strlen("note:"), INDENT, render->columns);
	dt_buf_putc(buf, '\n');
	buf->failed |= text->failed;
	dt_buf_clear(text);
}

static bool is_why(const struct dt_profile *profile, const char *why)
{
	const struct dt_profile_meta *meta = dt_profile_meta(profile);

	return meta->rung_why && !strcmp(dt_profile_text(profile, meta->rung_why), why);
}

/* Why there were fewer rounds than asked for, as far as the figures tell, and what helps. */
static void put_slow(struct dt_buf *buf, const struct dt_profile *profile, const struct dt_render *render,
		     const struct dt_summary_missing *missing)
{
	const struct dt_profile_meta *meta = dt_profile_meta(profile);
	const struct dt_profile_quality *quality = &meta->quality;
	double pace = pace_of(meta, missing);
	struct dt_buf text = DT_BUF_INIT;

	if (left_out(meta, missing) <= FEWER)
		return;
	dt_buf_puts(&text, " of ");
	dt_thousands(&text, (uint64_t)(asked_for(meta, missing) + 0.5));
	dt_buf_puts(&text, " looks that were asked for ");
	dt_thousands(&text, quality->rounds);
	dt_buf_puts(&text, " took place: ");
	if (matters(quality->late, quality->rounds))
		dt_buf_puts(&text, "the machine was busy, or a look took longer than the time between two.");
	else
		dt_buf_puts(&text, "a look took longer than the time between two, or was to leave the program some.");
	dt_buf_puts(&text, " Times are measured and stay right, but rest on fewer samples");
	if (pace >= 1 && !is_why(profile, DT_WHY_RATE)) {
		dt_buf_puts(&text, "; '--rate ");
		dt_buf_printf(&text, "%.0f", DT_MIN(pace, MOST_PACE));
		dt_buf_puts(&text, "' asks for as many as there can be");
	}
	dt_buf_putc(&text, '.');
	put_note(buf, render, &text);
	dt_buf_release(&text);
}

/* So high a rate is what is wrong: which one would do is said. */
static void put_too_high(struct dt_buf *buf, const struct dt_profile *profile, const struct dt_render *render,
			 const struct dt_summary_missing *missing)
{
	struct dt_buf text = DT_BUF_INIT;

	if (!is_why(profile, DT_WHY_RATE) || worst_of(missing, dt_profile_meta(profile)) <= GOOD)
		return;
	dt_buf_printf(&text,
		      " at so high a rate there is no perch, and stacks of what computes are mostly not proven. "
		      "'--rate %.0f' is the highest at which they can be proven in a perch.",
		      DT_PERCH_RATE);
	put_note(buf, render, &text);
	dt_buf_release(&text);
}

/* With a real-time priority it would have been better, and the right to that is missing. */
static void put_right(struct dt_buf *buf, const struct dt_profile *profile, const struct dt_render *render,
		      const struct dt_summary_missing *missing, const char *program)
{
	const struct dt_profile_meta *meta = dt_profile_meta(profile);
	struct dt_buf text = DT_BUF_INIT, word = DT_BUF_INIT;

	if (!meta->rung_why || !strstr(dt_profile_text(profile, meta->rung_why), DT_RIGHT) ||
	    worst_of(missing, meta) <= GOOD)
		return;
	if (!program || !dt_shell_quote(&word, program))
		dt_buf_puts(&word, "\"$(command -v darter)\"");
	dt_buf_puts(&text, " with a real-time priority more is seen in time. Root has the right to it (" DT_RIGHT
			   "); this gives it to darter: 'sudo setcap cap_sys_nice+ep ");
	dt_escape(&text, word.data);
	dt_buf_puts(&text, "'");
	put_note(buf, render, &text);
	buf->failed |= word.failed;
	dt_buf_release(&word);
	dt_buf_release(&text);
}

static void put_notes(struct dt_buf *buf, const struct dt_profile_quality *quality, const struct dt_render *render,
		      const struct dt_summary_missing *missing)
{
	uint64_t rounds = quality->lost > UINT64_MAX - quality->rounds ? UINT64_MAX : quality->rounds + quality->lost;
	struct dt_buf text = DT_BUF_INIT;

	if (matters(missing->unseen, missing->whole)) {
		dt_buf_puts(&text, " in ");
		dt_put_share(&text, missing->unseen, missing->whole);
		dt_buf_puts(
		    &text,
		    " of this time a thread ran, or had run, and could not be seen in time: [running, stack not "
		    "seen], [waiting, stack not seen]. Any function may have up to that much more than its row says.");
		if (matters(quality->late, quality->rounds))
			dt_buf_puts(&text, " Looks came late: the machine was busy, or the rate is too high for it.");
		put_note(buf, render, &text);
	}
	if (matters(missing->torn, missing->whole)) {
		dt_buf_puts(&text, " in ");
		dt_put_share(&text, missing->torn, missing->whole);
		dt_buf_puts(&text,
			    " of this time inner frames could not be proven. [torn] stands for them: the functions "
			    "outside of it are true, and their total time is right.");
		put_note(buf, render, &text);
	}
	if (matters(quality->lost, rounds)) {
		dt_buf_putc(&text, ' ');
		dt_put_share(&text, quality->lost, rounds);
		dt_buf_puts(&text,
			    " of the rounds did not take place, or were not kept: darter was stopped, the machine was "
			    "busy, or there was too much to tell. Times are measured and stay right, but there are "
			    "fewer samples than were asked for, and none of a time in which darter was stopped.");
		put_note(buf, render, &text);
	}
	dt_buf_release(&text);
}

static void put_few_note(struct dt_buf *buf, const struct dt_profile_meta *meta, const struct dt_render *render,
			 const struct dt_summary_missing *missing)
{
	struct dt_buf text = DT_BUF_INIT;

	if (!are_few(missing))
		return;
	/* Where not even the rate was kept that was asked for a higher one has no more samples. */
	dt_buf_puts(&text, left_out(meta, missing) > FEWER ? " a" : " a higher '--rate' or a");
	dt_buf_puts(&text, " longer recording has more samples, and truer shares.");
	put_note(buf, render, &text);
	dt_buf_release(&text);
}

/* What was recorded, and is gone. */
static void put_damaged(struct dt_buf *buf, const struct dt_profile_meta *meta, const struct dt_render *render)
{
	struct dt_buf text = DT_BUF_INIT;

	if (damaged_part(meta) <= 0)
		return;
	dt_buf_puts(&text, " the file of this recording was damaged: ");
	if (meta->damaged_ns) {
		dt_put_time(&text, meta->damaged_ns);
		dt_buf_puts(&text, " of ");
		dt_put_time(&text, plus(meta->duration_ns, meta->damaged_ns));
		dt_buf_puts(&text, meta->damaged_samples ? " and " : "");
	}
	if (meta->damaged_samples) {
		dt_thousands(&text, meta->damaged_samples);
		dt_buf_puts(&text, " of ");
		dt_thousands(&text, plus(meta->quality.samples, meta->damaged_samples));
		dt_buf_puts(&text, " samples");
	}
	dt_buf_puts(&text, " are lost. All figures are of what is left.");
	put_note(buf, render, &text);
	dt_buf_release(&text);
}

/* Who was too quick for us. */
static void put_missed(struct dt_buf *buf, const struct dt_profile_quality *quality, const struct dt_render *render)
{
	struct dt_buf text = DT_BUF_INIT;

	if (!quality->missed)
		return;
	dt_buf_putc(&text, ' ');
	dt_thousands(&text, quality->missed);
	dt_buf_puts(&text, quality->missed == 1 ? " process ended before it" : " processes ended before they");
	dt_buf_puts(&text, " could be looked at, and more may have come and gone unnoticed: their time is not here.");
	put_note(buf, render, &text);
	dt_buf_release(&text);
}

static bool has_other_threads(const struct dt_profile *profile)
{
	for (uint32_t i = 1; i <= dt_profile_counts(profile).threads; i++)
		if (dt_profile_other(dt_profile_thread_at(profile, i)))
			return true;
	return false;
}

static bool has_too_many_stacks(const struct dt_profile *profile)
{
	for (uint32_t i = 1; i <= dt_profile_counts(profile).functions; i++)
		if (dt_profile_too_many(profile, i))
			return true;
	return false;
}

/* What was too much to be kept apart. */
static void put_limits(struct dt_buf *buf, const struct dt_profile *profile, const struct dt_render *render)
{
	struct dt_buf text = DT_BUF_INIT;

	if (has_other_threads(profile)) {
		dt_buf_puts(&text,
			    " there were too many threads to keep all of them apart: the later ones of a process "
			    "are together as its \"" DT_OTHER_THREADS "\". Their time and stacks are right.");
		put_note(buf, render, &text);
	}
	if (has_too_many_stacks(profile)) {
		dt_buf_puts(&text,
			    " there were too many different stacks to keep all of them: those that were new from "
			    "then on are [" DT_TOO_MANY_STACKS "]. '--rotate' begins anew with each file.");
		put_note(buf, render, &text);
	}
	dt_buf_release(&text);
}

void dt_summary_quality(struct dt_buf *buf, const struct dt_profile *profile, const struct dt_render *render,
			const struct dt_summary_missing *missing, const char *program)
{
	const struct dt_profile_meta *meta = dt_profile_meta(profile);
	struct dt_buf text = DT_BUF_INIT;

	put_verdict(buf, profile, render, missing);
	put_samples(&text, profile);
	put_line(buf, render, &text);
	put_counts(&text, &meta->quality);
	put_line(buf, render, &text);
	put_own_cost(&text, meta);
	put_line(buf, render, &text);
	dt_buf_release(&text);
	put_damaged(buf, meta, render);
	put_notes(buf, &meta->quality, render, missing);
	put_slow(buf, profile, render, missing);
	put_too_high(buf, profile, render, missing);
	put_right(buf, profile, render, missing, program);
	put_few_note(buf, meta, render, missing);
	put_missed(buf, &meta->quality, render);
	put_limits(buf, profile, render);
}
