/*
 * What the kernel knows of one thread. These functions run for every thread of every look: the path is put together by
 * hand, there is one open, one read and one close, and no allocation.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"
#include "proc/dir.h"
#include "proc/proc.h"
#include "proc/scan.h"

#define THREAD_PATH     32
#define STAT_LIMIT      1024 /* 52 numbers and a name of at most 64 bytes */
#define STATUS_START    4096
#define STATUS_LIMIT    ((size_t)2 << 20) /* 65,536 groups and what else there is */
#define NAMESPACE_DEPTH 33                /* the kernel nests PID namespaces 32 deep */

/* "task/TID/NAME"; NAME has at most 10 letters, which THREAD_PATH has room for. */
static void thread_path(char path[THREAD_PATH], int tid, const char *name)
{
	char digits[12], *p = path + 5;
	size_t count = 0;
	unsigned rest = (unsigned)tid;

	memcpy(path, "task/", 5);
	do
		digits[count++] = (char)('0' + rest % 10);
	while (rest /= 10);
	while (count)
		*p++ = digits[--count];
	*p++ = '/';
	strcpy(p, name);
}

bool dt_thread_exists(const struct dt_proc *proc, int tid)
{
	char path[THREAD_PATH];

	if (tid <= 0)
		return false;
	thread_path(path, tid, "stat");
	return faccessat(proc->dir, path, F_OK, 0) == 0;
}

/* A file that is missing means that the thread ended, unless the thread is still there: then this kernel has no such
 * file. */
static int why_missing(const struct dt_proc *proc, int tid)
{
	return dt_thread_exists(proc, tid) ? -ENOTSUP : -ESRCH;
}

