/*
 * Prints why a process may not be looked into: message, hint, and the few words for lists, each behind a line with its
 * name. For tests of real refusals: `refuse PID`. With --filter the system call process_vm_readv is refused to
 * ourselves first.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/syscall.h>

#include "../filter.h"
#include "base/util.h"
#include "doctor/refusal.h"

int main(int argc, char **argv)
{
	struct dt_error err = {0};
	char text[128];
	uint64_t pid;
	int code;

	if (argc == 3 && strcmp(argv[1], "--filter") == 0) {
		if (refuse_calls(BPF_JEQ, SYS_process_vm_readv, EPERM) != 0) {
			perror("refuse: seccomp");
			return 1;
		}
		argv++;
		argc--;
	}
	if (argc != 2 || !dt_parse_u64(argv[1], INT32_MAX, &pid)) {
		fprintf(stderr, "usage: refuse [--filter] PID\n");
		return 2;
	}
	code = dt_refusal_explain((int)pid, &err);
	dt_refusal_short((int)pid, text, sizeof(text));
	printf("code\n%d\nmessage\n%s\nshort\n%s\nhint\n%s\n", code, err.message, text, err.hint);
	return 0;
}
