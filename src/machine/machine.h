/*
 * What is different from one kind of machine to another: a file for each, and a line in the table of machine.c. All
 * else that darter reads lies the same on every 64-bit little-endian Linux (machine.c checks what that takes); where a
 * C library makes a difference it is found out by looking (python/find_fit.c).
 */
#ifndef DT_MACHINE_MACHINE_H
#define DT_MACHINE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DT_REGISTERS_SIZE 512

/* What the registers of a thread tell that is stopped, or in a core file. */
struct dt_registers {
	uint64_t pc, sp;
	uint64_t fp; /* rbp, x29 */
	uint64_t lr; /* x30 */
	bool has_lr;
	bool call_known;  /* number is right; else a note of its own tells, or nothing does */
	int64_t number;   /* of the system call; negative: in none */
	uint64_t args[6]; /* of that call */
	uint64_t pointer; /* the thread pointer; 0: it is in a note of its own, or not told */
};

struct dt_machine {
	uint16_t elf; /* EM_X86_64, ... */
	const char *name;
	const char *const *calls; /* names of system calls by number; NULL where there is none */
	const size_t *call_count;
	/* The note NT_PRSTATUS: a head that is the same everywhere, then registers. PTRACE_GETREGSET gives the same. */
	size_t registers_size; /* DT_REGISTERS_SIZE at most */
	void (*registers)(const uint8_t *bytes, struct dt_registers *registers);
	/* Notes of the owner "LINUX" that each thread may have; 0: no such. */
	uint32_t pointer_note; /* the thread pointer */
	uint32_t call_note;    /* the number of the system call, 32 bits, -1 if in none */
	/* pthread_self() is at most so far below the thread pointer, and nothing else of the kind is. 0: it is that. */
	uint32_t pointer_reach;
	uint32_t glibc_tid; /* where glibc's struct pthread has the kernel's id of the thread */
};

/* NULL: not known. */
const struct dt_machine *dt_machine_of(uint16_t elf);
/* The one that this program runs on. */
const struct dt_machine *dt_machine_here(void);

/* The name of a system call, or NULL; and whether it only waits (sleep, futex, poll, wait4, ...). */
const char *dt_machine_call(const struct dt_machine *machine, long number);
bool dt_call_waits(const char *name);

/* Does a call by this name wait for somebody else, if its first argument is a pipe, a socket or a terminal? */
bool dt_call_talks(const char *name);

#endif
