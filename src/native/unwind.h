/*
 * Walking a C stack from outside: by the tables of its modules, and by frame pointers in a module that has none. It
 * needs the registers below, the memory of the stack (a copy of its top will do) and somebody who knows the modules.
 *
 * The stack is hostile, or was caught in the middle of a change: each frame must lie above the one before, a return
 * address must lie in a module, and the caller's array bounds the rest. A signal frame may lead to another stack; a few
 * of them are followed. Nothing is allocated. What cannot be told ends the walk, with a reason: no frame is guessed.
 */
#ifndef DT_NATIVE_UNWIND_H
#define DT_NATIVE_UNWIND_H

#include <stdbool.h>

#include "mem/mem.h"
#include "native/cfi.h"

#define DT_UNWIND_SIGNALS  8                   /* signal frames in one stack */
#define DT_UNWIND_FP_REACH ((uint64_t)8 << 20) /* bytes from sp to where a frame pointer may lead */

/* Of a thread in a system call only ip and sp are known. */
struct dt_unwind_registers {
	uint64_t ip, sp, fp, lr; /* rbp or x29; x30 */
	bool has_fp, has_lr;
};

struct dt_unwind_module {
	uint64_t start, end;        /* of its code, as mapped */
	uint64_t bias;              /* mapped address - link-time address */
	const struct dt_cfi *table; /* NULL: frame pointers are all there is */
};

/* Which module an address lies in; false: none. */
typedef bool dt_unwind_find_fn(void *context, uint64_t address, struct dt_unwind_module *module);

struct dt_unwinder {
	uint16_t machine; /* EM_X86_64 or EM_AARCH64 */
	struct dt_mem *mem;
	struct dt_mem *code; /* to read instructions from; NULL: not to be had. See unwind_frame.h */
	dt_unwind_find_fn *find;
	void *context;
};

enum dt_unwind_end {
	DT_UNWIND_ON, /* of a step: there is a caller */
	DT_UNWIND_WHOLE,
	DT_UNWIND_NO_RULE, /* neither a table nor a frame pointer tells, or it needs a register that is not known */
	DT_UNWIND_UNREADABLE,
	DT_UNWIND_LIMIT,
	DT_UNWIND_NOT_RISING,
};

struct dt_unwind_frame {
	uint64_t ip; /* lies in the function that runs or called: a return address less one */
	uint64_t sp; /* when the function is at that place; where a frame pointer led here on aarch64: at least */
};

/* Where a walk is. */
struct dt_unwind_cursor {
	struct dt_unwind_registers registers;
	bool called; /* ip is a return address */
	bool by_fp;  /* a frame pointer led here */
	bool sp_low; /* sp is the least that it can be */
	unsigned signals;
	struct dt_unwind_module module; /* the last one that was asked for */
};

struct dt_unwind_cursor dt_unwind_begin(const struct dt_unwind_registers *registers);
/* The caller's frame. On anything but DT_UNWIND_ON the cursor stays where it is. */
enum dt_unwind_end dt_unwind_step(const struct dt_unwinder *unwinder, struct dt_unwind_cursor *cursor);
/* The address that tells which function it is. */
uint64_t dt_unwind_place(const struct dt_unwind_cursor *cursor);

/* The whole stack, innermost frame first. Returns the number of frames, at least one if max is. */
size_t dt_unwind(const struct dt_unwinder *unwinder, const struct dt_unwind_registers *registers,
		 struct dt_unwind_frame *frames, size_t max, enum dt_unwind_end *end);

#endif
