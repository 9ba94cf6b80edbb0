/* Modules: see modules.h. */
#include "native/modules.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"

/* Stays where it is when modules move. */
struct image {
	struct dt_cfi table;
	struct dt_symbols symbols;
};

struct module {
	uint64_t start, end, offset;
	uint64_t inode;
	uint32_t dev_major, dev_minor;
	uint32_t serial;
	char *path;
	bool opened; /* or it was tried: all below is known */
	bool missing;
	uint64_t bias;
	const struct dt_cfi *table;
	bool named;
	const struct dt_symbols *symbols;
	struct image *image; /* of one that is read from memory: what table and symbols point to */
};

struct dt_modules {
	const struct dt_proc *proc;
	struct dt_mem *live;
	struct dt_tables *tables;
	struct dt_symbols_cache *symbols;
	int root;              /* the target's root directory, -1: not to be had */
	char prefix[PATH_MAX]; /* of it as we see it, which paths in the map begin with; \"\": it is ours */
	struct module *list;   /* by address */
	size_t count;
	uint32_t last_serial;
};

static void read_prefix(struct dt_modules *modules)
{
	ssize_t length = readlinkat(modules->proc->dir, "root", modules->prefix, sizeof(modules->prefix) - 1);

	modules->prefix[length > 1 ? length : 0] = '\0';
}

/* As the target has it: of another root directory the map has paths as we see them. */
static const char *own_path(const struct dt_modules *modules, const char *path)
{
	size_t length = strlen(modules->prefix);

	return length && !strncmp(path, modules->prefix, length) && path[length] == '/' ? path + length : path;
}

struct dt_modules *dt_modules_new(const struct dt_proc *proc, struct dt_mem *live, struct dt_tables *tables,
				  struct dt_symbols_cache *symbols)
{
	struct dt_modules *modules = calloc(1, sizeof(*modules));

