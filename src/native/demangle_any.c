/* Whose name it is: Rust's older form looks like C++ and is asked for first. */
#include <string.h>

#include "base/util.h"
#include "native/demangle_cpp.h"

#define WHOLE_LIMIT 4096

static const char plt[] = "@plt";

static enum dt_language read_any(const char *symbol, struct demangled *whole)
{
	if (symbol[0] != '_')
		return DT_LANGUAGE_C;
	if (dt_demangle_rust(symbol, whole->text, whole->size)) {
		whole->length = strlen(whole->text);
		return DT_LANGUAGE_RUST;
	}
	return demangle_cpp(symbol, DT_DEMANGLE_LIST, whole) ? DT_LANGUAGE_CPP : DT_LANGUAGE_C;
}

enum dt_language dt_demangle(const char *symbol, char *out, size_t size)
{
	char text[WHOLE_LIMIT] = "", cut[CPP_SYMBOL_LIMIT + 1];
	struct demangled whole = {.text = text, .size = sizeof(text)}, result = {.text = out, .size = size};
	size_t length = strnlen(symbol, sizeof(cut)), suffix = strlen(plt);
	bool is_plt = length < sizeof(cut) && length > suffix && !strcmp(symbol + length - suffix, plt);
	enum dt_language language = DT_LANGUAGE_C;

	out[0] = '\0';
	if (length < sizeof(cut)) {
		length -= is_plt ? suffix : 0;
		memcpy(cut, symbol, length);
		cut[length] = '\0';
		language = read_any(cut, &whole);
	}
	if (language == DT_LANGUAGE_C) {
		demangled_puts(&result, symbol);
	} else {
		demangled_put(&result, text, whole.length);
		if (is_plt)
			demangled_puts(&result, plt);
	}
	if (result.full || (whole.full && language == DT_LANGUAGE_CPP))
		demangled_cut(&result);
	return language;
}
