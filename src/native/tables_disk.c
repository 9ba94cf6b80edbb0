/* Tables on disk: see tables.h. A file appears whole or not at all, and is checked as a whole when it is read. */
#include "native/tables_disk.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/util.h"

#define PIECE     (64u << 10)
#define FILE_MOST (DT_CFI_ROWS_LIMIT * sizeof(struct dt_cfi_row) + 64)

/* Ours, and nobody else's to write. */
static bool is_safe(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & (S_IWGRP | S_IWOTH));
}

/* The directory below another one, made if need be. Takes the other one's descriptor. */
static int enter(int above, const char *name)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd = -1;

	if (above < 0)
		return -1;
	if (is_safe(above)) {
		fd = openat(above, name, flags);
		if (fd < 0 && errno == ENOENT && mkdirat(above, name, 0700) == 0)
			fd = openat(above, name, flags);
	}
	close(above);
	return fd;
}

int dt_tables_folder(void)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
	int fd = -1;

	if (cache && cache[0] == '/')
		fd = open(cache, flags);
	else if (home && home[0] == '/')
		fd = enter(open(home, flags), ".cache");
	fd = enter(enter(fd, "darter"), "unwind");
	if (fd >= 0 && !is_safe(fd)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Two hashes of a section: one alone could be met by chance among very many files. */
static int hash_section(struct dt_elf *elf, const char *section, uint64_t sums[2])
{
	dt_auto_free uint8_t *piece = malloc(PIECE);
	struct dt_elf_range range;
	int rc = piece ? dt_elf_section(elf, section, &range) : -ENOMEM;

	if (rc < 0)
		return rc;
	if (range.size > DT_CFI_SECTION_LIMIT)
		return -EFBIG;
	for (uint64_t at = 0; at < range.size && rc == 0; at += PIECE) {
		size_t size = (size_t)DT_MIN(range.size - at, (uint64_t)PIECE);

		rc = dt_elf_bytes(elf, range.offset + at, piece, size);
		sums[0] = rc == 0 ? dt_hash64(piece, size, sums[0]) : 0;
		sums[1] = rc == 0 ? dt_hash64(piece, size, ~sums[1]) : 0;
	}
	sums[0] = dt_hash64(&range, sizeof(range), sums[0]);
	return rc;
}

int dt_tables_name(struct dt_elf *elf, char name[DT_TABLES_NAME])
{
	uint64_t sums[2] = {dt_elf_machine(elf), dt_elf_type(elf)};
	int rc = hash_section(elf, ".eh_frame", sums);

	/* How calls through the linkage table look is a part of the table as well, and where code is. */
	for (size_t i = 0; rc == 0 && i < dt_elf_segment_count(elf); i++) {
		struct dt_elf_segment segment = dt_elf_segment(elf, i);

		sums[1] = dt_hash64(&segment, sizeof(segment), sums[1]);
	}
	if (rc == 0)
		snprintf(name, DT_TABLES_NAME, "%016" PRIx64 "%016" PRIx64 ".%d", sums[0], sums[1], DT_CFI_VERSION);
	return rc;
}

int dt_tables_fetch(int folder, const char *name, struct dt_cfi *table)
{
	dt_auto_close int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	dt_auto_free char *bytes = NULL;
	struct stat st;
	ssize_t got;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || !is_safe(fd) || (uint64_t)st.st_size > FILE_MOST)
		return -EBADMSG;
	bytes = malloc((size_t)st.st_size + 1);
	if (!bytes)
		return -ENOMEM;
	got = pread(fd, bytes, (size_t)st.st_size, 0);
	return got == st.st_size ? dt_cfi_decode(bytes, (size_t)got, table) : -EBADMSG;
}

static bool write_whole(int fd, const char *bytes, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t wrote = write(fd, bytes + done, size - done);

		if (wrote <= 0)
			return false;
		done += (size_t)wrote;
	}
	return true;
}

void dt_tables_store(int folder, const char *name, const struct dt_cfi *table)
{
	struct dt_buf buf = DT_BUF_INIT;
	char work[DT_TABLES_NAME + 16];
	int fd;

	snprintf(work, sizeof(work), "%s.%d", name, (int)gettid());
	fd = openat(folder, work, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	dt_cfi_encode(table, &buf);
	if (buf.failed || !write_whole(fd, buf.data, buf.length) || renameat(folder, work, folder, name))
		unlinkat(folder, work, 0);
	close(fd);
	dt_buf_release(&buf);
}
