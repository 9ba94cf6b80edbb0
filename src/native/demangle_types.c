/* Types and constants of the newer form of Rust names. */
#include <string.h>

#include "native/demangle_v0.h"

#define LIFETIMES_LIMIT 64 /* in one "for<...>" */

static const char *basic_type(char tag)
{
	static const char *const names[] = {"i8",    "bool", "char", "f64", "str",  "f32",  NULL,  "u8", "isize",
					    "usize", NULL,   "i32",  "u32", "i128", "u128", "_",   NULL, NULL,
					    "i16",   "u16",  "()",   "...", NULL,   "i64",  "u64", "!"};

	return tag >= 'a' && tag <= 'z' ? names[tag - 'a'] : NULL;
}

static void read_reference(struct v0 *v0, bool writable)
{
	uint64_t lifetime;

	v0_put(v0, "&");
	if (v0_eat(v0, 'L')) {
		lifetime = v0_base62(v0);
		if (lifetime) {
			v0_put_lifetime(v0, lifetime);
			v0_put(v0, " ");
		}
	}
	v0_put(v0, writable ? "mut " : "");
	v0_type(v0);
}

static void read_array(struct v0 *v0, bool sized)
{
	v0_put(v0, "[");
	v0_type(v0);
	if (sized) {
		v0_put(v0, "; ");
		v0_const(v0);
	}
	v0_put(v0, "]");
}

/* The lifetimes hold until the caller takes them back. */
static void read_binder(struct v0 *v0)
{
	uint64_t count = v0_tagged(v0, 'G');

	if (!count)
		return;
	if (count > LIFETIMES_LIMIT) {
		v0_fail(v0);
		return;
	}
	v0_put(v0, "for<");
	for (uint64_t i = 0; i < count; i++) {
		v0_put(v0, i ? ", " : "");
		v0->bound++;
		v0_put_lifetime(v0, 1);
	}
	v0_put(v0, "> ");
}

static void read_abi(struct v0 *v0)
{
	struct v0_name name = {.text = "C", .length = 1};

	if (!v0_eat(v0, 'C'))
		name = v0_name(v0);
	v0_put(v0, "extern \"");
	for (size_t i = 0; i < name.length; i++) {
		char letter[] = {name.text[i], '\0'};

		v0_put(v0, letter[0] == '_' ? "-" : letter);
	}
	v0_put(v0, "\" ");
}

static void read_function(struct v0 *v0)
{
	uint64_t bound = v0->bound;

	read_binder(v0);
	if (v0_eat(v0, 'U'))
		v0_put(v0, "unsafe ");
	if (v0_eat(v0, 'K'))
		read_abi(v0);
	v0_put(v0, "fn(");
	v0_list(v0, v0_type, ", ");
	v0_put(v0, ")");
	if (!v0_eat(v0, 'u')) {
		v0_put(v0, " -> ");
		v0_type(v0);
	}
	v0->bound = bound;
}

/* A path whose "<...>", if it has one, is left open for what else belongs in there. */
static bool read_open_path(struct v0 *v0)
{
	size_t back;
	bool open = false;

	if (!v0_enter(v0)) {
		v0_fail(v0);
	} else if (v0_eat(v0, 'B')) {
		size_t to = v0_back(v0);

		back = v0->at;
		if (!v0->silent && !v0_over(v0)) {
			v0->at = to;
			open = read_open_path(v0);
			v0->at = back;
		}
	} else if (v0_eat(v0, 'I')) {
		v0_path(v0, false);
		v0_put(v0, "<");
		v0_list(v0, v0_argument, ", ");
		open = true;
	} else {
		v0_path(v0, false);
	}
	v0_leave(v0);
	return open;
}

static void read_trait(struct v0 *v0)
{
	bool open = read_open_path(v0);

	while (!v0_over(v0) && v0_eat(v0, 'p')) {
		v0_put(v0, open ? ", " : "<");
		open = true;
		v0_put_name(v0, v0_name(v0));
		v0_put(v0, " = ");
		v0_type(v0);
	}
	v0_put(v0, open ? ">" : "");
}

