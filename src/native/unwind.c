#include "native/unwind.h"

#include <elf.h>

#include "base/util.h"
#include "native/unwind_frame.h"

/* aarch64: the signature of a return address, or a tag, is above these. */
#define ADDRESS_BITS 48

/* aarch64, from sp in the signal frame: struct rt_sigframe has the registers x0 to x30, sp and pc from here on. */
#define CONTEXT_REGISTERS 312

struct dt_unwind_cursor dt_unwind_begin(const struct dt_unwind_registers *registers)
{
	return (struct dt_unwind_cursor){.registers = *registers};
}

uint64_t dt_unwind_place(const struct dt_unwind_cursor *cursor)
{
	return cursor->registers.ip - cursor->called;
}

static bool find_module(const struct dt_unwinder *unwinder, struct dt_unwind_cursor *cursor)
{
	uint64_t place = dt_unwind_place(cursor);

	if (place >= cursor->module.start && place < cursor->module.end)
		return true;
	return unwinder->find(unwinder->context, place, &cursor->module);
}

static uint64_t bare_address(const struct dt_unwinder *unwinder, uint64_t address)
{
	if (unwinder->machine != EM_AARCH64)
		return address;
	return address & ((UINT64_C(1) << ADDRESS_BITS) - 1);
}

static bool needs_fp(const struct dt_cfi_row *row)
{
	return row->cfa == DT_CFA_FP || row->cfa == DT_CFA_AT_FP || row->ra == DT_SAVED_FP;
}

static bool needs_sp(const struct dt_cfi_row *row)
{
	return (row->cfa != DT_CFA_FP && row->cfa != DT_CFA_AT_FP) || row->ra == DT_SAVED_SP;
}

static enum dt_unwind_end find_cfa(const struct dt_unwinder *unwinder, const struct dt_unwind_registers *registers,
				   const struct dt_cfi_row *row, uint64_t *cfa)
{
	uint64_t offset = (uint64_t)(int64_t)row->cfa_offset;

	switch ((enum dt_cfi_cfa)row->cfa) {
	case DT_CFA_SP:
		*cfa = registers->sp + offset;
		return DT_UNWIND_ON;
	case DT_CFA_FP:
		*cfa = registers->fp + offset;
		return DT_UNWIND_ON;
	case DT_CFA_PLT:
		*cfa = registers->sp + 8 + ((registers->ip & 15) >= offset ? 8 : 0);
		return DT_UNWIND_ON;
	case DT_CFA_AT_SP:
	case DT_CFA_AT_FP:
		offset += row->cfa == DT_CFA_AT_SP ? registers->sp : registers->fp;
		if (dt_mem_read_u64(unwinder->mem, offset, cfa) < 0)
			return DT_UNWIND_UNREADABLE;
		*cfa += row->marks & DT_CFI_PLUS_WORD ? 8 : 0;
		return DT_UNWIND_ON;
	default:
		return DT_UNWIND_NO_RULE;
	}
}

/* Where a register was saved; false: it was not. */
static bool saved_at(const struct dt_unwind_registers *registers, uint64_t cfa, uint8_t way, int16_t words,
		     uint64_t *address)
{
	uint64_t offset = (uint64_t)(int64_t)words * 8;

	switch ((enum dt_cfi_saved)way) {
	case DT_SAVED_CFA:
		*address = cfa + offset;
		return true;
	case DT_SAVED_SP:
		*address = registers->sp + offset;
		return true;
	case DT_SAVED_FP:
		*address = registers->fp + offset;
		return true;
	default:
		return false;
	}
}

static enum dt_unwind_end find_return(const struct dt_unwinder *unwinder, const struct dt_unwind_registers *registers,
				      const struct dt_cfi_row *row, uint64_t cfa, uint64_t *ip)
{
	uint64_t address;

	if (saved_at(registers, cfa, row->ra, row->ra_words, &address)) {
		if (dt_mem_read_u64(unwinder->mem, address, ip) < 0)
			return DT_UNWIND_UNREADABLE;
	} else if (row->ra == DT_SAVED_SAME && registers->has_lr) {
		*ip = registers->lr;
	} else {
		return DT_UNWIND_NO_RULE;
	}
	*ip = bare_address(unwinder, *ip);
	return DT_UNWIND_ON;
}

/* A frame pointer that cannot be had is no reason to stop: most functions do without. */
static void find_fp(const struct dt_unwinder *unwinder, const struct dt_unwind_registers *registers,
		    const struct dt_cfi_row *row, uint64_t cfa, struct dt_unwind_registers *next)
{
	uint64_t address;

	next->fp = registers->fp;
	next->has_fp = registers->has_fp && row->fp == DT_SAVED_SAME;
	if (row->fp == DT_SAVED_FP && !registers->has_fp)
		return;
	if (saved_at(registers, cfa, row->fp, row->fp_words, &address))
		next->has_fp = dt_mem_read_u64(unwinder->mem, address, &next->fp) == 0;
}

/* Where the caller was interrupted its stack may be another one. A function that has not used the stack yet leaves sp
 * as it is, and can do so only once: then lr is spent. */
static bool rises(struct dt_unwind_cursor *next, const struct dt_unwind_cursor *cursor, bool leaf)
{
	if (!next->called)
		return ++next->signals <= DT_UNWIND_SIGNALS;
	return next->registers.sp > cursor->registers.sp || (leaf && next->registers.sp == cursor->registers.sp);
}

