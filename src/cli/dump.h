/* The ways to dump: once, again and again, and from a core file. */
#ifndef DT_CLI_DUMP_H
#define DT_CLI_DUMP_H

#include "cli/selection.h"

struct dt_dump_options {
	struct dt_selecting selecting;
	struct dt_options attach;
	struct dt_render render;
	const struct dt_format *format;
	double every; /* seconds, 0: once */
	const char *core, *exe, *root;
};

/* What went wrong so far. The first failure decides the exit code. */
struct dt_failures {
	struct dt_failure *list; /* for the document's end */
	size_t count;
	unsigned hinted; /* bits of the codes whose hint was shown: it is told once */
	int first;       /* code */
};

/* Tells it, and keeps it for the document's end. */
void dt_failures_add(struct dt_failures *failures, const struct dt_common *common, int pid, const struct dt_error *err);
/* Keeps it alone: something that a document has to tell, and no failure of ours. */
void dt_failures_keep(struct dt_failures *failures, int pid, const struct dt_error *err);
void dt_failures_release(struct dt_failures *failures);

/* True for a failure that a process not asked for by number may have without a word: not Python, gone. */
bool dt_dump_passes_over(const struct dt_pick *pick, int code, bool kin_shown);

/* What stands before and behind the snapshots of one document. Words for people come after a document. */
void dt_dump_open(const struct dt_dump_options *options);
void dt_dump_close(const struct dt_dump_options *options, const struct dt_failures *failures);

/* One look at one process, by a worker that may be left behind (base/patience.h): so it has what it needs of its own.
 */
struct dt_dump_look {
	int pid;
	struct dt_options attach;
	struct dt_target *target; /* NULL: to be attached */
	const struct dt_snapshot *snapshot;
	int code;
	struct dt_error err;
};

#define DT_DUMP_PATIENCE_SECONDS 5 /* how long one process may leave us without an answer */
#define DT_DUMP_PATIENCE_NS      (DT_DUMP_PATIENCE_SECONDS * UINT64_C(1000000000))

/* NULL if out of memory; freed with free(). */
struct dt_dump_look *dt_dump_look_new(const struct dt_dump_options *options);

/* Attaches if need be, and takes. Python that is just starting is given some time. On success target and snapshot are
 * set; on failure code and err, and a target that was attached here is released. */
void dt_dump_look(struct dt_dump_look *look);

/* Says that a look did not come back. */
int dt_dump_fail_stuck(int pid, struct dt_error *err);

/* A word that is no option: a process id. A file is no process, but may be a core. */
int dt_dump_argument(void *options, const char *text, struct dt_error *err);

/* All return the exit code. */
int dt_dump_core(const struct dt_dump_options *options);
int dt_dump_once(const struct dt_dump_options *options);
int dt_dump_every(const struct dt_dump_options *options);

#endif
