/* Times, shares and sizes: see units.h. */
#include "format/units.h"

#include <inttypes.h>

#include "base/util.h"

#define SECOND UINT64_C(1000000000)

/* Three digits that count: "1.86", "40.0", "123". */
static void put_digits(struct dt_buf *buf, double value)
{
	dt_buf_printf(buf, value < 9.995 ? "%.2f" : value < 99.95 ? "%.1f" : "%.0f", value);
}

void dt_put_time(struct dt_buf *buf, uint64_t ns)
{
	static const char *const units[] = {"us", "ms", "s"};
	uint64_t seconds = ns / SECOND + (ns % SECOND >= SECOND / 2);
	double value = (double)ns;
	size_t unit = 0;

	if (ns < 1000) {
		dt_buf_printf(buf, "%" PRIu64 " ns", ns);
	} else if (ns < 100 * SECOND - SECOND / 20) {
		for (value /= 1e3; value >= 999.5 && unit + 1 < DT_COUNT(units); value /= 1e3)
			unit++;
		put_digits(buf, value);
		dt_buf_printf(buf, " %s", units[unit]);
	} else if (seconds < 3600) {
		dt_buf_printf(buf, "%" PRIu64 "m%02" PRIu64 "s", seconds / 60, seconds % 60);
	} else if (seconds < 100 * 3600) {
		dt_buf_printf(buf, "%" PRIu64 "h%02" PRIu64 "m", seconds / 3600, seconds / 60 % 60);
	} else {
		dt_buf_printf(buf, "%" PRIu64 "d%02" PRIu64 "h", seconds / 86400, seconds / 3600 % 24);
	}
}

void dt_put_share(struct dt_buf *buf, uint64_t part, uint64_t whole)
{
	if (whole)
		dt_buf_printf(buf, "%.1f%%", (double)part * 100 / (double)whole);
	else
		dt_buf_putc(buf, '-');
}

void dt_put_bytes(struct dt_buf *buf, uint64_t bytes)
{
	static const char *const units[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
	double value = (double)bytes / 1e3;
	size_t unit = 0;

	for (; value >= 999.5 && unit + 1 < DT_COUNT(units); value /= 1e3)
		unit++;
	dt_buf_printf(buf, value < 9.95 ? "%.1f %s" : "%.0f %s", value, units[unit]);
}
