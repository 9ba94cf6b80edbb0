/*
 * A path followed below a directory without the kernel's help, name by name: where openat2 is not known or not allowed.
 * What must stay true: no directory is entered but from the one above it, by a name that is no link; the way back is
 * the way that was come (never the name "..", which a directory that is moved meanwhile has elsewhere); and the text of
 * a link is followed like the path itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"
#include "proc/dir.h"

#define DEPTH 128 /* directories below each other; a descriptor each */
#define LINKS 40  /* as many as the kernel follows */

struct trail {
	int fds[DEPTH]; /* from the top, which is the caller's, down */
	size_t depth;
	bool absolute;
	unsigned links;
	char rest[PATH_MAX]; /* of the path */
};

/* Cuts trail->rest short by its first name. False at the end of the path. */
static bool take_name(struct trail *trail, char name[PATH_MAX])
{
	const char *from = trail->rest + strspn(trail->rest, "/");
	size_t length = strcspn(from, "/");

	memcpy(name, from, length);
	name[length] = '\0';
	memmove(trail->rest, from + length, strlen(from + length) + 1);
	return length > 0;
}

static void leave(struct trail *trail, size_t depth)
{
	while (trail->depth > depth)
		close(trail->fds[--trail->depth]);
}

/* Puts the text of a link before the rest of the path. */
static int follow_link(struct trail *trail, int link)
{
	char text[PATH_MAX];
	ssize_t length = readlinkat(link, "", text, sizeof(text));
	size_t rest = strlen(trail->rest);

	if (length < 0)
		return -errno;
	if (++trail->links > LINKS)
		return -ELOOP;
	if ((size_t)length + rest >= sizeof(trail->rest))
		return -ENAMETOOLONG;
	if (length && text[0] == '/') {
		if (!trail->absolute)
			return -EXDEV;
		leave(trail, 1);
	}
	memmove(trail->rest + length, trail->rest, rest + 1);
	memcpy(trail->rest, text, (size_t)length);
	return 0;
}

static int go_up(struct trail *trail)
{
	if (trail->depth == 1)
		return trail->absolute ? 0 : -EXDEV;
	leave(trail, trail->depth - 1);
	return 0;
}

/* One name: into a directory, along a link, or to something else, where the path must end. 1: it has ended. */
static int step(struct trail *trail, const char *name)
{
	int fd = openat(trail->fds[trail->depth - 1], name, O_PATH | O_NOFOLLOW | O_CLOEXEC), rc = 0;
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		rc = -errno;
	else if (S_ISLNK(st.st_mode))
		rc = follow_link(trail, fd);
	else if (!S_ISDIR(st.st_mode))
		rc = trail->rest[0] ? -ENOTDIR : 1;
	else if (trail->depth == DEPTH)
		rc = -ENAMETOOLONG;
	else {
		trail->fds[trail->depth++] = fd;
		return 0;
	}
	close(fd);
	return rc;
}

int dt_follow_below(int top, const char *path, bool absolute, int flags)
{
	struct trail trail = {.fds = {top}, .depth = 1, .absolute = absolute};
	size_t length = strlen(path);
	char name[PATH_MAX];
	int rc = length ? 0 : -ENOENT;

	if (length >= sizeof(trail.rest))
		return -ENAMETOOLONG;
	memcpy(trail.rest, path, length + 1);
	while (rc == 0 && take_name(&trail, name)) {
		if (!strcmp(name, ".."))
			rc = go_up(&trail);
		else if (strcmp(name, ".") != 0)
			rc = step(&trail, name);
	}
	if (rc >= 0) {
		rc = openat(trail.fds[trail.depth - 1], rc ? name : ".", flags | O_NOFOLLOW | O_CLOEXEC);
		rc = rc < 0 ? -errno : rc;
	}
	leave(&trail, 1);
	return rc;
}
