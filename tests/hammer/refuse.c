/*
 * Prints why a process may not be looked into: message, hint, and the few words for lists, each behind a line with its
 * name. For tests of real refusals: `refuse PID`. With --filter the system call process_vm_readv is refused to
 * ourselves first.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "base/util.h"
#include "doctor/refusal.h"

static int refuse_vm_read(void)
{
	struct sock_filter rules[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = DT_COUNT(rules), .filter = rules};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv)
{
	struct dt_error err = {0};
	char text[128];
	uint64_t pid;
	int code;

	if (argc == 3 && strcmp(argv[1], "--filter") == 0) {
		if (refuse_vm_read() != 0) {
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
