/*
 * The rules that the stacks of tests/targets/hammer.py obey, and the question whether a stack does. A stack put
 * together from two moments breaks one of them.
 */
#ifndef DT_TESTS_RULES_H
#define DT_TESTS_RULES_H

#include <stddef.h>

#include "darter/darter.h"

struct rules;

/* Reads what the target printed; NULL (and a message on stderr) if the file is no such thing. */
struct rules *rules_read(const char *path);
void rules_free(struct rules *rules);

/* 0 if the thread's stack is possible, else -1 and what is wrong with it. */
int rules_check(const struct rules *rules, const struct dt_thread *thread, char *what, size_t size);

/* The same for the threads of one snapshot with each other. Nothing is known of a snapshot with torn stacks. */
int rules_check_together(const struct rules *rules, const struct dt_snapshot *snapshot, char *what, size_t size);

/* The main thread may have no frame at all: it makes thread states for others and runs none. */
bool rules_idle(const struct rules *rules);

#endif
