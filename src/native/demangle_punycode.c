/* RFC 3492, as Rust has it: digits are a to z and 0 to 9, and a '_' stands before them. */
#include "base/util.h"
#include "native/demangle_inside.h"

#define RUNES 128 /* of one name */

struct runes {
	uint32_t list[RUNES];
	size_t count;
};

static bool insert(struct runes *runes, size_t at, uint32_t rune)
{
	if (runes->count == RUNES)
		return false;
	memmove(runes->list + at + 1, runes->list + at, (runes->count - at) * sizeof(*runes->list));
	runes->list[at] = rune;
	runes->count++;
	return true;
}

static uint64_t adapt(uint64_t delta, size_t count, bool first)
{
	uint64_t k = 0;

	delta /= first ? 700 : 2;
	delta += delta / count;
	for (; delta > 455; k += 36)
		delta /= 35;
	return k + 36 * delta / (delta + 38);
}

/* A number whose digits have values that depend on the bias; false: it is cut off, or larger than any place can be. */
static bool read_delta(const char **code, const char *end, uint64_t bias, uint64_t *delta)
{
	uint64_t weight = 1;

	*delta = 0;
	for (uint64_t k = 36; *code < end; k += 36) {
		uint64_t threshold = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias, digit;
		char c = *(*code)++;

		if (c >= 'a' && c <= 'z')
			digit = (uint64_t)(c - 'a');
		else if (c >= '0' && c <= '9')
			digit = (uint64_t)(c - '0') + 26;
		else
			return false;
		*delta += digit * weight;
		if (digit < threshold)
			return true;
		weight *= 36 - threshold;
		if (weight > UINT32_MAX || *delta > UINT32_MAX)
			return false;
	}
	return false;
}

bool demangle_punycode(const char *ascii, size_t ascii_length, const char *code, size_t code_length,
		       struct demangled *out)
{
	const char *end = code + code_length;
	uint64_t rune = 0x80, at = 0, bias = 72, delta;
	struct runes runes = {.count = 0};

	for (size_t i = 0; i < ascii_length; i++)
		if (!insert(&runes, i, (uint8_t)ascii[i]))
			return false;
	for (bool first = true; code < end; first = false) {
		if (!read_delta(&code, end, bias, &delta))
			return false;
		at += delta;
		rune += at / (runes.count + 1);
		at %= runes.count + 1;
		bias = adapt(delta, runes.count + 1, first);
		if (rune > 0x10ffff || !insert(&runes, at, (uint32_t)rune))
			return false;
		at++;
	}
	for (size_t i = 0; i < runes.count; i++)
		if (!demangled_rune(out, runes.list[i]))
			return false;
	return true;
}
