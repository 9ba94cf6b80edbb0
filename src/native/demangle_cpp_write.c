/*
 * C++ names as they are read. A type has something on both sides of what it is the type of ("int (*" ... ")[3]"), so
 * each is written in two halves. Parameters of functions that are named are not written; those of types are.
 */
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "native/demangle_cpp.h"

struct writer {
	const struct cpp *cpp;
	struct demangled *out;
	size_t list_limit;
	unsigned depth, steps;
	bool spent; /* no more is unfolded: lists that are being written are given up */
};

static void write_node(struct writer *writer, uint16_t number);
static void write_right(struct writer *writer, uint16_t number);

/* NULL: enough was written. leave() in any other case. */
static const struct cpp_node *enter(struct writer *writer, uint16_t number)
{
	if (!number || writer->out->full || writer->spent)
		return NULL;
	if (writer->depth >= CPP_DEPTH_LIMIT || ++writer->steps > CPP_STEPS_LIMIT) {
		writer->spent = true;
		return NULL;
	}
	writer->depth++;
	return &writer->cpp->nodes[number];
}

static void leave(struct writer *writer)
{
	writer->depth--;
}

static const struct cpp_node *node_at(const struct writer *writer, uint16_t number)
{
	return &writer->cpp->nodes[number];
}

static void put_text(struct writer *writer, const struct cpp_node *node)
{
	if (node->text)
		demangled_put(writer->out, node->text, node->number);
}

/* Something that has no name of its own but its number. */
static void put_nameless(struct writer *writer, const char *what, uint32_t number)
{
	char text[16];

	snprintf(text, sizeof(text), "#%u}", number);
	demangled_puts(writer->out, what);
	demangled_puts(writer->out, text);
}

static bool ends_in(const struct demangled *out, char c)
{
	return out->length && out->text[out->length - 1] == c;
}

static void cut_back(struct demangled *out, size_t length)
{
	out->length = length;
	out->text[length] = '\0';
}

/* A member that turns out to be empty has no comma either. */
static void write_list(struct writer *writer, uint16_t list)
{
	size_t start = writer->out->length;

	for (unsigned left = CPP_NODES_LIMIT; list && left && !writer->out->full && !writer->spent; left--) {
		size_t before = writer->out->length;
		size_t after;

		if (before != start)
			demangled_puts(writer->out, ", ");
		after = writer->out->length;
		write_node(writer, node_at(writer, list)->a);
		if (writer->out->length == after && !writer->out->full)
			cut_back(writer->out, before);
		list = node_at(writer, list)->b;
	}
}

static void write_template(struct writer *writer, const struct cpp_node *node)
{
	struct demangled *out = writer->out;
	size_t start;

	write_node(writer, node->a);
	demangled_puts(out, ends_in(out, '<') ? " <" : "<");
	start = out->length;
	write_list(writer, node->b);
	if ((out->length - start > writer->list_limit || writer->spent) && !out->full) {
		cut_back(out, start);
		demangled_puts(out, "...");
	}
	demangled_puts(out, ">");
}

/* The last part of a class's name, without its arguments. */
static void write_last(struct writer *writer, uint16_t number)
{
	const struct cpp_node *node = enter(writer, number);

	if (!node)
		return;
	if (node->kind == CPP_SCOPED) {
		write_last(writer, node->b);
	} else if (node->kind == CPP_TEMPLATE || node->kind == CPP_TAGGED) {
		write_last(writer, node->a);
	} else if (node->text && node->number > 5 && !memcmp(node->text, "std::", 5)) {
		demangled_puts(writer->out, node->kind == CPP_SHORT ? "basic_" : "");
		demangled_put(writer->out, node->text + 5, node->number - 5);
	} else {
		write_node(writer, number);
	}
	leave(writer);
}

static bool is_word(const struct cpp_node *node, const char *word)
{
	return node->kind == CPP_NAME && node->number == strlen(word) && !memcmp(node->text, word, node->number);
}

static void write_literal(struct writer *writer, const struct cpp_node *node)
{
	static const struct {
		const char *type, *suffix;
	} suffixes[] = {{"int", ""},         {"unsigned int", "u"},        {"long", "l"}, {"unsigned long", "ul"},
			{"long long", "ll"}, {"unsigned long long", "ull"}};
	const struct cpp_node *type = node_at(writer, node->a);
	const char *suffix = NULL;
	bool negative = node->number && node->text[0] == 'n';

	if (is_word(type, "bool") && node->number == 1 && (node->text[0] == '0' || node->text[0] == '1')) {
		demangled_puts(writer->out, node->text[0] == '1' ? "true" : "false");
		return;
	}
	for (size_t i = 0; i < DT_COUNT(suffixes); i++)
		if (is_word(type, suffixes[i].type))
			suffix = suffixes[i].suffix;
	if (!suffix) {
		demangled_puts(writer->out, "(");
		write_node(writer, node->a);
		demangled_puts(writer->out, ")");
	}
	demangled_puts(writer->out, negative ? "-" : "");
	demangled_put(writer->out, node->text + negative, node->number - negative);
	demangled_puts(writer->out, suffix ? suffix : "");
}

/* What T_ stood for before it was known. */
static void write_parameter(struct writer *writer, const struct cpp_node *node)
{
	uint16_t list = writer->cpp->arguments;

	for (uint32_t left = node->number; list && left; left--)
		list = node_at(writer, list)->b;
	if (list)
		write_node(writer, node_at(writer, list)->a);
	else
		demangled_puts(writer->out, "auto");
}

