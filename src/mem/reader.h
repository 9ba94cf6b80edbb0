/* The inside of src/mem: what each kind of reader provides. Not for other rooms. */
#ifndef DT_MEM_READER_H
#define DT_MEM_READER_H

#include "mem/mem.h"

struct dt_mem_ops {
	ssize_t (*gather)(struct dt_mem *mem, const struct dt_range *ranges, size_t count);
	void (*free)(struct dt_mem *mem);
};

struct dt_mem {
	const struct dt_mem_ops *ops;
	struct dt_mem_stats stats;
};

#endif
