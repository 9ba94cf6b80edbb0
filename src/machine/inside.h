/* The machines and their tables of system calls. A new one is a file of each kind, a line here and one in machine.c. */
#ifndef DT_MACHINE_INSIDE_H
#define DT_MACHINE_INSIDE_H

#include "machine/machine.h"

extern const struct dt_machine dt_machine_x86_64;
extern const struct dt_machine dt_machine_aarch64;

/* Made by scripts/gen-syscalls. */
extern const char *const dt_calls_x86_64[];
extern const size_t dt_calls_x86_64_count;
extern const char *const dt_calls_aarch64[];
extern const size_t dt_calls_aarch64_count;

#endif
