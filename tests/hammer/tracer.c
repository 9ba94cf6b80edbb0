/*
 * tracer PID: is the tracer of every thread of a process, as a debugger would be, without ever stopping it. Says
 * "ready", and lets go when its standard input ends.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <unistd.h>

static int seize_all(const char *pid)
{
	char path[64];
	struct dirent *entry;
	int count = 0;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%s/task", pid);
	tasks = opendir(path);
	if (!tasks)
		return -1;
	while ((entry = readdir(tasks))) {
		int tid = (int)strtol(entry->d_name, NULL, 10);

		if (tid > 0 && ptrace(PTRACE_SEIZE, tid, NULL, NULL) == 0)
			count++;
	}
	closedir(tasks);
	return count;
}

int main(int argc, char **argv)
{
	char byte;

	if (argc != 2)
		return 2;
	if (seize_all(argv[1]) <= 0) {
		perror("tracer");
		return 1;
	}
	puts("ready");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		continue;
	return 0;
}
