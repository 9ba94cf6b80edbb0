#include "native/debug_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "proc/proc.h"

#define PATH_LIMIT 4096

/* What a file must be. */
struct wanted {
	uint8_t id[64];
	size_t id_length;
	uint16_t machine;
	bool has_crc;
	uint32_t crc;
};

/* That of gzip and of .gnu_debuglink, four bits at a time. */
static uint32_t crc32_of(uint32_t crc, const uint8_t *bytes, size_t size)
{
	static const uint32_t table[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
					   0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
					   0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};

	crc = ~crc;
	for (size_t i = 0; i < size; i++) {
		crc = table[(crc ^ bytes[i]) & 15] ^ crc >> 4;
		crc = table[(crc ^ bytes[i] >> 4) & 15] ^ crc >> 4;
	}
	return ~crc;
}

static bool has_crc(int fd, uint32_t wanted)
{
	uint8_t bytes[16384];
	uint32_t crc = 0;

	for (uint64_t at = 0; at <= DT_DEBUG_FILE_CRC_LIMIT;) {
		ssize_t got = pread(fd, bytes, sizeof(bytes), (off_t)at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got == 0 && crc == wanted;
		crc = crc32_of(crc, bytes, (size_t)got);
		at += (uint64_t)got;
	}
	return false;
}

static bool fits(const struct wanted *wanted, int fd, struct dt_elf *elf)
{
	struct dt_elf_range section;
	uint8_t id[64];
	size_t length = dt_elf_build_id(elf, id);

	if (dt_elf_machine(elf) != wanted->machine || dt_elf_section(elf, ".symtab", &section) < 0)
		return false;
	if (length || wanted->id_length)
		return length == wanted->id_length && !memcmp(id, wanted->id, length);
	return wanted->has_crc && has_crc(fd, wanted->crc);
}

/* Takes fd over. 0, -ENOENT or -ENOMEM. */
static int try_file(const struct wanted *wanted, int fd, struct dt_debug_file *file)
{
	struct dt_elf *elf = NULL;
	int rc = fd < 0 ? -ENOENT : dt_elf_open(fd, &elf);

	if (rc == 0 && fits(wanted, fd, elf)) {
		*file = (struct dt_debug_file){.fd = fd, .elf = elf};
		return 0;
	}
	dt_elf_free(elf);
	if (fd >= 0)
		close(fd);
	return rc == -ENOMEM ? rc : -ENOENT;
}

/* A path below a directory; it comes from the target, and may be too long. */
__attribute__((format(printf, 4, 5))) static int try_path(const struct wanted *wanted, int top,
							  struct dt_debug_file *file, const char *format, ...)
{
	char path[PATH_LIMIT];
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	if (length < 0 || (size_t)length >= sizeof(path))
		return -ENOENT;
	return try_file(wanted, dt_open_below(top, path), file);
}

static void put_id(const struct wanted *wanted, char text[129])
{
	for (size_t i = 0; i < wanted->id_length; i++)
		sprintf(text + 2 * i, "%02x", wanted->id[i]);
}

/* Where the module lies, without a slash at the end; false if that is not told. */
static bool directory_of(const char *path, char directory[PATH_LIMIT])
{
	const char *slash = path && path[0] == '/' ? strrchr(path, '/') : NULL;

	if (!slash || slash - path >= PATH_LIMIT)
		return false;
	memcpy(directory, path, (size_t)(slash - path));
	directory[slash - path] = '\0';
	return true;
}

static int try_link(struct wanted *wanted, struct dt_elf *elf, int root, const char *path, struct dt_debug_file *file)
{
	static const char *const folders[][2] = {{"", ""}, {"", "/.debug"}, {"/usr/lib/debug", ""}};
	char name[256], directory[PATH_LIMIT];
	int rc = -ENOENT;

	if (!directory_of(path, directory) || dt_elf_debug_link(elf, name, &wanted->crc) < 0)
		return -ENOENT;
	wanted->has_crc = true;
	for (size_t i = 0; i < DT_COUNT(folders) && rc == -ENOENT; i++)
		rc = try_path(wanted, root, file, "%s%s%s/%s", folders[i][0], directory, folders[i][1], name);
	return rc;
}

/* Our own, so it is opened as our user says; the files in it are looked at like any other. */
static int open_cache(void)
{
	const char *cache = getenv("DEBUGINFOD_CACHE_PATH"), *folder = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	char path[PATH_LIMIT];
	int length;

	if (cache && *cache)
		length = snprintf(path, sizeof(path), "%s", cache);
	else if (folder && *folder)
		length = snprintf(path, sizeof(path), "%s/debuginfod_client", folder);
	else if (home && *home)
		length = snprintf(path, sizeof(path), "%s/.cache/debuginfod_client", home);
	else
		return -1;
	return length < 0 || (size_t)length >= sizeof(path) ? -1 : open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

int dt_debug_file_open(struct dt_elf *elf, int root, const char *path, struct dt_debug_file *file)
{
	struct wanted wanted = {.machine = dt_elf_machine(elf)};
	dt_auto_close int cache = -1;
	char id[129] = "";
	int rc = -ENOENT;

	*file = (struct dt_debug_file){.fd = -1};
	wanted.id_length = dt_elf_build_id(elf, wanted.id);
	put_id(&wanted, id);
	if (wanted.id_length > 1)
		rc = try_path(&wanted, root, file, "/usr/lib/debug/.build-id/%.2s/%s.debug", id, id + 2);
	if (rc == -ENOENT)
		rc = try_link(&wanted, elf, root, path, file);
	if (rc == -ENOENT && wanted.id_length > 1) {
		cache = open_cache();
		rc = cache < 0 ? rc : try_path(&wanted, cache, file, "%s/debuginfo", id);
	}
	return rc;
}

void dt_debug_file_release(struct dt_debug_file *file)
{
	dt_elf_free(file->elf);
	if (file->fd >= 0)
		close(file->fd);
	*file = (struct dt_debug_file){.fd = -1};
}
