/* Any bytes as debug offsets: refused, or a layout in which every offset lies inside of its struct. */
#include "python/debug_offsets.h"

#define OFFSETS_CHECK(condition)                                                                                       \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			__builtin_trap();                                                                              \
	} while (0)
#include "../offsets_harmless.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dt_layout layout;
	struct dt_error err;
	bool newer;
	if (dt_debug_offsets_layout(data, size, &layout, &newer, &err) == 0)
		assert_harmless(&layout);
	return 0;
}
