/*
 * As much of ELF as is needed to find Python in a file or in memory: sections, symbols, load addresses, build id.
 * 64-bit little endian only. Files are hostile: every offset and count is checked, every size has a limit, nothing is
 * mapped (a file that is cut short while it is read must not become a SIGBUS).
 */
#ifndef DT_ELF_ELF_H
#define DT_ELF_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct dt_elf;

/* Where the bytes come from: a file (offset = file offset) or an image in memory (offset = address - load address).
 * Returns the number of bytes read or a negative errno. */
typedef ssize_t dt_elf_read_fn(void *context, uint64_t offset, void *buffer, size_t size);

/* Opens a file; fd stays the caller's and must live as long as the elf. 0 or a negative errno (-ENOEXEC: no usable
 * ELF). */
int dt_elf_open(int fd, struct dt_elf **elf);

/* The same of a file whose bytes a function tells: one that was packed in another one. */
int dt_elf_open_file(dt_elf_read_fn *read, void *context, struct dt_elf **elf);

/* Opens an image that lies in memory: no sections there, symbols come from PT_DYNAMIC. Where ld.so has relocated the
 * addresses in there, they make sense only to the second one, which knows the load address (that of the mapping with
 * file offset 0); prefer it. */
int dt_elf_open_image(dt_elf_read_fn *read, void *context, struct dt_elf **elf);
int dt_elf_open_image_at(dt_elf_read_fn *read, void *context, uint64_t load_address, struct dt_elf **elf);
void dt_elf_free(struct dt_elf *elf);

/* e_machine, and e_type (ET_DYN, ET_EXEC, ET_CORE). */
uint16_t dt_elf_machine(const struct dt_elf *elf);
uint16_t dt_elf_type(const struct dt_elf *elf);

struct dt_elf_range {
	uint64_t address; /* link-time virtual address: add the load bias */
	uint64_t offset;  /* in the file */
	uint64_t size;
};
/* -ENOENT if there is none. */
int dt_elf_section(struct dt_elf *elf, const char *name, struct dt_elf_range *range);

/* Looks in .dynsym, then .symtab. For several names at once: found[i].size == 0 && address == 0 where there is none.
 * At most 64 names, each up to 255 bytes. .offset is 0 for what has no bytes in the file. Returns the number found or a
 * negative errno. */
int dt_elf_symbols(struct dt_elf *elf, const char *const *names, size_t count, struct dt_elf_range *found);

/* The same in the dynamic symbols alone, by their hash table where there is one: a few reads however large the file. */
int dt_elf_dynamic_symbols(struct dt_elf *elf, const char *const *names, size_t count, struct dt_elf_range *found);

/* A symbol that has an address in memory. */
struct dt_elf_symbol {
	const char *name; /* as long as the call; not UTF-8 in every case, and as long as its maker liked */
	uint64_t address, size;
	uint64_t end;          /* of its section or, where that is not told, of its segment; 0: it lies in neither */
	uint8_t type, binding; /* STT_*, STB_* */
	bool code;             /* it lies in what may be executed */
};

/* Shows all symbols of .symtab or of .dynsym (of an image: of the latter alone), in the order of the table. What the
 * function returns other than 0 ends it, and is returned. -ENOENT if there is no such table; tables of more than 64 MB
 * of names are none, and of one with more than 64 MB of symbols the first are shown. */
enum dt_elf_table { DT_ELF_SYMTAB, DT_ELF_DYNSYM };
typedef int dt_elf_symbol_fn(void *context, const struct dt_elf_symbol *symbol);
int dt_elf_every_symbol(struct dt_elf *elf, enum dt_elf_table table, dt_elf_symbol_fn *fn, void *context);

/* The pieces of code through which the file calls functions of others, each with the name of the function. Only of a
 * file with section headers, for x86-64 and aarch64; otherwise as above. */
int dt_elf_every_plt(struct dt_elf *elf, dt_elf_symbol_fn *fn, void *context);

/* The load bias, given a mapping of the file: what to add to link-time addresses. -ENOENT if no PT_LOAD fits. */
int dt_elf_bias(struct dt_elf *elf, uint64_t map_start, uint64_t map_offset, uint64_t *bias);

/* Writable PT_LOAD ranges (data and bss), for scanning; returns the number filled in, at most max. */
size_t dt_elf_writable(struct dt_elf *elf, struct dt_elf_range *ranges, size_t max);

/* The program headers as they are; no segment wraps around, in the file or in memory. */
struct dt_elf_segment {
	uint32_t type, flags; /* PT_*, PF_* */
	uint64_t offset, file_size;
	uint64_t address, size;
};
size_t dt_elf_segment_count(const struct dt_elf *elf);
struct dt_elf_segment dt_elf_segment(const struct dt_elf *elf, size_t index);

/* The bytes at a link-time address. -ENOENT if no segment holds all of them. */
int dt_elf_content(struct dt_elf *elf, uint64_t address, void *buffer, size_t size);

/* The bytes at an offset in the file (or in the image). */
int dt_elf_bytes(struct dt_elf *elf, uint64_t offset, void *buffer, size_t size);

/* What .gnu_debuglink says: the name of the file with what was stripped, without a directory, and the CRC of it.
 * -ENOENT if there is none that makes sense. */
int dt_elf_debug_link(struct dt_elf *elf, char name[256], uint32_t *crc);

/* Raw build id; returns its length, 0 if there is none. */
size_t dt_elf_build_id(struct dt_elf *elf, uint8_t id[64]);

#endif
