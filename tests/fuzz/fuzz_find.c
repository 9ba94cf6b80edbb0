/* Memory that begins at BASE and may hold a runtime: at its start, or wherever the scan believes to see one. */
#include "fuzz.h"

#include <string.h>

#include "base/util.h"
#include "python/debug_offsets.h"
#include "python/find_inside.h"

#define BASE UINT64_C(0x7f1200000000)

struct memory {
	struct dt_mem *mem;
	const uint8_t *data;
	size_t size, hits;
};

static void try_described(struct memory *memory, uint64_t address)
{
	const uint8_t *table = memory->data + (address - BASE);
	size_t size = DT_MIN(memory->size - (address - BASE), (size_t)DT_DEBUG_OFFSETS_MAX);
	struct dt_find_proof proof = {0};
	struct dt_layout layout;
	bool newer;

	if (dt_debug_offsets_layout(table, size, &layout, &newer, NULL) < 0)
		return;
	if (dt_find_prove(memory->mem, &layout, address, &proof) == DT_VERDICT_READY)
		MUST(dt_find_plausible(proof.interpreter));
}

static void try_tables(struct memory *memory, uint64_t address, bool variables)
{
	static struct dt_python python;
	int verdict = dt_find_try_tables(memory->mem, address, variables, &python);

	MUST(verdict >= 0 && verdict <= DT_VERDICT_READY);
	if (verdict == DT_VERDICT_READY)
		MUST(python.version.major == python.layout.major && python.version.minor == python.layout.minor);
}

static int visit(void *context, uint64_t address, bool cookie)
{
	struct memory *memory = context;

	MUST(address >= BASE && address - BASE + 8 <= memory->size);
	if (cookie)
		try_described(memory, address);
	else
		for (const struct dt_layout *const *layout = dt_layouts; *layout; layout++)
			try_tables(memory, address - (*layout)->runtime.interpreters_head,
				   dt_find_in_variables(*layout));
	return ++memory->hits == 16;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct dt_recorded_range range = {BASE, data, size};
	struct memory memory = {.data = data, .size = size};
	struct dt_version version;

	if (!size || dt_mem_open_recorded(&range, 1, &memory.mem) < 0)
		return 0;
	if (dt_find_version_in_bytes((const char *)data, size, &version))
		MUST(version.major == 2 || version.major == 3);
	dt_find_scan_block(data, size, BASE, visit, &memory);
	try_tables(&memory, BASE, false);
	try_tables(&memory, BASE, true);
	dt_mem_free(memory.mem);
	return 0;
}
