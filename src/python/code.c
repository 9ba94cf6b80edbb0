/*
 * The code objects that were seen, by address. Everything kept lies in one arena, which is emptied only at the
 * beginning of a look, so that pointers handed out stay good during it; an object that changed leaves its old copy
 * behind until then.
 *
 * Before a copy is used in a look it is held against memory:
 *   - the object from its type up to its last pointer, byte by byte (all of that is constant while the object lives);
 *   - the text of its name and file name, and its line table, from beginning to end.
 * The second part is for a program that makes and drops functions in a loop: the allocator may well give every piece of
 * the new one the address of the same piece of the old one.
 *
 * A target decides how long its texts and tables are, and how many: long ones have an allowance in each look, those
 * beyond it are neither read nor kept. A text that is shared is read once in a look.
 */
#include "python/code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "python/text.h"

#define CACHE_LIMIT ((size_t)12 << 20) /* dropped at the next beginning when it holds more */
#define ALLOWANCE   DT_TABLE_LIMIT     /* bytes of long texts and tables in one look */
#define ARENA_LIMIT ((size_t)44 << 20) /* both, and what short ones a look may add: some 10,000 objects */
#define LONG_TEXT   ((size_t)1024)
#define LONG_TABLE  ((size_t)4096)
#define HEAD_LIMIT  1024
#define TEXT_SLOTS  1024
#define RESUMABLE   (0x20 | 0x80 | 0x200) /* CO_GENERATOR, CO_COROUTINE, CO_ASYNC_GENERATOR */
#define CHUNK       4096                  /* of a line table that is compared: a page, where it is one */

struct kept {
	struct dt_code code; /* first: handed out */
	uint32_t look;       /* in which it was last found to be true */
	bool confirmed;      /* and that look was proven */
	uint64_t generation; /* of that look */
	struct kept *next;   /* found to be true in the same look */
	uint64_t name_object, file_object, table_object;
	uint64_t table_size;             /* as the target says: code.table_size is 0 beyond the limit */
	uint64_t name_print, file_print; /* see dt_text_print */
	struct dt_line_memo memo[DT_LINE_MEMO];
	uint8_t head[];
};

/* Texts by the address of the str: functions of one file share its name. */
struct text_slot {
	uint64_t object;
	uint32_t look; /* in which it was last read */
	uint64_t print;
	const char *text; /* NULL: only compared so far */
};

struct dt_code_cache {
	const struct dt_layout *layout;
	struct dt_arena arena;
	struct kept **slots;
	size_t slot_count, count; /* slot_count: 0 or a power of two, at least twice the count */
	uint32_t look;
	uint32_t last_id;              /* that was given to a copy */
	uint32_t oldest_id;            /* that a copy may have */
	uint64_t code_type;            /* type object that was found to be named "code" */
	uint32_t head_start, head_end; /* the constant part of a code object: within head_end bytes */
	uint8_t head[HEAD_LIMIT];      /* the object being looked at */
	size_t allowance;              /* left in this look */
	uint64_t generation;           /* of this look, 0: not known */
	bool several;                  /* interpreters, which count for themselves */
	struct kept *checked;          /* found to be true in this look: to be confirmed */
	struct text_slot texts[TEXT_SLOTS];
};

static uint32_t present(uint32_t offset)
{
	return offset == DT_ABSENT ? 0 : offset + 8;
}

struct dt_code_cache *dt_code_cache_new(const struct dt_layout *layout)
{
	struct dt_code_cache *cache = calloc(1, sizeof(*cache));
	uint32_t end;

	if (!cache)
		return NULL;
	end = DT_MAX(layout->code.filename, layout->code.name) + 8;
	end = DT_MAX(end, DT_MAX(layout->code.linetable, layout->code.firstlineno) + 8);
	end = DT_MAX(end, DT_MAX(present(layout->code.qualname), layout->object.ob_type + 8));
	if (DT_MAX(end, present(layout->code.firsttraceable)) > HEAD_LIMIT) {
		free(cache);
		return NULL;
	}
	cache->layout = layout;
	cache->head_start = layout->object.ob_type;
	cache->head_end = end;
	cache->look = 1;
	cache->oldest_id = 1;
	cache->allowance = ALLOWANCE;
	dt_arena_init(&cache->arena, ARENA_LIMIT);
	return cache;
}

