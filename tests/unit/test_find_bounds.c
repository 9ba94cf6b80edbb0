/* Memory made so that everything in it looks like an interpreter: finding comes to an end, and says so. */
#include "unit.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "python/find_inside.h"

#define HEAP   UINT64_C(0x10000000)
#define NODES  UINT64_C(0x20000000)
#define STEP   1024 /* bytes of a node: it is its own place in every table */
#define CHAIN  4096
#define LOADED 100

/* What the finder takes this program for. */
uint64_t _PyRuntime[512];

struct opened {
	unsigned count;
};

static int open_self(void *context, const struct dt_map *map)
{
	struct opened *opened = context;

	(void)map;
	opened->count++;
	return open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
}

/* Whether this program can run at any address. */
static bool moves(void)
{
	Elf64_Ehdr header;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_int_equal(read(fd, &header, sizeof(header)), sizeof(header));
	close(fd);
	return header.e_type == ET_DYN;
}

static int find(const char *text, const struct dt_recorded_range *ranges, size_t count, unsigned *opens,
		uint64_t *reads, struct dt_error *err)
{
	static struct dt_python python;
	struct opened opened = {0};
	struct dt_maps maps;
	struct dt_mem *mem;
	int code;

	assert_int_equal(dt_maps_parse(text, strlen(text), &maps), 0);
	assert_int_equal(dt_mem_open_recorded(ranges, count, &mem), 0);
	code = dt_python_find_still(
	    &(struct dt_find_still){.maps = &maps, .open = open_self, .context = &opened, .what = "core.1"}, mem,
	    &python, err);
	*reads = dt_mem_stats(mem).calls;
	*opens = opened.count;
	dt_mem_free(mem);
	dt_maps_release(&maps);
	return code;
}

/* {mutex, head, main, next_id} as of a runtime, all over the heap; each leads to a list of interpreters that have no
 * threads. One step is a read, and every list a good deal of them. */
static void test_lists_everywhere(void **state)
{
	const char *text = "10000000-10400000 rw-p 00000000 00:00 0 \n";
	const size_t size = 4 << 20;
	uint64_t *heap = calloc(1, size), *nodes = calloc(CHAIN, STEP), reads;
	struct dt_error err = {0};
	unsigned opens;

	(void)state;
	assert_true(heap && nodes);
	for (size_t i = 0; i < size / 8; i++)
		heap[i] = i % 4 == 3 ? 1 : NODES;
	for (size_t i = 0; i < CHAIN; i++)
		for (const struct dt_layout *const *layout = dt_layouts; *layout; layout++)
			if ((*layout)->interpreter.next < STEP)
				nodes[(i * STEP + (*layout)->interpreter.next) / 8] = NODES + (i + 1) % CHAIN * STEP;

	const struct dt_recorded_range ranges[] = {{HEAP, heap, size}, {NODES, nodes, (size_t)CHAIN * STEP}};
	assert_int_equal(find(text, ranges, DT_COUNT(ranges), &opens, &reads, &err), DT_ERUNTIME);
	assert_non_null(strstr(err.message, "given up"));
	assert_true(reads <= DT_FIND_STEPS);
	free(heap);
	free(nodes);
}

/* One file, mapped again and again: it is looked at once, not for each mapping. */
static void test_a_file_loaded_many_times(void **state)
{
	static uint8_t data[4096];
	struct dt_recorded_range ranges[LOADED];
	char text[LOADED * 128];
	struct dt_error err = {0};
	size_t length = 0;
	unsigned opens;
	uint64_t reads;

	(void)state;
	for (size_t i = 0; i < LOADED; i++) {
		uint64_t start = HEAP + i * 0x100000;

		length += (size_t)snprintf(text + length, sizeof(text) - length,
					   "%jx-%jx rw-p 00000000 08:01 7 /opt/program\n"
					   "%jx-%jx r--p 00001000 08:01 7 /opt/program\n",
					   (uintmax_t)start, (uintmax_t)start + 0x80000, (uintmax_t)start + 0x80000,
					   (uintmax_t)start + 0x81000);
		ranges[i] = (struct dt_recorded_range){start, data, sizeof(data)};
	}
	assert_true(find(text, ranges, LOADED, &opens, &reads, &err) < 0);
	/* Once for what it exports, once for all that it names; a program that has its own place is tried at others. */
	assert_true(opens >= 1 && opens <= (moves() ? 2 : 2 * DT_FIND_LOADS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_lists_everywhere),
	    cmocka_unit_test(test_a_file_loaded_many_times),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
