/* Words for a POSIX shell, to be pasted. */
#ifndef DT_BASE_SHELL_H
#define DT_BASE_SHELL_H

#include "base/buf.h"

/* Adds one argument to a command line, quoted if need be; false (nothing added) if it has control characters. */
bool dt_shell_quote(struct dt_buf *out, const char *argument);

#endif
