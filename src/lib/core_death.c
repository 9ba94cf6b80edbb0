/* What only the snapshot of a core file has: how the process ended, who got the signal, what is missing. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/util.h"
#include "lib/target.h"
#include "sample/state.h"

#define COMPLAINTS    3
#define WARNINGS      (6 + COMPLAINTS)
#define STACKS_LOOKED 1024                 /* at, for being empty */
#define STACKS_BYTES  ((uint64_t)64 << 20) /* that are read for it */
#define WHO_BYTES     80                   /* of a command, in an error */

/* Not from the C library: a core may come from a machine with signals that this one's does not name. */
static const char *signal_name(int number)
{
	static const char *const names[] = {
	    NULL,        "SIGHUP",  "SIGINT",    "SIGQUIT", "SIGILL",   "SIGTRAP", "SIGABRT", "SIGBUS",
	    "SIGFPE",    "SIGKILL", "SIGUSR1",   "SIGSEGV", "SIGUSR2",  "SIGPIPE", "SIGALRM", "SIGTERM",
	    "SIGSTKFLT", "SIGCHLD", "SIGCONT",   "SIGSTOP", "SIGTSTP",  "SIGTTIN", "SIGTTOU", "SIGURG",
	    "SIGXCPU",   "SIGXFSZ", "SIGVTALRM", "SIGPROF", "SIGWINCH", "SIGIO",   "SIGPWR",  "SIGSYS",
	};

	return number > 0 && number < (int)DT_COUNT(names) ? names[number] : NULL;
}

/* As much of the command as fits, no character in halves. */
static int command_length(const char *command)
{
	size_t length = strnlen(command, WHO_BYTES);

	if (command[length])
		while (length && ((unsigned char)command[length] & 0xc0) == 0x80)
			length--;
	return (int)length;
}

void dt_core_say_who(const struct dt_core_info *info, struct dt_error *err)
{
	struct dt_buf who = DT_BUF_INIT;
	const char *name = signal_name(info->signal);
	size_t length = strlen(err->message);

	if (info->pid)
		dt_buf_printf(&who, ", process %d", info->pid);
	if (info->command[0]) {
		int shown = command_length(info->command);

		dt_buf_printf(&who, ", %.*s%s", shown, info->command, info->command[shown] ? "..." : "");
	}
	if (name)
		dt_buf_printf(&who, ", killed by %s", name);
	else if (info->signal)
		dt_buf_printf(&who, ", killed by signal %d", info->signal);
	if (!who.failed && who.length)
		snprintf(err->message + length, sizeof(err->message) - length, " (%s)", who.data + 2);
	dt_buf_release(&who);
}

/* By signal and si_code; "0x%llx" is the address. */
static const struct {
	int signal, code;
	const char *words;
} causes[] = {
    {SIGSEGV, SEGV_MAPERR, "there is no memory at address 0x%llx"},
    {SIGSEGV, SEGV_ACCERR, "the memory at address 0x%llx may not be used like that"},
    {SIGBUS, BUS_ADRALN, "address 0x%llx is not aligned"},
    {SIGBUS, BUS_ADRERR,
     "there is nothing behind the memory at address 0x%llx (a file that was cut short, a full disk)"},
    {SIGFPE, FPE_INTDIV, "an integer was divided by zero at 0x%llx"},
    {SIGFPE, FPE_INTOVF, "an integer overflowed at 0x%llx"},
    {SIGILL, ILL_ILLOPC, "there is no instruction of this processor at 0x%llx"},
    {SIGILL, ILL_ILLOPN, "there is no instruction of this processor at 0x%llx"},
};

static const char *cause(const struct dt_core_info *info, struct dt_arena *arena)
{
	if (info->sender > 0 && info->sender == info->pid)
		return "it sent the signal to itself";
	if (info->sender > 0)
		return dt_arena_printf(arena, "process %d sent the signal", info->sender);
	for (size_t i = 0; info->has_address && i < DT_COUNT(causes); i++)
		if (causes[i].signal == info->signal && causes[i].code == info->signal_code) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
			return dt_arena_printf(arena, causes[i].words, (unsigned long long)info->address);
#pragma GCC diagnostic pop
		}
	if (info->signal == SIGSEGV && info->signal_code == SI_KERNEL)
		return "no memory can have the address that was used";
	return NULL;
}

