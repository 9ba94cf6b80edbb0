/* Small files of the kernel: see small_file.h. */
#include "base/small_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"

ssize_t dt_small_file(const char *path, char *buffer, size_t size)
{
	dt_auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	size_t length = 0;

	buffer[0] = '\0';
	if (fd < 0)
		return -errno;
	while (length < size - 1) {
		ssize_t got = read(fd, buffer + length, size - 1 - length);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			buffer[0] = '\0';
			return -errno;
		}
		if (got == 0)
			break;
		length += (size_t)got;
	}
	buffer[length] = '\0';
	return (ssize_t)length;
}

unsigned dt_field_numbers(const char *text, const char *name, int base, uint64_t *values, unsigned count)
{
	size_t length = strlen(name);
	unsigned found = 0;

	while (text && !(strncmp(text, name, length) == 0 && text[length] == ':')) {
		text = strchr(text, '\n');
		if (text)
			text++;
	}
	if (!text)
		return 0;
	text += length + 1;
	while (found < count) {
		char *end;

		while (*text == ' ' || *text == '\t')
			text++;
		if (*text == '\n' || *text == '\0')
			break;
		values[found] = strtoull(text, &end, base);
		if (end == text)
			break;
		text = end;
		found++;
	}
	return found;
}
