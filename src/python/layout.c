/* The list of tables: a version is one generated file and one line here. */
#include "python/layout.h"

#include <stddef.h>

/* Newest first. */
/* clang-format off */
#define TABLES(X) \
	X(dt_layout_3_12) \
	X(dt_layout_3_11) \
	X(dt_layout_3_10) \
	X(dt_layout_3_9) \
	X(dt_layout_3_8)
/* clang-format on */

#define DECLARED(table) extern const struct dt_layout table;
#define LISTED(table)   &table,

TABLES(DECLARED)

const struct dt_layout *const dt_layouts[] = {TABLES(LISTED) NULL};

const struct dt_layout *dt_layout_for(uint8_t major, uint8_t minor)
{
	for (const struct dt_layout *const *layout = dt_layouts; *layout; layout++)
		if ((*layout)->major == major && (*layout)->minor == minor)
			return *layout;
	return NULL;
}
