/* Numbers as people write them. */
#ifndef DT_BASE_NUMBERS_H
#define DT_BASE_NUMBERS_H

#include <stdint.h>

#include "base/buf.h"

/* "1,234,567" */
void dt_thousands(struct dt_buf *buf, uint64_t number);

/* Not negative, with up to three digits behind the point where they count: "1,000,000", "99.5", "0.001". */
void dt_put_number(struct dt_buf *buf, double number);

#endif
