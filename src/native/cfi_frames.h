/* The entries of .eh_frame: what is common to many functions (CIE), and one for each function (FDE). */
#ifndef DT_NATIVE_CFI_FRAMES_H
#define DT_NATIVE_CFI_FRAMES_H

#include "native/cfi_rules.h"

struct cfi_section {
	struct cfi_reader bytes;
	bool exact; /* it ends where the bytes do; else at its first empty entry */
	struct cfi_registers registers;
	uint64_t base, size; /* of the module; functions lie in there */
};

struct cfi_function {
	uint32_t start, end; /* counted from base */
	uint32_t common;     /* where that entry begins */
	uint32_t program, program_end;
};

struct cfi_functions {
	struct cfi_function *list;
	size_t count, capacity;
};

/* All functions in the order of the section; the list is freed by the caller, also after an error. 0 or -ENOMEM. What
 * is damaged is left out. */
int cfi_list_functions(const struct cfi_section *section, struct cfi_functions *functions);

/* The entry at that place of the section. 0 or -ENOEXEC. */
int cfi_read_common(const struct cfi_section *section, uint32_t at, struct cfi_common *common);

#endif
