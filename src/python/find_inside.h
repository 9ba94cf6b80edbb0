/* The inside of finding: shared by the find_*.c files and their tests, not for other rooms. */
#ifndef DT_PYTHON_FIND_INSIDE_H
#define DT_PYTHON_FIND_INSIDE_H

#include <errno.h>

#include "elf/elf.h"
#include "python/budget.h"
#include "python/find.h"

/* Where we look: in a process, or in something that stands still. One of them is NULL. */
struct dt_find_place {
	const struct dt_proc *proc;
	const struct dt_find_still *still;
};

/* ---- modules: the files that are loaded in a process (find_files.c) ---- */

/* A run of mappings of one file with rising offsets: one loaded program or library. */
struct dt_find_module {
	const struct dt_map *first, *last;
	unsigned rank; /* 0 is looked at first */
};
#define DT_FIND_RANKS 4

/* Fills *modules (in the arena of the maps). -ENOMEM. */
int dt_find_modules(struct dt_maps *maps, struct dt_find_module **modules, size_t *count);

/* The last part of a path; and whether it is named like an interpreter: "python3.12", "libpython3.12.so.1.0". */
const char *dt_find_basename(const char *path);
bool dt_find_named_python(const char *path);

/* ---- what a file holds (find_files.c) ---- */

enum dt_find_kind {
	DT_FIND_UNSEEN,
	DT_FIND_SHUT,    /* the file cannot be opened */
	DT_FIND_NOTHING, /* opened, and no Python in it */
	DT_FIND_RUNTIME, /* _PyRuntime: 3.7 and later */
	DT_FIND_OLD,     /* an interpreter from before that: variables */
};

struct dt_find_file {
	struct dt_find_file *chain;
	uint64_t device, inode, name; /* the key; name is a hash of the path */
	enum dt_find_kind kind;
	bool section;   /* the runtime was found by its section, else by its symbol */
	bool deep;      /* .symtab was looked at too */
	bool known;     /* it was in the cache: its inode may have been used again since */
	uint32_t pass;  /* in which it was opened */
	uint32_t asked; /* the last pass that asked for it, and how often that did */
	unsigned loads;
	/* Link-time addresses; version is that of Py_Version, 0 where there is none. Of an old one the runtime is
	 * interp_head, 0 if no symbol tells. */
	uint64_t runtime, version;
	struct dt_variables variables;
	/* The module's first mapping has this offset when its first byte was linked at this address. */
	uint64_t first_offset, first_link;
};

/* What the file behind a module holds, from the cache or by opening it; of one that was asked for more than
 * DT_FIND_LOADS times in this pass what was known before. deep looks at .symtab too: slow. NULL if out of memory. */
struct dt_find_file *dt_find_file_of(const struct dt_find_place *place, const struct dt_find_module *module, bool deep,
				     struct dt_find_cache *cache);

/* Begins another pass over the modules of a process: what is in the cache was learnt before it. */
void dt_find_cache_pass(struct dt_find_cache *cache);
void dt_find_file_forget(struct dt_find_file *file);

/* The same from the image in the target's memory, for a file that is gone. Fills *file; 0 or a negative errno. */
int dt_find_file_in_memory(struct dt_mem *mem, const struct dt_find_module *module, struct dt_find_file *file);

/* The version that the module's data tells in words ("3.7.16 (..."). For people, and for a program that hides
 * sys.hexversion: not proof. */
bool dt_find_version_of_module(struct dt_mem *mem, const struct dt_maps *maps, const struct dt_find_module *module,
			       struct dt_version *version);
/* The first such text in the bytes that has a NUL before it. */
bool dt_find_version_in_bytes(const char *bytes, size_t size, struct dt_version *version);
/* "libpython3.7m.so.1.0" -> 3.7 */
bool dt_find_version_in_name(const char *path, struct dt_version *version);

/* ---- proof (find_prove.c) ---- */

enum dt_find_verdict {
	DT_VERDICT_NO,       /* this is no runtime of that layout */
	DT_VERDICT_EMPTY,    /* a runtime without an interpreter: not yet begun, or shut down */
	DT_VERDICT_STARTING, /* interpreters, but no thread in any of them, or no sys module yet */
	DT_VERDICT_ENDING,
	DT_VERDICT_READY,
};

struct dt_find_proof {
	uint64_t interpreter, sysdict; /* of one interpreter that has threads */
};

