/*
 * Up to 3.11 the GIL lies in the runtime, and two mutexes of the C library in the GIL. The tables were made where a
 * mutex has 40 bytes (glibc on x86_64, musl anywhere); glibc on aarch64 has one of 48, so all behind them lies further
 * on. Which it is shows in the process: an address that is known stands in one place or the other.
 */
#include "python/find_inside.h"

#define INTERPRETERS 4096
#define MUTEXES      2

/* By how many bytes a mutex may be larger than in the tables. */
static const uint32_t larger[] = {0, 8};

static bool is_interpreter(struct dt_mem *mem, const struct dt_layout *layout, uint64_t runtime, uint64_t wanted)
{
	uint64_t at;

	if (!wanted || dt_mem_read_u64(mem, runtime + layout->runtime.interpreters_head, &at) < 0)
		return false;
	for (int i = 0; i < INTERPRETERS && at && at != wanted; i++)
		if (dt_mem_read_u64(mem, at + layout->interpreter.next, &at) < 0)
			return false;
	return at == wanted;
}

void dt_find_fit(struct dt_mem *mem, uint64_t runtime, struct dt_layout *layout)
{
	if (layout->runtime.auto_interpreter == DT_ABSENT)
		return;
	for (size_t i = 0; i < sizeof(larger) / sizeof(larger[0]); i++) {
		uint32_t more = MUTEXES * larger[i];
		uint64_t found;

		if (dt_mem_read_u64(mem, runtime + layout->runtime.auto_interpreter + more, &found) < 0 ||
		    !is_interpreter(mem, layout, runtime, found))
			continue;
		layout->runtime.size += more;
		layout->runtime.tstate_current += more;
		layout->runtime.auto_interpreter += more;
		layout->gil.size += more;
		return;
	}
}
