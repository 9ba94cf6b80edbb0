/*
 * What we are and where we run. Nothing here fails: what cannot be read counts as not there, and the judge works with
 * what is known. The text of cgroup and mount files is the kernel's, but names in it may be anybody's: it is only
 * searched, never repeated.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/uio.h>

#include "base/shell.h"
#include "base/small_file.h"
#include "base/user.h"
#include "base/util.h"
#include "doctor/refusal.h"

/* The kernel gives the first user namespace this fixed number. */
#define INITIAL_USER_NS "user:[4026531837]"

static void read_status(struct dt_evidence_self *self)
{
	char text[8192];
	uint64_t value;

	if (dt_small_file("/proc/self/status", text, sizeof(text)) < 0)
		return;
	if (dt_field_numbers(text, "CapEff", 16, &value, 1))
		self->capabilities = value;
	if (dt_field_numbers(text, "CapBnd", 16, &value, 1))
		self->bounding = value;
	if (dt_field_numbers(text, "NoNewPrivs", 10, &value, 1))
		self->no_new_privs = value != 0;
	if (dt_field_numbers(text, "Seccomp", 10, &value, 1))
		self->seccomp = (int)value;
}

/* A process may always read itself, so a refusal here can only come from a filter. */
static int probe_vm_read(void)
{
	char from = 1;
	char to = 0;
	struct iovec local = {.iov_base = &to, .iov_len = 1};
	struct iovec remote = {.iov_base = &from, .iov_len = 1};

	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1 ? 0 : errno;
}

static int read_yama(void)
{
	char text[16];

	if (dt_small_file("/proc/sys/kernel/yama/ptrace_scope", text, sizeof(text)) <= 0 || text[0] < '0' ||
	    text[0] > '3')
		return -1;
	return text[0] - '0';
}

/* The option of the mount that is seen at /proc: the last line with that mount point. */
static int read_hidepid(void)
{
	static const struct {
		const char *text;
		int value;
	} options[] = {
	    {"hidepid=noaccess", 1}, {"hidepid=invisible", 2}, {"hidepid=ptraceable", 4},
	    {"hidepid=1", 1},        {"hidepid=2", 2},         {"hidepid=4", 4},
	};
	dt_auto_free char *line = NULL;
	size_t size = 0;
	int hidepid = 0;
	FILE *mounts = fopen("/proc/self/mountinfo", "re");

	if (!mounts)
		return 0;
	while (getline(&line, &size, mounts) > 0) {
		if (!strstr(line, " /proc "))
			continue;
		hidepid = 0;
		for (size_t i = 0; i < DT_COUNT(options) && !hidepid; i++)
			if (strstr(line, options[i].text))
				hidepid = options[i].value;
	}
	fclose(mounts);
	return hidepid;
}

static enum dt_runtime find_runtime(void)
{
	char cgroup[8192];

	dt_small_file("/proc/self/cgroup", cgroup, sizeof(cgroup));
	if (getenv("KUBERNETES_SERVICE_HOST") || access("/var/run/secrets/kubernetes.io", F_OK) == 0 ||
	    strstr(cgroup, "kubepods"))
		return DT_RUNTIME_KUBERNETES;
	if (access("/run/.containerenv", F_OK) == 0 || strstr(cgroup, "libpod"))
		return DT_RUNTIME_PODMAN;
	if (access("/.dockerenv", F_OK) == 0 || strstr(cgroup, "/docker"))
		return DT_RUNTIME_DOCKER;
	if (strstr(cgroup, "/lxc"))
		return DT_RUNTIME_LXC;
	return getenv("container") ? DT_RUNTIME_OTHER : DT_RUNTIME_NONE;
}

/* Only a policy that is enforced on us counts: an unconfined label refuses nothing. */
static void find_lsm(struct dt_evidence_self *self)
{
	char text[256];
	bool selinux = dt_small_file("/sys/fs/selinux/enforce", text, sizeof(text)) > 0 && text[0] == '1';

	if (dt_small_file("/proc/self/attr/apparmor/current", text, sizeof(text)) <= 0 &&
	    dt_small_file("/proc/self/attr/current", text, sizeof(text)) <= 0)
		return;
	text[strcspn(text, "\n")] = '\0';
	if (selinux && !strstr(text, "unconfined"))
		self->lsm = DT_LSM_SELINUX;
	else if (strstr(text, " (enforce)"))
		self->lsm = DT_LSM_APPARMOR;
	else
		return;
	text[strcspn(text, " ")] = '\0';
	snprintf(self->label, sizeof(self->label), "%.*s", (int)sizeof(self->label) - 1, text);
}

static bool in_default_path(const char *name)
{
	static const char *const folders[] = {"/usr/local/sbin", "/usr/local/bin", "/usr/sbin",
					      "/usr/bin",        "/sbin",          "/bin"};
	char path[PATH_MAX];

	for (size_t i = 0; i < DT_COUNT(folders); i++) {
		if (snprintf(path, sizeof(path), "%s/%s", folders[i], name) < (int)sizeof(path) &&
		    access(path, X_OK) == 0)
			return true;
	}
	return false;
}

/* The line that the user typed, to be typed again. Left empty where it would not be the same line any more. */
static void read_command(struct dt_evidence_self *self)
{
	char text[DT_COMMAND_SIZE * 4];
	struct dt_buf command = DT_BUF_INIT;
	ssize_t length = dt_small_file("/proc/self/cmdline", text, sizeof(text));
	bool whole = length > 0 && (size_t)length < sizeof(text) - 1;

	for (ssize_t at = 0; whole && at < length; at += (ssize_t)strlen(text + at) + 1) {
		if (at > 0)
			dt_buf_putc(&command, ' ');
		whole = dt_shell_quote(&command, text + at);
	}
	if (whole && !command.failed && command.length < sizeof(self->command))
		memcpy(self->command, command.data, command.length + 1);
	dt_buf_release(&command);
	self->sudo_finds = strchr(text, '/') || in_default_path(text);
	self->sudo = in_default_path("sudo");
}

void dt_evidence_self(struct dt_evidence_self *self)
{
	char link[64] = "";
	ssize_t length;

	*self = (struct dt_evidence_self){.uid = getuid(), .euid = geteuid(), .gid = getgid(), .egid = getegid()};
	dt_user_name(self->euid, self->user, sizeof(self->user));
	read_status(self);
	self->vm_read = probe_vm_read();
	self->yama = read_yama();
	self->hidepid = read_hidepid();
	length = readlink("/proc/self/ns/user", link, sizeof(link) - 1);
	self->initial_user_ns = length < 0 || strcmp(link, INITIAL_USER_NS) == 0;
	self->runtime = find_runtime();
	if (gethostname(self->host, sizeof(self->host)) != 0)
		self->host[0] = '\0';
	self->host[sizeof(self->host) - 1] = '\0';
	find_lsm(self);
	read_command(self);
}
