/*
 * Reading numbers out of /proc text, inside this room. Cursors never pass `end`; a number that is missing or does not
 * fit makes the scan fail and leaves the cursor where it was.
 */
#ifndef DT_PROC_SCAN_H
#define DT_PROC_SCAN_H

#include <stdbool.h>
#include <stdint.h>

/* PF_EXITING, in field 9 of a stat file: set before a thread gives its memory back. */
#define SCAN_EXITING 4u

struct scan {
	const char *at, *end;
};

static inline bool scan_decimal(struct scan *scan, uint64_t *value)
{
	const char *p = scan->at;
	uint64_t v = 0;

	for (; p < scan->end && *p >= '0' && *p <= '9'; p++) {
		if (__builtin_mul_overflow(v, (uint64_t)10, &v) || __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v))
			return false;
	}
	if (p == scan->at)
		return false;
	scan->at = p;
	*value = v;
	return true;
}

static inline bool scan_hex(struct scan *scan, uint64_t *value)
{
	const char *p = scan->at;
	uint64_t v = 0;

	for (; p < scan->end; p++) {
		unsigned digit = (unsigned char)*p;

		if (digit - '0' < 10)
			digit -= '0';
		else if ((digit | 0x20) - 'a' < 6)
			digit = (digit | 0x20) - 'a' + 10;
		else
			break;
		if (v >> 60)
			return false;
		v = v << 4 | digit;
	}
	if (p == scan->at)
		return false;
	scan->at = p;
	*value = v;
	return true;
}

static inline bool scan_char(struct scan *scan, char c)
{
	if (scan->at >= scan->end || *scan->at != c)
		return false;
	scan->at++;
	return true;
}

static inline void scan_spaces(struct scan *scan)
{
	while (scan->at < scan->end && (*scan->at == ' ' || *scan->at == '\t'))
		scan->at++;
}

/* Steps over `count` fields, each ended by one space. */
static inline bool scan_skip(struct scan *scan, unsigned count)
{
	const char *p = scan->at;

	for (; count; count--) {
		while (p < scan->end && *p != ' ')
			p++;
		if (p == scan->end)
			return false;
		p++;
	}
	scan->at = p;
	return true;
}

/* The text behind "KEY:" at the start of a line of a status file; false if there is no such line. */
bool dt_scan_status(const char *text, const char *key, struct scan *scan);

#endif
