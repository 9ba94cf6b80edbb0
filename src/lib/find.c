/*
 * Python processes by their command line. A process may end at any moment: that is never an error here, it is only left
 * out. One that may not be looked into is found by its name, so that asking for it says why and not "none".
 */
#include <regex.h>

#include "base/util.h"
#include "lib/host.h"
#include "python/find.h"

static int compile(const char *text, regex_t *regex, struct dt_error *err)
{
	char reason[256];
	int rc = regcomp(regex, text, REG_EXTENDED | REG_NOSUB);

	if (rc == 0)
		return 0;
	regerror(rc, regex, reason, sizeof(reason));
	return dt_fail(err, DT_EUSAGE, "\"%.200s\" is not a regular expression: %s", text, reason);
}

/* The command line is looked at first: it costs less than the memory map. */
static bool matches(int pid, const regex_t *regex, struct dt_find_cache *cache, struct dt_arena *arena)
{
	struct dt_proc proc;
	bool found = false;

	if (dt_proc_open(pid, &proc) < 0)
		return false;
	dt_proc_outlive(&proc);
	if (regex) {
		const char *command = dt_proc_command(&proc, arena);

		found = command && regexec(regex, command, 0, NULL, 0) == 0;
		dt_arena_reset(arena);
	}
	if (found || !regex)
		found = dt_python_likely(&proc, cache);
	dt_proc_release(&proc);
	return found;
}

int dt_find(const char *text, int **pids, size_t *count, struct dt_error *err)
{
	struct dt_find_cache *cache;
	struct dt_arena arena;
	regex_t regex;
	size_t all;
	int rc;

	if (text) {
		rc = compile(text, &regex, err);
		if (rc < 0)
			return rc;
	}
	rc = dt_host_pids(pids, &all, err);
	if (rc < 0)
		goto out;
	dt_arena_init(&arena, 0);
	cache = dt_find_cache_new(); /* without one it is only slower */
	*count = 0;
	for (size_t i = 0; i < all; i++) {
		int pid = (*pids)[i];

		if (pid != getpid() && matches(pid, text ? &regex : NULL, cache, &arena))
			(*pids)[(*count)++] = pid;
	}
	dt_find_cache_free(cache);
	dt_arena_release(&arena);
out:
	if (text)
		regfree(&regex);
	return rc;
}
