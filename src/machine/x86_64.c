/* x86_64: a thread that came into the kernel by a system call has its number in orig_rax, whatever became of rax; one
 * that was interrupted while it computed has a negative number there. */
#include <elf.h>
#include <string.h>
#ifdef __x86_64__
#include <sys/procfs.h>
#endif

#include "machine/inside.h"

struct registers {
	uint64_t r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8, rax, rcx, rdx, rsi, rdi, orig_rax, rip, cs, flags, rsp,
	    ss, fs_base, gs_base, ds, es, fs, gs;
};

_Static_assert(sizeof(struct registers) <= DT_REGISTERS_SIZE, "registers");

#ifdef __x86_64__
_Static_assert(sizeof(elf_gregset_t) == sizeof(struct registers), "registers");
#endif

static void read_registers(const uint8_t *bytes, struct dt_registers *registers)
{
	struct registers r;

	memcpy(&r, bytes, sizeof(r));
	*registers = (struct dt_registers){
	    .pc = r.rip,
	    .sp = r.rsp,
	    .fp = r.rbp,
	    .call_known = true,
	    .number = (int64_t)r.orig_rax,
	    .args = {r.rdi, r.rsi, r.rdx, r.r10, r.r8, r.r9},
	    .pointer = r.fs_base,
	};
}

const struct dt_machine dt_machine_x86_64 = {
    .elf = EM_X86_64,
    .name = "x86_64",
    .calls = dt_calls_x86_64,
    .call_count = &dt_calls_x86_64_count,
    .registers_size = sizeof(struct registers),
    .registers = read_registers,
    .glibc_tid = 0x2d0,
};
