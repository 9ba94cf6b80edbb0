/*
 * From a thread state down its frames.
 *
 *   up to 3.10   thread.frame -> frame object -> f_back -> ... -> NULL
 *   3.11, 3.12   thread.cframe -> C frame {current_frame, previous} -> frame -> previous -> ... -> NULL
 *   3.13 on      thread.frame -> frame -> previous -> ... -> NULL (3.15: -> base frame)
 *
 * Every call from C into the evaluation loop leaves a mark: is_entry in 3.11, a frame of its own (a shim, owner >=
 * owner_shim_min) from 3.12 on. Frames whose function has not come to its first traceable instruction are not shown, as
 * Python's own tracebacks do not show them.
 */
#include "python/walk_frames.h"

#include <errno.h>

#include "base/util.h"
#include "python/lines.h"

#define FRAME_BYTES 256             /* all fields that are asked for lie within */
#define LARGE_TABLE ((size_t)65536) /* bytes of a line table that cost time to go through */

/* One frame as it lies in memory. */
struct raw_frame {
	uint64_t previous, code, ip;
	int32_t lasti;
	uint32_t tlbc_index;
	uint8_t owner;
	bool is_entry;
};

struct chain {
	struct dt_mem *mem;
	const struct dt_layout *layout;
	struct dt_code_cache *codes;
	struct dt_arena *arena;
	struct dt_walk_frame *frames;
	struct dt_budget *budget;
	size_t count, capacity;
	uint32_t frame_size; /* bytes of a frame that are asked for */
};

static uint32_t frame_size(const struct dt_layout *layout)
{
	uint32_t size = layout->frame.previous + 8;

	size = DT_MAX(size, layout->frame.code + 8);
	size = DT_MAX(size, layout->frame.ip + 8);
	if (layout->frame.owner != DT_ABSENT)
		size = DT_MAX(size, layout->frame.owner + 1);
	if (layout->frame.is_entry != DT_ABSENT)
		size = DT_MAX(size, layout->frame.is_entry + 1);
	if (layout->frame.tlbc_index != DT_ABSENT)
		size = DT_MAX(size, layout->frame.tlbc_index + 4);
	return size;
}

static int read_frame(const struct chain *chain, uint64_t address, struct raw_frame *raw)
{
	const struct dt_layout *layout = chain->layout;
	const uint8_t *bytes = dt_image_peek(chain->mem, address, chain->frame_size);
	uint8_t copy[FRAME_BYTES];
	int rc;

	if (!bytes) {
		if (chain->frame_size > sizeof(copy))
			return -EINVAL;
		rc = dt_mem_read(chain->mem, address, copy, chain->frame_size);
		if (rc < 0)
			return rc;
		bytes = copy;
	}
	raw->previous = dt_get64(bytes + layout->frame.previous);
	raw->code = dt_get64(bytes + layout->frame.code) & ~layout->frame.code_tag_mask;
	raw->ip = dt_get64(bytes + layout->frame.ip);
	raw->lasti = (int32_t)dt_get32(bytes + layout->frame.ip);
	raw->owner = layout->frame.owner != DT_ABSENT ? bytes[layout->frame.owner] : 0;
	raw->is_entry = layout->frame.is_entry != DT_ABSENT && bytes[layout->frame.is_entry];
	raw->tlbc_index = layout->frame.tlbc_index != DT_ABSENT ? dt_get32(bytes + layout->frame.tlbc_index) : 0;
	return 0;
}

static bool is_shim(const struct dt_layout *layout, const struct raw_frame *raw)
{
	return layout->frame.owner != DT_ABSENT && raw->owner >= layout->frame.owner_shim_min;
}

/*
 * Where the bytecode begins that a frame runs. Free-threaded builds give each thread a copy of its own, and the code
 * object has a list of them: {how many, pointers}, the first to the bytecode inside of the object. A thread that goes
 * on with a generator of another one changes index and instruction one after the other, and may be held between: an
 * instruction that lies outside of the copy is refused, and copies do not overlap.
 */
static int bytecode_of(struct dt_mem *mem, const struct dt_layout *layout, const struct raw_frame *raw,
		       const struct dt_code *code, uint64_t *start)
{
	uint64_t copies, count, units = 0;
	int rc = 0;

	*start = code->bytecode;
	if (layout->code.tlbc == DT_ABSENT)
		return 0;
	if (raw->tlbc_index != 0) {
		rc = dt_mem_read_u64(mem, code->address + layout->code.tlbc, &copies);
		if (rc == 0)
			rc = dt_mem_read_u64(mem, copies, &count);
		if (rc == 0 && (count > INT32_MAX || raw->tlbc_index >= count))
			rc = -EINVAL;
		if (rc == 0)
			rc = dt_mem_read_u64(mem, copies + 8 + (uint64_t)raw->tlbc_index * 8, start);
	}
	if (rc == 0)
		rc = dt_mem_read_u64(mem, code->address + layout->code.units, &units);
	if (rc == 0 && (units > INT32_MAX / 2 || raw->ip - *start >= units * 2))
		rc = -EINVAL;
	return rc;
}

