/* C frames: see native_stack.h. */
#include "sample/native_stack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/util.h"
#include "native/demangle.h"
#include "native/merge.h"
#include "native/modules.h"
#include "sample/native_internals.h"
#include "sample/state.h"

#define FRAMES     4096 /* of C in one stack */
#define NAME_SIZE  1024
#define REFRESH_NS UINT64_C(1000000000) /* after which the map is read again in any case */
#define FOREIGN    (UINT64_C(1) << 62)  /* where there is no thread state */

struct native {
	struct dt_place place;
	bool known; /* the place */
	bool internal;
};

struct dt_natives {
	const struct dt_proc *proc;
	struct dt_tables *tables;
	struct dt_symbols_cache *symbols;
	struct dt_modules *modules;
	struct dt_mem *live;
	struct dt_code_cache *codes;
	const char *library; /* that holds the interpreter */
	enum dt_native which;
	uint64_t refreshed_ns;
	struct dt_arena fixed;
	/* Of the stack that is being walked. */
	struct dt_unwind_frame frames[FRAMES];
	struct dt_merge_native merge[FRAMES];
	struct native natives[FRAMES];
};

struct dt_natives *dt_natives_new(const struct dt_proc *proc, struct dt_mem *live, const struct dt_python *python,
				  struct dt_code_cache *codes, enum dt_native which)
{
	struct dt_natives *natives = calloc(1, sizeof(*natives));

	if (!natives)
		return NULL;
	dt_arena_init(&natives->fixed, 0);
	natives->proc = proc;
	natives->live = live;
	natives->codes = codes;
	natives->which = which;
	natives->library = python->library[0] ? python->library : dt_proc_executable(proc, &natives->fixed);
	natives->tables = dt_tables_new(true);
	natives->symbols = dt_symbols_cache_new(0);
	if (natives->tables && natives->symbols)
		natives->modules = dt_modules_new(proc, live, natives->tables, natives->symbols);
	if (natives->modules && natives->library)
		return natives;
	dt_natives_free(natives);
	return NULL;
}

void dt_natives_free(struct dt_natives *natives)
{
	if (!natives)
		return;
	dt_modules_free(natives->modules);
	dt_symbols_cache_free(natives->symbols);
	dt_tables_free(natives->tables);
	dt_arena_release(&natives->fixed);
	free(natives);
}

/* Walks the copy. -ENOMEM. */
static int walk_copy(struct dt_natives *natives, const struct dt_c_stack *stack, size_t *count, enum dt_unwind_end *end)
{
	const struct dt_recorded_range range = {stack->address, stack->bytes, stack->size};
	struct dt_unwinder unwinder = {.machine = dt_machine_here()->elf,
				       .code = natives->live,
				       .find = dt_modules_find,
				       .context = natives->modules};

	if (dt_mem_open_recorded(&range, 1, &unwinder.mem) < 0)
		return -ENOMEM;
	*count = dt_unwind(&unwinder, &stack->registers, natives->frames, FRAMES, end);
	dt_mem_free(unwinder.mem);
	return 0;
}

static void name_frames(struct dt_natives *natives, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct native *native = &natives->natives[i];
		const char *symbol;
		bool interpreter;

		native->known = dt_modules_place(natives->modules, natives->frames[i].ip, &native->place);
		symbol = native->known ? native->place.symbol : NULL;
		interpreter = native->known && !strcmp(native->place.path, natives->library);
		native->internal = dt_is_internal(symbol, interpreter);
		natives->merge[i] = (struct dt_merge_native){.sp = natives->frames[i].sp,
							     .loop = interpreter && dt_is_loop(symbol),
							     .maybe = interpreter && !symbol};
	}
}

/* Rows end at entries. Up to 3.10 each frame is a row of its own. */
static struct dt_merge_row *make_rows(const struct dt_walk_thread *walk, struct dt_arena *arena, size_t *count)
{
	struct dt_merge_row *rows = dt_arena_calloc(arena, walk->frame_count + 1, sizeof(*rows));
	bool marked = false;

	*count = 0;
	for (size_t i = 0; i < walk->frame_count; i++)
		marked = marked || walk->frames[i].entry;
	for (size_t i = 0; rows && i < walk->frame_count; i++) {
		const struct dt_walk_frame *frame = &walk->frames[i];

		rows[*count].count++;
		if (!marked || frame->entry || i + 1 == walk->frame_count)
			rows[(*count)++].place = frame->place;
	}
	return rows;
}

/* The function that a frame is of, as codes are known. One without a symbol is one with all others of its file. */
static int code_of(const struct dt_natives *natives, const struct native *native, const struct dt_code **code)
{
	const struct dt_place *place = &native->place;
	uint64_t what[2] = {place->serial, place->symbol ? place->offset - place->into : UINT64_MAX};
	uint64_t number = native->known ? dt_hash64(what, sizeof(what), 0) : 0;
	char name[NAME_SIZE] = "";

	*code = dt_code_native(natives->codes, number);
	if (*code)
		return 0;
	if (native->known && place->symbol)
		dt_demangle(place->symbol, name, sizeof(name));
	return dt_code_native_add(natives->codes, number, name, native->known ? place->path : "", code);
}

struct choice {
	enum dt_native which;
	bool foreign;
	bool python; /* a Python frame came already */
};

static bool is_shown(const struct choice *choice, const struct native *native)
{
	if (choice->which == DT_NATIVE_ALL)
		return true;
	if (choice->which == DT_NATIVE_LEAF && choice->python)
		return false;
	return choice->foreign || !native->internal;
}

static int build(const struct dt_natives *natives, const struct dt_merged *merged, size_t count, struct choice *choice,
		 struct dt_arena *arena, struct dt_walk_thread *walk)
{
	struct dt_walk_frame *frames = dt_arena_calloc(arena, count + 1, sizeof(*frames));
	size_t shown = 0;

