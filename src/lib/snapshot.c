/* From a look to what the public header promises: names, ids, warnings, the main thread first. */
#include <stdlib.h>

#include "base/util.h"
#include "lib/target.h"

static int by_ident(const void *a, const void *b)
{
	const struct dt_thread_name *x = a;
	const struct dt_thread_name *y = b;

	return (x->ident > y->ident) - (x->ident < y->ident);
}

static const char *threading_name(const struct dt_names *names, uint64_t ident)
{
	struct dt_thread_name key = {.ident = ident};
	const struct dt_thread_name *found;

	found = names->count ? bsearch(&key, names->names, names->count, sizeof(key), by_ident) : NULL;
	return found ? found->name : NULL;
}

/* The kernel's name, for threads that threading does not know. */
static const char *kernel_name(struct dt_target *target, int tid)
{
	struct dt_thread_stat stat;

	if (!tid || dt_thread_stat(&target->proc, tid, &stat) < 0 || !stat.comm[0])
		return NULL;
	return dt_arena_strdup(&target->arena, stat.comm);
}

static const struct dt_frame *build_frames(struct dt_target *target, const struct dt_walk_thread *walk)
{
	struct dt_frame *frames = dt_arena_calloc(&target->arena, walk->frame_count + 1, sizeof(*frames));

	if (!frames)
		return NULL;
	for (size_t i = 0; i < walk->frame_count; i++) {
		const struct dt_walk_frame *from = &walk->frames[i];

		frames[i] = (struct dt_frame){.name = from->code->name,
					      .file = from->code->file,
					      .line = from->line,
					      .first_line = from->code->first_line,
					      .entry = from->entry,
					      .native = from->code->native};
		if (!from->code->native)
			continue;
		frames[i].address = from->ip;
		if (!from->code->name[0])
			frames[i].name = NULL;
	}
	for (size_t i = 0; target->options.source && i < walk->frame_count; i++) {
		if (frames[i].native)
			continue;
		frames[i].source = dt_source_line(&target->source, frames[i].file, frames[i].line, &target->arena);
		break; /* of the innermost one */
	}
	return frames;
}

/* Whether this thread runs Python while garbage is collected. Where no GIL tells who does, it is so if nobody else is
 * attached. */
static bool collects(const struct dt_look *look, const struct dt_look_thread *thread)
{
	const struct dt_walk_interpreter *interpreter = &look->walk.interpreters[thread->walk->interpreter];
	size_t attached = 0;

	if (!interpreter->collecting)
		return false;
	if (interpreter->gil.address || !thread->walk->attached)
		return thread->gil;
	for (size_t i = 0; i < look->walk.thread_count && attached < 2; i++)
		attached += look->walk.threads[i].attached &&
			    look->walk.threads[i].interpreter == thread->walk->interpreter;
	return attached == 1;
}

static int build_thread(struct dt_target *target, const struct dt_look *look, size_t index, struct dt_thread *thread)
{
	const struct dt_look_thread *from = &look->threads[index];
	const struct dt_walk_interpreter *interpreter = &look->walk.interpreters[from->walk->interpreter];

	*thread = (struct dt_thread){
	    .tid = (uint64_t)from->tid,
	    .ns_tid = (uint64_t)from->ns_tid,
	    .ident = from->walk->ident,
	    .interpreter = interpreter->id,
	    .state = from->state,
	    .syscall = from->syscall,
	    .gil = from->gil,
	    .gc = collects(look, from),
	    .torn = from->torn,
	    .foreign = from->foreign,
	    .native_missing = from->native_missing,
	    .proof = from->proof,
	    .frame_count = from->walk->frame_count,
	};
	thread->main = interpreter->id == 0 &&
		       (look->walk.main_ident ? thread->ident == look->walk.main_ident : from->tid == target->proc.pid);
	if (!target->options.no_names) {
		if (from->walk->interpreter < target->name_groups)
			thread->name = threading_name(&target->names[from->walk->interpreter], thread->ident);
		if (!thread->name)
			thread->name = kernel_name(target, from->tid);
	}
	thread->frames = build_frames(target, from->walk);
	return thread->frames ? 0 : DT_EMEMORY;
}

