/*
 * Finds the interpreter inside a process: which mapping holds it, where its runtime lies, which version and layout it
 * has. Section .PyRuntime, then symbol _PyRuntime (of the file, else of the image in memory), then a scan of writable
 * memory; before 3.7 the symbols of single variables, and a scan where they are stripped. Every candidate is proven by
 * following runtime -> interpreter -> thread -> interpreter. File names decide nothing.
 */
#ifndef DT_PYTHON_FIND_H
#define DT_PYTHON_FIND_H

#include "base/error.h"
#include "mem/mem.h"
#include "proc/proc.h"
#include "python/layout.h"

/* Where the variables of an interpreter without a runtime are (DT_GIL_IN_VARIABLES); 0: not known. Only the first is
 * named in a stripped library. */
struct dt_variables {
	uint64_t current; /* _PyThreadState_Current: the thread state that has the GIL, NULL while nobody has it */
	uint64_t last_holder, locked, switch_number; /* of the GIL: all three or none */
	uint64_t lock; /* of 2.7: a pointer to what is waited on for the GIL, NULL before the first thread */
	uint64_t wait_start, wait_end; /* of 3.6: the same lies in there */
	uint64_t collecting;           /* int: the garbage collector is at work */
};

struct dt_python {
	struct dt_layout layout;
	struct dt_version version;
	uint64_t runtime; /* address of _PyRuntime, or of the variable that heads the list of interpreters */
	struct dt_variables variables;
	uint64_t code_start; /* where the code of the program or library that holds it lies; both 0: not known */
	uint64_t code_end;
	char library[4096];   /* path of the mapping that holds it, as the target sees it; "" if anonymous */
	const char *found_by; /* "section", "symbol", "memory symbol", "scan" */
	bool newer;           /* newer than the newest known version */
};

/* DT_ENOTPYTHON, DT_EAGAIN (a Python that has only just begun, or is going away), DT_EUNSUPPORTED (known, and not
 * readable: older than 3.6 except for 2.7), DT_EPERMISSION, DT_EENDED. The text of permission errors is filled in by
 * the caller. */
int dt_python_find(const struct dt_proc *proc, struct dt_mem *mem, struct dt_python *python, struct dt_error *err);

/* The same in something that does not change any more: a core file. */
struct dt_find_still {
	struct dt_maps *maps;
	/* Opens the file behind a mapping: a descriptor for the caller, or a negative errno. */
	int (*open)(void *context, const struct dt_map *map);
	void *context;
	const char *what; /* for words: "core.12" */
};
int dt_python_find_still(const struct dt_find_still *still, struct dt_mem *mem, struct dt_python *python,
			 struct dt_error *err);

/* A quick look at the memory map alone: may this be Python? For choosing among all processes of a host; reads no
 * memory. True if a mapping's file holds .PyRuntime or exports _PyRuntime, or is named like an interpreter. `cache`
 * remembers the answer per file (device, inode) and may be NULL. */
struct dt_find_cache;
struct dt_find_cache *dt_find_cache_new(void);
void dt_find_cache_free(struct dt_find_cache *cache);
bool dt_python_likely(const struct dt_proc *proc, struct dt_find_cache *cache);

/* dt_python_find with what was learnt of the same files in other processes (for a survey of 500 processes). */
int dt_python_find_cached(const struct dt_proc *proc, struct dt_mem *mem, struct dt_find_cache *cache,
			  struct dt_python *python, struct dt_error *err);

/* "3.15.0rc1" */
void dt_version_text(const struct dt_version *version, char text[24]);

#endif
