/* Quoting: see shell.h. */
#include "base/shell.h"

#include <ctype.h>
#include <string.h>

bool dt_shell_quote(struct dt_buf *out, const char *argument)
{
	bool plain = *argument != '\0';

	for (const char *c = argument; *c; c++) {
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return false;
		if (!isalnum((unsigned char)*c) && !strchr("@%+=:,./_-", *c))
			plain = false;
	}
	if (plain) {
		dt_buf_puts(out, argument);
		return true;
	}
	dt_buf_putc(out, '\'');
	for (const char *c = argument; *c; c++) {
		if (*c == '\'')
			dt_buf_puts(out, "'\\''");
		else
			dt_buf_putc(out, *c);
	}
	dt_buf_putc(out, '\'');
	return true;
}