/* A thread state that was made and not yet begun to run has nothing to show: its thread is not there yet. */
static bool worth_listing(const struct dt_look_thread *thread)
{
	return thread->tid || thread->walk->frame_count || thread->torn;
}

static const char *tracer_name(struct dt_target *target, int tracer)
{
	struct dt_proc proc;
	const char *command;

	if (dt_proc_open(tracer, &proc) < 0)
		return "";
	command = dt_proc_command(&proc, &target->arena);
	dt_proc_release(&proc);
	return command ? command : "";
}

#define WARNINGS 4

static void add_warnings(struct dt_target *target, const struct dt_look *look, const char **warnings)
{
	struct dt_snapshot *snapshot = &target->snapshot;
	const char *text[WARNINGS] = {0};

	if (target->python.newer)
		text[0] = dt_arena_printf(
		    &target->arena,
		    "Python %s is newer than the newest that this darter knows; it is read by its own description",
		    snapshot->version_text);
	if (look->traced)
		text[1] = dt_arena_printf(&target->arena,
					  "process %d is traced by process %d (%s), so nothing could be paused",
					  snapshot->pid, look->tracer, tracer_name(target, look->tracer));
	if (look->torn)
		text[2] = dt_arena_printf(&target->arena,
					  "the stacks of %u threads could not be proven: what is not known is left out",
					  look->torn);
	if (!look->walk.lists_whole)
		text[3] = dt_arena_strdup(&target->arena, "threads began and ended all the time: some may be missing");
	for (size_t i = 0; i < WARNINGS; i++)
		if (text[i])
			warnings[snapshot->warning_count++] = text[i];
	snapshot->warnings = warnings;
}

int dt_snapshot_build(struct dt_target *target, const struct dt_look *look, struct dt_error *err)
{
	struct dt_snapshot *snapshot = &target->snapshot;
	struct dt_proc_info info = {0};
	struct dt_thread *threads;
	const char **warnings;

	dt_arena_reset(&target->arena);
	dt_proc_info(&target->proc, &info);
	*snapshot = (struct dt_snapshot){
	    .pid = target->proc.pid,
	    .ppid = info.ppid,
	    .version = target->python.version,
	    .executable = target->executable,
	    .library = target->python.library[0] ? target->python.library : target->executable,
	    .command = target->command,
	    .container = target->container,
	    .taken_ns = dt_clock_realtime_ns(),
	    .window_ns = look->window_ns,
	    .interpreters = (unsigned)look->walk.interpreter_count,
	    .looks = look->looks,
	    .torn = look->torn,
	};
	dt_version_text(&snapshot->version, snapshot->version_text);
	for (size_t i = 0; i < target->name_groups; i++)
		if (target->names[i].count)
			qsort(target->names[i].names, target->names[i].count, sizeof(struct dt_thread_name), by_ident);
	threads = dt_arena_calloc(&target->arena, look->thread_count + 1, sizeof(*threads));
	warnings = dt_arena_calloc(&target->arena, WARNINGS, sizeof(*warnings));
	if (!threads || !warnings || (target->options.source && dt_source_begin(&target->source, look) < 0))
		return dt_fail(err, DT_EMEMORY, "out of memory");
	for (size_t i = 0; i < look->thread_count; i++) {
		struct dt_thread *thread = &threads[snapshot->thread_count];

		if (!worth_listing(&look->threads[i]))
			continue;
		if (build_thread(target, look, i, thread) < 0)
			return dt_fail(err, DT_EMEMORY,
				       "out of memory, or process %d has more frames than the limits allow",
				       snapshot->pid);
		snapshot->thread_count++;
		if (thread->main && !threads[0].main) {
			struct dt_thread main_thread = *thread;

			memmove(threads + 1, threads, (size_t)(thread - threads) * sizeof(*threads));
			threads[0] = main_thread;
		}
	}
	snapshot->threads = threads;
	add_warnings(target, look, warnings);
	dt_source_clear(&target->source);
	return target->core ? dt_core_describe(target, look, err) : 0;
}
