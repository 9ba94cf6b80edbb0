/* Copies of C stacks: see c_stack.h. */
#include "sample/c_stack.h"

#include <errno.h>
#include <stdlib.h>

#include "base/util.h"

#define TRIES 3           /* at a thread that is woken or goes to sleep just then */
#define PIECE (16u << 10) /* bytes that are asked for at once */
#define PAGE  4096u

struct work {
	const struct dt_proc *proc;
	struct dt_mem *live;
	const struct dt_holds *holds;
	struct dt_arena *arena;
	uint8_t *room; /* DT_C_STACK_BYTES */
	size_t left;   /* bytes that may still be copied */
	bool may_stop;
	bool cut;
};

/* As much as is there: the stack ends where memory does, or another one begins behind it. */
static size_t read_up(const struct work *w, uint64_t address)
{
	size_t size = 0;

	while (size < DT_C_STACK_BYTES) {
		uint64_t from = address + size, to = (from | (PIECE - 1)) + 1;
		size_t piece = DT_MIN((size_t)(to - from), DT_C_STACK_BYTES - size);

		if (dt_mem_read(w->live, from, w->room + size, piece) == 0) {
			size += piece;
			continue;
		}
		for (to = (from | (PAGE - 1)) + 1; size < DT_C_STACK_BYTES; to += PAGE) {
			piece = DT_MIN((size_t)(to - address - size), DT_C_STACK_BYTES - size);
			if (dt_mem_read(w->live, address + size, w->room + size, piece) < 0)
				return size;
			size += piece;
		}
	}
	return size;
}

static int keep(struct work *w, size_t size, struct dt_c_stack *stack)
{
	void *bytes;

	if (size > w->left) {
		w->cut = true;
		size = w->left;
	}
	bytes = dt_arena_alloc(w->arena, size + 1);
	if (!bytes)
		return -ENOMEM;
	if (size)
		memcpy(bytes, w->room, size);
	w->left -= size;
	stack->bytes = bytes;
	stack->size = size;
	stack->seen = true;
	return 0;
}

static int copy(struct work *w, struct dt_c_stack *stack)
{
	stack->address = stack->registers.sp & ~UINT64_C(7);
	return keep(w, read_up(w, stack->address), stack);
}

static void use_registers(struct dt_c_stack *stack, const struct dt_registers *registers)
{
	stack->registers = (struct dt_unwind_registers){.ip = registers->pc,
							.sp = registers->sp,
							.fp = registers->fp,
							.lr = registers->lr,
							.has_fp = true,
							.has_lr = registers->has_lr};
}

/* Blocked: it has stood if it was not put on a CPU meanwhile. -EAGAIN: it was. */
static int copy_blocked(struct work *w, struct dt_c_stack *stack, uint64_t slices)
{
	size_t size;
	uint64_t now;

	stack->registers = (struct dt_unwind_registers){.ip = stack->call.pc, .sp = stack->call.sp};
	stack->address = stack->call.sp & ~UINT64_C(7);
	size = read_up(w, stack->address);
	if (dt_thread_slices(w->proc, stack->tid, &now) < 0 || now != slices)
		return -EAGAIN;
	return keep(w, size, stack);
}

/* Runs, and is not held: it stands for the copy alone. */
static int copy_stopped(struct work *w, struct dt_c_stack *stack)
{
	struct dt_pause_hold hold;
	int rc = dt_pause_begin(w->proc, stack->tid, NULL, NULL, &hold);

	if (rc < 0)
		return rc == -EBUSY ? -EAGAIN : 0;
	rc = 0;
	if (hold.has_registers) {
		use_registers(stack, &hold.registers);
		rc = copy(w, stack);
		stack->seen = stack->seen && dt_pause_held(&hold);
	}
	dt_pause_end(&hold);
	return rc;
}

/* -EAGAIN: it began or ceased to run just then. */
static int try_one(struct work *w, struct dt_c_stack *stack)
{
	const struct dt_registers *held = dt_holds_registers(w->holds, stack->tid);
	uint64_t slices;

	if (held) {
		stack->call.running = true;
		use_registers(stack, held);
		return copy(w, stack);
	}
	if (dt_thread_slices(w->proc, stack->tid, &slices) < 0 || dt_thread_call(w->proc, stack->tid, &stack->call) < 0)
		return 0;
	if (!stack->call.running)
		return stack->call.sp ? copy_blocked(w, stack, slices) : 0;
	return w->may_stop ? copy_stopped(w, stack) : 0;
}

static int take_one(struct work *w, struct dt_c_stack *stack)
{
	int rc = -EAGAIN;

	for (int i = 0; i < TRIES && rc == -EAGAIN; i++)
		rc = try_one(w, stack);
	return rc == -EAGAIN ? 0 : rc;
}

static int take_all(struct work *w, const int *tids, struct dt_c_stacks *stacks)
{
	int rc = 0;

	for (size_t i = 0; i < stacks->count && rc == 0; i++) {
		stacks->list[i].tid = tids[i];
		rc = take_one(w, &stacks->list[i]);
	}
	return rc;
}

int dt_c_stacks_take(const struct dt_proc *proc, struct dt_mem *live, const struct dt_holds *holds, bool may_stop,
		     struct dt_arena *arena, struct dt_c_stacks *stacks)
{
	dt_auto_free uint8_t *room = malloc(DT_C_STACK_BYTES);
	struct work w = {.proc = proc,
			 .live = live,
			 .holds = holds,
			 .arena = arena,
			 .room = room,
			 .left = DT_C_STACKS_BYTES,
			 .may_stop = may_stop};
	dt_auto_free int *tids = NULL;
	size_t count;
	int rc;

	*stacks = (struct dt_c_stacks){0};
	if (!room)
		return -ENOMEM;
	rc = dt_proc_threads(proc, &tids, &count);
	if (rc < 0)
		return rc;
	stacks->cut = count > DT_C_STACK_THREADS;
	count = DT_MIN(count, (size_t)DT_C_STACK_THREADS);
	stacks->list = dt_arena_calloc(arena, count + 1, sizeof(*stacks->list));
	if (!stacks->list)
		return -ENOMEM;
	stacks->count = count;
	rc = take_all(&w, tids, stacks);
	stacks->cut = stacks->cut || w.cut;
	return rc;
}

struct dt_c_stack *dt_c_stacks_of(const struct dt_c_stacks *stacks, int tid)
{
	size_t low = 0, high = stacks->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (stacks->list[middle].tid < tid)
			low = middle + 1;
		else
			high = middle;
	}
	return low < stacks->count && stacks->list[low].tid == tid ? &stacks->list[low] : NULL;
}
