/* Figures for people, short enough for a column of a table. */
#ifndef DT_FORMAT_UNITS_H
#define DT_FORMAT_UNITS_H

#include <stdint.h>

#include "base/buf.h"

/* "850 ns", "12.3 us", "40.0 ms", "1.86 s", "2m05s", "3h07m", "12d03h": at most 8 columns for all that fits into 62
 * bits. */
void dt_put_time(struct dt_buf *buf, uint64_t ns);

/* "16.4%" of a whole; "-" of nothing. */
void dt_put_share(struct dt_buf *buf, uint64_t part, uint64_t whole);

/* "5.2 MB": powers of 1000. */
void dt_put_bytes(struct dt_buf *buf, uint64_t bytes);

#endif
