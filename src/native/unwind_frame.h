/*
 * The frame pointer of a function where it is not known: of a thread in a system call the kernel tells sp and ip alone,
 * and a function whose table counts from the frame pointer is a dead end then, unless one that was called since has
 * saved it.
 *
 * x86-64: how far sp lies below rbp is read from how the function begins: it pushes registers and makes room, always as
 * much. What comes out is only believed if a return address lies where it says, behind an instruction that calls. A
 * function that makes room of another size later (alloca) is not found.
 */
#ifndef DT_NATIVE_UNWIND_FRAME_H
#define DT_NATIVE_UNWIND_FRAME_H

#include "native/unwind.h"

/* cursor: at the function, with its module; its fp is not known. Fills in fp. False: it is not to be had. */
bool dt_unwind_frame_pointer(const struct dt_unwinder *unwinder, const struct dt_unwind_cursor *cursor, uint64_t *fp);

#endif
