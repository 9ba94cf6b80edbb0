/*
 * What /proc says of a process. A struct dt_proc holds /proc/PID open as a directory, so that a pid that is used again
 * by another process is noticed (reads fail with ESRCH) instead of being mistaken for the first one. All text is
 * hostile: paths may hold newlines and escapes, and every file has a limit.
 *
 * Functions that return int give 0 or a negative errno here (not DT_E*): the callers above turn them into words.
 */
#ifndef DT_PROC_PROC_H
#define DT_PROC_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/arena.h"
#include "base/buf.h"

struct dt_proc {
	int pid;
	int living; /* one of its threads that has not ended: whose memory to read */
	int dir;    /* /proc/PID, or that of the living thread */
	int first;  /* /proc/PID where dir is that of another thread, else -1 */
};

/* -ESRCH if there is no such process. */
int dt_proc_open(int pid, struct dt_proc *proc);
void dt_proc_release(struct dt_proc *proc);

/* The first thread of a process may end before the others. It stays as a zombie without memory or files, so from then
 * on everything is read through another thread; if that one ends, or an exec made it the first, this is called again.
 * Does nothing for an ordinary process. */
void dt_proc_outlive(struct dt_proc *proc);

/* True once the process is gone, a zombie, or past the point from where it can only end. Asks for the whole process:
 * the thread that it is read through may have ended long before. */
bool dt_proc_ended(const struct dt_proc *proc);

/* Reads a small file of the process ("status", "task/12/stat") into the buffer with one open, one read and one close;
 * the result is NUL-terminated and cut at size - 1. Returns its length or a negative errno. */
ssize_t dt_proc_read(const struct dt_proc *proc, const char *name, char *buffer, size_t size);

/* The same for a file of any size up to limit. -EFBIG beyond. */
int dt_proc_slurp(const struct dt_proc *proc, const char *name, size_t limit, struct dt_buf *out);

/* Opens a file of the target's own file system view: path as the target sees it, through /proc/PID/root. The path comes
 * from the target: never follows it to a device or a FIFO that could block, nor to a file of /proc or the like
 * (-EINVAL). A relative path starts at the target's current directory and may not leave it. Returns a descriptor. */
int dt_proc_open_file(const struct dt_proc *proc, const char *path);

/* The same below a directory (a descriptor) that stands for the root, or, of a relative path, for the current
 * directory. Needs no /proc. */
int dt_open_below(int top, const char *path);

/* ---- threads ----
 * -ESRCH once the thread ended; -ENOTSUP where this kernel has no such file; -EPERM or -EACCES where it may not be read
 * (syscall needs ptrace access, stat and schedstat do not). */

/* Thread ids, ascending as the kernel lists them. The caller frees *tids. */
int dt_proc_threads(const struct dt_proc *proc, int **tids, size_t *count);

/* How many there are, without listing them; 0 if that is not told. */
size_t dt_proc_thread_count(const struct dt_proc *proc);

/* True if the process has such a thread. */
bool dt_thread_exists(const struct dt_proc *proc, int tid);

struct dt_thread_stat {
	char state;         /* R S D Z T t X I ... */
	int processor;      /* CPU it ran on last */
	unsigned policy;    /* SCHED_* */
	int rt_priority;    /* 0 for ordinary threads */
	uint64_t cpu_ticks; /* utime + stime */
	uint64_t start_ticks;
	bool ending; /* it may have no memory any more, though it is not yet a zombie */
	char comm[64];
};
int dt_thread_stat(const struct dt_proc *proc, int tid, struct dt_thread_stat *stat);
/* The same from the text of a stat file. -EIO if it makes no sense. */
int dt_thread_stat_parse(const char *text, size_t length, struct dt_thread_stat *stat);

/* The scheduler's account of a thread. The times go on when a thread leaves a CPU and at ticks of the clock, the count
 * when it is put on a CPU. -ENOTSUP where the kernel does not count. */
struct dt_thread_sched {
	uint64_t ran_ns, waited_ns; /* on a CPU, and ready for one */
	uint64_t slices;            /* how often it was put on a CPU */
};
int dt_thread_sched(const struct dt_proc *proc, int tid, struct dt_thread_sched *sched);
int dt_thread_sched_parse(const char *text, size_t length, struct dt_thread_sched *sched);

/* More of the scheduler's account, from the text of a file "sched". -ENOTSUP where it is not told. */
struct dt_thread_booked {
	uint64_t ns; /* when its time was last booked: that is when it was taken off its CPU, by a clock which only
			those on the same CPU have in common */
	uint64_t slept, put_aside; /* how often it left its CPU of its own, and how often for another one */
};
#define DT_BOOKED_TEXT 4096 /* bytes: where the scheduler keeps statistics the counts stand behind them */
int dt_thread_booked_parse(const char *text, size_t length, struct dt_thread_booked *booked);

/* The count alone. */
int dt_thread_slices(const struct dt_proc *proc, int tid, uint64_t *slices);

/* What the thread does in the kernel, from /proc/PID/task/TID/syscall. */
struct dt_thread_call {
	bool running; /* on a CPU or ready for one; the rest is meaningless */
	long number;  /* system call, -1: blocked outside of one (a page fault) */
	uint64_t args[6];
	uint64_t sp, pc;
};
int dt_thread_call(const struct dt_proc *proc, int tid, struct dt_thread_call *call);
int dt_thread_call_parse(const char *text, size_t length, struct dt_thread_call *call);

/* The thread that traces this one, 0 if none does or it cannot be told. */
int dt_thread_tracer(const struct dt_proc *proc, int tid);
/* The process that a thread of the host belongs to, 0 if it is gone. */
int dt_thread_process(int tid);

