/* A reader that asks before each read whether there is anything left to spend: see mem.h. */
#include <errno.h>
#include <stdlib.h>

#include "base/util.h"
#include "mem/reader.h"

struct metered {
	struct dt_mem mem;
	struct dt_mem *base;
	dt_mem_spend_fn *spend;
	void *context;
};

static ssize_t gather(struct dt_mem *mem, const struct dt_range *ranges, size_t count)
{
	struct metered *metered = (struct metered *)mem;
	size_t bytes = 0;

	for (size_t i = 0; i < count; i++)
		bytes += DT_MIN(ranges[i].size, SIZE_MAX - bytes);
	if (!metered->spend(metered->context, bytes))
		return -ETIMEDOUT;
	mem->stats.calls++;
	mem->stats.bytes += bytes;
	return dt_mem_gather(metered->base, ranges, count);
}

static void metered_free(struct dt_mem *mem)
{
	free(mem);
}

static const struct dt_mem_ops metered_ops = {gather, metered_free};

int dt_mem_open_metered(struct dt_mem *base, dt_mem_spend_fn *spend, void *context, struct dt_mem **mem)
{
	struct metered *metered = malloc(sizeof(*metered));

	if (!metered)
		return -ENOMEM;
	*metered = (struct metered){
	    .mem = {.ops = &metered_ops, .stats = {.way = "metered"}},
	    .base = base,
	    .spend = spend,
	    .context = context,
	};
	*mem = &metered->mem;
	return 0;
}
