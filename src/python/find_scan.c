/*
 * Searches a target's writable memory for a runtime that nothing names: a stripped program that has Python linked in
 * and exports nothing, an unpacked program whose code lies in anonymous memory. Data and bss of files come first, then
 * the rest, each up to a limit. A hit is only a reason to try: what it is worth is proven by the caller.
 *
 * Two patterns, both aligned to 8 bytes:
 *   3.13+       the cookie at the start of the runtime
 *   3.7 - 3.12  struct pyinterpreters, the same in all of them: { mutex, head, main, next_id }
 */
#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "python/debug_offsets.h"
#include "python/find_inside.h"

#define BLOCK              ((size_t)1 << 20)
#define OVERLAP            32 /* bytes of the longer pattern */
#define DOUBTFUL_PER_BLOCK 1024
#define IDS_MAX            (1 << 20) /* interpreters that a program may have made */

/* head and main are the same as long as there are no sub-interpreters. Where they differ, three pointers and a small
 * number are nothing special in a heap: only so many are tried. */
static bool looks_like_list(const uint64_t *words, unsigned *doubtful)
{
	if (words[3] < 1 || words[3] > IDS_MAX || !dt_find_plausible(words[0]) || !dt_find_plausible(words[1]) ||
	    !dt_find_plausible(words[2]))
		return false;
	return words[1] == words[2] || (*doubtful)++ < DOUBTFUL_PER_BLOCK;
}

int dt_find_scan_block(const uint8_t *block, size_t size, uint64_t address, dt_find_visit_fn *visit, void *context)
{
	uint64_t cookie = dt_get64(DT_DEBUG_COOKIE), words[4];
	unsigned doubtful = 0;
	int stop;

	for (size_t at = 0; at + sizeof(words) <= size; at += 8) {
		memcpy(words, block + at, sizeof(words));
		if (words[0] == cookie)
			stop = visit(context, address + at, true);
		else if (looks_like_list(words, &doubtful))
			stop = visit(context, address + at + 8, false);
		else
			continue;
		if (stop)
			return stop;
	}
	return 0;
}

/* A block that cannot be read is left out: memory comes and goes while we look. */
static int scan_map(struct dt_mem *mem, const struct dt_map *map, size_t *budget, uint8_t *block,
		    dt_find_visit_fn *visit, void *context)
{
	uint64_t start = map->start;
	size_t size;
	int code;

	while (start < map->end && *budget) {
		size = DT_MIN(DT_MIN(map->end - start, BLOCK), *budget);
		*budget -= size;
		code = dt_mem_read(mem, start, block, size);
		if (dt_find_hard(code))
			return code;
		if (code == 0) {
			code = dt_find_scan_block(block, size, start, visit, context);
			if (code)
				return code;
		}
		if (size < BLOCK)
			break;
		start += size - OVERLAP;
	}
	return 0;
}

/* Data of a file, or the anonymous memory right behind it (its bss)? */
static bool of_file(const struct dt_maps *maps, size_t index)
{
	const struct dt_map *map = &maps->maps[index];

	if (map->inode)
		return true;
	return index && map[-1].inode && map[-1].write && map[-1].end == map->start;
}

static int scan_kind(struct dt_mem *mem, const struct dt_maps *maps, bool files, uint8_t *block,
		     dt_find_visit_fn *visit, void *context)
{
	size_t budget = DT_FIND_SCAN_LIMIT;
	int code;

	for (size_t i = 0; i < maps->count && budget; i++) {
		const struct dt_map *map = &maps->maps[i];

		if (!map->read || !map->write || map->shared || of_file(maps, i) != files)
			continue;
		code = scan_map(mem, map, &budget, block, visit, context);
		if (code)
			return code;
	}
	return 0;
}

int dt_find_scan(struct dt_mem *mem, const struct dt_maps *maps, dt_find_visit_fn *visit, void *context)
{
	uint8_t *block = malloc(BLOCK);
	int code;

	if (!block)
		return -ENOMEM;
	code = scan_kind(mem, maps, true, block, visit, context);
	if (!code)
		code = scan_kind(mem, maps, false, block, visit, context);
	free(block);
	return code;
}
