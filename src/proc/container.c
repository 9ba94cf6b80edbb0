/*
 * Which container or pod a process is in, read from the names of its cgroups. Runtimes have no common scheme; what they
 * share is that an id is 64 hex digits, alone or behind a word that names the runtime. The innermost id of a path wins:
 * a container inside of another one is the one that the process is in.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "proc/proc.h"

#define CGROUP_LIMIT ((size_t)64 << 10)
#define ID_DIGITS    64
#define SHORT_ID     12
#define NAME_LIMIT   64

struct text {
	const char *at;
	size_t length;
};

struct found {
	char pod[40];
	const char *runtime;
	char name[NAME_LIMIT + 1]; /* short id, or name */
};

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

static bool equals(struct text text, const char *word)
{
	return text.length == strlen(word) && !memcmp(text.at, word, text.length);
}

static bool cut_start(struct text *text, const char *word)
{
	size_t length = strlen(word);

	if (text->length < length || memcmp(text->at, word, length) != 0)
		return false;
	text->at += length;
	text->length -= length;
	return true;
}

static bool cut_end(struct text *text, const char *word)
{
	size_t length = strlen(word);

	if (text->length < length || memcmp(text->at + text->length - length, word, length) != 0)
		return false;
	text->length -= length;
	return true;
}

static bool all_hex(struct text text)
{
	for (size_t i = 0; i < text.length; i++)
		if (!is_hex(text.at[i]))
			return false;
	return true;
}

static void set_id(struct found *found, const char *runtime, struct text id)
{
	found->runtime = runtime;
	memcpy(found->name, id.at, SHORT_ID);
	found->name[SHORT_ID] = '\0';
}

/* A name that people chose; unit names write other characters as \x2d. Control characters are not passed on. */
static void set_name(struct found *found, const char *runtime, struct text name)
{
	size_t length = 0;

	if (!name.length)
		return;
	found->runtime = runtime;
	for (size_t i = 0; i < name.length && length < NAME_LIMIT; i++) {
		unsigned code = (unsigned char)name.at[i];

		if (name.length - i >= 4 && name.at[i] == '\\' && name.at[i + 1] == 'x' && is_hex(name.at[i + 2]) &&
		    is_hex(name.at[i + 3])) {
			char digits[3] = {name.at[i + 2], name.at[i + 3], '\0'};

			code = (unsigned)strtoul(digits, NULL, 16);
			i += 3;
		}
		found->name[length++] = code < 0x20 || code == 0x7f ? '?' : (char)code;
	}
	found->name[length] = '\0';
}

/* "pod<uid>", "kubepods-burstable-pod<uid, '-' written as '_'>.slice". */
static bool take_pod(struct text part, struct found *found)
{
	size_t length = 0;

	cut_end(&part, ".slice");
	if (!cut_start(&part, "pod")) {
		const char *kube = memmem(part.at, part.length, "kubepods", 8), *pod = NULL,
			   *end = part.at + part.length;

		if (!kube)
			return false;
		for (const char *p = kube; (p = memmem(p, (size_t)(end - p), "-pod", 4)); p += 4)
			pod = p + 4;
		if (!pod)
			return false;
		part = (struct text){pod, (size_t)(end - pod)};
	}
	/* A uid has 32 digits, with or without four dashes. */
	if (part.length != 32 && part.length != 36)
		return false;
	for (size_t i = 0; i < part.length; i++) {
		char c = part.at[i] == '_' ? '-' : part.at[i];

		if (!is_hex(c) && c != '-')
			return false;
		found->pod[length++] = c;
	}
	found->pod[length] = '\0';
	found->runtime = NULL; /* ids above a pod are those of the node it runs in */
	return true;
}

static const struct {
	const char *prefix, *parent, *runtime;
} runtimes[] = {
    {"docker-", "docker", "docker"},
    {"cri-containerd-", "cri-containerd", "containerd"},
    {"containerd-", "containerd", "containerd"},
    {"nerdctl-", "nerdctl", "containerd"},
    {"crio-", "crio", "cri-o"},
    {"libpod-", "libpod_parent", "podman"},
    {"ecs-", "ecs", "ecs"},
};

