/*
 * Reading dicts and attributes of a foreign interpreter: tables of 2.7, combined and split ones, bounded. The dict may
 * be changing while it is read: every step is checked, and a wrong answer is the caller's to rule out (by stillness).
 */
#ifndef DT_PYTHON_DICT_H
#define DT_PYTHON_DICT_H

#include <stdbool.h>
#include <stdint.h>

#include "mem/mem.h"
#include "python/layout.h"

#define DT_DICT_LIMIT (1u << 20) /* entries looked at */

/* Is this object a dict? Its type and the head of its table say so. */
bool dt_dict_is(struct dt_mem *mem, const struct dt_layout *layout, uint64_t object);

/* Calls visit for each entry until it returns non-zero; returns that, 0 at the end, or a negative errno. */
typedef int dt_dict_visit_fn(void *context, uint64_t key, uint64_t value);
int dt_dict_each(struct dt_mem *mem, const struct dt_layout *layout, uint64_t dict, dt_dict_visit_fn *visit,
		 void *context);

/* The value under an ASCII str key. -ENOENT if there is none. */
int dt_dict_get(struct dt_mem *mem, const struct dt_layout *layout, uint64_t dict, const char *key, uint64_t *value);

/* An attribute of an instance of an ordinary Python class (in its __dict__ or inline values). -ENOENT. */
int dt_attr_get(struct dt_mem *mem, const struct dt_layout *layout, uint64_t object, const char *name, uint64_t *value);

/* The __dict__ of a module object. */
int dt_module_dict(struct dt_mem *mem, const struct dt_layout *layout, uint64_t module, uint64_t *dict);

#endif
