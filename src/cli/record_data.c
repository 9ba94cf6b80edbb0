/*
 * The file that a recording is written to while it goes on. It is a .darter file at any moment, so whatever happens to
 * us there is something to report from: it lies beside the output, under a name that says what it belongs to, and is
 * removed when the output has been written. A file that is there already is never touched.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/util.h"
#include "cli/record.h"
#include "cli/result_file.h"

#define PART  ".part.darter"
#define MOST  1000 /* names that are tried */
#define COPY  ((size_t)64 << 10)
#define PROBE 4096

/* Directories where something may be written, from the best on; NULL behind the last. */
static const char *place(size_t i)
{
	static const char *const usual[] = {"/tmp", "/var/tmp", "/dev/shm"};
	const char *named = getenv(i ? "HOME" : "TMPDIR");

	if (i == 0 || i == DT_COUNT(usual) + 1)
		return named && named[0] == '/' ? named : "";
	return i <= DT_COUNT(usual) ? usual[i - 1] : NULL;
}

static int take(struct dt_data *data, const char *path, int fd)
{
	data->path = strdup(path);
	data->fd = fd;
	data->final = false;
	if (data->path)
		return 0;
	close(fd);
	unlink(path);
	return DT_EMEMORY;
}

/* A new file in a directory for such ones. */
static int open_in(struct dt_data *data, const char *folder)
{
	struct dt_buf name = DT_BUF_INIT;
	int fd = -1, code;

	dt_buf_printf(&name, "%s/darter-XXXXXX.darter", folder);
	if (!name.failed)
		fd = mkostemps(name.data, (int)strlen(".darter"), O_CLOEXEC);
	code = fd < 0 ? DT_ERUNTIME : take(data, name.data, fd);
	dt_buf_release(&name);
	return code;
}

static int open_anywhere(struct dt_data *data, struct dt_error *err)
{
	const char *folder;
	int why = ENOENT;

	for (size_t i = 0; (folder = place(i)); i++) {
		if (*folder && open_in(data, folder) == 0)
			return 0;
		why = *folder ? errno : why;
	}
	dt_fail(err, DT_ERUNTIME, "there is no place for the recording: %s", strerror(why));
	dt_hint(err, "TMPDIR may name a directory where there is room");
	return DT_ERUNTIME;
}

static bool is_full(int why)
{
	return why == ENOSPC || why == EDQUOT;
}

/* A directory may have room for a file where there is none for a byte in it. 0, or why the disk is full; what else may
 * be the matter is found by who writes. */
static int fullness(int fd)
{
	static const char probe[PROBE];
	int why = pwrite(fd, probe, sizeof(probe), 0) < 0 ? errno : 0;

	if (ftruncate(fd, 0) < 0 && !why)
		why = errno;
	return is_full(why) ? why : 0;
}

/* A disk that is full from the beginning is none of those: the first one that has room. */
static int open_with_room(struct dt_data *data)
{
	const char *folder;

	for (size_t i = 0; (folder = place(i)); i++) {
		if (!*folder || open_in(data, folder) < 0)
			continue;
		if (!fullness(data->fd))
			return 0;
		dt_data_remove(data);
	}
	return DT_ERUNTIME;
}

static int cannot_open(const char *path, int why, struct dt_error *err)
{
	dt_fail(err, DT_ERUNTIME, "'%.400s' cannot be written: %s", path, strerror(why));
	dt_hint(err, "%s, with '-o FILE'",
		is_full(why) ? "make room there, or give a file on another disk"
			     : "give a file in a directory where you may write");
	return DT_ERUNTIME;
}

/* OUTPUT.part.darter, or if there is one already OUTPUT.part-2.darter and so on; of a link beside the file that it
 * names. 0 or -errno. */
