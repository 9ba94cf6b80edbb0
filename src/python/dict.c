/*
 * Dicts and attributes. A dict is a table of keys and, if it shares the keys with others ("split"), an array of values
 * of its own; instances of ordinary classes use the same two things, without a dict in between where they can.
 *
 * Looking a name up means comparing it with all keys in their order: the hash of a str depends on a secret of the
 * target. The keys of a block of entries are read by one gather, so that a large dict costs few system calls. Programs
 * of one kind have a name mostly at the same place, so where it was found last, in whatever dict, is compared first:
 * the key there decides as it does in the whole search, which follows where it is another one.
 */
#include "python/dict.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/hash.h"
#include "base/util.h"
#include "python/dict_table.h"

#define HEAD      128
#define BLOCK     64 /* entries read at a time */
#define ENTRY_MAX 64 /* bytes of an entry */
#define KEY_MAX   64 /* bytes of a name that is looked up */
#define PLACES    8  /* as many names are remembered: more than are ever looked up */

/* ---- reading the table ---- */

static bool fits(uint32_t offset, uint32_t size, uint32_t room)
{
	return offset <= room && size <= room - offset;
}

/* How many bytes the indices take, from the head of the keys; 0 if that makes no sense. *size: their number. */
static uint64_t index_bytes(const struct dt_layout *layout, const uint8_t *head, uint64_t *size)
{
	if (layout->dictkeys.log2_size != DT_ABSENT) {
		uint8_t log2_size = head[layout->dictkeys.log2_size];
		uint8_t log2_bytes = head[layout->dictkeys.log2_index_bytes];

		if (log2_size > 40 || log2_bytes > 44)
			return 0;
		*size = UINT64_C(1) << log2_size;
		return UINT64_C(1) << log2_bytes;
	}
	*size = dt_get64(head + layout->dictkeys.size);
	if (*size > UINT64_C(1) << 40 || (*size & (*size - 1)) != 0)
		return 0;
	return *size <= 0xff ? *size : *size <= 0xffff ? *size * 2 : *size <= 0xffffffff ? *size * 4 : *size * 8;
}

static bool layout_fits(const struct dt_layout *layout)
{
	uint32_t room = layout->dictkeys.indices;

	if (room > HEAD || !fits(layout->dictkeys.nentries, 8, room) || layout->dictkeys.entry_size > ENTRY_MAX)
		return false;
	if (layout->dictkeys.kind != DT_ABSENT &&
	    (!fits(layout->dictkeys.kind, 1, room) || layout->dictkeys.text_entry_size > ENTRY_MAX))
		return false;
	if (layout->dictkeys.log2_size == DT_ABSENT)
		return fits(layout->dictkeys.size, 8, room);
	return fits(layout->dictkeys.log2_size, 1, room) && fits(layout->dictkeys.log2_index_bytes, 1, room);
}

int dt_dict_table_keys(struct dt_mem *mem, const struct dt_layout *layout, uint64_t keys, struct dt_dict_table *table)
{
	uint8_t head[HEAD];
	uint64_t size, bytes;
	bool general;
	int rc;

	if (!layout_fits(layout))
		return -EINVAL;
	rc = dt_mem_read(mem, keys, head, layout->dictkeys.indices);
	if (rc < 0)
		return rc;
	bytes = index_bytes(layout, head, &size);
	table->count = dt_get64(head + layout->dictkeys.nentries);
	if (bytes == 0 || table->count > size)
		return -EINVAL;
	table->count = DT_MIN(table->count, DT_DICT_LIMIT);
	table->entries = keys + layout->dictkeys.indices + bytes;
	general = layout->dictkeys.kind == DT_ABSENT || head[layout->dictkeys.kind] == layout->dictkeys.kind_general;
	table->entry_size = general ? layout->dictkeys.entry_size : layout->dictkeys.text_entry_size;
	table->key = general ? layout->dictkeys.entry_key : layout->dictkeys.text_key;
	table->value = general ? layout->dictkeys.entry_value : layout->dictkeys.text_value;
	table->values = 0;
	return fits(table->key, 8, table->entry_size) && fits(table->value, 8, table->entry_size) ? 0 : -EINVAL;
}

/* Values apart from the keys: there may be fewer of them than keys, which others may have added to. */
int dt_dict_table_values(struct dt_mem *mem, const struct dt_layout *layout, uint64_t values,
			 struct dt_dict_table *table)
{
	uint8_t capacity;
	int rc;

	table->values = values + layout->dictvalues.first;
	if (layout->dictvalues.capacity == DT_ABSENT)
		return 0;
	rc = dt_mem_read(mem, values + layout->dictvalues.capacity, &capacity, 1);
	table->count = DT_MIN(table->count, capacity);
	return rc;
}

