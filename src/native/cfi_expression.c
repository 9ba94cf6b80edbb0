#include "native/cfi_expression.h"

enum { DEREF = 0x06, PLUS_CONSTANT = 0x23, LIT0 = 0x30, BASE0 = 0x70, BASE31 = 0x8f };

/* rip + 0, 15, and, N, >=, 3, <<, +: what linkers write for their table of calls. */
static bool is_plt(const struct cfi_reader *rest, int64_t *limit)
{
	static const uint8_t before[] = {0x80, 0x00, 0x3f, 0x1a}, after[] = {0x2a, 0x33, 0x24, 0x22};
	const uint8_t *bytes = rest->data + rest->at;

	if (rest->end - rest->at != sizeof(before) + 1 + sizeof(after) || memcmp(bytes, before, sizeof(before)) != 0 ||
	    memcmp(bytes + sizeof(before) + 1, after, sizeof(after)) != 0)
		return false;
	*limit = (int64_t)bytes[sizeof(before)] - LIT0;
	return *limit >= 0 && *limit < 16;
}

static enum cfi_expression_kind kind_of_word(struct cfi_reader *rest)
{
	uint64_t more;

	if (cfi_u8(rest) != DEREF)
		return CFI_OTHER;
	if (rest->at == rest->end)
		return CFI_WORD;
	if (cfi_u8(rest) != PLUS_CONSTANT)
		return CFI_OTHER;
	more = cfi_uleb(rest);
	return more == 8 && !rest->bad && rest->at == rest->end ? CFI_WORD_PLUS_WORD : CFI_OTHER;
}

struct cfi_expression cfi_read_expression(struct cfi_reader *program)
{
	struct cfi_expression expression = {CFI_OTHER};
	uint64_t size = cfi_uleb(program);
	struct cfi_reader rest = cfi_part(program, program->at, program->at);
	uint8_t op;

	cfi_skip(program, size);
	if (program->bad)
		return expression;
	rest.end = program->at;
	op = cfi_u8(&rest);
	if (op < BASE0 || op > BASE31)
		return expression;
	expression.number = op - BASE0;
	expression.offset = cfi_sleb(&rest);
	if (rest.bad)
		return expression;
	if (rest.at == rest.end)
		expression.kind = CFI_SUM;
	else if (expression.offset == 8 && is_plt(&rest, &expression.offset))
		expression.kind = CFI_PLT;
	else
		expression.kind = kind_of_word(&rest);
	return expression;
}
