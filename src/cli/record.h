/* The parts of 'darter record'. */
#ifndef DT_CLI_RECORD_H
#define DT_CLI_RECORD_H

#include <sys/types.h>
#include <time.h>

#include "cli/dump.h"
#include "cli/showing.h"

struct dt_record_command {
	struct dt_showing showing;
	struct dt_record_options how;
	double duration;      /* seconds, 0: until it is ended */
	double rotate;        /* seconds, 0: never */
	size_t keep;          /* files, 0: all */
	char *const *program; /* to start, ended by NULL; NULL: none */
	bool wait;            /* for the first one that matches */
};

/* ---- a program that is started (record_program.c) ---- */

struct dt_program {
	pid_t pid; /* 0: there is none, or it has ended */
	int go, failed;
	int exit_code; /* once it has ended */
	bool adopts;   /* descendants whose parent ends become our children */
};

/* To be called first: from now on descendants of the program are known also when their parents have ended. Not where we
 * have children of somebody else's making, from before an exec: nobody could tell them apart. */
void dt_program_adopt(struct dt_program *program);
/* Nothing is recorded any more: nobody else need become our child. */
void dt_program_adopt_no_more(const struct dt_program *program);
/* Makes the process, which waits: it has nothing of what a recording does to us. */
int dt_program_prepare(struct dt_program *program, struct dt_error *err, char *const *words);
/* The program begins in it. DT_ENOTFOUND, DT_EPERMISSION or DT_ERUNTIME if it cannot. */
int dt_program_go(struct dt_program *program, const char *name, struct dt_error *err);
/* A process that waits ends. */
void dt_program_drop(struct dt_program *program);
/* True once it has ended, with its exit code (128 + the signal that ended it). */
bool dt_program_ended(struct dt_program *program);
void dt_program_await(struct dt_program *program);
/* Takes notice of adopted processes that have ended. True while there is one that has not, or the program itself. */
bool dt_program_has_heirs(const struct dt_program *program);

/* What belongs before a word that is meant as a program: "", "./" for one that is here and not in PATH, or "python3 "
 * for a script that does not start by itself, or for a directory with a __main__.py (record_start.c). NULL: it is
 * there, and nothing is known that would start it. */
const char *dt_start_of(const char *name);

/* ---- where a recording is written while it goes on (record_data.c) ---- */

struct dt_data {
	char *path; /* NULL: none */
	int fd;
	bool final; /* it is the output itself */
	int full;   /* why it is not beside the output, whose disk is full from the beginning; 0: it is not so */
};

/* output: where the result goes, NULL: to no file. The data goes to the output itself if it is to be a recording and
 * there is none yet, else beside it, or to a directory for temporary files if it has no place or its disk is full. */
int dt_data_open(struct dt_data *data, const char *output, bool recording, struct dt_error *err);

/* Takes all that was written to another place, and goes on there. DT_ERUNTIME if there is none. */
int dt_data_elsewhere(struct dt_data *data, struct dt_recording *recording, struct dt_error *err);

/* True if there is a file of that name, and it is this one: others may remove or rename it while it is written. */
bool dt_data_named(const struct dt_data *data);

/* Gives data that has lost its name another one, beside the output if that is possible, and copies all that was
 * written. recording: which goes on there; NULL: it has ended. DT_ERUNTIME if there is no place. */
int dt_data_name_again(struct dt_data *data, const char *output, struct dt_recording *recording);

/* A directory where something may be written that is on another disk than the data; NULL: there is none. */
const char *dt_data_other_folder(const struct dt_data *data);

void dt_data_remove(struct dt_data *data);  /* the file, too, if it still has its name */
void dt_data_release(struct dt_data *data); /* the file stays */

/* ---- progress (record_progress.c) ---- */

struct dt_record_progress {
	FILE *out; /* NULL: nothing is shown */
	size_t columns, width;
	uint64_t next_ns;
};
void dt_record_progress_begin(struct dt_record_progress *progress, FILE *out);
void dt_record_progress_show(struct dt_record_progress *progress, const struct dt_recording *recording,
			     uint64_t before_ns);
