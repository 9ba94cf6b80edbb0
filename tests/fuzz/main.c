/* Runs a fuzz target over the files given as arguments, so that a corpus is an ordinary test for any compiler. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"
#include "fuzz.h"

#define INPUT_LIMIT ((off_t)16 << 20)

/* The input lies in a block of exactly its size, so that a sanitizer sees the first byte read beyond it. */
static int run(const char *path)
{
	dt_auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	dt_auto_free uint8_t *data = NULL;
	struct stat st;
	size_t done = 0, size;

	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size > INPUT_LIMIT)
		return -EINVAL;
	size = (size_t)st.st_size;
	data = malloc(size ? size : 1);
	if (!data)
		return -ENOMEM;
	while (done < size) {
		ssize_t got = read(fd, data + done, size - done);

		if (got <= 0)
			return got < 0 ? -errno : -EIO;
		done += (size_t)got;
	}
	LLVMFuzzerTestOneInput(data, size);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: %s FILE...\n", argv[0]);
		return 2;
	}
	for (int i = 1; i < argc; i++) {
		int rc = run(argv[i]);

		if (rc < 0) {
			fprintf(stderr, "%s: %s\n", argv[i], strerror(-rc));
			return 1;
		}
	}
	printf("%d inputs\n", argc - 1);
	return 0;
}
