/* From a profile to the payloads of a .darter file. */
#ifndef DT_PROFILE_ENCODE_H
#define DT_PROFILE_ENCODE_H

#include "base/buf.h"
#include "profile/profile.h"

/* How much of a profile is in a file: numbers up to these ones. All zero: nothing. */
struct file_cursor {
	uint32_t strings, functions, locations, stacks, processes, threads;
	size_t runs;
	bool meta; /* as it is now */
	/* Up to which number processes and threads were looked at for changes; both begin at 0 if there may be some. */
	uint32_t looked_processes, looked_threads;
};

struct file_encoder {
	struct dt_buf section;
	struct dt_buf origins; /* of the processes of this payload: three columns */
	uint64_t *times;
	size_t time_capacity;
	uint32_t *ends; /* by thread */
	size_t end_capacity;
	bool failed; /* memory is out */
};

void file_encoder_init(struct file_encoder *encoder);
void file_encoder_release(struct file_encoder *encoder);

/* Appends to *out what the cursor has not passed yet, but no more than fits a block: is something left, the next call
 * goes on there. Appends nothing if there is nothing new. What an item refers to comes with it or before it. */
void file_encode(struct file_encoder *encoder, const struct dt_profile *profile, struct file_cursor *cursor,
		 struct dt_buf *out);

#endif
