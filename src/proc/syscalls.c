/* What a system call is called, and whether it only waits. Which ones exist differs from machine to machine. */
#include <sys/syscall.h>

#include "proc/proc.h"
#include "proc/syscall_names.h"

const char *dt_syscall_name(long number)
{
	const char *name = number >= 0 && (size_t)number < dt_syscall_name_count ? dt_syscall_names[number] : NULL;

	return name && *name ? name : NULL;
}

bool dt_syscall_waits(long number)
{
	switch (number) {
#ifdef __NR_nanosleep
	case __NR_nanosleep:
#endif
	case __NR_clock_nanosleep:
#ifdef __NR_futex
	case __NR_futex:
#endif
#ifdef __NR_futex_waitv
	case __NR_futex_waitv:
#endif
#ifdef __NR_futex_wait
	case __NR_futex_wait:
#endif
#ifdef __NR_poll
	case __NR_poll:
#endif
#ifdef __NR_ppoll
	case __NR_ppoll:
#endif
#ifdef __NR_select
	case __NR_select:
#endif
#ifdef __NR_pselect6
	case __NR_pselect6:
#endif
#ifdef __NR_epoll_wait
	case __NR_epoll_wait:
#endif
	case __NR_epoll_pwait:
#ifdef __NR_epoll_pwait2
	case __NR_epoll_pwait2:
#endif
#ifdef __NR_pause
	case __NR_pause:
#endif
	case __NR_rt_sigsuspend:
#ifdef __NR_rt_sigtimedwait
	case __NR_rt_sigtimedwait:
#endif
#ifdef __NR_wait4
	case __NR_wait4:
#endif
	case __NR_waitid:
#ifdef __NR_io_getevents
	case __NR_io_getevents:
#endif
#ifdef __NR_io_pgetevents
	case __NR_io_pgetevents:
#endif
#ifdef __NR_semop
	case __NR_semop:
#endif
#ifdef __NR_semtimedop
	case __NR_semtimedop:
#endif
	case __NR_restart_syscall: /* a sleep that goes on after a stop */
		return true;
	default:
		return false;
	}
}
