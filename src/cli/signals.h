/* Signals: those that end or steer a recording, and those of a program that is started, which get back as they were. */
#ifndef DT_CLI_SIGNALS_H
#define DT_CLI_SIGNALS_H

#include <stdbool.h>
#include <sys/types.h>

/* First of all: a reader that goes away ends us quietly, whoever started us may have ignored that. */
void dt_signals_main(void);

/* From now on SIGINT, SIGTERM and SIGHUP are only noted, also where they were blocked; SIGHUP stays ignored where it is
 * (nohup), SIGINT and SIGTERM do not. SIGUSR1 is noted, too. A reader that goes away, and a file that may not grow, are
 * errors of a write. A signal ends a sleep. */
void dt_signals_begin(void);

/* In a child, before exec: everything as it was when we were started. */
void dt_signals_restore(void);

/* Signals that would end us and that another process sent to us alone are for this program from now on. Those that come
 * from the terminal reach it by themselves. 0: there is none any more. */
void dt_signals_hand_on(pid_t program);

/* The signal that has asked for the end, 0: none. */
int dt_signals_end(void);

/* True if SIGUSR1 has come since the last time. */
bool dt_signals_write(void);

/* From now on SIGINT, SIGTERM and SIGHUP end us at once, with a word for people and an exit code. `remove` is a file
 * that is not needed then; NULL: none. The texts must stay. */
void dt_signals_at_once(const char *words, const char *remove, int exit_code);

/* Not any more: they are noted. */
void dt_signals_not_at_once(void);

#endif
