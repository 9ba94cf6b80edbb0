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

static int read_all(int fd, uint8_t *data, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t got = read(fd, data + done, size - done);

		if (got <= 0)
			return got < 0 ? -errno : -EIO;
		done += (size_t)got;
	}
	return 0;
}

/* The input lies in a block of exactly its size, so that a sanitizer sees the first byte read beyond it. */
static int run(const char *path)
{
	dt_auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	uint8_t *data;
	int rc;

	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size > INPUT_LIMIT)
		return -EINVAL;
	data = malloc(st.st_size ? (size_t)st.st_size : 1);
	if (!data)
		return -ENOMEM;
	rc = read_all(fd, data, (size_t)st.st_size);
	if (rc == 0)
		LLVMFuzzerTestOneInput(data, (size_t)st.st_size);
	free(data);
	return rc;
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
