/* Opens a core file and puts it together: see core.h. */
#include "core/core.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"
#include "core/inside.h"
#include "core/unpack.h"

/* What may not be read gets its hint from whoever knows how to become root here. */
static int fail_open(const char *path, int code, struct dt_error *err)
{
	switch (code) {
	case -ENOENT:
	case -ENOTDIR:
		return dt_fail(err, DT_ENOTFOUND, "there is no file %s", path);
	case -EACCES:
	case -EPERM:
		return dt_fail(err, DT_EPERMISSION, "%s may not be read", path);
	default:
		return dt_fail(err, DT_ERUNTIME, "%s cannot be read: %s", path, strerror(-code));
	}
}

static int open_file(struct dt_core *core, const struct dt_options *options, struct dt_error *err)
{
	struct stat st;
	int rc;

	core->fd = open(core->info.path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (core->fd < 0 || fstat(core->fd, &st) < 0)
		return fail_open(core->info.path, -errno, err);
	if (!S_ISREG(st.st_mode))
		return dt_fail(err, DT_ERUNTIME, "%s is no regular file", core->info.path);
	core->info.taken_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
	rc = dt_unpack(core->info.path, &core->fd, options, &core->info.damaged, err);
	if (rc < 0)
		return rc;
	if (fstat(core->fd, &st) < 0)
		return fail_open(core->info.path, -errno, err);
	core->info.size = (uint64_t)st.st_size;
	return 0;
}

/* The same for a file or directory that an option names. */
static int fail_option(const char *option, const char *kind, const char *path, int code, struct dt_error *err)
{
	switch (code) {
	case -ENOENT:
		return dt_fail(err, DT_ENOTFOUND, "%s: there is no %s %s", option, kind, path);
	case -ENOTDIR:
	case -EINVAL:
		return dt_fail(err, DT_EUSAGE, "%s: %s is no %s", option, path, kind);
	case -EACCES:
	case -EPERM:
		return dt_fail(err, DT_EPERMISSION, "%s: %s may not be read", option, path);
	default:
		return dt_fail(err, DT_ERUNTIME, "%s: %s cannot be read: %s", option, path, strerror(-code));
	}
}

static int open_root(struct dt_core *core, const char *root, struct dt_error *err)
{
	size_t length = root ? strlen(root) : 0;

	core->root = open(root ? root : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (core->root < 0)
		return fail_option("--root", "directory", root ? root : "/", -errno, err);
	while (length && root[length - 1] == '/')
		length--;
	core->root_path = dt_arena_strndup(&core->arena, root ? root : "", length);
	return core->root_path ? 0 : -ENOMEM;
}

static const char *machine_name(uint16_t machine)
{
	switch (machine) {
	case EM_X86_64:
		return "x86_64";
	case EM_AARCH64:
		return "aarch64";
	case EM_386:
		return "x86 (32 bit)";
	case EM_ARM:
		return "arm (32 bit)";
	case EM_PPC64:
		return "ppc64";
	case EM_S390:
		return "s390";
	case EM_RISCV:
		return "riscv";
	default:
		return NULL;
	}
}

static int fail_empty(const char *path, struct dt_error *err)
{
	dt_fail(err, DT_ERUNTIME, "%s is empty", path);
	dt_hint(err,
		"the disk was full when the core was written, or 'ulimit -c' was too low in the shell that started the "
		"program");
	return DT_ERUNTIME;
}

static int fail_machine(const char *path, const Elf64_Ehdr *header, struct dt_error *err)
{
	bool little = header->e_ident[EI_DATA] == ELFDATA2LSB;
	const char *name = little ? machine_name(header->e_machine) : "a big-endian kind";

	if (header->e_ident[EI_CLASS] == ELFCLASS32)
		return dt_fail(
		    err, DT_EUNSUPPORTED,
		    "%s is of a 32-bit program; darter reads cores of 64-bit programs, on x86_64 and aarch64", path);
	if (header->e_ident[EI_CLASS] != ELFCLASS64)
		return dt_fail(err, DT_ERUNTIME, "the headers of %s are damaged", path);
	if (name)
		return dt_fail(err, DT_EUNSUPPORTED,
			       "%s is of another kind of machine (%s); darter reads cores of x86_64 and aarch64", path,
			       name);
	return dt_fail(err, DT_EUNSUPPORTED, "%s is of an unknown kind of machine (number %u)", path,
		       header->e_machine);
}

/* The first bytes decide what to say. */
static int check_head(struct dt_core *core, struct dt_error *err)
{
	const char *path = core->info.path;
	Elf64_Ehdr header = {0};
	ssize_t got = pread(core->fd, &header, sizeof(header), 0);

	if (got < 0)
		return fail_open(path, -errno, err);
	if (!got)
		return fail_empty(path, err);
	if (got < SELFMAG || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
		return dt_fail(err, DT_ERUNTIME, "%s is not a core file", path);
	if (got < (ssize_t)sizeof(header))
		return dt_fail(err, DT_ERUNTIME, "%s is cut short: only %zd bytes are there", path, got);
	if (header.e_ident[EI_DATA] == ELFDATA2LSB && header.e_type != ET_CORE) {
		dt_fail(err, DT_ERUNTIME, "%s is a program or library, not a core file", path);
		dt_hint(err, "Give the core file with --core; the program that it is of may be given with --exe");
		return DT_ERUNTIME;
	}
	core->info.machine = dt_machine_of(header.e_machine);
	if (header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == ELFDATA2LSB && core->info.machine)
		return 0;
	return fail_machine(path, &header, err);
}

/* The program that was given, whether it will be needed or not. */
static int check_exe(const struct dt_core *core, struct dt_error *err)
{
	dt_auto_close int fd = core->exe ? core_open_given(core->exe) : -1;
	const char *machine;
	struct dt_elf *elf;
	bool core_file, other;
	int rc;

	if (!core->exe)
		return 0;
	rc = fd < 0 ? fd : dt_elf_open(fd, &elf);
	if (rc == -ENOMEM)
		return rc;
	if (rc == -ENOEXEC)
		return dt_fail(err, DT_ERUNTIME, "--exe: %s is no 64-bit program", core->exe);
	if (rc < 0)
		return fail_option("--exe", "file", core->exe, rc, err);
	machine = machine_name(dt_elf_machine(elf));
	core_file = dt_elf_type(elf) == ET_CORE;
	other = dt_machine_of(dt_elf_machine(elf)) != core->info.machine;
	dt_elf_free(elf);
	if (core_file)
		return dt_fail(err, DT_ERUNTIME, "--exe: %s is a core file, not a program", core->exe);
	if (other)
		return dt_fail(err, DT_ERUNTIME, "--exe: %s is a program of %s, and the core is of %s", core->exe,
			       machine ? machine : "another kind of machine", core->info.machine->name);
	return 0;
}

/* How large the file should be: as far as its segments go. */
static uint64_t whole_size(const struct dt_core *core)
{
	uint64_t whole = 0;

	for (size_t i = 0; i < dt_elf_segment_count(core->elf); i++) {
		struct dt_elf_segment segment = dt_elf_segment(core->elf, i);

		if (segment.file_size)
			whole = DT_MAX(whole, segment.offset + segment.file_size);
	}
	return whole;
}

static int read_headers(struct dt_core *core, struct dt_error *err)
{
	int rc = dt_elf_open(core->fd, &core->elf);

	if (rc == -ENOEXEC)
		return dt_fail(err, DT_ERUNTIME,
			       "%s is cut short within its headers, or they are damaged: %llu bytes are there",
			       core->info.path, (unsigned long long)core->info.size);
	if (rc < 0)
		return rc == -ENOMEM ? rc : fail_open(core->info.path, rc, err);
	core->info.whole = DT_MAX(whole_size(core), core->info.size);
	rc = core_read_notes(core);
	core->info.files_told = core->rows != NULL;
	if (rc == 0)
		rc = core_guess_rows(core);
	if (rc == 0)
		rc = core_build_maps(core);
	return rc < 0 ? rc : core_read_command(core);
}

int dt_core_open(const char *path, const char *root, const char *exe, const struct dt_options *options,
		 struct dt_core **result, struct dt_error *err)
{
	struct dt_core *core = calloc(1, sizeof(*core));
	int rc;

	if (!core)
		return dt_fail(err, DT_EMEMORY, "out of memory");
	core->fd = core->root = -1;
	core->info.name = core->info.command = core->info.program = "";
	core->program = SIZE_MAX;
	dt_arena_init(&core->arena, 0);
	dt_arena_init(&core->maps.arena, 0);
	core->info.path = dt_arena_strdup(&core->arena, path);
	core->exe = exe ? dt_arena_strdup(&core->arena, exe) : NULL;
	rc = core->info.path && (core->exe || !exe) ? open_file(core, options, err) : -ENOMEM;
	if (rc == 0)
		rc = open_root(core, root, err);
	if (rc == 0)
		rc = check_head(core, err);
	if (rc == 0)
		rc = check_exe(core, err);
	if (rc == 0)
		rc = read_headers(core, err);
	if (rc == 0) {
		*result = core;
		return 0;
	}
	if (rc == -ENOMEM)
		rc = dt_fail(err, DT_EMEMORY, "out of memory");
	dt_core_free(core);
	return rc;
}

void dt_core_free(struct dt_core *core)
{
	if (!core)
		return;
	for (size_t i = 0; i < core->file_count; i++)
		if (core->files[i].fd >= 0)
			close(core->files[i].fd);
	if (core->fd >= 0)
		close(core->fd);
	if (core->root >= 0)
		close(core->root);
	dt_mem_free(core->mem);
	dt_elf_free(core->elf);
	dt_maps_release(&core->maps);
	free(core->rows);
	free(core->info.threads);
	dt_arena_release(&core->arena);
	free(core);
}

struct dt_mem *dt_core_memory(struct dt_core *core)
{
	return core->mem;
}

struct dt_maps *dt_core_maps(struct dt_core *core)
{
	return &core->maps;
}

const struct dt_core_info *dt_core_info(const struct dt_core *core)
{
	return &core->info;
}
