/*
 * The handler itself waits, and then stops us by the default action: a write that the terminal refuses would be tried
 * for ever otherwise, and in a group without a shell nobody would let us go on. See standing.h.
 */
#include "cli/standing.h"

#include <darter/darter.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/util.h"

#define LIMIT_NS UINT64_C(300000000) /* that the handler waits: who looks after the recording is kept meanwhile */
#define NAP_NS   100000

static const int stops[] = {SIGTSTP, SIGTTIN, SIGTTOU};

static struct sigaction before[DT_COUNT(stops)], continue_before;
static volatile sig_atomic_t wanted; /* the signal that is to stop us, 0: none */
static volatile size_t line;

static void stop(int number);

static struct sigaction action_of(void (*handler)(int))
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};

	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < DT_COUNT(stops); i++)
		sigaddset(&action.sa_mask, stops[i]);
	return action;
}

/* What is not written is not worth an error. */
static void put(const char *text, size_t length)
{
	if (write(STDERR_FILENO, text, length) < 0)
		return;
}

static void clear_line(void)
{
	static const char blanks[] = "                                ";

	if (!line)
		return;
	put("\r", 1);
	for (size_t left = line, part; left; left -= part) {
		part = DT_MIN(left, sizeof(blanks) - 1);
		put(blanks, part);
	}
	put("\r", 1);
}

/* Returns when we go on. */
static void stand(int number)
{
	const struct sigaction usual = {.sa_handler = SIG_DFL}, never = {.sa_handler = SIG_IGN}, ours = action_of(stop);
	sigset_t one, mask;

	clear_line();
	sigemptyset(&one);
	sigaddset(&one, number);
	sigaction(number, &usual, NULL);
	/* It is blocked until we unblock it, and taken back by a SIGCONT that comes from now on; one that has come
	 * since we were asked has called it off. */
	raise(number);
	if (!wanted)
		sigaction(number, &never, NULL);
	pthread_sigmask(SIG_UNBLOCK, &one, &mask);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	sigaction(number, &ours, NULL);
}

/* With the signals blocked that stop us. */
static void attempt(int number)
{
	uint64_t until = dt_clock_ns() + LIMIT_NS;

	while (wanted && !dt_hold_nothing() && dt_clock_ns() < until)
		nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
	if (wanted && dt_hold_nothing()) {
		stand(number);
		wanted = 0;
	}
	if (!wanted)
		dt_hold_again();
}

static void stop(int number)
{
	int kept = errno;

	wanted = number;
	attempt(number);
	errno = kept;
}

/* A stop that has not come yet is called off, as the kernel does it. */
static void go_on(int number)
{
	(void)number;
	wanted = 0;
	dt_hold_again();
}

void dt_standing_begin(void)
{
	const struct sigaction stopping = action_of(stop), going_on = action_of(go_on);

	for (size_t i = 0; i < DT_COUNT(stops); i++) {
		sigaction(stops[i], NULL, &before[i]);
		if (before[i].sa_handler != SIG_IGN)
			sigaction(stops[i], &stopping, NULL);
	}
	sigaction(SIGCONT, &going_on, &continue_before);
}

void dt_standing_restore(void)
{
	for (size_t i = 0; i < DT_COUNT(stops); i++)
		sigaction(stops[i], &before[i], NULL);
	sigaction(SIGCONT, &continue_before, NULL);
}

void dt_standing_retry(void)
{
	const struct sigaction ours = action_of(stop);
	sigset_t mask;

	if (!wanted)
		return;
	pthread_sigmask(SIG_BLOCK, &ours.sa_mask, &mask);
	if (wanted) /* it may have been called off meanwhile */
		attempt(wanted);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

void dt_standing_line(size_t columns)
{
	line = columns;
}
