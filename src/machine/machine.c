/* The table of machines, and system calls by name: see machine.h. */
#include "machine/machine.h"

#include <string.h>

#include "base/util.h"
#include "machine/inside.h"

/* What every structure that is read, Python's and the kernel's, takes for granted. */
_Static_assert(sizeof(void *) == 8 && sizeof(long) == 8 && sizeof(size_t) == 8 && sizeof(int) == 4, "LP64");
_Static_assert(_Alignof(uint64_t) == 8 && _Alignof(void *) == 8 && _Alignof(int) == 4, "alignment");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "little endian");

static const struct dt_machine *const machines[] = {
    &dt_machine_x86_64,
    &dt_machine_aarch64,
};

#ifdef __aarch64__
#define HERE dt_machine_aarch64
#else /* meson.build refuses all others */
#define HERE dt_machine_x86_64
#endif

const struct dt_machine *dt_machine_of(uint16_t elf)
{
	for (size_t i = 0; i < DT_COUNT(machines); i++)
		if (machines[i]->elf == elf)
			return machines[i];
	return NULL;
}

const struct dt_machine *dt_machine_here(void)
{
	return &HERE;
}

const char *dt_machine_call(const struct dt_machine *machine, long number)
{
	return number >= 0 && (size_t)number < *machine->call_count ? machine->calls[number] : NULL;
}

static bool is_one_of(const char *name, const char *const *names, size_t count)
{
	for (size_t i = 0; name && i < count; i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

bool dt_call_waits(const char *name)
{
	static const char *const waiting[] = {
	    "futex",        "clock_nanosleep", "nanosleep",       "poll",
	    "ppoll",        "select",          "pselect6",        "epoll_wait",
	    "epoll_pwait",  "epoll_pwait2",    "futex_wait",      "futex_waitv",
	    "pause",        "rt_sigsuspend",   "wait4",           "waitid",
	    "io_getevents", "io_pgetevents",   "rt_sigtimedwait", "semop",
	    "semtimedop",   "restart_syscall", /* a sleep that goes on after a stop */
	};

	return is_one_of(name, waiting, DT_COUNT(waiting));
}

bool dt_call_talks(const char *name)
{
	static const char *const talking[] = {
	    "read",    "readv", "recvfrom", "recvmsg", "recvmmsg", "accept",   "accept4",
	    "connect", "write", "writev",   "sendto",  "sendmsg",  "sendmmsg",
	};

	return is_one_of(name, talking, DT_COUNT(talking));
}
