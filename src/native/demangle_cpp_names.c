/* Names of C++: scopes, what stands in them, and references to what was said before. */
#include <string.h>

#include "base/util.h"
#include "native/demangle_cpp.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

uint16_t cpp_source_name(struct cpp *cpp)
{
	uint32_t length = cpp_number(cpp);
	const char *text = cpp->text + cpp->at;

	if (cpp->bad || !length || cpp->at + length > cpp->end)
		return cpp_fail(cpp);
	cpp->at += length;
	if (length >= 10 && !memcmp(text, "_GLOBAL_", 8) && strchr("._$", text[8]) && text[9] == 'N')
		return cpp_word(cpp, CPP_NAME, 0, "(anonymous namespace)");
	return cpp_text(cpp, CPP_NAME, 0, text, length);
}

/* "Ul" types "E" and "Ut", each with a number behind it: the first one has none. */
static uint16_t read_unnamed(struct cpp *cpp)
{
	bool lambda = cpp_peek(cpp, 1) == 'l';
	uint16_t node;

	cpp->at += 2;
	if (lambda) {
		cpp->types++;
		cpp_types(cpp);
		cpp->types--;
		if (!cpp_eat(cpp, "E"))
			return cpp_fail(cpp);
	}
	node = cpp_node(cpp, lambda ? CPP_LAMBDA : CPP_UNNAMED, 0, 0);
	cpp->nodes[node].number = cpp_index(cpp) + 1;
	return node;
}

/* The names that one declaration takes something apart into. */
static uint16_t read_binding(struct cpp *cpp)
{
	uint16_t first;

	cpp->at += 2;
	first = cpp_source_name(cpp);
	while (!cpp->bad && cpp_peek(cpp, 0) != 'E')
		cpp_source_name(cpp);
	cpp_eat(cpp, "E");
	return cpp_word(cpp, CPP_TAGGED, first, "structured binding");
}

static uint16_t read_made(struct cpp *cpp, uint16_t scope)
{
	bool made = cpp_eat(cpp, "C");
	bool inherited = made && cpp_eat(cpp, "I");

	cpp->at += !made;
	if (!scope || !is_digit(cpp_peek(cpp, 0)))
		return cpp_fail(cpp);
	cpp->at++;
	if (inherited)
		cpp_type(cpp);
	return cpp_node(cpp, made ? CPP_MADE : CPP_UNMADE, scope, 0);
}

static uint16_t read_bare(struct cpp *cpp, uint16_t scope)
{
	char c = cpp_peek(cpp, 0), next = cpp_peek(cpp, 1);

	if (is_digit(c))
		return cpp_source_name(cpp);
	if (c == 'U' && (next == 'l' || next == 't'))
		return read_unnamed(cpp);
	if (c == 'D' && next == 'C')
		return read_binding(cpp);
	if (c == 'C' || c == 'D')
		return read_made(cpp, scope);
	return cpp_operator(cpp);
}

/* A scope is what a constructor is named after. */
uint16_t cpp_unqualified(struct cpp *cpp, uint16_t scope)
{
	uint16_t node;

	while (cpp_eat(cpp, "L") || cpp_eat(cpp, "F"))
		; /* of this file alone, or a friend */
	if (cpp_peek(cpp, 0) == 'W') {
		cpp->at++;
		cpp_source_name(cpp); /* a module */
	}
	node = read_bare(cpp, scope);
	while (!cpp->bad && cpp_eat(cpp, "B")) {
		uint16_t tag = cpp_source_name(cpp);

		node = cpp_text(cpp, CPP_TAGGED, node, cpp->nodes[tag].text, cpp->nodes[tag].number);
	}
	return scope ? cpp_node(cpp, CPP_SCOPED, scope, node) : node;
}

static uint16_t read_short(struct cpp *cpp, char letter)
{
	static const struct {
		char letter;
		const char *text;
	} shorts[] = {{'a', "std::allocator"}, {'b', "std::basic_string"}, {'s', "std::string"},
		      {'i', "std::istream"},   {'o', "std::ostream"},      {'d', "std::iostream"}};

	for (size_t i = 0; i < DT_COUNT(shorts); i++)
		if (shorts[i].letter == letter)
			return cpp_word(cpp, letter == 'a' || letter == 'b' ? CPP_NAME : CPP_SHORT, 0, shorts[i].text);
	return cpp_fail(cpp);
}

static uint16_t read_back(struct cpp *cpp)
{
	uint32_t number = 0;
	bool first = true;

	for (; !cpp_eat(cpp, "_"); first = false) {
		char c = cpp_peek(cpp, 0);

		if (!is_digit(c) && (c < 'A' || c > 'Z'))
			return cpp_fail(cpp);
		number = number * 36 + (uint32_t)(is_digit(c) ? c - '0' : c - 'A' + 10);
		if (number >= CPP_NODES_LIMIT)
			return cpp_fail(cpp);
		cpp->at++;
	}
	number += !first;
	return number < cpp->seen_count ? cpp->seen[number] : cpp_fail(cpp);
}

