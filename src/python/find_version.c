/*
 * Versions from names and from constants in files: for the words of an error, and for programs that hide
 * sys.hexversion. Never proof by themselves.
 */
#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "python/find_inside.h"

#define FILE_LIMIT ((size_t)64 << 20)
#define BLOCK      ((size_t)1 << 20)
#define LONGEST    12 /* NUL, "3.12.12rc1", NUL */

static bool read_number(const char **at, const char *end, uint8_t *number)
{
	unsigned value = 0, digits = 0;

	for (; *at < end && **at >= '0' && **at <= '9' && digits < 2; (*at)++, digits++)
		value = value * 10 + (unsigned)(**at - '0');
	*number = (uint8_t)value;
	return digits > 0;
}

static bool read_level(const char **at, const char *end, struct dt_version *version)
{
	version->level = 0xf;
	version->serial = 0;
	if (*at < end && **at == 'a')
		version->level = 0xa;
	else if (*at < end && **at == 'b')
		version->level = 0xb;
	else if (end - *at >= 2 && (*at)[0] == 'r' && (*at)[1] == 'c')
		version->level = 0xc;
	else
		return true;
	*at += version->level == 0xc ? 2 : 1;
	return read_number(at, end, &version->serial);
}

/* "3.7.16", "3.8.0rc1", "3.9.2+", and a NUL. */
static bool read_version(const char *at, const char *end, struct dt_version *version)
{
	if (!read_number(&at, end, &version->major) || at == end || *at++ != '.' ||
	    !read_number(&at, end, &version->minor) || at == end || *at++ != '.' ||
	    !read_number(&at, end, &version->micro) || !read_level(&at, end, version))
		return false;
	if (at < end && *at == '+')
		at++;
	if (at == end || *at)
		return false;
	return version->major == 2 ? version->minor == 7 : version->major == 3 && version->minor <= 12;
}

bool dt_find_version_in_bytes(const char *bytes, size_t size, struct dt_version *version)
{
	const char *end = bytes + size, *at = bytes;

	while ((at = memchr(at, '\0', (size_t)(end - at)))) {
		at++;
		if (end - at < 6)
			return false;
		if ((*at == '2' || *at == '3') && at[1] == '.' && read_version(at, end, version))
			return true;
	}
	return false;
}

bool dt_find_version_of_file(const struct dt_proc *proc, const struct dt_find_module *module,
			     struct dt_version *version)
{
	dt_auto_close int fd = dt_maps_open_file(proc, module->first);
	dt_auto_free char *block = malloc(BLOCK);
	ssize_t got;

	if (fd < 0 || !block)
		return false;
	for (size_t offset = 0; offset < FILE_LIMIT; offset += (size_t)got - LONGEST) {
		got = pread(fd, block, BLOCK, (off_t)offset);
		if (got <= LONGEST)
			return false;
		if (dt_find_version_in_bytes(block, (size_t)got, version))
			return true;
		if ((size_t)got < BLOCK)
			return false;
	}
	return false;
}

bool dt_find_version_in_name(const char *path, struct dt_version *version)
{
	const char *at = strstr(dt_find_basename(path), "python");
	const char *end;

	if (!at)
		return false;
	at += strlen("python");
	end = at + strlen(at);
	*version = (struct dt_version){.level = 0xf};
	return read_number(&at, end, &version->major) && at < end && *at++ == '.' &&
	       read_number(&at, end, &version->minor);
}
