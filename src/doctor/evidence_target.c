/*
 * What can be known of a process that may not be looked into: little more than its status file, who owns the other
 * files, and its uid map. All of these are open to everybody unless /proc is mounted with hidepid.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/small_file.h"
#include "base/user.h"
#include "base/util.h"
#include "doctor/refusal.h"

#define MAP_SIZE 4096

static bool is_zombie(const char *status)
{
	const char *state = strstr(status, "\nState:\t");

	return state && (state[8] == 'Z' || state[8] == 'X');
}

/* The files of a process belong to its effective user, and to root as soon as it is not dumpable. For a process of root
 * the two look the same. */
static enum dt_known find_dumpable(const struct dt_evidence_target *target)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/environ", target->pid);
	if (stat(path, &st) != 0)
		return DT_KNOWN_NOT;
	if (st.st_uid != target->uids[1] || st.st_gid != target->gids[1])
		return DT_KNOWN_NO;
	return st.st_uid == 0 && st.st_gid == 0 ? DT_KNOWN_NOT : DT_KNOWN_YES;
}

/* The link says it exactly, but only those who may look in can read it. The uid map is open to all, and shows for us
 * the same text for the same namespace; equal text is no proof that it is the same one. */
static enum dt_known find_same_user_ns(int pid)
{
	char path[64];
	char ours[MAP_SIZE];
	char theirs[MAP_SIZE];
	ssize_t length = readlink("/proc/self/ns/user", ours, sizeof(ours));

	snprintf(path, sizeof(path), "/proc/%d/ns/user", pid);
	if (length > 0 && readlink(path, theirs, sizeof(theirs)) == length)
		return memcmp(ours, theirs, (size_t)length) == 0 ? DT_KNOWN_YES : DT_KNOWN_NO;
	snprintf(path, sizeof(path), "/proc/%d/uid_map", pid);
	if (dt_small_file("/proc/self/uid_map", ours, sizeof(ours)) < 0 ||
	    dt_small_file(path, theirs, sizeof(theirs)) < 0)
		return DT_KNOWN_NOT;
	return strcmp(ours, theirs) == 0 ? DT_KNOWN_NOT : DT_KNOWN_NO;
}

void dt_evidence_target(int pid, struct dt_evidence_target *target)
{
	char path[64];
	char text[8192];
	uint64_t ids[3];
	uint64_t value;

	*target = (struct dt_evidence_target){.pid = pid, .dumpable = DT_KNOWN_NOT, .same_user_ns = DT_KNOWN_NOT};
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	if (dt_small_file(path, text, sizeof(text)) <= 0 || dt_field_numbers(text, "Uid", 10, ids, 3) != 3) {
		/* Asked without a signal, not even the empty one: darter never sends any. */
		target->gone = getpgid(pid) < 0 && errno == ESRCH;
		return;
	}
	target->visible = true;
	target->gone = is_zombie(text);
	for (int i = 0; i < 3; i++)
		target->uids[i] = (uid_t)ids[i];
	if (dt_field_numbers(text, "Gid", 10, ids, 3) == 3)
		for (int i = 0; i < 3; i++)
			target->gids[i] = (gid_t)ids[i];
	if (dt_field_numbers(text, "CapPrm", 16, &value, 1))
		target->permitted = value;
	if (dt_field_numbers(text, "TracerPid", 10, &value, 1))
		target->tracer = (int)value;
	dt_user_name(target->uids[1], target->user, sizeof(target->user));
	target->dumpable = find_dumpable(target);
	target->same_user_ns = find_same_user_ns(pid);
}