void dt_code_cache_free(struct dt_code_cache *cache)
{
	if (!cache)
		return;
	dt_arena_release(&cache->arena);
	free(cache->slots);
	free(cache);
}

void dt_code_cache_begin(struct dt_code_cache *cache)
{
	cache->look++;
	cache->checked = NULL;
	cache->allowance = ALLOWANCE;
	if (cache->arena.used <= CACHE_LIMIT && cache->look != 0)
		return;
	/* Too much, or the numbers of looks begin again. */
	cache->look = 1;
	cache->oldest_id = cache->last_id + 1;
	cache->count = 0;
	dt_arena_release(&cache->arena);
	memset(cache->texts, 0, sizeof(cache->texts));
	free(cache->slots);
	cache->slots = NULL;
	cache->slot_count = 0;
}

void dt_code_cache_go_on(struct dt_code_cache *cache)
{
	cache->look += cache->look != UINT32_MAX;
	cache->checked = NULL;
}

void dt_code_cache_generation(struct dt_code_cache *cache, uint64_t generation)
{
	cache->generation = cache->several ? 0 : generation;
}

void dt_code_cache_several(struct dt_code_cache *cache)
{
	cache->several = true;
	cache->generation = 0;
}

void dt_code_cache_confirm(struct dt_code_cache *cache)
{
	for (struct kept *kept = cache->checked; kept; kept = kept->next) {
		kept->confirmed = true;
		kept->generation = cache->generation;
	}
	cache->checked = NULL;
}

