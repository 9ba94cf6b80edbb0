/*
 * A core file: the memory of a dead process, what was mapped where, its threads and the signal that ended it. Made by
 * the kernel or by gdb's gcore; 64 bit, little endian.
 *
 * What the file does not hold but a mapped program or library does (the kernel leaves such pages out) is read from
 * there: from the path that the process had it under, below `root` if that is given. A file that is not the one that
 * was mapped (its build id differs) is not read at all: its pages are missing then. Everything in a core file is
 * hostile: counts and sizes have limits, and ranges that wrap around or overlap are left out.
 */
#ifndef DT_CORE_CORE_H
#define DT_CORE_CORE_H

#include "base/error.h"
#include "machine/machine.h"
#include "mem/mem.h"
#include "proc/proc.h"

struct dt_core;

/* root and exe may be NULL: the files of this host, and the program under the path that it had. An exe that is no
 * program of the core's machine is refused. Of the options, which may be NULL, only progress is asked for. */
int dt_core_open(const char *path, const char *root, const char *exe, const struct dt_options *options,
		 struct dt_core **core, struct dt_error *err);
void dt_core_free(struct dt_core *core);

/* All of these belong to the core. */
struct dt_mem *dt_core_memory(struct dt_core *core);
struct dt_maps *dt_core_maps(struct dt_core *core);

struct dt_core_thread {
	int tid;                    /* as the process numbered it; gcore: as the host did */
	bool told;                  /* the call is known */
	uint64_t pointer;           /* the thread pointer: pthread_self(), or what lies above it; 0 unknown */
	struct dt_thread_call call; /* what the registers say that it did */
};

struct dt_core_info {
	const struct dt_machine *machine;
	int pid, ppid;                  /* 0 if the core does not tell */
	const char *path;               /* of the core file */
	const char *name;               /* the kernel's name of the process, "" if not told */
	const char *command;            /* its arguments, "" if not told */
	const char *program;            /* path of the program file, "" if not told */
	uint64_t taken_ns;              /* when the file was last written */
	uint64_t size, whole;           /* bytes that are there, and that should be; decompressed */
	bool files_told;                /* which files were mapped */
	bool damaged;                   /* it was compressed, and could not be decompressed to its end */
	int signal;                     /* that ended it; 0: none, it was alive */
	int signal_code;                /* si_code */
	int sender;                     /* process that sent the signal; 0: the kernel, or not told */
	bool has_address;               /* the signal is about an address */
	uint64_t address;               /* that one */
	uint64_t phdr, execfn;          /* from the auxiliary vector */
	struct dt_core_thread *threads; /* the one that got the signal first */
	size_t thread_count;
};
const struct dt_core_info *dt_core_info(const struct dt_core *core);

/* Opens the file behind a mapping of dt_core_maps(), if it is the one that was mapped; the descriptor is the caller's.
 * -ENOENT, -ESTALE (another file) or another errno. */
int dt_core_open_mapped(struct dt_core *core, const struct dt_map *map);

/* Opens another file of the process, a source file: below the root. Where the process was is not told: a relative path
 * starts at our own current directory. */
int dt_core_open_file(const struct dt_core *core, const char *path);

/* What may be wrong with a file that was mapped. */
enum {
	DT_CORE_ABSENT = 1,   /* it cannot be opened, or is no program or library */
	DT_CORE_REPLACED = 2, /* it is not the one that was mapped: not used */
	DT_CORE_UNSURE = 4,   /* used, though the core has nothing to compare it with */
};

struct dt_core_asked {
	const char *library; /* path of the file that holds the interpreter; "": not known */
	bool others;         /* not of the files that Python needs, but of all others */
	unsigned kinds;      /* what to tell */
};

/* What is wrong with files that were used so far, one sentence each in the arena. Needed is what holds the interpreter;
 * as long as that is not known, the program and what is named like Python. Returns how many, at most max; of more than
 * that the last sentence says so. A text is NULL if memory is out. */
size_t dt_core_complaints(const struct dt_core *core, const struct dt_core_asked *asked, struct dt_arena *arena,
			  const char **texts, size_t max);

/* Whether we may not read a file that Python needs. */
bool dt_core_forbidden(const struct dt_core *core, const char *library);

/* The program that was given was used, or would have been, and nothing shows that it is that of the core. */
bool dt_core_exe_in_doubt(const struct dt_core *core);

#endif
