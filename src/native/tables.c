#include "native/tables.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "base/index.h"
#include "base/util.h"
#include "native/tables_disk.h"

/* A file as it is now. All of it is compared. */
struct key {
	uint64_t device, inode, size, seconds, nanoseconds;
};

struct entry {
	struct key key;
	struct dt_cfi table; /* no rows: there is none */
};

struct dt_tables {
	struct entry **entries; /* each stays where it is */
	size_t count, capacity;
	struct dt_index index; /* by the hash of the key */
	uint64_t seed;
	size_t bytes;
	int folder; /* of the disk, -1: none */
};

struct dt_tables *dt_tables_new(bool disk)
{
	struct dt_tables *tables = calloc(1, sizeof(*tables));

	if (!tables)
		return NULL;
	tables->seed = dt_hash_seed();
	tables->folder = disk ? dt_tables_folder() : -1;
	if (dt_index_clear(&tables->index, 0))
		return tables;
	dt_tables_free(tables);
	return NULL;
}

void dt_tables_free(struct dt_tables *tables)
{
	if (!tables)
		return;
	for (size_t i = 0; i < tables->count; i++) {
		dt_cfi_release(&tables->entries[i]->table);
		free(tables->entries[i]);
	}
	free(tables->entries);
	dt_index_release(&tables->index);
	if (tables->folder >= 0)
		close(tables->folder);
	free(tables);
}

static const struct entry *find(const struct dt_tables *tables, const struct key *key, uint64_t hash)
{
	size_t step = 0, place;

	while (dt_index_next(&tables->index, hash, &step, &place))
		if (!memcmp(&tables->entries[place]->key, key, sizeof(*key)))
			return tables->entries[place];
	return NULL;
}

static bool make_room(struct dt_tables *tables)
{
	struct entry **grown;

	if (tables->count >= DT_TABLES_FILES || tables->bytes >= DT_TABLES_LIMIT)
		return false;
	if (tables->count < tables->capacity)
		return true;
	grown = reallocarray(tables->entries, tables->capacity + 64, sizeof(struct entry *));
	if (!grown)
		return false;
	tables->entries = grown;
	tables->capacity += 64;
	return true;
}

/* From the disk, or made and put there. */
static void load(const struct dt_tables *tables, struct dt_elf *elf, struct dt_cfi *table)
{
	char name[DT_TABLES_NAME];
	bool named = tables->folder >= 0 && dt_tables_name(elf, name) == 0;

	if (named && dt_tables_fetch(tables->folder, name, table) == 0)
		return;
	if (dt_cfi_compile(elf, table) < 0)
		*table = (struct dt_cfi){0};
	else if (named)
		dt_tables_store(tables->folder, name, table);
}

const struct dt_cfi *dt_tables_get(struct dt_tables *tables, int fd, struct dt_elf *elf)
{
	const struct entry *known;
	struct entry *entry;
	struct stat st;
	struct key key;
	uint64_t hash;

	if (fstat(fd, &st))
		return NULL;
	key = (struct key){st.st_dev, st.st_ino, (uint64_t)st.st_size, (uint64_t)st.st_ctim.tv_sec,
			   (uint64_t)st.st_ctim.tv_nsec};
	hash = dt_hash64(&key, sizeof(key), tables->seed);
	known = find(tables, &key, hash);
	if (known)
		return known->table.count ? &known->table : NULL;
	entry = make_room(tables) ? calloc(1, sizeof(*entry)) : NULL;
	if (!entry)
		return NULL;
	entry->key = key;
	if (!dt_index_put(&tables->index, hash, tables->count)) {
		free(entry);
		return NULL;
	}
	tables->entries[tables->count++] = entry;
	load(tables, elf, &entry->table);
	tables->bytes += sizeof(*entry) + entry->table.count * sizeof(*entry->table.rows);
	return entry->table.count ? &entry->table : NULL;
}
