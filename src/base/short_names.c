/* Short and still unambiguous: see short_names.h. */
#include "base/short_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/util.h"

/* Rounds in which a part is added; names that still clash are whole. */
#define ROUNDS 32

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct dt_short_name *)a)->path, ((const struct dt_short_name *)b)->path);
}

static int by_name(const void *a, const void *b)
{
	const struct dt_short_name *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

/* Behind "/lib/python3.12/" or "/lib64/python3.12/", NULL if that is not in the path. */
static const char *behind_library(const char *path)
{
	const char *found = NULL;

	for (const char *at = strstr(path, "/python"); at; at = strstr(at + 1, "/python")) {
		const char *end = at + strlen("/python");
		size_t length = strspn(end, "0123456789.t");

		if (!length || end[length] != '/' || !end[length + 1])
			continue;
		if ((at - path >= 4 && !strncmp(at - 4, "/lib", 4)) ||
		    (at - path >= 6 && !strncmp(at - 6, "/lib64", 6)))
			found = end + length + 1;
	}
	return found;
}

static const char *shorten(const char *path)
{
	static const char *const packages[] = {"/site-packages/", "/dist-packages/"};
	const char *name = NULL, *slash;

	/* "<string>", "<frozen importlib._bootstrap>", and what the user typed relative to a directory. */
	if (path[0] != '/')
		return path;
	for (size_t i = 0; i < DT_COUNT(packages); i++)
		for (const char *at = strstr(path, packages[i]); at; at = strstr(at + 1, packages[i]))
			name = DT_MAX(name, at + strlen(packages[i]));
	if (!name || !*name)
		name = behind_library(path);
	if (name && *name)
		return name;
	slash = strrchr(path, '/');
	return slash[1] ? slash + 1 : path;
}

/* One part of the path more; false if all is shown already. */
static bool lengthen(struct dt_short_name *entry)
{
	const char *at = entry->name;

	if (at == entry->path)
		return false;
	for (at--; at > entry->path && at[-1] != '/'; at--)
		;
	/* "/a.py" and "a.py" must not look alike. */
	entry->name = at <= entry->path + 1 ? entry->path : at;
	return true;
}

static bool whole(struct dt_short_name *entry)
{
	bool longer = entry->name != entry->path;

	entry->name = entry->path;
	return longer;
}

/* Lengthens names until no two are equal: each round adds a part to all that clash. */
static int tell_apart(struct dt_short_names *names)
{
	dt_auto_free struct dt_short_name **order = malloc(names->count * sizeof(struct dt_short_name *));
	bool again = true;
	int round = 0;

	if (!order)
		return DT_EMEMORY;
	for (size_t i = 0; i < names->count; i++)
		order[i] = &names->names[i];
	for (; again; round++) {
		again = false;
		qsort(order, names->count, sizeof(struct dt_short_name *), by_name);
		for (size_t first = 0, end; first < names->count; first = end) {
			const char *name = order[first]->name;

			for (end = first + 1; end < names->count && !strcmp(order[end]->name, name); end++)
				;
			for (size_t i = first; end - first > 1 && i < end; i++)
				again |= round < ROUNDS ? lengthen(order[i]) : whole(order[i]);
		}
	}
	return 0;
}

/* Sorts by path and throws repeats out. */
static void squeeze(struct dt_short_names *names)
{
	size_t kept = 0;

	if (!names->count)
		return;
	qsort(names->names, names->count, sizeof(*names->names), by_path);
	for (size_t i = 0; i < names->count; i++)
		if (!kept || strcmp(names->names[kept - 1].path, names->names[i].path) != 0)
			names->names[kept++] = names->names[i];
	names->count = kept;
}

int dt_short_names_add(struct dt_short_names *names, const char *path)
{
	/* Beyond twice the limit there are too many whatever comes; finish throws them all out. */
	if (names->count > 2 * DT_SHORT_NAMES_LIMIT || strlen(path) > DT_SHORT_NAMES_PATH)
		return 0;
	if (names->count == names->capacity) {
		squeeze(names);
		if (names->count * 2 >= names->capacity) {
			size_t wanted = names->capacity ? names->capacity * 2 : 256;
			struct dt_short_name *grown = realloc(names->names, wanted * sizeof(*grown));

			if (!grown)
				return DT_EMEMORY;
			names->names = grown;
			names->capacity = wanted;
		}
	}
	names->names[names->count++] = (struct dt_short_name){path, shorten(path)};
	return 0;
}

int dt_short_names_finish(struct dt_short_names *names)
{
	squeeze(names);
	if (names->count > DT_SHORT_NAMES_LIMIT)
		names->count = 0;
	return names->count ? tell_apart(names) : 0;
}

void dt_short_names_release(struct dt_short_names *names)
{
	free(names->names);
	*names = (struct dt_short_names){0};
}

const char *dt_short_name(const struct dt_short_names *names, const char *path)
{
	const struct dt_short_name wanted = {path, path}, *found = NULL;

	if (names->count)
		found = bsearch(&wanted, names->names, names->count, sizeof(wanted), by_path);
	return found ? found->name : path;
}
