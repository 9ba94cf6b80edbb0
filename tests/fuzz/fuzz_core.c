/* A core file, plain or compressed: headers, notes, segments, and Python searched in what they make up. */
#include "fuzz.h"

#include <darter/darter.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/core.h"

/* A root without files: what an input names must not be found, whatever machine this runs on. */
static char root[] = "/tmp/darter-fuzz-XXXXXX";

static void remove_root(void)
{
	rmdir(root);
}

static void read_all(struct dt_core *core)
{
	const struct dt_core_info *info = dt_core_info(core);
	const struct dt_maps *maps = dt_core_maps(core);
	uint64_t floor = 0;
	uint8_t bytes[64];

	MUST(info->name && info->command && info->program && info->size <= info->whole);
	MUST(info->signal >= 0 && info->signal < 65);
	for (size_t i = 0; i < info->thread_count; i++)
		MUST(info->threads[i].tid >= 0);
	for (size_t i = 0; i < maps->count; i++) {
		const struct dt_map *map = &maps->maps[i];

		MUST(map->start >= floor && map->end > map->start && map->path);
		MUST(dt_maps_at(maps, map->start) == map);
		floor = map->end;
		dt_mem_read(dt_core_memory(core), map->start, bytes, sizeof(bytes));
		dt_mem_read(dt_core_memory(core), map->end - 1, bytes, 2);
		MUST(dt_core_open_mapped(core, map) < 0);
	}
}

static void complain(struct dt_core *core)
{
	const char *texts[3];
	struct dt_arena arena;
	size_t count;

	dt_arena_init(&arena, 0);
	for (int others = 0; others < 2; others++) {
		const struct dt_core_asked asked = {
		    .library = "/a", .others = others, .kinds = DT_CORE_ABSENT | DT_CORE_REPLACED | DT_CORE_UNSURE};

		count = dt_core_complaints(core, &asked, &arena, texts, 3);
		MUST(count <= 3);
		for (size_t i = 0; i < count; i++)
			MUST(texts[i] && texts[i][0]);
	}
	dt_arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	const struct dt_snapshot *snapshot;
	struct dt_target *target;
	struct dt_error err;
	struct dt_core *core;
	char path[32];

	if (fd < 0) {
		fd = memfd_create("input", MFD_CLOEXEC);
		MUST(mkdtemp(root) && atexit(remove_root) == 0 && setenv("DARTER_CORE_LIMIT", "64M", 1) == 0);
	}
	MUST(fd >= 0 && !ftruncate(fd, 0) && pwrite(fd, data, size, 0) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (dt_core_open(path, root, NULL, NULL, &core, &err) == 0) {
		read_all(core);
		complain(core);
		dt_core_free(core);
	} else {
		MUST(err.code < 0 && err.message[0]);
	}
	if (dt_open_core(path, root, NULL, NULL, &target, &err) == 0) {
		if (dt_take(target, &snapshot, &err) == 0)
			MUST(snapshot->core && snapshot->threads);
		dt_release(target);
	}
	return 0;
}
