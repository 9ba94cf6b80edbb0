/* Types of C++, which stand among template arguments, and those lists themselves. */
#include <string.h>

#include "base/util.h"
#include "native/demangle_cpp.h"

static const char *const builtins[26] = {
    ['a' - 'a'] = "signed char", ['b' - 'a'] = "bool",
    ['c' - 'a'] = "char",        ['d' - 'a'] = "double",
    ['e' - 'a'] = "long double", ['f' - 'a'] = "float",
    ['g' - 'a'] = "__float128",  ['h' - 'a'] = "unsigned char",
    ['i' - 'a'] = "int",         ['j' - 'a'] = "unsigned int",
    ['l' - 'a'] = "long",        ['m' - 'a'] = "unsigned long",
    ['n' - 'a'] = "__int128",    ['o' - 'a'] = "unsigned __int128",
    ['s' - 'a'] = "short",       ['t' - 'a'] = "unsigned short",
    ['v' - 'a'] = "void",        ['w' - 'a'] = "wchar_t",
    ['x' - 'a'] = "long long",   ['y' - 'a'] = "unsigned long long",
    ['z' - 'a'] = "...",
};

uint16_t cpp_types(struct cpp *cpp)
{
	struct cpp_list list = {0};

	while (!cpp->bad && cpp->at < cpp->end) {
		char c = cpp_peek(cpp, 0), next = cpp_peek(cpp, 1);

		if (c == 'E' || c == '.' || (c == 'R' && next == 'E') || (c == 'O' && next == 'E'))
			break;
		if (c == 'Q') { /* what its template arguments must meet */
			cpp->at++;
			cpp_expression(cpp);
		} else if (c == 'T' && (next == 'y' || next == 't' || next == 'n' || next == 'p')) {
			cpp->at += 2; /* a lambda's own template parameters */
		} else {
			cpp_append(cpp, &list, cpp_type(cpp));
		}
	}
	return list.first;
}

/* "void" alone stands for no parameters. */
static uint16_t read_function(struct cpp *cpp)
{
	const char *qualifier = "";
	uint16_t from, to, node;

	cpp->at++;
	cpp_eat(cpp, "Y");
	to = cpp_type(cpp);
	from = cpp_types(cpp);
	if (cpp_eat(cpp, "R"))
		qualifier = " &";
	else if (cpp_eat(cpp, "O"))
		qualifier = " &&";
	if (!cpp_eat(cpp, "E"))
		return cpp_fail(cpp);
	node = cpp_word(cpp, CPP_FUNCTION, to, qualifier);
	cpp->nodes[node].b = from;
	return node;
}

static uint16_t read_array(struct cpp *cpp)
{
	const char *text = cpp->text + ++cpp->at;
	size_t start = cpp->at, length;

	cpp_number(cpp);
	length = cpp->at - start;
	if (!length && cpp_peek(cpp, 0) != '_') {
		cpp_expression(cpp);
		text = "...";
		length = 3;
	}
	if (!cpp_eat(cpp, "_"))
		return cpp_fail(cpp);
	return cpp_text(cpp, CPP_ARRAY, cpp_type(cpp), text, length);
}

uint16_t cpp_parameter(struct cpp *cpp)
{
	uint32_t number;
	uint16_t list = cpp->arguments, node;

	cpp->at++;
	if (cpp_eat(cpp, "L")) { /* of an outer list */
		cpp_index(cpp);
		list = 0;
	}
	number = cpp_index(cpp);
	for (uint32_t left = number; list && left; left--)
		list = cpp->nodes[list].b;
	if (list)
		return cpp_remember(cpp, cpp->nodes[list].a);
	node = cpp_node(cpp, CPP_PARAMETER, 0, 0);
	cpp->nodes[node].number = number;
	return cpp_remember(cpp, node);
}

uint16_t cpp_decltype(struct cpp *cpp)
{
	cpp->at += 2;
	cpp_expression(cpp);
	if (!cpp_eat(cpp, "E"))
		return cpp_fail(cpp);
	return cpp_word(cpp, CPP_NAME, 0, "decltype(...)");
}

static uint16_t read_vector(struct cpp *cpp)
{
	cpp->at += 2;
	if (cpp_eat(cpp, "_"))
		cpp_expression(cpp);
	else
		cpp_number(cpp);
	if (!cpp_eat(cpp, "_"))
		return cpp_fail(cpp);
	return cpp_word(cpp, CPP_QUALIFIED, cpp_eat(cpp, "p") ? cpp_word(cpp, CPP_NAME, 0, "pixel") : cpp_type(cpp),
			" __vector");
}

