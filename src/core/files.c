/*
 * The files that were mapped. Each is opened when it is first needed, and compared with what the core has of it: the
 * build id in its first page, which the kernel writes into every core; where there is none, that page itself, or its
 * headers alone; a file is used without that where the core has nothing of it, and that is told. Only programs and
 * libraries are read here, whatever a core names. (Source files are another matter: lib/source.c.)
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"
#include "core/inside.h"

#define PAGE       ((size_t)4096)
#define OPEN_LIMIT 512 /* files that are kept open: a core names any number of them */

/* The build id in the core; 0 if it has none. */
static size_t mapped_id(struct dt_core *core, const struct core_file *file, uint8_t id[64])
{
	struct dt_mem_from image = {core->mem, file->start};
	struct dt_elf *elf;
	size_t length;

	if (dt_elf_open_image_at(dt_mem_read_from, &image, file->start, &elf) < 0)
		return 0;
	length = dt_elf_build_id(elf, id);
	dt_elf_free(elf);
	return length;
}

/* How much of the first page is as it is in the file. Where that may be written the dynamic section lies in it, which
 * the loader changes: then it is the headers. */
static size_t constant_part(const struct dt_core *core, const struct core_file *file, const uint8_t page[PAGE])
{
	const struct dt_map *map = dt_maps_at(&core->maps, file->start);
	Elf64_Ehdr head;

	memcpy(&head, page, sizeof(head));
	if (!map || !map->write || head.e_phoff != sizeof(head))
		return PAGE;
	return DT_MIN(sizeof(head) + (size_t)head.e_phnum * sizeof(Elf64_Phdr), PAGE);
}

static enum core_file_state compare(struct dt_core *core, const struct core_file *file, struct dt_elf *elf, int fd)
{
	uint8_t have[64], want[64], page[PAGE], other[PAGE];
	size_t length;

	if (!file->start || dt_mem_read(core->mem, file->start, page, sizeof(page)) < 0)
		return FILE_UNSURE;
	length = mapped_id(core, file, want);
	if (length)
		return dt_elf_build_id(elf, have) == length && !memcmp(have, want, length) ? FILE_GOOD : FILE_OTHER;
	return pread(fd, other, sizeof(other), 0) == (ssize_t)sizeof(other) &&
		       !memcmp(page, other, constant_part(core, file, page))
		   ? FILE_GOOD
		   : FILE_OTHER;
}

int core_open_given(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	return -EINVAL;
}

static bool is_program(const struct dt_core *core, const struct core_file *file)
{
	return core->program < core->file_count && file == &core->files[core->program];
}

static bool given(const struct dt_core *core, const struct core_file *file)
{
	return core->exe && is_program(core, file);
}

/* Behind the name of a file that was deleted stands " (deleted)"; what has that name now may be the same. */
static int open_named(const struct dt_core *core, const struct core_file *file)
{
	static const char mark[] = " (deleted)";
	size_t length = strlen(file->path), cut = sizeof(mark) - 1;
	dt_auto_free char *name = NULL;

	if (given(core, file))
		return core_open_given(core->exe);
	if (file->path[0] != '/')
		return -ENOENT;
	if (length <= cut || strcmp(file->path + length - cut, mark) != 0)
		return dt_open_below(core->root, file->path);
	name = strndup(file->path, length - cut);
	return name ? dt_open_below(core->root, name) : -ENOMEM;
}

static void look_at(struct dt_core *core, struct core_file *file)
{
	struct dt_elf *elf;
	int rc;

	file->state = FILE_NONE;
	file->fd = core->open_files < OPEN_LIMIT ? open_named(core, file) : -EMFILE;
	file->why = file->fd < 0 ? -file->fd : 0;
	if (file->fd < 0)
		return;
	rc = dt_elf_open(file->fd, &elf);
	if (rc < 0) {
		file->why = -rc;
	} else {
		file->state = FILE_CHECKING;
		file->state = compare(core, file, elf, file->fd);
		dt_elf_free(elf);
	}
	if (file->state == FILE_GOOD || file->state == FILE_UNSURE) {
		core->open_files++;
		return;
	}
	close(file->fd);
	file->fd = -1;
}

int core_file_fd(struct dt_core *core, size_t index)
{
	struct core_file *file = &core->files[index];

	if (file->state == FILE_UNSEEN)
		look_at(core, file);
	switch (file->state) {
	case FILE_GOOD:
	case FILE_UNSURE:
		return file->fd;
	case FILE_OTHER:
		return -ESTALE;
	default:
		return -ENOENT;
	}
}

