/*
 * Names that threading knows: sys.modules["threading"]._active maps ident -> Thread, whose _name is the name. Read anew
 * when the set of threads changed, for each interpreter.
 */
#ifndef DT_PYTHON_THREAD_NAMES_H
#define DT_PYTHON_THREAD_NAMES_H

#include "base/arena.h"
#include "mem/mem.h"
#include "python/budget.h"
#include "python/layout.h"

struct dt_thread_name {
	uint64_t ident;
	const char *name;
};

/* Names of one interpreter's threads into the arena, in no order. Each entry is a step of the budget, whether it has a
 * name or not; what the budget is not enough for is left out. 0 also when threading was never imported (count 0). */
int dt_thread_names(struct dt_mem *mem, const struct dt_layout *layout, uint64_t interpreter, struct dt_arena *arena,
		    struct dt_budget *budget, struct dt_thread_name **names, size_t *count);

#endif
