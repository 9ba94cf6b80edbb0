/*
 * The newer form (RFC 2603): a grammar of paths, types and constants, each of which may refer back to where it stood
 * before. References make a short name as long as one likes, and as deep: a name has a number of steps and a depth, and
 * once its text is full nothing more is read.
 */
#include <stdio.h>

#include "base/util.h"
#include "native/demangle_v0.h"

#define DEPTH_LIMIT 100
#define STEPS_LIMIT 20000

void v0_fail(struct v0 *v0)
{
	if (!v0->out->full)
		v0->bad = true;
}

bool v0_over(const struct v0 *v0)
{
	return v0->bad || v0->out->full;
}

void v0_put(struct v0 *v0, const char *text)
{
	if (!v0->silent && !v0->bad)
		demangled_puts(v0->out, text);
}

void v0_put_number(struct v0 *v0, uint64_t number)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%llu", (unsigned long long)number);
	v0_put(v0, digits);
}

char v0_peek(const struct v0 *v0)
{
	return v0->at < v0->end && !v0->bad ? v0->text[v0->at] : '\0';
}

char v0_next(struct v0 *v0)
{
	char c = v0_peek(v0);

	if (c)
		v0->at++;
	else
		v0_fail(v0);
	return c;
}

bool v0_eat(struct v0 *v0, char c)
{
	if (v0_peek(v0) != c)
		return false;
	v0->at++;
	return true;
}

bool v0_enter(struct v0 *v0)
{
	v0->depth++;
	v0->steps++;
	if (v0->depth > DEPTH_LIMIT || v0->steps > STEPS_LIMIT)
		v0_fail(v0);
	return !v0_over(v0);
}

void v0_leave(struct v0 *v0)
{
	v0->depth--;
}

uint64_t v0_base62(struct v0 *v0)
{
	uint64_t value = 0;

	if (v0_eat(v0, '_'))
		return 0;
	while (!v0_over(v0) && !v0_eat(v0, '_')) {
		char c = v0_next(v0);
		uint64_t digit = c >= '0' && c <= '9'   ? (uint64_t)(c - '0')
				 : c >= 'a' && c <= 'z' ? (uint64_t)(c - 'a') + 10
							: (uint64_t)(c - 'A') + 36;

		if (digit > 61 || __builtin_mul_overflow(value, 62, &value) ||
		    __builtin_add_overflow(value, digit, &value))
			v0_fail(v0);
	}
	return value + 1;
}

uint64_t v0_tagged(struct v0 *v0, char tag)
{
	return v0_eat(v0, tag) ? v0_base62(v0) + 1 : 0;
}

struct v0_name v0_name(struct v0 *v0)
{
	struct v0_name name = {.punycode = v0_eat(v0, 'u')};
	bool zero = v0_eat(v0, '0');

	if (!zero && (v0_peek(v0) < '1' || v0_peek(v0) > '9'))
		v0_fail(v0);
	while (!zero && v0_peek(v0) >= '0' && v0_peek(v0) <= '9' && name.length <= v0->end)
		name.length = name.length * 10 + (size_t)(v0_next(v0) - '0');
	v0_eat(v0, '_');
	name.text = v0->text + v0->at;
	if (v0->bad || name.length > v0->end - v0->at) {
		v0_fail(v0);
		return (struct v0_name){0};
	}
	v0->at += name.length;
	return name;
}

void v0_put_name(struct v0 *v0, struct v0_name name)
{
	size_t split = name.length;

	if (v0->silent || v0_over(v0))
		return;
	if (!name.punycode) {
		demangled_put(v0->out, name.text, name.length);
		return;
	}
	while (split && name.text[split - 1] != '_')
		split--;
	if (!demangle_punycode(name.text, split ? split - 1 : 0, name.text + split, name.length - split, v0->out))
		v0_fail(v0);
}

