/* The table of a module: made once, asked often. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "native/symbols_inside.h"

#define OUTER_LIMIT 64 /* functions that overlap at one address; in honest files two or three */

/* Names are compared last: they lie anywhere in memory. */
static int compare(const void *a, const void *b, void *context)
{
	const struct symbols_entry *one = a, *two = b;
	const char *names = context;
	int order;

	if (one->start != two->start)
		return one->start < two->start ? -1 : 1;
	if (one->rank != two->rank)
		return one->rank < two->rank ? -1 : 1;
	if (one->length != two->length)
		return one->length < two->length ? -1 : 1;
	order = strcmp(names + one->name, names + two->name);
	if (order)
		return order;
	return one->size != two->size ? (one->size > two->size ? -1 : 1) : 0;
}

/* One entry for each address. */
static void unite(struct symbols_heap *heap)
{
	size_t kept = 0;

	for (size_t i = 0; i < heap->count;) {
		struct symbols_entry entry = heap->entries[i];
		uint32_t largest = 0;

		for (; i < heap->count && heap->entries[i].start == entry.start; i++) {
			largest = DT_MAX(largest, heap->entries[i].size);
			entry.label = entry.label && heap->entries[i].label;
			entry.end = entry.end ? entry.end : heap->entries[i].end;
		}
		entry.size = entry.size ? entry.size : largest;
		if (entry.end && entry.end > entry.start)
			entry.size = DT_MIN(entry.size, entry.end - entry.start);
		heap->entries[kept++] = entry;
	}
	heap->count = kept;
}

/* A label within a function is a place to jump to. */
static void drop_labels(struct symbols_heap *heap)
{
	uint32_t reach = 0;
	size_t kept = 0;

	for (size_t i = 0; i < heap->count; i++) {
		const struct symbols_entry *entry = &heap->entries[i];

		if (entry->label && !entry->size && entry->start < reach)
			continue;
		if (!entry->label)
			reach = DT_MAX(reach, entry->start + entry->size);
		heap->entries[kept++] = *entry;
	}
	heap->count = kept;
}

static uint32_t size_of(const struct symbols_heap *heap, size_t index)
{
	const struct symbols_entry *entry = &heap->entries[index];
	uint32_t end = entry->end;

	if (entry->size)
		return entry->size;
	if (index + 1 < heap->count && (!end || heap->entries[index + 1].start < end))
		end = heap->entries[index + 1].start;
	return end > entry->start ? end - entry->start : 0;
}

static uint32_t put_name(const struct symbols_heap *heap, const struct symbols_entry *entry, struct dt_symbols *symbols)
{
	uint32_t at = (uint32_t)symbols->names_size;

	memcpy(symbols->names + at, heap->names + entry->name, entry->length + 1u);
	symbols->names_size += entry->length + 1u;
	return at;
}

static uint32_t row_end(const struct dt_symbol_row *row)
{
	return row->start + row->size;
}

static void make_rows(const struct symbols_heap *heap, struct dt_symbols *symbols)
{
	uint32_t open = 0; /* the last row that has not ended, plus 1 */

	for (size_t i = 0; i < heap->count; i++) {
		struct dt_symbol_row *row = &symbols->rows[i];
		const struct symbols_entry *entry = &heap->entries[i];

		*row = (struct dt_symbol_row){.start = entry->start, .size = size_of(heap, i)};
		row->name = put_name(heap, entry, symbols);
		while (open && row_end(&symbols->rows[open - 1]) <= row->start)
			open = symbols->rows[open - 1].outer;
		row->outer = open;
		open = (uint32_t)i + 1;
	}
	symbols->count = heap->count;
}

int symbols_build(struct symbols_heap *heap, struct dt_symbols *symbols)
{
	size_t size = 0;

	qsort_r(heap->entries, heap->count, sizeof(*heap->entries), compare, heap->names);
	unite(heap);
	drop_labels(heap);
	for (size_t i = 0; i < heap->count; i++)
		size += heap->entries[i].length + 1u;
	symbols->rows = malloc((heap->count + 1) * sizeof(*symbols->rows));
	symbols->names = malloc(size + 1);
	if (!symbols->rows || !symbols->names) {
		dt_symbols_release(symbols);
		return -ENOMEM;
	}
	make_rows(heap, symbols);
	return 0;
}

/* The last row that begins at or before a place; count if there is none. */
static size_t last_before(const struct dt_symbols *symbols, uint64_t place)
{
	size_t low = 0, high = symbols->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (symbols->rows[middle].start <= place)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? low - 1 : symbols->count;
}

bool dt_symbols_find(const struct dt_symbols *symbols, uint64_t address, struct dt_symbol *symbol)
{
	uint64_t place = address - symbols->base;
	size_t index = last_before(symbols, place);

	if (address < symbols->base || index >= symbols->count)
		return false;
	for (unsigned left = OUTER_LIMIT; left; left--) {
		const struct dt_symbol_row *row = &symbols->rows[index];

		if (place - row->start < row->size) {
			*symbol = (struct dt_symbol){.name = symbols->names + row->name,
						     .address = symbols->base + row->start,
						     .size = row->size};
			return true;
		}
		if (!row->outer)
			return false;
		index = row->outer - 1;
	}
	return false;
}

size_t dt_symbols_bytes(const struct dt_symbols *symbols)
{
	return symbols->count * sizeof(*symbols->rows) + symbols->names_size;
}
