/* The inside of dicts, shared by dict.c and attr.c. Not for others. */
#ifndef DT_PYTHON_DICT_TABLE_H
#define DT_PYTHON_DICT_TABLE_H

#include <stdint.h>

#include "mem/mem.h"
#include "python/layout.h"

/* The entries of a keys object, and where their values are. */
struct dt_dict_table {
	uint64_t entries; /* address of the first one */
	uint64_t count;   /* in use, deleted ones included */
	uint32_t entry_size, key, value;
	uint64_t values; /* address of the first value if they are not in the entries, else 0 */
};

/* Reads a keys object; and adds values that are kept apart from it. */
int dt_dict_table_keys(struct dt_mem *mem, const struct dt_layout *layout, uint64_t keys, struct dt_dict_table *table);
int dt_dict_table_values(struct dt_mem *mem, const struct dt_layout *layout, uint64_t values,
			 struct dt_dict_table *table);

/* The value under an ASCII str key. -ENOENT. */
int dt_dict_table_find(struct dt_mem *mem, const struct dt_layout *layout, const struct dt_dict_table *table,
		       const char *name, uint64_t *value);

#endif
