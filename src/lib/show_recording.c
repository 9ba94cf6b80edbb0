/* From a .darter file to what it shows. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/util.h"
#include "profile/file.h"
#include "profile/view.h"

/* A recording that was not ended was cut off by a kill or a full disk: all that was written before is there. */
static void warn(const char *name, const struct dt_file_state *state, char warning[DT_WARNING_SIZE])
{
	warning[0] = '\0';
	if (state->damaged || state->lost_runs)
		snprintf(warning, DT_WARNING_SIZE,
			 "%s is damaged: %" PRIu64 " of its %" PRIu64 " blocks could not be read and are left out",
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

int dt_show_recording(int fd, const char *name, const struct dt_profile_format *format,
		      const struct dt_view_options *options, const struct dt_profile_render *render, FILE *out,
		      char warning[DT_WARNING_SIZE], struct dt_error *err)
{
	struct dt_profile *profile = NULL;
	struct dt_view *view = NULL;
	struct dt_file_state state;
	int rc = dt_profile_read(fd, name, &profile, &state, err);

	if (rc == 0) {
		warn(name, &state, warning);
		rc = dt_view_new(profile, options, &view, err);
	}
	if (rc == 0)
		rc = format->render ? render_view(view, format, render, out, err) : write_anew(profile, out, err);
	dt_view_free(view);
	dt_profile_free(profile);
	return rc;
}
