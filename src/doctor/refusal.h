/*
 * Why may we not look into a process, and what would allow it? Evidence is collected from /proc and the kernel (uids,
 * capabilities, Yama, seccomp, user namespaces, container, Kubernetes, tracer), a verdict is reached from the evidence
 * alone, and the remedy is printed as something to paste. Three steps, so that each can be tested without the other
 * two.
 */
#ifndef DT_DOCTOR_REFUSAL_H
#define DT_DOCTOR_REFUSAL_H

#include "base/error.h"
#include "proc/proc.h"

/* Fills err with DT_EPERMISSION, the reason and the remedies for this host; returns DT_EPERMISSION. */
int dt_refusal_explain(int pid, struct dt_error *err);

/* The reason alone in a few words ("owned by root", "needs CAP_SYS_PTRACE"), for lists. */
void dt_refusal_short(int pid, char *text, size_t size);

#endif