void v0_put_lifetime(struct v0 *v0, uint64_t index)
{
	uint64_t depth = v0->bound - index;
	char letter[] = {'\'', (char)('a' + depth % 26), '\0'};

	if (index > v0->bound) {
		v0_fail(v0);
	} else if (!index) {
		v0_put(v0, "'_");
	} else if (depth < 26) {
		v0_put(v0, letter);
	} else {
		v0_put(v0, "'_");
		v0_put_number(v0, depth);
	}
}

size_t v0_back(struct v0 *v0)
{
	size_t from = v0->at - 1;
	uint64_t to = v0_base62(v0);

	if (to >= from)
		v0_fail(v0);
	return (size_t)to;
}

void v0_follow(struct v0 *v0, v0_read_fn *read)
{
	size_t to = v0_back(v0), back = v0->at;

	if (v0->silent || v0_over(v0))
		return;
	v0->at = to;
	read(v0);
	v0->at = back;
}

static void read_value_path(struct v0 *v0)
{
	v0_path(v0, true);
}

static void read_type_path(struct v0 *v0)
{
	v0_path(v0, false);
}

static void read_silently(struct v0 *v0)
{
	bool silent = v0->silent;

	v0->silent = true;
	v0_path(v0, false);
	v0->silent = silent;
}

void v0_argument(struct v0 *v0)
{
	if (v0_eat(v0, 'L'))
		v0_put_lifetime(v0, v0_base62(v0));
	else if (v0_eat(v0, 'K'))
		v0_const(v0);
	else
		v0_type(v0);
}

size_t v0_list(struct v0 *v0, v0_read_fn *read, const char *between)
{
	size_t count = 0;

	for (; !v0_over(v0) && !v0_eat(v0, 'E'); count++) {
		if (count)
			v0_put(v0, between);
		read(v0);
	}
	return count;
}

static void read_nested(struct v0 *v0, bool in_value)
{
	char space[] = {v0_next(v0), '\0'};
	bool special = space[0] >= 'A' && space[0] <= 'Z';
	uint64_t number;
	struct v0_name name;

	if (!special && (space[0] < 'a' || space[0] > 'z'))
		v0_fail(v0);
	v0_path(v0, in_value);
	number = v0_tagged(v0, 's');
	name = v0_name(v0);
	if (!special) {
		v0_put(v0, name.length ? "::" : "");
		v0_put_name(v0, name);
		return;
	}
	v0_put(v0, "::{");
	v0_put(v0, space[0] == 'C' ? "closure" : space[0] == 'S' ? "shim" : space);
	v0_put(v0, name.length ? ":" : "");
	v0_put_name(v0, name);
	v0_put(v0, "#");
	v0_put_number(v0, number);
	v0_put(v0, "}");
}

static void read_impl(struct v0 *v0, char tag)
{
	if (tag != 'Y') {
		v0_tagged(v0, 's');
		read_silently(v0);
	}
	v0_put(v0, "<");
	v0_type(v0);
	if (tag != 'M') {
		v0_put(v0, " as ");
		v0_path(v0, false);
	}
	v0_put(v0, ">");
}

void v0_path(struct v0 *v0, bool in_value)
{
	char tag = v0_enter(v0) ? v0_next(v0) : '\0';

	switch (tag) {
	case 'C':
		v0_tagged(v0, 's');
		v0_put_name(v0, v0_name(v0));
		break;
	case 'N':
		read_nested(v0, in_value);
		break;
	case 'M':
	case 'X':
	case 'Y':
		read_impl(v0, tag);
		break;
	case 'I':
		v0_path(v0, in_value);
		v0_put(v0, in_value ? "::<" : "<");
		v0_list(v0, v0_argument, ", ");
		v0_put(v0, ">");
		break;
	case 'B':
		v0_follow(v0, in_value ? read_value_path : read_type_path);
		break;
	default:
		v0_fail(v0);
	}
	v0_leave(v0);
}

bool demangle_v0(const char *text, size_t end, struct demangled *out)
{
	struct v0 v0 = {.text = text, .end = end, .out = out};

	v0_path(&v0, true);
	/* The crate that it was made for. */
	if (!v0_over(&v0) && v0.at < v0.end)
		read_silently(&v0);
	return !v0.bad && (out->full || v0.at == v0.end);
}
