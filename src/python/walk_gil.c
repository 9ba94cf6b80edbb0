/*
 * The words of a GIL {last holder, locked, number of switches}, wherever a version keeps them: in a struct, or in
 * variables that lie anywhere in the data of the library.
 */
#include "python/walk_gil.h"

#include <errno.h>

#include "base/util.h"

bool dt_walk_gil_counted(const struct dt_python *python)
{
	return python->layout.gil_place != DT_GIL_IN_VARIABLES || python->variables.switch_number;
}

uint64_t dt_walk_runs(const struct dt_gil_words *words)
{
	if (words->locked != 1)
		return 0;
	return words->current ? words->current
			      : words->holder; /* just taken: the one that runs is set a moment later */
}

/* One read, so that the three words belong together as far as the hardware goes. */
static int read_struct(struct dt_mem *mem, const struct dt_python *python, uint64_t address, struct dt_gil_words *words)
{
	const struct dt_layout *layout = &python->layout;
	uint8_t bytes[64];
	uint32_t first = DT_MIN(layout->gil.last_holder, DT_MIN(layout->gil.locked, layout->gil.switch_number));
	uint32_t last = DT_MAX(layout->gil.last_holder, DT_MAX(layout->gil.locked, layout->gil.switch_number));
	int rc;

	if (last - first + sizeof(uint64_t) > sizeof(bytes))
		return -EINVAL;
	rc = dt_mem_read(mem, address + first, bytes, last - first + sizeof(uint64_t));
	if (rc < 0)
		return rc;
	words->holder = dt_get64(bytes + layout->gil.last_holder - first);
	words->locked = (int32_t)dt_get32(bytes + layout->gil.locked - first);
	words->switches = dt_get64(bytes + layout->gil.switch_number - first);
	if (layout->runtime.tstate_current == DT_ABSENT)
		return 0;
	return dt_mem_read_u64(mem, python->runtime + layout->runtime.tstate_current, &words->current);
}

/* Whoever is named by _PyThreadState_Current has the GIL. That is all there is to know where the words are not. */
static int read_current(struct dt_mem *mem, const struct dt_python *python, struct dt_gil_words *words)
{
	int rc = dt_mem_read_u64(mem, python->variables.current, &words->current);

	words->holder = words->current;
	words->locked = words->current != 0;
	return rc;
}

/* Before a program begins its first thread there is no GIL. Whoever runs Python then is the only one to do so: if it
 * has just stepped out of it, any thread state names it. */
static int read_lone(struct dt_mem *mem, const struct dt_python *python, struct dt_gil_words *words)
{
	uint64_t interpreter;
	int rc = read_current(mem, python, words);

	words->switches = 0;
	if (rc < 0 || words->holder)
		return rc;
	rc = dt_mem_read_u64(mem, python->runtime + python->layout.runtime.interpreters_head, &interpreter);
	if (rc < 0 || !interpreter)
		return rc;
	return dt_mem_read_u64(mem, interpreter + python->layout.interpreter.threads_head, &words->holder);
}

/* The number before the holder: a thread that takes the GIL over writes them the other way round. So if number and
 * holder are the same later on, nobody has taken it over and begun to run between the first time and the last. */
static int read_variables(struct dt_mem *mem, const struct dt_python *python, struct dt_gil_words *words)
{
	struct dt_range ranges[] = {
	    {python->variables.switch_number, &words->switches, sizeof(words->switches)},
	    {python->variables.last_holder, &words->holder, sizeof(words->holder)},
	    {python->variables.locked, &words->locked, sizeof(words->locked)},
	    {python->variables.current, &words->current, sizeof(words->current)},
	};
	ssize_t got = dt_mem_gather(mem, ranges, DT_COUNT(ranges));

	if (got < (ssize_t)DT_COUNT(ranges))
		return got < 0 ? (int)got : -EFAULT;
	return words->locked < 0 ? read_lone(mem, python, words) : 0;
}

/* Free-threaded builds have a GIL, and use it now and then. */
static int is_used(struct dt_mem *mem, const struct dt_python *python, uint64_t address, bool *used)
{
	uint32_t enabled = 1;
	int rc = 0;

	if (python->layout.gil.enabled != DT_ABSENT)
		rc = dt_mem_read_u32(mem, address + python->layout.gil.enabled, &enabled);
	*used = enabled != 0;
	return rc;
}

int dt_walk_gil(struct dt_mem *mem, const struct dt_python *python, uint64_t address, struct dt_gil_words *words)
{
	bool used = true;
	int rc = address ? is_used(mem, python, address, &used) : 0;

	*words = (struct dt_gil_words){0};
	if (rc < 0 || !address || !used)
		return rc;
	words->address = address;
	if (python->layout.gil_place != DT_GIL_IN_VARIABLES)
		return read_struct(mem, python, address, words);
	return dt_walk_gil_counted(python) ? read_variables(mem, python, words) : read_current(mem, python, words);
}

/* Of a stripped 2.7 it is not known where its lock lies: on the heap, as every other one. */
static int find_waits(struct dt_mem *mem, const struct dt_python *python, struct dt_walk_interpreter *interpreter)
{
	int rc;

	interpreter->wait_start = python->variables.wait_start;
	interpreter->wait_end = python->variables.wait_end;
	if (!python->variables.lock)
		return 0;
	rc = dt_mem_read_u64(mem, python->variables.lock, &interpreter->wait_start);
	interpreter->wait_end = interpreter->wait_start ? interpreter->wait_start + python->layout.gil.size : 0;
	return rc;
}

int dt_walk_find_gil(struct dt_mem *mem, const struct dt_python *python, struct dt_walk_interpreter *interpreter)
{
	const struct dt_layout *layout = &python->layout;
	uint64_t gil = 0;
	int rc = 0;

	switch (layout->gil_place) {
	case DT_GIL_IN_VARIABLES:
		rc = find_waits(mem, python, interpreter);
		return rc < 0 ? rc : dt_walk_gil(mem, python, python->variables.current, &interpreter->gil);
	case DT_GIL_IN_RUNTIME:
		gil = python->runtime + layout->runtime.gil;
		break;
	case DT_GIL_BY_POINTER:
		rc = dt_mem_read_u64(mem, interpreter->address + layout->interpreter.gil, &gil);
		break;
	}
	if (rc < 0)
		return rc;
	rc = dt_walk_gil(mem, python, gil, &interpreter->gil);
	if (rc < 0 || !interpreter->gil.address)
		return rc; /* nobody waits for one that is not in use */
	interpreter->wait_start = gil;
	interpreter->wait_end = gil + layout->gil.size;
	return 0;
}
