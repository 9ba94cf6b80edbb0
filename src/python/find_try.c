/*
 * One candidate: a place where a runtime may lie. From 3.13 on it says itself what it is; before that a version that
 * the file tells (Py_Version) chooses the table, else all tables are tried. Why a candidate was not taken is noted: a
 * runtime that was found and cannot be read now (starting, ending) or at all (too old) is the reason to give if no
 * better one comes.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "python/debug_offsets.h"
#include "python/dict.h"
#include "python/find_inside.h"

#define OBJECT_ATTEMPTS 8

/* The first reason stays, except that one which will pass is better than one which will not. */
static bool better(const struct dt_finder *f, int code)
{
	return !f->reason.code || (f->reason.code != DT_EAGAIN && code == DT_EAGAIN);
}

void dt_find_note_verdict(struct dt_finder *f, int verdict)
{
	static const char *const now[] = {
	    [DT_VERDICT_NO] = "cannot be followed at this moment (it is starting or ending)",
	    [DT_VERDICT_EMPTY] = "is not running at this moment (it is starting, or was shut down)",
	    [DT_VERDICT_STARTING] = "is just starting",
	    [DT_VERDICT_ENDING] = "is just ending",
	};
	static const char *const then[] = {
	    [DT_VERDICT_NO] = "cannot be followed (it was starting or ending, or what it needs is missing)",
	    [DT_VERDICT_EMPTY] = "was not running (it was starting, or was shut down)",
	    [DT_VERDICT_STARTING] = "was just starting",
	    [DT_VERDICT_ENDING] = "was just ending",
	};
	char where[DT_FIND_WHERE];

	if (!better(f, DT_EAGAIN))
		return;
	dt_find_where(&f->place, where);
	dt_fail(&f->reason, DT_EAGAIN, "Python %s in %s", (f->place.still ? then : now)[verdict], where);
}

void dt_find_note_unsupported(struct dt_finder *f, const struct dt_version *version, const char *why)
{
	char where[DT_FIND_WHERE], which[16] = "";

	if (!better(f, DT_EUNSUPPORTED))
		return;
	dt_find_where(&f->place, where);
	if (version)
		snprintf(which, sizeof(which), " %u.%u", version->major, version->minor);
	dt_fail(&f->reason, DT_EUNSUPPORTED, "Python%s is not read yet%s, in %s", which, why, where);
}

/* Of a target in a chroot the kernel shows us the way from our own root. */
static const char *own_path(const struct dt_proc *proc, const char *path)
{
	char root[sizeof(((struct dt_python *)0)->library)];
	ssize_t length = proc ? readlinkat(proc->dir, "root", root, sizeof(root)) : 0;

	if (length > 1 && (size_t)length < sizeof(root) && strncmp(path, root, (size_t)length) == 0 &&
	    path[length] == '/')
		return path + length;
	return path;
}

/* From the first to the last mapping that can be run. */
static void note_code(struct dt_python *python, const struct dt_find_module *module)
{
	for (const struct dt_map *map = module->first; map <= module->last; map++) {
		if (!map->exec)
			continue;
		python->code_start = python->code_end ? python->code_start : map->start;
		python->code_end = map->end;
	}
}

int dt_find_found(struct dt_finder *f, const struct dt_find_candidate *c)
{
	struct dt_python *python = f->python;

	f->found = c->module;
	python->runtime = c->runtime;
	dt_find_fit(f->mem, c->runtime, &python->layout);
	if (c->variables) {
		python->variables = *c->variables;
		dt_find_check_variables(f->mem, &python->variables);
	}
	if (c->module)
		note_code(python, c->module);
	python->found_by = c->found_by;
	snprintf(python->library, sizeof(python->library), "%s",
		 c->module ? own_path(f->place.proc, c->module->first->path) : "");
	return DT_FIND_FOUND;
}

/* ---- one candidate ---- */

static int try_self_described(struct dt_finder *f, const struct dt_find_candidate *c, const uint8_t *table, size_t size,
			      uint32_t hex)
{
	struct dt_version version = dt_version_from_hex(hex);
	struct dt_python *python = f->python;
	struct dt_find_proof proof;
	struct dt_error err = {0};
	bool newer = false;
	int verdict;

	if (dt_debug_offsets_layout(table, size, &python->layout, &newer, &err) < 0) {
		if (better(f, err.code))
			f->reason = err;
		return DT_FIND_CONTINUE;
	}
	verdict = dt_find_prove(f->mem, &python->layout, c->runtime, &proof);
	if (verdict < 0)
		return verdict;
	if (verdict == DT_VERDICT_NO && newer) {
		dt_find_note_unsupported(f, &version, ": its structures are not as it says");
		return DT_FIND_CONTINUE;
	}
	if (verdict != DT_VERDICT_READY) {
		dt_find_note_verdict(f, verdict);
		return DT_FIND_CONTINUE;
	}
	python->version = version;
	python->version.free_threaded = python->layout.free_threaded;
	python->newer = newer;
	return dt_find_found(f, c);
}

/* By the table of another build the proof is right, too, but objects are not: sys.__dict__ is no dict. It may be
 * growing at this moment, so it is tried more than once. */
static bool objects_fit(struct dt_mem *mem, const struct dt_layout *layout, uint64_t sysdict)
{
	for (int attempt = 0; attempt < OBJECT_ATTEMPTS; attempt++)
		if (dt_dict_is(mem, layout, sysdict))
			return true;
	return false;
}

