/* Processes of a recording, to be found again in another one that is put to it. For this room alone. */
#ifndef DT_PROFILE_KNOWN_H
#define DT_PROFILE_KNOWN_H

#include "profile/profile.h"

struct known_process {
	int32_t pid;
	uint32_t id;
	uint64_t start_ns, image; /* as they were known at first */
	uint64_t until_ns;        /* it was certainly there until then */
};

struct known_processes {
	const struct dt_profile *profile;
	struct known_process *list; /* by pid, start, image, and id */
	size_t count;
	bool one_clock; /* times of the other recording are by the same clock, which nobody sets */
};

/* All that are in the profile, which is borrowed. 0 or -ENOMEM. */
int known_processes_init(struct known_processes *known, const struct dt_profile *profile, bool one_clock);
void known_processes_release(struct known_processes *known);

/* The one that a process of the other recording is, whose strings and times are those of the profile already; 0: it is
 * none of them. */
uint32_t known_processes_find(const struct known_processes *known, const struct dt_profile_process *process);

#endif
