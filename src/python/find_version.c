/*
 * Versions from names, and from the text "3.7.16 (..." that Py_GetVersion() keeps in its library's data and that
 * becomes sys.version: for the words of an error, and for programs that hide sys.hexversion. Never proof by themselves.
 */
#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "python/find_inside.h"

#define MODULE_LIMIT ((size_t)16 << 20)
#define BLOCK        ((size_t)1 << 20)
#define LONGEST      12 /* "3.12.12rc1+" */

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

/* "3.7.16 (", "3.8.0rc1 (", "3.9.2+ (" */
static bool read_version(const char *at, const char *end, struct dt_version *version)
{
	*version = (struct dt_version){0};
	if (!read_number(&at, end, &version->major) || at == end || *at++ != '.' ||
	    !read_number(&at, end, &version->minor) || at == end || *at++ != '.' ||
	    !read_number(&at, end, &version->micro) || !read_level(&at, end, version))
		return false;
	if (at < end && *at == '+')
		at++;
	return end - at >= 2 && at[0] == ' ' && at[1] == '(' &&
	       (version->major == 3 || (version->major == 2 && version->minor == 7));
}

bool dt_find_version_in_bytes(const char *bytes, size_t size, struct dt_version *version)
{
	const char *end = bytes + size, *at = bytes;

	while ((at = memmem(at, (size_t)(end - at), " (", 2))) {
		const char *start = at;

		while (start > bytes && start[-1] && at - start < LONGEST)
			start--;
		if (start > bytes && !start[-1] && read_version(start, end, version))
			return true;
		at += 2;
	}
	return false;
}

static bool in_map(struct dt_mem *mem, const struct dt_map *map, size_t *budget, char *block,
		   struct dt_version *version)
{
	size_t size;

	for (uint64_t start = map->start; start < map->end && *budget >= BLOCK; start += size) {
		size = DT_MIN(map->end - start, BLOCK);
		*budget -= BLOCK;
		if (dt_mem_read(mem, start, block, size) == 0 && dt_find_version_in_bytes(block, size, version))
			return true;
	}
	return false;
}

bool dt_find_version_of_module(struct dt_mem *mem, const struct dt_maps *maps, const struct dt_find_module *module,
			       struct dt_version *version)
{
	const struct dt_map *end = maps->maps + maps->count;
	char *block = malloc(BLOCK);
	size_t budget = MODULE_LIMIT;
	bool found = false;

	/* One mapping more than the file has: its bss. */
	for (const struct dt_map *map = module->first; block && !found && map < end && map <= module->last + 1; map++)
		if (map->read && map->write && !map->shared && (map <= module->last || !map->inode))
			found = in_map(mem, map, &budget, block, version);
	free(block);
	return found;
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
