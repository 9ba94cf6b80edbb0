/* From a .darter file to what it shows. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/util.h"
#include "format/bounded.h"
#include "format/profile_formats.h"
#include "format/profile_words.h"
#include "format/units.h"
#include "profile/file.h"
#include "profile/view.h"

#define WORTH_A_WORD 10                  /* a tenth of all time */
#define MOST_OUTPUT  ((uint64_t)2 << 30) /* bytes: more than programs that show such files can open */

/* A recording that was not ended was cut off by a kill or a full disk: all that was written before is there. */
static void warn(const char *name, const struct dt_file_state *state, char warning[DT_WARNING_SIZE])
{
	warning[0] = '\0';
	if (state->damaged || state->lost_runs)
		snprintf(warning, DT_WARNING_SIZE,
			 "%s is damaged: %" PRIu64 " of its %" PRIu64 " blocks could not be read, and what is in the "
			 "others is shown",
			 name, state->damaged, state->damaged + state->blocks);
	else if (!state->ended)
		snprintf(warning, DT_WARNING_SIZE,
			 state->growing ? "the recording in %s is still going on: what was written until now is shown"
					: "the recording in %s was cut off before its end: what is left is shown",
			 name);
	else if (state->trailed)
		snprintf(warning, DT_WARNING_SIZE,
			 "the recording in %s is whole; what the file has behind its end is no part of it", name);
}

/* Whole blocks may be of no use without those that are lost. One without runs that is whole had nobody to record. */
static bool nothing_left(const struct dt_profile *profile, const struct dt_file_state *state)
{
	bool hurt = state->damaged || state->lost_runs || (state->cut && !state->growing);

	return hurt && !dt_profile_counts(profile).runs;
}

static int fail_nothing_left(const char *name, const struct dt_file_state *state, struct dt_error *err)
{
	dt_fail(err, DT_ERUNTIME, "%s is %s: nothing of what was recorded can be shown", name,
		state->damaged || state->lost_runs ? "damaged" : "cut off");
	dt_hint(err, "if it was copied or sent, the file that it was made from may be whole");
	return DT_ERUNTIME;
}

/* The recording itself, in whole blocks: a file that was cut off or damaged is repaired by that. */
static int write_anew(struct dt_profile *profile, FILE *out, struct dt_error *err)
{
	struct dt_writer *writer = NULL;
	int rc = fflush(out) ? dt_fail(err, DT_ERUNTIME, "the output could not be written: %s", strerror(errno)) : 0;

	if (rc == 0)
		rc = dt_writer_new(fileno(out), profile, &writer, err);
	if (rc == 0)
		rc = dt_writer_end(writer, err);
	dt_writer_free(writer);
	return rc;
}

static int fail_large(const struct dt_profile_format *format, struct dt_error *err)
{
	dt_fail(err, DT_EMEMORY, "as %s this recording would be larger than %u GiB", format->name,
		(unsigned)(MOST_OUTPUT >> 30));
	dt_hint(err,
		"svg and text stay small, whatever was recorded; --main-thread, --thread-name, --hide and --function "
		"show less of it");
	return DT_EMEMORY;
}

static int render_view(struct dt_view *view, const struct dt_profile_format *format,
		       const struct dt_profile_render *render, FILE *out, struct dt_error *err)
{
	struct dt_bounded bounded;
	FILE *bound = dt_bounded_open(&bounded, out, MOST_OUTPUT);
	int rc = bound ? format->render(view, render, bound) : DT_EMEMORY, why;

	if (rc == 0 && fflush(bound))
		rc = DT_ERUNTIME;
	why = errno;
	if (bound)
		fclose(bound);
	errno = why;
	if (bounded.full)
		return fail_large(format, err);
	if (rc == DT_EMEMORY)
		dt_fail(err, rc, "out of memory");
	else if (rc < 0)
		dt_fail(err, rc, "the output could not be written: %s", strerror(why));
	errno = why;
	return rc;
}

struct dt_recordings {
	struct dt_profile **profiles;
	size_t count;
};

struct dt_recordings *dt_recordings_new(void)
{
	return calloc(1, sizeof(struct dt_recordings));
}

static void drop_all(struct dt_recordings *recordings)
{
	for (size_t i = 0; i < recordings->count; i++)
		dt_profile_free(recordings->profiles[i]);
	recordings->count = 0;
}

