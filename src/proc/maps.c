/*
 * The memory map of a process. One pass over the text; the array grows geometrically, and mappings in a row that have
 * the same path (a library has four or five) share one copy of it. The result is ascending and without overlaps, so
 * that it can be searched: lines that would break that (the map changed between two reads of it) are left out.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "proc/dir.h"
#include "proc/proc.h"
#include "proc/scan.h"

static const char deleted[] = " (deleted)";

struct last_path {
	const char *text; /* as it stands in the file */
	size_t length;
	const char *path; /* as it was kept */
	bool deleted;
};

/* "START-END PERMS OFFSET MAJOR:MINOR INODE"; the cursor is left behind it. */
static bool parse_numbers(struct scan *scan, struct dt_map *map)
{
	uint64_t major, minor;
	const char *perms;

	if (!scan_hex(scan, &map->start) || !scan_char(scan, '-') || !scan_hex(scan, &map->end) ||
	    !scan_char(scan, ' '))
		return false;
	perms = scan->at;
	if (scan->end - perms < 5 || perms[4] != ' ')
		return false;
	scan->at += 5;
	if (!scan_hex(scan, &map->offset) || !scan_char(scan, ' ') || !scan_hex(scan, &major) ||
	    !scan_char(scan, ':') || !scan_hex(scan, &minor) || !scan_char(scan, ' ') ||
	    !scan_decimal(scan, &map->inode))
		return false;
	if (map->start >= map->end || major > UINT32_MAX || minor > UINT32_MAX)
		return false;
	map->dev_major = (uint32_t)major;
	map->dev_minor = (uint32_t)minor;
	map->read = perms[0] == 'r';
	map->write = perms[1] == 'w';
	map->exec = perms[2] == 'x';
	map->shared = perms[3] == 's';
	return true;
}

/* The kernel escapes the newline and nothing else. */
static size_t unescape(char *text, size_t length)
{
	const char *from = memmem(text, length, "\\012", 4), *end = text + length;
	char *to;

	if (!from)
		return length;
	for (to = text + (from - text); from < end; to++) {
		if (end - from >= 4 && !memcmp(from, "\\012", 4)) {
			*to = '\n';
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
	return (size_t)(to - text);
}

static bool keep_path(struct dt_maps *maps, struct dt_map *map, const char *text, size_t length, struct last_path *last)
{
	const size_t mark = sizeof(deleted) - 1;
	size_t kept = length;
	char *copy;

	if (!length) {
		map->path = "";
		return true;
	}
	if (!last->text || length != last->length || memcmp(text, last->text, length) != 0) {
		bool cut = length > mark && text[0] == '/' && !memcmp(text + length - mark, deleted, mark);

		if (cut)
			kept -= mark;
		copy = dt_arena_strndup(&maps->arena, text, kept);
		if (!copy)
			return false;
		unescape(copy, kept);
		*last = (struct last_path){.text = text, .length = length, .path = copy, .deleted = cut};
	}
	map->path = last->path;
	map->deleted = last->deleted;
	return true;
}

static bool reserve(struct dt_maps *maps, size_t *capacity, size_t guess)
{
	size_t larger = *capacity ? *capacity * 2 : guess;
	struct dt_map *grown;

	if (maps->count < *capacity)
		return true;
	grown = reallocarray(maps->maps, larger, sizeof(*grown));
	if (!grown)
		return false;
	maps->maps = grown;
	*capacity = larger;
	return true;
}

int dt_maps_parse(const char *text, size_t length, struct dt_maps *maps)
{
	const char *end = text + length;
	struct last_path last = {0};
	uint64_t floor = 0; /* where the mapping before ended */
	size_t capacity = 0;

	*maps = (struct dt_maps){0};
	dt_arena_init(&maps->arena, 0);
	for (const char *line = text, *stop; line < end; line = stop + 1) {
		struct scan scan = {.at = line};
		struct dt_map map = {0};

		stop = memchr(line, '\n', (size_t)(end - line));
		if (!stop)
			stop = end;
		scan.end = stop;
		if (!parse_numbers(&scan, &map) || map.start < floor)
			continue;
		scan_spaces(&scan);
		/* A line of a map with paths has some 100 characters. */
		if (!reserve(maps, &capacity, length / 100 + 16) ||
		    !keep_path(maps, &map, scan.at, (size_t)(stop - scan.at), &last)) {
			dt_maps_release(maps);
			return -ENOMEM;
		}
		floor = map.end;
		maps->maps[maps->count++] = map;
	}
	return 0;
}

int dt_maps_read(const struct dt_proc *proc, struct dt_maps *maps)
{
	struct dt_buf text = DT_BUF_INIT;
	int rc = dt_proc_slurp(proc, "maps", DT_MAPS_LIMIT, &text);

	if (rc == 0)
		rc = dt_maps_parse(text.data, text.length, maps);
	dt_buf_release(&text);
	return rc;
}

void dt_maps_release(struct dt_maps *maps)
{
	free(maps->maps);
	dt_arena_release(&maps->arena);
	maps->maps = NULL;
	maps->count = 0;
}

const struct dt_map *dt_maps_at(const struct dt_maps *maps, uint64_t address)
{
	size_t low = 0, high = maps->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct dt_map *map = &maps->maps[middle];

		if (address < map->start)
			high = middle;
		else if (address >= map->end)
			low = middle + 1;
		else
			return map;
	}
	return NULL;
}

int dt_maps_open_file(const struct dt_proc *proc, const struct dt_map *map)
{
	char name[64], marked[PATH_MAX];
	int fd;

	if (!map->inode || map->path[0] != '/')
		return -ENOENT;
	fd = dt_proc_open_link(proc, "exe", map->inode, map->dev_major, map->dev_minor);
	if (fd >= 0)
		return fd;
	/* Needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE, and then finds files without a name, too. */
	snprintf(name, sizeof(name), "map_files/%llx-%llx", (unsigned long long)map->start,
		 (unsigned long long)map->end);
	fd = dt_proc_open_link(proc, name, map->inode, map->dev_major, map->dev_minor);
	if (fd >= 0)
		return fd;
	fd = dt_proc_open_same(proc, map->path, map->inode, map->dev_major, map->dev_minor);
	/* A name that really ends like this looks the same as one that was deleted. */
	if (fd < 0 && map->deleted &&
	    snprintf(marked, sizeof(marked), "%s%s", map->path, deleted) < (int)sizeof(marked)) {
		int other = dt_proc_open_same(proc, marked, map->inode, map->dev_major, map->dev_minor);

		if (other >= 0)
			return other;
	}
	if (fd == -ESTALE || fd == -EINVAL || fd == -ENOTDIR || fd == -ELOOP)
		return -ENOENT;
	return fd;
}
