/* C frames: see native_stack.h. */
#include "lib/native_stack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "lib/native_internals.h"
#include "native/demangle.h"
#include "native/merge.h"

#define FRAMES    4096 /* of C in one stack */
#define NAME_SIZE 1024

struct native {
	struct dt_place place;
	bool known; /* the place */
	bool internal;
};

struct dt_natives {
	struct dt_tables *tables;
	struct dt_symbols_cache *symbols;
	struct dt_modules *modules;
	struct dt_mem *live;
	const char *library;
	/* Of the stack that is being walked. */
	struct dt_unwind_frame frames[FRAMES];
	struct dt_merge_native merge[FRAMES];
	struct native natives[FRAMES];
};

struct dt_natives *dt_natives_new(const struct dt_proc *proc, struct dt_mem *live, const char *library)
{
	struct dt_natives *natives = calloc(1, sizeof(*natives));

	if (!natives)
		return NULL;
	natives->live = live;
	natives->library = library;
	natives->tables = dt_tables_new(true);
	natives->symbols = dt_symbols_cache_new(0);
	if (natives->tables && natives->symbols)
		natives->modules = dt_modules_new(proc, live, natives->tables, natives->symbols);
	if (natives->modules)
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
	free(natives);
}

int dt_natives_begin(struct dt_natives *natives)
{
	return dt_modules_refresh(natives->modules);
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

static int put_native(const struct native *native, struct dt_arena *arena, struct dt_frame *frame)
{
	char name[NAME_SIZE];

	*frame = (struct dt_frame){
	    .native = true, .file = native->known ? native->place.path : "", .address = native->place.offset};
	if (!native->known || !native->place.symbol)
		return 0;
	dt_demangle(native->place.symbol, name, sizeof(name));
	frame->name = dt_arena_strdup(arena, name);
	return frame->name ? 0 : -ENOMEM;
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
		 struct dt_arena *arena, struct dt_thread *thread)
{
	struct dt_frame *frames = dt_arena_calloc(arena, count + 1, sizeof(*frames));
	size_t shown = 0;

	if (!frames)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		if (!merged[i].native) {
			choice->python = true;
			frames[shown++] = thread->frames[merged[i].index];
			continue;
		}
		if (!is_shown(choice, &natives->natives[merged[i].index]))
			continue;
		if (put_native(&natives->natives[merged[i].index], arena, &frames[shown++]) < 0)
			return -ENOMEM;
	}
	thread->frames = frames;
	thread->frame_count = shown;
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

int dt_natives_add(struct dt_natives *natives, enum dt_native which, const struct dt_c_stack *stack,
		   const struct dt_walk_thread *walk, struct dt_arena *arena, struct dt_thread *thread)
{
	struct dt_merge merge = {.natives = natives->merge};
	struct choice choice = {.which = which, .foreign = thread->foreign};
	struct dt_merged *merged;
	enum dt_unwind_end end;
	enum dt_merge_end how;
	size_t count, rows = 0;

	if (!stack || !stack->seen) {
		thread->native_missing = "C frames were not seen: it ran, and was not to be stopped";
		return 0;
	}
	if (walk_copy(natives, stack, &merge.native_count, &end) < 0)
		return -ENOMEM;
	name_frames(natives, merge.native_count);
	merge.whole = end == DT_UNWIND_WHOLE;
	if (walk) {
		merge.rows = make_rows(walk, arena, &rows);
		if (!merge.rows)
			return -ENOMEM;
	}
	merge.row_count = rows;
	merged = dt_arena_calloc(arena, merge.native_count + thread->frame_count + 1, sizeof(*merged));
	if (!merged)
		return -ENOMEM;
	how = dt_merge(&merge, which == DT_NATIVE_ALL, merged, &count);
	thread->native_missing = why_missing(end, how);
	return build(natives, merged, count, &choice, arena, thread);
}
