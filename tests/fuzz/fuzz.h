/* What every fuzz target defines: libFuzzer calls it with inputs of its own making, main.c with the files of a corpus.
 */
#ifndef DT_TESTS_FUZZ_H
#define DT_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "python/layout.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What must hold for every input. */
#define MUST(condition)                                                                                                \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			abort();                                                                                       \
	} while (0)

/* One of the layouts, chosen by a byte of the input. */
static inline const struct dt_layout *fuzz_layout(uint8_t byte)
{
	static const uint8_t minors[] = {8, 9, 10, 11, 12, 6, 7};

	return byte % 8 == 7 ? dt_layout_for(2, 7) : dt_layout_for(3, minors[byte % 8]);
}

#endif
