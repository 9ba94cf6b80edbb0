/*
 * /proc/PID as an open directory, and the two ways to read a file of it. Once the process is gone the kernel answers
 * lookups below that directory with ENOENT, which says the same as for a file that this kernel does not have: read
 * errors are told apart here, so that callers may trust -ESRCH.
 */
#include "proc/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/util.h"
#include "proc/dir.h"
#include "proc/scan.h"

#define LIST_LIMIT ((size_t)1 << 23) /* above the kernel's own limit of pids (4 Mi) */

static int open_dir(int pid)
{
	char path[32];
	int dir;

	snprintf(path, sizeof(path), "/proc/%d", pid);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	return dir;
}

int dt_proc_open(int pid, struct dt_proc *proc)
{
	int dir = pid > 0 ? open_dir(pid) : -ESRCH;

	if (dir < 0)
		return dir;
	*proc = (struct dt_proc){.pid = pid, .living = pid, .dir = dir, .first = -1};
	return 0;
}

/* The process through its own directory. It stays that of the process whatever becomes of its threads: after an exec
 * the thread that made it has the id of the first one. */
static struct dt_proc whole(const struct dt_proc *proc)
{
	return (struct dt_proc){
	    .pid = proc->pid, .living = proc->pid, .dir = proc->first >= 0 ? proc->first : proc->dir, .first = -1};
}

static bool lives(const struct dt_proc *proc, int tid)
{
	struct dt_thread_stat stat;

	return dt_thread_stat(proc, tid, &stat) == 0 && stat.state != 'Z' && stat.state != 'X' && !stat.ending;
}

static void read_through(struct dt_proc *proc, int tid, int dir)
{
	if (proc->first >= 0)
		close(proc->dir);
	else
		proc->first = proc->dir;
	proc->dir = dir;
	proc->living = tid;
}

static void read_through_first(struct dt_proc *proc)
{
	if (proc->first < 0)
		return;
	close(proc->dir);
	*proc = whole(proc);
}

/* /proc/TID is there for every thread, though it is not listed, and is the same as /proc/PID but for what a dead thread
 * has lost. */
void dt_proc_outlive(struct dt_proc *proc)
{
	const struct dt_proc all = whole(proc);
	dt_auto_free int *tids = NULL;
	size_t count;

	if (lives(&all, proc->pid)) {
		read_through_first(proc);
		return;
	}
	if (dt_proc_threads(&all, &tids, &count) < 0)
		return;
	for (size_t i = 0; i < count; i++) {
		int dir = lives(&all, tids[i]) ? open_dir(tids[i]) : -1;

		if (dir < 0)
			continue;
		if (lives(&all, tids[i])) { /* still: so it was not another one that was opened */
			read_through(proc, tids[i], dir);
			return;
		}
		close(dir);
	}
}

void dt_proc_release(struct dt_proc *proc)
{
	if (proc->pid > 0) {
		read_through_first(proc);
		if (proc->dir >= 0)
			close(proc->dir);
	}
	*proc = (struct dt_proc){.dir = -1, .first = -1};
}

/* The first thread of a process may end before the others: it stays a zombie while they go on. */
static bool over(const struct dt_proc *all)
{
	struct dt_proc_info info;
	int rc = dt_proc_stat_info(all, &info);

	if (rc < 0)
		return rc == -ESRCH;
	return (info.state == 'Z' || info.state == 'X' || info.ending) && info.threads <= 1;
}

bool dt_proc_ended(const struct dt_proc *proc)
{
	const struct dt_proc all = whole(proc);

	/* A first thread that makes room for one that execs may look like the last one, but not twice. */
	for (int asked = 0; asked < 2; asked++)
		if (!over(&all))
			return false;
	return true;
}

/* ENOENT: is the file unknown to this kernel, or the process gone? Every process has a stat file. */
static int why_missing(const struct dt_proc *proc)
{
	return faccessat(proc->dir, "stat", F_OK, 0) ? -ESRCH : -ENOENT;
}

