/* How a program is started that was given by a name which does not start it: see dt_start_of() in record.h. */
#include <fcntl.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/util.h"
#include "cli/record.h"

static bool is_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), size = strlen(end);

	return length > size && !strcmp(text + length - size, end);
}

/* As the C library looks for it. */
static bool in_path(const char *name)
{
	const char *path = getenv("PATH");
	struct dt_buf whole = DT_BUF_INIT;
	bool found = false;

	while (path && !found) {
		size_t length = strcspn(path, ":");

		dt_buf_clear(&whole);
		dt_buf_append(&whole, path, length);
		dt_buf_printf(&whole, "%s%s", length ? "/" : "", name);
		found = !whole.failed && is_file(whole.data) && access(whole.data, X_OK) == 0;
		path = path[length] ? path + length + 1 : NULL;
	}
	dt_buf_release(&whole);
	return found;
}

/* What it begins with, NUL-terminated. It may be a pipe: nothing is waited for. */
static void read_beginning(const char *path, char *text, size_t size)
{
	dt_auto_close int fd = is_file(path) ? open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;
	ssize_t length = fd < 0 ? 0 : read(fd, text, size - 1);

	text[DT_MAX(length, 0)] = '\0';
	text[strcspn(text, "\n")] = '\0';
}

/* The interpreter that a first line names. */
static bool has_interpreter(const char *beginning)
{
	char path[256];

	return sscanf(beginning, "#! %255[^ \t]", path) == 1 && access(path, X_OK) == 0;
}

/* The kernel starts it by itself; what is executable and neither of both a shell would take for its own. */
static bool starts_itself(const char *path, const char *beginning)
{
	return access(path, X_OK) == 0 && (has_interpreter(beginning) || !strncmp(beginning, "\177ELF", 4));
}

static bool is_script(const char *path, const char *beginning)
{
	return ends_with(path, ".py") || ends_with(path, ".pyw") || ends_with(path, ".pyc") ||
	       ends_with(path, ".pyz") || (!strncmp(beginning, "#!", 2) && strstr(beginning, "python"));
}

/* A directory that Python takes for a program. */
static bool is_package(const char *path)
{
	struct dt_buf main = DT_BUF_INIT;
	bool found;

	dt_buf_printf(&main, "%s/__main__.py", path);
	found = !main.failed && is_file(main.data);
	dt_buf_release(&main);
	return found;
}

const char *dt_start_of(const char *name)
{
	const bool path = strchr(name, '/') != NULL;
	char beginning[256];
	struct stat st;

	if (!path && in_path(name))
		return "";
	read_beginning(name, beginning, sizeof(beginning));
	if (starts_itself(name, beginning))
		return path ? "" : "./";
	if (is_script(name, beginning) || is_package(name))
		return "python3 ";
	return stat(name, &st) == 0 ? NULL : "";
}
