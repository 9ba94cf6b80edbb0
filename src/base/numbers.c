/* See numbers.h. */
#include "base/numbers.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/util.h"

#define MOST 1e15 /* thousandths of it fit into 64 bits */

void dt_thousands(struct dt_buf *buf, uint64_t number)
{
	char digits[24];
	int length = snprintf(digits, sizeof(digits), "%" PRIu64, number);

	for (int i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			dt_buf_putc(buf, ',');
		dt_buf_putc(buf, digits[i]);
	}
}

void dt_put_number(struct dt_buf *buf, double number)
{
	uint64_t thousandths = (uint64_t)(DT_MIN(number, MOST) * 1000 + 0.5);
	char rest[8];
	size_t length;

	dt_thousands(buf, thousandths / 1000);
	if (!(thousandths % 1000))
		return;
	length = (size_t)snprintf(rest, sizeof(rest), ".%03u", (unsigned)(thousandths % 1000));
	while (rest[length - 1] == '0')
		length--;
	dt_buf_append(buf, rest, length);
}
