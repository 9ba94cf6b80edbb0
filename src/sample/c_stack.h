/*
 * C stacks, copied while a look stands: the registers of each thread and the memory from its stack pointer on, to be
 * walked later (native/unwind.h).
 *
 * Who is blocked in a system call is not touched: the kernel tells where it is, and its stack stands still. Who runs is
 * stopped for as long as the copy takes (pause.h), one after the other, if that may be. Who is held for the look stands
 * already.
 */
#ifndef DT_SAMPLE_C_STACK_H
#define DT_SAMPLE_C_STACK_H

#include "native/unwind.h"
#include "sample/hold.h"

#define DT_C_STACK_BYTES   ((size_t)256 << 10) /* of one thread: what lies further out is not seen */
#define DT_C_STACKS_BYTES  ((size_t)64 << 20)  /* of all */
#define DT_C_STACK_THREADS 65536

struct dt_c_stack {
	int tid;
	bool seen;   /* else it ran, and was not to be stopped, or did not keep still */
	bool python; /* a thread of Python has it; for who puts both together */
	struct dt_thread_call call;
	struct dt_unwind_registers registers;
	uint64_t address; /* of the copy */
	const void *bytes;
	size_t size;
};

struct dt_c_stacks {
	struct dt_c_stack *list; /* by tid */
	size_t count;
	bool cut; /* there were more threads, or more bytes, than the limits allow */
};

/* Those of all threads of the process, in the arena. may_stop: who runs and is not held. 0, -ENOMEM, or what says that
 * the process is gone. */
int dt_c_stacks_take(const struct dt_proc *proc, struct dt_mem *live, const struct dt_holds *holds, bool may_stop,
		     struct dt_arena *arena, struct dt_c_stacks *stacks);

/* NULL: there is no such thread. */
struct dt_c_stack *dt_c_stacks_of(const struct dt_c_stacks *stacks, int tid);

#endif
