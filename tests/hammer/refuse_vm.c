/*
 * refuse_vm EPERM|ENOSYS PROGRAM...: runs a program that may not use process_vm_readv, as container runtimes do it.
 * Exits with 77 where such a filter cannot be set.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../filter.h"

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
	if (refuse_calls(BPF_JEQ, SYS_process_vm_readv, refusal) != 0 || !works(refusal)) {
		perror("refuse_vm: no filter");
		return 77;
	}
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
