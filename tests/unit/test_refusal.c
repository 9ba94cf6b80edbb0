/*
 * Verdicts on evidence made by hand: every reason for a refusal, also those that this kernel does not know (Yama,
 * AppArmor, SELinux). The texts are what users paste, so they are compared in full.
 */
#include "refusal.h"

#include <errno.h>

static void groups_and_setuid_are_told_apart_from_other_users(void **state)
{
	struct dt_evidence e = evidence();

	(void)state;
	e.target.gids[1] = e.target.gids[2] = 27;
	says(&e, DT_REFUSAL_OTHER_GROUP, "has other groups than you",
	     "process 12 is yours, but its group ids are 100, 27, 27 and yours is 100, and you are without "
	     "CAP_SYS_PTRACE",
	     "Run it as root:\n    sudo darter dump 12");
	e.target.uids[1] = e.target.uids[2] = 0;
	strcpy(e.target.user, "root");
	says(&e, DT_REFUSAL_SETUID, "runs as root",
	     "process 12 was started by you and now has the rights of root (uid 0), and you are alice (uid 1000) "
	     "without "
	     "CAP_SYS_PTRACE",
	     "Run it as root:\n    sudo darter dump 12");
	e.target.user[0] = '\0';
	e.target.uids[1] = 7;
	says(&e, DT_REFUSAL_SETUID, "runs as uid 7",
	     "process 12 was started by you and now has the rights of uid 7, and you are alice (uid 1000) without "
	     "CAP_SYS_PTRACE",
	     "Run it as root:\n    sudo darter dump 12");
}

#define DUMPABLE_HINT                                                                                                  \
	"or let the program itself allow it, in Python:\n"                                                             \
	"    import ctypes; ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE"

static void a_process_may_refuse_by_itself(void **state)
{
	struct dt_evidence e = evidence();

	(void)state;
	e.target.dumpable = DT_KNOWN_NO;
	says(&e, DT_REFUSAL_NOT_DUMPABLE, "not dumpable",
	     "process 12 has your user, but is not dumpable: it changed its user, called prctl(PR_SET_DUMPABLE, 0), or "
	     "its "
	     "program file is not readable; you are without CAP_SYS_PTRACE",
	     "Run it as root:\n    sudo darter dump 12\n" DUMPABLE_HINT);

	/* Root's processes show no sign of it, so it is found by exclusion. */
	make_root(&e, ALL & ~TRACE);
	make_target_root(&e);
	e.target.permitted = 0;
	says(&e, DT_REFUSAL_NOT_DUMPABLE, "not dumpable",
	     "process 12 has your user, but is probably not dumpable: it changed its user, called "
	     "prctl(PR_SET_DUMPABLE, 0), or its program file is not readable; you are without CAP_SYS_PTRACE",
	     "CAP_SYS_PTRACE was taken away from this shell for good (it is not in the bounding set), so sudo does not "
	     "bring it back. From an ordinary root shell:\n    darter dump 12\n" DUMPABLE_HINT);
}

static void user_namespaces_end_our_rights(void **state)
{
	struct dt_evidence e = evidence();

	(void)state;
	make_root(&e, ALL);
	make_target_root(&e);
	e.self.initial_user_ns = false;
	e.target.same_user_ns = DT_KNOWN_NO;
	says(&e, DT_REFUSAL_USER_NS, "outside of your user namespace",
	     "process 12 lives outside of your user namespace, where your capabilities do not count (you are root in "
	     "here "
	     "only)",
	     "Run it outside of the namespace, where the process was started:\n    sudo darter dump 12");
	e.self.runtime = DT_RUNTIME_PODMAN;
	e.self.euid = e.self.uid = 1;
	says(&e, DT_REFUSAL_USER_NS, "outside of your user namespace",
	     "process 12 lives outside of your user namespace, where your capabilities do not count",
	     "Run it on the host, with the process id that the host knows:\n    sudo darter dump 12");

	/* A process of our own needs no root there, unless something else keeps us out. */
	e.self.runtime = DT_RUNTIME_NONE;
	make_root(&e, ALL);
	e.target.permitted = 0;
	says(&e, DT_REFUSAL_USER_NS, "outside of your user namespace",
	     "process 12 lives outside of your user namespace, where your capabilities do not count (you are root in "
	     "here only)",
	     "Run it outside of the namespace, where the process was started:\n    darter dump 12");
	assert_true(dt_evidence_ours_outside(&e));
	e.self.yama = 1;
	assert_false(dt_evidence_ours_outside(&e));
	e.self.yama = -1;
	e.target.dumpable = DT_KNOWN_NO;
	assert_false(dt_evidence_ours_outside(&e));
	e.target.dumpable = DT_KNOWN_YES;
	e.target.gids[2] = 7;
	assert_false(dt_evidence_ours_outside(&e));
	e.target.gids[2] = 0;
	e.self.uid = e.target.uids[0] = e.target.uids[1] = e.target.uids[2] = 65534; /* nobody, or anybody */
	assert_false(dt_evidence_ours_outside(&e));

	/* The same user without any capability. */
	e = evidence();
	e.target.same_user_ns = DT_KNOWN_NO;
	assert_int_equal(dt_refusal_judge(&e), DT_REFUSAL_USER_NS);

	/* From the host with CAP_SYS_PTRACE a namespace is no border: something else refuses. */
	e.self.capabilities = TRACE;
	assert_int_equal(dt_refusal_judge(&e), DT_REFUSAL_UNKNOWN);
}

