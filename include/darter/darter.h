/*
 * libdarter: look into running Python programs from outside.
 *
 * Attach to a process, take its stacks as often as you like, release it:
 *
 *     struct dt_error err;
 *     struct dt_target *target;
 *     const struct dt_snapshot *snap;
 *
 *     if (dt_attach(pid, NULL, &target, &err) == 0) {
 *             if (dt_take(target, &snap, &err) == 0)
 *                     dt_render_text(snap, NULL, stdout);
 *             dt_release(target);
 *     }
 *
 * The target is neither signalled nor written to. Functions return 0 or a negative DT_E* code; on failure *err (which
 * may be NULL) says what happened and what can be done about it on this host, on success it is left untouched. The
 * library never prints, except for the dt_render_*() functions, which write where they are told to. A target belongs to
 * the thread that attached it; several threads may each have targets of their own.
 */
#ifndef DARTER_DARTER_H
#define DARTER_DARTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DT_API __attribute__((visibility("default")))

/* ---- errors ---- */

enum {
	DT_ERUNTIME = -1,     /* something else failed */
	DT_EUSAGE = -2,       /* a parameter makes no sense */
	DT_EPERMISSION = -3,  /* the kernel does not let us look */
	DT_ENOTFOUND = -4,    /* no such process */
	DT_ENOTPYTHON = -5,   /* a process, but no Python interpreter was found in it */
	DT_EENDED = -6,       /* the process ended while we looked */
	DT_EAGAIN = -7,       /* Python is starting or ending there: nothing to see at this moment */
	DT_EUNSUPPORTED = -8, /* a Python that this version cannot read */
	DT_EMEMORY = -9,      /* out of memory here, or the target asks for more than the limits allow */
};

struct dt_error {
	int code;          /* one of DT_E* */
	char message[768]; /* what happened: one sentence, no newline at the end */
	char hint[3072];   /* what can be done about it here; may have several lines, may be empty */
};

/* ---- one process ---- */

struct dt_target;

enum dt_pause {
	DT_PAUSE_AUTO,   /* stop the thread that runs Python for one read where nothing gentler is proof enough; of a
			    free-threaded build all that do, together */
	DT_PAUSE_NEVER,  /* never stop anything; what cannot be proven is left out and counted */
	DT_PAUSE_ALWAYS, /* stop it rather than borrow its CPU; for recordings */
};

/* Which frames of C, C++, Rust, ... are shown between those of Python. */
enum dt_native {
	DT_NATIVE_NONE,
	DT_NATIVE_USUAL, /* all but what the interpreter itself does to make a call */
	DT_NATIVE_LEAF,  /* of those, what the innermost Python function has called */
	DT_NATIVE_ALL,
};

/* While a compressed core file is decompressed, after each part: `done` of its `whole` bytes have been read. */
typedef void dt_progress_fn(void *context, uint64_t done, uint64_t whole);

struct dt_options {
	enum dt_pause pause;
	bool no_perch;            /* do not borrow the CPU of the running thread (rungs 1 and 2) */
	enum dt_native native;    /* C frames as well, and threads without Python; whoever runs is stopped for a moment,
				     not who is in a system call. Not of a core yet */
	bool no_names;            /* leave thread names out */
	bool source;              /* add the source line of the innermost frame of each thread */
	dt_progress_fn *progress; /* called by dt_open_core(); may be NULL */
	void *progress_context;
};

enum dt_state {
	DT_STATE_UNKNOWN,
	DT_STATE_RUNNING,  /* on a CPU, or ready to be */
	DT_STATE_GIL_WAIT, /* waiting for the GIL */
	DT_STATE_SYSCALL,  /* inside a system call (dt_thread.syscall) that does work: read, write, connect, ... */
	DT_STATE_SLEEPING, /* blocked in a call that only waits: for time, a lock, an event, a child */
	DT_STATE_STOPPED,  /* by a signal (Ctrl-Z, SIGSTOP) or a debugger: it goes on when told so */
};

/* How it is known that a stack is one that the program really had. */
enum dt_proof {
	DT_PROOF_NONE,  /* it is not: frames are missing and dt_thread.torn is set */
	DT_PROOF_STILL, /* the thread did not run while it was read */
	DT_PROOF_PERCH, /* its CPU was ours while it was read */
	DT_PROOF_PAUSE, /* it was stopped while it was read */
	DT_PROOF_AGREE, /* several looks in a row saw the same, instruction by instruction */
};

