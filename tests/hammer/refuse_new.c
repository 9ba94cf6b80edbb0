/*
 * refuse_new PROGRAM...: runs a program on a kernel that says ENOSYS to every system call which Linux 3.10 did not
 * have, the kernel that glibc 2.17 came with (CentOS 7). Exits with 77 where such a filter cannot be set.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __x86_64__
#define FIRST_NEW 314 /* sched_setattr, of 3.14 */
#else
#define FIRST_NEW 274 /* the same */
#endif

static int install(void)
{
	struct sock_filter rules[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, FIRST_NEW, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = sizeof(rules) / sizeof(rules[0]), .filter = rules};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: refuse_new PROGRAM...\n");
		return 2;
	}
	if (install() != 0 || syscall(SYS_memfd_create, "", 0) >= 0 || errno != ENOSYS) {
		perror("refuse_new: no filter");
		return 77;
	}
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 127;
}
