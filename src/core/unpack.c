/* Where decompressed bytes go, and how many may come: see unpack.h. */
#include "core/unpack.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/util.h"
#include "elf/elf.h"

#define LIMIT (UINT64_C(16) << 30)
#define BLOCK 4096
#define MORE  (1 << 20) /* behind the last segment: section headers, and the checksum of the compressed file */

struct unpack {
	int from, to;
	const char *folder; /* NULL: each of the usual ones was tried */
	int why;            /* errno of UNPACK_NO_FOLDER */
	const struct dt_options *options;
	uint64_t taken, packed; /* bytes of the compressed file: so far, and all */
	uint64_t size;          /* bytes so far */
	uint64_t room;          /* that may still be written to the disk */
	uint64_t limit;         /* of size */
	uint64_t whole;         /* what the headers speak of; 0 until they are there */
	bool headers_read;
};

static const struct format {
	const char *name, *program;
	uint8_t magic[6];
	size_t length;
	unpack_run_fn *run;
} formats[] = {
    {"gzip",
     "gzip -d",
     {0x1f, 0x8b},
     2,
#ifdef DT_ZLIB
     unpack_gzip
#endif
    },
    {"zstd",
     "zstd -d",
     {0x28, 0xb5, 0x2f, 0xfd},
     4,
#ifdef DT_ZSTD
     unpack_zstd
#endif
    },
    {"lz4",
     "lz4 -d",
     {0x04, 0x22, 0x4d, 0x18},
     4,
#ifdef DT_LZ4
     unpack_lz4
#endif
    },
    {"xz", "xz -d", {0xfd, '7', 'z', 'X', 'Z', 0}, 6, NULL},
    {"bzip2", "bzip2 -d", {'B', 'Z', 'h'}, 3, NULL},
    {"lz4 in its old format ('lz4 -l')", "lz4 -d", {0x02, 0x21, 0x4c, 0x18}, 4, NULL},
};

ssize_t unpack_source(struct unpack *unpack, void *bytes, size_t size)
{
	ssize_t got;

	do
		got = read(unpack->from, bytes, size);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	unpack->taken += (uint64_t)got;
	if (unpack->options && unpack->options->progress)
		unpack->options->progress(unpack->options->progress_context, DT_MIN(unpack->taken, unpack->packed),
					  unpack->packed);
	return got;
}

static bool zeros(const uint8_t *bytes, size_t size)
{
	return !bytes[0] && !memcmp(bytes, bytes + 1, size - 1);
}

static int write_all(struct unpack *unpack, const uint8_t *bytes, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t put = pwrite(unpack->to, bytes + done, size - done, (off_t)(unpack->size + done));

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return errno == ENOSPC || errno == EDQUOT || errno == EFBIG ? UNPACK_NO_ROOM : -errno;
		done += (size_t)put;
	}
	return 0;
}

/* Once the headers are there they say how much is to come. */
static int read_headers(struct unpack *unpack)
{
	struct dt_elf *elf;
	Elf64_Ehdr header;

	if (unpack->headers_read || unpack->size < sizeof(header))
		return 0;
	if (pread(unpack->to, &header, sizeof(header), 0) != (ssize_t)sizeof(header) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_type != ET_CORE)
		return UNPACK_NO_CORE;
	if (header.e_phoff > unpack->size ||
	    (uint64_t)header.e_phnum * sizeof(Elf64_Phdr) > unpack->size - header.e_phoff)
		return 0;
	unpack->headers_read = true;
	if (dt_elf_open(unpack->to, &elf) < 0)
		return 0; /* whoever reads it says why; the limit remains */
	for (size_t i = 0; i < dt_elf_segment_count(elf); i++) {
		struct dt_elf_segment segment = dt_elf_segment(elf, i);

		if (segment.file_size)
			unpack->whole = DT_MAX(unpack->whole, segment.offset + segment.file_size);
	}
	dt_elf_free(elf);
	return unpack->whole > unpack->limit ? UNPACK_TOO_LARGE : 0;
}

int unpack_sink(struct unpack *unpack, const void *bytes, size_t size)
{
	const uint8_t *from = bytes;

	while (size) {
		size_t part = DT_MIN(size, BLOCK - (size_t)(unpack->size % BLOCK));
		int rc;

		if (unpack->size + part > unpack->limit + MORE)
			return UNPACK_TOO_LARGE;
		if (!zeros(from, part)) {
			if (unpack->room < part)
				return UNPACK_NO_ROOM;
			unpack->room -= part;
			rc = write_all(unpack, from, part);
			if (rc)
				return rc;
		}
		unpack->size += part;
		from += part;
		size -= part;
		rc = read_headers(unpack);
		if (rc)
			return rc;
		if (unpack->whole && unpack->size >= unpack->whole + MORE)
			return UNPACK_ENOUGH;
	}
	return 0;
}

/* A file without a name: it goes when we do. */
static int open_nameless(const char *folder)
{
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	char path[4096];

	if (fd >= 0 || snprintf(path, sizeof(path), "%s/darter-core-XXXXXX", folder) >= (int)sizeof(path))
		return fd;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	return fd;
}

/* Who sets TMPDIR wants it there and nowhere else. */
static int open_target(struct unpack *unpack)
{
	static const char *const usual[] = {"/var/tmp", "/tmp"};
	const char *wanted = getenv("TMPDIR");
	bool told = wanted && *wanted;
	struct statvfs fs;

	for (size_t i = 0; i < (told ? 1 : DT_COUNT(usual)) && unpack->to < 0; i++) {
		unpack->folder = told ? wanted : usual[i];
		unpack->to = open_nameless(unpack->folder);
	}
	if (unpack->to < 0) {
		unpack->why = errno;
		unpack->folder = told ? wanted : NULL;
		return UNPACK_NO_FOLDER;
	}
	if (fstatvfs(unpack->to, &fs) < 0)
		return -errno;
	if (__builtin_mul_overflow((uint64_t)fs.f_bavail, (uint64_t)fs.f_frsize, &unpack->room))
		unpack->room = UINT64_MAX;
	unpack->room /= 2;
	return 0;
}

