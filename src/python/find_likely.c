/* Which of all processes of a host may be Python, without reading their memory. */
#include <string.h>

#include "base/util.h"
#include "python/find_inside.h"

/* The memory map is closed to us: the names that everybody may read are all there is. */
static bool named_likely(const struct dt_proc *proc)
{
	char text[4096];

	if (dt_proc_read(proc, "comm", text, sizeof(text)) > 0 && dt_find_named_python(text))
		return true;
	return dt_proc_read(proc, "cmdline", text, sizeof(text)) > 0 && dt_find_named_python(text);
}

static bool maps_likely(const struct dt_proc *proc, struct dt_maps *maps, struct dt_find_cache *cache,
			struct dt_budget *budget)
{
	const struct dt_find_place place = {.proc = proc};
	struct dt_find_module *modules;
	struct dt_find_file *file;
	size_t count;

	if (dt_find_modules(maps, &modules, &count) < 0)
		return false;
	for (unsigned rank = 0; rank < DT_FIND_RANKS; rank++)
		for (size_t i = 0; i < count; i++) {
			if (modules[i].rank != rank)
				continue;
			if (!dt_budget_in_time(budget))
				return false;
			file = dt_find_file_of(&place, &modules[i], false, cache);
			if (!file)
				return false;
			if (file->kind == DT_FIND_RUNTIME || file->kind == DT_FIND_OLD) {
				dt_find_trail_keep(dt_find_cache_trail(cache), maps, &modules[i]);
				return true;
			}
			if (file->kind == DT_FIND_SHUT && dt_find_named_python(modules[i].first->path))
				return true;
		}
	return false;
}

bool dt_find_likely(const struct dt_proc *proc, struct dt_find_cache *cache, struct dt_budget *budget)
{
	struct dt_find_cache *own = cache ? NULL : dt_find_cache_new();
	struct dt_maps maps = {0};
	bool likely = false;

	if (!cache && !own)
		return false;
	if (cache && dt_find_trail_leads(*dt_find_cache_trail(cache), proc))
		return true;
	if (dt_maps_read(proc, &maps) < 0)
		likely = named_likely(proc);
	else
		likely = maps_likely(proc, &maps, cache ? cache : own, budget);
	dt_maps_release(&maps);
	dt_find_cache_free(own);
	return likely;
}

bool dt_python_likely(const struct dt_proc *proc, struct dt_find_cache *cache)
{
	struct dt_budget budget;

	dt_budget_begin(&budget, SIZE_MAX);
	return dt_find_likely(proc, cache, &budget);
}
