/* What the files of the symbol reader share: symbols as they are collected, before they are a table. */
#ifndef DT_NATIVE_SYMBOLS_INSIDE_H
#define DT_NATIVE_SYMBOLS_INSIDE_H

#include "native/symbols.h"

struct symbols_entry {
	uint32_t start, size;
	uint32_t end;  /* of the section; 0 if that is not known */
	uint32_t name; /* among `names` */
	uint16_t length;
	uint8_t rank; /* of several at one address the lowest */
	bool label;
};

struct symbols_heap {
	uint64_t base;
	struct symbols_entry *entries;
	size_t count, capacity;
	char *names;
	size_t names_size, names_capacity;
};

/* Sorts, leaves out what is not wanted, and makes the table of the rest. 0 or -ENOMEM. */
int symbols_build(struct symbols_heap *heap, struct dt_symbols *symbols);

/* An ELF file in memory. */
struct symbols_packed {
	uint8_t *bytes;
	size_t size;
	struct dt_elf *elf;
};

/* What .gnu_debugdata holds. 0, -ENOENT (there is none), -ENOTSUP (this build has no liblzma), -EFBIG, -ENOEXEC,
 * -ENOMEM. Released by the caller in any case; must stay where it is while it is read. */
int symbols_unpack(struct dt_elf *elf, struct symbols_packed *packed);
void symbols_packed_release(struct symbols_packed *packed);

#endif
