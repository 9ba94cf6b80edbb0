/* From the payloads of a .darter file to a profile. Every byte is hostile, also of a payload whose checksum is right.
 */
#ifndef DT_PROFILE_DECODE_H
#define DT_PROFILE_DECODE_H

#include <stddef.h>
#include <stdint.h>

#include "profile/ids.h"
#include "profile/pack.h"
#include "profile/profile.h"

struct file_thread_end {
	uint32_t section, index;
};

struct file_decoder {
	struct dt_profile *profile;
	struct file_ids strings, functions, locations, stacks, processes, threads;
	uint64_t *times;
	size_t time_capacity;
	struct file_thread_end *ends; /* by thread: where its last run of this section ends */
	size_t end_capacity;
	uint32_t section; /* counts sections of runs */
	uint64_t lost_runs;
	uint64_t end_ns; /* up to which the recording goes, as far as it was read */
};

/* The profile is borrowed; all else is zero at first. */
void file_decoder_release(struct file_decoder *decoder);

/* Adds a payload to the profile. 0, -ENOMEM, or -EINVAL if it makes no sense: sections before the one that does not are
 * added. */
int file_decode(struct file_decoder *decoder, const uint8_t *payload, size_t size);

/* A section of runs. */
int file_decode_runs(struct file_decoder *decoder, struct file_input in);

#endif
