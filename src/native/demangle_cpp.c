/* C++ names: what is common to all that reads them, and special names. */
#include "native/demangle_cpp.h"

#include <string.h>

#include "base/util.h"

uint16_t cpp_fail(struct cpp *cpp)
{
	cpp->bad = true;
	cpp->at = cpp->end;
	return 0;
}

bool cpp_enter(struct cpp *cpp)
{
	if (cpp->depth++ >= CPP_DEPTH_LIMIT)
		cpp_fail(cpp);
	return !cpp->bad;
}

void cpp_leave(struct cpp *cpp)
{
	cpp->depth--;
}

char cpp_peek(const struct cpp *cpp, size_t ahead)
{
	return cpp->at + ahead < cpp->end ? cpp->text[cpp->at + ahead] : '\0';
}

bool cpp_eat(struct cpp *cpp, const char *text)
{
	size_t length = strlen(text);

	if (cpp->at + length > cpp->end || memcmp(cpp->text + cpp->at, text, length) != 0)
		return false;
	cpp->at += length;
	return true;
}

uint32_t cpp_number(struct cpp *cpp)
{
	uint32_t number = 0;

	for (; cpp_peek(cpp, 0) >= '0' && cpp_peek(cpp, 0) <= '9'; cpp->at++) {
		number = number * 10 + (uint32_t)(cpp_peek(cpp, 0) - '0');
		if (number > 1000000)
			cpp_fail(cpp);
	}
	return number;
}

uint32_t cpp_index(struct cpp *cpp)
{
	uint32_t number;

	if (cpp_eat(cpp, "_"))
		return 0;
	number = cpp_number(cpp);
	if (!cpp_eat(cpp, "_"))
		cpp_fail(cpp);
	return number + 1;
}

uint16_t cpp_node(struct cpp *cpp, enum cpp_kind kind, uint16_t a, uint16_t b)
{
	if (cpp->bad || cpp->count + 1 >= CPP_NODES_LIMIT)
		return cpp_fail(cpp);
	cpp->nodes[++cpp->count] = (struct cpp_node){.kind = (uint8_t)kind, .a = a, .b = b};
	return cpp->count;
}

uint16_t cpp_text(struct cpp *cpp, enum cpp_kind kind, uint16_t a, const char *text, size_t length)
{
	uint16_t node = cpp_node(cpp, kind, a, 0);

	cpp->nodes[node].text = text;
	cpp->nodes[node].number = (uint32_t)length;
	return node;
}

uint16_t cpp_word(struct cpp *cpp, enum cpp_kind kind, uint16_t a, const char *text)
{
	return cpp_text(cpp, kind, a, text, strlen(text));
}

uint16_t cpp_remember(struct cpp *cpp, uint16_t node)
{
	if (cpp->bad || cpp->seen_count >= CPP_NODES_LIMIT)
		return cpp_fail(cpp);
	cpp->seen[cpp->seen_count++] = node;
	return node;
}

void cpp_append(struct cpp *cpp, struct cpp_list *list, uint16_t node)
{
	uint16_t link = cpp_node(cpp, CPP_LIST, node, 0);

	if (!list->first)
		list->first = link;
	else
		cpp->nodes[list->last].b = link;
	list->last = link;
}

/* "h" or "v": by how much a thunk moves its object. */
static void skip_offset(struct cpp *cpp, char kind)
{
	for (int left = kind == 'v' ? 2 : 1; left; left--) {
		cpp_eat(cpp, "n");
		cpp_number(cpp);
		if (!cpp_eat(cpp, "_"))
			cpp_fail(cpp);
	}
}

