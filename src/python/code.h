/*
 * Code objects, read once and kept. A code object's address may be used again for another one after it was freed, so
 * every look compares the constant part of the object, the texts of its name and file, and its line table with what
 * they were when it was read; a difference means read again. Where looks are known to be true (they were proven), less
 * is enough: see dt_code_cache_confirm().
 */
#ifndef DT_PYTHON_CODE_H
#define DT_PYTHON_CODE_H

#include "base/arena.h"
#include "mem/mem.h"
#include "python/layout.h"

struct dt_code {
	uint64_t address;
	uint32_t id;      /* no other copy has the same: who knows the id knows all that follows */
	uint32_t oldest;  /* copies with an id from before this one are gone; counted round */
	const char *name; /* qualified where there is that */
	const char *file;
	uint32_t first_line;
	uint32_t first_traceable; /* bytes; 0 before 3.11 */
	bool resumable;           /* a generator or coroutine; false where the layout has no flags */
	bool native;              /* a function of C: it has no line, and "" is the name of one that is not known */
	uint64_t bytecode;        /* 3.11+: address of the first instruction; before: 0 */
	const uint8_t *table;
	size_t table_size;
	struct dt_line_memo *memo; /* DT_LINE_MEMO of them */
};

/* Lines that were found, so that a table is not gone through again for each look: by offset of the instruction. */
#define DT_LINE_MEMO 8
struct dt_line_memo {
	int64_t key; /* offset + 2: 0 is none */
	uint32_t line;
};

struct dt_code_cache;

struct dt_code_cache *dt_code_cache_new(const struct dt_layout *layout);
void dt_code_cache_free(struct dt_code_cache *cache);

/* Begins a look: codes are checked against memory once per look. Drops everything when the cache holds more than its
 * limit. */
void dt_code_cache_begin(struct dt_code_cache *cache);

/* The same look goes on at a later moment: what was handed out stays good, what is read is checked again. */
void dt_code_cache_go_on(struct dt_code_cache *cache);

/* The last look was proven: what was read or compared in it is what the objects are. From then on such a copy is good
 * as long as the object has the same version (where it has one), or, without any reading, as long as no code object of
 * the interpreter has ended: dt_code_cache_generation() says before a look how often that has happened (0: not known).
 */
void dt_code_cache_confirm(struct dt_code_cache *cache);
void dt_code_cache_generation(struct dt_code_cache *cache, uint64_t generation);

/* There are, or were, several interpreters, each of which counts for itself: from now on neither versions nor
 * generations tell anything. */
void dt_code_cache_several(struct dt_code_cache *cache);

/* The code at an address, read through mem if it is new or changed. The pointer is valid until the next begin. 0,
 * -EFAULT, -EINVAL (no code object), -ENOMEM. */
int dt_code_get(struct dt_code_cache *cache, struct dt_mem *mem, uint64_t address, const struct dt_code **code);

/* Functions that are not Python's stand beside codes, so that stacks can have both: under a number that the caller
 * makes for each. NULL: there is none. What was added is good until the next begin, and may be gone then. 0 or -ENOMEM.
 */
const struct dt_code *dt_code_native(const struct dt_code_cache *cache, uint64_t number);
int dt_code_native_add(struct dt_code_cache *cache, uint64_t number, const char *name, const char *file,
		       const struct dt_code **code);

#endif
