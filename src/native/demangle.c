#include "native/demangle_inside.h"

#include <string.h>

#include "base/util.h"

#define HASH_LENGTH 17 /* "h" and 16 digits */

void demangled_put(struct demangled *out, const char *bytes, size_t length)
{
	size_t room = out->size - 1 - out->length;

	if (length > room) {
		length = room;
		out->full = true;
	}
	memcpy(out->text + out->length, bytes, length);
	out->length += length;
	out->text[out->length] = '\0';
}

void demangled_puts(struct demangled *out, const char *text)
{
	demangled_put(out, text, strlen(text));
}

bool demangled_rune(struct demangled *out, uint32_t rune)
{
	char bytes[4];
	size_t length = rune < 0x80 ? 1 : rune < 0x800 ? 2 : rune < 0x10000 ? 3 : 4;
	static const uint8_t heads[] = {0, 0, 0xc0, 0xe0, 0xf0};

	if (rune > 0x10ffff || (rune >= 0xd800 && rune < 0xe000) || rune < 0x20 || rune == 0x7f)
		return false;
	for (size_t i = length; i > 1; i--, rune >>= 6)
		bytes[i - 1] = (char)(0x80 | (rune & 0x3f));
	bytes[0] = (char)(heads[length] | rune);
	demangled_put(out, bytes, length);
	return true;
}

void demangled_cut(struct demangled *out)
{
	size_t length = DT_MIN(out->length, out->size - 4);

	while (length && (out->text[length] & 0xc0) == 0x80)
		length--;
	memcpy(out->text + length, "...", 4);
}

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

static bool is_hash(const char *part, size_t length)
{
	if (length != HASH_LENGTH || part[0] != 'h')
		return false;
	for (size_t i = 1; i < length; i++)
		if (!is_hex(part[i]))
			return false;
	return true;
}

/* "$u7e$" and the like. Returns the number of bytes read, 0 if it is nothing of the kind. */
static size_t put_numbered(const char *text, size_t length, struct demangled *out)
{
	uint32_t rune = 0;
	size_t at = 2;

	if (length < 4 || text[1] != 'u')
		return 0;
	for (; at < length && at < 8 && is_hex(text[at]); at++)
		rune = rune * 16 + (uint32_t)(text[at] <= '9' ? text[at] - '0' : text[at] - 'a' + 10);
	return at > 2 && at < length && text[at] == '$' && demangled_rune(out, rune) ? at + 1 : 0;
}

static size_t put_escape(const char *text, size_t length, struct demangled *out)
{
	static const struct {
		const char *code, *text;
	} escapes[] = {{"$SP$", "@"}, {"$BP$", "*"}, {"$RF$", "&"}, {"$LT$", "<"},
		       {"$GT$", ">"}, {"$LP$", "("}, {"$RP$", ")"}, {"$C$", ","}};

	for (size_t i = 0; i < DT_COUNT(escapes); i++) {
		size_t size = strlen(escapes[i].code);

		if (length >= size && !memcmp(text, escapes[i].code, size)) {
			demangled_puts(out, escapes[i].text);
			return size;
		}
	}
	return put_numbered(text, length, out);
}

static bool put_part(const char *part, size_t length, struct demangled *out)
{
	size_t at = length >= 2 && part[0] == '_' && part[1] == '$';

	while (at < length) {
		size_t used = 1;

		if (part[at] == '$') {
			used = put_escape(part + at, length - at, out);
			if (!used)
				return false;
		} else if (part[at] == '.' && at + 1 < length && part[at + 1] == '.') {
			demangled_puts(out, "::");
			used = 2;
		} else {
			demangled_put(out, part + at, 1);
		}
		at += used;
	}
	return true;
}

/* Behind "_ZN": lengths and parts, the last one the hash, then "E". */
static bool demangle_legacy(const char *text, struct demangled *out)
{
	size_t left = strlen(text);

	for (bool first = true;; first = false) {
		size_t length = 0;

		while (left && *text >= '0' && *text <= '9' && length < left) {
			length = length * 10 + (size_t)(*text - '0');
			text++;
			left--;
		}
		if (!length || length >= left)
			return false;
		if (is_hash(text, length) && text[length] == 'E')
			return !first && (text[length + 1] == '\0' || text[length + 1] == '.');
		if (!first)
			demangled_puts(out, "::");
		if (!put_part(text, length, out))
			return false;
		text += length;
		left -= length;
	}
}

bool dt_demangle_rust(const char *symbol, char *out, size_t size)
{
	struct demangled result = {.text = out, .size = size};
	bool understood = false;

	out[0] = '\0';
	if (!strncmp(symbol, "_ZN", 3))
		understood = demangle_legacy(symbol + 3, &result);
	else if (!strncmp(symbol, "_R", 2))
		understood = demangle_v0(symbol + 2, strcspn(symbol + 2, ".$"), &result);
	if (!understood)
		out[0] = '\0';
	else if (result.full)
		demangled_cut(&result);
	return understood;
}