/* Byte offset of the current instruction; INT64_MIN if it lies outside of any sane function. */
static int64_t instruction_offset(const struct dt_layout *layout, const struct raw_frame *raw, uint64_t bytecode)
{
	int64_t offset;

	switch (layout->ip_kind) {
	case DT_IP_LASTI_BYTES:
		return raw->lasti;
	case DT_IP_LASTI_UNITS:
		return raw->lasti < 0 ? -1 : (int64_t)raw->lasti * 2;
	case DT_IP_PREV_INSTR:
	case DT_IP_INSTR_PTR:
		break;
	}
	offset = (int64_t)(raw->ip - bytecode);
	if (offset < 0)
		return offset >= -2 ? -1 : INT64_MIN;
	return offset <= INT32_MAX ? offset : INT64_MIN;
}

/* Room for one more frame: it counts when count is raised. NULL: no memory. */
static struct dt_walk_frame *new_frame(struct chain *chain)
{
	if (chain->count == chain->capacity) {
		size_t capacity = chain->capacity ? chain->capacity * 2 : 32;
		struct dt_walk_frame *frames = dt_arena_alloc(chain->arena, capacity * sizeof(*frames));

		if (!frames)
			return NULL;
		if (chain->count)
			memcpy(frames, chain->frames, chain->count * sizeof(*frames));
		chain->frames = frames;
		chain->capacity = capacity;
	}
	return &chain->frames[chain->count];
}

static uint32_t line_at(const struct dt_layout *layout, const struct dt_code *code, int64_t offset)
{
	struct dt_line_memo *memo = &code->memo[(uint64_t)(offset >> 1) % DT_LINE_MEMO];

	if (memo->key != offset + 2) {
		memo->line = dt_lines_at(layout->line_kind, code->table, code->table_size, code->first_line, offset);
		memo->key = offset + 2;
	}
	return memo->line;
}

/* Adds one Python frame, unless Python itself would hide it. -EINVAL if it is no frame, -ETIMEDOUT. */
static int show(struct chain *chain, uint64_t address, const struct raw_frame *raw)
{
	const struct dt_layout *layout = chain->layout;
	struct dt_walk_frame *frame = new_frame(chain);
	const struct dt_code *code;
	uint64_t bytecode;
	int64_t offset;
	int rc;

	if (!frame)
		return -ENOMEM;
	rc = dt_code_get(chain->codes, chain->mem, raw->code, &code);
	if (rc < 0)
		return rc;
	rc = bytecode_of(chain->mem, layout, raw, code, &bytecode);
	if (rc < 0)
		return rc;
	offset = instruction_offset(layout, raw, bytecode);
	if (offset == INT64_MIN)
		return -EINVAL;
	if (layout->code.firsttraceable != DT_ABSENT && raw->owner != layout->frame.owner_generator &&
	    offset < (int64_t)code->first_traceable)
		return 0;
	if (code->table_size > LARGE_TABLE && !dt_budget_in_time(chain->budget))
		return -ETIMEDOUT;
	frame->code = code;
	frame->address = address;
	frame->ip = layout->frame.owner == DT_ABSENT ? (uint64_t)(int64_t)raw->lasti : raw->ip;
	frame->line = line_at(layout, code, offset);
	frame->entry = raw->is_entry;
	frame->place = 0;
	chain->count++;
	return 0;
}

/*
 * 3.11 and 3.12 make a new C frame current before they fill it in: compilers write both of its pointers at once, later,
 * and until then they are whatever lay on the C stack. A filled one can be told: there is one before it, unless it is
 * the thread state's own, and its outermost frame was pushed on top of what the one before has as its current one.
 * (Greenlets break this rule for good, so the sampler believes a thread that stays between.)
 */
struct entry_check {
	bool wanted;       /* there is a rule to check */
	bool unfilled;     /* there is none because the C frame before is not told yet */
	uint64_t expected; /* what the entry's previous must be */
};

/* The current frame of a C frame of this thread state. */
static int current_frame(struct dt_mem *mem, const struct dt_layout *layout, uint64_t thread, uint64_t cframe,
			 uint64_t *top, struct entry_check *check)
{
	uint64_t previous = 0;
	int rc = dt_mem_read_u64(mem, cframe + layout->cframe.current_frame, top);

	if (rc == 0)
		rc = dt_mem_read_u64(mem, cframe + layout->cframe.previous, &previous);
	if (rc < 0)
		return rc;
	if (previous && dt_mem_read_u64(mem, previous + layout->cframe.current_frame, &check->expected) == 0)
		check->wanted = true;
	else
		check->unfilled = previous || cframe - thread >= layout->thread.size;
	return 0;
}

static int innermost(struct dt_mem *mem, const struct dt_layout *layout, uint64_t thread, uint64_t *top,
		     uint64_t *c_stack, struct entry_check *check)
{
	uint64_t cframe = 0;
	int rc;

	if (layout->thread.cframe == DT_ABSENT)
		return dt_mem_read_u64(mem, thread + layout->thread.frame, top);
	rc = dt_mem_read_u64(mem, thread + layout->thread.cframe, &cframe);
	if (rc < 0)
		return rc;
	if (!cframe) { /* a thread state that was never run, or is being cleared */
		*top = 0;
		return 0;
	}
	rc = current_frame(mem, layout, thread, cframe, top, check);
	*c_stack = rc == 0 && *top ? cframe : 0;
	return rc;
}