static int check_type(struct dt_mem *mem, const struct dt_layout *layout, uint64_t object, uint64_t flag)
{
	uint64_t type = 0, flags = 0;
	int rc = dt_mem_read_u64(mem, object + layout->object.ob_type, &type);

	if (rc == 0)
		rc = dt_mem_read_u64(mem, type + layout->type.flags, &flags);
	if (rc < 0)
		return rc;
	return flags & flag ? 0 : -EINVAL;
}

/* 2.7: an open table, with unused entries among the others. */
static int read_old_dict(struct dt_mem *mem, const struct dt_layout *layout, uint64_t dict, struct dt_dict_table *table)
{
	uint64_t mask = 0;
	int rc = dt_mem_read_u64(mem, dict + layout->dict.mask, &mask);

	if (rc == 0)
		rc = dt_mem_read_u64(mem, dict + layout->dict.table, &table->entries);
	if (rc < 0)
		return rc;
	if (mask >= UINT64_C(1) << 40 || (mask & (mask + 1)) != 0 || layout->dictkeys.entry_size > ENTRY_MAX)
		return -EINVAL;
	table->count = DT_MIN(mask + 1, DT_DICT_LIMIT);
	table->entry_size = layout->dictkeys.entry_size;
	table->key = layout->dictkeys.entry_key;
	table->value = layout->dictkeys.entry_value;
	table->values = 0;
	return 0;
}

static int read_dict(struct dt_mem *mem, const struct dt_layout *layout, uint64_t dict, struct dt_dict_table *table)
{
	uint64_t keys = 0, values = 0;
	int rc = check_type(mem, layout, dict, layout->type.dict_flag);

	if (rc == 0 && layout->dict.keys == DT_ABSENT)
		return read_old_dict(mem, layout, dict, table);
	if (rc == 0)
		rc = dt_mem_read_u64(mem, dict + layout->dict.keys, &keys);
	if (rc == 0)
		rc = dt_mem_read_u64(mem, dict + layout->dict.values, &values);
	if (rc == 0)
		rc = dt_dict_table_keys(mem, layout, keys, table);
	if (rc == 0 && values)
		rc = dt_dict_table_values(mem, layout, values, table);
	return rc;
}

bool dt_dict_is(struct dt_mem *mem, const struct dt_layout *layout, uint64_t object)
{
	struct dt_dict_table table;

	return read_dict(mem, layout, object, &table) == 0;
}

/* ---- going through it ---- */

struct block {
	size_t count;
	uint64_t keys[BLOCK], values[BLOCK];
};

static int read_block(struct dt_mem *mem, const struct dt_dict_table *table, uint64_t first, uint64_t most,
		      bool with_values, struct block *block)
{
	uint8_t entries[BLOCK * ENTRY_MAX];
	int rc;

	block->count = (size_t)DT_MIN(table->count - first, most);
	rc = dt_mem_read(mem, table->entries + first * table->entry_size, entries, block->count * table->entry_size);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < block->count; i++) {
		block->keys[i] = dt_get64(entries + i * table->entry_size + table->key);
		block->values[i] = dt_get64(entries + i * table->entry_size + table->value);
	}
	if (with_values && table->values)
		return dt_mem_read(mem, table->values + first * 8, block->values, block->count * 8);
	return 0;
}

int dt_dict_each(struct dt_mem *mem, const struct dt_layout *layout, uint64_t dict, dt_dict_visit_fn *visit,
		 void *context)
{
	struct dt_dict_table table = {0};
	struct block block;
	int rc = read_dict(mem, layout, dict, &table);

	for (uint64_t first = 0; rc == 0 && first < table.count; first += BLOCK) {
		rc = read_block(mem, &table, first, BLOCK, true, &block);
		for (size_t i = 0; rc == 0 && i < block.count; i++)
			if (block.keys[i] && block.values[i])
				rc = visit(context, block.keys[i], block.values[i]);
	}
	return rc;
}

/* ---- looking up ---- */

/* Keys are str: in 2.7 that means bytes. */
struct name {
	const char *text;
	size_t length;
	size_t size;                              /* of a str that holds it */
	uint64_t flag;                            /* that the type of one has */
	uint8_t found[BLOCK][HEAD + KEY_MAX + 1]; /* the keys of one block */
};

/* Whether the bytes are those of an ASCII str equal to the name. */
static bool equals(const struct dt_layout *layout, const uint8_t *object, const struct name *name)
{
	uint32_t state;

	if (layout->unicode.state == DT_ABSENT)
		return dt_get64(object + layout->bytes.ob_size) == name->length &&
		       memcmp(object + layout->bytes.ob_sval, name->text, name->length) == 0;
	state = dt_get32(object + layout->unicode.state);
	return dt_get64(object + layout->unicode.length) == name->length &&
	       (state >> layout->unicode.ascii_bit & state >> layout->unicode.compact_bit & 1) &&
	       memcmp(object + layout->unicode.ascii_size, name->text, name->length) == 0;
}

