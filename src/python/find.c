/*
 * Finding the interpreter of a process: the memory map is read once, its files are looked at in order of likelihood,
 * and the first runtime that proves alive wins. Only if no file names a runtime are symbols searched the slow way, then
 * memory itself.
 */
#include "python/find.h"

#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "python/find_inside.h"

/* ---- by files ---- */

static int try_file(struct dt_finder *f, const struct dt_find_module *module, const struct dt_find_file *file,
		    bool in_memory)
{
	uint64_t bias = module->first->start - file->first_link;
	struct dt_find_candidate c = {
	    .module = module,
	    .runtime = file->runtime + bias,
	    .version = file->version ? file->version + bias : 0,
	    .found_by = in_memory       ? "memory symbol"
			: file->section ? "section"
					: "symbol",
	};

	if (file->kind == DT_FIND_RUNTIME)
		return dt_find_try(f, &c);
	if (file->kind == DT_FIND_OLD)
		return dt_find_try_variables(f, module, file, c.found_by);
	return DT_FIND_CONTINUE;
}

static int try_memory(struct dt_finder *f, const struct dt_find_module *module)
{
	struct dt_find_file file;
	int code = dt_find_file_in_memory(f->mem, module, &file);

	if (code < 0)
		return dt_find_hard(code) ? code : DT_FIND_CONTINUE;
	return try_file(f, module, &file, true);
}

static int try_module(struct dt_finder *f, const struct dt_find_module *module, bool deep)
{
	struct dt_find_file *file = dt_find_file_of(&f->place, module, deep, f->cache);
	int code;

	if (!file)
		return -ENOMEM;
	if (file->loads > DT_FIND_LOADS)
		return DT_FIND_CONTINUE;
	if (file->kind == DT_FIND_SHUT)
		return deep ? DT_FIND_CONTINUE : try_memory(f, module);
	code = try_file(f, module, file, false);
	if (code != DT_FIND_CONTINUE || !file->known || file->kind == DT_FIND_NOTHING)
		return code;
	/* It came from the cache and did not prove right: perhaps it is another file by now. */
	dt_find_file_forget(file);
	file = dt_find_file_of(&f->place, module, deep, f->cache);
	return file ? try_file(f, module, file, false) : -ENOMEM;
}

static int by_files(struct dt_finder *f, bool deep)
{
	int code;

	dt_find_cache_pass(f->cache);
	for (unsigned rank = 0; rank < DT_FIND_RANKS; rank++)
		for (size_t i = 0; i < f->count; i++) {
			if (f->modules[i].rank != rank)
				continue;
			if (!dt_budget_step(&f->budget) || !dt_budget_in_time(&f->budget)) /* files are large */
				return -ETIMEDOUT;
			code = try_module(f, &f->modules[i], deep);
			if (code)
				return code;
		}
	return DT_FIND_CONTINUE;
}

/* ---- by scan ---- */

/* The module whose data, or the bss behind it, holds the address. */
static const struct dt_find_module *module_at(const struct dt_finder *f, uint64_t address)
{
	const struct dt_map *map = dt_maps_at(f->maps, address);

	if (map && !map->inode && map > f->maps->maps && map[-1].inode && map[-1].end == map->start)
		map--;
	for (size_t i = 0; map && i < f->count; i++)
		if (map >= f->modules[i].first && map <= f->modules[i].last)
			return &f->modules[i];
	return NULL;
}

static int visit_hit(void *context, uint64_t address, bool cookie)
{
	struct dt_finder *f = context;
	struct dt_find_candidate c = {.module = module_at(f, address), .found_by = "scan"};
	int verdict;

	if (cookie) {
		struct dt_error before = f->reason;
		int code;

		c.runtime = address;
		code = dt_find_try(f, &c);
		/* Another profiler may keep a copy of such a table in its heap; the real one is data of a file. */
		if (!c.module)
			f->reason = before;
		return code;
	}
	for (const struct dt_layout *const *layout = dt_layouts; *layout; layout++) {
		struct dt_find_proof proof;

		if (dt_find_in_variables(*layout))
			continue;
		c.runtime = address - (*layout)->runtime.interpreters_head;
		verdict = dt_find_prove_once(f->mem, *layout, c.runtime, &proof);
		if (verdict == DT_VERDICT_READY)
			verdict = dt_find_try_table(f->mem, *layout, c.runtime, f->python);
		if (verdict < 0)
			return verdict;
		if (verdict == DT_VERDICT_READY)
			return dt_find_found(f, &c);
	}
	return DT_FIND_CONTINUE;
}

/* ---- all of it ---- */

static bool spend(void *context, size_t bytes)
{
	struct dt_budget *budget = context;
	size_t more = bytes / DT_FIND_PAGE;

	if (!dt_budget_step(budget) || more > budget->steps)
		return false;
	budget->steps -= more;
	return true;
}

static int search_everywhere(struct dt_finder *f)
{
	int code = by_files(f, false);

	if (code || f->reason.code)
		return code;
	code = by_files(f, true);
	if (code || f->reason.code)
		return code;
	return dt_find_scan(f->mem, f->maps, visit_hit, f);
}

/* A target may be made so that everything in it looks like an interpreter: every read is charged, so that the search
 * comes to its end whatever is found. */
static int within_budget(struct dt_finder *f, int (*search)(struct dt_finder *))
{
	struct dt_mem *base = f->mem;
	int code = dt_mem_open_metered(base, spend, &f->budget, &f->mem);

	if (code < 0)
		return code;
	dt_budget_begin(&f->budget, DT_FIND_STEPS);
	code = search(f);
	dt_mem_free(f->mem);
	f->mem = base;
	return code;
}

