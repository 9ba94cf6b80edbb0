/* See bounded.h. */
#include "format/bounded.h"

#include <errno.h>

#define BUFFER ((size_t)64 << 10)

/* What a write that failed returns: glibc counts wrongly below zero, musl takes nothing else for a failure. */
#ifdef __GLIBC__
#define FAILED 0
#else
#define FAILED (-1)
#endif

static ssize_t write_on(void *cookie, const char *data, size_t size)
{
	struct dt_bounded *bounded = cookie;

	if (size > bounded->left) {
		bounded->full = true;
		bounded->left = 0;
		errno = EFBIG;
		return FAILED;
	}
	if (fwrite(data, 1, size, bounded->to) != size)
		return FAILED;
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