struct dt_frame {
	const char *name; /* qualified where Python keeps that (3.11+); of C NULL if it is not known */
	const char *file; /* as the code object has it, unshortened; of C the program or library, "" if there is none */
	const char *source;  /* the line's text without indentation; NULL: not to be had, or not the one that runs */
	uint32_t line;       /* 0: the code has no line there */
	uint32_t first_line; /* of the function */
	bool entry;          /* C called into Python here */
	bool native;         /* of C, C++, Rust, ...: no line is known */
	uint64_t address;    /* of C: where in the file, as its own tables count */
};

struct dt_thread {
	uint64_t tid;        /* kernel's id as seen by us, 0 if unknown */
	uint64_t ns_tid;     /* the same in the target's PID namespace, 0 if unknown */
	uint64_t ident;      /* threading.get_ident() */
	const char *name;    /* threading's name, else the kernel's, else NULL */
	int64_t interpreter; /* id of its interpreter, 0 for the main one */
	enum dt_state state;
	const char *syscall; /* name of the system call it is in, or NULL */
	bool gil;            /* holds the GIL of its interpreter */
	bool main;           /* the interpreter's main thread */
	bool gc;             /* it runs while garbage is collected: by itself, or by one that waits in a finalizer */
	bool torn;           /* its stack could not be proven: frames were left out */
	bool foreign;        /* a thread that Python does not know: all its frames are of C */
	const char *native_missing; /* if C frames were asked for: why they are not there, or not all; NULL: they are */
	bool faulting;              /* of a core file: the thread that got the signal */
	enum dt_proof proof;
	const struct dt_frame *frames; /* innermost first */
	size_t frame_count;
};

/* Of a core file: how the process ended. */
struct dt_core_death {
	const char *file;        /* the core file */
	int signal;              /* that ended the process; 0: none, the core was made of a living one (gcore) */
	const char *signal_name; /* "SIGSEGV"; NULL if signal is 0 */
	const char *cause;       /* "there is no memory at address 0x10", "sent by process 12"; NULL if not known */
	bool has_address;        /* the signal is about an address */
	uint64_t address;        /* that one */
	uint64_t instruction;    /* where the thread that got the signal was; 0 if not known */
	const char *module;      /* file that this instruction lies in, NULL if not known */
	uint64_t module_offset;  /* where in it */
	uint64_t size;           /* bytes of the core file that are there */
	uint64_t whole_size;     /* bytes that it should have: more if it was cut short */
};

struct dt_version {
	uint8_t major, minor, micro;
	uint8_t level; /* 0xa alpha, 0xb beta, 0xc candidate, 0xf final */
	uint8_t serial;
	bool free_threaded; /* built without the GIL: what its users call 3.14t */
};

struct dt_snapshot {
	int pid;
	int ppid;
	struct dt_version version;
	char version_text[24];  /* "3.15.0rc1" */
	const char *executable; /* path of the program file as the target's root has it */
	const char *library;    /* file that holds the interpreter; equal to executable if linked in */
	const char *command;    /* its arguments, joined by spaces; control characters stay as they are */
	const char *container;  /* container id or pod, or NULL */
	uint64_t taken_ns;      /* CLOCK_REALTIME; of a core the time of the file */
	uint64_t window_ns;     /* time from first to last byte read of the look that is shown */
	unsigned interpreters;
	unsigned looks;                   /* looks that were needed */
	unsigned torn;                    /* threads whose stack could not be proven */
	const struct dt_core_death *core; /* NULL: a live process */
	const struct dt_thread *threads;  /* main thread first, then in order of creation; of a core the faulting one
					     before them */
	size_t thread_count;
	const char *const *warnings; /* what a reader of this snapshot should know */
	size_t warning_count;
};

/* Finds Python in process pid. options may be NULL. *target is set on success only. */
DT_API int dt_attach(int pid, const struct dt_options *options, struct dt_target **target, struct dt_error *err);

/* Opens a core file, which may be compressed (gzip, zstd, lz4), instead of a process. What it does not hold is read
 * from the files that were mapped into the process: exe is its program, root the directory below which the others are
 * found (both may be NULL: where the process had them). dt_take() then gives the same snapshot each time. pause and
 * no_perch of the options have no meaning here. */
