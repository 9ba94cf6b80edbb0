/* See result_file.h. */
#include "cli/result_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/file_lock.h"
#include "base/shell.h"
#include "base/util.h"

#define ORDINARY   0666
#define MOST_LINKS 40 /* as the kernel follows */

/* Of the directory that a file is in, with the slash; "" for the current one. */
static size_t folder_length(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (size_t)(slash - path) + 1 : 0;
}

static int cannot_write(const char *path, int why, struct dt_error *err)
{
	dt_fail(err, DT_ERUNTIME, "'%.400s' cannot be written: %s", path, strerror(why));
	if (why == ENOSPC || why == EDQUOT)
		dt_hint(err, "make room there, or give a file on another disk with '-o FILE'");
	else if (why == EACCES || why == EPERM || why == EROFS)
		dt_hint(err, "give a file in a directory where you may write, with '-o FILE'");
	return DT_ERUNTIME;
}

/* Of the directories that a path goes through, cuts it off behind the first that there is, from its end on. False:
 * there is none. */
static bool cut_to_what_is_there(char *folder)
{
	struct stat st;

	for (size_t length = strlen(folder); length; length--) {
		if (folder[length - 1] == '/' || (folder[length] && folder[length] != '/'))
			continue;
		folder[length] = '\0';
		if (stat(folder, &st) == 0)
			return true;
	}
	return false;
}

/* Where a directory is to be, or above it, is a file. */
static bool is_in_a_file(const char *path, struct dt_error *err)
{
	dt_auto_free char *folder = strndup(path, folder_length(path));
	struct stat st;

	if (!folder || !cut_to_what_is_there(folder) || stat(folder, &st) < 0 || S_ISDIR(st.st_mode))
		return false;
	dt_fail(err, DT_EUSAGE, "'%.400s' is a file, no directory: nothing can be written in it", folder);
	dt_hint(err, "give a file in a directory, with '-o FILE'");
	return true;
}

static int cannot_follow(const char *path, int why, struct dt_error *err)
{
	if (why != EACCES)
		return cannot_write(path, why, err);
	dt_fail(err, DT_ERUNTIME, "'%.400s' cannot be written: it is a link that may not be followed", path);
	dt_hint(err, "it is another user's, in a directory where all may write, or leads where you may not go: "
		     "give another file with '-o FILE'");
	return DT_ERUNTIME;
}

static int no_folder(const char *path, struct dt_error *err)
{
	struct dt_buf line = DT_BUF_INIT;
	dt_auto_free char *folder = strndup(path, folder_length(path));

	if (is_in_a_file(path, err))
		return DT_EUSAGE;
	dt_fail(err, DT_EUSAGE, "there is no directory '%.400s'", folder ? folder : "");
	dt_buf_puts(&line, "mkdir -p ");
	if (folder && dt_shell_quote(&line, folder) && !line.failed)
		dt_hint(err, "This makes it:\n    %s", line.data);
	dt_buf_release(&line);
	return DT_EUSAGE;
}

bool dt_result_special(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

/* The name that a link has, where it is: relative to its directory. NULL with errno: EINVAL if it is no link. */
static char *follow(const char *link)
{
	struct dt_buf name = DT_BUF_INIT;
	char to[PATH_MAX], *copy;
	ssize_t length = readlink(link, to, sizeof(to));

	if (length < 0)
		return NULL;
	if (length && to[0] != '/')
		dt_buf_append(&name, link, folder_length(link));
	dt_buf_append(&name, to, (size_t)length);
	copy = name.failed ? NULL : strdup(name.data);
	dt_buf_release(&name);
	return copy;
}

/* A link may be a stranger's, in a directory that is everybody's: what the kernel does not follow
 * (fs.protected_symlinks) is not followed here either. */
char *dt_result_behind(const char *path)
{
	struct stat st;
	int why = stat(path, &st) < 0 && errno != ENOENT ? errno : 0;
	char *real = strdup(path), *next;

	if (dt_result_special(path)) /* it may have no name but that of the link */
		return real;
	for (unsigned i = 0; real && (next = follow(real)); i++) {
		free(real);
		real = next;
		if (i == MOST_LINKS)
			why = ELOOP;
		if (why) {
			free(real);
			errno = why;
			return NULL;
		}
	}
	return real;
}

/* Where the file behind a link would be. */
static int check_behind(const char *path, struct dt_error *err)
{
	dt_auto_free char *real = dt_result_behind(path), *folder = NULL;
	size_t length = real ? folder_length(real) : 0;

	if (!real)
		return cannot_follow(path, errno, err);
	folder = length ? strndup(real, length) : strdup(".");
	if (!folder)
		return dt_fail(err, DT_EMEMORY, "out of memory");
	return access(folder, F_OK) < 0 && (errno == ENOENT || errno == ENOTDIR) ? no_folder(real, err) : 0;
}

int dt_result_check(const char *path, struct dt_error *err)
{
	size_t length = folder_length(path);
	dt_auto_free char *folder = length ? strndup(path, length) : strdup(".");
	struct stat st;

	if (!folder)
		return dt_fail(err, DT_EMEMORY, "out of memory");
	if (stat(folder, &st) < 0 && (errno == ENOENT || errno == ENOTDIR))
		return no_folder(path, err);
	if (!path[length] || (stat(path, &st) == 0 && S_ISDIR(st.st_mode))) {
		dt_fail(err, DT_EUSAGE, "'%.400s' is a directory: a file is needed", path);
		dt_hint(err, "-o %.400s%sNAME.svg names one in it", path, path[length] ? "/" : "");
		return DT_EUSAGE;
	}
	if (access(path, F_OK) == 0 && access(path, W_OK) < 0)
		return cannot_write(path, errno, err);
	return check_behind(path, err);
}

/* The mode that a new file would have here, or that of the one that is replaced: without the bits that would let others
 * run it as the user that it belongs to now. */
static mode_t mode_for(const char *path)
{
	mode_t mask = umask(0);
	struct stat st;

	umask(mask);
	return stat(path, &st) == 0 ? st.st_mode & 0777 : ORDINARY & ~mask;
}

int dt_result_replaceable(const char *path, struct dt_error *err)
{
	/* It may be a pipe by now: nothing is waited for. */
	dt_auto_close int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0 || !dt_file_locked(fd))
		return 0;
	dt_fail(err, DT_ERUNTIME, "'%.400s' is not replaced: another darter is still recording to it", path);
	dt_hint(err, "give each recording a file of its own, with '-o FILE'");
	return DT_ERUNTIME;
}

