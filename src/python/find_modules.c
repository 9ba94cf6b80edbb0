/*
 * Which files are loaded in a process, and in which order to look at them. A loaded file is a run of mappings with
 * rising offsets; the same file loaded twice (dlmopen) makes two runs. The order saves time and decides nothing.
 */
#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "python/find_inside.h"

const char *dt_find_basename(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool dt_find_named_python(const char *path)
{
	const char *name = dt_find_basename(path);

	if (strncmp(name, "lib", 3) == 0)
		name += 3;
	return strncmp(name, "python", 6) == 0;
}

/* The program comes first (the kernel maps it lowest), extension modules of Python last. */
static unsigned rank_of(const struct dt_map *map, bool first)
{
	const char *name = dt_find_basename(map->path);

	if (first)
		return 0;
	if (dt_find_named_python(map->path))
		return 1;
	return strstr(name, ".cpython-") || strstr(name, ".abi3.so") ? 3 : 2;
}

static bool of_file(const struct dt_map *map)
{
	return map->inode && map->path[0];
}

static bool same_file(const struct dt_map *a, const struct dt_map *b)
{
	return a->inode == b->inode && a->dev_major == b->dev_major && a->dev_minor == b->dev_minor;
}

int dt_find_modules(struct dt_maps *maps, struct dt_find_module **modules, size_t *count)
{
	struct dt_find_module *list = dt_arena_calloc(&maps->arena, maps->count + 1, sizeof(*list));
	struct dt_find_module *open = NULL;
	bool counts = false;
	size_t n = 0;

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < maps->count; i++) {
		const struct dt_map *map = &maps->maps[i];

		if (!of_file(map))
			continue;
		if (!open || !same_file(open->last, map) || map->offset < open->last->offset) {
			n += counts;
			open = &list[n];
			open->first = map;
			counts = false;
		}
		open->last = map;
		counts |= map->exec || (map->write && !map->shared);
	}
	n += counts;
	for (size_t i = 0; i < n; i++)
		list[i].rank = rank_of(list[i].first, i == 0);
	*modules = list;
	*count = n;
	return 0;
}
