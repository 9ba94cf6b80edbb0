/*
 * find PID...: where is Python in these processes? One line each on stdout:
 *
 *     PID ok VERSION FOUND_BY RUNTIME LIBRARY [newer]
 *     PID CODE MESSAGE | HINT
 *
 * With --likely first: "PID likely" or "PID unlikely". With --cached one cache serves all of them.
 */
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "python/find.h"

static int find(int pid, struct dt_find_cache *cache, struct dt_error *err)
{
	static struct dt_python python;
	struct dt_proc proc;
	struct dt_mem *mem;
	char version[24];
	int code;

	if (dt_proc_open(pid, &proc) < 0)
		return dt_fail(err, DT_ENOTFOUND, "no process %d", pid);
	if (dt_mem_open_live(pid, proc.dir, &mem) < 0) {
		dt_proc_release(&proc);
		return dt_fail(err, DT_ERUNTIME, "no reader for process %d", pid);
	}
	code = cache ? dt_python_find_cached(&proc, mem, cache, &python, err)
		     : dt_python_find(&proc, mem, &python, err);
	if (code == 0) {
		dt_version_text(&python.version, version);
		printf("%d ok %s %s %#llx %s%s\n", pid, version, python.found_by, (unsigned long long)python.runtime,
		       python.library, python.newer ? " newer" : "");
	}
	dt_mem_free(mem);
	dt_proc_release(&proc);
	return code;
}

static bool likely(int pid, struct dt_find_cache *cache)
{
	struct dt_proc proc;
	bool answer;

	if (dt_proc_open(pid, &proc) < 0)
		return false;
	answer = dt_python_likely(&proc, cache);
	dt_proc_release(&proc);
	return answer;
}

int main(int argc, char **argv)
{
	struct dt_find_cache *cache = NULL;
	bool ask_likely = false;
	uint64_t pid;

	for (int i = 1; i < argc; i++) {
		struct dt_error err = {0};

		if (strcmp(argv[i], "--likely") == 0)
			ask_likely = true;
		else if (strcmp(argv[i], "--cached") == 0 && !cache)
			cache = dt_find_cache_new();
		else if (!dt_parse_u64(argv[i], INT32_MAX, &pid))
			return 2;
		else if (ask_likely)
			printf("%d %s\n", (int)pid, likely((int)pid, cache) ? "likely" : "unlikely");
		else if (find((int)pid, cache, &err) < 0)
			printf("%d %d %s | %s\n", (int)pid, err.code, err.message, err.hint);
	}
	dt_find_cache_free(cache);
	return 0;
}