bool dt_result_is(const char *path, int fd)
{
	struct stat named, open;

	return fstat(fd, &open) == 0 && stat(path, &named) == 0 && named.st_dev == open.st_dev &&
	       named.st_ino == open.st_ino;
}

int dt_result_take(const char *from, int fd, const char *path)
{
	dt_auto_free char *real = dt_result_behind(path);
	struct stat before;
	int why;

	if (!real)
		return -errno;
	if (dt_result_special(real))
		return -EINVAL;
	if (!dt_result_is(from, fd))
		return -ENOENT;
	if (fstat(fd, &before) < 0)
		return -errno;
	/* Where it may not be set, by who does not own the file, it stays as it is. */
	if (fchmod(fd, mode_for(real)) < 0 && errno != EPERM)
		return -errno;
	if (fsync(fd) == 0 && rename(from, real) == 0)
		return 0;
	/* Where it stays it is as private as it was. */
	why = errno;
	return fchmod(fd, before.st_mode & 07777) < 0 ? -errno : -why;
}

static int open_beside(struct dt_result_file *result, struct dt_error *err)
{
	struct dt_buf name = DT_BUF_INIT;
	int fd;

	dt_buf_append(&name, result->path, folder_length(result->path));
	dt_buf_puts(&name, "darter-XXXXXX.tmp");
	result->temporary = name.failed ? NULL : strdup(name.data);
	dt_buf_release(&name);
	if (!result->temporary)
		return dt_fail(err, DT_EMEMORY, "out of memory");
	fd = mkostemps(result->temporary, (int)strlen(".tmp"), O_CLOEXEC);
	if (fd < 0) {
		int why = errno;

		free(result->temporary);
		result->temporary = NULL;
		return cannot_write(result->path, why, err);
	}
	/* It is readable for others only as far as the file will be; where that cannot be set it stays private. */
	if (fchmod(fd, mode_for(result->path)) < 0 && errno != EPERM)
		errno = 0;
	result->file = fdopen(fd, "w");
	if (!result->file)
		close(fd);
	return result->file ? 0 : dt_fail(err, DT_EMEMORY, "out of memory");
}

int dt_result_open(struct dt_result_file *result, const char *path, struct dt_error *err)
{
	int code = dt_result_check(path, err);

	*result = (struct dt_result_file){0};
	if (code)
		return code;
	result->path = dt_result_behind(path);
	if (!result->path)
		return cannot_follow(path, errno, err);
	if (dt_result_special(result->path)) {
		result->file = fopen(result->path, "we");
		code = result->file ? 0 : cannot_write(path, errno, err);
	} else {
		code = open_beside(result, err);
	}
	if (code)
		dt_result_abandon(result);
	return code;
}

int dt_result_name(struct dt_result_file *result, const char *path, struct dt_error *err)
{
	char *copy = strdup(path);

	if (!copy)
		return dt_fail(err, DT_EMEMORY, "out of memory");
	free(result->path);
	result->path = copy;
	return 0;
}

int dt_result_fail(const struct dt_result_file *result, int why, struct dt_error *err)
{
	return cannot_write(result->path, why, err);
}

int dt_result_commit(struct dt_result_file *result, struct dt_error *err)
{
	int code = 0;
	bool good = !ferror(result->file) && fflush(result->file) == 0 &&
		    (!result->temporary || fsync(fileno(result->file)) == 0);
	int why = errno;

	if (fclose(result->file) != 0 && good) {
		good = false;
		why = errno;
	}
	result->file = NULL;
	if (good && result->temporary)
		code = dt_result_replaceable(result->path, err);
	if (good && !code && result->temporary && rename(result->temporary, result->path) < 0) {
		good = false;
		why = errno;
	}
	if (!good)
		code = cannot_write(result->path, why, err);
	if (!code) {
		free(result->temporary);
		result->temporary = NULL;
	}
	dt_result_abandon(result);
	return code;
}

void dt_result_abandon(struct dt_result_file *result)
{
	if (result->file)
		fclose(result->file);
	if (result->temporary)
		unlink(result->temporary);
	free(result->temporary);
	free(result->path);
	*result = (struct dt_result_file){0};
}
