/*
 * The notes of a core file: threads with their registers, the signal, the command, the mapped files. They are read
 * through a small window, so that neither their number nor their size costs memory, and no byte twice: segments must
 * be ascending. What there is one of in a process is taken from the first note that tells it. A note that is cut short
 * ends its segment; one that is too small for its type is skipped.
 */
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/procfs.h>

#include "base/util.h"
#include "core/inside.h"

#define WINDOW ((size_t)4096) /* small: between the notes that are wanted lie large ones that are not */

/* What the kernel writes, on any machine that darter may have been built for. */
struct prstatus_head {
	int32_t signo, code, error;
	int16_t signal;
	uint64_t pending, held;
	int32_t pid, ppid, group, session;
	int64_t times[8];
};

struct prpsinfo {
	char state, state_name, zombie, nice;
	uint64_t flags;
	uint32_t uid, gid;
	int32_t pid, ppid, group, session;
	char name[16], arguments[80];
};

_Static_assert(offsetof(struct elf_prstatus, pr_cursig) == offsetof(struct prstatus_head, signal), "pr_cursig");
_Static_assert(offsetof(struct elf_prstatus, pr_pid) == offsetof(struct prstatus_head, pid), "pr_pid");
_Static_assert(offsetof(struct elf_prstatus, pr_reg) == sizeof(struct prstatus_head), "pr_reg");
_Static_assert(offsetof(struct elf_prpsinfo, pr_pid) == offsetof(struct prpsinfo, pid), "pr_pid");
_Static_assert(offsetof(struct elf_prpsinfo, pr_psargs) == offsetof(struct prpsinfo, arguments), "pr_psargs");
_Static_assert(sizeof(struct elf_prpsinfo) == sizeof(struct prpsinfo), "prpsinfo");

struct reader {
	struct dt_core *core;
	uint64_t end;  /* of the segment, no further than the file goes */
	uint64_t from; /* file offset of the window */
	size_t filled;
	size_t notes, thread_capacity;
	bool siginfo_seen, process_seen, files_seen;
	uint8_t window[WINDOW];
};

