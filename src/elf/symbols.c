/*
 * Symbols by name: the dynamic ones through their hash table, and what is not among them in the full table, which is
 * searched from end to end once for all names. A name that is defined twice (once in a file of its own, once for all)
 * is the one that all share.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "elf/inside.h"

#define NAMES_LIMIT 64 /* one bit each */
#define CHUNK       ((size_t)1024)

struct search {
	const char *const *names;
	size_t count;
	struct dt_elf_range *found;
	uint64_t missing; /* names without a definition that all share */
	uint64_t local;   /* of those, the ones that have another */
};

static void take(struct dt_elf *elf, struct search *search, size_t name, const Elf64_Sym *symbol)
{
	bool local = ELF64_ST_BIND(symbol->st_info) == STB_LOCAL;
	uint64_t bit = UINT64_C(1) << name;
	struct dt_elf_range *range = &search->found[name];

	if (local && (search->local & bit))
		return;
	*range = (struct dt_elf_range){.address = symbol->st_value, .size = symbol->st_size};
	if (elf->image || !elf_where(elf, symbol->st_value, 1, &range->offset))
		range->offset = 0;
	if (local)
		search->local |= bit;
	else
		search->missing &= ~bit;
}

/* Damage in one table is no reason not to look into the other: only errors of reading itself are passed on. */
static bool is_damage(int rc)
{
	return rc == -ENOENT || rc == -ENOEXEC || rc == -EFAULT;
}

static int search_hash(struct dt_elf *elf, const struct symbol_table *table, struct search *search)
{
	for (size_t i = 0; i < search->count; i++) {
		Elf64_Sym symbol;
		int rc = elf_hash_lookup(elf, table, search->names[i], &symbol);

		if (rc == 0)
			take(elf, search, i, &symbol);
		else if (!is_damage(rc))
			return rc;
	}
	return 0;
}

static void compare_symbol(struct dt_elf *elf, const char *strings, uint64_t size, const Elf64_Sym *symbol,
			   struct search *search)
{
	const char *text;

	if (symbol->st_name >= size || !elf_symbol_defined(symbol))
		return;
	text = strings + symbol->st_name;
	for (size_t i = 0; i < search->count; i++)
		if ((search->missing >> i & 1) && !strcmp(text, search->names[i]))
			take(elf, search, i, symbol);
}

/* A name that is nowhere in the strings needs no search of the symbols. Most questions end here. */
static uint64_t absent_names(const char *strings, uint64_t size, const struct search *search)
{
	uint64_t absent = 0;

	for (size_t i = 0; i < search->count; i++)
		if ((search->missing >> i & 1) &&
		    !memmem(strings, size, search->names[i], strlen(search->names[i]) + 1))
			absent |= UINT64_C(1) << i;
	return absent;
}

static int search_table(struct dt_elf *elf, const struct symbol_table *table, struct search *search)
{
	dt_auto_free Elf64_Sym *chunk = NULL;
	dt_auto_free char *strings = NULL;
	uint64_t count = DT_MIN(table->count, SYMBOLS_LIMIT / sizeof(*chunk)), absent;
	int rc;

	if (!count || !table->strings_size || table->strings_size > STRINGS_LIMIT)
		return -ENOENT;
	strings = malloc(table->strings_size + 1);
	chunk = malloc(CHUNK * sizeof(*chunk));
	if (!strings || !chunk)
		return -ENOMEM;
	rc = elf_read(elf, table->strings, strings, table->strings_size);
	if (rc < 0)
		return rc;
	strings[table->strings_size] = '\0';
	absent = absent_names(strings, table->strings_size + 1, search);
	for (uint64_t at = 0; at < count && (search->missing & ~absent); at += CHUNK) {
		size_t here = DT_MIN((size_t)(count - at), CHUNK);

		rc = elf_read(elf, table->symbols + at * sizeof(*chunk), chunk, here * sizeof(*chunk));
		if (rc < 0)
			return rc;
		for (size_t i = 0; i < here; i++)
			compare_symbol(elf, strings, table->strings_size, &chunk[i], search);
	}
	return 0;
}

/* The first table of that type, as the section headers describe it. */
static int section_symbols(struct dt_elf *elf, uint32_t type, struct symbol_table *table)
{
	int rc = elf_load_sections(elf);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < elf->section_count; i++) {
		const Elf64_Shdr *section = &elf->sections[i], *strings;

		if (section->sh_type != type || section->sh_entsize != sizeof(Elf64_Sym) ||
		    section->sh_link >= elf->section_count)
			continue;
		strings = &elf->sections[section->sh_link];
		if (strings->sh_type != SHT_STRTAB)
			continue;
		*table = (struct symbol_table){
		    .symbols = section->sh_offset,
		    .count = section->sh_size / sizeof(Elf64_Sym),
		    .strings = strings->sh_offset,
		    .strings_size = strings->sh_size,
		};
		return 0;
	}
	return -ENOENT;
}

static int search_dynamic(struct dt_elf *elf, struct search *search)
{
	struct symbol_table table;
	int rc = elf_dynamic_symbols(elf, &table);

	if (rc < 0 && is_damage(rc))
		rc = section_symbols(elf, SHT_DYNSYM, &table);
	if (rc < 0)
		return rc;
	return table.gnu_hash ? search_hash(elf, &table, search) : search_table(elf, &table, search);
}

static int search_full(struct dt_elf *elf, struct search *search)
{
	struct symbol_table table;
	int rc = search->missing ? section_symbols(elf, SHT_SYMTAB, &table) : -ENOENT;

	return rc < 0 ? rc : search_table(elf, &table, search);
}

static int find_symbols(struct dt_elf *elf, const char *const *names, size_t count, struct dt_elf_range *found,
			bool full)
{
	struct search search = {.names = names, .count = count, .found = found};
	int rc, result = 0;

	if (count > NAMES_LIMIT)
		return -EINVAL;
	memset(found, 0, count * sizeof(*found));
	search.missing = count == NAMES_LIMIT ? UINT64_MAX : (UINT64_C(1) << count) - 1;
	rc = search_dynamic(elf, &search);
	if (rc < 0 && !is_damage(rc))
		return rc;
	rc = full ? search_full(elf, &search) : 0;
	if (rc < 0 && !is_damage(rc))
		return rc;
	for (size_t i = 0; i < count; i++)
		result += found[i].address != 0;
	return result;
}

int dt_elf_symbols(struct dt_elf *elf, const char *const *names, size_t count, struct dt_elf_range *found)
{
	return find_symbols(elf, names, count, found, true);
}

int dt_elf_dynamic_symbols(struct dt_elf *elf, const char *const *names, size_t count, struct dt_elf_range *found)
{
	return find_symbols(elf, names, count, found, false);
}
