/* From a .darter file to what it shows. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/util.h"
#include "profile/file.h"
#include "profile/view.h"

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
			 "the recording in %s was cut off before its end: what was written until then is shown", name);
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

static int render_view(struct dt_view *view, const struct dt_profile_format *format,
		       const struct dt_profile_render *render, FILE *out, struct dt_error *err)
{
	int rc = format->render(view, render, out);

	if (rc == DT_EMEMORY)
		dt_fail(err, rc, "out of memory");
	else if (rc < 0)
		dt_fail(err, rc, "the output could not be written: %s", strerror(errno));
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

/* Afterwards there is one; or none, if that fails. */
static int put_together(struct dt_recordings *recordings, struct dt_error *err)
{
	struct dt_profile **profiles = recordings->profiles;
	int rc = 0;

	qsort(profiles, recordings->count, sizeof(struct dt_profile *), by_begin);
	for (size_t i = 1; i < recordings->count && rc == 0; i++) {
		rc = dt_profile_merge(profiles[0], profiles[i]);
		dt_profile_free(profiles[i]);
		profiles[i] = NULL;
	}
	if (rc == 0) {
		recordings->count = 1;
		return 0;
	}
	drop_all(recordings);
	return rc == -ENOMEM
		   ? dt_fail(err, DT_EMEMORY, "out of memory")
		   : dt_fail(err, DT_ERUNTIME, "the recordings cannot be put together: times are too far apart");
}

int dt_recordings_show(struct dt_recordings *recordings, const struct dt_profile_format *format,
		       const struct dt_view_options *options, const struct dt_profile_render *render, FILE *out,
		       struct dt_error *err)
{
	struct dt_view *view = NULL;
	int rc = 0;

	if (!recordings->profiles || !recordings->count)
		return dt_fail(err, DT_EUSAGE, "there is no recording to be shown");
	if (recordings->count > 1)
		rc = put_together(recordings, err);
	if (rc == 0)
		rc = dt_view_new(recordings->profiles[0], options, &view, err);
	if (rc == 0)
		rc = format->render ? render_view(view, format, render, out, err)
				    : write_anew(recordings->profiles[0], out, err);
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
		rc = dt_recordings_show(recordings, format, options, render, out, err);
	dt_recordings_free(recordings);
	return rc;
}
