/*
 * From 3.13 on an interpreter tells its layout itself: _Py_DebugOffsets, the first thing in its runtime. This turns the
 * table into a struct dt_layout. Each shape of the table (3.13, 3.14, 3.15) is data; a version newer than the newest
 * shape is read by that one. The table is hostile: each field is checked against bounds, alignment and its neighbours
 * before it is used.
 */
#ifndef DT_PYTHON_DEBUG_OFFSETS_H
#define DT_PYTHON_DEBUG_OFFSETS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "python/layout.h"

#define DT_DEBUG_COOKIE      "xdebugpy"
#define DT_DEBUG_OFFSETS_MAX 1024 /* bytes to read at the start of the runtime */

/* True if the bytes begin with the cookie and a version of 3.13 or later. *version is PY_VERSION_HEX then. */
bool dt_debug_offsets_version(const uint8_t *table, size_t size, uint32_t *version);

/* Fills *layout. *newer is set if the version is newer than the newest known shape. DT_EUNSUPPORTED if a field makes no
 * sense. */
int dt_debug_offsets_layout(const uint8_t *table, size_t size, struct dt_layout *layout, bool *newer,
			    struct dt_error *err);

#endif