static struct dt_core_death *describe_death(struct dt_target *target)
{
	const struct dt_core_info *info = dt_core_info(target->core);
	struct dt_core_death *death = dt_arena_calloc(&target->arena, 1, sizeof(*death));
	const struct dt_map *map;

	if (!death)
		return NULL;
	death->file = info->path;
	death->size = info->size;
	death->whole_size = info->whole;
	death->signal = info->signal;
	if (!info->signal)
		return death;
	death->signal_name = signal_name(info->signal);
	if (!death->signal_name)
		death->signal_name = dt_arena_printf(&target->arena, "signal %d", info->signal);
	death->cause = cause(info, &target->arena);
	death->has_address = info->has_address;
	death->address = info->address;
	death->instruction = info->thread_count ? info->threads[0].call.pc : 0;
	map = death->instruction ? dt_maps_at(dt_core_maps(target->core), death->instruction) : NULL;
	if (map && map->path[0]) {
		death->module = map->path;
		death->module_offset = death->instruction - map->start + map->offset;
	}
	return death->signal_name ? death : NULL;
}

/* A thread that calls into another interpreter has a thread state in each: the one with which it runs. */
static const struct dt_look_thread *run_by(const struct dt_look *look, int tid)
{
	const struct dt_look_thread *best = NULL;
	int highest = -1;

	for (size_t i = 0; i < look->thread_count; i++) {
		const struct dt_look_thread *thread = &look->threads[i];
		int rank = thread->gil * 4 + thread->walk->attached * 2 + (thread->walk->frame_count > 0);

		if (thread->tid != tid || rank <= highest)
			continue;
		best = thread;
		highest = rank;
	}
	return best;
}

/* The thread that got the signal comes first; one that never ran Python is added. Where the lists of threads lead into
 * missing memory it may have run Python. */
static int order_threads(struct dt_target *target, const struct dt_look *look)
{
	const bool lists_whole = look->walk.lists_whole;
	const struct dt_core_info *info = dt_core_info(target->core);
	struct dt_snapshot *snapshot = &target->snapshot;
	const struct dt_core_thread *from = info->signal && info->thread_count ? &info->threads[0] : NULL;
	int tid = from ? from->tid : 0;
	const struct dt_look_thread *runs = tid ? run_by(look, tid) : NULL;
	struct dt_thread *threads;
	size_t at = 0;

	threads = dt_arena_calloc(&target->arena, snapshot->thread_count + 1, sizeof(*threads));
	if (!threads)
		return DT_EMEMORY;
	for (size_t i = 0; i < snapshot->thread_count; i++) {
		threads[i + 1] = snapshot->threads[i];
		if (threads[i + 1].main && !threads[i + 1].name && info->name[0])
			threads[i + 1].name = info->name;
		if (runs && !at && threads[i + 1].tid == (uint64_t)tid &&
		    threads[i + 1].interpreter == look->walk.interpreters[runs->walk->interpreter].id)
			at = i + 1;
	}
	snapshot->threads = tid ? threads : threads + 1;
	if (!tid)
		return 0;
	if (at) {
		threads[0] = threads[at];
		memmove(threads + at, threads + at + 1, (snapshot->thread_count - at) * sizeof(*threads));
	} else {
		threads[0] = (struct dt_thread){.tid = (uint64_t)tid,
						.ns_tid = (uint64_t)tid,
						.torn = !lists_whole,
						.proof = lists_whole ? DT_PROOF_STILL : DT_PROOF_NONE};
		snapshot->torn += !lists_whole;
		if (from->told)
			threads[0].state = dt_state_of_call(info->machine, &from->call, 0, 0, &threads[0].syscall);
		threads[0].name = tid == info->pid && info->name[0] ? info->name : NULL;
		snapshot->thread_count++;
	}
	threads[0].faulting = true;
	return 0;
}

