/* threading._active, entry by entry. An entry that makes no sense (a thread that is just coming or going, an object
 * that somebody else put there) is left out; only errors that concern the whole target end the walk. */
#include "python/thread_names.h"

#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "python/dict.h"
#include "python/text.h"

#define ASK         8 /* entries between two questions for the time: each may bring a large dict, or a long name */
#define NAMES_BYTES ((size_t)16 << 20) /* of all their texts: entries may share one that is long */

struct entry {
	uint64_t key, value; /* an int and a Thread */
	uint64_t name;       /* a str */
};

struct walk {
	struct dt_mem *mem;
	const struct dt_layout *layout;
	struct dt_arena *arena;
	struct dt_budget *budget;
	struct entry *entries;
	size_t count, capacity;
};

/* What is wrong with one object only. */
static bool harmless(int rc)
{
	return rc == -EFAULT || rc == -EINVAL || rc == -ENOENT || rc == -ERANGE || rc == -EFBIG;
}

static int collect(void *context, uint64_t key, uint64_t value)
{
	struct walk *walk = context;

	if (!dt_budget_step(walk->budget))
		return 1;
	if (walk->count == walk->capacity) {
		size_t capacity = walk->capacity ? walk->capacity * 2 : 16;
		struct entry *entries = dt_arena_calloc(walk->arena, capacity, sizeof(*entries));

		if (!entries)
			return -ENOMEM;
		if (walk->count)
			memcpy(entries, walk->entries, walk->count * sizeof(*entries));
		walk->entries = entries;
		walk->capacity = capacity;
	}
	walk->entries[walk->count++] = (struct entry){.key = key, .value = value};
	return 0;
}

/* The objects of many threads lie all over the heap: the pages of keys, threads and what holds their attributes are
 * fetched together. */
static void fetch_ahead(const struct walk *walk, uint64_t *places)
{
	int32_t pointer = walk->layout->instance.kind == DT_INSTANCE_TWO ? walk->layout->instance.values_pointer
									 : walk->layout->instance.dict_pointer;

	for (size_t i = 0; i < walk->count; i++)
		places[i] = walk->entries[i].key;
	dt_mem_ahead(walk->mem, places, walk->count);
	for (size_t i = 0; i < walk->count; i++)
		places[i] = walk->entries[i].value;
	dt_mem_ahead(walk->mem, places, walk->count);
	if (!pointer)
		return;
	for (size_t i = 0; i < walk->count; i++)
		places[i] = walk->entries[i].value + (uint64_t)(int64_t)pointer;
	dt_mem_ahead(walk->mem, places, walk->count);
	for (size_t i = 0; i < walk->count; i++)
		if (dt_mem_read_u64(walk->mem, places[i], &places[i]) < 0)
			places[i] = 0;
	dt_mem_ahead(walk->mem, places, walk->count);
}

static bool in_time(const struct walk *walk, size_t i)
{
	return i % ASK != ASK - 1 || dt_budget_in_time(walk->budget);
}

/* Where the names are, of all threads; then their texts. */
static int read_names(const struct walk *walk, struct dt_thread_name *names, size_t *count)
{
	uint64_t *places = dt_arena_calloc(walk->arena, walk->count + 1, sizeof(*places));
	const char *attribute = walk->layout->mangled_thread_name ? "_Thread__name" : "_name";
	size_t begin;
	int64_t ident;
	int rc;

	if (!places)
		return -ENOMEM;
	fetch_ahead(walk, places);
	for (size_t i = 0; i < walk->count && in_time(walk, i); i++) {
		rc = dt_attr_get(walk->mem, walk->layout, walk->entries[i].value, attribute, &walk->entries[i].name);
		if (rc < 0 && !harmless(rc))
			return rc;
		places[i] = walk->entries[i].name;
	}
	dt_mem_ahead(walk->mem, places, walk->count);
	begin = walk->arena->used;
	for (size_t i = 0; i < walk->count && walk->arena->used - begin < NAMES_BYTES && in_time(walk, i); i++) {
		struct dt_thread_name *name = &names[*count];

		rc = dt_int_read(walk->mem, walk->layout, walk->entries[i].key, &ident);
		if (rc == 0 && walk->entries[i].name)
			rc = dt_text_read(walk->mem, walk->layout, walk->entries[i].name, walk->arena, &name->name);
		if (rc < 0 && !harmless(rc))
			return rc;
		if (rc == 0 && walk->entries[i].name) {
			name->ident = (uint64_t)ident;
			++*count;
		}
	}
	return 0;
}

static int find_active(struct dt_mem *mem, const struct dt_layout *layout, uint64_t interpreter, uint64_t *active)
{
	uint64_t modules, module, dict;
	int rc = dt_mem_read_u64(mem, interpreter + layout->interpreter.modules, &modules);

	if (rc == 0)
		rc = dt_dict_get(mem, layout, modules, "threading", &module);
	if (rc == 0)
		rc = dt_module_dict(mem, layout, module, &dict);
	if (rc == 0)
		rc = dt_dict_get(mem, layout, dict, "_active", active);
	return rc;
}

int dt_thread_names(struct dt_mem *mem, const struct dt_layout *layout, uint64_t interpreter, struct dt_arena *arena,
		    struct dt_budget *budget, struct dt_thread_name **names, size_t *count)
{
	struct walk walk = {.mem = mem, .layout = layout, .arena = arena, .budget = budget};
	uint64_t active;
	int rc = find_active(mem, layout, interpreter, &active);

	*count = 0;
	*names = NULL;
	if (rc == 0)
		rc = dt_dict_each(mem, layout, active, collect, &walk);
	if (rc < 0 && !harmless(rc))
		return rc;
	if (!walk.count)
		return 0;
	*names = dt_arena_calloc(arena, walk.count, sizeof(**names));
	return *names ? read_names(&walk, *names, count) : -ENOMEM;
}
