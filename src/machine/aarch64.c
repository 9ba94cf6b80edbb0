/*
 * aarch64: the registers do not tell whether a thread is in a system call. The kernel tells it in a note of its own,
 * and so it does the thread pointer, below which the C libraries have their structure of the thread. A call that a
 * signal interrupted has its first argument in x0 if it is to be made again (futex, sleep, read), as x86_64 has.
 */
#include <elf.h>
#include <string.h>
#ifdef __aarch64__
#include <sys/procfs.h>
#endif

#include "machine/inside.h"

#ifndef NT_ARM_TLS
#define NT_ARM_TLS 0x401
#endif
#ifndef NT_ARM_SYSTEM_CALL
#define NT_ARM_SYSTEM_CALL 0x404
#endif

struct registers {
	uint64_t x[31], sp, pc, pstate;
};

_Static_assert(sizeof(struct registers) <= DT_REGISTERS_SIZE, "registers");

#ifdef __aarch64__
_Static_assert(sizeof(elf_gregset_t) == sizeof(struct registers), "registers");
#endif

static void read_registers(const uint8_t *bytes, struct dt_registers *registers)
{
	struct registers r;

	memcpy(&r, bytes, sizeof(r));
	*registers = (struct dt_registers){
	    .pc = r.pc, .sp = r.sp, .fp = r.x[29], .lr = r.x[30], .has_lr = true, .number = -1};
	memcpy(registers->args, r.x, sizeof(registers->args));
}

const struct dt_machine dt_machine_aarch64 = {
    .elf = EM_AARCH64,
    .name = "aarch64",
    .calls = dt_calls_aarch64,
    .call_count = &dt_calls_aarch64_count,
    .registers_size = sizeof(struct registers),
    .registers = read_registers,
    .pointer_note = NT_ARM_TLS,
    .call_note = NT_ARM_SYSTEM_CALL,
    .pointer_reach = 4096, /* glibc's structure has some 2000 bytes, musl's 200; the next one is a stack away */
    .glibc_tid = 0xd0,
};