/* ---- namespaces ---- */

/* The thread's id in its own innermost PID namespace (last number of NSpid in task/TID/status; tid itself on old
 * kernels). */
int dt_thread_ns_tid(const struct dt_proc *proc, int tid, int *ns_tid);
bool dt_proc_same_pid_ns(const struct dt_proc *proc);

/* ---- memory map ---- */

struct dt_map {
	uint64_t start, end, offset;
	uint64_t inode;
	uint32_t dev_major, dev_minor;
	bool read, write, exec, shared;
	bool deleted;     /* " (deleted)" was behind the path, and is cut off */
	const char *path; /* "" for anonymous memory; unescaped: the kernel writes \012 for a newline */
};
struct dt_maps {
	struct dt_map *maps; /* ascending */
	size_t count;
	struct dt_arena arena;
};
#define DT_MAPS_LIMIT ((size_t)64 << 20)
int dt_maps_read(const struct dt_proc *proc, struct dt_maps *maps);
/* Parses the text of a maps file; lines that make no sense are skipped. For tests and fuzzing too. */
int dt_maps_parse(const char *text, size_t length, struct dt_maps *maps);
void dt_maps_release(struct dt_maps *maps);
const struct dt_map *dt_maps_at(const struct dt_maps *maps, uint64_t address);

/* Whether the process has all of these mappings, equal to the last bit, the first of them as its lowest one. They are
 * asked for one by one, which costs much less than to read the map. Also false where the kernel cannot tell (before
 * 6.11). */
bool dt_maps_has(const struct dt_proc *proc, const struct dt_map *list, size_t count);

/* Opens the file behind a mapping, whatever became of its name: /proc/PID/exe if it is the same inode, then
 * /proc/PID/map_files, then the path through /proc/PID/root if device and inode are the same (on btrfs, overlayfs and
 * bcachefs the inode alone: stat and the map name different devices there). -ENOENT if only memory is left. */
int dt_maps_open_file(const struct dt_proc *proc, const struct dt_map *map);

/* ---- the process ---- */

struct dt_proc_info {
	int ppid, group, session; /* 0: in a PID namespace that we do not see */
	unsigned threads;
	uid_t uid;            /* effective */
	uint64_t rss;         /* bytes */
	uint64_t cpu_ticks;   /* utime + stime of all threads */
	uint64_t start_ticks; /* since boot */
	char state;
	bool ending; /* of the first thread, as in struct dt_thread_stat */
	int tracer;  /* pid of the process that traces it, 0 if none */
};
int dt_proc_info(const struct dt_proc *proc, struct dt_proc_info *info);
/* The same from the text of a stat file, which knows neither uid nor tracer. */
int dt_proc_info_parse(const char *text, size_t length, struct dt_proc_info *info);
/* What the stat file knows: all but uid and tracer, which become 0, for half the price. And of a process that is not
 * open: to ask each of a host costs a third of opening it first. */
int dt_proc_stat_info(const struct dt_proc *proc, struct dt_proc_info *info);
int dt_proc_glance(int pid, struct dt_proc_info *info);
/* Tells one program in a process from the next: it is another one after an exec and the same after a fork, since the
 * kernel puts each program at places of its own. 0: there is none (a kernel thread, one that has ended, or nothing is
 * known); of all that may not be read it is the same. From the text of a stat file. */
uint64_t dt_proc_image_parse(const char *text, size_t length);
uint64_t dt_proc_image(int pid);
/* That and the rest of what the stat file knows, of one reading. */
int dt_proc_stat_image(const struct dt_proc *proc, struct dt_proc_info *info, uint64_t *program);
/* Seconds since it began. */
double dt_proc_age(const struct dt_proc_info *info);

/* CPU time of all threads in nanoseconds, by the kernel's clock of the process: no file, whoever its owner is.
 * To be called right after info was read. 0 where there is no such clock, and where it is another process's, which
 * shows in a time that is not near info's: a pid may be used again, and a /proc of another PID namespace has other
 * pids. */
uint64_t dt_proc_cpu_ns(int pid, const struct dt_proc_info *info);

/* The kernel's clock of all its threads, for clock_gettime(): it goes on when one of them leaves a CPU, and at ticks.
 * -ENOTSUP where there is none, see dt_proc_cpu_ns(). */
int dt_proc_clock(const struct dt_proc *proc, clockid_t *clock);

/* Arguments joined by spaces; the kernel's name in brackets for a process without any. In the arena; NULL if out of
 * memory. */
const char *dt_proc_command(const struct dt_proc *proc, struct dt_arena *arena);
/* Path of the executable as the target's root has it, without " (deleted)"; "" if it cannot be read. */
bool dt_proc_talks(const struct dt_proc *proc, uint64_t fd); /* is it a pipe, a socket or a terminal? */
const char *dt_proc_executable(const struct dt_proc *proc, struct dt_arena *arena);
/* Short text from the cgroup file: "docker 3f4e...", "pod 1234-... container 3f4e...", "containerd ...", "lxc NAME";
 * NULL if none. */
const char *dt_proc_container(const struct dt_proc *proc, struct dt_arena *arena);
/* The same from the text of a cgroup file. */
const char *dt_container_parse(const char *cgroup, struct dt_arena *arena);

/* Does it work in the memory of its parent, as between vfork() and exec()? False where that cannot be told. */
bool dt_proc_borrows_memory(const struct dt_proc *proc);

/* All pids of the host, ascending. The caller frees *pids. */
int dt_proc_list(int **pids, size_t *count);

#endif