DT_API int dt_open_core(const char *file, const char *root, const char *exe, const struct dt_options *options,
			struct dt_target **target, struct dt_error *err);

/* Takes the stacks of all threads. The snapshot belongs to the target and lives until the next dt_take or dt_release.
 */
DT_API int dt_take(struct dt_target *target, const struct dt_snapshot **snapshot, struct dt_error *err);

/* Lets go of the target. NULL is fine. */
DT_API void dt_release(struct dt_target *target);

/* For a program that is about to be stopped (Ctrl-Z): a thread that it holds for a look would stand for as long. From
 * now on nothing is held, by none of its threads and recordings, until dt_hold_again(); true once nothing is. Both may
 * be called in a signal handler. */
DT_API bool dt_hold_nothing(void);
DT_API void dt_hold_again(void);

/* ---- recording ---- */

enum dt_weight {
	DT_WEIGHT_WALL,
	DT_WEIGHT_CPU, /* time on a CPU, by the scheduler's account */
	DT_WEIGHT_GIL, /* wall time with the GIL in hand */
};

struct dt_record_options {
	double rate;           /* looks per second, 1 to 1,000,000; 0: 100 */
	enum dt_pause pause;   /* DT_PAUSE_NEVER: what could only be seen by stopping a thread is counted as not seen */
	bool no_perch;         /* do not borrow the CPU of the running thread */
	enum dt_native native; /* C frames as well: each look stops whoever runs, as DT_PAUSE_ALWAYS does */
	int fd;                /* where the recording is written to, as a .darter file; stays the caller's */
	enum dt_weight weight; /* which view it is made for: a word in the file, everything is recorded in any case */
};

struct dt_recording;

/* How it goes. */
struct dt_record_status {
	uint64_t duration_ns;
	size_t processes;         /* that are being looked at */
	size_t joined;            /* all that ever were */
	uint64_t rounds;          /* instants at which was looked */
	uint64_t samples;         /* looks at one thread */
	uint64_t late;            /* rounds that came too late for the stacks that they found */
	uint64_t unseen;          /* samples of a thread that had run, and whose stack was not seen in time */
	uint64_t settled;         /* looks that needed a second way */
	uint64_t torn;            /* samples with frames left out */
	uint64_t lost;            /* rounds that could not be kept */
	uint64_t stops;           /* of single threads of the targets, for one look each */
	uint64_t stopped_ns;      /* in which they stood, all together */
	uint64_t bytes;           /* written so far */
	uint64_t cpu_ns;          /* of darter itself */
	uint64_t rss;             /* of darter itself, bytes */
	uint64_t damaged_ns;      /* of a recording that is read: lost with parts of its file, */
	uint64_t damaged_samples; /* and in no other figure */
	bool seen;                /* something is known of a thread, as of the last flush or the end */
	bool holds;               /* a thread of a process is stopped for a look that hangs: end your process */
	const char *rung;         /* how stacks are proven: "perch, real-time", "perch, short slice", "beside" */
	const char *why;          /* it is no better one; "" for the best */
	const char *error;        /* the file could not be written: why; NULL: it could */
};

/* Begins a recording without processes. All that follows is to be called by the same thread, which is given short turns
 * on its CPU until dt_record_free(), where the kernel has them (Linux 6.12 on): so it gets them soon. Not with
 * no_perch. */
DT_API int dt_record(const struct dt_record_options *options, struct dt_recording **recording, struct dt_error *err);

/* Adds a process: as dt_attach(). Once it is in the recording it stays until it ends; a program that becomes another
 * one (exec) is followed. Waits for at most so many seconds: DT_EAGAIN if it takes longer, or if Python has not begun
 * there yet; then it is to be called again, for others in between. */
DT_API int dt_record_add(struct dt_recording *recording, int pid, double seconds, struct dt_error *err);

/* The same for a process that goes on from another recording, which has it and stays as it is. One that is just
 * becoming another program (exec) is in this one, too, and is asked for until it is Python again. */
DT_API int dt_record_add_from(struct dt_recording *recording, const struct dt_recording *last, int pid, double seconds,
			      struct dt_error *err);

