/*
 * refuse_vm EPERM|ENOSYS PROGRAM...: runs a program that may not use process_vm_readv, as container runtimes do it.
 * Exits with 77 where such a filter cannot be set.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static int install(unsigned refusal)
{
	struct sock_filter rules[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | refusal),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = sizeof(rules) / sizeof(rules[0]), .filter = rules};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* The filter is there and does what it should. */
static int works(int refusal)
{
	char from = 'x';
	char into = 'y';
	struct iovec source = {&from, 1};
	struct iovec sink = {&into, 1};

	return process_vm_readv(getpid(), &sink, 1, &source, 1, 0) < 0 && errno == refusal;
}

int main(int argc, char **argv)
{
	int refusal;

	if (argc < 3) {
		fprintf(stderr, "usage: refuse_vm EPERM|ENOSYS PROGRAM...\n");
		return 2;
	}
	refusal = strcmp(argv[1], "ENOSYS") == 0 ? ENOSYS : EPERM;
	if (install((unsigned)refusal) != 0 || !works(refusal)) {
		perror("refuse_vm: no filter");
		return 77;
	}
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