	if (!modules)
		return NULL;
	*modules = (struct dt_modules){.proc = proc, .live = live, .tables = tables, .symbols = symbols};
	modules->root = openat(proc->dir, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	read_prefix(modules);
	return modules;
}

static void release_module(struct module *module)
{
	if (module->image) {
		dt_cfi_release(&module->image->table);
		dt_symbols_release(&module->image->symbols);
	}
	free(module->image);
	free(module->path);
}

static void release_list(struct module *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		release_module(&list[i]);
	free(list);
}

void dt_modules_free(struct dt_modules *modules)
{
	if (!modules)
		return;
	release_list(modules->list, modules->count);
	if (modules->root >= 0)
		close(modules->root);
	free(modules);
}

static bool is_same(const struct module *module, const struct dt_map *map, const char *path)
{
	return module->start == map->start && module->end == map->end && module->offset == map->offset &&
	       module->inode == map->inode && module->dev_major == map->dev_major &&
	       module->dev_minor == map->dev_minor && !strcmp(module->path, path);
}

/* What was known of it moves over from the old list, in which places rise as well. */
static bool add(struct module *module, const struct dt_map *map, struct dt_modules *old, size_t *at)
{
	const char *path = own_path(old, map->path);

	while (*at < old->count && old->list[*at].start < map->start)
		++*at;
	if (*at < old->count && is_same(&old->list[*at], map, path)) {
		*module = old->list[*at];
		old->list[*at] = (struct module){.start = map->start};
		return true;
	}
	*module = (struct module){.start = map->start,
				  .end = map->end,
				  .offset = map->offset,
				  .inode = map->inode,
				  .dev_major = map->dev_major,
				  .dev_minor = map->dev_minor,
				  .serial = ++old->last_serial,
				  .path = strdup(path)};
	return module->path;
}

int dt_modules_refresh(struct dt_modules *modules)
{
	struct module *list;
	struct dt_maps maps;
	size_t count = 0, at = 0;
	int rc = dt_maps_read(modules->proc, &maps);

	if (rc < 0)
		return rc;
	list = calloc(DT_MIN(maps.count, (size_t)DT_MODULES_LIMIT) + 1, sizeof(*list));
	rc = list ? 0 : -ENOMEM;
	for (size_t i = 0; i < maps.count && rc == 0 && count < DT_MODULES_LIMIT; i++) {
		if (!maps.maps[i].exec)
			continue;
		if (add(&list[count], &maps.maps[i], modules, &at))
			count++;
		else
			rc = -ENOMEM;
	}
	dt_maps_release(&maps);
	if (rc < 0) { /* what has moved over stays there: less is known, and nothing that is wrong */
		release_list(list, list ? count : 0);
		return rc;
	}
	release_list(modules->list, modules->count);
	modules->list = list;
	modules->count = count;
	return 0;
}

static struct module *find(const struct dt_modules *modules, uint64_t address)
{
	size_t low = 0, high = modules->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (modules->list[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < modules->count && address >= modules->list[low].start ? &modules->list[low] : NULL;
}

static struct dt_map map_of(const struct module *module)
{
	return (struct dt_map){.start = module->start,
			       .end = module->end,
			       .offset = module->offset,
			       .inode = module->inode,
			       .dev_major = module->dev_major,
			       .dev_minor = module->dev_minor,
			       .read = true,
			       .exec = true,
			       .path = module->path};
}

static int open_file(const struct dt_modules *modules, const struct module *module)
{
	const struct dt_map map = map_of(module);

	return module->inode ? dt_maps_open_file(modules->proc, &map) : -ENOENT;
}

static void open_elf(struct dt_modules *modules, struct module *module, int fd, struct dt_elf *elf)
{
	if (dt_elf_bias(elf, module->start, module->offset, &module->bias) < 0)
		module->missing = true;
	else
		module->table = dt_tables_get(modules->tables, fd, elf);
}

/* The vDSO has no file, but all of one in memory; so may other code have. */
static void open_image(struct dt_modules *modules, struct module *module)
{
	struct dt_mem_from from = {modules->live, module->start};
	struct dt_elf *elf = NULL;

	if (module->offset || dt_elf_open_image_at(dt_mem_read_from, &from, module->start, &elf) < 0)
		return;
	module->image = calloc(1, sizeof(*module->image));
	if (module->image && dt_elf_bias(elf, module->start, 0, &module->bias) == 0) {
		if (dt_cfi_compile(elf, &module->image->table) == 0)
			module->table = &module->image->table;
		if (dt_symbols_read(elf, NULL, &module->image->symbols) == 0)
			module->symbols = &module->image->symbols;
	}
	dt_elf_free(elf);
}

static void open_module(struct dt_modules *modules, struct module *module)
{
	dt_auto_close int fd = -1;
	struct dt_elf *elf = NULL;

	if (module->opened)
		return;
	module->opened = true;
	fd = open_file(modules, module);
	module->missing = module->inode && fd < 0;
	if (fd >= 0 && dt_elf_open(fd, &elf) == 0)
		open_elf(modules, module, fd, elf);
	else if (fd < 0)
		open_image(modules, module);
	dt_elf_free(elf);
}

static void read_symbols(struct dt_modules *modules, struct module *module)
{
	dt_auto_close int fd = -1;

	if (module->named)
		return;
	module->named = true;
	if (module->symbols || module->missing)
		return;
	fd = open_file(modules, module);
	if (fd >= 0)
		dt_symbols_cache_get(modules->symbols, fd, modules->root, module->path, &module->symbols);
}

bool dt_modules_find(void *context, uint64_t address, struct dt_unwind_module *found)
{
	struct dt_modules *modules = context;
	struct module *module = find(modules, address);

	if (!module)
		return false;
	open_module(modules, module);
	*found = (struct dt_unwind_module){
	    .start = module->start, .end = module->end, .bias = module->bias, .table = module->table};
	return true;
}

bool dt_modules_place(struct dt_modules *modules, uint64_t address, struct dt_place *place)
{
	struct module *module = find(modules, address);
	struct dt_symbol symbol;

	if (!module)
		return false;
	open_module(modules, module);
	read_symbols(modules, module);
	*place = (struct dt_place){.path = module->path,
				   .offset = address - module->bias,
				   .serial = module->serial,
				   .replaced = module->missing};
	if (module->symbols && dt_symbols_find(module->symbols, place->offset, &symbol)) {
		place->symbol = symbol.name;
		place->into = place->offset - symbol.address;
	}
	return true;
}
