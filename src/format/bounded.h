/* An output that takes no more than so many bytes. What is recorded may be small and its picture as a time line huge,
 * and a hostile program may see to that: nobody's disk is filled with what nothing could open. */
#ifndef DT_FORMAT_BOUNDED_H
#define DT_FORMAT_BOUNDED_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct dt_bounded {
	FILE *to;      /* borrowed */
	uint64_t left; /* bytes */
	bool full;     /* more was to be written; the write has failed with EFBIG */
};

/* A stream that writes to another one. The struct has to stay while it is open; to be closed with fclose(). NULL: out
 * of memory. */
FILE *dt_bounded_open(struct dt_bounded *bounded, FILE *to, uint64_t most);

#endif
