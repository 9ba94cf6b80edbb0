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

static int search_hash(struct dt_elf *elf, const struct symbol_table *table, struct search *search)
{
	for (size_t i = 0; i < search->count; i++) {
		Elf64_Sym symbol;
		int rc = elf_hash_lookup(elf, table, search->names[i], &symbol);

		if (rc == 0)
			take(elf, search, i, &symbol);
		else if (!elf_is_damage(rc))
			return rc;
	}
	return 0;
}

struct comparison {
	struct dt_elf *elf;
	struct search *search;
	const char *strings;
	uint64_t size;
	uint64_t absent;
};

static int compare_symbol(void *context, const Elf64_Sym *symbol)
{
	const struct comparison *here = context;
	struct search *search = here->search;
	const char *text;

	if (!(search->missing & ~here->absent))
		return 1;
	if (symbol->st_name >= here->size || !elf_symbol_defined(symbol))
		return 0;
	text = here->strings + symbol->st_name;
	for (size_t i = 0; i < search->count; i++)
		if ((search->missing >> i & 1) && !strcmp(text, search->names[i]))
			take(here->elf, search, i, symbol);
	return 0;
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
	struct comparison here = {.elf = elf, .search = search, .size = table->strings_size};
	dt_auto_free char *strings = NULL;
	int rc = table->count ? elf_load_strings(elf, table, &strings) : -ENOENT;

	if (rc < 0)
		return rc;
	here.strings = strings;
	here.absent = absent_names(strings, table->strings_size + 1, search);
	if (!(search->missing & ~here.absent))
		return 0;
	rc = elf_walk_symbols(elf, table, compare_symbol, &here);
	return rc < 0 ? rc : 0;
}

static int search_dynamic(struct dt_elf *elf, struct search *search)
{
	struct symbol_table table;
	int rc = elf_dynamic_symbols(elf, &table);

	if (rc < 0 && elf_is_damage(rc))
		rc = elf_section_symbols(elf, SHT_DYNSYM, &table);
	if (rc < 0)
		return rc;
	return table.gnu_hash ? search_hash(elf, &table, search) : search_table(elf, &table, search);
}

static int search_full(struct dt_elf *elf, struct search *search)
{
	struct symbol_table table;
	int rc = search->missing ? elf_section_symbols(elf, SHT_SYMTAB, &table) : -ENOENT;

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
	if (rc < 0 && !elf_is_damage(rc))
		return rc;
	rc = full ? search_full(elf, &search) : 0;
	if (rc < 0 && !elf_is_damage(rc))
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
