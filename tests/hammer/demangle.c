/* Reads names, one a line, and prints what is made of each: itself where it is none that is understood. Without an
 * argument all names, as they are shown; "rust" and "cpp": only those of the one language, and whole. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "native/demangle_cpp.h"

static char name[1 << 20];

static void demangle(const char *kind, const char *line)
{
	struct demangled whole = {.text = name, .size = sizeof(name)};

	name[0] = '\0';
	if (!strcmp(kind, "rust"))
		dt_demangle_rust(line, name, sizeof(name));
	else if (!strcmp(kind, "cpp"))
		demangle_cpp(line, SIZE_MAX, &whole);
	else
		dt_demangle(line, name, sizeof(name));
}

int main(int argc, char **argv)
{
	char line[16384];

	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		demangle(argc > 1 ? argv[1] : "", line);
		puts(name[0] ? name : line);
	}
	return 0;
}