static bool ends_at_base(struct dt_mem *mem, const struct dt_layout *layout, uint64_t thread, uint64_t last)
{
	uint64_t base;

	if (layout->thread.base_frame == DT_ABSENT)
		return true;
	/* A thread state without a base frame has not been set up, and has no other frames either. */
	return dt_mem_read_u64(mem, thread + layout->thread.base_frame, &base) == 0 && (!base || base == last || !last);
}

/* From thread->top on. */
static int follow(struct dt_mem *mem, const struct dt_layout *layout, struct dt_code_cache *codes,
		  struct dt_arena *arena, struct dt_budget *budget, struct entry_check check,
		  struct dt_walk_thread *thread)
{
	struct chain chain = {.mem = mem,
			      .layout = layout,
			      .codes = codes,
			      .arena = arena,
			      .budget = budget,
			      .frame_size = frame_size(layout)};
	struct raw_frame raw;
	uint64_t last = 0;
	uint64_t passed = 0; /* at the last power of two: whoever meets it again goes round */
	size_t steps = 0;
	bool mark = false; /* the last frame was the mark of an entry from C */
	int rc;

	thread->end = DT_WALK_WHOLE;
	for (uint64_t address = thread->top; address; address = raw.previous) {
		if ((steps & (steps - 1)) == 0)
			passed = last;
		if (address == passed || !dt_budget_step(budget) || (address & 7) ||
		    read_frame(&chain, address, &raw) < 0) {
			thread->end = DT_WALK_BROKEN;
			break;
		}
		steps++;
		last = address;
		mark = raw.is_entry;
		if (is_shim(layout, &raw)) {
			mark = true;
			if (!thread->c_stack && chain.count)
				thread->c_stack = address;
			if (chain.count && !chain.frames[chain.count - 1].entry) {
				chain.frames[chain.count - 1].entry = true;
				chain.frames[chain.count - 1].place = address;
			}
		} else {
			rc = show(&chain, address, &raw);
			if (rc == -ENOMEM)
				return rc;
			if (rc < 0) {
				thread->end = DT_WALK_BROKEN;
				break;
			}
		}
		if (mark && check.wanted) {
			if (raw.previous != check.expected)
				thread->end = DT_WALK_BETWEEN;
			check.wanted = false;
		}
	}
	/* No entry was found at all, though there is an outer one? */
	if (thread->end == DT_WALK_WHOLE && (check.unfilled || (check.wanted && check.expected != thread->top)))
		thread->end = DT_WALK_BETWEEN;
	/* A generator that just yields has lost its caller for a moment. Every whole chain begins with a call from C.
	 */
	if (last && !mark && layout->frame.owner != DT_ABSENT)
		thread->end = DT_WALK_BROKEN;
	/* Before 3.11 nothing marks a call from C. A generator that nobody called may be one that C resumed, or one
	 * that has just lost its caller. */
	if (layout->frame.owner == DT_ABSENT && thread->end == DT_WALK_WHOLE && chain.count &&
	    chain.frames[chain.count - 1].code->resumable)
		thread->end = DT_WALK_BETWEEN;
	if (thread->end == DT_WALK_WHOLE && !ends_at_base(mem, layout, thread->address, last))
		thread->end = DT_WALK_BROKEN;
	thread->frames = chain.frames;
	thread->frame_count = chain.count;
	return 0;
}

int dt_walk_frames(struct dt_mem *mem, const struct dt_layout *layout, struct dt_code_cache *codes,
		   struct dt_arena *arena, struct dt_budget *budget, struct dt_walk_thread *thread)
{
	struct entry_check check = {0};
	int rc;

	thread->c_stack = 0;
	rc = innermost(mem, layout, thread->address, &thread->top, &thread->c_stack, &check);
	return rc < 0 ? rc : follow(mem, layout, codes, arena, budget, check, thread);
}

int dt_walk_before(struct dt_mem *mem, const struct dt_python *python, struct dt_code_cache *codes,
		   struct dt_arena *arena, struct dt_budget *budget, struct dt_walk_thread *thread, uint64_t *cframe)
{
	const struct dt_layout *layout = &python->layout;
	struct entry_check check = {0};
	uint64_t previous;
	int rc;

	if (layout->thread.cframe == DT_ABSENT)
		return -ENOENT;
	rc = dt_mem_read_u64(mem, thread->address + layout->thread.cframe, cframe);
	if (rc == 0)
		rc = dt_mem_read_u64(mem, *cframe + layout->cframe.previous, &previous);
	if (rc == 0)
		rc = current_frame(mem, layout, thread->address, previous, &thread->top, &check);
	return rc < 0 ? rc : follow(mem, layout, codes, arena, budget, check, thread);
}
