/*
 * The words for each verdict: the message says what is the case, with the names and numbers of this host, the hint what
 * to do about it (see ways.c for what is pasted).
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/util.h"
#include "doctor/refusal.h"
#include "doctor/ways.h"

struct who {
	char text[DT_NAME_SIZE + 32];
};

/* "root (uid 0)", or "uid 1000" for a user without a name. */
static struct who who(const char *name, uid_t uid)
{
	struct who result;

	if (name[0])
		snprintf(result.text, sizeof(result.text), "%s (uid %u)", name, (unsigned)uid);
	else
		snprintf(result.text, sizeof(result.text), "uid %u", (unsigned)uid);
	return result;
}

static void say_gone(const struct dt_evidence *e, struct dt_error *err)
{
	dt_fail(err, DT_EENDED, "process %d has ended", e->target.pid);
}

static void say_hidden(const struct dt_evidence *e, struct dt_error *err)
{
	dt_fail(err, DT_EPERMISSION, "process %d is not yours, and /proc hides the processes of others (hidepid=%d)",
		e->target.pid, e->self.hidepid);
	dt_way_capability(e, err);
}

static void say_other_user(const struct dt_evidence *e, struct dt_error *err)
{
	dt_fail(err, DT_EPERMISSION, "process %d belongs to %s and you are %s without CAP_SYS_PTRACE", e->target.pid,
		who(e->target.user, e->target.uids[1]).text, who(e->self.user, e->self.euid).text);
	dt_way_capability(e, err);
}

static void say_other_group(const struct dt_evidence *e, struct dt_error *err)
{
	dt_fail(err, DT_EPERMISSION,
		"process %d is yours, but its group ids are %u, %u, %u and yours is %u, and you are "
		"without CAP_SYS_PTRACE",
		e->target.pid, (unsigned)e->target.gids[0], (unsigned)e->target.gids[1], (unsigned)e->target.gids[2],
		(unsigned)e->self.gid);
	dt_way_capability(e, err);
}

static void say_setuid(const struct dt_evidence *e, struct dt_error *err)
{
	dt_fail(err, DT_EPERMISSION,
		"process %d was started by you and now has the rights of %s, and you are %s without "
		"CAP_SYS_PTRACE",
		e->target.pid, who(e->target.user, e->target.uids[1]).text, who(e->self.user, e->self.euid).text);
	dt_way_capability(e, err);
}

static void say_not_dumpable(const struct dt_evidence *e, struct dt_error *err)
{
	dt_fail(err, DT_EPERMISSION,
		"process %d has your user, but is %snot dumpable: it changed its user, called prctl(PR_SET_DUMPABLE, "
		"0), or "
		"its program file is not readable; you are without CAP_SYS_PTRACE",
		e->target.pid, e->target.dumpable == DT_KNOWN_NO ? "" : "probably ");
	dt_way_capability(e, err);
	dt_hint(err, "or let the program itself allow it, in Python:");
	dt_hint(err, "    import ctypes; ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE");
}

static void say_user_ns(const struct dt_evidence *e, struct dt_error *err)
{
	dt_fail(err, DT_EPERMISSION,
		"process %d lives outside of your user namespace, where your capabilities do not count%s",
		e->target.pid, e->self.euid == 0 ? " (you are root in here only)" : "");
	if (e->self.runtime == DT_RUNTIME_NONE)
		dt_hint(err, "Run it outside of the namespace, where the process was started:");
	else
		dt_hint(err, "Run it on the host, with the process id that the host knows:");
	if (dt_evidence_ours_outside(e))
		dt_way_again(&e->self, err);
	else
		dt_way_sudo(&e->self, err);
}

static void say_more_caps(const struct dt_evidence *e, struct dt_error *err)
{
	dt_fail(err, DT_EPERMISSION,
		"process %d has your user, but also capabilities that you lack (its CapPrm is %016" PRIx64
		", your CapEff %016" PRIx64 "), and you are without CAP_SYS_PTRACE",
		e->target.pid, e->target.permitted, e->self.capabilities);
	dt_way_capability(e, err);
}

/* The scope belongs to the kernel, not to a container: it can only be changed on the host. */
static void say_scope_change(const struct dt_evidence *e, struct dt_error *err)
{
	dt_hint(err, "or lift the rule until the next boot (all users may then look into their own processes)%s:",
		e->self.runtime == DT_RUNTIME_NONE ? "" : ", on the host");
	dt_hint(err, "    sudo sysctl kernel.yama.ptrace_scope=0");
}

static void say_yama_child(const struct dt_evidence *e, struct dt_error *err)
{
	dt_fail(err, DT_EPERMISSION,
		"process %d is yours, but this kernel lets you look only into children of darter "
		"(kernel.yama.ptrace_scope is 1), and you are without CAP_SYS_PTRACE",
		e->target.pid);
	dt_way_capability(e, err);
	say_scope_change(e, err);
	dt_hint(err, "or let the program itself allow it, in Python:");
	dt_hint(
	    err,
	    "    import ctypes; ctypes.CDLL(None).prctl(0x59616d61, ctypes.c_ulong(-1), 0, 0, 0)  # PR_SET_PTRACER");
}

static void say_yama_admin(const struct dt_evidence *e, struct dt_error *err)
{
	dt_fail(err, DT_EPERMISSION,
		"process %d is yours, but this kernel lets only CAP_SYS_PTRACE look into processes "
		"(kernel.yama.ptrace_scope is 2)",
		e->target.pid);
	dt_way_capability(e, err);
	say_scope_change(e, err);
}