/* So many processes more were to be recorded, and ended before they could be looked at: the recording says so. */
DT_API void dt_record_missed(struct dt_recording *recording, size_t count);

/* Looks after the recording for so many seconds, or until a signal comes: to be called again and again, a second apart
 * at most. What has ended by then is told to `ended` (may be NULL); so is a process the memory of which does not come,
 * with DT_ERUNTIME: it is not recorded any more. 0, DT_EMEMORY, or DT_ERUNTIME if the recording cannot go on: most
 * likely a thread that samples hangs with a thread of a process stopped. Then end the recording and, soon, your
 * process. A file that cannot be written is told by the status, and what was to be written is kept for
 * dt_record_move(). After dt_record_end() it tells of processes that kept the end waiting, and nothing else. */
typedef void dt_record_ended_fn(void *context, int pid, const struct dt_error *why);
DT_API int dt_record_tend(struct dt_recording *recording, double seconds, dt_record_ended_fn *ended, void *context,
			  struct dt_error *err);
DT_API void dt_record_status(const struct dt_recording *recording, struct dt_record_status *status);

/* Writes what is there now, so that the file can be read up to this moment. As dt_record_end() if that failed. */
DT_API int dt_record_flush(struct dt_recording *recording, struct dt_error *err);

/* Goes on in another file, which begins with a copy of all that is in the old one, and whose offset is at its end. */
DT_API void dt_record_resume(struct dt_recording *recording, int fd);

/* Goes on in another file, which has nothing of what is in the old one. */
DT_API int dt_record_move(struct dt_recording *recording, int fd, struct dt_error *err);

/* Ends the recording and writes the last of it. It lasts until now, or until its last process ended if nothing was
 * waited for since (by dt_record_tend()). DT_ERUNTIME with the reason if that failed: dt_record_move() and again. */
DT_API int dt_record_end(struct dt_recording *recording, struct dt_error *err);

/* Lets go of everything; ends a recording that was not ended. NULL is fine. */
DT_API void dt_record_free(struct dt_recording *recording);

/* ---- what a recording shows ---- */

/* What counts, and what of it is shown; all zero is the default. The texts are borrowed. */
struct dt_view_options {
	enum dt_weight weight;
	bool idle;               /* threads that only wait, too */
	bool threads;            /* a root for each thread, and for each process if there are several */
	bool functions;          /* lines of one function are one, which is shown with its first line */
	bool no_lines;           /* the same, shown without a line */
	bool full_names;         /* file names are not shortened */
	bool gc;                 /* during a garbage collection alone */
	bool main_thread;        /* main threads alone */
	const char *thread_name; /* POSIX extended regular expression: threads whose name matches; NULL: all */
	const char *const *hide; /* the same for functions ("name" or "file:name"): frames left out of stacks */
	size_t hide_count;
};

struct dt_profile_render {
	bool color;          /* for a terminal */
	size_t columns;      /* width of the terminal; 0: not known */
	size_t rows;         /* of each table; 0: the usual number */
	const char *title;   /* of the document; NULL: made from the recording */
	const char *program; /* the file of darter, for lines to paste; NULL: whichever the shell finds */
};

struct dt_view;

struct dt_profile_format {
	const char *name;
	const char *alias;             /* another name that is accepted; NULL: none */
	const char *const *extensions; /* with the dot, longest first, ended by NULL: ".trace.json" */
	const char *description;
	/* 0, DT_EMEMORY, or DT_ERUNTIME with errno set when out does not take it. NULL: it is the recording itself,
	 * which dt_show_recording() writes anew, whole and without what was damaged. */
	int (*render)(struct dt_view *view, const struct dt_profile_render *render, FILE *out);
};

/* All of them, ended by NULL. */
DT_API const struct dt_profile_format *const *dt_profile_formats(void);

/* By name or alias; by the ending of a file's name, the longest extension that fits. NULL: none. */
DT_API const struct dt_profile_format *dt_profile_format_by_name(const char *name);
DT_API const struct dt_profile_format *dt_profile_format_by_file(const char *file);

/* Reads a .darter file, from the beginning of fd on, and writes what it shows. name is that of the file, for words.
 * What is the matter with a file that could be read only in part is put into warning, which is "" otherwise. */
