/* System calls that this process, and what it becomes, is refused from here on. */
#ifndef DT_TESTS_FILTER_H
#define DT_TESTS_FILTER_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>

/* Those for which `test` (BPF_JEQ: equal, BPF_JGE: at least) is true of their number and `call` fail with `code`. 0 or
 * -1.
 */
static inline int refuse_calls(unsigned test, unsigned call, int code)
{
	struct sock_filter rules[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    BPF_JUMP((unsigned short)(BPF_JMP | test | BPF_K), call, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)code),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = sizeof(rules) / sizeof(rules[0]), .filter = rules};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

#endif
