/*
 * Attributes of instances. Four ways in which versions keep them, see enum dt_instance_kind:
 *
 *   up to 3.10   object + tp_dictoffset -> dict
 *   3.11         [values | dict] object           one of the two pointers is set
 *   3.12         [values, tagged, or dict] object
 *   3.13+        [dict] object [values]           the values count while their `valid` byte is set
 *
 * Values are parallel to the keys that the class keeps for all its instances. A class may also do without all that and
 * have its dict at tp_dictoffset as ever.
 */
#include <errno.h>

#include "python/dict.h"
#include "python/dict_table.h"

struct object {
	uint64_t address, type, flags;
};

static int read_object(struct dt_mem *mem, const struct dt_layout *layout, uint64_t address, struct object *object)
{
	int rc = dt_mem_read_u64(mem, address + layout->object.ob_type, &object->type);

	object->address = address;
	return rc < 0 ? rc : dt_mem_read_u64(mem, object->type + layout->type.flags, &object->flags);
}

/* Looks into values that belong to the keys of the object's class. */
static int get_from_values(struct dt_mem *mem, const struct dt_layout *layout, const struct object *object,
			   uint64_t values, const char *name, uint64_t *value)
{
	struct dt_dict_table table;
	uint64_t keys;
	int rc;

	if (!(object->flags & layout->type.heap_flag))
		return -ENOENT;
	rc = dt_mem_read_u64(mem, object->type + layout->type.cached_keys, &keys);
	if (rc < 0)
		return rc;
	if (!keys)
		return -ENOENT;
	rc = dt_dict_table_keys(mem, layout, keys, &table);
	if (rc == 0)
		rc = dt_dict_table_values(mem, layout, values, &table);
	return rc < 0 ? rc : dt_dict_table_find(mem, layout, &table, name, value);
}

/* Looks into the dict that the word at an address points to. */
static int get_from_dict(struct dt_mem *mem, const struct dt_layout *layout, uint64_t place, const char *name,
			 uint64_t *value)
{
	uint64_t dict;
	int rc = dt_mem_read_u64(mem, place, &dict);

	if (rc < 0)
		return rc;
	return dict ? dt_dict_get(mem, layout, dict, name, value) : -ENOENT;
}

static int get_from_two(struct dt_mem *mem, const struct dt_layout *layout, const struct object *object,
			const char *name, uint64_t *value)
{
	uint64_t values;
	int rc = dt_mem_read_u64(mem, object->address + (uint64_t)(int64_t)layout->instance.values_pointer, &values);

	if (rc < 0)
		return rc;
	if (values)
		return get_from_values(mem, layout, object, values, name, value);
	return get_from_dict(mem, layout, object->address + (uint64_t)(int64_t)layout->instance.dict_pointer, name,
			     value);
}

static int get_from_tagged(struct dt_mem *mem, const struct dt_layout *layout, const struct object *object,
			   const char *name, uint64_t *value)
{
	uint64_t word;
	int rc = dt_mem_read_u64(mem, object->address + (uint64_t)(int64_t)layout->instance.dict_pointer, &word);

	if (rc < 0)
		return rc;
	if (word & layout->instance.values_tag)
		return get_from_values(mem, layout, object, word + layout->instance.values_tag, name, value);
	return word ? dt_dict_get(mem, layout, word, name, value) : -ENOENT;
}

static int get_from_inline(struct dt_mem *mem, const struct dt_layout *layout, const struct object *object,
			   const char *name, uint64_t *value)
{
	uint64_t size, values;
	uint8_t valid = 0;
	int rc = 0;

	if (object->flags & layout->instance.inline_values_flag) {
		rc = dt_mem_read_u64(mem, object->type + layout->type.basicsize, &size);
		if (rc < 0)
			return rc;
		values = object->address + size;
		rc = dt_mem_read(mem, values + layout->dictvalues.valid, &valid, 1);
		if (rc == 0 && valid)
			rc = get_from_values(mem, layout, object, values, name, value);
	}
	if (rc < 0 || valid)
		return rc;
	return get_from_dict(mem, layout, object->address + (uint64_t)(int64_t)layout->instance.dict_pointer, name,
			     value);
}

int dt_attr_get(struct dt_mem *mem, const struct dt_layout *layout, uint64_t address, const char *name, uint64_t *value)
{
	struct object object;
	uint64_t offset;
	int rc = read_object(mem, layout, address, &object);

	if (rc < 0)
		return rc;
	if (object.flags & layout->instance.managed_dict_flag) {
		switch (layout->instance.kind) {
		case DT_INSTANCE_TWO:
			return get_from_two(mem, layout, &object, name, value);
		case DT_INSTANCE_TAGGED:
			return get_from_tagged(mem, layout, &object, name, value);
		case DT_INSTANCE_INLINE:
			return get_from_inline(mem, layout, &object, name, value);
		case DT_INSTANCE_DICT:
			break;
		}
	}
	rc = dt_mem_read_u64(mem, object.type + layout->type.dictoffset, &offset);
	if (rc < 0)
		return rc;
	/* None, or counted from the end of an object of variable size. */
	if (offset == 0 || offset > INT64_MAX)
		return -ENOENT;
	return get_from_dict(mem, layout, address + offset, name, value);
}
