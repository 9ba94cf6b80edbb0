/* The table of output formats. A new one is a file of its own, a declaration in formats.h and a line here. */
#include <string.h>

#include "format/formats.h"

static const struct dt_format *const table[] = {
    &dt_format_text,
    &dt_format_json,
    NULL,
};

const struct dt_format *const *dt_formats(void)
{
	return table;
}

const struct dt_format *dt_format_by_name(const char *name)
{
	for (const struct dt_format *const *format = table; *format; format++)
		if (!strcmp((*format)->name, name))
			return *format;
	return NULL;
}

const char *dt_error_name(int code)
{
	switch (code) {
	case DT_EUSAGE:
		return "usage";
	case DT_EPERMISSION:
		return "permission";
	case DT_ENOTFOUND:
		return "not found";
	case DT_ENOTPYTHON:
		return "not python";
	case DT_EENDED:
		return "ended";
	case DT_EAGAIN:
		return "not ready";
	case DT_EUNSUPPORTED:
		return "unsupported";
	case DT_EMEMORY:
		return "memory";
	default:
		return "runtime";
	}
}