/* A floating-point or integer type with its number of bits. */
static uint16_t read_bits(struct cpp *cpp)
{
	static const struct {
		char letter;
		const char *text;
	} kinds[] = {{'F', "_Float"}, {'B', "_BitInt"}, {'U', "unsigned _BitInt"}};
	char letter = cpp_peek(cpp, 1);
	size_t start;
	uint16_t node;
	bool more;

	cpp->at += 2;
	start = cpp->at;
	cpp_number(cpp);
	if (start == cpp->at)
		return cpp_fail(cpp);
	if (letter == 'F' && cpp_eat(cpp, "b"))
		return cpp_word(cpp, CPP_NAME, 0, "std::bfloat16_t");
	more = letter == 'F' && cpp_eat(cpp, "x");
	node = cpp_text(cpp, CPP_NAME, 0, cpp->text + start, cpp->at - start);
	if (!more && !cpp_eat(cpp, "_"))
		return cpp_fail(cpp);
	for (size_t i = 0; i < DT_COUNT(kinds); i++)
		if (kinds[i].letter == letter)
			return cpp_word(cpp, CPP_PREFIXED, node, kinds[i].text);
	return cpp_fail(cpp);
}

/* What a function throws, in front of it. */
static uint16_t read_throwing(struct cpp *cpp)
{
	char kind = cpp_peek(cpp, 1);

	cpp->at += 2;
	if (kind == 'O')
		cpp_expression(cpp);
	else if (kind == 'w')
		cpp_types(cpp);
	if (kind != 'o' && kind != 'x' && !cpp_eat(cpp, "E"))
		return cpp_fail(cpp);
	return cpp_peek(cpp, 0) == 'F'
		   ? cpp_word(cpp, CPP_QUALIFIED, read_function(cpp), kind == 'o' ? " noexcept" : "")
		   : cpp_fail(cpp);
}

/* Types of two letters. *builtin: nothing refers to it later. */
static uint16_t read_extended(struct cpp *cpp, bool *builtin)
{
	static const struct {
		char letter;
		const char *text;
	} words[] = {{'a', "auto"},      {'c', "decltype(auto)"}, {'d', "decimal64"}, {'e', "decimal128"},
		     {'f', "decimal32"}, {'h', "half"},           {'i', "char32_t"},  {'n', "decltype(nullptr)"},
		     {'s', "char16_t"},  {'u', "char8_t"}};
	char letter = cpp_peek(cpp, 1);

	for (size_t i = 0; i < DT_COUNT(words); i++) {
		if (words[i].letter != letter)
			continue;
		cpp->at += 2;
		*builtin = true;
		return cpp_word(cpp, CPP_NAME, 0, words[i].text);
	}
	switch (letter) {
	case 'p':
		cpp->at += 2;
		return cpp_node(cpp, CPP_EXPANDED, cpp_type(cpp), 0);
	case 't':
	case 'T':
		return cpp_decltype(cpp);
	case 'v':
		return read_vector(cpp);
	case 'F':
	case 'B':
	case 'U':
		*builtin = true;
		return read_bits(cpp);
	case 'o':
	case 'O':
	case 'w':
	case 'x':
		return read_throwing(cpp);
	default:
		return cpp_fail(cpp);
	}
}

/* All that stand together are one, and later parts refer to all of them; those of a function are a part of its type. */
static uint16_t read_qualified(struct cpp *cpp)
{
	bool restricted = cpp_eat(cpp, "r"), is_volatile = cpp_eat(cpp, "V"), is_const = cpp_eat(cpp, "K");
	uint16_t node = cpp_peek(cpp, 0) == 'F' ? read_function(cpp) : cpp_type(cpp);

	if (is_const)
		node = cpp_word(cpp, CPP_QUALIFIED, node, " const");
	if (is_volatile)
		node = cpp_word(cpp, CPP_QUALIFIED, node, " volatile");
	if (restricted)
		node = cpp_word(cpp, CPP_QUALIFIED, node, " restrict");
	return node;
}

static uint16_t read_wrapped(struct cpp *cpp, enum cpp_kind kind, const char *text)
{
	cpp->at++;
	return cpp_word(cpp, kind, cpp_type(cpp), text);
}

static uint16_t read_vendor(struct cpp *cpp)
{
	uint16_t name, node;

	cpp->at++;
	name = cpp_source_name(cpp);
	if (cpp_peek(cpp, 0) == 'I')
		name = cpp_template(cpp, name);
	node = cpp_node(cpp, CPP_QUALIFIED, cpp_type(cpp), 0);
	cpp->nodes[node].text = cpp->nodes[name].text;
	cpp->nodes[node].number = cpp->nodes[name].text ? cpp->nodes[name].number : 0;
	return node;
}

