/* Clocks and numbers. */
#include "base/util.h"

#include <time.h>

#include "base/small_file.h"

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t dt_clock_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t dt_cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t dt_clock_realtime_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

uint64_t dt_clock_boot_ns(void)
{
	return clock_ns(CLOCK_BOOTTIME);
}

bool dt_parse_u64(const char *text, uint64_t max, uint64_t *value)
{
	uint64_t result = 0;

	if (!*text)
		return false;
	for (; *text; text++) {
		unsigned digit = (unsigned)(*text - '0');

		if (digit > 9 || result > (UINT64_MAX - digit) / 10)
			return false;
		result = result * 10 + digit;
	}
	if (result > max)
		return false;
	*value = result;
	return true;
}

/* /proc/self/statm: size, resident, ... in pages. */
uint64_t dt_own_rss(void)
{
	char text[128];
	const char *space = dt_small_file("/proc/self/statm", text, sizeof(text)) > 0 ? strchr(text, ' ') : NULL;

	return space ? strtoull(space, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}
