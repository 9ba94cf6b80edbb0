/*
 * Ways to get what is missing: see ways.h. A line that begins with four spaces is meant to be pasted. Sudo is only
 * proposed where it can work: not where the bounding set lacks the capability (then root lacks it too), and not under
 * no_new_privs.
 */
#include "doctor/ways.h"

#include <linux/capability.h>

#include "base/util.h"

static const char *command_of(const struct dt_evidence_self *self)
{
	return self->command[0] ? self->command : "darter ...";
}

void dt_way_again(const struct dt_evidence_self *self, struct dt_error *err)
{
	dt_hint(err, "    %s", command_of(self));
}

void dt_way_sudo(const struct dt_evidence_self *self, struct dt_error *err)
{
	const char *command = command_of(self);

	if (!self->sudo)
		dt_way_again(self, err);
	else if (self->sudo_finds)
		dt_hint(err, "    sudo %s", command);
	else
		dt_hint(err, "    sudo env \"PATH=$PATH\" %s", command);
}

void dt_way_root(const struct dt_evidence_self *self, struct dt_error *err)
{
	if (self->no_new_privs) {
		dt_hint(err,
			"This shell may not gain rights (no_new_privs is set), so sudo cannot work here%s. From an "
			"ordinary "
			"root shell:",
			self->runtime == DT_RUNTIME_KUBERNETES ? " (allowPrivilegeEscalation: false)" : "");
		dt_way_again(self, err);
	} else {
		dt_hint(err, "Run it as root:");
		dt_way_sudo(self, err);
	}
}

const char *dt_way_engine(const struct dt_evidence_self *self)
{
	return self->runtime == DT_RUNTIME_PODMAN ? "podman" : "docker";
}

/* The host name of a Docker container is its id, unless it was given another one. */
static const char *container_id(const struct dt_evidence_self *self)
{
	size_t length = strspn(self->host, "0123456789abcdef");

	return length == 12 && self->host[length] == '\0' ? self->host : "CONTAINER";
}

/* A capability that is added to a container reaches only root in it: other users get the user id as well. */
static void docker_capability(const struct dt_evidence_self *self, struct dt_error *err)
{
	const char *engine = dt_way_engine(self);

	dt_hint(err, "This container was started without CAP_SYS_PTRACE. Start it with:");
	dt_hint(err, "    %s run --cap-add SYS_PTRACE %s...", engine, self->euid == 0 ? "" : "--user 0 ");
	dt_hint(err, "or in the compose file:");
	dt_hint(err, "    services:\n      NAME:\n        cap_add: [\"SYS_PTRACE\"]%s",
		self->euid == 0 ? "" : "\n        user: \"0\"");
	dt_hint(err, "or, without a restart, from the host:");
	dt_hint(err, "    %s exec --privileged --user 0 %s %s", engine, container_id(self), command_of(self));
}

static void kubernetes_capability(const struct dt_evidence_self *self, struct dt_error *err)
{
	dt_hint(err, "This container was started without CAP_SYS_PTRACE. Add to it in the pod's description:");
	dt_hint(err, "    securityContext:\n      capabilities:\n        add: [\"SYS_PTRACE\"]%s",
		self->euid == 0 ? "" : "\n      runAsUser: 0");
	dt_hint(err, "A container beside the program needs that too, and in the pod's spec:");
	dt_hint(err, "    shareProcessNamespace: true");
	dt_hint(err, "or, without a restart, from an image that has darter:");
	dt_hint(err, "    kubectl debug -it %s --profile=general --image=IMAGE --target=CONTAINER",
		self->host[0] ? self->host : "POD");
}

static void container_capability(const struct dt_evidence_self *self, struct dt_error *err)
{
	switch (self->runtime) {
	case DT_RUNTIME_KUBERNETES:
		kubernetes_capability(self, err);
		return;
	case DT_RUNTIME_DOCKER:
	case DT_RUNTIME_PODMAN:
		docker_capability(self, err);
		return;
	case DT_RUNTIME_LXC:
		dt_hint(err,
			"this container was started without CAP_SYS_PTRACE: take sys_ptrace out of lxc.cap.drop in its "
			"configuration, or run darter on the host");
		return;
	case DT_RUNTIME_OTHER:
		dt_hint(err, "this container was started without CAP_SYS_PTRACE: start it with that capability, or run "
			     "darter on the host");
		return;
	case DT_RUNTIME_NONE:
		dt_hint(
		    err,
		    "CAP_SYS_PTRACE was taken away from this shell for good (it is not in the bounding set), so sudo "
		    "does not bring it back. From an ordinary root shell:");
		dt_way_again(self, err);
	}
}

void dt_way_capability(const struct dt_evidence *evidence, struct dt_error *err)
{
	const struct dt_evidence_self *self = &evidence->self;

	if (!(self->bounding >> CAP_SYS_PTRACE & 1)) {
		container_capability(self, err);
	} else {
		dt_way_root(self, err);
	}
}

void dt_way_seccomp(const struct dt_evidence_self *self, struct dt_error *err)
{
	if (self->runtime == DT_RUNTIME_KUBERNETES) {
		dt_hint(err, "Let this container read memory, in the pod's description:");
		dt_hint(err, "    securityContext:\n      seccompProfile:\n        type: Unconfined");
	} else if (self->runtime == DT_RUNTIME_DOCKER || self->runtime == DT_RUNTIME_PODMAN) {
		dt_hint(err, "Start the container without the filter:");
		dt_hint(err, "    %s run --security-opt seccomp=unconfined ...", dt_way_engine(self));
	} else {
		dt_hint(err, "run it outside of the sandbox that set the filter (in a systemd unit: "
			     "SystemCallFilter=@process process_vm_readv)");
	}
}

void dt_way_lsm(const struct dt_evidence_self *self, struct dt_error *err)
{
	bool selinux = self->lsm == DT_LSM_SELINUX;

	if (self->runtime == DT_RUNTIME_KUBERNETES && !selinux) {
		dt_hint(err, "Lift it for this container, in the pod's description:");
		dt_hint(err, "    securityContext:\n      appArmorProfile:\n        type: Unconfined");
	} else if (self->runtime == DT_RUNTIME_DOCKER || self->runtime == DT_RUNTIME_PODMAN) {
		dt_hint(err, "Start the container without it:");
		dt_hint(err, "    %s run --security-opt %s ...", dt_way_engine(self),
			selinux ? "label=disable" : "apparmor=unconfined");
	} else if (selinux) {
		dt_hint(err, "Lift the ban on looking into processes until the next boot:");
		dt_hint(err, "    sudo setsebool deny_ptrace off");
		dt_hint(err, "and if that is not it, see what was refused:");
		dt_hint(err, "    sudo ausearch -m avc -ts recent");
	} else {
		dt_hint(err, "Run it from a shell without that profile, or add this rule to the profile:");
		dt_hint(err, "    ptrace (read, trace),");
	}
}
