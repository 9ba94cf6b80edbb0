/*
 * Where the search of the last process ended. Processes that were forked from one have the same files at the same
 * addresses: if the lowest mapping (the program) and those of the module in which Python was found are there again,
 * that module is tried first, and the map, most of what a search costs, need not be read. What is found is proven as
 * ever; where it is not, the whole search follows as if there were no trail.
 */
#include <stdlib.h>
#include <string.h>

#include "python/find_inside.h"

#define MOST 16 /* mappings of a module */

struct dt_find_trail {
	struct dt_map list[2 + MOST]; /* the lowest one of the process, those of the module, and what follows them: the
				       * part of its data that is in no file */
	size_t count;
	struct dt_find_module module; /* within the list */
};

void dt_find_trail_free(struct dt_find_trail *trail)
{
	for (size_t i = 0; trail && i < trail->count; i++)
		free((char *)trail->list[i].path);
	free(trail);
}

/* With a path of its own. */
static bool add(struct dt_find_trail *trail, const struct dt_map *map)
{
	char *path = strdup(map->path);

	if (!path)
		return false;
	trail->list[trail->count] = *map;
	trail->list[trail->count++].path = path;
	return true;
}

void dt_find_trail_keep(struct dt_find_trail **trail, const struct dt_maps *maps, const struct dt_find_module *module)
{
	const struct dt_map *bss = module->last + 1, *end = maps->maps + maps->count;
	size_t last = (size_t)(module->last - module->first);
	bool kept;

	dt_find_trail_free(*trail);
	*trail = last < MOST ? calloc(1, sizeof(**trail)) : NULL;
	if (!*trail)
		return;
	kept = add(*trail, maps->maps);
	for (size_t i = 0; i <= last && kept; i++)
		kept = add(*trail, &module->first[i]);
	if (kept && bss < end && !bss->inode && bss->start == module->last->end)
		kept = add(*trail, bss);
	(*trail)->module = (struct dt_find_module){.first = &(*trail)->list[1], .last = &(*trail)->list[1 + last]};
	if (kept)
		return;
	dt_find_trail_free(*trail);
	*trail = NULL;
}

bool dt_find_trail_leads(const struct dt_find_trail *trail, const struct dt_proc *proc)
{
	return trail && proc && dt_maps_has(proc, trail->list, trail->count);
}

void dt_find_trail_follow(struct dt_find_trail *trail, struct dt_maps *maps, struct dt_find_module **module)
{
	*maps = (struct dt_maps){.maps = trail->list + 1, .count = trail->count - 1};
	*module = &trail->module;
}
