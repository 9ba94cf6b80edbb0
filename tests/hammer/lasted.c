/*
 * lasted FILE: prints, as JSON, when a recording began, how long it says to have lasted, when the last of its samples
 * ends, and whether it was ended or cut off.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/util.h"
#include "profile/file.h"

int main(int argc, char **argv)
{
	int fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	struct dt_profile *profile;
	struct dt_file_state state;
	struct dt_error err;
	uint64_t last = 0, samples = 0;

	if (fd < 0 || dt_profile_read(fd, argv[1], &profile, &state, &err) < 0) {
		fprintf(stderr, "lasted: %s\n", fd < 0 ? "usage: lasted FILE" : err.message);
		return 2;
	}
	for (size_t i = 0; i < dt_profile_counts(profile).runs; i++) {
		const struct dt_profile_run *run = &dt_profile_runs(profile)[i];

		last = DT_MAX(last, run->start_ns + run->wall_ns);
		samples += run->samples;
	}
	printf("{\"began_realtime_ns\": %" PRIu64 ", \"duration_ns\": %" PRIu64 ", \"last_ns\": %" PRIu64
	       ", \"samples\": %" PRIu64 ", \"rounds\": %" PRIu64 ", \"ended\": %s}\n",
	       dt_profile_meta(profile)->began_realtime_ns, dt_profile_meta(profile)->duration_ns, last, samples,
	       dt_profile_meta(profile)->quality.rounds, state.ended ? "true" : "false");
	dt_profile_free(profile);
	return 0;
}
