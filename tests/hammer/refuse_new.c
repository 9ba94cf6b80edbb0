/*
 * refuse_new PROGRAM...: runs a program on a kernel that says ENOSYS to every system call which Linux 3.10 did not
 * have, the kernel that glibc 2.17 came with (CentOS 7). Exits with 77 where such a filter cannot be set.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../filter.h"

#ifdef __x86_64__
#define FIRST_NEW 314 /* sched_setattr, of 3.14 */
#else
#define FIRST_NEW 274 /* the same */
#endif

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: refuse_new PROGRAM...\n");
		return 2;
	}
	if (refuse_calls(BPF_JGE, FIRST_NEW, ENOSYS) != 0 || syscall(SYS_memfd_create, "", 0) >= 0 || errno != ENOSYS) {
		perror("refuse_new: no filter");
		return 77;
	}
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 127;
}