/* Takes the line away, until it is shown again. */
void dt_record_progress_hide(struct dt_record_progress *progress);

/* ---- a run of the command ---- */

struct dt_record_run {
	const struct dt_record_command *command;
	const struct dt_common *common;
	struct dt_recording *recording;
	struct dt_data data;
	char *output;    /* of the file that is being recorded; NULL: none is kept */
	char *stem;      /* what made names begin with */
	time_t named_at; /* the last of them, */
	unsigned named;  /* and its number within the second */
	bool claimed;    /* the file of a made name is ours */
	char **files;    /* results that are there, oldest first */
	size_t file_count;
	bool to_stdout;
	bool written_so_far; /* a signal has asked for a result before the end */
	struct dt_program program;
	uint64_t outlived_ns; /* since when it has ended and its children have not, 0: it is not so */
	bool outlived_told;
	struct dt_picks picks;
	struct dt_arrivals *arrivals;
	struct dt_arrival_options arriving;
	int roots[2]; /* the program, and we who adopt what it leaves behind */
	int *members; /* pids that are recorded */
	size_t member_count, joined;
	size_t ended; /* of those that have joined; the others are dropped, or recorded now */
	struct dt_failures failures;
	struct dt_failure pending; /* told at the end if nobody has joined */
	uint64_t pending_ns;       /* until when Python that is just starting is waited for */
	struct dt_record_progress progress;
	struct dt_record_status before; /* what earlier files of a rotation came to */
	uint64_t began_ns, rotated_ns;
	uint64_t moved_ns;   /* when another place was looked for the last time */
	uint64_t checked_ns; /* when the file was last asked for errors */
	const char *reason;
	bool unwritten; /* a result could not be written */
};

/* Who is recorded (record_members.c). */
int dt_record_choose(struct dt_record_run *run, struct dt_error *err);
void dt_record_join_all(struct dt_record_run *run);
void dt_record_join_new(struct dt_record_run *run);
/* All go on in the next recording. False: none of them can, and they stay in this one. */
bool dt_record_join_again(struct dt_record_run *run, struct dt_recording *recording);
bool dt_record_is_over(const struct dt_record_run *run);
/* Whether others than the program are recorded. */
bool dt_record_has_children(const struct dt_record_run *run);
dt_record_ended_fn dt_record_member_ended;

/* If nobody matches (record_wait.c). */
int dt_record_no_match(struct dt_record_run *run, struct dt_error *err);
/* Waits until there is one, or for a signal, if that is to be done. */
int dt_record_await(struct dt_record_run *run, struct dt_error *err);

/* What it is called (record_names.c). */
int dt_record_name_output(struct dt_record_run *run, struct dt_error *err);
/* The process that a made name speaks of may have become another program since: a shell has become Python. */
void dt_record_name_anew(struct dt_record_run *run);
/* Before a result is written: makes sure that a made name is nobody else's, or makes the next one. True if there is an
 * empty file of that name now, to be removed if nothing comes of it. */
bool dt_record_claim_name(struct dt_record_run *run);

/* What becomes of it (record_results.c). */
int dt_record_begin(struct dt_record_run *run, struct dt_error *err);
void dt_record_write_now(struct dt_record_run *run);
void dt_record_rotate(struct dt_record_run *run);
void dt_record_check_disk(struct dt_record_run *run);
/* Ends a recording and makes its result; with the summary if it is the last one. False if not one thread was seen
 * in all of it: there is no result then. */
bool dt_record_finish(struct dt_record_run *run, bool last);

/* Adds to an error where the recording is kept, and the command that makes the result of it (record_kept.c); elsewhere
 * if its place was refused. */
void dt_record_tell_kept(const struct dt_record_run *run, bool refused, struct dt_error *err);

/* Figures of a recording behind those of the ones before it. */
void dt_record_add_status(struct dt_record_status *sum, const struct dt_record_status *status);
void dt_record_tell(struct dt_record_run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Until it ends; returns the exit code (record_run.c). */
int dt_record_run(const struct dt_record_command *command);

#endif
