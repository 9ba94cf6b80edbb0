/* Frame pointers from prologues: see unwind_frame.h. */
#include "native/unwind_frame.h"

#include <elf.h>
#include <string.h>

#include "base/util.h"

#define PROLOGUE 48 /* bytes: six pushes and the longest instruction that makes room */
#define BACK     64 /* rows that are gone back to the beginning of a function */
#define CALL     7  /* bytes of the longest call that is known */

/* Where the function has just made rbp its frame pointer: the row before still counts from sp, and has rbp saved. */
static bool find_prologue(const struct dt_cfi *table, const struct dt_cfi_row *row, uint64_t *address)
{
	for (int i = 0; i < BACK && row > table->rows; i++, row--) {
		const struct dt_cfi_row *before = row - 1;

		if (row->cfa == DT_CFA_FP && before->cfa == DT_CFA_SP) {
			*address = table->base + row->start;
			return row->cfa_offset == 16 && before->cfa_offset == 16 && before->fp == DT_SAVED_CFA &&
			       before->fp_words == -2;
		}
		if (before->cfa == DT_CFA_NONE)
			return false;
	}
	return false;
}

/* push rbx, r12 to r15, or another register that only makes room. */
static size_t push_length(const uint8_t *code)
{
	if (code[0] >= 0x50 && code[0] <= 0x57)
		return 1;
	return code[0] == 0x41 && code[1] >= 0x50 && code[1] <= 0x57 ? 2 : 0;
}

/* How far sp is below rbp behind this. */
static uint64_t frame_depth(const uint8_t code[PROLOGUE])
{
	uint64_t depth = 0;
	size_t at = 0, length;
	uint32_t room;

	while (at + 8 < PROLOGUE && (length = push_length(code + at)) != 0) {
		depth += 8;
		at += length;
	}
	if (code[at] == 0x48 && code[at + 1] == 0x83 && code[at + 2] == 0xec)
		return depth + code[at + 3]; /* sub rsp, imm8: made for up to 127 */
	if (code[at] == 0x48 && code[at + 1] == 0x81 && code[at + 2] == 0xec) {
		memcpy(&room, code + at + 3, sizeof(room));
		return depth + room;
	}
	return depth;
}

/* Is there an instruction before it that calls? */
static bool is_return_address(const struct dt_unwinder *unwinder, uint64_t address)
{
	struct dt_unwind_module module;
	uint8_t code[CALL];

	if (!unwinder->find(unwinder->context, address - 1, &module) || address - module.start < CALL ||
	    dt_mem_read(unwinder->code, address - CALL, code, sizeof(code)) < 0)
		return false;
	if (code[CALL - 5] == 0xe8)
		return true;
	for (size_t length = 2; length <= CALL; length++) /* by a register or from memory */
		if (code[CALL - length] == 0xff && (code[CALL - length + 1] >> 3 & 7) == 2)
			return true;
	return false;
}

bool dt_unwind_frame_pointer(const struct dt_unwinder *unwinder, const struct dt_unwind_cursor *cursor, uint64_t *fp)
{
	const struct dt_cfi *table = cursor->module.table;
	uint64_t place = dt_unwind_place(cursor) - cursor->module.bias, address, back;
	const struct dt_cfi_row *row = table ? dt_cfi_find(table, place) : NULL;
	uint8_t code[PROLOGUE];

	/* In the middle of the function's own beginning sp is still on its way; at a call it is not. */
	if (!row || !unwinder->code || unwinder->machine != EM_X86_64 || !cursor->called ||
	    !find_prologue(table, row, &address) ||
	    dt_mem_read(unwinder->code, address + cursor->module.bias, code, sizeof(code)) < 0)
		return false;
	*fp = cursor->registers.sp + frame_depth(code);
	return dt_mem_read_u64(unwinder->mem, *fp + 8, &back) == 0 && is_return_address(unwinder, back);
}
