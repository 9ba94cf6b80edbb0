/* Signals: those that end or steer a recording, and those of a program that is started, which get back as they were. */
#ifndef DT_CLI_SIGNALS_H
#define DT_CLI_SIGNALS_H

#include <stdbool.h>
#include <sys/types.h>

/* First of all: a reader that goes away ends us quietly, whoever started us may have ignored that. */
void dt_signals_main(void);

/* First of all where signals are noted, before anything that takes time: who starts us may send one at once. From now
 * on SIGINT, SIGTERM, SIGHUP and SIGQUIT are only noted, also where they were blocked; SIGHUP stays ignored where it is
 * (nohup), the others do not. SIGUSR1 is noted, too. A reader that goes away, and a file that may not grow, are errors
 * of a write. A signal ends a sleep, and nothing else: a write that waits goes on. Stops by the terminal come when
 * nothing is held (standing.h). */
void dt_signals_begin(void);

/* Nothing is begun that they would end: they do to us again what they do to any command. One that has been noted is
 * passed over: a word on what was wrong is about to be said, and we end by ourselves. */
void dt_signals_give_up(void);

/* In a child, before exec: everything as it was when we were started. */
void dt_signals_restore(void);

/* Signals that would end us and that another process sent to us alone are for this program from now on, and so is one
 * that has come already; to be called with signals blocked. Those that come from the terminal, or from who sends them
 * to our group and ignores them himself (timeout), reach it by themselves. 0: there is none any more. */
void dt_signals_hand_on(pid_t program);

/* True if a signal that asks for the end has come while there was a program, which got it. */
bool dt_signals_handed_on(void);

/* The signal that has asked for the end, 0: none. */
int dt_signals_end(void);

/* True if SIGUSR1 has come since the last time. */
bool dt_signals_write(void);

/* From now on the second signal that asks for the end ends us at once, with a word for people and an exit code; with
 * `ending`, where the end has come by itself, the first one does. Those that come together are one. While there is a
 * program the first one is for it. `remove` is a file that is not needed then; NULL: none. The texts are copied. */
void dt_signals_at_once(const char *words, const char *remove, int exit_code, bool ending);

/* Not any more: they are noted. */
void dt_signals_not_at_once(void);

#endif