static uint16_t read_thunk(struct cpp *cpp)
{
	char kind = cpp_peek(cpp, 1);
	const char *text = kind == 'h' ? "non-virtual thunk to " : "virtual thunk to ";

	cpp->at += 2;
	if (kind == 'c') {
		text = "covariant return thunk to ";
		for (int left = 2; left && !cpp->bad; left--) {
			kind = cpp_peek(cpp, 0);
			cpp->at += !cpp->bad;
			if (kind != 'h' && kind != 'v')
				return cpp_fail(cpp);
			skip_offset(cpp, kind);
		}
	} else {
		skip_offset(cpp, kind);
	}
	return cpp_word(cpp, CPP_PREFIXED, cpp_encoding(cpp, true), text);
}

/* "TC": a base, and what it is constructed in. */
static uint16_t read_construction(struct cpp *cpp)
{
	uint16_t within, base;

	within = cpp_type(cpp);
	cpp_number(cpp);
	if (!cpp_eat(cpp, "_"))
		return cpp_fail(cpp);
	base = cpp_type(cpp);
	cpp_word(cpp, CPP_PREFIXED, within, "-in-");
	return cpp_word(cpp, CPP_PREFIXED, cpp_node(cpp, CPP_JOINED, base, cpp->count), "construction vtable for ");
}

static uint16_t read_special(struct cpp *cpp)
{
	static const struct {
		const char *code, *text;
		bool type;
	} specials[] = {
	    {"TV", "vtable for ", true},
	    {"TT", "VTT for ", true},
	    {"TI", "typeinfo for ", true},
	    {"TS", "typeinfo name for ", true},
	    {"TW", "TLS wrapper function for ", false},
	    {"TH", "TLS init function for ", false},
	    {"GV", "guard variable for ", false},
	    {"GR", "reference temporary for ", false},
	    {"GTt", "transaction clone for ", false},
	};

	if (cpp_peek(cpp, 0) == 'T' && cpp_peek(cpp, 1) && strchr("hvc", cpp_peek(cpp, 1)))
		return read_thunk(cpp);
	if (cpp_eat(cpp, "TC"))
		return read_construction(cpp);
	for (size_t i = 0; i < DT_COUNT(specials); i++) {
		uint16_t of;

		if (!cpp_eat(cpp, specials[i].code))
			continue;
		of = specials[i].type ? cpp_type(cpp) : cpp_name(cpp);
		return cpp_word(cpp, CPP_PREFIXED, of, specials[i].text);
	}
	return cpp_fail(cpp);
}

/* Of the outermost name what follows is not read: it has no part in what is written. */
uint16_t cpp_encoding(struct cpp *cpp, bool outermost)
{
	uint16_t node = 0, arguments = cpp->arguments;
	unsigned types = cpp->types;

	cpp->types = 0;
	if (!cpp_enter(cpp))
		node = 0;
	else if (cpp_peek(cpp, 0) == 'T' ||
		 (cpp_peek(cpp, 0) == 'G' && cpp_peek(cpp, 1) >= 'A' && cpp_peek(cpp, 1) <= 'Z'))
		node = read_special(cpp);
	else
		node = cpp_name(cpp);
	cpp->types = 1;
	if (!outermost)
		cpp_types(cpp);
	cpp->types = types;
	if (!outermost)
		cpp->arguments = arguments;
	cpp_leave(cpp);
	return node;
}

bool demangle_cpp(const char *symbol, size_t list_limit, struct demangled *out)
{
	size_t length = strnlen(symbol, CPP_SYMBOL_LIMIT + 1);
	dt_auto_free struct cpp *cpp = NULL;
	uint16_t node;

	if (length > CPP_SYMBOL_LIMIT || strncmp(symbol, "_Z", 2) != 0)
		return false;
	cpp = malloc(sizeof(*cpp));
	if (!cpp)
		return false;
	/* The tables are filled as they are used. */
	memset(cpp, 0, offsetof(struct cpp, seen));
	cpp->nodes[0] = (struct cpp_node){0};
	cpp->text = symbol;
	cpp->at = 2;
	cpp->end = length;
	node = cpp_encoding(cpp, true);
	if (cpp->bad || !node)
		return false;
	cpp_write(cpp, node, list_limit, out);
	return true;
}
