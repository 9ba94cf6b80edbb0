/* The table in syscall_names.c; numbers without a name are NULL or "". */
#ifndef DT_PROC_SYSCALL_NAMES_H
#define DT_PROC_SYSCALL_NAMES_H

#include <stddef.h>

extern const char *const dt_syscall_names[];
extern const size_t dt_syscall_name_count;

#endif
