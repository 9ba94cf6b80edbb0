/* Files that are kept open: see thread_files.h. */
#include "proc/thread_files.h"

#include <errno.h>
#include <limits.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/util.h"
#include "proc/dir.h"

#define TEXT_LIMIT 1024 /* of the longest of those that are read most, stat */
#define LEFT_FREE  32   /* descriptors, for all else that has to be opened: by looks, by those who join, for results */

void dt_thread_files_init(struct dt_thread_files *files, const struct dt_proc *proc, int tid)
{
	*files = (struct dt_thread_files){.proc = proc, .tid = tid, .stat = -1, .sched = -1, .call = -1, .booked = -1};
}

static void close_file(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void dt_thread_files_release(struct dt_thread_files *files)
{
	close_file(&files->stat);
	close_file(&files->sched);
	close_file(&files->call);
	close_file(&files->booked);
}

/* Descriptors from this number on are not kept. The limit is asked for once: it may be raised before, not after. */
static int keep_below(void)
{
	static _Atomic int known; /* the number, and 1 so that it is not 0 */
	struct rlimit limit;
	rlim_t most = INT_MAX - 1;

	if (known)
		return known - 1;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
		most = DT_MIN(limit.rlim_cur, most);
	known = (int)(most > LEFT_FREE ? most - LEFT_FREE : 0) + 1;
	return known - 1;
}

static ssize_t read_now(const struct dt_thread_files *files, int *fd, const char *name, char *text, size_t size)
{
	int used = *fd;
	ssize_t got;

	if (used < 0)
		used = dt_thread_open(files->proc, files->tid, name);
	if (used < 0)
		return used;
	do
		got = pread(used, text, size - 1, 0);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		got = -errno;
	if (used < keep_below())
		*fd = used;
	else
		close(used);
	if (got <= 0)
		return got < 0 ? got : -ESRCH;
	text[got] = '\0';
	return got;
}

int dt_thread_stat_now(struct dt_thread_files *files, struct dt_thread_stat *stat)
{
	char text[TEXT_LIMIT];
	ssize_t length = read_now(files, &files->stat, "stat", text, sizeof(text));

	return length < 0 ? (int)length : dt_thread_stat_parse(text, (size_t)length, stat);
}

int dt_thread_sched_now(struct dt_thread_files *files, struct dt_thread_sched *sched)
{
	char text[TEXT_LIMIT];
	ssize_t length = read_now(files, &files->sched, "schedstat", text, sizeof(text));

	return length < 0 ? (int)length : dt_thread_sched_parse(text, (size_t)length, sched);
}

int dt_thread_call_now(struct dt_thread_files *files, struct dt_thread_call *call)
{
	char text[TEXT_LIMIT];
	ssize_t length = read_now(files, &files->call, "syscall", text, sizeof(text));

	return length < 0 ? (int)length : dt_thread_call_parse(text, (size_t)length, call);
}

int dt_thread_booked_now(struct dt_thread_files *files, struct dt_thread_booked *booked)
{
	char text[DT_BOOKED_TEXT];
	ssize_t length = read_now(files, &files->booked, "sched", text, sizeof(text));

	return length < 0 ? (int)length : dt_thread_booked_parse(text, (size_t)length, booked);
}
