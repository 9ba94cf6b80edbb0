/*
 * What the thread that samples tells the one that collects. A round of one process is: what is new (codes, threads),
 * what has changed (a thread's stack or state, time spent), then the round itself, which says for which time all of
 * that holds. A thread of which nothing is said is as it was.
 *
 * A process may go from one thread that samples to another, and each has a ring of its own: rounds are numbered, so
 * that they are collected in the order in which they were.
 */
#ifndef DT_RECORD_MESSAGE_H
#define DT_RECORD_MESSAGE_H

#include <stdint.h>

enum dt_message_kind {
	DT_MESSAGE_CODE,
	DT_MESSAGE_THREAD,
	DT_MESSAGE_CHANGE,
	DT_MESSAGE_SPENT,
	DT_MESSAGE_GONE, /* a thread, or with thread 0 the process */
	DT_MESSAGE_ROUND,
};

struct dt_message {
	uint32_t kind;
	uint32_t subject; /* number of the process within the recording */
	uint32_t thread;  /* serial of the thread within the process; 0: none */
	uint32_t round;   /* of the process: 0 and up */
};

struct dt_message_code {
	struct dt_message head;
	uint32_t id;
	uint32_t oldest; /* ids from before this one are not used any more */
	uint32_t first_line;
	uint32_t name_length, file_length;
	char text[]; /* name, file, without NUL */
};

struct dt_message_thread {
	struct dt_message head;
	uint64_t tid, ident;
	int64_t interpreter;
	uint32_t main;
	uint32_t name_length;
	char name[];
};

/* A frame as it is told: id of a code, and a line. */
struct dt_told_frame {
	uint32_t code, line;
};

#define DT_SAME_STACK UINT32_MAX

struct dt_message_change {
	struct dt_message head;
	const char *call; /* lives for ever; NULL: none */
	uint32_t depth;   /* DT_SAME_STACK: the stack is the one it had */
	uint8_t state, flags;
	struct dt_told_frame frames[]; /* innermost first */
};

struct dt_message_spent {
	struct dt_message head;
	uint64_t cpu_ns;
	uint32_t elsewhere; /* it waits for a CPU where it is */
};

struct dt_message_round {
	struct dt_message head;
	uint64_t from_ns; /* nothing is told of the time from the last round until then; 0: there is no such time. Of
			     the first one: where the time of the process begins */
	uint64_t to_ns;   /* what the look stands for ends there */
	uint64_t at_ns;   /* the look itself: nobody knows more than that; all since the recording began */
	bool rest; /* time in which nobody looked, and a part of which is still the last look's: no look of its own */
};

#endif
