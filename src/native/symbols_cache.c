#include "native/symbols_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "base/index.h"
#include "base/util.h"
#include "native/debug_file.h"

/* All of it is compared: what is not known is 0. */
struct key {
	uint64_t id_length; /* 0: the file itself */
	uint8_t id[64];
	uint64_t file[5];
};

struct module {
	struct key key;
	struct dt_symbols symbols;
};

struct dt_symbols_cache {
	struct module **modules; /* each stays where it is */
	size_t count, capacity;
	struct dt_index index; /* by the hash of the key */
	uint64_t seed;
	size_t bytes, limit;
};

struct dt_symbols_cache *dt_symbols_cache_new(size_t limit)
{
	struct dt_symbols_cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return NULL;
	cache->limit = limit ? limit : DT_SYMBOLS_CACHE_LIMIT;
	cache->seed = dt_hash_seed();
	if (dt_index_clear(&cache->index, 0))
		return cache;
	dt_symbols_cache_free(cache);
	return NULL;
}

void dt_symbols_cache_free(struct dt_symbols_cache *cache)
{
	if (!cache)
		return;
	for (size_t i = 0; i < cache->count; i++) {
		dt_symbols_release(&cache->modules[i]->symbols);
		free(cache->modules[i]);
	}
	free(cache->modules);
	dt_index_release(&cache->index);
	free(cache);
}

static int make_key(int fd, struct dt_elf *elf, struct key *key)
{
	struct stat st;

	memset(key, 0, sizeof(*key));
	key->id_length = elf ? dt_elf_build_id(elf, key->id) : 0;
	if (key->id_length)
		return 0;
	if (fstat(fd, &st))
		return -errno;
	key->file[0] = st.st_dev;
	key->file[1] = st.st_ino;
	key->file[2] = (uint64_t)st.st_size;
	key->file[3] = (uint64_t)st.st_ctim.tv_sec;
	key->file[4] = (uint64_t)st.st_ctim.tv_nsec;
	return 0;
}

static const struct dt_symbols *find(const struct dt_symbols_cache *cache, const struct key *key, uint64_t hash)
{
	size_t step = 0, place;

	while (dt_index_next(&cache->index, hash, &step, &place))
		if (!memcmp(&cache->modules[place]->key, key, sizeof(*key)))
			return &cache->modules[place]->symbols;
	return NULL;
}

static int make_room(struct dt_symbols_cache *cache)
{
	struct module **grown;

	if (cache->count >= DT_SYMBOLS_CACHE_MODULES || cache->bytes >= cache->limit)
		return -ENOSPC;
	if (cache->count < cache->capacity)
		return 0;
	grown = reallocarray(cache->modules, cache->capacity + 64, sizeof(struct module *));
	if (!grown)
		return -ENOMEM;
	cache->modules = grown;
	cache->capacity += 64;
	return 0;
}

/* Nothing to be found is no failure. */
static int read_module(struct dt_elf *elf, int root, const char *path, struct dt_symbols *symbols)
{
	struct dt_debug_file debug;
	int rc;

	if (!elf)
		return 0;
	rc = dt_debug_file_open(elf, root, path, &debug);
	if (rc != -ENOMEM)
		rc = dt_symbols_read(elf, debug.elf, symbols);
	dt_debug_file_release(&debug);
	return rc == -ENOMEM ? rc : 0;
}

static int add(struct dt_symbols_cache *cache, struct module *module, uint64_t hash, const struct dt_symbols **symbols)
{
	if (!dt_index_put(&cache->index, hash, cache->count))
		return -ENOMEM;
	cache->modules[cache->count++] = module;
	cache->bytes += sizeof(*module) + dt_symbols_bytes(&module->symbols);
	*symbols = &module->symbols;
	return 0;
}

static int load(struct dt_symbols_cache *cache, const struct key *key, uint64_t hash, struct dt_elf *elf, int root,
		const char *path, const struct dt_symbols **symbols)
{
	struct module *module;
	int rc = make_room(cache);

	if (rc < 0)
		return rc;
	module = calloc(1, sizeof(*module));
	if (!module)
		return -ENOMEM;
	module->key = *key;
	rc = read_module(elf, root, path, &module->symbols);
	if (rc == 0)
		rc = add(cache, module, hash, symbols);
	if (rc == 0)
		return 0;
	dt_symbols_release(&module->symbols);
	free(module);
	return rc;
}

int dt_symbols_cache_get(struct dt_symbols_cache *cache, int fd, int root, const char *path,
			 const struct dt_symbols **symbols)
{
	struct dt_elf *elf = NULL;
	struct key key;
	uint64_t hash;
	int rc = dt_elf_open(fd, &elf);

	if (rc == -ENOMEM)
		return rc;
	rc = make_key(fd, elf, &key);
	if (rc == 0) {
		hash = dt_hash64(&key, sizeof(key), cache->seed);
		*symbols = find(cache, &key, hash);
		rc = *symbols ? 0 : load(cache, &key, hash, elf, root, path, symbols);
	}
	dt_elf_free(elf);
	return rc;
}
