/* What is the same for every kind of reader. */
#include "mem/mem.h"

#include <errno.h>

#include "mem/reader.h"

ssize_t dt_mem_gather(struct dt_mem *mem, const struct dt_range *ranges, size_t count)
{
	return count ? mem->ops->gather(mem, ranges, count) : 0;
}

int dt_mem_read(struct dt_mem *mem, uint64_t address, void *buffer, size_t size)
{
	struct dt_range range = {address, buffer, size};
	ssize_t done = mem->ops->gather(mem, &range, 1);

	if (done < 0)
		return (int)done;
	return done == 1 ? 0 : -EFAULT;
}

int dt_mem_read_u32(struct dt_mem *mem, uint64_t address, uint32_t *value)
{
	return dt_mem_read(mem, address, value, sizeof(*value));
}

int dt_mem_read_u64(struct dt_mem *mem, uint64_t address, uint64_t *value)
{
	return dt_mem_read(mem, address, value, sizeof(*value));
}

ssize_t dt_mem_read_from(void *context, uint64_t offset, void *buffer, size_t size)
{
	const struct dt_mem_from *from = context;
	int rc = dt_mem_read(from->mem, from->start + offset, buffer, size);

	return rc < 0 ? rc : (ssize_t)size;
}

void dt_mem_free(struct dt_mem *mem)
{
	if (mem)
		mem->ops->free(mem);
}

struct dt_mem_stats dt_mem_stats(const struct dt_mem *mem)
{
	return mem->stats;
}

#define AHEAD 512 /* words asked for in one call */

void dt_mem_ahead(struct dt_mem *mem, const uint64_t *addresses, size_t count)
{
	struct dt_range ranges[AHEAD];
	uint64_t word;
	size_t asked = 0;

	for (size_t i = 0; i < count; i++) {
		if (addresses[i])
			ranges[asked++] = (struct dt_range){addresses[i], &word, sizeof(word)};
		if (asked == AHEAD || (asked && i + 1 == count)) {
			dt_mem_gather(mem, ranges, asked);
			asked = 0;
		}
	}
}
