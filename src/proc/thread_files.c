/* Files that are kept open: see thread_files.h. */
#include "proc/thread_files.h"

#include <errno.h>
#include <unistd.h>

#include "proc/dir.h"

#define TEXT_LIMIT 1024 /* of the longest of them, stat */

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

/* Reads through *fd. -EMFILE: it could not be kept open, the caller asks in the other way. */
static ssize_t read_now(const struct dt_thread_files *files, int *fd, const char *name, char text[TEXT_LIMIT])
{
	ssize_t got;

	if (*fd < 0) {
		int opened = dt_thread_open(files->proc, files->tid, name);

		if (opened < 0)
			return opened == -ENFILE ? -EMFILE : opened;
		*fd = opened;
	}
	do
		got = pread(*fd, text, TEXT_LIMIT - 1, 0);
	while (got < 0 && errno == EINTR);
	if (got <= 0)
		return got < 0 ? -errno : -ESRCH;
	text[got] = '\0';
	return got;
}

int dt_thread_stat_now(struct dt_thread_files *files, struct dt_thread_stat *stat)
{
	char text[TEXT_LIMIT];
	ssize_t length = read_now(files, &files->stat, "stat", text);

	if (length == -EMFILE)
		return dt_thread_stat(files->proc, files->tid, stat);
	return length < 0 ? (int)length : dt_thread_stat_parse(text, (size_t)length, stat);
}

int dt_thread_sched_now(struct dt_thread_files *files, struct dt_thread_sched *sched)
{
	char text[TEXT_LIMIT];
	ssize_t length = read_now(files, &files->sched, "schedstat", text);

	if (length == -EMFILE)
		return dt_thread_sched(files->proc, files->tid, sched);
	return length < 0 ? (int)length : dt_thread_sched_parse(text, (size_t)length, sched);
}

int dt_thread_call_now(struct dt_thread_files *files, struct dt_thread_call *call)
{
	char text[TEXT_LIMIT];
	ssize_t length = read_now(files, &files->call, "syscall", text);

	if (length == -EMFILE)
		return dt_thread_call(files->proc, files->tid, call);
	return length < 0 ? (int)length : dt_thread_call_parse(text, (size_t)length, call);
}

int dt_thread_booked_now(struct dt_thread_files *files, struct dt_thread_booked *booked)
{
	char text[TEXT_LIMIT];
	ssize_t length = read_now(files, &files->booked, "sched", text);

	return length < 0 ? (int)length : dt_thread_booked_parse(text, (size_t)length, booked);
}
