/*
 * The code that a process has mapped: which file an address lies in, the table that leads from its frames to their
 * callers, and the names of its functions. Files are opened when they are first needed. What a file that was replaced
 * or removed held is read from the file that is still mapped, as long as the kernel has it; of the vDSO, and of what
 * has no file any more, from memory.
 *
 * Used by one thread at a time; a file system that does not answer may block it for good (base/patience.h).
 */
#ifndef DT_NATIVE_MODULES_H
#define DT_NATIVE_MODULES_H

#include "mem/mem.h"
#include "native/symbols_cache.h"
#include "native/tables.h"
#include "native/unwind.h"
#include "proc/proc.h"

#define DT_MODULES_LIMIT 65536 /* mappings of code */

struct dt_modules;

/* All borrowed. NULL: out of memory. */
struct dt_modules *dt_modules_new(const struct dt_proc *proc, struct dt_mem *live, struct dt_tables *tables,
				  struct dt_symbols_cache *symbols);
void dt_modules_free(struct dt_modules *modules);

/* Reads the map anew: what is known of mappings that are still there is kept. 0 or a negative errno. */
int dt_modules_refresh(struct dt_modules *modules);

/* A dt_unwind_find_fn; its context is the modules. */
bool dt_modules_find(void *modules, uint64_t address, struct dt_unwind_module *module);

struct dt_place {
	const char *path; /* of the file as the target has it, "[vdso]", or "" (code that was made at run time); as long
			     as the modules */
	uint64_t offset;  /* link-time address, in the file */
	const char *symbol; /* raw; NULL: not known. As long as the cache of symbols */
	uint64_t into;      /* how far into the function */
	uint32_t serial;    /* of the mapping: another one at the same place has another number */
	bool replaced;      /* the file is not to be had, or is another one now */
};

/* What an address lies in. False: in no code. */
bool dt_modules_place(struct dt_modules *modules, uint64_t address, struct dt_place *place);

#endif
