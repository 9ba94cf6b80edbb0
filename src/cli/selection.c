/* From the command line to process ids: see selection.h. */
#include "cli/selection.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/regex.h"
#include "base/util.h"
#include "cli/options.h"

static struct dt_selection *selection_of(void *options)
{
	return &((struct dt_selecting *)options)->selection;
}

/* For a word that is no process id. */
static void hint_at_pids(const char *word, struct dt_error *err)
{
	if (word[0] && !strchr("-0123456789", word[0]))
		dt_hint(err, "--name '%s' finds processes by their command line; 'darter ps' lists them", word);
	else if (strpbrk(word, ",;") && strspn(word, "0123456789,; ") == strlen(word))
		dt_hint(err, "several process ids are separated by spaces: 12 34");
	else
		dt_hint(err, "'darter ps' lists the Python processes with their ids");
}

int dt_select_pid(void *options, const char *value, struct dt_error *err)
{
	struct dt_selection *selection = selection_of(options);
	int pid, *grown, code = dt_value_pid(value, &pid, err);

	if (code) {
		hint_at_pids(value, err);
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
	struct dt_selection *selection = selection_of(options);
	const char **grown;
	int code;

	if (!*value)
		return dt_fail(err, DT_EUSAGE, "an empty expression matches everything: use --all");
	code = dt_regex_check(value, err);
	if (code)
		return code;
	grown = reallocarray(selection->names, selection->name_count + 1, sizeof(*grown));
	if (!grown)
		return dt_fail(err, DT_EMEMORY, "out of memory");
	selection->names = grown;
	selection->names[selection->name_count++] = value;
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
	free(selection->names);
	*selection = (struct dt_selection){0};
}

bool dt_selection_open(const struct dt_selection *selection)
{
	return selection->all || selection->name_count || selection->children;
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

/* Those that match, all if name is NULL. */
static int add_found(const struct dt_selection *selection, const char *name, struct dt_picks *picks,
		     struct dt_error *err)
{
	dt_auto_free int *pids = NULL;
	size_t count = 0;
	int code = dt_find(name, &pids, &count, err);

	for (size_t i = 0; i < count && !code; i++)
		code = add_tree(selection, picks, pids[i], false, err);
	return code;
}

static int nothing_found(const struct dt_selection *selection, struct dt_error *err)
{
	struct dt_buf names = DT_BUF_INIT;

	if (selection->all)
		return dt_fail(err, DT_ENOTFOUND, "no Python program is running here");
	for (size_t i = 0; i < selection->name_count; i++)
		dt_buf_printf(&names, "%s'%s'", i ? " or " : "", selection->names[i]);
	dt_fail(err, DT_ENOTFOUND, "no Python process has a command line that matches %s", names.data);
	dt_hint(err, "'darter ps' lists the Python processes that are there");
	dt_buf_release(&names);
	return DT_ENOTFOUND;
}

int dt_selection_pick(const struct dt_selection *selection, struct dt_picks *picks, struct dt_error *err)
{
	int code = 0;

	if (!selection->pid_count && !selection->name_count && !selection->all) {
		dt_fail(err, DT_EUSAGE, "which process? Give a process id, --name or --all");
		dt_hint(err, "'darter ps' lists the Python processes with their ids");
		return DT_EUSAGE;
	}
	picks->count = 0;
	for (size_t i = 0; i < selection->pid_count && !code; i++)
		code = add_tree(selection, picks, selection->pids[i], true, err);
	if (!code && selection->all)
		code = add_found(selection, NULL, picks, err);
	for (size_t i = 0; i < selection->name_count && !selection->all && !code; i++)
		code = add_found(selection, selection->names[i], picks, err);
	if (!code && !picks->count)
		code = nothing_found(selection, err);
	return code;
}
