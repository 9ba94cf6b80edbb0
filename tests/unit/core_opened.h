/* A core file that was made by hand, opened: its memory is asked for byte by byte. */
#ifndef DT_TESTS_CORE_OPENED_H
#define DT_TESTS_CORE_OPENED_H

#include "unit.h"

#include <errno.h>

#include "core/core.h"
#include "core_file.h"

static inline struct dt_core *opened(const struct core_file_maker *m)
{
	struct dt_error err = {0};
	struct dt_core *core = NULL;

	if (dt_core_open(m->path, NULL, NULL, NULL, &core, &err) < 0)
		fail_msg("%s", err.message);
	unlink(m->path);
	return core;
}

static inline uint8_t byte_at(struct dt_core *core, uint64_t address)
{
	uint8_t byte;

	assert_int_equal(dt_mem_read(dt_core_memory(core), address, &byte, 1), 0);
	return byte;
}

static inline void missing_at(struct dt_core *core, uint64_t address)
{
	uint8_t byte;

	assert_int_equal(dt_mem_read(dt_core_memory(core), address, &byte, 1), -EFAULT);
}

#endif
