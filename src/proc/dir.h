/* What the files of this room share and nobody else needs. */
#ifndef DT_PROC_DIR_H
#define DT_PROC_DIR_H

#include "proc/proc.h"

/* Like dt_proc_read, with as many reads as the file needs; what is beyond size - 1 is cut off. */
ssize_t dt_proc_read_cut(const struct dt_proc *proc, const char *name, char *buffer, size_t size);

/* All names of the directory that are numbers, ascending. The caller frees *numbers. */
int dt_dir_numbers(int fd, int **numbers, size_t *count);

/* Opens a file of a thread ("stat"); its name has at most 10 letters. -ESRCH once the thread ended, -ENOTSUP where this
 * kernel has no such file, or another negative errno. */
int dt_thread_open(const struct dt_proc *proc, int tid, const char *name);

/* Opens a path below a directory, without openat2 and as that would: absolute, the directory is its root, for links and
 * ".." too; else -EXDEV for what leads out of it. What the path leads to is never a link that is followed. */
int dt_follow_below(int top, const char *path, bool absolute, int flags);

/* The file behind a link of /proc/PID ("exe", "map_files/..."), if it is a regular file: nothing else is ever opened.
 */
int dt_proc_open_link(const struct dt_proc *proc, const char *name, uint64_t inode, unsigned dev_major,
		      unsigned dev_minor);

/* dt_proc_open_file, if inode and device are those of a mapping. -ESTALE otherwise. */
int dt_proc_open_same(const struct dt_proc *proc, const char *path, uint64_t inode, unsigned dev_major,
		      unsigned dev_minor);

#endif
