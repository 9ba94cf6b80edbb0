/*
 * Dynamic symbols, found as ld.so finds them: PT_DYNAMIC says where the tables are, and the GNU hash table leads to a
 * name with a few small reads, where reading the whole table of a libpython would be hundreds of kilobytes.
 *
 *     GNU hash: u32 buckets, first symbol, bloom words, bloom shift
 *               u64 bloom[bloom words]      two bits per symbol: most names that are not there end here
 *               u32 bucket[buckets]         first symbol of each chain, 0: empty
 *               u32 chain[]                 from `first symbol` on: hash, lowest bit set on the last of a chain
 */
#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "elf/inside.h"

struct gnu_hash {
	uint32_t buckets, first, bloom_words, bloom_shift;
};

/* In memory ld.so may have turned these addresses into absolute ones. The link-time range of a shared library starts at
 * 0 and is far below any load address, so the two cannot be mistaken for each other. */
static bool table_where(const struct dt_elf *elf, uint64_t address, uint64_t size, uint64_t *where)
{
	if (elf_where(elf, address, size, where))
		return true;
	if (!elf->image || !elf->load_address || address < elf->load_address)
		return false;
	return elf_where(elf, address - elf->load_address + elf->low, size, where);
}

static const Elf64_Phdr *dynamic_segment(const struct dt_elf *elf)
{
	for (size_t i = 0; i < elf->segment_count; i++)
		if (elf->segments[i].p_type == PT_DYNAMIC)
			return &elf->segments[i];
	return NULL;
}

int elf_dynamic_symbols(struct dt_elf *elf, struct symbol_table *table)
{
	uint64_t symbols = 0, strings = 0, strings_size = 0, hash = 0, gnu_hash = 0, hash_where;
	const Elf64_Phdr *segment = dynamic_segment(elf);
	Elf64_Dyn entries[DYNAMIC_LIMIT];
	uint32_t chains[2];
	size_t count;
	int rc;

	if (!segment)
		return -ENOENT;
	count = DT_MIN((size_t)(segment->p_filesz / sizeof(*entries)), DYNAMIC_LIMIT);
	rc = elf_read(elf, elf_segment_where(elf, segment), entries, count * sizeof(*entries));
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < count && entries[i].d_tag != DT_NULL; i++) {
		uint64_t value = entries[i].d_un.d_val;

		switch (entries[i].d_tag) {
		case DT_SYMTAB:
			symbols = value;
			break;
		case DT_STRTAB:
			strings = value;
			break;
		case DT_STRSZ:
			strings_size = value;
			break;
		case DT_HASH:
			hash = value;
			break;
		case DT_GNU_HASH:
			gnu_hash = value;
			break;
		}
	}
	*table = (struct symbol_table){.strings_size = strings_size};
	if (!symbols || !strings || !table_where(elf, symbols, sizeof(Elf64_Sym), &table->symbols) ||
	    !table_where(elf, strings, strings_size, &table->strings))
		return -ENOENT;
	if (gnu_hash && table_where(elf, gnu_hash, sizeof(struct gnu_hash), &table->gnu_hash))
		return 0;
	/* The old hash table is only asked for the number of symbols. */
	if (!hash || !table_where(elf, hash, sizeof(chains), &hash_where))
		return -ENOENT;
	rc = elf_read(elf, hash_where, chains, sizeof(chains));
	table->count = chains[1];
	return rc;
}

static uint32_t hash_name(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (unsigned char)*name;
	return hash;
}

static int maybe_there(struct dt_elf *elf, const struct symbol_table *table, const struct gnu_hash *header,
		       uint32_t hash)
{
	uint64_t word, mask = UINT64_C(1) << (hash % 64) | UINT64_C(1) << ((hash >> (header->bloom_shift % 32)) % 64);
	uint64_t index = hash / 64 % header->bloom_words;
	int rc = elf_read(elf, table->gnu_hash + sizeof(*header) + index * sizeof(word), &word, sizeof(word));

	if (rc < 0)
		return rc;
	return (word & mask) == mask;
}