/* What a pointer or a qualifier leads to, if that has brackets of its own behind it. */
static bool needs_brackets(const struct writer *writer, uint16_t number)
{
	enum cpp_kind kind = (enum cpp_kind)node_at(writer, number)->kind;

	for (unsigned left = CPP_DEPTH_LIMIT; kind == CPP_QUALIFIED && left; left--) {
		number = node_at(writer, number)->a;
		kind = (enum cpp_kind)node_at(writer, number)->kind;
	}
	return kind == CPP_FUNCTION || kind == CPP_ARRAY;
}

/* A pointer whose brackets are open: what comes next belongs to it. */
static bool is_open(const struct writer *writer, uint16_t number)
{
	const struct cpp_node *node = node_at(writer, number);

	return (node->kind == CPP_POINTER && needs_brackets(writer, node->a)) ||
	       (node->kind == CPP_MEMBER && needs_brackets(writer, node->b));
}

/* "void" alone stands for that. */
static bool takes_nothing(const struct writer *writer, uint16_t list)
{
	return list && !node_at(writer, list)->b && is_word(node_at(writer, node_at(writer, list)->a), "void");
}

static void write_name(struct writer *writer, const struct cpp_node *node);

static void write_left(struct writer *writer, uint16_t number)
{
	const struct cpp_node *node = enter(writer, number);

	if (!node)
		return;
	switch (node->kind) {
	case CPP_POINTER:
		write_left(writer, node->a);
		demangled_puts(writer->out, needs_brackets(writer, node->a) ? "(" : "");
		put_text(writer, node);
		break;
	case CPP_MEMBER:
		write_left(writer, node->b);
		demangled_puts(writer->out, needs_brackets(writer, node->b) ? "(" : " ");
		write_node(writer, node->a);
		demangled_puts(writer->out, "::*");
		break;
	case CPP_QUALIFIED:
		write_left(writer, node->a);
		if (!needs_brackets(writer, node->a))
			put_text(writer, node);
		break;
	case CPP_FUNCTION:
	case CPP_ARRAY:
		write_left(writer, node->a);
		demangled_puts(writer->out, ends_in(writer->out, ' ') || is_open(writer, node->a) ? "" : " ");
		break;
	default:
		write_name(writer, node);
	}
	leave(writer);
}

static void write_right(struct writer *writer, uint16_t number)
{
	const struct cpp_node *node = enter(writer, number);

	if (!node)
		return;
	switch (node->kind) {
	case CPP_POINTER:
		demangled_puts(writer->out, needs_brackets(writer, node->a) ? ")" : "");
		write_right(writer, node->a);
		break;
	case CPP_MEMBER:
		demangled_puts(writer->out, needs_brackets(writer, node->b) ? ")" : "");
		write_right(writer, node->b);
		break;
	case CPP_QUALIFIED:
		write_right(writer, node->a);
		if (needs_brackets(writer, node->a))
			put_text(writer, node);
		break;
	case CPP_FUNCTION:
		demangled_puts(writer->out, "(");
		if (!takes_nothing(writer, node->b))
			write_list(writer, node->b);
		demangled_puts(writer->out, ")");
		put_text(writer, node);
		write_right(writer, node->a);
		break;
	case CPP_ARRAY:
		demangled_puts(writer->out, ends_in(writer->out, ')') ? " [" : "[");
		put_text(writer, node);
		demangled_puts(writer->out, "]");
		write_right(writer, node->a);
		break;
	default:
		break;
	}
	leave(writer);
}

static void write_name(struct writer *writer, const struct cpp_node *node)
{
	struct demangled *out = writer->out;

	switch (node->kind) {
	case CPP_NAME:
	case CPP_SHORT:
		put_text(writer, node);
		break;
	case CPP_SCOPED:
	case CPP_JOINED:
		write_node(writer, node->a);
		demangled_puts(out, node->kind == CPP_SCOPED ? "::" : "");
		write_node(writer, node->b);
		break;
	case CPP_TEMPLATE:
		write_template(writer, node);
		break;
	case CPP_PACK:
		write_list(writer, node->a);
		break;
	case CPP_UNMADE:
		demangled_puts(out, "~");
		write_last(writer, node->a);
		break;
	case CPP_MADE:
		write_last(writer, node->a);
		break;
	case CPP_OPERATOR:
		demangled_puts(out, "operator");
		put_text(writer, node);
		break;
	case CPP_CONVERT:
		demangled_puts(out, "operator ");
		write_node(writer, node->a);
		break;
	case CPP_LAMBDA:
		put_nameless(writer, "{lambda", node->number);
		break;
	case CPP_UNNAMED:
		put_nameless(writer, "{unnamed type", node->number);
		break;
	case CPP_DEFAULT:
		put_nameless(writer, "{default arg", node->number);
		break;
	case CPP_TAGGED:
		write_node(writer, node->a);
		demangled_puts(out, "[abi:");
		put_text(writer, node);
		demangled_puts(out, "]");
		break;
	case CPP_PREFIXED:
		put_text(writer, node);
		write_node(writer, node->a);
		break;
	case CPP_PARAMETER:
		write_parameter(writer, node);
		break;
	case CPP_EXPANDED:
		write_node(writer, node->a);
		demangled_puts(out, node_at(writer, node->a)->kind == CPP_PACK ? "" : "...");
		break;
	case CPP_LITERAL:
		write_literal(writer, node);
		break;
	default:
		break;
	}
}

static void write_node(struct writer *writer, uint16_t number)
{
	write_left(writer, number);
	write_right(writer, number);
}

void cpp_write(const struct cpp *cpp, uint16_t node, size_t list_limit, struct demangled *out)
{
	struct writer writer = {.cpp = cpp, .out = out, .list_limit = list_limit};

	write_node(&writer, node);
}