/* "20G": a number with a unit. False if it makes no sense. */
static bool parse_limit(const char *text, uint64_t *limit)
{
	static const char units[] = "KMGT";
	size_t length = strlen(text);
	const char *unit = length ? memchr(units, text[length - 1] & ~0x20, strlen(units)) : NULL;
	char number[24];
	unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;

	length -= unit != NULL;
	if (!length || length >= sizeof(number))
		return false;
	memcpy(number, text, length);
	number[length] = '\0';
	if (!dt_parse_u64(number, (uint64_t)INT64_MAX >> shift, limit))
		return false;
	*limit <<= shift;
	return true;
}

static int explain_folder(const struct unpack *unpack, const char *path, struct dt_error *err)
{
	const char *why = strerror(unpack->why);

	if (unpack->folder)
		return dt_fail(err, DT_ERUNTIME,
			       "%s cannot be decompressed: TMPDIR is %s, and no file can be made there: %s", path,
			       unpack->folder, why);
	dt_fail(err, DT_ERUNTIME, "%s cannot be decompressed: no file can be made in /var/tmp and in /tmp: %s", path,
		why);
	dt_hint(err, "TMPDIR names another directory");
	return DT_ERUNTIME;
}

static int explain(const struct unpack *unpack, const char *path, const struct format *format, int rc,
		   struct dt_error *err)
{
	unsigned long long whole = unpack->whole, limit = unpack->limit;

	switch (rc) {
	case UNPACK_NO_CORE:
		return dt_fail(err, DT_ERUNTIME, "%s is not a core file: what is compressed in it is something else",
			       path);
	case UNPACK_TOO_LARGE:
		if (whole)
			dt_fail(err, DT_EMEMORY, "%s is too large: decompressed it has %llu bytes, the limit is %llu",
				path, whole, limit);
		else
			dt_fail(err, DT_EMEMORY, "%s is too large: decompressed it has more than %llu bytes", path,
				limit);
		dt_hint(err, "DARTER_CORE_LIMIT=%lluG raises the limit",
			(unsigned long long)(DT_MAX(unpack->whole, unpack->limit) >> 30) + 1);
		return DT_EMEMORY;
	case UNPACK_NO_ROOM:
		dt_fail(err, DT_ERUNTIME, "%s cannot be decompressed: %s has not enough room", path, unpack->folder);
		dt_hint(err, "No more than half of the free room is used; TMPDIR names a directory with more.");
		return DT_ERUNTIME;
	case UNPACK_DAMAGED:
		return dt_fail(err, DT_ERUNTIME, "%s is damaged or cut short: nothing can be decompressed from it",
			       path);
	case UNPACK_WINDOW:
		dt_fail(err, DT_EUNSUPPORTED, "%s was compressed with a window that takes too much memory", path);
		dt_hint(err, "'%s --long=31' decompresses it; give darter the result", format->program);
		return DT_EUNSUPPORTED;
	case UNPACK_NO_FOLDER:
		return explain_folder(unpack, path, err);
	case -ENOMEM:
		return dt_fail(err, DT_EMEMORY, "out of memory");
	default:
		return dt_fail(err, DT_ERUNTIME, "%s cannot be decompressed: %s", path, strerror(-rc));
	}
}

/* 0 or what explain() takes. A core that was cut short may still be worth reading. */
static int run(struct unpack *unpack, const struct format *format, bool *damaged)
{
	int rc = open_target(unpack);

	if (rc == 0)
		rc = format->run(unpack);
	*damaged = rc == UNPACK_DAMAGED && unpack->size;
	if (rc == UNPACK_ENOUGH || *damaged)
		rc = 0;
	if (rc == 0 && ftruncate(unpack->to, (off_t)unpack->size) < 0)
		rc = -errno;
	return rc;
}

int dt_unpack(const char *path, int *fd, const struct dt_options *options, bool *damaged, struct dt_error *err)
{
	const char *wanted = getenv("DARTER_CORE_LIMIT");
	struct unpack unpack = {.from = *fd, .to = -1, .limit = LIMIT, .options = options};
	const struct format *format = NULL;
	uint8_t magic[8] = {0};
	struct stat st;
	int rc;

	if (pread(*fd, magic, sizeof(magic), 0) < 4 || fstat(*fd, &st) < 0)
		return 0;
	unpack.packed = (uint64_t)st.st_size;
	for (size_t i = 0; i < DT_COUNT(formats); i++)
		if (!memcmp(magic, formats[i].magic, formats[i].length))
			format = &formats[i];
	if (!format)
		return 0;
	if (wanted && *wanted && !parse_limit(wanted, &unpack.limit))
		return dt_fail(err, DT_EUSAGE, "DARTER_CORE_LIMIT is '%s': a size such as 20G is wanted", wanted);
	if (!format->run) {
		dt_fail(err, DT_EUNSUPPORTED, "%s is compressed with %s, which this darter does not read", path,
			format->name);
		dt_hint(err, "'%s' decompresses it; give darter the result", format->program);
		return DT_EUNSUPPORTED;
	}
	rc = run(&unpack, format, damaged);
	if (rc == 0) {
		close(*fd);
		*fd = unpack.to;
		return 0;
	}
	rc = explain(&unpack, path, format, rc, err);
	if (unpack.to >= 0)
		close(unpack.to);
	return rc;
}
