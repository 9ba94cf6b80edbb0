/* Line tables: one byte of kind, four of the first line, four of the offset, then the table. */
#include "fuzz.h"

#include "base/util.h"
#include "python/lines.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum dt_line_kind kinds[] = {DT_LINES_LNOTAB, DT_LINES_LINETABLE, DT_LINES_LOCATIONS,
						  DT_LINES_LNOTAB_UNSIGNED};
	uint32_t first, line;
	int32_t offset;

	if (size < 9)
		return 0;
	first = dt_get32(data + 1);
	offset = (int32_t)dt_get32(data + 5);
	line = dt_lines_at(kinds[data[0] % DT_COUNT(kinds)], data + 9, size - 9, first, offset);
	MUST(line <= INT32_MAX);
	if (offset < 0)
		MUST(line == (first <= INT32_MAX ? first : 0));
	return 0;
}
