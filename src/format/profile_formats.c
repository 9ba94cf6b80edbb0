/* The table of the outputs of a recording. A new one is a file of its own, a declaration in profile_formats.h and a
 * line here. */
#include "format/profile_formats.h"

#include <string.h>

/* What every other one is made of. */
static const char *const recording_extensions[] = {".darter", NULL};
static const struct dt_profile_format recording = {
    .name = "darter",
    .extensions = recording_extensions,
    .description = "the recording itself, from which 'darter report' makes any of the others later",
};

/* clang-format off */
static const struct dt_profile_format *const table[] = {
    &dt_profile_summary,
    &dt_profile_folded,
    &dt_profile_svg,
    &recording,
    &dt_profile_speedscope,
    &dt_profile_chrome,
    NULL,
};
/* clang-format on */

const struct dt_profile_format *const *dt_profile_formats(void)
{
	return table;
}

const struct dt_profile_format *dt_profile_format_by_name(const char *name)
{
	for (const struct dt_profile_format *const *format = table; *format; format++)
		if (!strcmp((*format)->name, name) || ((*format)->alias && !strcmp((*format)->alias, name)))
			return *format;
	return NULL;
}

const struct dt_profile_format *dt_profile_format_by_file(const char *file)
{
	const struct dt_profile_format *best = NULL;
	size_t length = strlen(file), longest = 0;

	for (const struct dt_profile_format *const *format = table; *format; format++) {
		for (const char *const *extension = (*format)->extensions; *extension; extension++) {
			size_t size = strlen(*extension);

			if (size > longest && size < length && !strcasecmp(file + length - size, *extension)) {
				best = *format;
				longest = size;
			}
		}
	}
	return best;
}
