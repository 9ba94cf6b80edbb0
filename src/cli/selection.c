/* From the command line to process ids: see selection.h. */
#include "cli/selection.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/util.h"
#include "cli/options.h"

static struct dt_selection *selection_of(void *options)
{
	return &((struct dt_selecting *)options)->selection;
}

int dt_select_pid(void *options, const char *value, struct dt_error *err)
{
	struct dt_selection *selection = selection_of(options);
	int pid, *grown, code = dt_value_pid(value, &pid, err);

	if (code) {
		if (value[0] && !strchr("-0123456789", value[0]))
			dt_hint(err, "--name '%s' finds processes by their command line; 'darter ps' lists them",
				value);
		else
			dt_hint(err, "'darter ps' lists the Python processes with their ids");
		return code;
	}
	grown = reallocarray(selection->pids, selection->pid_count + 1, sizeof(*grown));
	if (!grown)
		return dt_fail(err, DT_EMEMORY, "out of memory");
	selection->pids = grown;
	selection->pids[selection->pid_count++] = pid;
	return 0;
}

int dt_select_name(void *options, const char *value, struct dt_error *err)
{
	if (!*value)
		return dt_fail(err, DT_EUSAGE, "an empty expression matches everything: use --all");
	selection_of(options)->name = value;
	return 0;
}

int dt_select_all(void *options, const char *value, struct dt_error *err)
{
	(void)value, (void)err;
	selection_of(options)->all = true;
	return 0;
}

int dt_select_children(void *options, const char *value, struct dt_error *err)
{
	(void)value, (void)err;
	selection_of(options)->children = true;
	return 0;
}

void dt_selection_release(struct dt_selection *selection)
{
	free(selection->pids);
	selection->pids = NULL;
	selection->pid_count = 0;
}

bool dt_selection_open(const struct dt_selection *selection)
{
	return selection->all || selection->name || selection->children;
}

void dt_picks_release(struct dt_picks *picks)
{
	free(picks->list);
	*picks = (struct dt_picks){0};
}

int dt_picks_add(struct dt_picks *picks, int pid, bool asked, struct dt_error *err)
{
	for (size_t i = 0; i < picks->count; i++) {
		if (picks->list[i].pid == pid) {
			picks->list[i].asked |= asked;
			return 0;
		}
	}
	if (picks->count == picks->capacity) {
		size_t capacity = picks->capacity ? picks->capacity * 2 : 16;
		struct dt_pick *grown = reallocarray(picks->list, capacity, sizeof(*grown));

		if (!grown)
			return dt_fail(err, DT_EMEMORY, "out of memory");
		picks->list = grown;
		picks->capacity = capacity;
	}
	picks->list[picks->count++] = (struct dt_pick){.pid = pid, .asked = asked};
	return 0;
}

/* One process, with its descendants behind it if they are wanted. */
static int add_tree(const struct dt_selection *selection, struct dt_picks *picks, int pid, bool asked,
		    struct dt_error *err)
{
	dt_auto_free int *children = NULL;
	size_t count = 0, at = picks->count;
	int code = dt_picks_add(picks, pid, asked, err);

	/* A process that is gone has no children: that it is gone is told when it is attached. */
	if (code || !selection->children || dt_children(pid, &children, &count, NULL))
		return code;
	for (size_t i = 0; i < count && !code; i++)
		code = dt_picks_add(picks, children[i], false, err);
	if (!code && at < picks->count && picks->list[at].pid == pid)
		picks->list[at].has_kin = count > 0;
	return code;
}

static int add_found(const struct dt_selection *selection, struct dt_picks *picks, struct dt_error *err)
{
	dt_auto_free int *pids = NULL;
	size_t count = 0;
	int code = dt_find(selection->all ? NULL : selection->name, &pids, &count, err);

	for (size_t i = 0; i < count && !code; i++)
		code = add_tree(selection, picks, pids[i], false, err);
	if (!code && !picks->count) {
		if (selection->all)
			dt_fail(err, DT_ENOTFOUND, "no Python program is running here");
		else
			dt_fail(err, DT_ENOTFOUND, "no Python process has a command line that matches '%s'",
				selection->name);
		dt_hint(err, "'darter ps' lists the Python processes that are there");
		code = DT_ENOTFOUND;
	}
	return code;
}

int dt_selection_pick(const struct dt_selection *selection, struct dt_picks *picks, struct dt_error *err)
{
	int code = 0;

	if (!selection->pid_count && !selection->name && !selection->all) {
		dt_fail(err, DT_EUSAGE, "which process? Give a process id, --name or --all");
		dt_hint(err, "'darter ps' lists the Python processes with their ids");
		return DT_EUSAGE;
	}
	picks->count = 0;
	for (size_t i = 0; i < selection->pid_count && !code; i++)
		code = add_tree(selection, picks, selection->pids[i], true, err);
	if (!code && (selection->name || selection->all))
		code = add_found(selection, picks, err);
	return code;
}
