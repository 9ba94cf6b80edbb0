/*
 * What a file holds, and the memory of it. In a survey of a host the same few files are mapped by hundreds of
 * processes: each is opened once. A file is known by device, inode and path as the memory map has them; the inode of
 * one that was replaced may be used again, so an answer from the cache that does not prove right is forgotten and asked
 * again.
 */
#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "elf/elf.h"
#include "machine/machine.h"
#include "python/debug_offsets.h"
#include "python/find_inside.h"

#define BUCKETS     512
#define FILES_LIMIT 65536

struct dt_find_cache {
	struct dt_find_file *buckets[BUCKETS];
	struct dt_arena arena;
	size_t count;
	uint32_t pass;
	struct dt_find_trail *trail;
};

struct dt_find_cache *dt_find_cache_new(void)
{
	struct dt_find_cache *cache = calloc(1, sizeof(*cache));

	if (cache)
		dt_arena_init(&cache->arena, 0);
	return cache;
}

void dt_find_cache_free(struct dt_find_cache *cache)
{
	if (!cache)
		return;
	dt_find_trail_free(cache->trail);
	dt_arena_release(&cache->arena);
	free(cache);
}

static void forget_all(struct dt_find_cache *cache)
{
	memset(cache->buckets, 0, sizeof(cache->buckets));
	dt_arena_reset(&cache->arena);
	cache->count = 0;
}

struct dt_find_trail **dt_find_cache_trail(struct dt_find_cache *cache)
{
	return &cache->trail;
}

void dt_find_cache_pass(struct dt_find_cache *cache)
{
	cache->pass++;
}

void dt_find_file_forget(struct dt_find_file *file)
{
	file->kind = DT_FIND_UNSEEN;
	file->known = file->deep = false;
}

static uint64_t hash_path(const char *path)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (; *path; path++)
		hash = (hash ^ (uint8_t)*path) * UINT64_C(0x100000001b3);
	return hash;
}

/* The entry of a file, new ones unseen. Pointers to entries stay valid until the next survey: the cache is emptied only
 * here, and only when it is absurdly full. */
static struct dt_find_file *entry_of(struct dt_find_cache *cache, const struct dt_map *map)
{
	uint64_t device = (uint64_t)map->dev_major << 32 | map->dev_minor, name = hash_path(map->path);
	struct dt_find_file **bucket = &cache->buckets[(name ^ map->inode) % BUCKETS], *file;

	for (file = *bucket; file; file = file->chain)
		if (file->inode == map->inode && file->device == device && file->name == name)
			return file;
	if (cache->count >= FILES_LIMIT)
		forget_all(cache);
	file = dt_arena_calloc(&cache->arena, 1, sizeof(*file));
	if (!file)
		return NULL;
	file->device = device;
	file->inode = map->inode;
	file->name = name;
	file->chain = *bucket;
	*bucket = file;
	cache->count++;
	return file;
}

/* From 3.13 on the runtime in the file begins with the cookie, and no symbol is needed to know its version. */
static bool describes_itself(int fd, uint64_t offset)
{
	uint8_t head[16];
	uint32_t version;

	return pread(fd, head, sizeof(head), (off_t)offset) == (ssize_t)sizeof(head) &&
	       dt_debug_offsets_version(head, sizeof(head), &version);
}

static void look_at_symbols(struct dt_elf *elf, bool deep, struct dt_find_file *file)
{
	static const char *const names[] = {"Py_Version", "_PyRuntime", "_PyThreadState_Current"};
	struct dt_elf_range found[DT_COUNT(names)] = {0};
	size_t count = file->section ? 1 : DT_COUNT(names);
	int result;

	result = deep ? dt_elf_symbols(elf, names, count, found) : dt_elf_dynamic_symbols(elf, names, count, found);
	if (result <= 0)
		return;
	file->version = found[0].address;
	if (file->section)
		return;
	file->runtime = found[1].address;
	if (file->runtime)
		file->kind = DT_FIND_RUNTIME;
	else if (found[2].address)
		file->kind = DT_FIND_OLD;
	if (file->kind == DT_FIND_OLD)
		dt_find_variable_symbols(elf, file);
}

/* fd is -1 for an image in memory, which has no sections. */
static void look_at_elf(struct dt_elf *elf, int fd, bool deep, const struct dt_map *first, struct dt_find_file *file)
{
	struct dt_elf_range range;
	uint64_t bias;

	file->kind = DT_FIND_NOTHING;
	file->section = false;
	file->runtime = file->version = 0;
	file->first_offset = first->offset;
	if (!dt_machine_of(dt_elf_machine(elf)))
		return;
	if (fd >= 0 && dt_elf_section(elf, ".PyRuntime", &range) == 0 && range.address) {
		file->kind = DT_FIND_RUNTIME;
		file->section = true;
		file->runtime = range.address;
	}
	if (!file->section || !describes_itself(fd, range.offset))
		look_at_symbols(elf, deep, file);
	if (file->kind == DT_FIND_NOTHING)
		return;
	if (dt_elf_bias(elf, first->start, first->offset, &bias) < 0) {
		/* Mapped where it cannot run: that says nothing of the file in another process. */
		file->kind = DT_FIND_UNSEEN;
		return;
	}
	file->first_link = first->start - bias;
}

struct dt_find_file *dt_find_file_of(const struct dt_find_place *place, const struct dt_find_module *module, bool deep,
				     struct dt_find_cache *cache)
{
	struct dt_find_file *file = entry_of(cache, module->first);
	dt_auto_close int fd = -1;
	struct dt_elf *elf;

	if (!file)
		return NULL;
	file->loads = file->asked == cache->pass ? file->loads + 1 : 1;
	file->asked = cache->pass;
	if (file->loads > DT_FIND_LOADS)
		return file;
	if (file->kind != DT_FIND_UNSEEN && file->kind != DT_FIND_SHUT && (file->deep || !deep) &&
	    (file->kind == DT_FIND_NOTHING || file->first_offset == module->first->offset)) {
		file->known = file->pass != cache->pass;
		return file;
	}
	file->known = false;
	file->pass = cache->pass;
	file->deep = deep;
	file->kind = DT_FIND_SHUT;
	fd = place->still ? place->still->open(place->still->context, module->first)
			  : dt_maps_open_file(place->proc, module->first);
	if (fd < 0)
		return file;
	file->kind = DT_FIND_NOTHING;
	if (dt_elf_open(fd, &elf) < 0)
		return file;
	look_at_elf(elf, fd, deep, module->first, file);
	dt_elf_free(elf);
	return file;
}

int dt_find_file_in_memory(struct dt_mem *mem, const struct dt_find_module *module, struct dt_find_file *file)
{
	struct dt_mem_from image = {.mem = mem, .start = module->first->start};
	struct dt_elf *elf;
	int code;

	memset(file, 0, sizeof(*file));
	if (module->first->offset)
		return -ENOEXEC;
	code = dt_elf_open_image_at(dt_mem_read_from, &image, image.start, &elf);
	if (code < 0)
		return code;
	look_at_elf(elf, -1, false, module->first, file);
	dt_elf_free(elf);
	return 0;
}
