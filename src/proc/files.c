/*
 * Opens files that a target names. The names are hostile: nothing but a regular file is ever opened (opening a device
 * or a FIFO can block or do things), nothing that the kernel makes up while it is read (/proc/kmsg is a "regular
 * file"), and no symbolic link leads out of the target's root into ours. So the way is: find it with O_PATH, which
 * opens nothing, look at what it is, and only then open that very file.
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

/* `path_fd` was opened with O_PATH. A descriptor for reading, if the file is one that may be read and, where an
 * identity is given, that one. */
static int open_checked(int path_fd, const struct identity *wanted)
{
	struct statfs fs;
	struct stat st;
	char again[32];
	int fd;

	if (fstat(path_fd, &st) || fstatfs(path_fd, &fs))
		return -errno;
	if (!S_ISREG(st.st_mode) || made_by_kernel((uint32_t)fs.f_type))
		return -EINVAL;
	if (wanted) {
		bool same_device = major(st.st_dev) == wanted->dev_major && minor(st.st_dev) == wanted->dev_minor;

		if (st.st_ino != wanted->inode || (!same_device && !has_two_devices((uint32_t)fs.f_type)))
			return -ESTALE;
	}
	snprintf(again, sizeof(again), "/proc/self/fd/%d", path_fd);
	fd = open(again, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int find_below(int top, const char *path, bool absolute)
{
	struct open_how how = {
	    .flags = O_PATH | O_CLOEXEC,
	    .resolve = RESOLVE_NO_MAGICLINKS | (absolute ? RESOLVE_IN_ROOT : RESOLVE_BENEATH),
	};
	int fd;

	for (int tries = 0; tries < 8; tries++) {
		fd = (int)syscall(SYS_openat2, top, path, &how, sizeof(how));
		/* EAGAIN: something was renamed on the way, and the kernel could not be sure of the root. */
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	if (fd >= 0)
		return fd;
	if (errno != ENOSYS && errno != EPERM)
		return -errno;
	/* An old kernel, or a filter that does not know the call. Absolute links then start at our own root. */
	while (*path == '/')
		path++;
	fd = openat(top, *path ? path : ".", O_PATH | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Absolute paths start at the target's root, others at its current directory, which they may not leave. */
static int find_path(const struct dt_proc *proc, const char *path)
{
	bool absolute = path[0] == '/';
	dt_auto_close int top = openat(proc->dir, absolute ? "root" : "cwd", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return top < 0 ? -errno : find_below(top, path, absolute);
}

static int open_path(const struct dt_proc *proc, const char *path, const struct identity *wanted)
{
	dt_auto_close int fd = find_path(proc, path);

	return fd < 0 ? fd : open_checked(fd, wanted);
}

int dt_proc_open_file(const struct dt_proc *proc, const char *path)
{
	return open_path(proc, path, NULL);
}

int dt_open_below(int root, const char *path)
{
	dt_auto_close int fd = path[0] == '/' ? find_below(root, path, true) : -ENOENT;

	return fd < 0 ? fd : open_checked(fd, NULL);
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

	return fd < 0 ? -errno : open_checked(fd, &(struct identity){inode, dev_major, dev_minor});
}
