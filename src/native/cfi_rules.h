/*
 * The state machine of .eh_frame: instructions change rules, and where the location advances what held until there is a
 * row. Registers other than sp, fp and the return address are read over.
 */
#ifndef DT_NATIVE_CFI_RULES_H
#define DT_NATIVE_CFI_RULES_H

#include <stdbool.h>

#include "native/cfi.h"
#include "native/cfi_reader.h"

#define CFI_REMEMBERED_LIMIT 16

/* Numbers of registers in DWARF. */
struct cfi_registers {
	uint64_t sp, fp, ra;
	bool linked; /* the return address is in its register until it is saved */
};

enum cfi_cfa_kind { CFI_CFA_UNKNOWN, CFI_CFA_REGISTER, CFI_CFA_AT, CFI_CFA_PLT };

struct cfi_saved {
	enum dt_cfi_saved way;
	int64_t offset; /* bytes */
};

struct cfi_rules {
	enum cfi_cfa_kind cfa;
	uint64_t cfa_register;
	int64_t cfa_offset;
	bool plus_word;
	struct cfi_saved fp, ra;
};

/* What an entry common to many functions says. */
struct cfi_common {
	struct cfi_registers registers;
	uint64_t code_align;
	int64_t data_align;
	uint8_t encoding;
	bool signal;
	bool augmented; /* its functions have a length before what they add */
	struct cfi_rules rules;
};

struct cfi_rows {
	struct dt_cfi_row *rows;
	size_t count, capacity;
};

struct dt_cfi_row cfi_row(const struct cfi_rules *rules, const struct cfi_common *common, uint32_t start);

/* Adds a row unless it is what holds already. 0, -ENOMEM or -EFBIG. */
int cfi_rows_add(struct cfi_rows *rows, struct dt_cfi_row row);

/* Runs the instructions that come before those of each function, into common->rules. 0 or -ENOEXEC. */
int cfi_run_common(struct cfi_common *common, struct cfi_reader *program);

/* Runs the instructions of one function and adds its rows. start and end are counted from base. An instruction
 * is at least one byte, so the size of the program bounds the time. -ENOEXEC: not understood, what was added is of no
 * use. */
int cfi_run_function(const struct cfi_common *common, struct cfi_reader *program, uint64_t base, uint32_t start,
		     uint32_t end, struct cfi_rows *rows);

#endif