int dt_thread_open(const struct dt_proc *proc, int tid, const char *name)
{
	char path[THREAD_PATH];
	int fd;

	if (tid <= 0)
		return -ESRCH;
	thread_path(path, tid, name);
	fd = openat(proc->dir, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? why_missing(proc, tid) : -errno;
	return fd;
}

static ssize_t read_thread(const struct dt_proc *proc, int tid, const char *name, char *buffer, size_t size)
{
	int fd = dt_thread_open(proc, tid, name);
	ssize_t got;

	if (fd < 0)
		return fd;
	do
		got = read(fd, buffer, size - 1);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		got = -errno;
	close(fd);
	if (got == 0)
		return -ESRCH;
	if (got > 0)
		buffer[got] = '\0';
	return got;
}

int dt_proc_threads(const struct dt_proc *proc, int **tids, size_t *count)
{
	dt_auto_close int fd = openat(proc->dir, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc;

	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	rc = dt_dir_numbers(fd, tids, count);
	if (rc == 0 && *count == 0) {
		free(*tids);
		*tids = NULL;
		return -ESRCH;
	}
	return rc;
}

/* Each thread is a directory in that one, which counts as a link to it. */
size_t dt_proc_thread_count(const struct dt_proc *proc)
{
	struct stat st;

	return fstatat(proc->dir, "task", &st, 0) == 0 && st.st_nlink > 2 ? (size_t)st.st_nlink - 2 : 0;
}

/* Fields are numbered as in proc_pid_stat(5); the cursor stands on field 3, behind the last ')'. */
static bool parse_stat(struct scan *scan, struct dt_thread_stat *stat)
{
	uint64_t flags, user, system, start, processor, priority, policy;

	if (scan->end - scan->at < 2)
		return false;
	stat->state = *scan->at;
	if (!scan_skip(scan, 6) || !scan_decimal(scan, &flags)) /* field 9 */
		return false;
	if (!scan_skip(scan, 5) || !scan_decimal(scan, &user) || !scan_char(scan, ' ') || !scan_decimal(scan, &system))
		return false;
	if (!scan_skip(scan, 7) || !scan_decimal(scan, &start)) /* field 22 */
		return false;
	if (!scan_skip(scan, 17) || !scan_decimal(scan, &processor)) /* field 39 */
		return false;
	if (!scan_char(scan, ' ') || !scan_decimal(scan, &priority) || !scan_char(scan, ' ') ||
	    !scan_decimal(scan, &policy))
		return false;
	stat->ending = flags & SCAN_EXITING;
	stat->cpu_ticks = user + system;
	stat->start_ticks = start;
	stat->processor = (int)DT_MIN(processor, (uint64_t)INT_MAX);
	stat->rt_priority = (int)DT_MIN(priority, (uint64_t)INT_MAX);
	stat->policy = (unsigned)DT_MIN(policy, (uint64_t)UINT_MAX);
	return true;
}

int dt_thread_stat(const struct dt_proc *proc, int tid, struct dt_thread_stat *stat)
{
	char text[STAT_LIMIT];
	ssize_t length = read_thread(proc, tid, "stat", text, sizeof(text));

	return length < 0 ? (int)length : dt_thread_stat_parse(text, (size_t)length, stat);
}

int dt_thread_stat_parse(const char *text, size_t length, struct dt_thread_stat *stat)
{
	const char *open = memchr(text, '(', length), *close = memrchr(text, ')', length);
	struct scan scan = {.end = text + length};
	size_t name;

	if (!open || !close || close < open || scan.end - close < 2)
		return -EIO;
	*stat = (struct dt_thread_stat){0};
	name = DT_MIN((size_t)(close - open - 1), sizeof(stat->comm) - 1);
	memcpy(stat->comm, open + 1, name);
	scan.at = close + 2;
	return parse_stat(&scan, stat) ? 0 : -EIO;
}

int dt_thread_sched_parse(const char *text, size_t length, struct dt_thread_sched *sched)
{
	struct scan scan = {.at = text, .end = text + length};

	if (!scan_decimal(&scan, &sched->ran_ns) || !scan_char(&scan, ' ') || !scan_decimal(&scan, &sched->waited_ns) ||
	    !scan_char(&scan, ' ') || !scan_decimal(&scan, &sched->slices))
		return -EIO;
	/* A thread exists only after it ran once: all zero means that nobody counts. */
	return sched->ran_ns || sched->waited_ns || sched->slices ? 0 : -ENOTSUP;
}

int dt_thread_sched(const struct dt_proc *proc, int tid, struct dt_thread_sched *sched)
{
	char text[128];
	ssize_t length = read_thread(proc, tid, "schedstat", text, sizeof(text));

	return length < 0 ? (int)length : dt_thread_sched_parse(text, (size_t)length, sched);
}

/* Behind "NAME   :   ". */
static bool scan_field(struct scan *scan, const char *name, uint64_t *value)
{
	size_t length = strlen(name);
	const char *at = memmem(scan->at, (size_t)(scan->end - scan->at), name, length);

	if (!at)
		return false;
	for (scan->at = at + length; scan->at < scan->end && (*scan->at == ' ' || *scan->at == ':'); scan->at++)
		;
	return scan_decimal(scan, value);
}

int dt_thread_booked_parse(const char *text, size_t length, struct dt_thread_booked *booked)
{
	struct scan scan = {.at = text, .end = text + length};
	uint64_t ms, rest;

	if (!scan_field(&scan, "\nse.exec_start ", &ms) || !scan_char(&scan, '.') || !scan_decimal(&scan, &rest) ||
	    !scan_field(&scan, "\nnr_voluntary_switches ", &booked->slept) ||
	    !scan_field(&scan, "\nnr_involuntary_switches ", &booked->put_aside))
		return -ENOTSUP;
	booked->ns = ms * 1000000 + rest; /* it has six digits */
	return 0;
}

int dt_thread_slices(const struct dt_proc *proc, int tid, uint64_t *slices)
{
	struct dt_thread_sched sched;
	int rc = dt_thread_sched(proc, tid, &sched);

	if (rc == 0)
		*slices = sched.slices;
	return rc;
}

static bool scan_address(struct scan *scan, uint64_t *value)
{
	return scan_char(scan, ' ') && scan_char(scan, '0') && scan_char(scan, 'x') && scan_hex(scan, value);
}

int dt_thread_call_parse(const char *text, size_t length, struct dt_thread_call *call)
{
	struct scan scan = {.at = text, .end = text + length};
	uint64_t number;

	*call = (struct dt_thread_call){.number = -1};
	if (length >= 7 && !memcmp(text, "running", 7)) {
		call->running = true;
		return 0;
	}
	if (!scan_char(&scan, '-')) {
		if (!scan_decimal(&scan, &number) || number > LONG_MAX)
			return -EIO;
		call->number = (long)number;
		for (size_t i = 0; i < DT_COUNT(call->args); i++)
			if (!scan_address(&scan, &call->args[i]))
				return -EIO;
	} else if (!scan_decimal(&scan, &number)) {
		return -EIO;
	}
	return scan_address(&scan, &call->sp) && scan_address(&scan, &call->pc) ? 0 : -EIO;
}

int dt_thread_call(const struct dt_proc *proc, int tid, struct dt_thread_call *call)
{
	char text[256];
	ssize_t length = read_thread(proc, tid, "syscall", text, sizeof(text));

	return length < 0 ? (int)length : dt_thread_call_parse(text, (size_t)length, call);
}

/* ---- namespaces ---- */

bool dt_scan_status(const char *text, const char *key, struct scan *scan)
{
	size_t length = strlen(key);

	while (text) {
		if (!strncmp(text, key, length) && text[length] == ':') {
			scan->at = text + length + 1;
			scan->end = strchrnul(scan->at, '\n');
			scan_spaces(scan);
			return true;
		}
		text = strchr(text, '\n');
		if (text)
			text++;
	}
	return false;
}

/* The numbers of the NSpid line, outermost first. 0 if the kernel has none (before 4.1). */
static size_t parse_ns_pids(const char *status, int pids[NAMESPACE_DEPTH])
{
	struct scan scan;
	size_t count = 0;
	uint64_t pid;

	if (!dt_scan_status(status, "NSpid", &scan))
		return 0;
	while (count < NAMESPACE_DEPTH && scan_decimal(&scan, &pid) && pid <= INT_MAX) {
		pids[count++] = (int)pid;
		scan_spaces(&scan);
	}
	return count;
}

/* The line stands behind the list of groups, which may be long: the whole file only where the start is not enough. */
static ssize_t ns_pids(const struct dt_proc *proc, int tid, int pids[NAMESPACE_DEPTH])
{
	struct dt_buf whole = DT_BUF_INIT;
	char start[STATUS_START] = "", path[THREAD_PATH];
	ssize_t length = read_thread(proc, tid, "status", start, sizeof(start)), count;

	if (length < 0)
		return length;
	count = (ssize_t)parse_ns_pids(start, pids);
	if ((size_t)length < sizeof(start) - 1)
		return count;
	thread_path(path, tid, "status");
	length = dt_proc_slurp(proc, path, STATUS_LIMIT, &whole);
	count = length < 0 ? length : (ssize_t)parse_ns_pids(whole.data, pids);
	dt_buf_release(&whole);
	return count;
}

/* A number of a status file, 0 if it is not there. The lines that we ask for stand before those without a limit. */
static int status_number(const char *status, const char *key)
{
	struct scan scan;
	uint64_t number;

	return dt_scan_status(status, key, &scan) && scan_decimal(&scan, &number) && number <= INT_MAX ? (int)number
												       : 0;
}

int dt_thread_tracer(const struct dt_proc *proc, int tid)
{
	char status[STATUS_START];

	return read_thread(proc, tid, "status", status, sizeof(status)) < 0 ? 0 : status_number(status, "TracerPid");
}

int dt_thread_process(int tid)
{
	char status[STATUS_START];
	struct dt_proc proc;
	int process = 0;

	if (dt_proc_open(tid, &proc) < 0)
		return 0;
	if (dt_proc_read(&proc, "status", status, sizeof(status)) > 0)
		process = status_number(status, "Tgid");
	dt_proc_release(&proc);
	return process;
}

int dt_thread_ns_tid(const struct dt_proc *proc, int tid, int *ns_tid)
{
	int pids[NAMESPACE_DEPTH];
	ssize_t count = ns_pids(proc, tid, pids);

	if (count < 0)
		return (int)count;
	*ns_tid = count ? pids[count - 1] : tid;
	return 0;
}

bool dt_proc_same_pid_ns(const struct dt_proc *proc)
{
	int theirs[NAMESPACE_DEPTH], ours[NAMESPACE_DEPTH];
	struct stat their_ns, our_ns;
	struct dt_proc self;
	bool same;

	if (!fstatat(proc->dir, "ns/pid", &their_ns, 0) && !stat("/proc/self/ns/pid", &our_ns))
		return their_ns.st_ino == our_ns.st_ino && their_ns.st_dev == our_ns.st_dev;
	/* The link needs ptrace access, the depth of the nesting does not. */
	if (dt_proc_open(getpid(), &self) < 0)
		return true;
	same = ns_pids(proc, proc->pid, theirs) == ns_pids(&self, self.pid, ours);
	dt_proc_release(&self);
	return same;
}
