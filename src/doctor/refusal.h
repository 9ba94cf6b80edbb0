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

/* Fills err with DT_EPERMISSION, the reason and the remedies for this host; returns DT_EPERMISSION. If the process has
 * ended meanwhile that is the reason, and the code is DT_EENDED. */
int dt_refusal_explain(int pid, struct dt_error *err);

/* The reason alone in a few words ("owned by root", "needs CAP_SYS_PTRACE"), for lists. */
void dt_refusal_short(int pid, char *text, size_t size);

/* Files that belong to somebody else: adds to the hint how the command is repeated as root. Nothing if we are root. */
void dt_refusal_hint_files(struct dt_error *err);

/* ---- evidence (evidence.c) ---- */

enum dt_runtime {
	DT_RUNTIME_NONE,
	DT_RUNTIME_DOCKER,
	DT_RUNTIME_PODMAN,
	DT_RUNTIME_KUBERNETES,
	DT_RUNTIME_LXC,
	DT_RUNTIME_OTHER, /* a container of unknown make */
};

enum dt_lsm { DT_LSM_NONE, DT_LSM_APPARMOR, DT_LSM_SELINUX };

enum dt_known { DT_KNOWN_NO, DT_KNOWN_YES, DT_KNOWN_NOT }; /* no, yes, cannot be told */

#define DT_NAME_SIZE    64
#define DT_COMMAND_SIZE 1024

/* What we are: the same for every target. */
struct dt_evidence_self {
	uid_t uid, euid;
	gid_t gid, egid;
	char user[DT_NAME_SIZE];       /* name of euid, "" if it has none */
	uint64_t capabilities;         /* effective */
	uint64_t bounding;             /* what we could ever get */
	bool no_new_privs;             /* sudo cannot work */
	int seccomp;                   /* 0 none, 1 strict, 2 filter */
	int vm_read;                   /* errno of a process_vm_readv of ourselves: not 0 only if a filter refuses it */
	int yama;                      /* kernel.yama.ptrace_scope, -1 if the kernel has no Yama */
	int hidepid;                   /* option of /proc: 0, 1, 2, 4 */
	bool initial_user_ns;          /* ours is the host's user namespace */
	enum dt_runtime runtime;       /* container that we run in */
	char host[DT_NAME_SIZE];       /* host name: id of a Docker container, name of a pod */
	enum dt_lsm lsm;               /* enforces rules on us */
	char label[DT_NAME_SIZE];      /* our profile or context there */
	bool sudo;                     /* there is one */
	bool sudo_finds;               /* the command is found without the user's PATH */
	char command[DT_COMMAND_SIZE]; /* our command line, quoted for a shell; "" if it cannot be repeated */
};

struct dt_evidence_target {
	int pid;
	bool gone;     /* no such process, or a zombie */
	bool visible;  /* its status could be read; the rest is meaningless if not */
	uid_t uids[3]; /* real, effective, saved */
	gid_t gids[3];
	char user[DT_NAME_SIZE];
	uint64_t permitted; /* its capabilities */
	enum dt_known dumpable;
	enum dt_known same_user_ns; /* as ours */
	int tracer;                 /* 0 none */
};

struct dt_evidence {
	struct dt_evidence_self self;
	struct dt_evidence_target target;
};

void dt_evidence_self(struct dt_evidence_self *self);
void dt_evidence_target(int pid, struct dt_evidence_target *target);

/* ---- verdict (judge.c): from the evidence alone ---- */

enum dt_refusal {
	DT_REFUSAL_GONE,         /* it ended */
	DT_REFUSAL_HIDDEN,       /* /proc hides the processes of others */
	DT_REFUSAL_OTHER_USER,   /* it is somebody else's and we have no CAP_SYS_PTRACE */
	DT_REFUSAL_OTHER_GROUP,  /* our user, other groups */
	DT_REFUSAL_SETUID,       /* our user started it, and it changed its user */
	DT_REFUSAL_ROOT_NO_CAP,  /* we are root without CAP_SYS_PTRACE, it is another user's */
	DT_REFUSAL_NOT_DUMPABLE, /* ours, but it refuses to be looked at */
	DT_REFUSAL_USER_NS,      /* it lives outside of our user namespace */
	DT_REFUSAL_MORE_CAPS,    /* ours, but it has capabilities that we lack */
	DT_REFUSAL_YAMA_CHILD,   /* scope 1: children only */
	DT_REFUSAL_YAMA_ADMIN,   /* scope 2: CAP_SYS_PTRACE only */
	DT_REFUSAL_YAMA_NONE,    /* scope 3: nobody until the next boot */
	DT_REFUSAL_SECCOMP,      /* a system call filter on ourselves */
	DT_REFUSAL_LSM,          /* AppArmor or SELinux */
	DT_REFUSAL_UNKNOWN,      /* all that is known would allow it */
};

enum dt_refusal dt_refusal_judge(const struct dt_evidence *evidence);

/* Whether CAP_SYS_PTRACE is among the effective capabilities. */
bool dt_evidence_can_trace(const struct dt_evidence_self *self);

/* Of a process outside of our user namespace: whether we are its owner there too and need nothing more. */
bool dt_evidence_ours_outside(const struct dt_evidence *evidence);

/* ---- remedy (remedy.c) ---- */

/* Message and hint for a verdict; returns err's code (also where err is NULL). */
int dt_refusal_say(enum dt_refusal verdict, const struct dt_evidence *evidence, struct dt_error *err);
void dt_refusal_say_short(enum dt_refusal verdict, const struct dt_evidence *evidence, char *text, size_t size);

#endif
