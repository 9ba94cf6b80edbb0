/* See file_lock.h. */
#include "base/file_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static void set(int fd, short kind)
{
	struct flock lock = {.l_type = kind, .l_whence = SEEK_SET};
	int why = errno;
	struct stat st;

	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		fcntl(fd, F_OFD_SETLK, &lock);
	errno = why;
}

void dt_file_lock(int fd)
{
	set(fd, F_WRLCK);
}

void dt_file_unlock(int fd)
{
	set(fd, F_UNLCK);
}

bool dt_file_locked(int fd)
{
	struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};

	return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}