static bool take_id(struct text part, struct text parent, struct text grandparent, struct found *found)
{
	const char *word = "container";

	cut_end(&part, ".scope");
	for (size_t i = 0; i < DT_COUNT(runtimes); i++) {
		struct text id = part;

		if (cut_start(&id, runtimes[i].prefix) && id.length == ID_DIGITS && all_hex(id)) {
			set_id(found, runtimes[i].runtime, id);
			return true;
		}
		if (equals(parent, runtimes[i].parent) || equals(grandparent, runtimes[i].parent))
			word = runtimes[i].runtime;
	}
	if (part.length == ID_DIGITS && all_hex(part)) {
		set_id(found, word, part);
		return true;
	}
	/* Fargate: /ecs/TASK/TASK-NUMBER, TASK being 32 digits. */
	if (equals(grandparent, "ecs") && part.length > 33 && part.at[32] == '-' &&
	    all_hex((struct text){part.at, 32})) {
		set_id(found, "ecs", part);
		return true;
	}
	return false;
}

static bool take_machine(struct text part, struct text parent, struct found *found)
{
	if (cut_start(&part, "lxc.payload.") || (equals(parent, "lxc") && !equals(part, "..")) ||
	    equals(parent, "lxc.payload")) {
		set_name(found, "lxc", part);
		return true;
	}
	/* machine-qemu is a virtual machine's own process, not something inside of one. */
	if (cut_end(&part, ".scope") && cut_start(&part, "machine-") && !cut_start(&part, "qemu")) {
		set_name(found, "nspawn", part);
		return true;
	}
	if (cut_end(&part, ".service") && cut_start(&part, "systemd-nspawn@")) {
		set_name(found, "nspawn", part);
		return true;
	}
	return false;
}

/* Some runtimes put "SLICE:RUNTIME:ID" where others have "SLICE/RUNTIME-ID.scope": ':' separates like '/'. */
static void parse_path(struct text path, struct found *found)
{
	struct text parent = {"", 0}, grandparent = {"", 0};
	const char *p = path.at, *end = path.at + path.length;

	*found = (struct found){0};
	while (p < end) {
		struct text part = {.at = p};

		while (p < end && *p != '/' && *p != ':')
			p++;
		part.length = (size_t)(p - part.at);
		if (p < end)
			p++;
		if (!part.length)
			continue;
		if (!take_pod(part, found) && !take_id(part, parent, grandparent, found))
			take_machine(part, parent, found);
		grandparent = parent;
		parent = part;
	}
}

const char *dt_container_parse(const char *cgroup, struct dt_arena *arena)
{
	struct found best = {0};

	/* "ID:CONTROLLERS:PATH"; version 1 has a line per hierarchy, and not every one may name the container. */
	for (const char *line = cgroup, *stop; *line; line = *stop ? stop + 1 : stop) {
		const char *path = strchr(line, ':');
		struct found found;

		stop = strchrnul(line, '\n');
		path = path && path < stop ? strchr(path + 1, ':') : NULL;
		if (!path || path >= stop)
			continue;
		parse_path((struct text){path + 1, (size_t)(stop - path - 1)}, &found);
		if (!!found.pod[0] * 2 + !!found.runtime > !!best.pod[0] * 2 + !!best.runtime)
			best = found;
	}
	if (best.pod[0] && best.runtime)
		return dt_arena_printf(arena, "pod %s container %s", best.pod, best.name);
	if (best.pod[0])
		return dt_arena_printf(arena, "pod %s", best.pod);
	return best.runtime ? dt_arena_printf(arena, "%s %s", best.runtime, best.name) : NULL;
}

const char *dt_proc_container(const struct dt_proc *proc, struct dt_arena *arena)
{
	struct dt_buf text = DT_BUF_INIT;
	const char *result = NULL;

	if (dt_proc_slurp(proc, "cgroup", CGROUP_LIMIT, &text) == 0)
		result = dt_container_parse(text.data, arena);
	dt_buf_release(&text);
	return result;
}