/* Goes to the caller if it can be one. */
static enum dt_unwind_end enter(const struct dt_unwinder *unwinder, struct dt_unwind_cursor *cursor,
				struct dt_unwind_cursor *next, bool leaf)
{
	if (!next->registers.ip)
		return DT_UNWIND_WHOLE;
	if (!rises(next, cursor, leaf))
		return DT_UNWIND_NOT_RISING;
	next->module = cursor->module;
	if (!find_module(unwinder, next))
		return DT_UNWIND_NO_RULE;
	*cursor = *next;
	return DT_UNWIND_ON;
}

/* The kernel of aarch64 says by .eh_frame that this is a signal frame, but not where the registers are. */
static enum dt_unwind_end step_context(const struct dt_unwinder *unwinder, struct dt_unwind_cursor *cursor)
{
	enum { X29 = 29, X30, SP, PC, COUNT };
	struct dt_unwind_cursor next = {.signals = cursor->signals};
	uint64_t saved[COUNT];

	if (dt_mem_read(unwinder->mem, cursor->registers.sp + CONTEXT_REGISTERS, saved, sizeof(saved)) < 0)
		return DT_UNWIND_UNREADABLE;
	next.registers = (struct dt_unwind_registers){
	    .ip = saved[PC], .sp = saved[SP], .fp = saved[X29], .lr = saved[X30], .has_fp = true, .has_lr = true};
	return enter(unwinder, cursor, &next, false);
}

static enum dt_unwind_end step_row(const struct dt_unwinder *unwinder, struct dt_unwind_cursor *cursor,
				   const struct dt_cfi_row *row)
{
	const struct dt_unwind_registers *registers = &cursor->registers;
	struct dt_unwind_cursor next = {.signals = cursor->signals, .called = !(row->marks & DT_CFI_SIGNAL)};
	enum dt_unwind_end end;

	if (needs_fp(row) && !registers->has_fp)
		cursor->registers.has_fp = dt_unwind_frame_pointer(unwinder, cursor, &cursor->registers.fp);
	if (needs_fp(row) && !registers->has_fp)
		return DT_UNWIND_NO_RULE;
	end = find_cfa(unwinder, registers, row, &next.registers.sp);
	if (end == DT_UNWIND_ON)
		end = find_return(unwinder, registers, row, next.registers.sp, &next.registers.ip);
	if (end != DT_UNWIND_ON)
		return end;
	find_fp(unwinder, registers, row, next.registers.sp, &next.registers);
	return enter(unwinder, cursor, &next, row->ra == DT_SAVED_SAME);
}

/* Both machines have the caller's frame pointer and the return address side by side. What lies above them is the
 * caller's on x86-64 alone. */
static enum dt_unwind_end step_fp(const struct dt_unwinder *unwinder, struct dt_unwind_cursor *cursor)
{
	const struct dt_unwind_registers *registers = &cursor->registers;
	struct dt_unwind_cursor next = {.signals = cursor->signals, .called = true, .by_fp = true};
	uint64_t pair[2];

	if (!registers->has_fp)
		return DT_UNWIND_NO_RULE;
	if (!registers->fp && cursor->by_fp)
		return DT_UNWIND_WHOLE;
	if (registers->fp % 8 || registers->fp < registers->sp || registers->fp - registers->sp > DT_UNWIND_FP_REACH)
		return DT_UNWIND_NO_RULE;
	if (dt_mem_read(unwinder->mem, registers->fp, pair, sizeof(pair)) < 0)
		return DT_UNWIND_UNREADABLE;
	next.sp_low = unwinder->machine == EM_AARCH64;
	next.registers = (struct dt_unwind_registers){
	    .ip = bare_address(unwinder, pair[1]), .sp = registers->fp + sizeof(pair), .fp = pair[0], .has_fp = true};
	return enter(unwinder, cursor, &next, false);
}

enum dt_unwind_end dt_unwind_step(const struct dt_unwinder *unwinder, struct dt_unwind_cursor *cursor)
{
	const struct dt_cfi_row *row;

	if (!find_module(unwinder, cursor))
		return DT_UNWIND_NO_RULE;
	if (!cursor->module.table)
		return step_fp(unwinder, cursor);
	row = dt_cfi_find(cursor->module.table, dt_unwind_place(cursor) - cursor->module.bias);
	if (!row)
		return DT_UNWIND_NO_RULE;
	if (row->ra == DT_SAVED_UNDEFINED)
		return DT_UNWIND_WHOLE;
	if (unwinder->machine == EM_AARCH64 && (row->marks & DT_CFI_SIGNAL))
		return cursor->sp_low ? DT_UNWIND_NO_RULE : step_context(unwinder, cursor);
	if (cursor->sp_low && needs_sp(row))
		return row->cfa == DT_CFA_NONE ? DT_UNWIND_NO_RULE : step_fp(unwinder, cursor);
	return step_row(unwinder, cursor, row);
}

size_t dt_unwind(const struct dt_unwinder *unwinder, const struct dt_unwind_registers *registers,
		 struct dt_unwind_frame *frames, size_t max, enum dt_unwind_end *end)
{
	struct dt_unwind_cursor cursor = dt_unwind_begin(registers);
	size_t count = 0;

	*end = DT_UNWIND_ON;
	while (*end == DT_UNWIND_ON && count < max) {
		frames[count++] = (struct dt_unwind_frame){dt_unwind_place(&cursor), cursor.registers.sp};
		*end = dt_unwind_step(unwinder, &cursor);
	}
	if (*end == DT_UNWIND_ON)
		*end = DT_UNWIND_LIMIT;
	return count;
}
