/* The list of tables: a version is one generated file and one line here. */
#include "python/layout.h"

#include <stddef.h>

/* Newest first; the first releases of a version before its others. */
/* clang-format off */
#define TABLES(X) \
	X(dt_layout_3_12) \
	X(dt_layout_3_11) \
	X(dt_layout_3_10) \
	X(dt_layout_3_9) \
	X(dt_layout_3_8) \
	X(dt_layout_3_7_3) \
	X(dt_layout_3_7) \
	X(dt_layout_3_6) \
	X(dt_layout_2_7)
/* clang-format on */

/* Each file has two: of ordinary builds, and of those that trace references. */
#define DECLARED(table) extern const struct dt_layout table, table##_refs;
#define LISTED(table)   &table, &table##_refs,

TABLES(DECLARED)

const struct dt_layout *const dt_layouts[] = {TABLES(LISTED) NULL};

bool dt_layout_is_for(const struct dt_layout *layout, uint8_t major, uint8_t minor, uint8_t micro)
{
	return layout->major == major && layout->minor == minor && (!layout->last_micro || micro <= layout->last_micro);
}

const struct dt_layout *dt_layout_for_release(uint8_t major, uint8_t minor, uint8_t micro)
{
	for (const struct dt_layout *const *layout = dt_layouts; *layout; layout++)
		if (dt_layout_is_for(*layout, major, minor, micro))
			return *layout;
	return NULL;
}

const struct dt_layout *dt_layout_for(uint8_t major, uint8_t minor)
{
	return dt_layout_for_release(major, minor, UINT8_MAX);
}
