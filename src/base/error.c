/* Errors: see error.h. Text that does not fit is cut, never overrun. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int dt_fail(struct dt_error *err, int code, const char *format, ...)
{
	va_list args;

	if (!err)
		return code;
	err->code = code;
	err->hint[0] = '\0';
	va_start(args, format);
	vsnprintf(err->message, sizeof(err->message), format, args);
	va_end(args);
	return code;
}

void dt_hint(struct dt_error *err, const char *format, ...)
{
	va_list args;
	size_t length;
	size_t room;
	char *start;
	int written;

	if (!err)
		return;
	length = strlen(err->hint);
	room = sizeof(err->hint) - length;
	if (room < 2)
		return;
	start = err->hint + length;
	if (length) {
		*start++ = '\n';
		room--;
	}
	va_start(args, format);
	written = vsnprintf(start, room, format, args);
	va_end(args);
	if (written < 0 || (size_t)written >= room)
		err->hint[length] = '\0';
}

int dt_fail_files(struct dt_error *err, int pid)
{
	dt_fail(err, DT_ERUNTIME, "process %d cannot be looked at: no more files can be opened", pid);
	dt_hint(err, "'ulimit -Hn' shows how many may be; root can raise it: 'prlimit --nofile=65536 -- darter ...'");
	return DT_ERUNTIME;
}