static int open_beside(struct dt_data *data, const char *output)
{
	dt_auto_free char *real = dt_result_behind(output);
	struct dt_buf name = DT_BUF_INIT;
	int fd = -1, why = real ? 0 : errno;

	for (unsigned i = 1; real && fd < 0 && i <= MOST; i++) {
		dt_buf_clear(&name);
		if (i == 1)
			dt_buf_printf(&name, "%s" PART, real);
		else
			dt_buf_printf(&name, "%s.part-%u.darter", real, i);
		errno = ENOMEM;
		if (!name.failed)
			fd = open(name.data, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		why = errno;
		if (fd < 0 && why != EEXIST)
			break;
	}
	if (fd >= 0)
		why = take(data, name.data, fd) ? ENOMEM : 0;
	dt_buf_release(&name);
	return -why;
}

int dt_data_open(struct dt_data *data, const char *output, bool recording, struct dt_error *err)
{
	int fd, why;

	*data = (struct dt_data){.fd = -1};
	if (!output || dt_result_special(output))
		return open_anywhere(data, err);
	fd = recording ? open(output, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666) : -1;
	why = fd < 0 ? -open_beside(data, output) : take(data, output, fd) ? ENOMEM : 0;
	data->final = fd >= 0 && !why;
	if (!why) {
		why = fullness(data->fd);
		if (why)
			dt_data_remove(data);
	}
	if (is_full(why) && open_with_room(data) == 0) {
		data->full = why;
		return 0;
	}
	return why ? cannot_open(output, why, err) : 0;
}

static bool copy(int from, int to)
{
	char bytes[COPY];
	off_t at = 0;
	ssize_t got;

	while ((got = pread(from, bytes, sizeof(bytes), at)) > 0) {
		for (ssize_t done = 0; done < got;) {
			ssize_t put = write(to, bytes + done, (size_t)(got - done));

			if (put < 0 && errno == EINTR)
				continue;
			if (put <= 0)
				return false;
			done += put;
		}
		at += got;
	}
	return got == 0;
}

/* On another disk than the one that is full. */
static bool on_same_disk(const struct dt_data *data, const char *folder)
{
	struct stat here, there;

	return fstat(data->fd, &here) < 0 || stat(folder, &there) < 0 || here.st_dev == there.st_dev;
}

const char *dt_data_other_folder(const struct dt_data *data)
{
	const char *folder;

	for (size_t i = 0; (folder = place(i)); i++)
		if (*folder && !on_same_disk(data, folder) && access(folder, W_OK) == 0)
			return folder;
	return NULL;
}

/* Copies all that was written; recording: which goes on there, NULL: it has ended. False: the other file is removed. */
static bool go_on_in(struct dt_data *data, struct dt_data *other, struct dt_recording *recording)
{
	bool good = copy(data->fd, other->fd);

	if (good && recording) {
		dt_record_resume(recording, other->fd);
		good = dt_record_flush(recording, NULL) == 0;
		if (!good)
			dt_record_resume(recording, data->fd);
	}
	if (!good) {
		dt_data_remove(other);
		return false;
	}
	dt_data_remove(data);
	*data = *other;
	return true;
}

int dt_data_elsewhere(struct dt_data *data, struct dt_recording *recording, struct dt_error *err)
{
	const char *folder;

	for (size_t i = 0; (folder = place(i)); i++) {
		struct dt_data other = {.fd = -1};

		/* A file without a name may have been removed to make room. */
		if (!*folder || (on_same_disk(data, folder) && dt_data_named(data)) || open_in(&other, folder) < 0)
			continue;
		if (go_on_in(data, &other, recording))
			return 0;
	}
	return dt_fail(err, DT_ERUNTIME, "there is no other place for the recording");
}

bool dt_data_named(const struct dt_data *data)
{
	return data->path && dt_result_is(data->path, data->fd);
}

int dt_data_name_again(struct dt_data *data, const char *output, struct dt_recording *recording)
{
	struct dt_data other = {.fd = -1};
	const char *folder;

	if (output && !dt_result_special(output) && open_beside(&other, output) == 0 &&
	    go_on_in(data, &other, recording))
		return 0;
	for (size_t i = 0; (folder = place(i)); i++)
		if (*folder && open_in(&other, folder) == 0 && go_on_in(data, &other, recording))
			return 0;
	return DT_ERUNTIME;
}

void dt_data_remove(struct dt_data *data)
{
	if (dt_data_named(data))
		unlink(data->path);
	dt_data_release(data);
}

void dt_data_release(struct dt_data *data)
{
	if (data->fd >= 0)
		close(data->fd);
	free(data->path);
	*data = (struct dt_data){.fd = -1};
}
