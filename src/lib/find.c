/*
 * Python processes by their command line. A process may end at any moment: that is never an error here, it is only left
 * out. One that may not be looked into is found by its name, so that asking for it says why and not "none". One whose
 * command line or files do not answer is left out.
 */
#include <stdlib.h>

#include "base/patience.h"
#include "base/regex.h"
#include "base/util.h"
#include "lib/host.h"
#include "python/find.h"

#define PATIENCE_NS UINT64_C(3000000000) /* for one process */

/* What a worker needs that may be left behind. */
struct visit {
	int pid;
	bool found;
	bool named; /* the expression counts */
	regex_t regex;
	struct dt_arena arena;
	struct dt_find_cache *cache; /* without one it is only slower */
};

struct search {
	const char *text;
	int *pids; /* all; those that are found move to the front */
	size_t count;
	int code;
	struct dt_error *err;
};

static struct visit *visit_new(struct search *search)
{
	struct visit *visit = calloc(1, sizeof(*visit));

	if (!visit) {
		search->code = dt_fail(search->err, DT_EMEMORY, "out of memory");
		return NULL;
	}
	visit->named = search->text != NULL;
	if (visit->named) {
		search->code = dt_regex_compile(search->text, &visit->regex, search->err);
		if (search->code) {
			free(visit);
			return NULL;
		}
	}
	dt_arena_init(&visit->arena, 0);
	visit->cache = dt_find_cache_new();
	return visit;
}

static void visit_free(struct visit *visit)
{
	if (!visit)
		return;
	if (visit->named)
		regfree(&visit->regex);
	dt_find_cache_free(visit->cache);
	dt_arena_release(&visit->arena);
	free(visit);
}

static bool begin(void *context, void *work, size_t i)
{
	const struct search *search = context;
	struct visit *visit = work;

	visit->pid = search->pids[i];
	visit->found = false;
	return true;
}

/* The command line is looked at first: it costs less than the memory map. */
static void go(void *work, size_t i)
{
	struct visit *visit = work;
	struct dt_proc proc;
	bool named = true;

	(void)i;
	if (visit->pid == getpid() || dt_proc_open(visit->pid, &proc) < 0)
		return;
	dt_proc_outlive(&proc);
	if (visit->named) {
		const char *command = dt_proc_command(&proc, &visit->arena);

		named = command && regexec(&visit->regex, command, 0, NULL, 0) == 0;
		dt_arena_reset(&visit->arena);
	}
	visit->found = named && dt_python_likely(&proc, visit->cache);
	dt_proc_release(&proc);
}

static bool done(void *context, void *work, size_t i)
{
	struct search *search = context;
	const struct visit *visit = work;

	(void)i;
	if (visit->found)
		search->pids[search->count++] = visit->pid;
	return true;
}

static void *stuck(void *context, void *work, size_t i)
{
	(void)work, (void)i;
	return visit_new(context);
}

int dt_find(const char *text, int **pids, size_t *count, struct dt_error *err)
{
	struct search search = {.text = text, .err = err};
	const struct dt_patience patience = {PATIENCE_NS, &search, begin, go, done, stuck};
	struct visit *visit = visit_new(&search);
	size_t all;

	if (search.code == 0)
		search.code = dt_host_pids(&search.pids, &all, err);
	if (search.code == 0)
		visit = dt_patiently(&patience, visit, all);
	visit_free(visit);
	if (search.code) {
		free(search.pids);
		return search.code;
	}
	*pids = search.pids;
	*count = search.count;
	return 0;
}
