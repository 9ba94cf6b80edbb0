/*
 * Opens files that a target names. The names are hostile: nothing but a regular file is ever opened (opening a device
 * or a FIFO can block or do things), nothing that the kernel makes up while it is read (/proc/kmsg is a "regular
 * file"), and no symbolic link leads out of the target's root into ours. So the way is: find it with O_PATH, which
 * opens nothing, look at what it is, and only then open that very file: through /proc, or where that is not mounted
 * (a core is read without it) by its path once more.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/util.h"
#include "proc/dir.h"

#ifndef BCACHEFS_SUPER_MAGIC
#define BCACHEFS_SUPER_MAGIC 0xca451a4e
#endif

static bool made_by_kernel(uint32_t type)
{
	static const uint32_t types[] = {
	    PROC_SUPER_MAGIC,   SYSFS_MAGIC,         DEBUGFS_MAGIC,  TRACEFS_MAGIC,  SECURITYFS_MAGIC,
	    CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, PSTOREFS_MAGIC, EFIVARFS_MAGIC, BPF_FS_MAGIC,
	    BINFMTFS_MAGIC,     SELINUX_MAGIC,       SMACK_MAGIC,    NSFS_MAGIC,     DEVPTS_SUPER_MAGIC,
	};

	for (size_t i = 0; i < DT_COUNT(types); i++)
		if (types[i] == type)
			return true;
	return false;
}

/* File systems whose stat() gives another device than the memory map: a subvolume's or a layer's own. */
static bool has_two_devices(uint32_t type)
{
	return type == BTRFS_SUPER_MAGIC || type == OVERLAYFS_SUPER_MAGIC || type == BCACHEFS_SUPER_MAGIC;
}

struct identity {
	uint64_t inode;
	unsigned dev_major, dev_minor;
};

/* A path below a directory. Absolute: the directory is its root; else it may not leave it. */
struct place {
	int top;
	const char *path;
	bool absolute;
};

static int open_below(const struct place *place, int flags)
{
	struct open_how how = {
	    .flags = (uint64_t)(flags | O_CLOEXEC),
	    .resolve = RESOLVE_NO_MAGICLINKS | (place->absolute ? RESOLVE_IN_ROOT : RESOLVE_BENEATH),
	};
	int fd;

	for (int tries = 0; tries < 8; tries++) {
		fd = (int)syscall(SYS_openat2, place->top, place->path, &how, sizeof(how));
		/* EAGAIN: something was renamed on the way, and the kernel could not be sure of the root. */
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	if (fd >= 0)
		return fd;
	if (errno != ENOSYS && errno != EPERM)
		return -errno;
	/* An old kernel, or a filter that does not know the call. */
	return dt_follow_below(place->top, place->path, place->absolute, flags);
}

/* Opens what was found and looked at. Without /proc it is found a second time: if it was replaced just then, by a
 * device even, that one is opened without waiting, and closed unread. */
static int open_found(int path_fd, const struct stat *found, const struct place *place)
{
	const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY;
	char again[32];
	struct stat st;
	int fd;

	snprintf(again, sizeof(again), "/proc/self/fd/%d", path_fd);
	fd = open(again, flags | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	if (errno != ENOENT || !place)
		return -errno;
	fd = open_below(place, flags);
	if (fd < 0 || (fstat(fd, &st) == 0 && st.st_dev == found->st_dev && st.st_ino == found->st_ino))
		return fd;
	close(fd);
	return -ESTALE;
}

/* `path_fd` was opened with O_PATH, at a place or by a link of /proc (NULL). A descriptor for reading, if the file is
 * one that may be read and, where an identity is given, that one. */
static int open_checked(int path_fd, const struct place *place, const struct identity *wanted)
{
	struct statfs fs;
	struct stat st;

	if (fstat(path_fd, &st) || fstatfs(path_fd, &fs))
		return -errno;
	if (!S_ISREG(st.st_mode) || made_by_kernel((uint32_t)fs.f_type))
		return -EINVAL;
	if (wanted) {
		bool same_device = major(st.st_dev) == wanted->dev_major && minor(st.st_dev) == wanted->dev_minor;

		if (st.st_ino != wanted->inode || (!same_device && !has_two_devices((uint32_t)fs.f_type)))
			return -ESTALE;
	}
	return open_found(path_fd, &st, place);
}

static int open_place(const struct place *place, const struct identity *wanted)
{
	dt_auto_close int fd = open_below(place, O_PATH);

	return fd < 0 ? fd : open_checked(fd, place, wanted);
}

/* Absolute paths start at the target's root, others at its current directory, which they may not leave. */
static int open_path(const struct dt_proc *proc, const char *path, const struct identity *wanted)
{
	bool absolute = path[0] == '/';
	dt_auto_close int top = openat(proc->dir, absolute ? "root" : "cwd", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return top < 0 ? -errno : open_place(&(struct place){top, path, absolute}, wanted);
}

int dt_proc_open_file(const struct dt_proc *proc, const char *path)
{
	return open_path(proc, path, NULL);
}

int dt_open_below(int top, const char *path)
{
	return open_place(&(struct place){top, path, path[0] == '/'}, NULL);
}

int dt_proc_open_same(const struct dt_proc *proc, const char *path, uint64_t inode, unsigned dev_major,
		      unsigned dev_minor)
{
	return open_path(proc, path, &(struct identity){inode, dev_major, dev_minor});
}

int dt_proc_open_link(const struct dt_proc *proc, const char *name, uint64_t inode, unsigned dev_major,
		      unsigned dev_minor)
{
	dt_auto_close int fd = openat(proc->dir, name, O_PATH | O_CLOEXEC);

	return fd < 0 ? -errno : open_checked(fd, NULL, &(struct identity){inode, dev_major, dev_minor});
}