#define DT_WARNING_SIZE 512
DT_API int dt_show_recording(int fd, const char *name, const struct dt_profile_format *format,
			     const struct dt_view_options *view, const struct dt_profile_render *render, FILE *out,
			     char warning[DT_WARNING_SIZE], struct dt_error *err);

/* Several recordings as one: each is read when it is added, in any order, and all are put together as they lie in time.
 * A process that goes on from one file of a rotation to the next is one. */
struct dt_recordings;
DT_API struct dt_recordings *dt_recordings_new(void); /* NULL: out of memory */
DT_API void dt_recordings_free(struct dt_recordings *recordings);
DT_API int dt_recordings_add(struct dt_recordings *recordings, int fd, const char *name, char warning[DT_WARNING_SIZE],
			     struct dt_error *err);
/* Puts them together now; dt_recordings_show() does it otherwise. What had to be left out, since it seems to have been
 * recorded twice, is told in warning. */
DT_API int dt_recordings_join(struct dt_recordings *recordings, char warning[DT_WARNING_SIZE], struct dt_error *err);
/* What they came to, once they are put together: as when a recording ends. rate is what was asked for, 0: not the same
 * by all. Texts live as long as the recordings. */
DT_API void dt_recordings_status(const struct dt_recordings *recordings, struct dt_record_status *status, double *rate);
/* Once, of at least one. That the view shows nothing is put into warning (which may be NULL), unless the output is the
 * text that says so. */
DT_API int dt_recordings_show(struct dt_recordings *recordings, const struct dt_profile_format *format,
			      const struct dt_view_options *view, const struct dt_profile_render *render, FILE *out,
			      char warning[DT_WARNING_SIZE], struct dt_error *err);

/* A recording that was made, for programs: docs/json.md. */
struct dt_failure;
struct dt_record_result {
	struct dt_record_status status;
	double rate;        /* that was asked for */
	const char *format; /* name; NULL: there are no files */
	const char *reason; /* why it ended: "duration", "signal", "ended", "program", "memory", "hangs", "error"; NULL:
			       it is not known any more */
	const char **files; /* that are there now, oldest first */
	size_t file_count;
	const struct dt_failure *failures;
	size_t failure_count;
};
DT_API int dt_render_record_json(const struct dt_record_result *result, FILE *out);

/* ---- a host ---- */

struct dt_process {
	int pid;
	int ppid;
	unsigned threads;   /* of the process, as the kernel counts them */
	int code;           /* 0 or why it could not be read: DT_E* */
	const char *reason; /* the same in a few words; NULL if it could be read */
	struct dt_version version;
	char version_text[24];
	double cpu;       /* percent of one CPU over the survey's interval, < 0 if unknown */
	uint64_t rss;     /* bytes */
	const char *user; /* name or number of its owner */
	const char *container;
	const char *command;
	const char *function; /* what it is doing now: innermost frame of the thread that runs, else of the main
				 thread; NULL if unknown */
	const char *file;
	uint32_t line;
	enum dt_state state;
	const char *message; /* the reason at length, as in struct dt_error, or NULL */
	const char *hint;    /* what can be done about it here, as in struct dt_error, or NULL */
};

struct dt_process_list;

/* Every Python process of the host, by pid; those that look like Python and may not be read are listed with the reason.
 * cpu_seconds is how long to measure CPU use (0: since each process began). */
DT_API int dt_survey(double cpu_seconds, struct dt_process_list **list, struct dt_error *err);
DT_API size_t dt_process_list_count(const struct dt_process_list *list);
DT_API const struct dt_process *dt_process_list_at(const struct dt_process_list *list, size_t index);
DT_API void dt_process_list_free(struct dt_process_list *list);

/* Pids of all processes whose command line matches the POSIX extended regular expression, or all if it is NULL, that
 * have a Python interpreter; and of all descendants of a process (Python or not: dt_attach tells). The caller frees
 * *pids. */
DT_API int dt_find(const char *regex, int **pids, size_t *count, struct dt_error *err);
DT_API int dt_children(int pid, int **pids, size_t *count, struct dt_error *err);

/* A short name for what a process runs, for the names of files: "server" of "/usr/bin/python3 -u /srv/server.py", made
 * of letters, digits, '.', '_' and '-'. "python" if nothing is known. command: its command line; NULL: that of pid. */
