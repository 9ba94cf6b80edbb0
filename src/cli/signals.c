/* What handlers may do is little: they set words, pass a signal on, or write a text and end. See signals.h. */
#include "cli/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/util.h"
#include "cli/standing.h"

#define SAME_NS     UINT64_C(300000000) /* in which several signals are one: who ends a group sends some */
#define GROUP_TRIES 10                  /* in which a sender may turn out to have meant the group, */
#define GROUP_NS    1000000             /* each after so long */

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
	/* What is sent to a whole group has reached the program already. */
	if (handed_on && !group)
		kill(handed_on, number);
	else if (!handed_on)
		end_signal = number;
}

/* Whether a process ignores a signal, by a line of its status: "SigIgn:\t0000000000001000". */
static bool ignores(pid_t pid, int number)
{
	char text[4096], digit[2] = "";
	const char *line;
	size_t at = (size_t)(number - 1) / 4, digits;
	ssize_t length;
	int fd;

	snprintf(text, sizeof(text), "/proc/%d/status", (int)pid);
	fd = open(text, O_RDONLY | O_CLOEXEC);
	length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	text[length > 0 ? length : 0] = '\0';
	line = strstr(text, "\nSigIgn:\t");
	if (!line)
		return false;
	line += strlen("\nSigIgn:\t");
	digits = strspn(line, "0123456789abcdef");
	if (at >= digits)
		return false;
	digit[0] = line[digits - 1 - at];
	return (strtoul(digit, NULL, 16) >> ((number - 1) % 4)) & 1;
}

/* A signal does not tell whether it was sent to us or to all of our group, and in a script all processes are of one
 * group. But who sends a signal to its own group and goes on has to ignore it, as timeout(1) does, which sends it to us
 * alone a moment before. */
static bool sent_to_group(const siginfo_t *info, int number)
{
	pid_t group = getpgrp();

	/* Who has left the group, as setsid() does, is not reached by the terminal either. */
	if (!handed_on || getpgid(handed_on) != group)
		return false;
	if (info->si_code > 0)
		return true;
	if (info->si_pid <= 0 || getpgid(info->si_pid) != group)
		return false;
	for (int i = 0; i < GROUP_TRIES; i++) {
		if (ignores(info->si_pid, number))
			return true;
		nanosleep(&(struct timespec){.tv_nsec = GROUP_NS}, NULL);
	}
	return false;
}

static void note(int number, siginfo_t *info, void *context)
{
	int kept = errno;

	(void)context;
	if (number == SIGUSR1)
		write_wanted = 1;
	else if (number != SIGCHLD)
		ask_for_end(number, sent_to_group(info, number));
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

void dt_signals_give_up(void)
{
	dt_signals_restore();
	dt_signals_main();
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
