/*
 * When to look, and how much time a look stands for.
 *
 * A look changes what the target does next: on a perch the kernel chooses anew who gets the CPU when we leave it, and
 * on a CPU that is shared a thread that waited for it often runs just then, and sleeps again soon. Instants that keep a
 * distance from the last look would never meet it at work. So the time from one instant to the next is distributed as
 * if each moment were as likely as any other whatever was looked at before (exponentially), and each look stands for
 * the same time, not for the time since the one before it: only then what looks find is what there is on average.
 *
 * Chance alone would make long times of one kind longer or shorter than they were. So instants come in blocks: the
 * distances of a block are one of each part of the distribution, in an order of chance, and together they are as long
 * as so many periods. Within a block what is told runs behind the clock, by some periods at most; at its end, and
 * wherever something did not go as planned, they meet.
 */
#ifndef DT_RECORD_INSTANTS_H
#define DT_RECORD_INSTANTS_H

#include <stdbool.h>
#include <stdint.h>

#define DT_INSTANTS_BLOCK 8

struct dt_instants {
	double period_ns;
	bool even; /* so seldom, or so often, that the distance varies by a half only and a look stands for its own */
	uint64_t random;
	uint64_t told_ns;                   /* up to then the time is told */
	uint64_t put_off_ns;                /* that the next look comes later than was planned */
	unsigned next;                      /* which distance of the block comes next */
	double distance[DT_INSTANTS_BLOCK]; /* in periods */
};

void dt_instants_init(struct dt_instants *instants, double rate, uint64_t random);

/* Looks begin now, or the plan did not hold: a new block. */
void dt_instants_begin(struct dt_instants *instants, uint64_t now_ns);

/* The instant after due_ns. One that has passed already while we looked is left out, unless that was only just. */
uint64_t dt_instants_next(struct dt_instants *instants, uint64_t due_ns, uint64_t now_ns);

/* The next look, and all after it, are to come later than was planned. That time is told, too: half of it belongs to
 * the look before, half to the next one. Who is rested from is in a state of its own (a thread that is new takes long
 * to look at), and the next look would mostly find another one. Until when that first half goes on. */
uint64_t dt_instants_half(const struct dt_instants *instants);
void dt_instants_put_off(struct dt_instants *instants, uint64_t by_ns);

/* A look has taken place: when it was due, when it really was, and was that so much later that the plan is lost? Up to
 * when it stands for the time, by the same clock; never later than it was. */
uint64_t dt_instants_told(struct dt_instants *instants, uint64_t due_ns, uint64_t at_ns, bool lost);

/* That look is over now. Whoever was looked at stood for it, or is as likely as ever to have been as it was found:
 * instants that have passed meanwhile are its own. If they were left to the next one, what takes long to look at would
 * have another share of the time than it should. Up to when it stands for the time then, now at the latest. *due_ns:
 * the last of these instants. */
uint64_t dt_instants_passed(struct dt_instants *instants, uint64_t *due_ns, uint64_t now_ns);

#endif
