/*
 * From an offset in the bytecode to a line, for each kind of table. Pure functions over bytes: fuzzed.
 */
#ifndef DT_PYTHON_LINES_H
#define DT_PYTHON_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "python/layout.h"

/* Line of the instruction at byte offset `offset` (-1: before the first one: the first line). 0 if the table says "no
 * line" or the offset lies outside of it. Never reads outside of the table; lines out of range become 0. */
uint32_t dt_lines_at(enum dt_line_kind kind, const uint8_t *table, size_t size, uint32_t first_line, int64_t offset);

#endif