static void read_dynamic(struct v0 *v0)
{
	uint64_t bound = v0->bound, lifetime;

	v0_put(v0, "dyn ");
	read_binder(v0);
	v0_list(v0, read_trait, " + ");
	v0->bound = bound;
	if (!v0_eat(v0, 'L'))
		v0_fail(v0);
	lifetime = v0_base62(v0);
	if (lifetime) {
		v0_put(v0, " + ");
		v0_put_lifetime(v0, lifetime);
	}
}

static void read_tuple(struct v0 *v0)
{
	v0_put(v0, "(");
	if (v0_list(v0, v0_type, ", ") == 1)
		v0_put(v0, ",");
	v0_put(v0, ")");
}

static void read_pointer(struct v0 *v0, const char *kind)
{
	v0_put(v0, kind);
	v0_type(v0);
}

static void read_tagged_type(struct v0 *v0, char tag)
{
	switch (tag) {
	case 'R':
	case 'Q':
		read_reference(v0, tag == 'Q');
		return;
	case 'P':
		read_pointer(v0, "*const ");
		return;
	case 'O':
		read_pointer(v0, "*mut ");
		return;
	case 'A':
	case 'S':
		read_array(v0, tag == 'A');
		return;
	case 'T':
		read_tuple(v0);
		return;
	case 'F':
		read_function(v0);
		return;
	case 'D':
		read_dynamic(v0);
		return;
	case 'B':
		v0_follow(v0, v0_type);
		return;
	default:
		v0->at--;
		v0_path(v0, false);
	}
}

void v0_type(struct v0 *v0)
{
	char tag = v0_enter(v0) ? v0_next(v0) : '\0';

	if (basic_type(tag))
		v0_put(v0, basic_type(tag));
	else if (tag)
		read_tagged_type(v0, tag);
	else
		v0_fail(v0);
	v0_leave(v0);
}

/* Hexadecimal digits up to '_'; false: there are none, or more than 64 bits can hold, which are shown as they are. */
static bool read_digits(struct v0 *v0, uint64_t *value)
{
	size_t from = v0->at, digits;
	char c;

	*value = 0;
	for (c = v0_next(v0); (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); c = v0_next(v0))
		*value = *value << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
	digits = v0->at - from;
	if (c != '_' || digits < 2)
		v0_fail(v0);
	if (v0_over(v0) || digits <= 17)
		return !v0_over(v0);
	v0_put(v0, "0x");
	v0_put_name(v0, (struct v0_name){.text = v0->text + from, .length = digits - 1});
	return false;
}

static void put_rune(struct v0 *v0, uint64_t value)
{
	v0_put(v0, "'");
	if (!v0->silent && !v0_over(v0) && (value > UINT32_MAX || !demangled_rune(v0->out, (uint32_t)value)))
		v0_fail(v0);
	v0_put(v0, "'");
}

static void read_value(struct v0 *v0, char type)
{
	uint64_t value;

	if (strchr("aslxni", type) && v0_eat(v0, 'n'))
		v0_put(v0, "-");
	if (!read_digits(v0, &value))
		return;
	if (type == 'c')
		put_rune(v0, value);
	else if (type != 'b')
		v0_put_number(v0, value);
	else if (value < 2)
		v0_put(v0, value ? "true" : "false");
	else
		v0_fail(v0);
}

void v0_const(struct v0 *v0)
{
	char type = v0_enter(v0) ? v0_next(v0) : '\0';

	if (type == 'B')
		v0_follow(v0, v0_const);
	else if (type == 'p')
		v0_put(v0, "_");
	else if (type && strchr("aslxnihtmyojbc", type))
		read_value(v0, type);
	else
		v0_fail(v0);
	v0_leave(v0);
}