static bool all_zeros(struct dt_mem *mem, uint64_t from, uint64_t end, uint64_t *budget)
{
	uint8_t bytes[4096];

	while (from < end) {
		size_t part = (size_t)DT_MIN(end - from, sizeof(bytes));

		if (part > *budget || dt_mem_read(mem, from, bytes, part) < 0 || bytes[0] ||
		    memcmp(bytes, bytes + 1, part - 1) != 0)
			return false;
		*budget -= part;
		from += part;
	}
	return true;
}

/* gdb (13 was tried) leaves a mapping out from the first page on that it cannot read, such as the guard page in the
 * thread stacks of newer C libraries: then there are zeros in the core to the end of the mapping, where a thread has at
 * least an address to return to. */
static size_t empty_stacks(struct dt_target *target)
{
	const struct dt_core_info *info = dt_core_info(target->core);
	uint64_t budget = STACKS_BYTES;
	size_t count = 0;

	for (size_t i = 0; i < info->thread_count && i < STACKS_LOOKED; i++) {
		uint64_t sp = info->threads[i].call.sp;
		const struct dt_map *map = sp ? dt_maps_at(dt_core_maps(target->core), sp) : NULL;

		count += map && all_zeros(dt_core_memory(target->core), sp, map->end, &budget);
	}
	return count;
}

/* A core that is not whole cannot tell whether a file is another one. Files that Python does not need are spoken of
 * where nothing else explains that something is missing. */
static size_t add_complaints(struct dt_target *target, bool lists_whole, const char **texts)
{
	const struct dt_core_info *info = dt_core_info(target->core);
	bool broken = info->damaged || info->size < info->whole;
	struct dt_core_asked asked = {
	    .library = target->python.library,
	    .kinds = DT_CORE_ABSENT | DT_CORE_UNSURE | (broken ? 0 : DT_CORE_REPLACED),
	};
	size_t count = dt_core_complaints(target->core, &asked, &target->arena, texts, COMPLAINTS);

	if (count || broken || (!target->snapshot.torn && lists_whole))
		return count;
	asked.others = true;
	return dt_core_complaints(target->core, &asked, &target->arena, texts, COMPLAINTS);
}

static int add_warnings(struct dt_target *target, bool lists_whole)
{
	const struct dt_core_info *info = dt_core_info(target->core);
	struct dt_snapshot *snapshot = &target->snapshot;
	const char **texts = dt_arena_calloc(&target->arena, WARNINGS, sizeof(*texts));
	size_t count = 0, empty;

	if (!texts)
		return DT_EMEMORY;
	if (target->python.newer)
		texts[count++] = snapshot->warnings[0];
	if (info->size < info->whole)
		texts[count++] = dt_arena_printf(&target->arena,
						 "the core file is cut short: %llu of %llu bytes are there",
						 (unsigned long long)info->size, (unsigned long long)info->whole);
	if (info->damaged)
		texts[count++] = "the compressed file is damaged or cut short: what could be decompressed is shown";
	if (!info->thread_count)
		texts[count++] = "the core file does not tell which threads there were, nor the signal";
	if (snapshot->torn || !lists_whole)
		texts[count++] = "some of the memory that Python needs is missing, damaged or was just being changed: "
				 "what is not known is left out";
	empty = empty_stacks(target);
	if (empty)
		texts[count++] = empty == 1
				     ? "the C stack of a thread is empty in the core: whoever made it could not read it"
				     : dt_arena_printf(
					   &target->arena,
					   "the C stacks of %zu threads are empty in the core: whoever made it "
					   "could not read them",
					   empty);
	count += add_complaints(target, lists_whole, texts + count);
	snapshot->warnings = texts;
	snapshot->warning_count = count;
	for (size_t i = 0; i < count; i++)
		if (!texts[i])
			return DT_EMEMORY;
	return 0;
}

int dt_core_describe(struct dt_target *target, const struct dt_look *look, struct dt_error *err)
{
	const struct dt_core_info *info = dt_core_info(target->core);
	struct dt_snapshot *snapshot = &target->snapshot;

	snapshot->ppid = info->ppid;
	snapshot->taken_ns = info->taken_ns;
	snapshot->core = describe_death(target);
	if (!snapshot->core || order_threads(target, look) < 0 || add_warnings(target, look->walk.lists_whole) < 0)
		return dt_fail(err, DT_EMEMORY, "out of memory");
	return 0;
}