static uint16_t read_member(struct cpp *cpp)
{
	uint16_t of;

	cpp->at++;
	of = cpp_type(cpp);
	return cpp_node(cpp, CPP_MEMBER, of, cpp_type(cpp));
}

/* What was said before, or a name in std, with template arguments or without. */
static uint16_t read_said(struct cpp *cpp, bool *known)
{
	uint16_t node;
	bool fresh;

	if (cpp_peek(cpp, 1) == 't')
		return cpp_name(cpp);
	node = cpp_substitution(cpp, &fresh);
	if (cpp_peek(cpp, 0) == 'I')
		return cpp_template(cpp, node);
	*known = true;
	return node;
}

static uint16_t read_compound(struct cpp *cpp, bool *known)
{
	uint16_t node;

	switch (cpp_peek(cpp, 0)) {
	case 'r':
	case 'V':
	case 'K':
		return read_qualified(cpp);
	case 'P':
		return read_wrapped(cpp, CPP_POINTER, "*");
	case 'R':
		return read_wrapped(cpp, CPP_POINTER, "&");
	case 'O':
		return read_wrapped(cpp, CPP_POINTER, "&&");
	case 'C':
		return read_wrapped(cpp, CPP_QUALIFIED, " _Complex");
	case 'G':
		return read_wrapped(cpp, CPP_QUALIFIED, " _Imaginary");
	case 'U':
		return cpp_peek(cpp, 1) == 'l' || cpp_peek(cpp, 1) == 't' ? cpp_name(cpp) : read_vendor(cpp);
	case 'F':
		return read_function(cpp);
	case 'A':
		return read_array(cpp);
	case 'M':
		return read_member(cpp);
	case 'D':
		return read_extended(cpp, known);
	case 'S':
		return read_said(cpp, known);
	case 'T':
		if (cpp_eat(cpp, "Ts") || cpp_eat(cpp, "Tu") || cpp_eat(cpp, "Te"))
			return cpp_name(cpp);
		node = cpp_parameter(cpp);
		*known = cpp->converting || cpp_peek(cpp, 0) != 'I';
		return *known ? node : cpp_template(cpp, node);
	default:
		return cpp_name(cpp);
	}
}

uint16_t cpp_type(struct cpp *cpp)
{
	char c = cpp_peek(cpp, 0);
	uint16_t node = 0;
	bool known = false;

	if (c >= 'a' && c <= 'z' && builtins[c - 'a']) {
		cpp->at++;
		return cpp_word(cpp, CPP_NAME, 0, builtins[c - 'a']);
	}
	cpp->types++;
	if (!cpp_enter(cpp)) {
		node = 0;
	} else if (c == 'u') { /* one that a compiler has of its own */
		cpp->at++;
		node = cpp_source_name(cpp);
		if (cpp_peek(cpp, 0) == 'I')
			node = cpp_template(cpp, node);
		cpp_remember(cpp, node);
	} else {
		node = read_compound(cpp, &known);
		if (!known)
			cpp_remember(cpp, node);
	}
	cpp_leave(cpp);
	cpp->types--;
	return node;
}

uint16_t cpp_argument(struct cpp *cpp)
{
	uint16_t node = 0;

	if (!cpp_enter(cpp)) {
		node = 0;
	} else if (cpp_peek(cpp, 0) == 'L') {
		node = cpp_literal(cpp);
	} else if (cpp_eat(cpp, "X")) {
		node = cpp_expression(cpp);
		if (!cpp_eat(cpp, "E"))
			cpp_fail(cpp);
	} else if (cpp_peek(cpp, 0) == 'J' || cpp_peek(cpp, 0) == 'I') {
		node = cpp_node(cpp, CPP_PACK, cpp_template_list(cpp), 0);
	} else {
		cpp->types++;
		node = cpp_type(cpp);
		cpp->types--;
	}
	cpp_leave(cpp);
	return node;
}

uint16_t cpp_template_list(struct cpp *cpp)
{
	struct cpp_list list = {0};
	bool converting = cpp->converting;

	cpp->at++;
	cpp->converting = false;
	while (!cpp->bad && !cpp_eat(cpp, "E")) {
		if (cpp_eat(cpp, "Q"))
			cpp_expression(cpp);
		else
			cpp_append(cpp, &list, cpp_argument(cpp));
	}
	cpp->converting = converting;
	return list.first;
}

uint16_t cpp_template(struct cpp *cpp, uint16_t of)
{
	uint16_t list;
	unsigned types = cpp->types++;

	list = cpp_enter(cpp) ? cpp_template_list(cpp) : 0;
	cpp_leave(cpp);
	cpp->types = types;
	if (!types)
		cpp->arguments = list;
	return cpp_node(cpp, CPP_TEMPLATE, of, list);
}
