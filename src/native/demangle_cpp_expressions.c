/* Expressions of C++, which only have to be read over; literals, which are told; and operators, which both need. */
#include <string.h>

#include "base/util.h"
#include "native/demangle_cpp.h"

struct sign {
	char code[3];
	uint8_t operands;
	const char *text;
};

static const struct sign operators[] = {
    {"aN", 2, "&="},        {"aS", 2, "="},   {"aa", 2, "&&"},      {"ad", 1, "&"},  {"an", 2, "&"},
    {"aw", 1, " co_await"}, {"cl", 0, "()"},  {"cm", 2, ","},       {"co", 1, "~"},  {"dV", 2, "/="},
    {"da", 1, " delete[]"}, {"de", 1, "*"},   {"dl", 1, " delete"}, {"ds", 2, ".*"}, {"dv", 2, "/"},
    {"eO", 2, "^="},        {"eo", 2, "^"},   {"eq", 2, "=="},      {"ge", 2, ">="}, {"gt", 2, ">"},
    {"ix", 2, "[]"},        {"lS", 2, "<<="}, {"le", 2, "<="},      {"ls", 2, "<<"}, {"lt", 2, "<"},
    {"mI", 2, "-="},        {"mL", 2, "*="},  {"mi", 2, "-"},       {"ml", 2, "*"},  {"mm", 1, "--"},
    {"na", 0, " new[]"},    {"ne", 2, "!="},  {"ng", 1, "-"},       {"nt", 1, "!"},  {"nw", 0, " new"},
    {"oR", 2, "|="},        {"oo", 2, "||"},  {"or", 2, "|"},       {"pL", 2, "+="}, {"pl", 2, "+"},
    {"pm", 2, "->*"},       {"pp", 1, "++"},  {"ps", 1, "+"},       {"pt", 0, "->"}, {"qu", 3, "?"},
    {"rM", 2, "%="},        {"rS", 2, ">>="}, {"rm", 2, "%"},       {"rs", 2, ">>"}, {"ss", 2, "<=>"},
};

const char *cpp_operator_at(const struct cpp *cpp, unsigned *operands)
{
	for (size_t i = 0; i < DT_COUNT(operators); i++) {
		if (operators[i].code[0] != cpp_peek(cpp, 0) || operators[i].code[1] != cpp_peek(cpp, 1))
			continue;
		*operands = operators[i].operands;
		return operators[i].text;
	}
	return NULL;
}

uint16_t cpp_operator(struct cpp *cpp)
{
	unsigned operands;
	const char *text = cpp_operator_at(cpp, &operands);

	if (text) {
		cpp->at += 2;
		return cpp_word(cpp, CPP_OPERATOR, 0, text);
	}
	if (cpp_eat(cpp, "cv")) {
		uint16_t to;

		cpp->types++;
		cpp->converting = true;
		to = cpp_type(cpp);
		cpp->converting = false;
		cpp->types--;
		return cpp_node(cpp, CPP_CONVERT, to, 0);
	}
	if (cpp_eat(cpp, "li"))
		return cpp_word(cpp, CPP_PREFIXED, cpp_source_name(cpp), "operator\"\" ");
	return cpp_fail(cpp);
}

uint16_t cpp_literal(struct cpp *cpp)
{
	uint16_t type;
	size_t start;

	cpp->at++;
	if (cpp_eat(cpp, "_Z") || cpp_eat(cpp, "Z")) {
		uint16_t node = cpp_encoding(cpp, false);

		return cpp_eat(cpp, "E") ? node : cpp_fail(cpp);
	}
	cpp->types++;
	type = cpp_type(cpp);
	cpp->types--;
	start = cpp->at;
	while (cpp->at < cpp->end && cpp_peek(cpp, 0) != 'E')
		cpp->at++;
	type = cpp_text(cpp, CPP_LITERAL, type, cpp->text + start, cpp->at - start);
	return cpp_eat(cpp, "E") ? type : cpp_fail(cpp);
}

static bool at_digit(const struct cpp *cpp, size_t ahead)
{
	return cpp_peek(cpp, ahead) >= '0' && cpp_peek(cpp, ahead) <= '9';
}

/* Up to "E", or up to "_" where that may be. */
static void skip_expressions(struct cpp *cpp, char end)
{
	while (!cpp->bad && cpp_peek(cpp, 0) != end)
		cpp_expression(cpp);
	cpp->at += !cpp->bad;
}

static void skip_arguments(struct cpp *cpp)
{
	if (cpp_peek(cpp, 0) == 'I')
		cpp_template_list(cpp);
}

/* A name without its scope: as it is written, an operator, or what destroys a type. */
static void skip_base_name(struct cpp *cpp)
{
	if (cpp_eat(cpp, "dn")) {
		if (at_digit(cpp, 0))
			cpp_source_name(cpp);
		else
			cpp_type(cpp);
	} else {
		cpp_eat(cpp, "on");
		cpp_unqualified(cpp, 0);
	}
	skip_arguments(cpp);
}

static void skip_scopes(struct cpp *cpp)
{
	while (!cpp->bad && at_digit(cpp, 0)) {
		cpp_source_name(cpp);
		skip_arguments(cpp);
	}
}

/* A scope and what is in it. Compilers differ in whether an "E" stands between where the scope is only named. */
static void skip_scoped(struct cpp *cpp)
{
	if (at_digit(cpp, 0)) {
		skip_scopes(cpp);
		if (cpp_peek(cpp, 0) == 'E' &&
		    (at_digit(cpp, 1) ||
		     ((cpp_peek(cpp, 1) == 'o' || cpp_peek(cpp, 1) == 'd') && cpp_peek(cpp, 2) == 'n')))
			cpp->at++;
		else if (cpp_peek(cpp, 0) == 'E')
			return;
	} else {
		bool nested = cpp_eat(cpp, "N");

		cpp_type(cpp);
		skip_arguments(cpp);
		if (nested) {
			skip_scopes(cpp);
			if (!cpp_eat(cpp, "E"))
				cpp_fail(cpp);
		}
	}
	skip_base_name(cpp);
}

