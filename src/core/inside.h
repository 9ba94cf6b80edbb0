/* The inside of struct dt_core, shared by the files of this room. */
#ifndef DT_CORE_INSIDE_H
#define DT_CORE_INSIDE_H

#include "core/core.h"
#include "elf/elf.h"

#define CORE_THREADS_LIMIT ((size_t)1 << 17)
#define CORE_NOTES_LIMIT   ((size_t)1 << 19) /* notes that are looked at: four for each thread */
#define AUXV_WORDS         16
/* The list of mapped files: the kernel writes no more bytes than that (4 MB if nobody raised it), and a process has a
 * quarter of the rows at most (vm.max_map_count, if nobody raised it). A row costs up to 300 bytes until the memory is
 * put together: with all the segments and threads that there may be that stays below 200 MB. */
#define CORE_FILES_LIMIT ((size_t)16 << 20)
#define CORE_ROWS_LIMIT  ((size_t)1 << 18)

/* One row of the note NT_FILE. */
struct core_row {
	uint64_t start, end, offset;
	const char *path;
	size_t file; /* index */
};

enum core_file_state {
	FILE_UNSEEN,
	FILE_CHECKING, /* being compared: nothing may be read from it */
	FILE_GOOD,     /* it is the one that was mapped */
	FILE_UNSURE,   /* the core has nothing to compare it with */
	FILE_OTHER,    /* it is not the one that was mapped */
	FILE_NONE,     /* cannot be opened, or is no program or library */
};

/* A file that was mapped. */
struct core_file {
	const char *path;
	uint64_t start; /* address of its first byte; 0: not mapped */
	enum core_file_state state;
	int fd;
	int why; /* errno of FILE_NONE */
};

struct dt_core {
	int fd, root;
	const char *root_path; /* as it stands before the paths of files: "" is our own */
	const char *exe;
	struct dt_elf *elf;
	struct dt_core_info info;
	uint64_t auxv[AUXV_WORDS]; /* the beginning of the auxiliary vector */
	size_t auxv_words;
	struct core_row *rows; /* ascending, without overlaps */
	size_t row_count;
	struct core_file *files;
	size_t file_count, open_files;
	size_t program; /* index of the program's file; SIZE_MAX: not known */
	struct dt_maps maps;
	struct dt_mem *mem;
	struct dt_arena arena;
};

/* Reads all notes into core->info and core->rows. 0 or a negative errno; notes that make no sense are skipped. */
int core_read_notes(struct dt_core *core);

/* Of a core that does not tell which files were mapped: core->rows of the program, if it was given. 0 or -ENOMEM. */
int core_guess_rows(struct dt_core *core);

/* Makes core->files, core->maps and core->mem. 0 or -ENOMEM. */
int core_build_maps(struct dt_core *core);

/* Replaces core->info.command by all of the arguments, if they are found in memory. 0 or -ENOMEM. */
int core_read_command(struct dt_core *core);

/* Opens a file that the user has named: a descriptor, -EINVAL if it is no regular file, or another errno. */
int core_open_given(const char *path);

/* The descriptor of a mapped file, which stays the core's; or a negative errno. */
int core_file_fd(struct dt_core *core, size_t file);

#endif