static int search(struct dt_finder *f)
{
	int code = dt_find_modules(f->maps, &f->modules, &f->count);

	if (code == 0)
		code = within_budget(f, search_everywhere);
	/* There may be more to tell than that; but it is not worth another try. */
	if (code == -ETIMEDOUT && f->reason.code && f->reason.code != DT_EAGAIN)
		code = DT_FIND_CONTINUE;
	return code;
}

/* ---- by trail ---- */

static int try_trail(struct dt_finder *f)
{
	dt_find_cache_pass(f->cache);
	return try_module(f, f->modules, false);
}

/* Whatever keeps it from being found so, the whole search meets it, too, and knows the words. */
static bool found_by_trail(const struct dt_finder *f)
{
	struct dt_find_trail *trail = *dt_find_cache_trail(f->cache);
	struct dt_finder short_cut = *f;
	struct dt_maps maps;

	if (!dt_find_trail_leads(trail, f->place.proc))
		return false;
	dt_find_trail_follow(trail, &maps, &short_cut.modules);
	short_cut.maps = &maps;
	short_cut.count = 1;
	if (within_budget(&short_cut, try_trail) == DT_FIND_FOUND)
		return true;
	memset(f->python, 0, sizeof(*f->python));
	return false;
}

enum { UNCHANGED, ANOTHER_PROGRAM, NO_MEMORY };

/* What became of the process since its map was read. Another program begins with a map of its own; of one that ends the
 * memory goes first, and it is neither a zombie nor gone for a moment yet. */
static int since_then(const struct dt_finder *f)
{
	struct dt_maps now;
	int became = UNCHANGED;

	if (dt_maps_read(f->place.proc, &now) < 0)
		return NO_MEMORY;
	if (!now.count)
		became = NO_MEMORY;
	else if (now.maps[0].start != f->maps->maps[0].start || now.maps[0].inode != f->maps->maps[0].inode)
		became = ANOTHER_PROGRAM;
	dt_maps_release(&now);
	return became;
}

/* A program that has just been started is loaded piece by piece: first nothing, then the program, then its libraries.
 */
static int fail_nothing(struct dt_finder *f, struct dt_error *err)
{
	bool young = f->maps->count && dt_find_young(f->place.proc);
	int code;

	if (young && f->count && dt_find_named_python(f->modules[0].first->path)) {
		dt_find_note_verdict(f, DT_VERDICT_STARTING);
		if (err)
			*err = f->reason;
		return DT_EAGAIN;
	}
	/* The words name the process, so what became of it is asked after they are found. */
	code = dt_find_fail_not_python(f->place.proc, !f->maps->count || (young && !f->count), f->cache, err);
	if (code != DT_ENOTPYTHON || !f->maps->count)
		return code;
	switch (since_then(f)) {
	case ANOTHER_PROGRAM:
		return dt_fail(err, DT_EAGAIN, "another program has just begun in process %d", f->place.proc->pid);
	case NO_MEMORY:
		return dt_find_fail_not_python(f->place.proc, true, f->cache, err);
	default:
		return code;
	}
}

static int find_in_maps(struct dt_finder *f, struct dt_error *err)
{
	int code = search(f);

	if (code == DT_FIND_FOUND)
		return 0;
	if (code == -ETIMEDOUT)
		return dt_find_fail_spent(&f->place, err);
	if (code < 0)
		return dt_find_fail_errno(f->place.proc, code, err);
	if (f->maps->count && dt_proc_ended(f->place.proc))
		return dt_find_fail_errno(f->place.proc, -ESRCH, err);
	if (!f->reason.code)
		return fail_nothing(f, err);
	if (err)
		*err = f->reason;
	return f->reason.code;
}

int dt_python_find_cached(const struct dt_proc *proc, struct dt_mem *mem, struct dt_find_cache *cache,
			  struct dt_python *python, struct dt_error *err)
{
	struct dt_maps maps;
	struct dt_finder f = {.place = {.proc = proc}, .mem = mem, .cache = cache, .maps = &maps, .python = python};
	int code;

	memset(python, 0, sizeof(*python));
	if (found_by_trail(&f))
		return 0;
	code = dt_maps_read(proc, &maps);
	if (code < 0)
		return dt_find_fail_errno(proc, code, err);
	code = find_in_maps(&f, err);
	if (code == 0 && f.found)
		dt_find_trail_keep(dt_find_cache_trail(cache), &maps, f.found);
	dt_maps_release(&maps);
	return code;
}

int dt_python_find(const struct dt_proc *proc, struct dt_mem *mem, struct dt_python *python, struct dt_error *err)
{
	struct dt_find_cache *cache = dt_find_cache_new();
	int code;

	if (!cache)
		return dt_fail(err, DT_EMEMORY, "out of memory");
	code = dt_python_find_cached(proc, mem, cache, python, err);
	dt_find_cache_free(cache);
	return code;
}

int dt_python_find_still(const struct dt_find_still *still, struct dt_mem *mem, struct dt_python *python,
			 struct dt_error *err)
{
	struct dt_finder f = {.place = {.still = still}, .mem = mem, .maps = still->maps, .python = python};
	int code;

	memset(python, 0, sizeof(*python));
	f.cache = dt_find_cache_new();
	code = f.cache ? search(&f) : -ENOMEM;
	dt_find_cache_free(f.cache);
	if (code == DT_FIND_FOUND)
		return 0;
	if (code == -ETIMEDOUT)
		return dt_find_fail_spent(&f.place, err);
	if (code < 0)
		return dt_fail(err, DT_EMEMORY, "out of memory");
	if (!f.reason.code)
		return dt_fail(err, DT_ENOTPYTHON, "no Python interpreter is found in %s", still->what);
	if (err)
		*err = f.reason;
	return f.reason.code;
}
