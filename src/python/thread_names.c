/* threading._active, entry by entry. An entry that makes no sense (a thread that is just coming or going, an object
 * that somebody else put there) is left out; only errors that concern the whole target end the walk. */
#include "python/thread_names.h"

#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "python/dict.h"
#include "python/text.h"

#define NAMES_LIMIT ((size_t)65536)

struct walk {
	struct dt_mem *mem;
	const struct dt_layout *layout;
	struct dt_arena *arena;
	struct dt_thread_name *names;
	size_t count, capacity;
};

/* What is wrong with one object only. */
static bool harmless(int rc)
{
	return rc == -EFAULT || rc == -EINVAL || rc == -ENOENT || rc == -ERANGE || rc == -EFBIG;
}

static int add(struct walk *walk, uint64_t ident, const char *name)
{
	if (walk->count == walk->capacity) {
		size_t capacity = walk->capacity ? walk->capacity * 2 : 16;
		struct dt_thread_name *names = dt_arena_calloc(walk->arena, capacity, sizeof(*names));

		if (!names)
			return -ENOMEM;
		if (walk->count)
			memcpy(names, walk->names, walk->count * sizeof(*names));
		walk->names = names;
		walk->capacity = capacity;
	}
	walk->names[walk->count++] = (struct dt_thread_name){ident, name};
	return 0;
}

static int visit(void *context, uint64_t key, uint64_t value)
{
	struct walk *walk = context;
	const char *text;
	uint64_t name;
	int64_t ident;
	int rc;

	if (walk->count == NAMES_LIMIT)
		return 1;
	rc = dt_int_read(walk->mem, walk->layout, key, &ident);
	if (rc == 0)
		rc = dt_attr_get(walk->mem, walk->layout, value, "_name", &name);
	if (rc == 0)
		rc = dt_text_read(walk->mem, walk->layout, name, walk->arena, &text);
	if (rc == 0)
		rc = add(walk, (uint64_t)ident, text);
	return harmless(rc) ? 0 : rc;
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
		    struct dt_thread_name **names, size_t *count)
{
	struct walk walk = {.mem = mem, .layout = layout, .arena = arena};
	uint64_t active;
	int rc = find_active(mem, layout, interpreter, &active);

	if (rc == 0)
		rc = dt_dict_each(mem, layout, active, visit, &walk);
	if (rc < 0 && !harmless(rc))
		return rc;
	*names = walk.names;
	*count = walk.count;
	return 0;
}
