/*
 * Stops by the terminal (Ctrl-Z, a read or a write in the background): they wait until we hold no thread of another
 * process, which would stand for as long as we do.
 */
#ifndef DT_CLI_STANDING_H
#define DT_CLI_STANDING_H

#include <stddef.h>

/* From now on SIGTSTP, SIGTTIN and SIGTTOU stop us when nothing is held. Those that are ignored stay so. */
void dt_standing_begin(void);

/* In a child, before exec: as it was when we were started. */
void dt_standing_restore(void);

/* Tries again where something was held for too long. To be called again and again. */
void dt_standing_retry(void);

/* Columns of a line on the terminal that is stderr, which is taken away before we stand; 0: there is none. */
void dt_standing_line(size_t columns);

#endif
