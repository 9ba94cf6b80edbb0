/* What every fuzz target defines: libFuzzer calls it with inputs of its own making, main.c with the files of a corpus.
 */
#ifndef DT_TESTS_FUZZ_H
#define DT_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What must hold for every input. */
#define MUST(condition)                                                                                                \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			abort();                                                                                       \
	} while (0)

#endif