void dt_recordings_free(struct dt_recordings *recordings)
{
	if (!recordings)
		return;
	drop_all(recordings);
	free(recordings->profiles);
	free(recordings);
}

int dt_recordings_add(struct dt_recordings *recordings, int fd, const char *name, char warning[DT_WARNING_SIZE],
		      struct dt_error *err)
{
	struct dt_profile **grown = reallocarray(recordings->profiles, recordings->count + 1,
						 sizeof(*recordings->profiles));
	struct dt_file_state state;
	int rc;

	if (!grown)
		return dt_fail(err, DT_EMEMORY, "out of memory");
	recordings->profiles = grown;
	rc = dt_profile_read(fd, name, &grown[recordings->count], &state, err);
	if (rc)
		return rc;
	if (nothing_left(grown[recordings->count], &state)) {
		dt_profile_free(grown[recordings->count]);
		return fail_nothing_left(name, &state, err);
	}
	recordings->count++;
	warn(name, &state, warning);
	return 0;
}

static int by_begin(const void *a, const void *b)
{
	uint64_t x = dt_profile_meta(*(struct dt_profile *const *)a)->began_realtime_ns;
	uint64_t y = dt_profile_meta(*(struct dt_profile *const *)b)->began_realtime_ns;

	/* Those that do not tell come last. */
	return (x - 1 > y - 1) - (x - 1 < y - 1);
}

/* Those of one boot stand together, as the clock since then says. */
static int by_boot(const void *a, const void *b)
{
	const struct dt_profile *x = *(struct dt_profile *const *)a, *y = *(struct dt_profile *const *)b;
	const struct dt_profile_meta *p = dt_profile_meta(x), *q = dt_profile_meta(y);
	int order = strcmp(dt_profile_text(x, p->boot), dt_profile_text(y, q->boot));

	return order ? order : (p->began_boot_ns > q->began_boot_ns) - (p->began_boot_ns < q->began_boot_ns);
}

static bool always(const struct dt_profile *a, const struct dt_profile *b)
{
	(void)a, (void)b;
	return true;
}

/* Each goes into the one before it, where it may; the others stay. */
static int merge_neighbours(struct dt_recordings *recordings,
			    bool (*may)(const struct dt_profile *, const struct dt_profile *), uint64_t *twice_ns)
{
	struct dt_profile **profiles = recordings->profiles;
	size_t count = recordings->count, kept = 0;
	int rc = 0;

	for (size_t i = 1; i < count; i++) {
		if (rc < 0 || !may(profiles[kept], profiles[i])) {
			profiles[++kept] = profiles[i];
			continue;
		}
		rc = dt_profile_merge(profiles[kept], profiles[i], twice_ns);
		dt_profile_free(profiles[i]);
	}
	recordings->count = kept + 1;
	return rc;
}

static uint64_t time_in(const struct dt_profile *profile)
{
	const struct dt_profile_run *runs = dt_profile_runs(profile);
	uint64_t sum_ns = 0;

	for (size_t i = 0; i < dt_profile_counts(profile).runs; i++)
		sum_ns += runs[i].wall_ns;
	return sum_ns;
}

/* Files of a rotation overlap by a moment, which is as it should be: within one boot that is not worth a word. */
static void warn_twice(const struct dt_profile *whole, uint64_t sure_ns, uint64_t unsure_ns,
		       char warning[DT_WARNING_SIZE])
{
	struct dt_buf time = DT_BUF_INIT;

	warning[0] = '\0';
	if (!unsure_ns && sure_ns <= time_in(whole) / WORTH_A_WORD)
		return;
	dt_put_time(&time, unsure_ns ? unsure_ns : sure_ns);
	snprintf(warning, DT_WARNING_SIZE,
		 unsure_ns ? "%s of threads is left out: by the wall clock it was recorded twice, which is wrong if "
			     "that clock was set back between the recordings"
			   : "%s of threads was recorded twice, and counts once",
		 time.failed ? "some time" : time.data);
	dt_buf_release(&time);
}

