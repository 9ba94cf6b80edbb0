/* The text of /proc/PID/maps: whatever it says, the result is ascending, without overlaps, and can be searched. */
#include "fuzz.h"

#include <string.h>

#include "proc/proc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dt_maps maps;
	uint64_t floor = 0;

	if (dt_maps_parse((const char *)data, size, &maps) < 0)
		return 0;
	for (size_t i = 0; i < maps.count; i++) {
		const struct dt_map *map = &maps.maps[i];

		MUST(map->start >= floor && map->end > map->start);
		MUST(map->path && strlen(map->path) <= size);
		MUST(dt_maps_at(&maps, map->start) == map && dt_maps_at(&maps, map->end - 1) == map);
		floor = map->end;
	}
	MUST(!dt_maps_at(&maps, UINT64_MAX) || maps.maps[maps.count - 1].end == UINT64_MAX);
	dt_maps_release(&maps);
	return 0;
}
