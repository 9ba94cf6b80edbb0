/* What the kernel keeps in the memory of a process: see imprint.h. */
#include "sample/imprint.h"

#include <elf.h>
#include <string.h>

#include "base/util.h"
#include "elf/elf.h"
#include "machine/machine.h"

#define AUXV_BYTES 1024
#define LEAST_RSEQ 20u /* bytes that are of use: the kernel has had them from the beginning */
#define MOST_READS 300 /* a dynamic linker as it should be takes a few; a target may have changed its own */
#define MOST_BYTES ((size_t)1 << 20)

struct auxv {
	uint64_t random, linker;
};

static bool read_auxv(const struct dt_proc *proc, struct auxv *found)
{
	uint8_t bytes[AUXV_BYTES];
	ssize_t got = dt_proc_read(proc, "auxv", (char *)bytes, sizeof(bytes));

	for (ssize_t at = 0; at + 16 <= got; at += 16) {
		if (dt_get64(bytes + at) == AT_RANDOM)
			found->random = dt_get64(bytes + at + 8);
		if (dt_get64(bytes + at) == AT_BASE)
			found->linker = dt_get64(bytes + at + 8);
	}
	return found->random && found->linker;
}

struct allowance {
	unsigned reads;
	size_t bytes;
};

static bool spend(void *context, size_t bytes)
{
	struct allowance *left = context;

	if (!left->reads || bytes > left->bytes)
		return false;
	left->reads--;
	left->bytes -= bytes;
	return true;
}

/* Where threads have it is told by the dynamic linker, for all of them. */
static bool find_in(struct dt_mem *live, uint64_t linker, uint64_t *offset)
{
	static const char *const names[] = {"__rseq_offset", "__rseq_size"};
	struct dt_mem_from image = {.mem = live, .start = linker};
	struct dt_elf_range found[DT_COUNT(names)];
	struct dt_elf *elf;
	uint64_t bias;
	uint32_t size;
	bool there;

	if (dt_elf_open_image_at(dt_mem_read_from, &image, linker, &elf) < 0)
		return false;
	there = dt_elf_dynamic_symbols(elf, names, DT_COUNT(names), found) == DT_COUNT(names) &&
		dt_elf_bias(elf, linker, 0, &bias) == 0;
	dt_elf_free(elf);
	/* Without a size it was not asked for: programs may switch it off. */
	return there && dt_mem_read_u64(live, bias + found[0].address, offset) == 0 &&
	       dt_mem_read_u32(live, bias + found[1].address, &size) == 0 && size >= LEAST_RSEQ;
}

static bool find_rseq(struct dt_mem *live, uint64_t linker, uint64_t *offset)
{
	struct allowance left = {MOST_READS, MOST_BYTES};
	struct dt_mem *bounded;
	bool found;

	if (dt_mem_open_metered(live, spend, &left, &bounded) < 0)
		return false;
	found = find_in(bounded, linker, offset);
	dt_mem_free(bounded);
	return found;
}

void dt_imprint_learn(struct dt_imprint *imprint, const struct dt_proc *proc, struct dt_mem *live)
{
	struct auxv auxv = {0};

	*imprint = (struct dt_imprint){.tried = true};
	if (dt_machine_here()->pointer_reach || !read_auxv(proc, &auxv) ||
	    dt_mem_read(live, auxv.random, imprint->random, sizeof(imprint->random)) < 0 ||
	    !find_rseq(live, auxv.linker, &imprint->rseq))
		return;
	imprint->random_address = auxv.random;
	imprint->known = !dt_live_replaced(live, auxv.random);
}

void dt_imprint_ranges(const struct dt_imprint *imprint, uint64_t ident, struct dt_imprint_copy *copy,
		       struct dt_range ranges[DT_IMPRINT_RANGES])
{
	ranges[0] = (struct dt_range){ident + imprint->rseq, copy->rseq, sizeof(copy->rseq)};
	ranges[1] = (struct dt_range){imprint->random_address, copy->random, sizeof(copy->random)};
}

bool dt_imprint_fits(const struct dt_imprint *imprint, const struct dt_imprint_copy *copy, int cpu)
{
	return imprint->known && cpu >= 0 && dt_get32(copy->rseq) == (uint32_t)cpu &&
	       dt_get32(copy->rseq + 4) == (uint32_t)cpu &&
	       memcmp(copy->random, imprint->random, sizeof(copy->random)) == 0;
}

bool dt_imprint_holds(const struct dt_imprint *imprint, struct dt_mem *live, uint64_t ident, int cpu)
{
	struct dt_range ranges[DT_IMPRINT_RANGES];
	struct dt_imprint_copy copy;

	dt_imprint_ranges(imprint, ident, &copy, ranges);
	return imprint->known && dt_mem_gather(live, ranges, DT_IMPRINT_RANGES) == DT_IMPRINT_RANGES &&
	       dt_imprint_fits(imprint, &copy, cpu);
}
