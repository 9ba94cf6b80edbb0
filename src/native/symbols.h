/*
 * The functions of one module by address: what .symtab, .dynsym, the packed table of MiniDebugInfo (.gnu_debugdata) and
 * a separate debug file tell, in one sorted table. Addresses are link-time addresses; names are raw (demangle.h),
 * without the versions that some tables have behind an "@". Calls through the procedure linkage table have a name of
 * their own, "name@plt".
 *
 * Functions are STT_FUNC and STT_GNU_IFUNC, and labels without a type in code that lies in no function. One without
 * a size reaches to the next one or to the end of its section. Of several at one address the name is, in this order:
 * that of a function rather than of a label, of a global symbol rather than of a local one rather than of a weak one,
 * the one with fewer underscores in front, the shorter one, the first by letters. The size is its own, or if it has
 * none the largest.
 *
 * Files are hostile: what is damaged is left out.
 */
#ifndef DT_NATIVE_SYMBOLS_H
#define DT_NATIVE_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/elf.h"

#define DT_SYMBOLS_LIMIT        ((size_t)4 << 20)   /* symbols; the largest libraries have a million */
#define DT_SYMBOLS_NAMES_LIMIT  ((size_t)256 << 20) /* bytes of all names */
#define DT_SYMBOLS_NAME_LIMIT   ((size_t)4096)      /* bytes of one; what is longer is cut off */
#define DT_SYMBOLS_PACKED_LIMIT ((size_t)64 << 20)  /* bytes that MiniDebugInfo may have, unpacked */

enum dt_symbols_source {
	DT_SYMBOLS_SYMTAB = 1,
	DT_SYMBOLS_DYNSYM = 2,
	DT_SYMBOLS_PACKED = 4,
	DT_SYMBOLS_DEBUG_FILE = 8,
	DT_SYMBOLS_PLT = 16,
};

/* Why there may be fewer names than the files have. */
enum dt_symbols_missing {
	DT_SYMBOLS_NO_LZMA = 1, /* there is MiniDebugInfo, and this build cannot unpack it */
	DT_SYMBOLS_DAMAGED = 2, /* a table could not be read */
	DT_SYMBOLS_CUT = 4,     /* a limit was met */
};

/* The inside of the table: addresses are counted from the base. */
struct dt_symbol_row {
	uint32_t start, size;
	uint32_t name;  /* where it begins among the names */
	uint32_t outer; /* the nearest row before it that may reach over it, plus 1; 0: none */
};

struct dt_symbols {
	uint64_t base;
	size_t count;
	struct dt_symbol_row *rows; /* starts always rise */
	char *names;
	size_t names_size;
	unsigned sources; /* enum dt_symbols_source: where any symbol came from */
	unsigned missing; /* enum dt_symbols_missing */
};

/* debug: the separate debug file, or NULL. 0, -ENOENT (no function is known; `missing` is filled in all the same) or
 * -ENOMEM. Released by the caller in any case. */
int dt_symbols_read(struct dt_elf *elf, struct dt_elf *debug, struct dt_symbols *symbols);
void dt_symbols_release(struct dt_symbols *symbols);

struct dt_symbol {
	const char *name; /* as long as the table */
	uint64_t address, size;
};

/* The innermost function that an address lies in. False if that is not known. */
bool dt_symbols_find(const struct dt_symbols *symbols, uint64_t address, struct dt_symbol *symbol);

/* What the table takes. */
size_t dt_symbols_bytes(const struct dt_symbols *symbols);

#endif