static size_t hash(uint64_t address)
{
	return (size_t)((address >> 3) * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

/* The slot of an address, or the free one where it belongs. */
static struct kept **find_slot(const struct dt_code_cache *cache, uint64_t address)
{
	size_t at = hash(address) & (cache->slot_count - 1);

	while (cache->slots[at] && cache->slots[at]->code.address != address)
		at = (at + 1) & (cache->slot_count - 1);
	return &cache->slots[at];
}

static int make_room(struct dt_code_cache *cache)
{
	struct kept **old = cache->slots;
	size_t old_count = cache->slot_count;

	if ((cache->count + 1) * 2 <= old_count)
		return 0;
	cache->slots = calloc(old_count ? old_count * 2 : 256, sizeof(struct kept *));
	if (!cache->slots) {
		cache->slots = old;
		return -ENOMEM;
	}
	cache->slot_count = old_count ? old_count * 2 : 256;
	for (size_t i = 0; i < old_count; i++)
		if (old[i])
			*find_slot(cache, old[i]->code.address) = old[i];
	free(old);
	return 0;
}

static uint64_t field(const struct dt_code_cache *cache, uint32_t offset)
{
	return dt_get64(cache->head + offset);
}

static int check_type(struct dt_code_cache *cache, struct dt_mem *mem, uint64_t type)
{
	uint64_t name;
	char text[5];
	int rc;

	if (type == cache->code_type)
		return 0;
	rc = dt_mem_read_u64(mem, type + cache->layout->type.name, &name);
	if (rc == 0)
		rc = dt_mem_read(mem, name, text, sizeof(text));
	if (rc < 0)
		return rc;
	if (memcmp(text, "code", sizeof(text)) != 0)
		return -EINVAL;
	cache->code_type = type;
	return 0;
}

static uint32_t first_traceable(const struct dt_code_cache *cache)
{
	uint32_t units;

	if (cache->layout->code.firsttraceable == DT_ABSENT)
		return 0;
	units = dt_get32(cache->head + cache->layout->code.firsttraceable);
	return units <= INT32_MAX / 2 ? units * 2 : 0;
}

static int read_table_size(const struct dt_code_cache *cache, struct dt_mem *mem, uint64_t object, uint64_t *size)
{
	return dt_mem_read_u64(mem, object + cache->layout->bytes.ob_size, size);
}

/* Takes so many bytes from what a look may read of long ones. */
static bool allow(struct dt_code_cache *cache, size_t size, size_t usual)
{
	if (size <= usual)
		return true;
	if (size > cache->allowance)
		return false;
	cache->allowance -= size;
	return true;
}

/* All of the table: it may differ in its last byte alone. Chunks end where pages do, so that an image copies each from
 * one place. */
static bool same_table(struct dt_code_cache *cache, struct dt_mem *mem, const struct kept *kept)
{
	uint64_t address = kept->table_object + cache->layout->bytes.ob_sval;
	uint64_t size;
	uint8_t chunk[CHUNK];

	if (read_table_size(cache, mem, kept->table_object, &size) < 0 || size != kept->table_size ||
	    !allow(cache, kept->code.table_size, LONG_TABLE))
		return false;
	for (size_t at = 0, part; at < kept->code.table_size; at += part) {
		part = DT_MIN(kept->code.table_size - at, CHUNK - (size_t)((address + at) % CHUNK));
		if (dt_mem_read(mem, address + at, chunk, part) < 0 || memcmp(chunk, kept->code.table + at, part) != 0)
			return false;
	}
	return true;
}

/* The slot of a text, with its print as it is in this look. */
static int look_up_text(struct dt_code_cache *cache, struct dt_mem *mem, uint64_t object, struct text_slot **found)
{
	struct text_slot *slot = &cache->texts[hash(object) % TEXT_SLOTS];
	uint64_t print = 0;
	bool too_long;
	size_t size;
	int rc;

	*found = slot;
	if (slot->object == object && slot->look == cache->look)
		return 0;
	rc = dt_text_size(mem, cache->layout, object, &size);
	if (rc < 0 && rc != -EFBIG)
		return rc;
	too_long = rc == -EFBIG || !allow(cache, size, LONG_TEXT);
	if (!too_long)
		rc = dt_text_print(mem, cache->layout, object, &print);
	if (!too_long && rc < 0)
		return rc;
	if (slot->object != object || slot->print != print || too_long)
		slot->text = too_long ? "<too long>" : NULL; /* no reason to lose the stack */
	slot->object = object;
	slot->look = cache->look;
	slot->print = print;
	return 0;
}

static bool same_text(struct dt_code_cache *cache, struct dt_mem *mem, uint64_t object, uint64_t print)
{
	struct text_slot *slot;

	return look_up_text(cache, mem, object, &slot) == 0 && slot->print == print;
}

/* Whether a copy is still what lies in memory; cache->head holds the object as it is now. */
static bool still_true(struct dt_code_cache *cache, struct dt_mem *mem, const struct kept *kept)
{
	uint32_t version = cache->layout->code.version;

	if (memcmp(kept->head, cache->head + cache->head_start, cache->head_end - cache->head_start) != 0)
		return false;
	if (kept->confirmed && !cache->several && version != DT_ABSENT && dt_get32(cache->head + version) != 0)
		return true;
	if (!same_text(cache, mem, kept->name_object, kept->name_print) ||
	    !same_text(cache, mem, kept->file_object, kept->file_print))
		return false;
	return kept->code.first_traceable == first_traceable(cache) && same_table(cache, mem, kept);
}

/* The target may run: the text that is read is the one that the print was made of only if it stands still, which is
 * for the sampler to know. */
static int read_text(struct dt_code_cache *cache, struct dt_mem *mem, uint64_t object, const char **text,
		     uint64_t *print)
{
	struct text_slot *slot;
	int rc = look_up_text(cache, mem, object, &slot);

	if (rc == 0 && !slot->text)
		rc = dt_text_read(mem, cache->layout, object, &cache->arena, &slot->text);
	*text = slot->text;
	*print = slot->print;
	return rc;
}

static int read_table(struct dt_code_cache *cache, struct dt_mem *mem, struct kept *kept)
{
	struct dt_code *code = &kept->code;
	int rc = read_table_size(cache, mem, kept->table_object, &kept->table_size);

	if (rc < 0)
		return rc;
	rc = -EFBIG;
	if (kept->table_size <= DT_TABLE_LIMIT && allow(cache, (size_t)kept->table_size, LONG_TABLE))
		rc = dt_bytes_read(mem, cache->layout, kept->table_object, DT_TABLE_LIMIT, &cache->arena, &code->table,
				   &code->table_size);
	if (rc != -EFBIG)
		return rc;
	code->table = NULL; /* no line will be known */
	code->table_size = 0;
	return 0;
}

/* Makes a copy of the object in cache->head and of what it points to. */
static int read_code(struct dt_code_cache *cache, struct dt_mem *mem, uint64_t address, struct kept **result)
{
	const struct dt_layout *layout = cache->layout;
	size_t head_size = cache->head_end - cache->head_start;
	struct kept *kept;
	int rc;

	kept = dt_arena_calloc(&cache->arena, 1, sizeof(*kept) + head_size);
	if (!kept)
		return -ENOMEM;
	memcpy(kept->head, cache->head + cache->head_start, head_size);
	kept->name_object = field(cache,
				  layout->code.qualname == DT_ABSENT ? layout->code.name : layout->code.qualname);
	kept->file_object = field(cache, layout->code.filename);
	kept->table_object = field(cache, layout->code.linetable);
	kept->code.address = address;
	kept->code.memo = kept->memo;
	kept->code.id = ++cache->last_id;
	kept->code.oldest = cache->oldest_id;
	kept->code.first_line = dt_get32(cache->head + layout->code.firstlineno);
	if (layout->code.flags != DT_ABSENT && layout->code.flags + 4 <= cache->head_end)
		kept->code.resumable = dt_get32(cache->head + layout->code.flags) & RESUMABLE;
	kept->code.first_traceable = first_traceable(cache);
	if (layout->line_kind == DT_LINES_LOCATIONS)
		kept->code.bytecode = address + layout->code.bytecode;
	rc = read_text(cache, mem, kept->name_object, &kept->code.name, &kept->name_print);
	if (rc == 0)
		rc = read_text(cache, mem, kept->file_object, &kept->code.file, &kept->file_print);
	if (rc == 0)
		rc = read_table(cache, mem, kept);
	*result = kept;
	return rc;
}

/* No object lies there. */
static uint64_t native_address(uint64_t number)
{
	return number | UINT64_C(1) << 63;
}

const struct dt_code *dt_code_native(const struct dt_code_cache *cache, uint64_t number)
{
	const struct kept *kept = cache->slot_count ? *find_slot(cache, native_address(number)) : NULL;

	return kept ? &kept->code : NULL;
}

int dt_code_native_add(struct dt_code_cache *cache, uint64_t number, const char *name, const char *file,
		       const struct dt_code **code)
{
	struct kept **slot, *kept;
	int rc = make_room(cache);

	if (rc < 0)
		return rc;
	kept = dt_arena_calloc(&cache->arena, 1, sizeof(*kept));
	if (!kept)
		return -ENOMEM;
	kept->code = (struct dt_code){.address = native_address(number),
				      .name = dt_arena_strdup(&cache->arena, name),
				      .file = dt_arena_strdup(&cache->arena, file),
				      .oldest = cache->oldest_id,
				      .native = true,
				      .memo = kept->memo};
	if (!kept->code.name || !kept->code.file)
		return -ENOMEM;
	kept->code.id = ++cache->last_id;
	slot = find_slot(cache, kept->code.address);
	cache->count += !*slot;
	*slot = kept;
	*code = &kept->code;
	return 0;
}

int dt_code_get(struct dt_code_cache *cache, struct dt_mem *mem, uint64_t address, const struct dt_code **code)
{
	size_t size = DT_MAX(cache->head_end, present(cache->layout->code.firsttraceable));
	struct kept **slot, *kept;
	int rc = make_room(cache);

	if (rc < 0)
		return rc;
	slot = find_slot(cache, address);
	if (*slot && (*slot)->confirmed && cache->generation && (*slot)->generation == cache->generation)
		(*slot)->look = cache->look;
	if (!*slot || (*slot)->look != cache->look) {
		rc = dt_mem_read(mem, address, cache->head, size);
		if (rc == 0)
			rc = check_type(cache, mem, field(cache, cache->layout->object.ob_type));
		if (rc < 0)
			return rc;
		if (!*slot || !still_true(cache, mem, *slot)) {
			rc = read_code(cache, mem, address, &kept);
			if (rc < 0)
				return rc;
			cache->count += !*slot;
			*slot = kept;
		}
		(*slot)->look = cache->look;
		(*slot)->next = cache->checked;
		cache->checked = *slot;
	}
	*code = &(*slot)->code;
	return 0;
}
