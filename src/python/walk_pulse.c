/*
 * The pulse of an interpreter: the few words that change when something has happened in it. Every place that may have
 * to be read is a range of one gather; what a version does not have is left out.
 */
#include <errno.h>

#include "base/util.h"
#include "python/walk.h"

#define GIL_BYTES 64
#define RANGES    8

struct pulse {
	const struct dt_python *python;
	struct dt_range ranges[RANGES];
	size_t count;
	uint8_t gil[GIL_BYTES];
	uint32_t gil_first; /* offset in the GIL of the first byte */
	uint32_t locked, collecting;
	uint64_t current;
};

static void want(struct pulse *p, uint64_t address, void *to, size_t size)
{
	p->ranges[p->count++] = (struct dt_range){address, to, size};
}

/* The order is that of walk_gil.c: the number of switches before the holder. */
static int want_words(struct pulse *p, uint64_t gil, struct dt_gil_words *words)
{
	const struct dt_layout *layout = &p->python->layout;
	const struct dt_variables *variables = &p->python->variables;
	uint32_t first, last;

	if (layout->gil_place == DT_GIL_IN_VARIABLES) {
		if (variables->switch_number) {
			want(p, variables->switch_number, &words->switches, sizeof(words->switches));
			want(p, variables->last_holder, &words->holder, sizeof(words->holder));
			want(p, variables->locked, &p->locked, sizeof(p->locked));
		}
		want(p, variables->current, &p->current, sizeof(p->current));
		return 0;
	}
	first = DT_MIN(layout->gil.last_holder, DT_MIN(layout->gil.locked, layout->gil.switch_number));
	last = DT_MAX(layout->gil.last_holder, DT_MAX(layout->gil.locked, layout->gil.switch_number));
	if (last - first + sizeof(uint64_t) > sizeof(p->gil))
		return -EINVAL;
	p->gil_first = first;
	want(p, gil + first, p->gil, last - first + sizeof(uint64_t));
	if (layout->runtime.tstate_current != DT_ABSENT)
		want(p, p->python->runtime + layout->runtime.tstate_current, &p->current, sizeof(p->current));
	return 0;
}

static void want_collecting(struct pulse *p, uint64_t interpreter)
{
	const struct dt_layout *layout = &p->python->layout;

	if (layout->interpreter.gc_collecting != DT_ABSENT)
		want(p, interpreter + layout->interpreter.gc_collecting, &p->collecting, sizeof(p->collecting));
	else if (layout->runtime.gc_collecting != DT_ABSENT)
		want(p, p->python->runtime + layout->runtime.gc_collecting, &p->collecting, sizeof(p->collecting));
	else if (p->python->variables.collecting)
		want(p, p->python->variables.collecting, &p->collecting, sizeof(p->collecting));
}

static void decode_words(const struct pulse *p, uint64_t gil, struct dt_gil_words *words)
{
	const struct dt_layout *layout = &p->python->layout;

	words->address = gil;
	words->current = p->current;
	if (layout->gil_place != DT_GIL_IN_VARIABLES) {
		words->holder = dt_get64(p->gil + layout->gil.last_holder - p->gil_first);
		words->locked = (int32_t)dt_get32(p->gil + layout->gil.locked - p->gil_first);
		words->switches = dt_get64(p->gil + layout->gil.switch_number - p->gil_first);
	} else if (p->python->variables.switch_number && (int32_t)p->locked >= 0) {
		words->locked = (int32_t)p->locked;
	} else {
		words->holder = p->current;
		words->locked = p->current != 0;
	}
}

/* Before a program begins its first thread there is no GIL: who has just stepped out of Python is the only one there
 * is, as in walk_gil.c. */
static void find_lone(const struct pulse *p, struct dt_pulse *pulse)
{
	if (p->python->layout.gil_place != DT_GIL_IN_VARIABLES || !p->python->variables.switch_number ||
	    (int32_t)p->locked >= 0)
		return;
	pulse->words.switches = 0;
	if (!pulse->words.holder)
		pulse->words.holder = pulse->threads;
}

int dt_walk_pulse(struct dt_mem *mem, const struct dt_python *python, const struct dt_walk_interpreter *interpreter,
		  struct dt_pulse *pulse)
{
	const struct dt_layout *layout = &python->layout;
	struct pulse p = {.python = python};
	ssize_t got;
	bool has_gil; /* free-threaded builds mostly do without */
	int rc;

	*pulse = (struct dt_pulse){0};
	want(&p, python->runtime + layout->runtime.interpreters_head, &pulse->interpreters, sizeof(uint64_t));
	want(&p, interpreter->address + layout->interpreter.threads_head, &pulse->threads, sizeof(uint64_t));
	want_collecting(&p, interpreter->address);
	if (layout->interpreter.code_generation != DT_ABSENT)
		want(&p, interpreter->address + layout->interpreter.code_generation, &pulse->code_generation,
		     sizeof(uint64_t));
	has_gil = interpreter->gil.address || layout->gil_place == DT_GIL_IN_VARIABLES;
	rc = has_gil ? want_words(&p, interpreter->gil.address, &pulse->words) : 0;
	if (rc < 0)
		return rc;
	got = dt_mem_gather(mem, p.ranges, p.count);
	if (got < (ssize_t)p.count)
		return got < 0 ? (int)got : -EFAULT;
	if (has_gil)
		decode_words(&p, interpreter->gil.address, &pulse->words);
	find_lone(&p, pulse);
	pulse->code_generation += layout->interpreter.code_generation != DT_ABSENT; /* which begins with 0 */
	pulse->collecting = p.collecting != 0;
	return 0;
}
