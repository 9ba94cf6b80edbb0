/* Small things that every room uses. */
#ifndef DT_BASE_UTIL_H
#define DT_BASE_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DT_COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define DT_MIN(a, b)    ((a) < (b) ? (a) : (b))
#define DT_MAX(a, b)    ((a) > (b) ? (a) : (b))

/* `dt_auto_free char *p`, `dt_auto_close int fd = -1`: released when the name goes out of scope. */
#define dt_auto_free  __attribute__((cleanup(dt_free_pointer)))
#define dt_auto_close __attribute__((cleanup(dt_close_fd)))

static inline void dt_free_pointer(void *pointer)
{
	free(*(void **)pointer);
}

static inline void dt_close_fd(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline uint16_t dt_get16(const void *p)
{
	uint16_t v;
	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint32_t dt_get32(const void *p)
{
	uint32_t v;
	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint64_t dt_get64(const void *p)
{
	uint64_t v;
	memcpy(&v, p, sizeof(v));
	return v;
}

/* Nanoseconds of CLOCK_MONOTONIC, CLOCK_REALTIME and CLOCK_BOOTTIME. */
uint64_t dt_clock_ns(void);
uint64_t dt_clock_realtime_ns(void);
uint64_t dt_clock_boot_ns(void);

/* Nanoseconds that the calling thread has been on a CPU. */
uint64_t dt_cpu_ns(void);

/* Bytes of memory that this process has, 0 if that is not told. */
uint64_t dt_own_rss(void);

/* A decimal number that fills the whole text; false on anything else or above max. */
bool dt_parse_u64(const char *text, uint64_t max, uint64_t *value);

#endif
