/* What handlers may do is little: they set words, pass a signal on, or write a text and end. See signals.h. */
#include "cli/signals.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "cli/standing.h"

#define SAME_NS UINT64_C(300000000) /* in which several signals are one: who ends a group sends some */

static const int handled[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGCHLD, SIGQUIT, SIGXFSZ, SIGPIPE};

static struct sigaction before[DT_COUNT(handled)]; /* as we were started */
static sigset_t mask_before;
static void (*pipe_before)(int) = SIG_DFL;

static volatile sig_atomic_t end_signal, write_wanted;
static volatile pid_t handed_on;
static volatile sig_atomic_t program_asked; /* for its end */
static volatile uint64_t asked_ns;          /* when the end was asked for, 0: it was not */

/* The texts are the handler's while at_once is set, and change only while it is not. */
static volatile sig_atomic_t at_once;
static int once_code;
static char once_words[1024], once_remove[PATH_MAX];

void dt_signals_main(void)
{
	pipe_before = signal(SIGPIPE, SIG_DFL);
}

static void end_at_once(void)
{
	struct pollfd stderr_room = {.fd = STDERR_FILENO, .events = POLLOUT};

	if (once_remove[0])
		unlink(once_remove);
	/* It may be a pipe that nobody reads that keeps us. */
	if (poll(&stderr_room, 1, 0) != 1 || write(STDERR_FILENO, once_words, strlen(once_words)) < 0)
		_exit(once_code); /* nobody listens, and nothing is left to do */
	_exit(once_code);
}

static void ask_for_end(int number, bool group)
{
	uint64_t now = dt_clock_ns();

	if (at_once && asked_ns && now - asked_ns > SAME_NS)
		end_at_once();
	if (!asked_ns && (at_once || !handed_on))
		asked_ns = now;
	if (handed_on)
		program_asked = 1;
	/* What the kernel sends to a whole group has reached the program already. */
	if (handed_on && !group)
		kill(handed_on, number);
	else if (!handed_on)
		end_signal = number;
}

static void note(int number, siginfo_t *info, void *context)
{
	int kept = errno;

	(void)context;
	if (number == SIGUSR1)
		write_wanted = 1;
	else if (number != SIGCHLD)
		ask_for_end(number, info->si_code > 0);
	errno = kept;
}

void dt_signals_begin(void)
{
	sigset_t wanted;

	sigemptyset(&wanted);
	for (size_t i = 0; i < DT_COUNT(handled); i++) {
		struct sigaction action = {.sa_sigaction = note, .sa_flags = SA_SIGINFO | SA_RESTART};

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
	dt_standing_begin();
}

void dt_signals_restore(void)
{
	for (size_t i = 0; i < DT_COUNT(handled); i++)
		sigaction(handled[i], &before[i], NULL);
	dt_standing_restore();
	sigprocmask(SIG_SETMASK, &mask_before, NULL);
}

void dt_signals_hand_on(pid_t program)
{
	handed_on = program;
	if (!program || !end_signal)
		return;
	kill(program, end_signal);
	program_asked = 1;
	end_signal = 0;
	asked_ns = 0;
}

bool dt_signals_handed_on(void)
{
	return program_asked;
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

void dt_signals_at_once(const char *words, const char *remove, int exit_code, bool ending)
{
	at_once = 0;
	atomic_signal_fence(memory_order_seq_cst);
	snprintf(once_words, sizeof(once_words), "%s", words);
	/* A name that was cut would be another file's. */
	snprintf(once_remove, sizeof(once_remove), "%s", remove && strlen(remove) < sizeof(once_remove) ? remove : "");
	once_code = exit_code;
	if (ending && !handed_on && !asked_ns)
		asked_ns = 1;
	atomic_signal_fence(memory_order_seq_cst);
	at_once = 1;
}

void dt_signals_not_at_once(void)
{
	at_once = 0;
	if (!end_signal)
		asked_ns = 0;
}