/* Numbers of a function's parameters: "fp", "fpT" and "fL". */
static void skip_parameter(struct cpp *cpp)
{
	bool outer = cpp_peek(cpp, 1) == 'L';

	cpp->at += 2;
	if (cpp_eat(cpp, "T"))
		return;
	if (outer) {
		cpp_number(cpp);
		if (!cpp_eat(cpp, "p"))
			cpp_fail(cpp);
	}
	while (cpp_peek(cpp, 0) && strchr("rVK", cpp_peek(cpp, 0)))
		cpp->at++;
	cpp_index(cpp);
}

static void skip_new(struct cpp *cpp)
{
	skip_expressions(cpp, '_');
	cpp_type(cpp);
	if (cpp_eat(cpp, "pi"))
		skip_expressions(cpp, 'E');
	else if (cpp_peek(cpp, 0) == 'i')
		cpp_expression(cpp);
	else if (!cpp_eat(cpp, "E"))
		cpp_fail(cpp);
}

/* One part of an expression: a type, an expression, all up to "E", the same as template arguments, an operator, a
 * scoped name, a plain one, a member, or what destroys a type. */
static void skip_part(struct cpp *cpp, char part)
{
	switch (part) {
	case 'T':
		cpp_type(cpp);
		break;
	case 'e':
		cpp_expression(cpp);
		break;
	case 'E':
		skip_expressions(cpp, 'E');
		break;
	case 'A':
		cpp->at--; /* as if it were a list, whose letter is not looked at */
		cpp_template_list(cpp);
		break;
	case 'o':
		cpp->at += cpp->end - cpp->at < 2 ? 0 : 2;
		break;
	case 's':
		skip_scoped(cpp);
		break;
	case 'n':
		cpp_source_name(cpp);
		break;
	case 'm':
		if (cpp_eat(cpp, "sr"))
			skip_scoped(cpp);
		else
			skip_base_name(cpp);
		break;
	default:
		cpp->at -= part == 'd' ? 2 : 0;
		skip_base_name(cpp);
	}
}

/* What begins with letters of its own, and the parts that follow. False: nothing of the kind. */
static bool skip_shaped(struct cpp *cpp)
{
	static const struct {
		const char *code, *shape;
	} shapes[] = {
	    {"st", "T"},   {"ti", "T"},   {"at", "T"},  {"sz", "e"},  {"te", "e"},  {"az", "e"},  {"nx", "e"},
	    {"sp", "e"},   {"tw", "e"},   {"tr", ""},   {"sZ", "e"},  {"sP", "A"},  {"cl", "E"},  {"cp", "E"},
	    {"tl", "TE"},  {"il", "E"},   {"dc", "Te"}, {"sc", "Te"}, {"cc", "Te"}, {"rc", "Te"}, {"di", "ne"},
	    {"dx", "ee"},  {"dX", "eee"}, {"dt", "em"}, {"pt", "em"}, {"fl", "oe"}, {"fr", "oe"}, {"fL", "oee"},
	    {"fR", "oee"}, {"sr", "s"},   {"on", "b"},  {"dn", "d"},  {"mm_", "e"}, {"pp_", "e"}, {"so", "TeE"},
	};
	const char *shape = NULL;

	for (size_t i = 0; i < DT_COUNT(shapes) && !shape; i++)
		if (cpp_eat(cpp, shapes[i].code))
			shape = shapes[i].shape;
	for (const char *part = shape; part && *part && !cpp->bad; part++)
		skip_part(cpp, *part);
	return shape != NULL;
}

static void skip_expression(struct cpp *cpp)
{
	char c = cpp_peek(cpp, 0), next = cpp_peek(cpp, 1);
	unsigned operands = 0;

	if (c == 'L') {
		cpp_literal(cpp);
	} else if (c == 'T') {
		cpp_parameter(cpp);
	} else if (c == 'f' && (next == 'p' || (next == 'L' && at_digit(cpp, 2)))) {
		skip_parameter(cpp);
	} else if (c == 'c' && next == 'v') {
		cpp->at += 2;
		cpp_type(cpp);
		if (cpp_eat(cpp, "_"))
			skip_expressions(cpp, 'E');
		else
			cpp_expression(cpp);
	} else if (c == 'n' && (next == 'w' || next == 'a')) {
		cpp->at += 2;
		skip_new(cpp);
	} else if (at_digit(cpp, 0)) {
		skip_base_name(cpp);
	} else if (c == 'N' || c == 'S') {
		cpp_name(cpp);
	} else if (c == 'u') {
		cpp->at++;
		cpp_source_name(cpp);
		while (!cpp->bad && !cpp_eat(cpp, "E"))
			cpp_argument(cpp);
	} else if (!skip_shaped(cpp)) {
		if (!cpp_operator_at(cpp, &operands))
			cpp_fail(cpp);
		cpp->at += cpp->bad ? 0 : 2;
		for (; operands && !cpp->bad; operands--)
			cpp_expression(cpp);
	}
}

uint16_t cpp_expression(struct cpp *cpp)
{
	cpp->types++;
	if (cpp_enter(cpp)) {
		cpp_eat(cpp, "gs");
		skip_expression(cpp);
	}
	cpp_leave(cpp);
	cpp->types--;
	return cpp_word(cpp, CPP_NAME, 0, "...");
}
