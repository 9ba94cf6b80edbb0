/* See record.h. */
#include "record.h"

#include <stdlib.h>
#include <string.h>

#define WAIT_S 60

void record_words(int argc, char **argv, int first, struct dt_record_options *options)
{
	for (int i = first; i < argc; i++) {
		options->no_perch = options->no_perch || strcmp(argv[i], "no-perch") == 0;
		if (strcmp(argv[i], "never-pause") == 0)
			options->pause = DT_PAUSE_NEVER;
		if (strcmp(argv[i], "always-pause") == 0)
			options->pause = DT_PAUSE_ALWAYS;
	}
}

int record(char *pids, const struct dt_record_options *options, double seconds, struct dt_record_status *status,
	   struct dt_error *err)
{
	struct dt_recording *recording;
	int rc = dt_record(options, &recording, err);

	if (rc < 0)
		return rc;
	for (char *pid = strtok(pids, ","); pid && rc == 0; pid = strtok(NULL, ","))
		rc = dt_record_add(recording, (int)strtol(pid, NULL, 10), WAIT_S, err);
	if (rc == 0)
		rc = dt_record_tend(recording, seconds, NULL, NULL, err);
	if (rc == 0)
		rc = dt_record_end(recording, err);
	dt_record_status(recording, status);
	dt_record_free(recording);
	return rc;
}