int dt_recordings_join(struct dt_recordings *recordings, char warning[DT_WARNING_SIZE], struct dt_error *err)
{
	uint64_t sure_ns = 0, unsure_ns = 0;
	int rc;

	warning[0] = '\0';
	if (recordings->count < 2)
		return 0;
	qsort(recordings->profiles, recordings->count, sizeof(struct dt_profile *), by_boot);
	rc = merge_neighbours(recordings, dt_profile_same_boot, &sure_ns);
	qsort(recordings->profiles, recordings->count, sizeof(struct dt_profile *), by_begin);
	if (rc == 0)
		rc = merge_neighbours(recordings, always, &unsure_ns);
	if (rc == 0) {
		warn_twice(recordings->profiles[0], sure_ns, unsure_ns, warning);
		return 0;
	}
	drop_all(recordings);
	return rc == -ENOMEM
		   ? dt_fail(err, DT_EMEMORY, "out of memory")
		   : dt_fail(err, DT_ERUNTIME, "the recordings cannot be put together: times are too far apart");
}

void dt_recordings_status(const struct dt_recordings *recordings, struct dt_record_status *status, double *rate)
{
	const struct dt_profile *profile = recordings->count ? recordings->profiles[0] : NULL;
	const struct dt_profile_meta *meta;
	const struct dt_profile_quality *quality;

	*status = (struct dt_record_status){.rung = "", .why = ""};
	*rate = 0;
	if (!profile)
		return;
	meta = dt_profile_meta(profile);
	quality = &meta->quality;
	*rate = meta->rate;
	*status = (struct dt_record_status){.duration_ns = meta->duration_ns,
					    .joined = dt_profile_counts(profile).processes,
					    .rounds = quality->rounds,
					    .samples = quality->samples,
					    .late = quality->late,
					    .unseen = quality->unseen,
					    .settled = quality->settled,
					    .torn = quality->torn,
					    .lost = quality->lost,
					    .stops = quality->stops,
					    .stopped_ns = quality->stopped_ns,
					    .cpu_ns = quality->own_cpu_ns,
					    .rss = quality->own_rss,
					    .damaged_ns = meta->damaged_ns,
					    .damaged_samples = meta->damaged_samples,
					    .seen = dt_profile_counts(profile).runs > 0,
					    .rung = dt_profile_text(profile, meta->rung),
					    .why = dt_profile_text(profile, meta->rung_why)};
}

/* A file in which nothing is looks like a mistake. */
static void warn_empty(const struct dt_view *view, const struct dt_profile_format *format,
		       char warning[DT_WARNING_SIZE])
{
	struct dt_buf words = DT_BUF_INIT;

	if (!format->render || format == &dt_profile_summary || !dt_view_is_empty(view))
		return;
	dt_nothing_words(view, &words);
	if (!words.failed)
		snprintf(warning, DT_WARNING_SIZE, "%c%.*s", words.data[0] | 0x20, (int)words.length - 2,
			 words.data + 1); /* as part of a line, which has no full stop */
	dt_buf_release(&words);
}

int dt_recordings_show(struct dt_recordings *recordings, const struct dt_profile_format *format,
		       const struct dt_view_options *options, const struct dt_profile_render *render, FILE *out,
		       char warning[DT_WARNING_SIZE], struct dt_error *err)
{
	char twice[DT_WARNING_SIZE];
	struct dt_view *view = NULL;
	int rc;

	if (!recordings->profiles || !recordings->count)
		return dt_fail(err, DT_EUSAGE, "there is no recording to be shown");
	if (warning)
		warning[0] = '\0';
	rc = dt_recordings_join(recordings, twice, err);
	if (rc == 0)
		rc = dt_view_new(recordings->profiles[0], options, &view, err);
	if (rc == 0)
		rc = format->render ? render_view(view, format, render, out, err)
				    : write_anew(recordings->profiles[0], out, err);
	if (rc == 0 && warning)
		warn_empty(view, format, warning);
	dt_view_free(view);
	return rc;
}

int dt_show_recording(int fd, const char *name, const struct dt_profile_format *format,
		      const struct dt_view_options *options, const struct dt_profile_render *render, FILE *out,
		      char warning[DT_WARNING_SIZE], struct dt_error *err)
{
	struct dt_recordings *recordings = dt_recordings_new();
	int rc;

	if (!recordings)
		return dt_fail(err, DT_EMEMORY, "out of memory");
	rc = dt_recordings_add(recordings, fd, name, warning, err);
	if (rc == 0)
		rc = dt_recordings_show(recordings, format, options, render, out, NULL, err);
	dt_recordings_free(recordings);
	return rc;
}