/* 1 if symbol `index` is a definition of that name, 0 if not. */
static int is_symbol(struct dt_elf *elf, const struct symbol_table *table, uint32_t index, const char *name,
		     Elf64_Sym *symbol)
{
	size_t length = strlen(name) + 1;
	char text[256];
	int rc = elf_read(elf, table->symbols + (uint64_t)index * sizeof(*symbol), symbol, sizeof(*symbol));

	if (rc < 0)
		return rc;
	if (!elf_symbol_defined(symbol) || length > sizeof(text) || symbol->st_name >= table->strings_size ||
	    length > table->strings_size - symbol->st_name)
		return 0;
	rc = elf_read(elf, table->strings + symbol->st_name, text, length);
	return rc < 0 ? rc : !memcmp(text, name, length);
}

/* Chains are a few entries long; the limit ends one that a hostile file made endless. */
static int walk_chain(struct dt_elf *elf, const struct symbol_table *table, uint64_t chains, uint32_t first,
		      uint32_t start, uint32_t hash, const char *name, Elf64_Sym *symbol)
{
	for (uint32_t index = start, left = CHAIN_LIMIT; left && index >= start; index++, left--) {
		uint32_t entry;
		int rc = elf_read(elf, chains + (uint64_t)(index - first) * sizeof(entry), &entry, sizeof(entry));

		if (rc < 0)
			return rc;
		if ((entry | 1) == (hash | 1)) {
			rc = is_symbol(elf, table, index, name, symbol);
			if (rc)
				return rc < 0 ? rc : 0;
		}
		if (entry & 1)
			break;
	}
	return -ENOENT;
}

int elf_hash_lookup(struct dt_elf *elf, const struct symbol_table *table, const char *name, Elf64_Sym *symbol)
{
	uint32_t hash = hash_name(name), start;
	struct gnu_hash header;
	uint64_t buckets;
	int rc = elf_read(elf, table->gnu_hash, &header, sizeof(header));

	if (rc < 0)
		return rc;
	if (!header.buckets || !header.bloom_words)
		return -ENOENT;
	rc = maybe_there(elf, table, &header, hash);
	if (rc <= 0)
		return rc < 0 ? rc : -ENOENT;
	buckets = table->gnu_hash + sizeof(header) + (uint64_t)header.bloom_words * sizeof(uint64_t);
	rc = elf_read(elf, buckets + (uint64_t)(hash % header.buckets) * sizeof(start), &start, sizeof(start));
	if (rc < 0)
		return rc;
	if (start < header.first || !start)
		return -ENOENT;
	return walk_chain(elf, table, buckets + (uint64_t)header.buckets * sizeof(start), header.first, start, hash,
			  name, symbol);
}

/* The last symbol is the end of the chain that begins last. */
static int last_start(struct dt_elf *elf, uint64_t buckets, uint32_t count, uint32_t *last)
{
	uint32_t chunk[512];

	*last = 0;
	for (uint32_t at = 0; at < count; at += DT_COUNT(chunk)) {
		size_t here = DT_MIN((size_t)(count - at), DT_COUNT(chunk));
		int rc = elf_read(elf, buckets + (uint64_t)at * sizeof(*chunk), chunk, here * sizeof(*chunk));

		if (rc < 0)
			return rc;
		for (size_t i = 0; i < here; i++)
			*last = DT_MAX(*last, chunk[i]);
	}
	return 0;
}

int elf_count_hashed(struct dt_elf *elf, struct symbol_table *table)
{
	struct gnu_hash header;
	uint64_t buckets, chains;
	uint32_t last, entry = 0;
	int rc = elf_read(elf, table->gnu_hash, &header, sizeof(header));

	if (rc < 0)
		return rc;
	if (header.buckets > SYMBOLS_LIMIT / sizeof(Elf64_Sym))
		return -ENOEXEC;
	buckets = table->gnu_hash + sizeof(header) + (uint64_t)header.bloom_words * sizeof(uint64_t);
	chains = buckets + (uint64_t)header.buckets * sizeof(uint32_t);
	rc = last_start(elf, buckets, header.buckets, &last);
	table->count = header.first;
	if (rc < 0 || !last)
		return rc;
	if (last < header.first)
		return -ENOEXEC;
	for (uint32_t left = CHAIN_LIMIT; left && !(entry & 1); left--, last++) {
		rc = elf_read(elf, chains + (uint64_t)(last - header.first) * sizeof(entry), &entry, sizeof(entry));
		if (rc < 0)
			return rc;
	}
	table->count = last;
	return 0;
}