static int open_name(const struct dt_proc *proc, const char *name)
{
	int fd = openat(proc->dir, name, O_RDONLY | O_CLOEXEC);

	if (fd >= 0)
		return fd;
	return errno == ENOENT ? why_missing(proc) : -errno;
}

static ssize_t read_some(int fd, char *buffer, size_t size)
{
	ssize_t got;

	do
		got = read(fd, buffer, size);
	while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

ssize_t dt_proc_read(const struct dt_proc *proc, const char *name, char *buffer, size_t size)
{
	ssize_t got;
	int fd;

	if (!size)
		return -EINVAL;
	fd = open_name(proc, name);
	if (fd < 0)
		return fd;
	got = read_some(fd, buffer, size - 1);
	close(fd);
	if (got >= 0)
		buffer[got] = '\0';
	return got;
}

ssize_t dt_proc_read_cut(const struct dt_proc *proc, const char *name, char *buffer, size_t size)
{
	dt_auto_close int fd = open_name(proc, name);
	size_t length = 0;

	if (fd < 0)
		return fd;
	while (length < size - 1) {
		ssize_t got = read_some(fd, buffer + length, size - 1 - length);

		if (got < 0)
			return got;
		if (!got)
			break;
		length += (size_t)got;
	}
	buffer[length] = '\0';
	return (ssize_t)length;
}

int dt_proc_slurp(const struct dt_proc *proc, const char *name, size_t limit, struct dt_buf *out)
{
	dt_auto_close int fd = open_name(proc, name);
	size_t total = 0;
	char chunk[32 << 10];

	if (fd < 0)
		return fd;
	for (;;) {
		ssize_t got = read_some(fd, chunk, sizeof(chunk));

		if (got < 0)
			return (int)got;
		if (!got)
			return out->failed ? -ENOMEM : 0;
		total += (size_t)got;
		if (total > limit)
			return -EFBIG;
		dt_buf_append(out, chunk, (size_t)got);
	}
}

/* ---- directories of numbers ---- */

static int compare_ints(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

static int append_number(const char *name, int **numbers, size_t *count, size_t *capacity)
{
	uint64_t number;

	if (*name < '1' || *name > '9' || !dt_parse_u64(name, INT_MAX, &number))
		return 0;
	if (*count == *capacity) {
		size_t larger = *capacity ? *capacity * 2 : 64;
		int *grown = larger > LIST_LIMIT ? NULL : realloc(*numbers, larger * sizeof(**numbers));

		if (!grown)
			return -ENOMEM;
		*numbers = grown;
		*capacity = larger;
	}
	(*numbers)[(*count)++] = (int)number;
	return 0;
}

/* The call itself: C libraries do not agree on its name. struct dirent is what the kernel writes. */
int dt_dir_numbers(int fd, int **numbers, size_t *count)
{
	_Alignas(struct dirent) char chunk[32 << 10];
	size_t capacity = 0, found = 0;
	int *list = NULL;
	bool sorted = true;
	ssize_t got;

	while ((got = syscall(SYS_getdents64, fd, chunk, sizeof(chunk))) > 0) {
		for (ssize_t at = 0; at < got;) {
			const struct dirent *entry = (const void *)(chunk + at);
			int rc = append_number(entry->d_name, &list, &found, &capacity);

			if (rc < 0) {
				free(list);
				return rc;
			}
			at += entry->d_reclen;
		}
	}
	if (got < 0) {
		int rc = -errno;

		free(list);
		return rc == -ENOENT ? -ESRCH : rc;
	}
	for (size_t i = 1; i < found && sorted; i++)
		sorted = list[i - 1] < list[i];
	if (!sorted)
		qsort(list, found, sizeof(*list), compare_ints);
	*numbers = list;
	*count = found;
	return 0;
}

int dt_proc_list(int **pids, size_t *count)
{
	dt_auto_close int fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : dt_dir_numbers(fd, pids, count);
}
