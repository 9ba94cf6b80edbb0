/*
 * A program that is started to be recorded. Its process is made before anything else is done, so that it inherits
 * nothing of a recording (limits, priorities, descriptors), and waits for a byte. Input, output, terminal and signals
 * are its own.
 *
 * It may be stopped for looks by threads of ours, and a wait for it would take the event that tells so away from them:
 * so nothing is taken before it is sure to be an end.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/shell.h"
#include "base/util.h"
#include "cli/record.h"
#include "cli/signals.h"

#define KILLED 128 /* exit codes above it name a signal, as shells have it */

static void become(int go, int failed, char *const *words)
{
	ssize_t got;
	char byte;
	int why;

	dt_signals_restore();
	do
		got = read(go, &byte, 1);
	while (got < 0 && errno == EINTR);
	if (got != 1)
		_exit(0);
	execvp(words[0], words);
	why = errno;
	_exit(write(failed, &why, sizeof(why)) == sizeof(why) ? 127 : 126);
}

/* What a child of ours has to tell, which may also be that a thread of ours has stopped it; nothing is taken. */
static int ask_children(siginfo_t *info)
{
	*info = (siginfo_t){0};
	return waitid(P_ALL, 0, info, WEXITED | WNOHANG | WNOWAIT | __WNOTHREAD);
}

static bool is_end(const siginfo_t *info)
{
	return info->si_code == CLD_EXITED || info->si_code == CLD_KILLED || info->si_code == CLD_DUMPED;
}

void dt_program_adopt(struct dt_program *program)
{
	siginfo_t info;

	if (ask_children(&info) < 0 && errno == ECHILD)
		program->adopts = prctl(PR_SET_CHILD_SUBREAPER, 1) == 0;
}

void dt_program_adopt_no_more(const struct dt_program *program)
{
	if (program->adopts)
		prctl(PR_SET_CHILD_SUBREAPER, 0);
}

bool dt_program_has_heirs(const struct dt_program *program)
{
	siginfo_t info;

	if (!program->adopts)
		return false;
	while (ask_children(&info) == 0) {
		if (!info.si_pid || info.si_pid == program->pid || !is_end(&info))
			return true;
		waitid(P_PID, (id_t)info.si_pid, &info, WEXITED | WNOHANG);
	}
	return errno == EINTR;
}

int dt_program_prepare(struct dt_program *program, struct dt_error *err, char *const *words)
{
	int go[2], failed[2], why;
	sigset_t all, mask;

	if (pipe2(go, O_CLOEXEC) < 0)
		return dt_fail(err, DT_ERUNTIME, "no process can be made: %s", strerror(errno));
	if (pipe2(failed, O_CLOEXEC) < 0) {
		dt_fail(err, DT_ERUNTIME, "no process can be made: %s", strerror(errno));
		close(go[0]);
		close(go[1]);
		return DT_ERUNTIME;
	}
	/* From its first moment on signals are for the program: one that comes meanwhile is not lost. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &mask);
	program->pid = fork();
	if (program->pid == 0) {
		close(go[1]);
		close(failed[0]);
		become(go[0], failed[1], words);
	}
	why = errno;
	dt_signals_hand_on(DT_MAX(program->pid, 0));
	sigprocmask(SIG_SETMASK, &mask, NULL);
	close(go[0]);
	close(failed[1]);
	program->go = go[1];
	program->failed = failed[0];
	if (program->pid > 0)
		return 0;
	dt_fail(err, DT_ERUNTIME, "no process can be made: %s", strerror(why));
	close(program->go);
	close(program->failed);
	program->pid = 0;
	return DT_ERUNTIME;
}

/* How it would be started. */
static void hint_start(const char *name, int code, struct dt_error *err)
{
	const char *start = dt_start_of(name);
	struct dt_buf line = DT_BUF_INIT;
	struct stat st;

	if (code == DT_ENOTFOUND && !strchr(name, '/'))
		dt_hint(err, "there is no such program in the directories of PATH");
	else if (stat(name, &st) < 0)
		return;
	else if (S_ISDIR(st.st_mode))
		dt_hint(err, "it is a directory");
	else if (code == DT_EPERMISSION)
		dt_hint(err, "it is not executable");
	else if (code == DT_ENOTFOUND)
		dt_hint(err, "the interpreter that its first line names is not there");
	dt_buf_printf(&line, "darter record -- %s", start ? start : "");
	if (start && *start && stat(name, &st) == 0 && dt_shell_quote(&line, name) && !line.failed)
		dt_hint(err, "This starts it, with its arguments behind it:\n    %s", line.data);
	dt_buf_release(&line);
}

static int cannot_start(const char *name, int why, struct dt_error *err)
{
	int code = why == ENOENT || why == ENOTDIR ? DT_ENOTFOUND
		   : why == EACCES || why == EPERM ? DT_EPERMISSION
						   : DT_ERUNTIME;

	dt_fail(err, code, "'%.400s' cannot be started: %s", name, strerror(why));
	hint_start(name, code, err);
	return code;
}

int dt_program_go(struct dt_program *program, const char *name, struct dt_error *err)
{
	ssize_t got;
	int why = 0;

	got = write(program->go, "g", 1);
	close(program->go);
	while (got == 1) {
		got = read(program->failed, &why, sizeof(why));
		if (got >= 0 || errno != EINTR)
			break;
		got = 1;
	}
	close(program->failed);
	if (got != sizeof(why))
		return 0;
	dt_program_await(program);
	return cannot_start(name, why, err);
}

void dt_program_drop(struct dt_program *program)
{
	if (!program->pid)
		return;
	close(program->go);
	close(program->failed);
	dt_program_await(program);
}

static bool reap(struct dt_program *program, int flags)
{
	siginfo_t info = {0};

	if (!program->pid)
		return true;
	if (waitid(P_PID, (id_t)program->pid, &info, WEXITED | WNOWAIT | flags) < 0) {
		if (errno == EINTR)
			return false;
		program->exit_code = DT_EXIT_FAILED; /* somebody else has waited for it */
	} else if (info.si_pid != program->pid || !is_end(&info)) {
		return false;
	} else {
		program->exit_code = info.si_code == CLD_EXITED ? info.si_status : KILLED + info.si_status;
	}
	dt_signals_hand_on(0);
	waitid(P_PID, (id_t)program->pid, &info, WEXITED | WNOHANG);
	program->pid = 0;
	return true;
}

bool dt_program_ended(struct dt_program *program)
{
	return reap(program, WNOHANG);
}

/* Those that were adopted are waited for, too: an end of which nobody takes notice stays in the table of processes. */
void dt_program_await(struct dt_program *program)
{
	siginfo_t info;

	while (program->adopts && !reap(program, WNOHANG)) {
		dt_program_has_heirs(program);
		waitid(P_ALL, 0, &info, WEXITED | WNOWAIT | __WNOTHREAD);
	}
	while (!reap(program, 0))
		;
}
