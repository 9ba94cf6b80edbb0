/* See bounded.h. */
#include "format/bounded.h"

#include <errno.h>

#define BUFFER ((size_t)64 << 10)

static ssize_t write_on(void *cookie, const char *data, size_t size)
{
	struct dt_bounded *bounded = cookie;

	if (size > bounded->left) {
		bounded->full = true;
		bounded->left = 0;
		errno = EFBIG;
		return 0;
	}
	if (fwrite(data, 1, size, bounded->to) != size)
		return 0;
	bounded->left -= size;
	return (ssize_t)size;
}

FILE *dt_bounded_open(struct dt_bounded *bounded, FILE *to, uint64_t most)
{
	FILE *out;

	*bounded = (struct dt_bounded){.to = to, .left = most};
	out = fopencookie(bounded, "w", (cookie_io_functions_t){.write = write_on});
	if (out)
		setvbuf(out, NULL, _IOFBF, BUFFER);
	return out;
}