static void more_capabilities_protect_a_process(void **state)
{
	struct dt_evidence e = evidence();

	(void)state;
	e.target.permitted = UINT64_C(1) << CAP_NET_RAW;
	says(&e, DT_REFUSAL_MORE_CAPS, "has capabilities that you lack",
	     "process 12 has your user, but also capabilities that you lack (its CapPrm is 0000000000002000, your "
	     "CapEff "
	     "0000000000000000), and you are without CAP_SYS_PTRACE",
	     "Run it as root:\n    sudo darter dump 12");
	e.self.capabilities = e.target.permitted;
	assert_int_equal(dt_refusal_judge(&e), DT_REFUSAL_UNKNOWN);
}

static void yama_is_explained_by_scope(void **state)
{
	struct dt_evidence e = evidence();

	(void)state;
	e.self.yama = 1;
	says(&e, DT_REFUSAL_YAMA_CHILD, "Yama scope 1",
	     "process 12 is yours, but this kernel lets you look only into children of darter "
	     "(kernel.yama.ptrace_scope is "
	     "1), and you are without CAP_SYS_PTRACE",
	     "Run it as root:\n"
	     "    sudo darter dump 12\n"
	     "or lift the rule until the next boot (all users may then look into their own processes):\n"
	     "    sudo sysctl kernel.yama.ptrace_scope=0\n"
	     "or let the program itself allow it, in Python:\n"
	     "    import ctypes; ctypes.CDLL(None).prctl(0x59616d61, ctypes.c_ulong(-1), 0, 0, 0)  # PR_SET_PTRACER");
	e.self.yama = 2;
	e.self.runtime = DT_RUNTIME_DOCKER;
	says(&e, DT_REFUSAL_YAMA_ADMIN, "Yama scope 2",
	     "process 12 is yours, but this kernel lets only CAP_SYS_PTRACE look into processes "
	     "(kernel.yama.ptrace_scope is 2)",
	     "Run it as root:\n"
	     "    sudo darter dump 12\n"
	     "or lift the rule until the next boot (all users may then look into their own processes), on the host:\n"
	     "    sudo sysctl kernel.yama.ptrace_scope=0");

	/* Scopes 1 and 2 do not bind CAP_SYS_PTRACE, scope 3 binds everybody. */
	make_root(&e, ALL);
	assert_int_equal(dt_refusal_judge(&e), DT_REFUSAL_UNKNOWN);
	e.self.yama = 3;
	e.self.runtime = DT_RUNTIME_NONE;
	says(&e, DT_REFUSAL_YAMA_NONE, "Yama scope 3",
	     "nobody may look into process 12, not even root: kernel.yama.ptrace_scope is 3",
	     "The kernel does not take that back while it runs. Find where it is set, set 1 there, and boot again:\n"
	     "    grep -rs ptrace_scope /etc/sysctl.conf /etc/sysctl.d /usr/lib/sysctl.d");
}

static void yama_is_not_blamed_where_ids_differ(void **state)
{
	struct dt_evidence e = evidence();

	(void)state;
	e.self.yama = 1;
	make_target_root(&e);
	assert_int_equal(dt_refusal_judge(&e), DT_REFUSAL_OTHER_USER);
}

