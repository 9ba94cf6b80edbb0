/* Reads names, one a line, and prints what dt_demangle_rust() makes of each: itself where it is none. */
#include <stdio.h>
#include <string.h>

#include "native/demangle.h"

int main(void)
{
	char line[16384], name[65536];

	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		puts(dt_demangle_rust(line, name, sizeof(name)) ? name : line);
	}
	return 0;
}
