/* Symbols one after the other: tables as they lie in the file, read in pieces. */
#include <errno.h>
#include <stdlib.h>

#include "base/util.h"
#include "elf/inside.h"

#define CHUNK ((size_t)1024)

int elf_section_symbols(struct dt_elf *elf, uint32_t type, struct symbol_table *table)
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

int elf_load_strings(struct dt_elf *elf, const struct symbol_table *table, char **strings)
{
	dt_auto_free char *text = NULL;
	int rc;

	if (!table->strings_size || table->strings_size > STRINGS_LIMIT)
		return -ENOENT;
	text = malloc(table->strings_size + 1);
	if (!text)
		return -ENOMEM;
	rc = elf_read(elf, table->strings, text, table->strings_size);
	if (rc < 0)
		return rc;
	text[table->strings_size] = '\0';
	*strings = text;
	text = NULL;
	return 0;
}

int elf_walk_symbols(struct dt_elf *elf, const struct symbol_table *table, elf_symbol_fn *fn, void *context)
{
	dt_auto_free Elf64_Sym *chunk = malloc(CHUNK * sizeof(*chunk));
	uint64_t count = DT_MIN(table->count, SYMBOLS_LIMIT / sizeof(*chunk));

	if (!chunk)
		return -ENOMEM;
	for (uint64_t at = 0; at < count; at += CHUNK) {
		size_t here = DT_MIN((size_t)(count - at), CHUNK);
		int rc = elf_read(elf, table->symbols + at * sizeof(*chunk), chunk, here * sizeof(*chunk));

		for (size_t i = 0; i < here && rc == 0; i++)
			rc = fn(context, &chunk[i]);
		if (rc)
			return rc;
	}
	return 0;
}

struct showing {
	struct dt_elf *elf;
	const char *strings;
	uint64_t strings_size;
	dt_elf_symbol_fn *fn;
	void *context;
};

static bool within(uint64_t address, uint64_t start, uint64_t size)
{
	return address >= start && address - start < size;
}

/* What a symbol lies in: a section, if it names one that it lies in, else a segment. */
static void find_surroundings(const struct dt_elf *elf, const Elf64_Sym *from, struct dt_elf_symbol *symbol)
{
	const Elf64_Shdr *section = from->st_shndx < elf->section_count ? &elf->sections[from->st_shndx] : NULL;

	if (section && within(symbol->address, section->sh_addr, section->sh_size) &&
	    section->sh_size <= UINT64_MAX - section->sh_addr) {
		symbol->end = section->sh_addr + section->sh_size;
		symbol->code = section->sh_flags & SHF_EXECINSTR;
		return;
	}
	for (size_t i = 0; i < elf->segment_count; i++) {
		const Elf64_Phdr *segment = &elf->segments[i];

		if (segment->p_type != PT_LOAD || !within(symbol->address, segment->p_vaddr, segment->p_memsz))
			continue;
		symbol->end = segment->p_vaddr + segment->p_memsz;
		symbol->code = segment->p_flags & PF_X;
		return;
	}
}

static int show(void *context, const Elf64_Sym *from)
{
	const struct showing *showing = context;
	struct dt_elf_symbol symbol = {
	    .address = from->st_value,
	    .size = from->st_size,
	    .type = ELF64_ST_TYPE(from->st_info),
	    .binding = ELF64_ST_BIND(from->st_info),
	};

	if (from->st_name >= showing->strings_size || !elf_symbol_defined(from))
		return 0;
	symbol.name = showing->strings + from->st_name;
	find_surroundings(showing->elf, from, &symbol);
	return showing->fn(showing->context, &symbol);
}

static int find_dynamic(struct dt_elf *elf, struct symbol_table *table)
{
	int rc = elf_dynamic_symbols(elf, table);

	if (rc == 0 && table->gnu_hash)
		rc = elf_count_hashed(elf, table);
	if (rc < 0 && elf_is_damage(rc))
		rc = elf_section_symbols(elf, SHT_DYNSYM, table);
	return rc;
}

int dt_elf_every_symbol(struct dt_elf *elf, enum dt_elf_table which, dt_elf_symbol_fn *fn, void *context)
{
	struct showing showing = {.elf = elf, .fn = fn, .context = context};
	dt_auto_free char *strings = NULL;
	struct symbol_table table = {0};
	int rc = elf_load_sections(elf);

	if (rc == 0)
		rc = which == DT_ELF_DYNSYM ? find_dynamic(elf, &table) : elf_section_symbols(elf, SHT_SYMTAB, &table);
	if (rc == 0)
		rc = elf_load_strings(elf, &table, &strings);
	if (rc < 0)
		return rc;
	showing.strings = strings;
	showing.strings_size = table.strings_size;
	return elf_walk_symbols(elf, &table, show, &showing);
}
