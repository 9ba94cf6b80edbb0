/* The process as a whole: parent, owner, memory, command line, executable. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/small_file.h"
#include "base/util.h"
#include "proc/dir.h"
#include "proc/proc.h"
#include "proc/scan.h"

#define COMMAND_LIMIT ((size_t)64 << 10)
#define LINK_LIMIT    ((size_t)PATH_MAX + 16)
#define CLOCK_SLACK   5 /* ticks: both halves of a time are cut to whole ones, and it goes on while we read */

static const char deleted[] = " (deleted)";

int dt_proc_info_parse(const char *text, size_t length, struct dt_proc_info *info)
{
	const char *close = memrchr(text, ')', length);
	struct scan scan = {.at = close ? close + 2 : text, .end = text + length};
	uint64_t ppid, group, session, flags, user, system, threads, start, pages;

	if (!close || scan.end - close < 3)
		return -EIO;
	*info = (struct dt_proc_info){.state = *scan.at};
	if (!scan_skip(&scan, 1) || !scan_decimal(&scan, &ppid) || !scan_char(&scan, ' ') ||
	    !scan_decimal(&scan, &group) || !scan_char(&scan, ' ') ||
	    !scan_decimal(&scan, &session)) /* fields 4 to 6 */
		return -EIO;
	if (!scan_skip(&scan, 3) || !scan_decimal(&scan, &flags)) /* field 9 */
		return -EIO;
	if (!scan_skip(&scan, 5) || !scan_decimal(&scan, &user) || !scan_char(&scan, ' ') ||
	    !scan_decimal(&scan, &system)) /* fields 14 and 15 */
		return -EIO;
	if (!scan_skip(&scan, 5) || !scan_decimal(&scan, &threads)) /* field 20 */
		return -EIO;
	if (!scan_skip(&scan, 2) || !scan_decimal(&scan, &start)) /* field 22 */
		return -EIO;
	if (!scan_skip(&scan, 2) || !scan_decimal(&scan, &pages)) /* field 24 */
		return -EIO;
	info->ppid = (int)DT_MIN(ppid, (uint64_t)INT_MAX);
	info->group = (int)DT_MIN(group, (uint64_t)INT_MAX);
	info->session = (int)DT_MIN(session, (uint64_t)INT_MAX);
	info->ending = flags & SCAN_EXITING;
	info->threads = (unsigned)DT_MIN(threads, (uint64_t)UINT_MAX);
	info->cpu_ticks = user + system;
	info->start_ticks = start;
	info->rss = pages * (uint64_t)sysconf(_SC_PAGESIZE);
	return 0;
}

int dt_proc_stat_info(const struct dt_proc *proc, struct dt_proc_info *info)
{
	char text[1024];
	ssize_t length = dt_proc_read(proc, "stat", text, sizeof(text));

	return length < 0 ? (int)length : dt_proc_info_parse(text, (size_t)length, info);
}

/* Fields 26 to 28 and 45 to 51: code, stack, data, heap, arguments and environment. */
uint64_t dt_proc_image_parse(const char *text, size_t length)
{
	const char *close = memrchr(text, ')', length), *from;
	struct scan scan = {.at = close ? close + 1 : text, .end = text + length};
	uint64_t code, hash;

	if (!close || !scan_skip(&scan, 24))
		return 0;
	from = scan.at;
	if (!scan_decimal(&scan, &code) || !code || !scan_skip(&scan, 3))
		return 0;
	hash = dt_hash64(from, (size_t)(scan.at - from), 0);
	if (!scan_skip(&scan, 16))
		return 0;
	from = scan.at;
	return scan_skip(&scan, 7) ? dt_hash64(from, (size_t)(scan.at - from), hash) : 0;
}

int dt_proc_stat_image(const struct dt_proc *proc, struct dt_proc_info *info, uint64_t *program)
{
	char text[1024];
	ssize_t length = dt_proc_read(proc, "stat", text, sizeof(text));

	if (length < 0)
		return (int)length;
	*program = dt_proc_image_parse(text, (size_t)length);
	return dt_proc_info_parse(text, (size_t)length, info);
}

static ssize_t read_stat(int pid, char *text, size_t size)
{
	char name[32];

	snprintf(name, sizeof(name), "/proc/%d/stat", pid);
	return dt_small_file(name, text, size);
}

uint64_t dt_proc_image(int pid)
{
	char text[1024];
	ssize_t length = read_stat(pid, text, sizeof(text));

	return length < 0 ? 0 : dt_proc_image_parse(text, (size_t)length);
}

int dt_proc_glance(int pid, struct dt_proc_info *info)
{
	char text[1024];
	ssize_t length = read_stat(pid, text, sizeof(text));

	return length < 0 ? (int)length : dt_proc_info_parse(text, (size_t)length, info);
}

double dt_proc_age(const struct dt_proc_info *info)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9 -
	       (double)info->start_ticks / (double)sysconf(_SC_CLK_TCK);
}

