/*
 * find PID...: where is Python in these processes? One line each on stdout:
 *
 *     PID ok VERSION FOUND_BY RUNTIME LIBRARY [newer]
 *     PID CODE MESSAGE | HINT
 *
 * With --spans first the first line ends with the bounds of the code and of the data in which threads wait for the GIL.
 *
 * With --likely first: "PID likely" or "PID unlikely". With --cached one cache serves all of them. With --times N each
 * is looked for N times, and every different line is printed once.
 */
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "python/find.h"

#define LINES_MAX 32

static bool spans;

/* Lines that were printed of this process; more kinds than these are a failure in themselves. */
struct seen {
	char lines[LINES_MAX][4096];
	size_t count;
};

static void say(struct seen *seen, int pid, const char *line)
{
	for (size_t i = 0; i < seen->count; i++)
		if (strcmp(seen->lines[i], line) == 0)
			return;
	if (seen->count < LINES_MAX)
		snprintf(seen->lines[seen->count++], sizeof(seen->lines[0]), "%s", line);
	printf("%d %s\n", pid, line);
}

static int find(int pid, struct dt_find_cache *cache, char line[4096], struct dt_error *err)
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
		snprintf(line, 4096, "ok %s %s %#llx %.3000s%s", version, python.found_by,
			 (unsigned long long)python.runtime, python.library, python.newer ? " newer" : "");
		if (spans)
			snprintf(line + strlen(line), 4096 - strlen(line), " %#llx-%#llx %#llx-%#llx",
				 (unsigned long long)python.code_start, (unsigned long long)python.code_end,
				 (unsigned long long)python.variables.wait_start,
				 (unsigned long long)python.variables.wait_end);
	}
	dt_mem_free(mem);
	dt_proc_release(&proc);
	return code;
}

static void find_times(int pid, uint64_t times, struct dt_find_cache *cache)
{
	static struct seen seen;
	char line[4096];

	seen.count = 0;
	for (uint64_t i = 0; i < times; i++) {
		struct dt_error err = {0};

		if (find(pid, cache, line, &err) < 0)
			snprintf(line, sizeof(line), "%d %.700s | %.3000s", err.code, err.message, err.hint);
		say(&seen, pid, line);
	}
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
	uint64_t pid, times = 1;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--likely") == 0)
			ask_likely = true;
		else if (strcmp(argv[i], "--spans") == 0)
			spans = true;
		else if (strcmp(argv[i], "--cached") == 0 && !cache)
			cache = dt_find_cache_new();
		else if (strcmp(argv[i], "--times") == 0 && i + 1 < argc && dt_parse_u64(argv[i + 1], 1000000, &times))
			i++;
		else if (!dt_parse_u64(argv[i], INT32_MAX, &pid))
			return 2;
		else if (ask_likely)
			printf("%d %s\n", (int)pid, likely((int)pid, cache) ? "likely" : "unlikely");
		else
			find_times((int)pid, times, cache);
	}
	dt_find_cache_free(cache);
	return 0;
}