DT_API void dt_process_name(int pid, const char *command, char *name, size_t size);

/* Processes that come while one looks: new ones whose command line matches, or that are descendants of others. */
struct dt_arrivals;
struct dt_arrival_options {
	const int *roots; /* by number */
	size_t root_count;
	const char *const *names; /* regular expressions over the command line: any of them */
	size_t name_count;
	bool all;
	bool children; /* of roots, of those that match, and their children */
};

/* What is there already is not new. The options are borrowed. */
DT_API int dt_arrivals_new(const struct dt_arrival_options *options, struct dt_arrivals **arrivals,
			   struct dt_error *err);

/* Those that may be Python and have to be asked for now, to be attached; each is told until dt_arrivals_told() says
 * that it need not be. Cheap enough for 50 times a second. The list lives until the next call. */
DT_API int dt_arrivals_ask(struct dt_arrivals *arrivals, const int **pids, size_t *count, struct dt_error *err);

/* How many seconds may pass until it is asked again, for a process to be told within 50 ms of its beginning; infinity:
 * nobody is awaited. */
DT_API double dt_arrivals_rest(const struct dt_arrivals *arrivals);

/* What became of a process: 0 or DT_E*. One that is no Python, or not yet, is told again now and then, as it may become
 * another program; also one that was never told, such as a child that was there from the beginning. The children of one
 * that joined (0) count, too. */
DT_API void dt_arrivals_told(struct dt_arrivals *arrivals, int pid, int code);

/* How many ended since this was last asked that were asked for and looked like Python, and could not be attached
 * before. Who ended before anything was known of it is not among them. */
DT_API size_t dt_arrivals_missed(struct dt_arrivals *arrivals);

/* Whether any of the processes that were given by number, Python or not, has not ended yet. */
DT_API bool dt_arrivals_rooted(const struct dt_arrivals *arrivals);
DT_API void dt_arrivals_free(struct dt_arrivals *arrivals);

/* ---- showing ---- */

struct dt_render {
	bool color;
	bool full_names;   /* do not shorten file names */
	bool verbose;      /* say how it is known, too */
	size_t max_frames; /* of each thread, 0: all */
	size_t columns;    /* width of the terminal, for tables: longer lines are cut; 0: not cut */
};

/* A process that could not be shown. */
struct dt_failure {
	int pid;
	struct dt_error error;
};

struct dt_format {
	const char *name;
	const char *extension;
	const char *description;
	/* Writes one snapshot. Several in a row make up one document between begin and end (which may be NULL). end
	 * gets what could not be shown, so that a document tells of every process that was asked for. render may be
	 * NULL. */
	int (*begin)(FILE *out);
	int (*snapshot)(const struct dt_snapshot *snapshot, const struct dt_render *render, bool first, FILE *out);
	int (*end)(const struct dt_failure *failures, size_t count, FILE *out);
};

/* All output formats, ended by NULL. Everything that writes returns 0, DT_EMEMORY, or DT_ERUNTIME with
 * errno set when out does not take it. Text from a target is escaped: it cannot reach into a terminal or break JSON. */
DT_API const struct dt_format *const *dt_formats(void);
DT_API const struct dt_format *dt_format_by_name(const char *name);
DT_API int dt_render_text(const struct dt_snapshot *snapshot, const struct dt_render *render, FILE *out);
/* The threads alone, without the lines about the process. */
DT_API int dt_render_threads_text(const struct dt_snapshot *snapshot, const struct dt_render *render, FILE *out);
DT_API int dt_render_json(const struct dt_snapshot *snapshot, FILE *out);
DT_API int dt_render_processes_text(const struct dt_process_list *list, const struct dt_render *render, FILE *out);
DT_API int dt_render_processes_json(const struct dt_process_list *list, FILE *out);

/* Words for people and for JSON: "running", "waiting for the GIL"; "still", "perch", ... Never NULL. */
DT_API const char *dt_state_name(enum dt_state state);
DT_API const char *dt_proof_name(enum dt_proof proof);

/* The name of a DT_E* code in JSON: "permission", "not found", ... */
DT_API const char *dt_error_name(int code);

DT_API const char *dt_library_version(void);

#ifdef __cplusplus
}
#endif

#endif
