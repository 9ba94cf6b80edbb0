/*
 * From the evidence to the reason, in the order in which the kernel decides: who we are against who it is (or
 * CAP_SYS_PTRACE), whether it is dumpable, its user namespace and capabilities, then Yama and the other security
 * modules. The first rule that refuses is the reason, because a remedy for a later one would not help yet. Scope 3 of
 * Yama comes first for the same reason: nothing else helps there.
 *
 * Pure: no system calls, so that every verdict can be tested on any kernel.
 */
#include <linux/capability.h>

#include "doctor/refusal.h"

bool dt_evidence_can_trace(const struct dt_evidence_self *self)
{
	return self->capabilities >> CAP_SYS_PTRACE & 1;
}

static bool same_user(const struct dt_evidence *e)
{
	return e->target.uids[0] == e->self.uid && e->target.uids[1] == e->self.uid && e->target.uids[2] == e->self.uid;
}

static bool same_group(const struct dt_evidence *e)
{
	return e->target.gids[0] == e->self.gid && e->target.gids[1] == e->self.gid && e->target.gids[2] == e->self.gid;
}

/* A user that is not mapped into our namespace is shown as this one, so it may be anybody. */
#define OVERFLOW_UID 65534

bool dt_evidence_ours_outside(const struct dt_evidence *e)
{
	return same_user(e) && same_group(e) && e->self.uid != OVERFLOW_UID && e->target.dumpable != DT_KNOWN_NO &&
	       !e->target.permitted && e->self.yama <= 0;
}

/* What can still refuse once ids, namespaces and capabilities are in order. */
static enum dt_refusal judge_modules(const struct dt_evidence *e)
{
	if (e->self.vm_read != 0)
		return DT_REFUSAL_SECCOMP;
	if (e->self.lsm != DT_LSM_NONE)
		return DT_REFUSAL_LSM;
	return DT_REFUSAL_UNKNOWN;
}

static enum dt_refusal judge_without_capability(const struct dt_evidence *e)
{
	if (!same_user(e)) {
		if (e->self.euid == 0)
			return DT_REFUSAL_ROOT_NO_CAP;
		return e->target.uids[0] == e->self.uid ? DT_REFUSAL_SETUID : DT_REFUSAL_OTHER_USER;
	}
	if (!same_group(e))
		return DT_REFUSAL_OTHER_GROUP;
	if (e->target.dumpable == DT_KNOWN_NO)
		return DT_REFUSAL_NOT_DUMPABLE;
	if (e->target.same_user_ns == DT_KNOWN_NO)
		return DT_REFUSAL_USER_NS;
	if (e->target.permitted & ~e->self.capabilities)
		return DT_REFUSAL_MORE_CAPS;
	if (e->self.yama == 1)
		return DT_REFUSAL_YAMA_CHILD;
	if (e->self.yama == 2)
		return DT_REFUSAL_YAMA_ADMIN;
	/* A process of root shows no sign of it: it is left by exclusion. */
	if (e->target.dumpable == DT_KNOWN_NOT && judge_modules(e) == DT_REFUSAL_UNKNOWN)
		return DT_REFUSAL_NOT_DUMPABLE;
	return judge_modules(e);
}

enum dt_refusal dt_refusal_judge(const struct dt_evidence *e)
{
	if (e->target.gone)
		return DT_REFUSAL_GONE;
	if (!e->target.visible)
		return e->self.hidepid ? DT_REFUSAL_HIDDEN : DT_REFUSAL_UNKNOWN;
	if (e->self.yama == 3)
		return DT_REFUSAL_YAMA_NONE;
	if (!dt_evidence_can_trace(&e->self))
		return judge_without_capability(e);
	/* Our capabilities end at the border of our user namespace. */
	if (e->target.same_user_ns == DT_KNOWN_NO && !e->self.initial_user_ns)
		return DT_REFUSAL_USER_NS;
	return judge_modules(e);
}