uint16_t cpp_substitution(struct cpp *cpp, bool *fresh)
{
	char c = cpp_peek(cpp, 1);
	uint16_t node;

	*fresh = c == 't';
	cpp->at += 1;
	if (c == '_' || is_digit(c) || (c >= 'A' && c <= 'Z'))
		return read_back(cpp);
	cpp->at += !cpp->bad;
	if (c == 't')
		return cpp_word(cpp, CPP_NAME, 0, "std");
	node = read_short(cpp, c);
	while (!cpp->bad && cpp_eat(cpp, "B")) {
		uint16_t tag = cpp_source_name(cpp);

		node = cpp_text(cpp, CPP_TAGGED, node, cpp->nodes[tag].text, cpp->nodes[tag].number);
		cpp_remember(cpp, node);
	}
	return node;
}

/* One step of a nested name; *remember: later parts may refer to what there is so far. */
static uint16_t read_step(struct cpp *cpp, uint16_t scope, bool *remember)
{
	char c = cpp_peek(cpp, 0), next = cpp_peek(cpp, 1);

	*remember = true;
	if (c == 'S' && !scope) {
		bool fresh;

		*remember = false;
		return cpp_substitution(cpp, &fresh);
	}
	if (c == 'I' && scope)
		return cpp_template(cpp, scope);
	if (c == 'T' && !scope) {
		*remember = false; /* it is */
		return cpp_parameter(cpp);
	}
	if (c == 'D' && (next == 't' || next == 'T') && !scope)
		return cpp_decltype(cpp);
	return cpp_unqualified(cpp, scope);
}

static uint16_t read_nested(struct cpp *cpp)
{
	uint16_t node = 0;

	cpp->at++;
	while (cpp_peek(cpp, 0) && strchr("rVKROH", cpp_peek(cpp, 0)))
		cpp->at++; /* of a member function; not part of its name */
	while (!cpp->bad && !(node && cpp_eat(cpp, "E"))) {
		bool remember;

		node = read_step(cpp, node, &remember);
		cpp_eat(cpp, "M"); /* what an initial value of a member is computed in */
		if (remember && cpp_peek(cpp, 0) != 'E')
			cpp_remember(cpp, node);
	}
	return node;
}

/* Which one of several of that name in a function. */
static void skip_discriminator(struct cpp *cpp)
{
	if (!cpp_eat(cpp, "_"))
		return;
	if (cpp_eat(cpp, "_")) {
		cpp_number(cpp);
		if (!cpp_eat(cpp, "_"))
			cpp_fail(cpp);
	} else if (is_digit(cpp_peek(cpp, 0))) {
		cpp->at++;
	}
}

static uint16_t read_local(struct cpp *cpp)
{
	uint16_t function, node;

	cpp->at++;
	function = cpp_encoding(cpp, false);
	if (!cpp_eat(cpp, "E"))
		return cpp_fail(cpp);
	if (cpp_eat(cpp, "s")) {
		skip_discriminator(cpp);
		return cpp_node(cpp, CPP_SCOPED, function, cpp_word(cpp, CPP_NAME, 0, "string literal"));
	}
	if (cpp_eat(cpp, "d")) {
		node = cpp_node(cpp, CPP_DEFAULT, 0, 0);
		cpp->nodes[node].number = cpp_index(cpp) + 1;
		function = cpp_node(cpp, CPP_SCOPED, function, node);
	}
	node = cpp_name(cpp);
	skip_discriminator(cpp);
	return cpp_node(cpp, CPP_SCOPED, function, node);
}

static uint16_t read_unscoped(struct cpp *cpp)
{
	bool fresh = true;
	uint16_t node = 0;

	if (cpp_peek(cpp, 0) == 'S')
		node = cpp_substitution(cpp, &fresh);
	if (fresh)
		node = cpp_unqualified(cpp, node);
	if (cpp_peek(cpp, 0) != 'I')
		return node;
	if (fresh)
		cpp_remember(cpp, node);
	return cpp_template(cpp, node);
}

uint16_t cpp_name(struct cpp *cpp)
{
	uint16_t node = 0;

	if (!cpp_enter(cpp))
		node = 0;
	else if (cpp_peek(cpp, 0) == 'N')
		node = read_nested(cpp);
	else if (cpp_peek(cpp, 0) == 'Z')
		node = read_local(cpp);
	else
		node = read_unscoped(cpp);
	cpp_leave(cpp);
	return node;
}
