/*
 * The inside of struct dt_elf, shared by the files of this room.
 *
 * Two kinds of place: a "where" is what the reader understands (an offset in the file, or in the image counted from its
 * load address); an "address" is a link-time virtual address. elf_where() turns the second into the first.
 */
#ifndef DT_ELF_INSIDE_H
#define DT_ELF_INSIDE_H

#include <elf.h>
#include <errno.h>
#include <stdbool.h>

#include "elf/elf.h"

#define HEAD_SIZE     4096              /* read once: headers, program headers, often the notes */
#define SEGMENT_LIMIT ((size_t)1 << 17) /* a core file has one per mapping */
#define SECTION_LIMIT ((size_t)1 << 17)
#define STRINGS_LIMIT ((size_t)64 << 20)
#define SYMBOLS_LIMIT ((uint64_t)64 << 20) /* bytes of a symbol table that is searched from end to end */
#define DYNAMIC_LIMIT ((size_t)1024)       /* entries */
#define CHAIN_LIMIT   ((size_t)1 << 16)    /* symbols in one hash bucket */
#define NOTES_LIMIT   ((size_t)64 << 10)

struct dt_elf {
	dt_elf_read_fn *read;
	void *context;
	int fd;
	bool image;
	uint64_t load_address; /* of an image; 0 if unknown */
	uint64_t low, high;    /* addresses of all PT_LOAD, low rounded down to a page */
	Elf64_Ehdr header;
	Elf64_Phdr *segments;
	size_t segment_count;
	/* Read when they are first needed. */
	bool sections_tried;
	Elf64_Shdr *sections;
	size_t section_count;
	char *section_names; /* NUL-terminated */
	size_t section_names_size;
	size_t head_size;
	uint8_t head[HEAD_SIZE];
};

/* All of it, or a negative errno (-ENOEXEC where the file ends before). */
int elf_read(struct dt_elf *elf, uint64_t where, void *buffer, size_t size);

/* Where size bytes at a link-time address lie; false if no segment holds all of them. */
bool elf_where(const struct dt_elf *elf, uint64_t address, uint64_t size, uint64_t *where);

/* Where the content of a segment lies. */
uint64_t elf_segment_where(const struct dt_elf *elf, const Elf64_Phdr *segment);

/* The section header table with its names; 0, also if there is none. */
int elf_load_sections(struct dt_elf *elf);

/* Symbols as one of the tables has them. */
struct symbol_table {
	uint64_t symbols, strings; /* where */
	uint64_t count;            /* of symbols; 0 if only the hash table knows */
	uint64_t strings_size;
	uint64_t gnu_hash; /* where; 0 if there is none */
};

/* The first table of that type (SHT_SYMTAB, SHT_DYNSYM), as the section headers describe it. -ENOENT if there is none.
 */
int elf_section_symbols(struct dt_elf *elf, uint32_t type, struct symbol_table *table);

/* All strings of a table with a NUL behind them; freed by the caller. -ENOENT beyond STRINGS_LIMIT. */
int elf_load_strings(struct dt_elf *elf, const struct symbol_table *table, char **strings);

/* Shows the symbols of a table one after the other, those that define nothing too, up to SYMBOLS_LIMIT. What the
 * function returns other than 0 ends it, and is returned. */
typedef int elf_symbol_fn(void *context, const Elf64_Sym *symbol);
int elf_walk_symbols(struct dt_elf *elf, const struct symbol_table *table, elf_symbol_fn *fn, void *context);

/* The table of dynamic symbols as PT_DYNAMIC describes it. -ENOENT if there is none. */
int elf_dynamic_symbols(struct dt_elf *elf, struct symbol_table *table);

/* Fills in the number of symbols where only the GNU hash table knows it. */
int elf_count_hashed(struct dt_elf *elf, struct symbol_table *table);

/* Looks one name up in the GNU hash table. 0, -ENOENT, or another errno. */
int elf_hash_lookup(struct dt_elf *elf, const struct symbol_table *table, const char *name, Elf64_Sym *symbol);

/* Damage in one table is no reason not to look into another one: only errors of reading itself are passed on. */
static inline bool elf_is_damage(int rc)
{
	return rc == -ENOENT || rc == -ENOEXEC || rc == -EFAULT;
}

/* Whether a symbol is a definition that has an address in memory. */
static inline bool elf_symbol_defined(const Elf64_Sym *symbol)
{
	unsigned type = ELF64_ST_TYPE(symbol->st_info);

	return symbol->st_shndx != SHN_UNDEF && symbol->st_shndx != SHN_ABS && symbol->st_value &&
	       (type == STT_NOTYPE || type == STT_OBJECT || type == STT_FUNC || type == STT_GNU_IFUNC);
}

#endif