/* Follows runtime -> interpreter -> thread -> interpreter. A verdict, or a negative errno if the target may not be read
 * (-EPERM, -EACCES), is gone (-ESRCH) or has cost enough (-ETIMEDOUT). */
int dt_find_prove(struct dt_mem *mem, const struct dt_layout *layout, uint64_t runtime, struct dt_find_proof *proof);
/* The same with a single attempt: for places that are unlikely to be one. */
int dt_find_prove_once(struct dt_mem *mem, const struct dt_layout *layout, uint64_t runtime,
		       struct dt_find_proof *proof);

/* sys.hexversion. -ENOENT if it is not there. */
int dt_find_hexversion(struct dt_mem *mem, const struct dt_layout *layout, uint64_t sysdict, uint32_t *hex);

/* 2.7 is built with characters of two or four bytes, as sys.maxunicode tells. Nothing is changed where that is not
 * there, or in a table of another version. */
void dt_find_set_width(struct dt_mem *mem, uint64_t sysdict, struct dt_layout *layout);

/* Tries one table: proof, and sys.hexversion must agree with it. Fills layout, version and runtime of *python when
 * ready. A verdict or a negative errno. */
int dt_find_try_table(struct dt_mem *mem, const struct dt_layout *layout, uint64_t runtime, struct dt_python *python);

/* The same with all tables until one fits; those of interpreters without a runtime are tried on nothing but these. */
int dt_find_try_tables(struct dt_mem *mem, uint64_t runtime, bool variables, struct dt_python *python);

static inline bool dt_find_in_variables(const struct dt_layout *layout)
{
	return layout->gil_place == DT_GIL_IN_VARIABLES;
}

/* Could this be the address of an object in a program's memory? */
static inline bool dt_find_plausible(uint64_t address)
{
	return address >= 0x1000 && address < (UINT64_C(1) << 48) && (address & 7) == 0;
}

static inline bool dt_find_hard(int code)
{
	return code == -EACCES || code == -EPERM || code == -ESRCH || code == -ETIMEDOUT;
}

/* Asked for each member n = 0, 1, ... of a list: has it come to where it was at the last power of two? Then it goes
 * round. *passed is 0 at first. */
static inline bool dt_find_goes_round(uint64_t *passed, uint64_t address, unsigned n)
{
	if (address == *passed)
		return true;
	if ((n & (n + 1)) == 0)
		*passed = address;
	return false;
}

/* ---- trail (find_trail.c) ---- */

struct dt_find_trail;

/* Remembers that Python is in this module of a process, instead of what was remembered before. *trail is NULL at first,
 * and afterwards where memory is short or the module has too many mappings. */
void dt_find_trail_keep(struct dt_find_trail **trail, const struct dt_maps *maps, const struct dt_find_module *module);
void dt_find_trail_free(struct dt_find_trail *trail);

/* Whether a process has the same program and the same module at the same addresses. NULL is no trail. */
bool dt_find_trail_leads(const struct dt_find_trail *trail, const struct dt_proc *proc);

/* The module, and a map of nothing else. Both are the trail's, and good until it is kept anew or freed. */
void dt_find_trail_follow(struct dt_find_trail *trail, struct dt_maps *maps, struct dt_find_module **module);

/* The one of a cache. */
struct dt_find_trail **dt_find_cache_trail(struct dt_find_cache *cache);

/* ---- scan (find_scan.c) ---- */

#define DT_FIND_SCAN_LIMIT ((size_t)64 << 20) /* of files' data, and again of anonymous memory */

/* Searches memory for runtimes that no symbol names. visit is told where one may lie (cookie: the 3.13+ mark is there;
 * else address is where interpreters.head may be, in a runtime of an older version), and ends the scan by returning
 * non-zero, which is returned. 0 at the end, or a negative errno. */
typedef int dt_find_visit_fn(void *context, uint64_t address, bool cookie);
int dt_find_scan(struct dt_mem *mem, const struct dt_maps *maps, dt_find_visit_fn *visit, void *context);

/* The same within one block of memory; the words of a hit must lie in it as a whole. */
int dt_find_scan_block(const uint8_t *block, size_t size, uint64_t address, dt_find_visit_fn *visit, void *context);

/* ---- one candidate (find_try.c) ---- */

/*
 * What finding may cost, in reads: one for each, and one more for each page that it is long; and the time of a
 * dt_budget. A Python is found with some hundreds. All of memory that is ever scanned has 33,000 pages; a stripped
 * library from before 3.7, with 7,000 pointers in its data that are tried with four tables, costs 60,000.
 */
