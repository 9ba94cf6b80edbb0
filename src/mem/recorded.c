/* Memory given as ranges: for tests and fuzzing. A read may run over ranges that follow each other without a gap. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "mem/reader.h"

struct recorded {
	struct dt_mem mem;
	size_t count;
	struct dt_recorded_range ranges[];
};

static const struct dt_recorded_range *find(const struct recorded *recorded, uint64_t address)
{
	for (size_t i = 0; i < recorded->count; i++) {
		const struct dt_recorded_range *range = &recorded->ranges[i];

		if (address >= range->address && address - range->address < range->size)
			return range;
	}
	return NULL;
}

static int read_range(struct recorded *recorded, const struct dt_range *wanted)
{
	uint64_t address = wanted->address;
	char *to = wanted->buffer;
	size_t left = wanted->size;

	while (left) {
		const struct dt_recorded_range *range = find(recorded, address);
		size_t skip, part;

		if (!range)
			return -EFAULT;
		skip = (size_t)(address - range->address);
		part = DT_MIN(range->size - skip, left);
		memcpy(to, (const char *)range->data + skip, part);
		to += part;
		left -= part;
		address += part; /* a wrap to 0 finds the range at 0 or none: harmless */
		recorded->mem.stats.bytes += part;
	}
	return 0;
}

static ssize_t gather(struct dt_mem *mem, const struct dt_range *ranges, size_t count)
{
	struct recorded *recorded = (struct recorded *)mem;

	mem->stats.calls++;
	for (size_t i = 0; i < count; i++) {
		int rc = read_range(recorded, &ranges[i]);

		if (rc < 0)
			return i ? (ssize_t)i : rc;
	}
	return (ssize_t)count;
}

static void recorded_free(struct dt_mem *mem)
{
	free(mem);
}

static const struct dt_mem_ops recorded_ops = {gather, recorded_free};

int dt_mem_open_recorded(const struct dt_recorded_range *ranges, size_t count, struct dt_mem **mem)
{
	struct recorded *recorded;

	if (count > (SIZE_MAX - sizeof(*recorded)) / sizeof(*ranges))
		return -ENOMEM;
	recorded = malloc(sizeof(*recorded) + count * sizeof(*ranges));
	if (!recorded)
		return -ENOMEM;
	recorded->mem = (struct dt_mem){.ops = &recorded_ops, .stats = {.way = "recorded"}};
	recorded->count = count;
	if (count)
		memcpy(recorded->ranges, ranges, count * sizeof(*ranges));
	*mem = &recorded->mem;
	return 0;
}
