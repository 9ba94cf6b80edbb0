/* What handlers may do is little: they set words, pass a signal on, or write a text and end. See signals.h. */
#include "cli/signals.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"

static const int handled[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGCHLD, SIGQUIT, SIGXFSZ, SIGPIPE};

static struct sigaction before[DT_COUNT(handled)]; /* as we were started */
static sigset_t mask_before;
static void (*pipe_before)(int) = SIG_DFL;

static volatile sig_atomic_t end_signal, write_wanted, at_once, once_code;
static volatile pid_t handed_on;
static const char *volatile once_words, *volatile once_remove;

void dt_signals_main(void)
{
	pipe_before = signal(SIGPIPE, SIG_DFL);
}

static void end_at_once(void)
{
	if (once_remove)
		unlink(once_remove);
	if (once_words && write(STDERR_FILENO, once_words, strlen(once_words)) < 0)
		_exit(once_code); /* nobody listens, and nothing is left to do */
	_exit(once_code);
}

static void note(int number, siginfo_t *info, void *context)
{
	int kept = errno;

	(void)context;
	if (number == SIGUSR1) {
		write_wanted = 1;
	} else if (number != SIGCHLD && number != SIGQUIT) {
		if (at_once)
			end_at_once();
		/* What the kernel sends to a whole group has reached the program already. */
		if (handed_on && info->si_code <= 0)
			kill(handed_on, number);
		else if (!handed_on)
			end_signal = number;
	} else if (number == SIGQUIT && !handed_on) {
		end_signal = number;
	}
	errno = kept;
}

void dt_signals_begin(void)
{
	sigset_t wanted;

	sigemptyset(&wanted);
	for (size_t i = 0; i < DT_COUNT(handled); i++) {
		struct sigaction action = {.sa_sigaction = note, .sa_flags = SA_SIGINFO};

		if (handled[i] == SIGXFSZ || handled[i] == SIGPIPE)
			action = (struct sigaction){.sa_handler = SIG_IGN};
		sigaction(handled[i], NULL, &before[i]);
		if (handled[i] == SIGPIPE)
			before[i] = (struct sigaction){.sa_handler = pipe_before};
		if (handled[i] != SIGHUP || before[i].sa_handler != SIG_IGN)
			sigaction(handled[i], &action, NULL);
		sigaddset(&wanted, handled[i]);
	}
	sigprocmask(SIG_UNBLOCK, &wanted, &mask_before);
}

void dt_signals_restore(void)
{
	for (size_t i = 0; i < DT_COUNT(handled); i++)
		sigaction(handled[i], &before[i], NULL);
	sigprocmask(SIG_SETMASK, &mask_before, NULL);
}

void dt_signals_hand_on(pid_t program)
{
	handed_on = program;
}

int dt_signals_end(void)
{
	return end_signal;
}

bool dt_signals_write(void)
{
	bool wanted = write_wanted;

	if (wanted)
		write_wanted = 0;
	return wanted;
}

void dt_signals_at_once(const char *words, const char *remove, int exit_code)
{
	once_words = words;
	once_remove = remove;
	once_code = exit_code;
	at_once = 1;
}

void dt_signals_not_at_once(void)
{
	at_once = 0;
}