static void say_yama_none(const struct dt_evidence *e, struct dt_error *err)
{
	dt_fail(err, DT_EPERMISSION, "nobody may look into process %d, not even root: kernel.yama.ptrace_scope is 3",
		e->target.pid);
	dt_hint(
	    err,
	    "The kernel does not take that back while it runs. Find where it is set, set 1 there, and boot again%s:",
	    e->self.runtime == DT_RUNTIME_NONE ? "" : " (on the host)");
	dt_hint(err, "    grep -rs ptrace_scope /etc/sysctl.conf /etc/sysctl.d /usr/lib/sysctl.d");
}

static void say_seccomp(const struct dt_evidence *e, struct dt_error *err)
{
	dt_fail(err, DT_EPERMISSION,
		"a system call filter (seccomp) on this shell refuses process_vm_readv, and /proc/%d/mem "
		"could not be read instead",
		e->target.pid);
	dt_way_seccomp(&e->self, err);
}

static void say_lsm(const struct dt_evidence *e, struct dt_error *err)
{
	dt_fail(err, DT_EPERMISSION,
		"%s does not let this shell (%s) look into process %d; ids and capabilities would allow it",
		e->self.lsm == DT_LSM_SELINUX ? "SELinux" : "AppArmor", e->self.label, e->target.pid);
	dt_way_lsm(&e->self, err);
}

static void say_unknown(const struct dt_evidence *e, struct dt_error *err)
{
	dt_fail(err, DT_EPERMISSION,
		"the kernel does not let you look into process %d, although you are %s%s and its ids, "
		"namespaces and capabilities would allow it",
		e->target.pid, who(e->self.user, e->self.euid).text,
		dt_evidence_can_trace(&e->self) ? " with CAP_SYS_PTRACE" : "");
	dt_hint(err,
		"What remains is a sandbox or security module that cannot be seen from here (Landlock, gVisor, a BPF "
		"policy). The kernel's log may name it:");
	dt_hint(err, "    sudo dmesg | tail");
	if (e->target.tracer)
		dt_hint(err, "process %d traces it at the moment", e->target.tracer);
}

int dt_refusal_say(enum dt_refusal verdict, const struct dt_evidence *evidence, struct dt_error *err)
{
	static void (*const say[])(const struct dt_evidence *, struct dt_error *) = {
	    [DT_REFUSAL_GONE] = say_gone,
	    [DT_REFUSAL_HIDDEN] = say_hidden,
	    [DT_REFUSAL_OTHER_USER] = say_other_user,
	    [DT_REFUSAL_OTHER_GROUP] = say_other_group,
	    [DT_REFUSAL_SETUID] = say_setuid,
	    [DT_REFUSAL_ROOT_NO_CAP] = say_other_user,
	    [DT_REFUSAL_NOT_DUMPABLE] = say_not_dumpable,
	    [DT_REFUSAL_USER_NS] = say_user_ns,
	    [DT_REFUSAL_MORE_CAPS] = say_more_caps,
	    [DT_REFUSAL_YAMA_CHILD] = say_yama_child,
	    [DT_REFUSAL_YAMA_ADMIN] = say_yama_admin,
	    [DT_REFUSAL_YAMA_NONE] = say_yama_none,
	    [DT_REFUSAL_SECCOMP] = say_seccomp,
	    [DT_REFUSAL_LSM] = say_lsm,
	    [DT_REFUSAL_UNKNOWN] = say_unknown,
	};

	say[verdict](evidence, err);
	return verdict == DT_REFUSAL_GONE ? DT_EENDED : DT_EPERMISSION;
}

void dt_refusal_say_short(enum dt_refusal verdict, const struct dt_evidence *e, char *text, size_t size)
{
	static const char *const words[] = {
	    [DT_REFUSAL_GONE] = "ended",
	    [DT_REFUSAL_HIDDEN] = "hidden by /proc",
	    [DT_REFUSAL_OTHER_GROUP] = "has other groups than you",
	    [DT_REFUSAL_ROOT_NO_CAP] = "needs CAP_SYS_PTRACE",
	    [DT_REFUSAL_NOT_DUMPABLE] = "not dumpable",
	    [DT_REFUSAL_USER_NS] = "outside of your user namespace",
	    [DT_REFUSAL_MORE_CAPS] = "has capabilities that you lack",
	    [DT_REFUSAL_YAMA_CHILD] = "Yama scope 1",
	    [DT_REFUSAL_YAMA_ADMIN] = "Yama scope 2",
	    [DT_REFUSAL_YAMA_NONE] = "Yama scope 3",
	    [DT_REFUSAL_SECCOMP] = "refused by seccomp",
	    [DT_REFUSAL_UNKNOWN] = "refused by the kernel",
	};
	const char *owner = e->target.user;

	if (verdict == DT_REFUSAL_LSM)
		snprintf(text, size, "refused by %s", e->self.lsm == DT_LSM_SELINUX ? "SELinux" : "AppArmor");
	else if (verdict != DT_REFUSAL_OTHER_USER && verdict != DT_REFUSAL_SETUID)
		snprintf(text, size, "%s", words[verdict]);
	else if (owner[0])
		snprintf(text, size, "%s %s", verdict == DT_REFUSAL_SETUID ? "runs as" : "owned by", owner);
	else
		snprintf(text, size, "%s uid %u", verdict == DT_REFUSAL_SETUID ? "runs as" : "owned by",
			 (unsigned)e->target.uids[1]);
}