/* Index of the name in the block, -ENOENT, or another negative errno. */
static int find_in_block(struct dt_mem *mem, const struct dt_layout *layout, const struct block *block,
			 struct name *name)
{
	struct dt_range ranges[BLOCK];
	int index[BLOCK] = {0};
	size_t count = 0, done = 0;

	for (size_t i = 0; i < block->count; i++) {
		if (!block->keys[i])
			continue;
		index[count] = (int)i;
		ranges[count++] = (struct dt_range){block->keys[i], name->found[i], name->size};
	}
	while (done < count) {
		ssize_t got = dt_mem_gather(mem, ranges + done, count - done);

		/* A key that is shorter than the name and the last thing that is mapped cannot be the one. */
		if (got < 0 && got != -EFAULT)
			return (int)got;
		for (; got > 0 && done < count; got--, done++)
			if (equals(layout, name->found[index[done]], name) &&
			    check_type(mem, layout, ranges[done].address, name->flag) == 0)
				return index[done];
		if (got == -EFAULT)
			done++;
	}
	return -ENOENT;
}

static int begin_name(const struct dt_layout *layout, const char *text, struct name *name)
{
	bool bytes = layout->unicode.state == DT_ABSENT;
	uint32_t head = bytes ? layout->bytes.ob_sval : layout->unicode.ascii_size;

	name->text = text;
	name->length = strlen(text);
	if (name->length > KEY_MAX || head > HEAD)
		return -EINVAL;
	if (!fits(bytes ? layout->bytes.ob_size : layout->unicode.length, 8, head) ||
	    (!bytes && !fits(layout->unicode.state, 4, head)))
		return -EINVAL;
	name->size = head + name->length;
	name->flag = bytes ? layout->type.bytes_flag : layout->type.unicode_flag;
	return 0;
}

/* The value under the name, if it is the key of one of these entries; their number is at most BLOCK. *place: which. */
static int find_among(struct dt_mem *mem, const struct dt_layout *layout, const struct dt_dict_table *table,
		      uint64_t first, uint64_t most, struct name *name, uint64_t *place, uint64_t *value)
{
	struct block block;
	int rc = read_block(mem, table, first, most, false, &block);

	if (rc == 0)
		rc = find_in_block(mem, layout, &block, name);
	if (rc < 0)
		return rc;
	*place = first + (uint64_t)rc;
	*value = block.values[rc];
	if (table->values)
		rc = dt_mem_read_u64(mem, table->values + *place * 8, value);
	return rc < 0 ? rc : 0;
}

/* Where a name was found last by this thread: a guess, good for nothing but the order of comparing. */
static uint64_t *last_place(const struct name *name)
{
	static _Thread_local struct {
		uint64_t name, place;
	} known[PLACES];
	static _Thread_local unsigned next;
	uint64_t hash = dt_hash64(name->text, name->length, 0);
	unsigned i;

	for (i = 0; i < PLACES; i++)
		if (known[i].name == hash)
			return &known[i].place;
	i = next++ % PLACES;
	known[i].name = hash;
	known[i].place = 0;
	return &known[i].place;
}

int dt_dict_table_find(struct dt_mem *mem, const struct dt_layout *layout, const struct dt_dict_table *table,
		       const char *text, uint64_t *value)
{
	struct name name;
	uint64_t *place;
	int rc = begin_name(layout, text, &name);

	if (rc < 0)
		return rc;
	place = last_place(&name);
	rc = *place < table->count ? find_among(mem, layout, table, *place, 1, &name, place, value) : -ENOENT;
	if (rc == 0)
		return *value ? 0 : -ENOENT;
	rc = -ENOENT;
	for (uint64_t first = 0; rc == -ENOENT && first < table->count; first += BLOCK)
		rc = find_among(mem, layout, table, first, BLOCK, &name, place, value);
	return rc < 0 ? rc : *value ? 0 : -ENOENT;
}

int dt_dict_get(struct dt_mem *mem, const struct dt_layout *layout, uint64_t dict, const char *key, uint64_t *value)
{
	struct dt_dict_table table = {0};
	int rc = read_dict(mem, layout, dict, &table);

	return rc < 0 ? rc : dt_dict_table_find(mem, layout, &table, key, value);
}

int dt_module_dict(struct dt_mem *mem, const struct dt_layout *layout, uint64_t module, uint64_t *dict)
{
	return dt_mem_read_u64(mem, module + layout->module.dict, dict);
}
