/* The parts of a newer Rust name, shared by the files that read paths and types. */
#ifndef DT_NATIVE_DEMANGLE_V0_H
#define DT_NATIVE_DEMANGLE_V0_H

#include "native/demangle_inside.h"

struct v0 {
	const char *text;
	size_t at, end;
	unsigned depth, steps;
	bool bad, silent;
	uint64_t bound; /* lifetimes that were named by "for<...>" */
	struct demangled *out;
};

struct v0_name {
	const char *text;
	size_t length;
	bool punycode;
};

typedef void v0_read_fn(struct v0 *v0);

/* The name is not understood. Once the text is full nothing is read in earnest, and nothing can be wrong. */
void v0_fail(struct v0 *v0);
/* Nothing more is to be read. */
bool v0_over(const struct v0 *v0);
/* False: too deep or too long, and the name is given up. v0_leave() in any case. */
bool v0_enter(struct v0 *v0);
void v0_leave(struct v0 *v0);

void v0_put(struct v0 *v0, const char *text);
void v0_put_number(struct v0 *v0, uint64_t number);
void v0_put_name(struct v0 *v0, struct v0_name name);
/* 0 is a lifetime without a name; others count from the innermost "for<...>". */
void v0_put_lifetime(struct v0 *v0, uint64_t index);

/* '\0' at the end. */
char v0_peek(const struct v0 *v0);
char v0_next(struct v0 *v0);
bool v0_eat(struct v0 *v0, char c);
uint64_t v0_base62(struct v0 *v0);
/* 0 without the tag, else one more than the number behind it. */
uint64_t v0_tagged(struct v0 *v0, char tag);
struct v0_name v0_name(struct v0 *v0);
/* Up to "E", with something between. Returns how many. */
size_t v0_list(struct v0 *v0, v0_read_fn *read, const char *between);
/* Behind a 'B': where it refers to, which is always before it; and what stands there, read once more. */
size_t v0_back(struct v0 *v0);
void v0_follow(struct v0 *v0, v0_read_fn *read);

void v0_path(struct v0 *v0, bool in_value);
void v0_argument(struct v0 *v0);
void v0_type(struct v0 *v0);
void v0_const(struct v0 *v0);

#endif
