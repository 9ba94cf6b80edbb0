/* Talking to people: see terminal.h. */
#include "cli/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/ioctl.h>

#include "base/error.h"
#include "base/utf8.h"
#include "base/util.h"
#include "base/wrap.h"

#define NARROWEST 20
#define PASTED    "    " /* how a line of a hint begins that is to be pasted */

static int output_errno;
static bool output_told;

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

size_t dt_terminal_columns_now(int fd, size_t before)
{
	size_t columns = isatty(fd) ? dt_terminal_columns(fd) : 0;

	return columns ? columns : before;
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

/* The width of lines for people: 0 where nobody looks, or where the terminal is too narrow to be of any use. */
static size_t words_columns(void)
{
	size_t columns = isatty(STDERR_FILENO) ? dt_terminal_columns(STDERR_FILENO) : 0;

	return columns < NARROWEST ? 0 : columns;
}

/* The lines of a hint, indented. Those that are to be pasted are never broken. */
static void put_hint(struct dt_buf *out, const char *hint, size_t columns)
{
	struct dt_buf line = DT_BUF_INIT;

	while (*hint) {
		size_t length = strcspn(hint, "\n");

		dt_buf_clear(&line);
		dt_escape_part(&line, hint, length);
		dt_buf_puts(out, length ? "  " : "");
		dt_wrap(out, line.data, line.length, 2, 2, strncmp(hint, PASTED, strlen(PASTED)) ? columns : 0);
		dt_buf_putc(out, '\n');
		hint += length + (hint[length] == '\n');
	}
	dt_buf_release(&line);
}

/* "darter: " before the first line, the hint below it; each line escaped on its own. */
static void say(const struct dt_common *common, const char *style, const char *text, const char *hint)
{
	bool color = dt_terminal_color(common, STDERR_FILENO);
	size_t columns = words_columns();
	struct dt_buf buf = DT_BUF_INIT, line = DT_BUF_INIT;

	dt_buf_printf(&buf, "%sdarter:%s ", color ? style : "", color ? "\033[0m" : "");
	dt_escape(&line, text);
	dt_wrap(&buf, line.data, line.length, strlen("darter: "), strlen("darter: "), columns);
	dt_buf_putc(&buf, '\n');
	if (hint)
		put_hint(&buf, hint, columns);
	if (holding)
		dt_buf_append(&held, buf.data, buf.length);
	else
		tell(&buf);
	dt_buf_release(&line);
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

int dt_output_explain(struct dt_error *err)
{
	if (output_errno == EPIPE)
		return 0;
	output_told = true;
	return dt_fail(err, DT_ERUNTIME, "the result could not be written: %s", strerror(output_errno));
}

int dt_output_check(struct dt_error *err)
{
	int flags = fcntl(STDOUT_FILENO, F_GETFL);

	if (flags >= 0 && (flags & O_ACCMODE) != O_RDONLY && !(flags & O_PATH))
		return 0;
	return dt_fail(err, DT_ERUNTIME, "the result cannot be written: stdout is %s",
		       flags < 0 ? "closed" : "open for reading only");
}

int dt_output_end(int exit_code)
{
	struct dt_error err;

	errno = 0;
	if (fflush(stdout) || ferror(stdout))
		dt_output_failed();
	if (!output_errno || output_errno == EPIPE)
		return exit_code;
	if (!output_told && dt_output_explain(&err))
		dt_report(NULL, &err);
	return DT_EXIT_FAILED;
}
