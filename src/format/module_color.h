/* The colour of a frame in a picture: a class of flamegraph.css. The band says whose code it is, the number is a hash
 * of the package or file, so that the same module has the same colour in every picture. */
#ifndef DT_FORMAT_MODULE_COLOR_H
#define DT_FORMAT_MODULE_COLOR_H

#include "profile/profile.h"

struct dt_color {
	char band; /* 'o' the program's own, 'l' an installed package, 's' standard library, 'n' native, 'm' none */
	unsigned number;
	bool variant; /* paler: tells functions of one module apart */
};

struct dt_color dt_module_color(enum dt_function_kind kind, const char *file, const char *name);

#endif
