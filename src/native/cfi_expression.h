/* The few expressions that compilers, linkers and hand-written assembler use in .eh_frame; all others are unknown. */
#ifndef DT_NATIVE_CFI_EXPRESSION_H
#define DT_NATIVE_CFI_EXPRESSION_H

#include "native/cfi_reader.h"

enum cfi_expression_kind {
	CFI_OTHER,
	CFI_SUM,            /* register + offset */
	CFI_WORD,           /* the word there */
	CFI_WORD_PLUS_WORD, /* and 8 above that */
	CFI_PLT,            /* register + 8, and 8 more where the lowest four bits of ip are `offset` or above */
};

struct cfi_expression {
	enum cfi_expression_kind kind;
	uint64_t number; /* of the register */
	int64_t offset;
};

/* Reads over one expression with its length before it, whatever it says. */
struct cfi_expression cfi_read_expression(struct cfi_reader *program);

#endif
