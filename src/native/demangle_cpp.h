/*
 * The parts of a C++ name, shared by the files that read and write it. Reading makes a tree of what was understood, in
 * one go over the symbol: a reference to an earlier part is one to its node, so the tree is no larger than the symbol.
 * Writing unfolds it, and that is what is bounded: in steps, depth and length.
 */
#ifndef DT_NATIVE_DEMANGLE_CPP_H
#define DT_NATIVE_DEMANGLE_CPP_H

#include "native/demangle_inside.h"

#define CPP_SYMBOL_LIMIT 4096 /* bytes; longer names are not read */
#define CPP_NODES_LIMIT  4096
#define CPP_DEPTH_LIMIT  256 /* of what is read and of what is written */
#define CPP_STEPS_LIMIT  20000

enum cpp_kind {
	CPP_NONE,
	CPP_NAME,      /* text */
	CPP_SHORT,     /* text: std::string and the like, which have another name of their own */
	CPP_SCOPED,    /* a::b */
	CPP_JOINED,    /* a, and right behind it b */
	CPP_TEMPLATE,  /* a<b> */
	CPP_LIST,      /* a, then the list b */
	CPP_PACK,      /* the list a, among others */
	CPP_MADE,      /* the constructor of a */
	CPP_UNMADE,    /* the destructor of a */
	CPP_OPERATOR,  /* operator text */
	CPP_CONVERT,   /* operator a */
	CPP_LAMBDA,    /* number */
	CPP_UNNAMED,   /* number */
	CPP_DEFAULT,   /* number of an argument, counted from the last one */
	CPP_TAGGED,    /* a, with the tag text */
	CPP_PREFIXED,  /* text a */
	CPP_POINTER,   /* a and text: *, &, && */
	CPP_QUALIFIED, /* a and text: const and the like */
	CPP_FUNCTION,  /* from the list b to a; text: its qualifiers */
	CPP_ARRAY,     /* text of a */
	CPP_MEMBER,    /* pointer to b in a */
	CPP_PARAMETER, /* number: what the name has only further on */
	CPP_EXPANDED,  /* a... */
	CPP_LITERAL,   /* text as an a */
};

/* Numbers of nodes; 0 is none. */
struct cpp_node {
	uint8_t kind;
	uint16_t a, b;
	uint32_t number; /* or the length of text */
	const char *text;
};

struct cpp {
	const char *text;
	size_t at, end;
	unsigned depth, types; /* types: how deep in a type, whose template arguments are not the name's */
	bool bad;
	bool converting;    /* template arguments belong to the conversion, not to the type that it is to */
	uint16_t arguments; /* the list that T_ refers to; 0 if it was not yet there */
	uint16_t count, seen_count;
	uint16_t seen[CPP_NODES_LIMIT]; /* what S_ may refer to */
	struct cpp_node nodes[CPP_NODES_LIMIT];
};

/* ---- reading: each returns a node, or sets `bad` ---- */

uint16_t cpp_fail(struct cpp *cpp);
/* False: too deep, and bad. cpp_leave() in any case. */
bool cpp_enter(struct cpp *cpp);
void cpp_leave(struct cpp *cpp);

/* '\0' behind the end. */
char cpp_peek(const struct cpp *cpp, size_t ahead);
bool cpp_eat(struct cpp *cpp, const char *text);
/* Digits, which may be none: 0. */
uint32_t cpp_number(struct cpp *cpp);
/* A number that may be absent, and the "_" behind it: 0 without one, else one more than it is. */
uint32_t cpp_index(struct cpp *cpp);

uint16_t cpp_node(struct cpp *cpp, enum cpp_kind kind, uint16_t a, uint16_t b);
uint16_t cpp_text(struct cpp *cpp, enum cpp_kind kind, uint16_t a, const char *text, size_t length);
uint16_t cpp_word(struct cpp *cpp, enum cpp_kind kind, uint16_t a, const char *text);
/* Later parts may refer to it. */
uint16_t cpp_remember(struct cpp *cpp, uint16_t node);

/* A list that grows at its end; an empty one is 0. */
struct cpp_list {
	uint16_t first, last;
};
void cpp_append(struct cpp *cpp, struct cpp_list *list, uint16_t node);

uint16_t cpp_encoding(struct cpp *cpp, bool outermost);
uint16_t cpp_name(struct cpp *cpp);
uint16_t cpp_source_name(struct cpp *cpp);
uint16_t cpp_unqualified(struct cpp *cpp, uint16_t scope);
/* What S... refers to; *fresh: it is a name that is remembered only once it is whole. */
uint16_t cpp_substitution(struct cpp *cpp, bool *fresh);
uint16_t cpp_operator(struct cpp *cpp);

uint16_t cpp_type(struct cpp *cpp);
/* Types up to "E", or to what no type begins with. */
uint16_t cpp_types(struct cpp *cpp);
uint16_t cpp_parameter(struct cpp *cpp);
uint16_t cpp_decltype(struct cpp *cpp);
/* Behind a node that they belong to. */
uint16_t cpp_template(struct cpp *cpp, uint16_t of);
uint16_t cpp_template_list(struct cpp *cpp);
uint16_t cpp_argument(struct cpp *cpp);

/* Expressions are read over and become "...". */
uint16_t cpp_expression(struct cpp *cpp);
uint16_t cpp_literal(struct cpp *cpp);
/* The text behind "operator" and how many operands it has; NULL if there is none. Does not move on. */
const char *cpp_operator_at(const struct cpp *cpp, unsigned *operands);

/* ---- writing ---- */

/* A list of template arguments that would be longer than `list_limit` bytes becomes "...", the innermost first. */
void cpp_write(const struct cpp *cpp, uint16_t node, size_t list_limit, struct demangled *out);

/* A C++ name; false: it is none that is understood. */
bool demangle_cpp(const char *symbol, size_t list_limit, struct demangled *out);

#endif
