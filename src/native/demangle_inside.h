/* What names are put together with. */
#ifndef DT_NATIVE_DEMANGLE_INSIDE_H
#define DT_NATIVE_DEMANGLE_INSIDE_H

#include <stdint.h>

#include "native/demangle.h"

/* Text of a fixed size; what comes when it is full is dropped. */
struct demangled {
	char *text;
	size_t size, length;
	bool full;
};

void demangled_put(struct demangled *out, const char *bytes, size_t length);
void demangled_puts(struct demangled *out, const char *text);
/* As UTF-8; false: no character has that number. */
bool demangled_rune(struct demangled *out, uint32_t rune);

/* What was cut off ends in whole characters and three dots. */
void demangled_cut(struct demangled *out);

/* The newer form, behind its "_R", up to end. */
bool demangle_v0(const char *text, size_t end, struct demangled *out);

/* A name with characters beyond ASCII: those that are ASCII, and where the others belong. */
bool demangle_punycode(const char *ascii, size_t ascii_length, const char *code, size_t code_length,
		       struct demangled *out);

#endif
