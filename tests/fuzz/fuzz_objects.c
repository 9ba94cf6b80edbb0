/* Dicts, attributes, code objects and thread names: one byte of version, two that say where the object lies (in units
 * of 16 bytes), then memory that begins at BASE. Read through an image where the memory is whole pages, as it is in
 * use. */
#include "fuzz.h"

#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "python/code.h"
#include "python/dict.h"
#include "python/lines.h"
#include "python/thread_names.h"

#define BASE UINT64_C(0x7f1200000000)

static int count_entry(void *context, uint64_t key, uint64_t value)
{
	MUST(key && value);
	++*(size_t *)context;
	return 0;
}

static void look_at(struct dt_mem *mem, const struct dt_layout *layout, uint64_t object, struct dt_arena *arena)
{
	struct dt_thread_name *names;
	struct dt_budget budget;
	size_t entries = 0, count;
	uint64_t value = 0;

	dt_dict_each(mem, layout, object, count_entry, &entries);
	MUST(entries <= DT_DICT_LIMIT);
	if (dt_dict_get(mem, layout, object, "threading", &value) == 0)
		MUST(value);
	value = 0;
	if (dt_attr_get(mem, layout, object, "_name", &value) == 0)
		MUST(value);
	dt_budget_begin(&budget, 65536);
	if (dt_thread_names(mem, layout, object, arena, &budget, &names, &count) == 0)
		for (size_t i = 0; i < count; i++)
			MUST(names[i].name);
}

static void look_at_code(struct dt_mem *mem, const struct dt_layout *layout, uint64_t object)
{
	struct dt_code_cache *cache = dt_code_cache_new(layout);
	const struct dt_code *code;

	MUST(cache);
	for (int look = 0; look < 2; look++) {
		int rc = dt_code_get(cache, mem, object, &code);

		MUST(rc == 0 || rc == -EFAULT || rc == -EINVAL || rc == -ENOMEM);
		if (rc == 0) {
			MUST(code->name && code->file && strlen(code->name) < DT_ARENA_LIMIT);
			dt_lines_at(layout->line_kind, code->table, code->table_size, code->first_line, 100);
		}
		dt_code_cache_begin(cache);
	}
	dt_code_cache_free(cache);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dt_recorded_range range;
	const struct dt_layout *layout;
	struct dt_mem *base, *image;
	struct dt_arena arena;
	uint64_t object;

	if (size < 3)
		return 0;
	range = (struct dt_recorded_range){BASE, data + 3, size - 3};
	layout = fuzz_layout(data[0]);
	object = BASE + (uint64_t)dt_get16(data + 1) * 16;
	if (!layout || dt_mem_open_recorded(&range, 1, &base) < 0)
		return 0;
	MUST(dt_mem_open_image(base, NULL, &image) == 0);
	dt_arena_init(&arena, (size_t)64 << 20);
	look_at(base, layout, object, &arena);
	look_at(image, layout, object, &arena);
	look_at_code(base, layout, object);
	dt_arena_release(&arena);
	dt_mem_free(image);
	dt_mem_free(base);
	return 0;
}
