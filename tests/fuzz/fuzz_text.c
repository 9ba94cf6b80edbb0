/* str, bytes and int: one byte of version, then memory that begins at BASE with the object. */
#include "fuzz.h"

#include <string.h>

#include "base/util.h"
#include "python/text.h"

#define BASE UINT64_C(0x10000)

/* Length of the well-formed UTF-8 sequence at the start of a text, 0 if it is not one. */
static size_t sequence(const uint8_t *s)
{
	uint32_t c, least;
	size_t length;

	if (s[0] < 0x80)
		return 1;
	length = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
	least = length == 4 ? 0x10000 : length == 3 ? 0x800 : 0x80;
	c = s[0] & (0x7fu >> length);
	for (size_t i = 1; i < length; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	return c < least || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff) ? 0 : length;
}

static void check_utf8(const char *text)
{
	for (const uint8_t *s = (const uint8_t *)text; *s;) {
		size_t length = sequence(s);

		MUST(length > 0);
		s += length;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dt_recorded_range range;
	const struct dt_layout *layout;
	struct dt_arena arena;
	struct dt_mem *mem;
	const uint8_t *bytes;
	const char *text;
	size_t length;
	int64_t value;

	if (size < 1)
		return 0;
	range = (struct dt_recorded_range){BASE, data + 1, size - 1};
	layout = fuzz_layout(data[0]);
	if (!layout || dt_mem_open_recorded(&range, 1, &mem) < 0)
		return 0;
	dt_arena_init(&arena, 0);
	if (dt_text_read(mem, layout, BASE, &arena, &text) == 0) {
		check_utf8(text);
		MUST(strlen(text) <= 4 * size);
	}
	if (dt_bytes_read(mem, layout, BASE, DT_TABLE_LIMIT, &arena, &bytes, &length) == 0)
		MUST(length < size && bytes[length] == 0);
	dt_int_read(mem, layout, BASE, &value);
	dt_arena_release(&arena);
	dt_mem_free(mem);
	return 0;
}