uint64_t dt_proc_cpu_ns(int pid, const struct dt_proc_info *info)
{
	struct timespec spent;
	clockid_t clock;
	uint64_t ns, ticks;

	if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &spent) != 0)
		return 0;
	ns = (uint64_t)spent.tv_sec * 1000000000u + (uint64_t)spent.tv_nsec;
	ticks = ns / (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
	return ticks + CLOCK_SLACK >= info->cpu_ticks && ticks <= info->cpu_ticks + CLOCK_SLACK ? ns : 0;
}

int dt_proc_clock(const struct dt_proc *proc, clockid_t *clock)
{
	struct dt_proc_info info;
	int rc = dt_proc_stat_info(proc, &info);

	if (rc < 0)
		return rc;
	return dt_proc_cpu_ns(proc->pid, &info) && clock_getcpuclockid(proc->pid, clock) == 0 ? 0 : -ENOTSUP;
}

int dt_proc_info(const struct dt_proc *proc, struct dt_proc_info *info)
{
	struct dt_proc_info result;
	char status[1024]; /* both lines stand before the list of groups, which may be long */
	struct scan scan;
	uint64_t real, effective, tracer;
	ssize_t length;
	int rc = dt_proc_stat_info(proc, &result);

	if (rc < 0)
		return rc;
	length = dt_proc_read(proc, "status", status, sizeof(status));
	if (length < 0)
		return (int)length;
	if (!dt_scan_status(status, "Uid", &scan) || !scan_decimal(&scan, &real) || !scan_char(&scan, '\t') ||
	    !scan_decimal(&scan, &effective) || effective > UINT32_MAX)
		return -EIO;
	result.uid = (uid_t)effective;
	if (dt_scan_status(status, "TracerPid", &scan) && scan_decimal(&scan, &tracer) && tracer <= INT_MAX)
		result.tracer = (int)tracer;
	*info = result;
	return 0;
}

bool dt_proc_borrows_memory(const struct dt_proc *proc)
{
	struct dt_proc_info info;

	return dt_proc_stat_info(proc, &info) == 0 && info.ppid > 0 &&
	       syscall(SYS_kcmp, proc->pid, info.ppid, KCMP_VM, 0, 0) == 0;
}

const char *dt_proc_command(const struct dt_proc *proc, struct dt_arena *arena)
{
	char text[COMMAND_LIMIT];
	ssize_t length = dt_proc_read_cut(proc, "cmdline", text, sizeof(text));

	while (length > 0 && (!text[length - 1] || text[length - 1] == ' '))
		length--;
	if (length > 0) {
		for (char *p = text; (p = memchr(p, '\0', (size_t)(text + length - p)));)
			*p++ = ' ';
		return dt_arena_strndup(arena, text, (size_t)length);
	}
	/* A kernel thread, a zombie, or a program that wiped its arguments. */
	length = dt_proc_read(proc, "comm", text, 256);
	while (length > 0 && text[length - 1] == '\n')
		text[--length] = '\0';
	return length > 0 ? dt_arena_printf(arena, "[%s]", text) : dt_arena_strdup(arena, "");
}

static ssize_t read_link(const struct dt_proc *proc, const char *name, char text[LINK_LIMIT])
{
	ssize_t length = readlinkat(proc->dir, name, text, LINK_LIMIT - 1);

	if (length < 0)
		return -errno;
	text[length] = '\0';
	return length;
}

bool dt_proc_talks(const struct dt_proc *proc, uint64_t fd)
{
	static const char *const kinds[] = {"pipe:[", "socket:[", "/dev/pts/", "/dev/tty", "/dev/console"};
	char name[32], path[LINK_LIMIT];

	if (fd > INT32_MAX)
		return false;
	snprintf(name, sizeof(name), "fd/%d", (int)fd);
	if (read_link(proc, name, path) <= 0)
		return false;
	for (size_t i = 0; i < DT_COUNT(kinds); i++)
		if (!strncmp(path, kinds[i], strlen(kinds[i])))
			return true;
	return false;
}

const char *dt_proc_executable(const struct dt_proc *proc, struct dt_arena *arena)
{
	char path[LINK_LIMIT], root[LINK_LIMIT];
	ssize_t length = read_link(proc, "exe", path), above;
	const size_t mark = sizeof(deleted) - 1;

	if (length <= 0)
		return dt_arena_strdup(arena, "");
	if ((size_t)length > mark && !memcmp(path + length - mark, deleted, mark))
		path[length -= (ssize_t)mark] = '\0';
	/* Of a target in a chroot the kernel shows us the way from our own root. */
	above = read_link(proc, "root", root);
	if (above > 1 && above < length && !memcmp(path, root, (size_t)above) && path[above] == '/')
		return dt_arena_strndup(arena, path + above, (size_t)(length - above));
	return dt_arena_strndup(arena, path, (size_t)length);
}
