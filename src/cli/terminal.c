/* Talking to people: see terminal.h. */
#include "cli/terminal.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/ioctl.h>

#include "base/error.h"
#include "base/utf8.h"
#include "base/util.h"

static int output_errno;

static struct dt_buf held = DT_BUF_INIT; /* said since dt_words_hold() */
static bool holding;

size_t dt_terminal_columns(int fd)
{
	const char *text = getenv("COLUMNS");
	struct winsize size;
	uint64_t columns;

	if (text && dt_parse_u64(text, 10000, &columns) && columns)
		return (size_t)columns;
	if (isatty(fd) && !ioctl(fd, TIOCGWINSZ, &size))
		return size.ws_col;
	return 0;
}

bool dt_terminal_color(const struct dt_common *common, int fd)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	if (common && common->color != DT_COLOR_AUTO)
		return common->color == DT_COLOR_ALWAYS;
	if ((no_color && *no_color) || !term || !*term || !strcmp(term, "dumb"))
		return false;
	return isatty(fd);
}

static void tell(const struct dt_buf *words)
{
	if (fflush(stdout))
		dt_output_failed(); /* nobody finds the reason later */
	fwrite(words->data, 1, words->length, stderr);
}

void dt_words_hold(void)
{
	holding = true;
}

void dt_words_go(void)
{
	if (!holding)
		return;
	holding = false;
	tell(&held);
	dt_buf_release(&held);
}

/* "darter: " before the first line, indented below it; each line escaped on its own. */
static void say(const struct dt_common *common, const char *style, const char *text, const char *hint)
{
	bool color = dt_terminal_color(common, STDERR_FILENO);
	struct dt_buf buf = DT_BUF_INIT;

	dt_buf_printf(&buf, "%sdarter:%s ", color ? style : "", color ? "\033[0m" : "");
	dt_escape(&buf, text);
	dt_buf_putc(&buf, '\n');
	while (hint && *hint) {
		size_t length = strcspn(hint, "\n");

		dt_buf_puts(&buf, length ? "  " : "");
		dt_escape_part(&buf, hint, length);
		dt_buf_putc(&buf, '\n');
		hint += length + (hint[length] == '\n');
	}
	if (holding)
		dt_buf_append(&held, buf.data, buf.length);
	else
		tell(&buf);
	dt_buf_release(&buf);
}

void dt_report(const struct dt_common *common, const struct dt_error *err)
{
	say(common, "\033[1;31m", err->message, err->hint);
}

void dt_report_message(const struct dt_common *common, const struct dt_error *err)
{
	say(common, "\033[1;31m", err->message, NULL);
}

void dt_note(const struct dt_common *common, const char *format, ...)
{
	char text[1024];
	va_list args;

	if (common->quiet)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	say(common, "\033[33m", text, NULL);
}

void dt_output_failed(void)
{
	if (!output_errno)
		output_errno = errno ? errno : EIO;
}

bool dt_output_good(void)
{
	if (ferror(stdout))
		dt_output_failed();
	return !output_errno;
}

int dt_output_end(int exit_code)
{
	struct dt_error err;

	errno = 0;
	if (fflush(stdout) || ferror(stdout))
		dt_output_failed();
	if (!output_errno || output_errno == EPIPE)
		return exit_code;
	dt_fail(&err, DT_ERUNTIME, "the result could not be written: %s", strerror(output_errno));
	dt_report(NULL, &err);
	return DT_EXIT_FAILED;
}