#define DT_FIND_STEPS ((size_t)1 << 19)
#define DT_FIND_PAGE  4096

/* Of a file that is loaded more often in one process the others are left out. The C library has 16 name spaces for
 * dlmopen(). */
#define DT_FIND_LOADS 32

struct dt_finder {
	struct dt_find_place place;
	struct dt_mem *mem; /* spends of the budget: fails with -ETIMEDOUT when that is used up */
	struct dt_budget budget;
	struct dt_find_cache *cache;
	struct dt_maps *maps;
	struct dt_find_module *modules;
	size_t count;
	struct dt_python *python;
	const struct dt_find_module *found; /* that holds it; NULL: none, it is in anonymous memory */
	struct dt_error reason;             /* code 0: no runtime was seen so far */
};

/* Where a runtime may lie. */
struct dt_find_candidate {
	const struct dt_find_module *module;  /* NULL: in anonymous memory */
	uint64_t runtime, version;            /* version: address of Py_Version or 0 */
	const struct dt_variables *variables; /* of one without a runtime, which is interp_head then; else NULL */
	const char *found_by;
};

enum { DT_FIND_CONTINUE = 0, DT_FIND_FOUND = 1 }; /* what a step returns, or a negative errno */

/* Proves the candidate; fills f->python when it is found, else f->reason may say why not. */
int dt_find_try(struct dt_finder *f, const struct dt_find_candidate *c);

/* For a candidate whose runtime is not to be found: it is not there yet, or of a version that is not read. */
int dt_find_try_later(struct dt_finder *f, const struct dt_find_candidate *c);

/* The rest of f->python, when layout and version are there already. DT_FIND_FOUND. */
int dt_find_found(struct dt_finder *f, const struct dt_find_candidate *c);

/* ---- what a C library changes (find_fit.c) ---- */

/* Moves what lies behind the GIL of the runtime to where it is in this process. Nothing is changed where that cannot be
 * told. */
void dt_find_fit(struct dt_mem *mem, uint64_t runtime, struct dt_layout *layout);

/* ---- interpreters without a runtime (find_variables.c) ---- */

/* The symbols of an interpreter from before 3.7. Fills runtime and variables of *file. */
void dt_find_variable_symbols(struct dt_elf *elf, struct dt_find_file *file);

/* The same as dt_find_try() for a module with such an interpreter. Where no symbol tells, its data is searched for the
 * variable that heads the list of interpreters. */
int dt_find_try_variables(struct dt_finder *f, const struct dt_find_module *module, const struct dt_find_file *file,
			  const char *found_by);

/* Drops what is not what its name says, or another's of the same name. */
void dt_find_check_variables(struct dt_mem *mem, struct dt_variables *variables);

/* "Python is just starting": a reason that will pass. */
void dt_find_note_verdict(struct dt_finder *f, int verdict);

/* "Python 3.7 is not read yet"; version may be NULL, why goes behind it. */
void dt_find_note_unsupported(struct dt_finder *f, const struct dt_version *version, const char *why);

/* ---- words (find_words.c) ---- */

/* The kernel's name of the process, printable. */
void dt_find_name(const struct dt_proc *proc, char name[32]);

/* "process 12 (sleep)", or the name of what stands still. */
#define DT_FIND_WHERE 512
void dt_find_where(const struct dt_find_place *place, char where[DT_FIND_WHERE]);

/* "process 12 (sleep) has no Python interpreter in it", with a hint; zombies and kernel threads get their own words. */
int dt_find_fail_not_python(const struct dt_proc *proc, bool no_maps, struct dt_find_cache *cache,
			    struct dt_error *err);
/* For a negative errno from /proc or from memory. */
int dt_find_fail_errno(const struct dt_proc *proc, int code, struct dt_error *err);

/* When the search was given up because of its budget. */
int dt_find_fail_spent(const struct dt_find_place *place, struct dt_error *err);

/* dt_python_likely() within a budget, which may be that of several processes. */
bool dt_find_likely(const struct dt_proc *proc, struct dt_find_cache *cache, struct dt_budget *budget);

/* Is this process so young that its libraries may not all be loaded? */
bool dt_find_young(const struct dt_proc *proc);

struct dt_version dt_version_from_hex(uint32_t hex);

#endif