int dt_core_open_mapped(struct dt_core *core, const struct dt_map *map)
{
	int fd;

	if (!map->inode || map->inode > core->file_count)
		return -ENOENT;
	fd = core_file_fd(core, map->inode - 1);
	if (fd >= 0)
		fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	else
		return fd;
	return fd < 0 ? -errno : fd;
}

int dt_core_open_file(const struct dt_core *core, const char *path)
{
	return dt_open_below(path[0] == '/' ? core->root : AT_FDCWD, path);
}

/* ---- what to tell ---- */

static void put_id(char *text, const uint8_t *id, size_t length)
{
	for (size_t i = 0; i < length; i++)
		sprintf(text + 2 * i, "%02x", id[i]);
}

static bool named_like_python(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	return !strncmp(name, "python", 6) || !strncmp(name, "libpython", 9);
}

/* What holds the interpreter; as long as that is not known, what may hold it. */
static bool needed(const struct dt_core *core, const struct core_file *file, const char *library)
{
	if (library[0])
		return !strcmp(file->path, library);
	return is_program(core, file) || named_like_python(file->path);
}

static bool to_be_told(const struct dt_core *core, const struct core_file *file, const struct dt_core_asked *asked)
{
	bool no_program = file->why == ENOEXEC || file->why == EINVAL;

	if (needed(core, file, asked->library) == asked->others)
		return false;
	switch (file->state) {
	case FILE_NONE: /* others may well be no programs */
		return (asked->kinds & DT_CORE_ABSENT) && !(asked->others && no_program);
	case FILE_OTHER:
		return asked->kinds & DT_CORE_REPLACED;
	case FILE_UNSURE:
		return asked->kinds & DT_CORE_UNSURE;
	default:
		return false;
	}
}

static const char *why_absent(const struct core_file *file)
{
	switch (file->why) {
	case ENOEXEC:
		return "it is no program";
	case EINVAL:
		return "it is no regular file";
	default:
		return strerror(file->why);
	}
}

static const char *complain(const struct dt_core *core, const struct core_file *file, struct dt_arena *arena)
{
	const char *root = given(core, file) ? "" : core->root_path, *path = given(core, file) ? core->exe : file->path;
	uint8_t id[64];
	char text[2 * sizeof(id) + 1] = "";

	if (file->state == FILE_UNSURE)
		return dt_arena_printf(
		    arena, "%s%s may not be the file that the process had: the core has nothing to compare it with",
		    root, path);
	if (file->state == FILE_NONE)
		return dt_arena_printf(arena, "%s%s cannot be read: %s", root, path, why_absent(file));
	put_id(text, id, mapped_id((struct dt_core *)core, file, id));
	return dt_arena_printf(arena, "%s%s is not the file that the process had%s%s%s", root, path,
			       text[0] ? " (that one had the build id " : "", text, text[0] ? ")" : "");
}

size_t dt_core_complaints(const struct dt_core *core, const struct dt_core_asked *asked, struct dt_arena *arena,
			  const char **texts, size_t max)
{
	size_t count = 0, all = 0;

	for (size_t i = 0; i < core->file_count; i++) {
		if (!to_be_told(core, &core->files[i], asked))
			continue;
		if (count < max)
			texts[count++] = complain(core, &core->files[i], arena);
		all++;
	}
	if (count && all > count)
		texts[count - 1] = dt_arena_printf(arena, "the same goes for %zu other files of the process",
						   all - count + 1);
	return count;
}

bool dt_core_forbidden(const struct dt_core *core, const char *library)
{
	for (size_t i = 0; i < core->file_count; i++) {
		const struct core_file *file = &core->files[i];

		if (file->state == FILE_NONE && (file->why == EACCES || file->why == EPERM) &&
		    needed(core, file, library))
			return true;
	}
	return false;
}

bool dt_core_exe_in_doubt(const struct dt_core *core)
{
	const struct core_file *file = core->program < core->file_count ? &core->files[core->program] : NULL;

	if (!core->exe || (file && file->state == FILE_GOOD))
		return false;
	/* Where the core has a list, a program that was not looked at was not needed. */
	return !file || file->state != FILE_UNSEEN || !core->info.files_told;
}
