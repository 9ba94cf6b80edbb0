/* Ways to get what is missing on this host, as lines to paste. The inside of src/doctor. */
#ifndef DT_DOCTOR_WAYS_H
#define DT_DOCTOR_WAYS_H

#include "doctor/refusal.h"

/* How to get CAP_SYS_PTRACE: sudo, or the container's settings where sudo cannot bring it. */
void dt_way_capability(const struct dt_evidence *evidence, struct dt_error *err);

/* The command once more, as it was and as root: one indented line. */
void dt_way_again(const struct dt_evidence_self *self, struct dt_error *err);
void dt_way_sudo(const struct dt_evidence_self *self, struct dt_error *err);

/* How to become root, with sudo where that can work. */
void dt_way_root(const struct dt_evidence_self *self, struct dt_error *err);

/* How to get rid of a system call filter, or of a security module's profile. */
void dt_way_seccomp(const struct dt_evidence_self *self, struct dt_error *err);
void dt_way_lsm(const struct dt_evidence_self *self, struct dt_error *err);

/* "docker" or "podman". */
const char *dt_way_engine(const struct dt_evidence_self *self);

#endif