static ssize_t read_file(int fd, uint64_t offset, void *buffer, size_t size)
{
	size_t done = 0;

	while (done < size && offset + done <= INT64_MAX) {
		ssize_t got = pread(fd, (char *)buffer + done, size - done, (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			break;
		done += (size_t)got;
	}
	return (ssize_t)done;
}

/* Bytes of the notes; NULL if they are not all there. size is at most half a window. */
static const uint8_t *bytes_at(struct reader *r, uint64_t offset, size_t size)
{
	if (offset > r->end || size > r->end - offset)
		return NULL;
	if (offset < r->from || offset - r->from > r->filled || size > r->filled - (offset - r->from)) {
		ssize_t got = read_file(r->core->fd, offset, r->window, (size_t)DT_MIN(WINDOW, r->end - offset));

		r->from = offset;
		r->filled = got < 0 ? 0 : (size_t)got;
		if (size > r->filled)
			return NULL;
	}
	return r->window + (offset - r->from);
}

/* ---- threads ---- */

static int add_thread(struct reader *r, const struct dt_core_thread *thread)
{
	struct dt_core_info *info = &r->core->info;

	if (info->thread_count >= CORE_THREADS_LIMIT)
		return 0;
	if (info->thread_count == r->thread_capacity) {
		size_t larger = r->thread_capacity ? r->thread_capacity * 2 : 64;
		struct dt_core_thread *grown = reallocarray(info->threads, larger, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		info->threads = grown;
		r->thread_capacity = larger;
	}
	info->threads[info->thread_count++] = *thread;
	return 0;
}

static void read_registers(const struct dt_machine *machine, const uint8_t *bytes, struct dt_core_thread *thread)
{
	struct dt_registers registers;

	machine->registers(bytes, &registers);
	thread->told = registers.call_known;
	thread->pointer = registers.pointer;
	thread->call = (struct dt_thread_call){
	    .running = registers.number < 0,
	    .number = (long)registers.number,
	    .sp = registers.sp,
	    .pc = registers.pc,
	};
	memcpy(thread->call.args, registers.args, sizeof(thread->call.args));
}

static int read_status(struct reader *r, const uint8_t *bytes, size_t size)
{
	struct dt_core_thread thread = {.call = {.number = -1}};
	struct prstatus_head head;

	if (size < sizeof(head))
		return 0;
	memcpy(&head, bytes, sizeof(head));
	thread.tid = head.pid > 0 ? head.pid : 0;
	if (size - sizeof(head) >= r->core->info.machine->registers_size)
		read_registers(r->core->info.machine, bytes + sizeof(head), &thread);
	/* The first one is the thread that got the signal. A process that is merely stopped is alive. */
	if (!r->core->info.thread_count && head.signal > 0 && head.signal < NSIG && head.signal != SIGSTOP)
		r->core->info.signal = head.signal;
	return add_thread(r, &thread);
}

/* What a machine has in notes of its own; they follow the status of their thread. */
static void read_machine_note(struct reader *r, uint32_t type, uint64_t offset, uint32_t size)
{
	const struct dt_machine *machine = r->core->info.machine;
	const struct dt_core_info *info = &r->core->info;
	struct dt_core_thread *thread = info->thread_count ? &info->threads[info->thread_count - 1] : NULL;
	const uint8_t *bytes;

	if (!thread || !type || size > WINDOW / 2 || (type != machine->pointer_note && type != machine->call_note))
		return;
	bytes = bytes_at(r, offset, size);
	if (bytes && type == machine->pointer_note && size >= 8) {
		thread->pointer = dt_get64(bytes);
	} else if (bytes && type == machine->call_note && size >= 4) {
		thread->told = true;
		thread->call.number = (int32_t)dt_get32(bytes);
		thread->call.running = thread->call.number < 0;
	}
}

/* ---- the process ---- */

static int read_process(struct reader *r, const uint8_t *bytes, size_t size)
{
	struct dt_core_info *info = &r->core->info;
	struct prpsinfo process;
	size_t length;

	if (size < sizeof(process) || r->process_seen)
		return 0;
	r->process_seen = true;
	memcpy(&process, bytes, sizeof(process));
	info->pid = process.pid > 0 ? process.pid : 0;
	info->ppid = process.ppid > 0 ? process.ppid : 0;
	info->name = dt_arena_strndup(&r->core->arena, process.name, strnlen(process.name, sizeof(process.name)));
	length = strnlen(process.arguments, sizeof(process.arguments));
	while (length && process.arguments[length - 1] == ' ')
		length--;
	info->command = dt_arena_strndup(&r->core->arena, process.arguments, length);
	return info->name && info->command ? 0 : -ENOMEM;
}

/* Other codes that no fault has are those of timers and of finished work: their numbers would look like a process. */
static bool has_sender(int code)
{
	return code == SI_USER || code == SI_QUEUE || code == SI_TKILL || code == SI_MESGQ;
}

/* siginfo_t: number, errno, code, then what the kind of signal has: an address, or who sent it. */
static void read_signal(struct reader *r, const uint8_t *bytes, size_t size)
{
	struct dt_core_info *info = &r->core->info;
	int signal;

	if (size < 24 || r->siginfo_seen)
		return;
	r->siginfo_seen = true; /* gcore writes one for each thread; the first is that of the first thread */
	signal = (int)dt_get32(bytes);
	if (signal != info->signal)
		return;
	info->signal_code = (int)dt_get32(bytes + 8);
	if (has_sender(info->signal_code)) {
		info->sender = (int)dt_get32(bytes + 16);
	} else if (info->signal_code > 0 &&
		   (signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGFPE)) {
		info->has_address = info->signal_code != SI_KERNEL;
		info->address = dt_get64(bytes + 16);
	}
}

static void read_auxv(struct reader *r, const uint8_t *bytes, size_t size)
{
	r->core->auxv_words = DT_MIN(size / 8, (size_t)AUXV_WORDS);
	memcpy(r->core->auxv, bytes, r->core->auxv_words * 8);
	for (size_t at = 0; at + 16 <= size; at += 16) {
		uint64_t type = dt_get64(bytes + at), value = dt_get64(bytes + at + 8);

		if (type == AT_PHDR)
			r->core->info.phdr = value;
		else if (type == AT_EXECFN)
			r->core->info.execfn = value;
	}
}

/* ---- mapped files ---- */

static int by_start(const void *a, const void *b)
{
	const struct core_row *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* {count, page size, count x {start, end, offset in pages}, count x path}. */
static int parse_files(struct dt_core *core, const char *text, size_t size)
{
	uint64_t count = dt_get64(text), page = dt_get64(text + 8);
	const char *end = text + size, *path;
	size_t kept = 0;

	if (!page || page > UINT32_MAX || count > (size - 16) / 25 || count > CORE_ROWS_LIMIT)
		return 0;
	core->rows = calloc(count + 1, sizeof(*core->rows));
	if (!core->rows)
		return -ENOMEM;
	path = text + 16 + count * 24;
	for (uint64_t i = 0; i < count && path < end; i++) {
		const char *row = text + 16 + i * 24, *stop = memchr(path, '\0', (size_t)(end - path));
		struct core_row *to = &core->rows[kept];

		if (!stop)
			break;
		*to = (struct core_row){.start = dt_get64(row), .end = dt_get64(row + 8), .path = path};
		path = stop + 1;
		kept += to->start < to->end && !__builtin_mul_overflow(dt_get64(row + 16), page, &to->offset) &&
			to->offset <= UINT64_MAX - (to->end - to->start);
	}
	qsort(core->rows, kept, sizeof(*core->rows), by_start);
	for (size_t i = 0; i < kept; i++)
		if (!core->row_count || core->rows[i].start >= core->rows[core->row_count - 1].end)
			core->rows[core->row_count++] = core->rows[i];
	return 0;
}

static int read_files(struct reader *r, uint64_t offset, size_t size)
{
	char *text;

	if (size < 16 || size > CORE_FILES_LIMIT || r->files_seen)
		return 0;
	r->files_seen = true;
	text = dt_arena_alloc(&r->core->arena, size);
	if (!text)
		return -ENOMEM;
	if (read_file(r->core->fd, offset, text, size) != (ssize_t)size)
		return 0;
	return parse_files(r->core, text, size);
}

/* ---- all of them ---- */

static int read_note(struct reader *r, uint32_t type, uint64_t offset, uint32_t size)
{
	const uint8_t *bytes;

	if (type == NT_FILE)
		return offset <= r->end && size <= r->end - offset ? read_files(r, offset, size) : 0;
	if ((type != NT_PRSTATUS && type != NT_PRPSINFO && type != NT_SIGINFO && type != NT_AUXV) || size > WINDOW / 2)
		return 0;
	bytes = bytes_at(r, offset, size);
	if (!bytes)
		return 0;
	switch (type) {
	case NT_PRSTATUS:
		return read_status(r, bytes, size);
	case NT_PRPSINFO:
		return read_process(r, bytes, size);
	case NT_SIGINFO:
		read_signal(r, bytes, size);
		return 0;
	default:
		read_auxv(r, bytes, size);
		return 0;
	}
}

/* Notes are {name size, size, type, name, description}, both padded to 4 bytes. */
static int read_segment(struct reader *r, const struct dt_elf_segment *segment)
{
	uint64_t at = segment->offset;

	r->end = DT_MIN(segment->offset + segment->file_size, r->core->info.size);
	r->filled = 0;
	while (r->notes < CORE_NOTES_LIMIT) {
		const uint8_t *head = bytes_at(r, at, sizeof(Elf64_Nhdr));
		uint32_t name_size, size, type;
		char owner[8];
		int rc = 0;

		if (!head)
			return 0;
		r->notes++;
		name_size = dt_get32(head);
		size = dt_get32(head + 4);
		type = dt_get32(head + 8);
		at += sizeof(Elf64_Nhdr);
		head = name_size <= sizeof(owner) ? bytes_at(r, at, name_size) : NULL;
		memset(owner, 0, sizeof(owner));
		if (head)
			memcpy(owner, head, name_size);
		at += ((uint64_t)name_size + 3) & ~UINT64_C(3);
		if (!memcmp(owner, "CORE", 5))
			rc = read_note(r, type, at, size);
		else if (!memcmp(owner, "LINUX", 6))
			read_machine_note(r, type, at, size);
		if (rc < 0)
			return rc;
		at += ((uint64_t)size + 3) & ~UINT64_C(3);
	}
	return 0;
}

int core_read_notes(struct dt_core *core)
{
	struct reader *r = malloc(sizeof(*r));
	uint64_t floor = 0;
	int rc = 0;

	if (!r)
		return -ENOMEM;
	*r = (struct reader){.core = core};
	for (size_t i = 0; i < dt_elf_segment_count(core->elf) && rc == 0; i++) {
		struct dt_elf_segment segment = dt_elf_segment(core->elf, i);

		if (segment.type != PT_NOTE || !segment.file_size || segment.offset < floor)
			continue;
		floor = segment.offset + segment.file_size;
		rc = read_segment(r, &segment);
	}
	free(r);
	return rc;
}