static void filters_are_named(void **state)
{
	struct dt_evidence e = evidence();
	const char *message =
	    "a system call filter (seccomp) on this shell refuses process_vm_readv, and /proc/12/mem could "
	    "not be read instead";

	(void)state;
	e.self.seccomp = 2;
	assert_int_equal(dt_refusal_judge(&e), DT_REFUSAL_UNKNOWN); /* a filter that lets us read is not the reason */
	e.self.vm_read = EPERM;
	says(&e, DT_REFUSAL_SECCOMP, "refused by seccomp", message,
	     "run it outside of the sandbox that set the filter (in a systemd unit: SystemCallFilter=@process "
	     "process_vm_readv)");
	e.self.runtime = DT_RUNTIME_DOCKER;
	says(&e, DT_REFUSAL_SECCOMP, "refused by seccomp", message,
	     "Start the container without the filter:\n    docker run --security-opt seccomp=unconfined ...");
	e.self.runtime = DT_RUNTIME_KUBERNETES;
	says(&e, DT_REFUSAL_SECCOMP, "refused by seccomp", message,
	     "Let this container read memory, in the pod's description:\n"
	     "    securityContext:\n      seccompProfile:\n        type: Unconfined");
}

static void security_modules_are_named(void **state)
{
	struct dt_evidence e = evidence();

	(void)state;
	make_root(&e, ALL);
	e.self.lsm = DT_LSM_APPARMOR;
	strcpy(e.self.label, "docker-default");
	says(&e, DT_REFUSAL_LSM, "refused by AppArmor",
	     "AppArmor does not let this shell (docker-default) look into process 12; ids and capabilities would allow "
	     "it",
	     "Run it from a shell without that profile, or add this rule to the profile:\n    ptrace (read, trace),");
	e.self.runtime = DT_RUNTIME_DOCKER;
	says(&e, DT_REFUSAL_LSM, "refused by AppArmor",
	     "AppArmor does not let this shell (docker-default) look into process 12; ids and capabilities would allow "
	     "it",
	     "Start the container without it:\n    docker run --security-opt apparmor=unconfined ...");
	e.self.runtime = DT_RUNTIME_KUBERNETES;
	says(&e, DT_REFUSAL_LSM, "refused by AppArmor",
	     "AppArmor does not let this shell (docker-default) look into process 12; ids and capabilities would allow "
	     "it",
	     "Lift it for this container, in the pod's description:\n"
	     "    securityContext:\n      appArmorProfile:\n        type: Unconfined");
	e.self.runtime = DT_RUNTIME_NONE;
	e.self.lsm = DT_LSM_SELINUX;
	strcpy(e.self.label, "staff_t");
	says(&e, DT_REFUSAL_LSM, "refused by SELinux",
	     "SELinux does not let this shell (staff_t) look into process 12; ids and capabilities would allow it",
	     "Lift the ban on looking into processes until the next boot:\n"
	     "    sudo setsebool deny_ptrace off\n"
	     "and if that is not it, see what was refused:\n"
	     "    sudo ausearch -m avc -ts recent");
}

static void what_remains_is_said(void **state)
{
	struct dt_evidence e = evidence();

	(void)state;
	make_root(&e, ALL);
	e.target.tracer = 77;
	says(&e, DT_REFUSAL_UNKNOWN, "refused by the kernel",
	     "the kernel does not let you look into process 12, although you are root (uid 0) with CAP_SYS_PTRACE and "
	     "its "
	     "ids, namespaces and capabilities would allow it",
	     "What remains is a sandbox or security module that cannot be seen from here (Landlock, gVisor, a BPF "
	     "policy). "
	     "The kernel's log may name it:\n"
	     "    sudo dmesg | tail\n"
	     "process 77 traces it at the moment");
	e.target.visible = false;
	e.self.hidepid = 2;
	make_root(&e, ALL & ~TRACE);
	e.self.bounding = ALL;
	says(&e, DT_REFUSAL_HIDDEN, "hidden by /proc",
	     "process 12 is not yours, and /proc hides the processes of others (hidepid=2)",
	     "Run it as root:\n    sudo darter dump 12");
	e.target.gone = true;
	says(&e, DT_REFUSAL_GONE, "ended", "process 12 has ended", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(groups_and_setuid_are_told_apart_from_other_users),
	    cmocka_unit_test(a_process_may_refuse_by_itself),
	    cmocka_unit_test(user_namespaces_end_our_rights),
	    cmocka_unit_test(more_capabilities_protect_a_process),
	    cmocka_unit_test(yama_is_explained_by_scope),
	    cmocka_unit_test(yama_is_not_blamed_where_ids_differ),
	    cmocka_unit_test(filters_are_named),
	    cmocka_unit_test(security_modules_are_named),
	    cmocka_unit_test(what_remains_is_said),
	};

	return cmocka_run_group_tests_name("refusal", tests, NULL, NULL);
}