	if (!frames)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct native *native = &natives->natives[merged[i].index];

		if (!merged[i].native) {
			choice->python = true;
			frames[shown++] = walk->frames[merged[i].index];
			continue;
		}
		if (!is_shown(choice, native))
			continue;
		frames[shown].ip = native->known ? native->place.offset : natives->frames[merged[i].index].ip;
		if (code_of(natives, native, &frames[shown++].code) < 0)
			return -ENOMEM;
	}
	walk->frames = frames;
	walk->frame_count = shown;
	return 0;
}

static const char *why_missing(enum dt_unwind_end end, enum dt_merge_end merged)
{
	if (merged == DT_MERGED_LEAF)
		return "C frames and Python frames do not fit: only what the innermost one called is shown";
	switch (end) {
	case DT_UNWIND_WHOLE:
	case DT_UNWIND_ON:
		return NULL;
	case DT_UNWIND_NO_RULE:
		return "C frames further out are not known: nothing tells who called the outermost that is shown";
	case DT_UNWIND_UNREADABLE:
		return "C frames further out are not known: they lie beyond what was copied";
	case DT_UNWIND_LIMIT:
		return "C frames further out are left out: there are too many";
	case DT_UNWIND_NOT_RISING:
		return "C frames further out are not known: the stack does not go on";
	}
	return NULL;
}

static int add_one(struct dt_natives *natives, const struct dt_c_stack *stack, bool foreign, struct dt_arena *arena,
		   struct dt_walk_thread *walk, const char **missing)
{
	struct dt_merge merge = {.natives = natives->merge};
	struct choice choice = {.which = natives->which, .foreign = foreign};
	struct dt_merged *merged;
	enum dt_unwind_end end;
	enum dt_merge_end how;
	size_t count, rows;

	if (!stack || !stack->seen) {
		*missing = "C frames were not seen: it ran, and was not to be stopped";
		return 0;
	}
	if (walk_copy(natives, stack, &merge.native_count, &end) < 0)
		return -ENOMEM;
	name_frames(natives, merge.native_count);
	merge.whole = end == DT_UNWIND_WHOLE;
	merge.rows = make_rows(walk, arena, &rows);
	merge.row_count = rows;
	merged = dt_arena_calloc(arena, merge.native_count + walk->frame_count + 1, sizeof(*merged));
	if (!merge.rows || !merged)
		return -ENOMEM;
	how = dt_merge(&merge, natives->which == DT_NATIVE_ALL, merged, &count);
	*missing = why_missing(end, how);
	return build(natives, merged, count, &choice, arena, walk);
}

/* Room for threads that Python does not know, behind the others. */
static int make_room(struct dt_look *look, struct dt_arena *arena)
{
	size_t most = look->thread_count + look->c_stacks.count + 1;
	struct dt_walk_thread *walks = dt_arena_calloc(arena, most, sizeof(*walks));
	struct dt_look_thread *threads = dt_arena_calloc(arena, most, sizeof(*threads));

	if (!walks || !threads)
		return -ENOMEM;
	for (size_t i = 0; i < look->thread_count; i++) {
		walks[i] = look->walk.threads[i];
		threads[i] = look->threads[i];
		threads[i].walk = &walks[i];
	}
	look->walk.threads = walks;
	look->threads = threads;
	return 0;
}

static int add_foreign(struct dt_natives *natives, struct dt_look *look, struct dt_arena *arena)
{
	for (size_t i = 0; i < look->c_stacks.count; i++) {
		const struct dt_c_stack *stack = &look->c_stacks.list[i];
		struct dt_walk_thread *walk = &look->walk.threads[look->thread_count];
		struct dt_look_thread *thread = &look->threads[look->thread_count];

		if (stack->python)
			continue;
		*walk = (struct dt_walk_thread){.address = FOREIGN | (uint64_t)stack->tid,
						.native = (uint64_t)stack->tid};
		*thread = (struct dt_look_thread){.walk = walk, .tid = stack->tid, .foreign = true};
		thread->state = dt_state_of(natives->proc, stack->tid, 0, 0, &thread->syscall);
		thread->proof = stack->seen ? stack->call.running ? DT_PROOF_PAUSE : DT_PROOF_STILL : DT_PROOF_NONE;
		if (dt_thread_ns_tid(natives->proc, stack->tid, &thread->ns_tid) < 0)
			thread->ns_tid = 0;
		if (add_one(natives, stack, true, arena, walk, &thread->native_missing) < 0)
			return -ENOMEM;
		look->thread_count++;
	}
	look->walk.thread_count = look->thread_count;
	return 0;
}

int dt_natives_add(struct dt_natives *natives, struct dt_look *look, struct dt_arena *arena)
{
	uint64_t now = dt_clock_ns();
	int rc;

	if (!natives->refreshed_ns || now - natives->refreshed_ns > REFRESH_NS) {
		if (dt_modules_refresh(natives->modules) == -ENOMEM)
			return -ENOMEM;
		natives->refreshed_ns = now;
	}
	rc = make_room(look, arena);
	for (size_t i = 0; i < look->thread_count && rc == 0; i++) {
		struct dt_look_thread *thread = &look->threads[i];
		struct dt_c_stack *stack = dt_c_stacks_of(&look->c_stacks, thread->tid);

		if (stack)
			stack->python = true;
		/* Of a stack with frames left out nobody knows where C frames belong. */
		if (!thread->torn)
			rc = add_one(natives, stack, false, arena, &look->walk.threads[i], &thread->native_missing);
	}
	return rc == 0 ? add_foreign(natives, look, arena) : rc;
}
