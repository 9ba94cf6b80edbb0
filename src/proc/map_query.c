/*
 * Asking for single mappings (PROCMAP_QUERY of /proc/PID/maps, Linux 6.11). The map of a Python has more than a hundred
 * lines, and most of what they cost is the path, which the kernel puts together anew for each.
 */
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/util.h"
#include "proc/proc.h"

/* As in linux/fs.h of newer kernels. */
struct query {
	uint64_t size, flags, address; /* in; the rest is the answer */
	uint64_t start, end, kind, page_size, offset, inode;
	uint32_t dev_major, dev_minor;
	uint32_t name_size, build_id_size; /* in and out */
	uint64_t name, build_id;           /* in: where to put them */
};
#define QUERY        _IOWR('f', 17, struct query)
#define KIND_READ    1u
#define KIND_WRITE   2u
#define KIND_EXEC    4u
#define KIND_SHARED  8u
#define FROM_ADDRESS 16u /* a flag: the mapping there, or else the next one */

static unsigned kind_of(const struct dt_map *map)
{
	return (map->read ? KIND_READ : 0) | (map->write ? KIND_WRITE : 0) | (map->exec ? KIND_EXEC : 0) |
	       (map->shared ? KIND_SHARED : 0);
}

/* The kernel tells the path as it is, and of a file that is gone with a mark behind it: that is not the same path. */
static bool is_there(int maps, const struct dt_map *map, bool lowest)
{
	char name[PATH_MAX];
	struct query query = {
	    .size = sizeof(query),
	    .flags = lowest ? FROM_ADDRESS : 0,
	    .address = lowest ? 0 : map->start,
	    .name_size = sizeof(name),
	    .name = (uint64_t)(uintptr_t)name,
	};

	if (map->deleted || ioctl(maps, QUERY, &query) != 0)
		return false;
	if (!query.name_size)
		name[0] = '\0';
	return query.start == map->start && query.end == map->end && query.offset == map->offset &&
	       query.inode == map->inode && query.dev_major == map->dev_major && query.dev_minor == map->dev_minor &&
	       (query.kind & (KIND_READ | KIND_WRITE | KIND_EXEC | KIND_SHARED)) == kind_of(map) &&
	       strnlen(name, sizeof(name)) < sizeof(name) && strcmp(name, map->path) == 0;
}

bool dt_maps_has(const struct dt_proc *proc, const struct dt_map *list, size_t count)
{
	dt_auto_close int maps = openat(proc->dir, "maps", O_RDONLY | O_CLOEXEC);

	for (size_t i = 0; i < count; i++)
		if (maps < 0 || !is_there(maps, &list[i], i == 0))
			return false;
	return maps >= 0;
}