/* The table of a version that proves right, and sys.__dict__: a verdict, or a negative errno. Where none fits the
 * objects, Python is just starting; in what stands still they may be missing, and the ordinary one is taken. */
static int choose_table(struct dt_finder *f, const struct dt_find_candidate *c, struct dt_version version,
			const struct dt_layout **chosen, uint64_t *sysdict)
{
	int best = DT_VERDICT_NO;

	for (const struct dt_layout *const *layout = dt_layouts; *layout; layout++) {
		struct dt_find_proof proof = {0}; /* not every verdict fills it in */
		int verdict;

		if (!dt_layout_is_for(*layout, version.major, version.minor, version.micro) ||
		    dt_find_in_variables(*layout) != !!c->variables)
			continue;
		verdict = dt_find_prove(f->mem, *layout, c->runtime, &proof);
		if (verdict < 0)
			return verdict;
		if (verdict == DT_VERDICT_READY && objects_fit(f->mem, *layout, proof.sysdict)) {
			*chosen = *layout;
			*sysdict = proof.sysdict;
			return DT_VERDICT_READY;
		}
		if (verdict == DT_VERDICT_READY && !f->place.still)
			verdict = DT_VERDICT_STARTING;
		if (verdict > best) {
			best = verdict;
			*chosen = *layout;
			*sysdict = proof.sysdict;
		}
	}
	return best;
}

/* A version that is known from elsewhere: its table must prove right, sys.hexversion is not asked. */
static int try_version(struct dt_finder *f, const struct dt_find_candidate *c, struct dt_version version, bool *decided)
{
	const struct dt_layout *layout = NULL;
	uint64_t sysdict = 0;
	int verdict = choose_table(f, c, version, &layout, &sysdict);

	*decided = verdict > DT_VERDICT_NO;
	if (verdict < 0)
		return verdict;
	if (verdict == DT_VERDICT_READY) {
		f->python->layout = *layout;
		dt_find_set_width(f->mem, sysdict, &f->python->layout);
		f->python->version = version;
		return dt_find_found(f, c);
	}
	if (*decided)
		dt_find_note_verdict(f, verdict);
	return DT_FIND_CONTINUE;
}

/* A process that has just begun may be in the middle of mapping its library: where the table of offsets will be, which
 * those have that describe themselves, are other bytes of the file until then. */
static bool may_be_mapping(const struct dt_finder *f, const struct dt_version *version)
{
	return f->place.proc && dt_find_young(f->place.proc) &&
	       (version->major > 3 || (version->major == 3 && version->minor >= 13));
}

/* No table fits, or only half (sys.hexversion is not there): the version in words helps to tell why. A process that has
 * just begun may have been put aside in the middle of making its first thread. */
static int try_words(struct dt_finder *f, const struct dt_find_candidate *c, int verdict)
{
	struct dt_version version;
	bool told, named, decided;
	int code;

	told = c->module && dt_find_version_of_module(f->mem, f->maps, c->module, &version);
	if (told && verdict == DT_VERDICT_STARTING) {
		code = try_version(f, c, version, &decided);
		if (code || decided)
			return code;
	}
	named = !told && c->module && dt_find_version_in_name(c->module->first->path, &version);
	if ((told || named) && !dt_layout_for_release(version.major, version.minor, version.micro) &&
	    !may_be_mapping(f, &version))
		dt_find_note_unsupported(f, &version, "");
	else if (verdict == DT_VERDICT_NO && !(f->place.proc && dt_find_young(f->place.proc)))
		dt_find_note_unsupported(f, told || named ? &version : NULL,
					 ": its structures are not those of an ordinary build");
	else
		dt_find_note_verdict(f, verdict);
	return DT_FIND_CONTINUE;
}

int dt_find_try_later(struct dt_finder *f, const struct dt_find_candidate *c)
{
	return try_words(f, c, DT_VERDICT_EMPTY);
}

static int try_tables(struct dt_finder *f, const struct dt_find_candidate *c)
{
	uint64_t hex;
	bool decided;
	int code, verdict;

	if (c->version && dt_mem_read_u64(f->mem, c->version, &hex) == 0 && hex <= UINT32_MAX) {
		code = try_version(f, c, dt_version_from_hex((uint32_t)hex), &decided);
		if (code || decided)
			return code;
	}
	verdict = dt_find_try_tables(f->mem, c->runtime, c->variables, f->python);
	if (verdict < 0)
		return verdict;
	if (verdict == DT_VERDICT_READY)
		return dt_find_found(f, c);
	return try_words(f, c, verdict);
}

int dt_find_try(struct dt_finder *f, const struct dt_find_candidate *c)
{
	uint8_t table[DT_DEBUG_OFFSETS_MAX];
	size_t size = sizeof(table);
	uint32_t hex;
	int code;

	if (!dt_find_plausible(c->runtime))
		return DT_FIND_CONTINUE;
	if (c->variables)
		return try_tables(f, c);
	code = dt_mem_read(f->mem, c->runtime, table, size);
	if (code == -EFAULT) { /* a small runtime at the end of its mapping */
		size = DT_MIN(size, 4096 - (c->runtime & 4095));
		code = dt_mem_read(f->mem, c->runtime, table, size);
	}
	if (code < 0)
		return dt_find_hard(code) ? code : DT_FIND_CONTINUE;
	if (dt_debug_offsets_version(table, size, &hex))
		return try_self_described(f, c, table, size, hex);
	return try_tables(f, c);
}
