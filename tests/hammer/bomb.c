/*
 * A program that has nothing of Python in it, but looks like it wherever one looks. Says "ready" and stays.
 *
 *     bomb symbol           a variable of an old interpreter, in data full of pointers to what may be one
 *     bomb memory           32 MB of what may be the lists of a runtime
 *     bomb files FILE N     the same file N times
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define WORDS 65536
#define HEAP  ((size_t)32 << 20)
#define PAGE  4096
#define SMALL ((size_t)1 << 20)

__attribute__((visibility("default"))) uint64_t _PyThreadState_Current = 1;
static uint64_t data[WORDS] = {1};

static void *memory(size_t size)
{
	void *start = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (start == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	return start;
}

/* An interpreter whose next one is itself, by every table. */
static uint64_t node(void)
{
	uint64_t *start = memory(SMALL);

	for (int i = 0; i < 4; i++)
		start[i] = (uint64_t)(uintptr_t)start;
	start[1] = 0;
	return start[0];
}

static void fill_data(void)
{
	uint64_t to = node();

	for (size_t i = 0; i < WORDS; i++)
		data[i] = to;
}

static void fill_memory(void)
{
	uint64_t to = node(), *heap = memory(HEAP);

	for (size_t i = 0; i < HEAP / sizeof(*heap); i++)
		heap[i] = i % 4 == 3 ? 1 : to;
}

static void map_files(const char *path, long count)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0) {
		perror(path);
		exit(1);
	}
	for (long i = 0; i < count; i++) {
		/* The next one goes below: offsets rise within one copy, and begin again at the next. */
		void *end = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, (off_t)2 * PAGE);
		void *start = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd,
				   0);

		if (start == MAP_FAILED || end == MAP_FAILED) {
			perror("mmap");
			exit(1);
		}
	}
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "symbol"))
		fill_data();
	else if (argc == 2 && !strcmp(argv[1], "memory"))
		fill_memory();
	else if (argc == 4 && !strcmp(argv[1], "files"))
		map_files(argv[2], strtol(argv[3], NULL, 10));
	else
		return 2;
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
