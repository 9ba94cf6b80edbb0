/* Colours by module: see module_color.h. */
#include "format/module_color.h"

#include <ctype.h>
#include <string.h>

#include "base/util.h"

/* Shades in each band, as flamegraph.css has them. */
enum { OWN = 8, PACKAGES = 10, STANDARD = 5, NATIVE = 4 };

/* FNV-1a; the last step mixes the high bits into those that a remainder looks at. */
static unsigned hash(const char *text, size_t length)
{
	uint32_t value = 2166136261u;

	for (size_t i = 0; i < length; i++)
		value = (value ^ (unsigned char)text[i]) * 16777619u;
	return value ^ value >> 15;
}

/* The last part of a path; of one that says nothing (__init__.py) the one before it. */
static const char *last_part(const char *path)
{
	const char *last = strrchr(path, '/');
	const char *before;

	if (!last)
		return path;
	if (strcmp(last, "/__init__.py") != 0 && strcmp(last, "/__main__.py") != 0)
		return last + 1;
	before = memrchr(path, '/', (size_t)(last - path));
	return before ? before + 1 : path;
}

/* A module by the part of a path that names it: up to a slash, without an extension. */
static struct dt_color color_of(char band, unsigned shades, const char *module)
{
	return (struct dt_color){.band = band, .number = hash(module, strcspn(module, "/.")) % shades};
}

/* What follows "/lib/python3.11/", or NULL. */
static const char *after_library(const char *file)
{
	for (const char *at = strstr(file, "/python"); at; at = strstr(at + 1, "/python")) {
		const char *end = at + strlen("/python");

		if (!isdigit((unsigned char)*end))
			continue;
		end += strspn(end, "0123456789.t");
		if (*end == '/')
			return end + 1;
	}
	return NULL;
}

static struct dt_color python_color(const char *file)
{
	static const char *const installed[] = {"/site-packages/", "/dist-packages/"};
	const char *inside;

	for (size_t i = 0; i < DT_COUNT(installed); i++) {
		inside = strstr(file, installed[i]);
		if (inside)
			return color_of('l', PACKAGES, inside + strlen(installed[i]));
	}
	if (!strncmp(file, "<frozen ", strlen("<frozen ")))
		return color_of('s', STANDARD, file + strlen("<frozen "));
	inside = after_library(file);
	return inside ? color_of('s', STANDARD, inside) : color_of('o', OWN, last_part(file));
}

struct dt_color dt_module_color(enum dt_function_kind kind, const char *file, const char *name)
{
	struct dt_color color;

	if (kind == DT_FUNCTION_MARK)
		return (struct dt_color){.band = 'm', .number = 0};
	color = kind == DT_FUNCTION_NATIVE ? color_of('n', NATIVE, last_part(file)) : python_color(file);
	color.variant = hash(name, strlen(name)) >> 3 & 1;
	return color;
}
