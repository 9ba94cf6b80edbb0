/* Finding Python, as far as it needs no process: modules of a memory map, versions, proofs and scans over recordings.
 */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "python/debug_offsets.h"
#include "python/find_inside.h"

#include "../hex.h"

/* ---- versions ---- */

static void test_version_text(void **state)
{
	char text[24];

	(void)state;
	dt_version_text(&(struct dt_version){3, 8, 18, 0xf, 0}, text);
	assert_string_equal(text, "3.8.18");
	dt_version_text(&(struct dt_version){3, 15, 0, 0xc, 1}, text);
	assert_string_equal(text, "3.15.0rc1");
	dt_version_text(&(struct dt_version){3, 14, 0, 0xa, 7}, text);
	assert_string_equal(text, "3.14.0a7");
	dt_version_text(&(struct dt_version){3, 14, 0, 0xb, 2}, text);
	assert_string_equal(text, "3.14.0b2");
	dt_version_text(&(struct dt_version){255, 255, 255, 0xc, 255}, text);
	assert_string_equal(text, "255.255.255rc255");
}

static void test_version_from_hex(void **state)
{
	struct dt_version version = dt_version_from_hex(0x030f02c1);

	(void)state;
	assert_int_equal(version.major, 3);
	assert_int_equal(version.minor, 15);
	assert_int_equal(version.micro, 2);
	assert_int_equal(version.level, 0xc);
	assert_int_equal(version.serial, 1);
}

static void test_version_in_name(void **state)
{
	struct dt_version version;

	(void)state;
	assert_true(dt_find_version_in_name("/usr/lib/libpython3.7m.so.1.0", &version));
	assert_int_equal(version.minor, 7);
	assert_true(dt_find_version_in_name("/opt/python3.99/python2.7", &version));
	assert_int_equal(version.major, 2);
	assert_false(dt_find_version_in_name("/opt/python3.9/program", &version));
	assert_false(dt_find_version_in_name("/usr/bin/python3", &version));
	assert_false(dt_find_version_in_name("", &version));
}

static bool in_bytes(const char *bytes, size_t size, struct dt_version *version)
{
	/* A copy of the exact size: the sanitizer sees a read beyond it. */
	char *copy = malloc(size ? size : 1);
	bool found;

	memcpy(copy, bytes, size);
	found = dt_find_version_in_bytes(copy, size, version);
	free(copy);
	return found;
}
#define IN_BYTES(text, version) in_bytes(text, sizeof(text) - 1, version)

static void test_version_in_bytes(void **state)
{
	struct dt_version version = {.free_threaded = true};

	(void)state;
	assert_true(IN_BYTES("1.2.11 (\0x 3.9.1 (y\0\0003.7.16 (default, ...", &version));
	assert_int_equal(version.minor, 7);
	assert_int_equal(version.micro, 16);
	assert_int_equal(version.level, 0xf);
	assert_false(version.free_threaded); /* all of it is told */
	assert_true(IN_BYTES("\0002.7.18+ (", &version));
	assert_int_equal(version.major, 2);
	assert_true(IN_BYTES("\0003.9.0rc2 (x", &version));
	assert_int_equal(version.level, 0xc);
	assert_int_equal(version.serial, 2);
	assert_false(IN_BYTES("\0003.7.16 ", &version));     /* cut */
	assert_false(IN_BYTES("3.7.16 (default", &version)); /* nothing before it */
	assert_false(IN_BYTES("\0004.7.16 (", &version));
	assert_false(IN_BYTES("\0003.7 (", &version));
	assert_false(IN_BYTES("\0003.7.16 beta (", &version));
	assert_false(IN_BYTES(" (", &version));
	assert_false(IN_BYTES("", &version));
}

/* ---- modules ---- */

static const char maps_text[] =
    "00400000-00401000 r--p 00000000 fe:00 11 /srv/app\n"
    "00401000-00402000 r-xp 00001000 fe:00 11 /srv/app\n"
    "00402000-00403000 rw-p 00002000 fe:00 11 /srv/app\n"
    "00403000-00404000 rw-p 00000000 00:00 0 \n"
    "01000000-01021000 rw-p 00000000 00:00 0 [heap]\n"
    "7f0000000000-7f0000001000 r--s 00000000 fe:00 40 /usr/share/data\n"
    "7f0000100000-7f0000101000 r--p 00000000 fe:00 30 /x/_a.cpython-311-x86_64-linux-gnu.so\n"
    "7f0000101000-7f0000102000 r-xp 00001000 fe:00 30 /x/_a.cpython-311-x86_64-linux-gnu.so\n"
    "7f0000200000-7f0000201000 r-xp 00000000 fe:00 20 /x/libother.so\n"
    "7f0000201000-7f0000202000 rw-p 00001000 fe:00 20 /x/libother.so\n"
    "7f0000202000-7f0000203000 r-xp 00000000 fe:00 20 /x/libother.so\n"
    "7f0000300000-7f0000301000 r-xp 00000000 fe:00 21 /x/libpython3.11.so.1.0\n"
    "7f0000400000-7f0000401000 rw-s 00000000 fe:00 22 /dev/shm/x\n"
    "7f0000500000-7f0000501000 rw-p 00000000 fe:00 23 /x/hugified\n";

static void test_modules(void **state)
{
	struct dt_find_module *modules;
	struct dt_maps maps;
	size_t count;

	(void)state;
	assert_int_equal(dt_maps_parse(maps_text, sizeof(maps_text) - 1, &maps), 0);
	assert_int_equal(dt_find_modules(&maps, &modules, &count), 0);
	assert_int_equal(count, 6);
	assert_string_equal(modules[0].first->path, "/srv/app");
	assert_int_equal(modules[0].last->offset, 0x2000);
	assert_int_equal(modules[0].rank, 0);
	assert_int_equal(modules[1].rank, 3);
	/* The same file loaded twice, one behind the other. */
	assert_string_equal(modules[2].first->path, "/x/libother.so");
	assert_int_equal(modules[2].first->start, 0x7f0000200000);
	assert_int_equal(modules[3].first->start, 0x7f0000202000);
	assert_int_equal(modules[3].rank, 2);
	assert_string_equal(modules[4].first->path, "/x/libpython3.11.so.1.0");
	assert_int_equal(modules[4].rank, 1);
	/* Its code was moved to huge pages: only data is left of the file. */
	assert_string_equal(modules[5].first->path, "/x/hugified");
	dt_maps_release(&maps);
}

static void test_modules_of_nothing(void **state)
{
	struct dt_find_module *modules;
	struct dt_maps maps;
	size_t count = 1;

	(void)state;
	assert_int_equal(dt_maps_parse("", 0, &maps), 0);
	assert_int_equal(dt_find_modules(&maps, &modules, &count), 0);
	assert_int_equal(count, 0);
	dt_maps_release(&maps);
}

static void test_names(void **state)
{
	(void)state;
	assert_true(dt_find_named_python("/usr/bin/python3.12"));
	assert_true(dt_find_named_python("python"));
	assert_true(dt_find_named_python("/x/libpython3.8.so.1.0"));
	assert_false(dt_find_named_python("/usr/lib/python3/thing"));
	assert_false(dt_find_named_python("/x/_a.cpython-311-x86_64-linux-gnu.so"));
	assert_false(dt_find_named_python(""));
}

/* ---- proof ---- */

#define RUNTIME     UINT64_C(0x555500000000)
#define INTERPRETER UINT64_C(0x7f1000000000)
#define SECOND      UINT64_C(0x7f1100000000)
#define THREAD      UINT64_C(0x7f2000000000)
#define SPACE       (1 << 20)

/* A runtime with two interpreters, of which the newer has no thread. */
struct world {
	const struct dt_layout *layout;
	uint8_t *runtime, *interpreter, *second, *thread;
	struct dt_mem *mem;
};

static void put64(uint8_t *at, uint64_t value)
{
	memcpy(at, &value, sizeof(value));
}

static void world_init(struct world *w)
{
	w->layout = dt_layout_for(3, 11);
	assert_non_null(w->layout);
	w->runtime = calloc(1, SPACE);
	w->interpreter = calloc(1, SPACE);
	w->second = calloc(1, SPACE);
	w->thread = calloc(1, SPACE);
	assert_true(w->runtime && w->interpreter && w->second && w->thread);
	put64(w->runtime + w->layout->runtime.interpreters_head, SECOND);
	put64(w->second + w->layout->interpreter.next, INTERPRETER);
	put64(w->interpreter + w->layout->interpreter.threads_head, THREAD);
	put64(w->interpreter + w->layout->interpreter.sysdict, 0x7f3000000000);
	put64(w->thread + w->layout->thread.interp, INTERPRETER);

	const struct dt_recorded_range ranges[] = {
	    {RUNTIME, w->runtime, SPACE},
	    {INTERPRETER, w->interpreter, SPACE},
	    {SECOND, w->second, SPACE},
	    {THREAD, w->thread, SPACE},
	};
	assert_int_equal(dt_mem_open_recorded(ranges, DT_COUNT(ranges), &w->mem), 0);
}

static void world_release(struct world *w)
{
	dt_mem_free(w->mem);
	free(w->runtime);
	free(w->interpreter);
	free(w->second);
	free(w->thread);
}

static int prove(struct world *w)
{
	struct dt_find_proof proof = {0};

	return dt_find_prove(w->mem, w->layout, RUNTIME, &proof);
}

static void test_proof_ready(void **state)
{
	struct dt_find_proof proof = {0};
	struct world w;

	(void)state;
	world_init(&w);
	assert_int_equal(dt_find_prove(w.mem, w.layout, RUNTIME, &proof), DT_VERDICT_READY);
	assert_int_equal(proof.interpreter, INTERPRETER);
	assert_int_equal(proof.sysdict, 0x7f3000000000);
	world_release(&w);
}

static void test_proof_starting_and_ending(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	put64(w.interpreter + w.layout->interpreter.threads_head, 0);
	assert_int_equal(prove(&w), DT_VERDICT_STARTING);
	put64(w.runtime + w.layout->runtime.finalizing, THREAD);
	assert_int_equal(prove(&w), DT_VERDICT_ENDING);
	put64(w.runtime + w.layout->runtime.interpreters_head, 0);
	assert_int_equal(prove(&w), DT_VERDICT_ENDING);
	put64(w.runtime + w.layout->runtime.finalizing, 0);
	assert_int_equal(prove(&w), DT_VERDICT_EMPTY);
	world_release(&w);
}

static void test_proof_refuses(void **state)
{
	struct dt_find_proof proof;
	struct world w;

	(void)state;
	world_init(&w);
	put64(w.thread + w.layout->thread.interp, SECOND); /* the thread of another interpreter */
	assert_int_equal(prove(&w), DT_VERDICT_NO);
	put64(w.interpreter + w.layout->interpreter.threads_head, THREAD + SPACE); /* nothing there */
	assert_int_equal(prove(&w), DT_VERDICT_NO);
	put64(w.interpreter + w.layout->interpreter.threads_head, THREAD + 1);
	assert_int_equal(prove(&w), DT_VERDICT_NO);
	put64(w.runtime + w.layout->runtime.interpreters_head, UINT64_MAX - 7);
	assert_int_equal(prove(&w), DT_VERDICT_NO);
	assert_int_equal(dt_find_prove(w.mem, w.layout, 0, &proof), DT_VERDICT_NO);
	assert_int_equal(dt_find_prove(w.mem, w.layout, UINT64_MAX & ~UINT64_C(7), &proof), DT_VERDICT_NO);
	world_release(&w);
}

/* A hostile list that leads back to itself ends. */
static void test_proof_of_a_loop_ends(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	put64(w.second + w.layout->interpreter.next, SECOND);
	assert_int_equal(prove(&w), DT_VERDICT_NO);
	assert_true(dt_mem_stats(w.mem).calls < 100);
	world_release(&w);
}

/* ---- one candidate ---- */

static void load_table(const char *name, uint8_t table[DT_DEBUG_OFFSETS_MAX])
{
	char path[512], line[256];
	size_t count = 0;
	FILE *file;

	snprintf(path, sizeof(path), DT_GOLDEN "/offsets/%s.hex", name);
	file = fopen(path, "re");
	assert_non_null(file);
	memset(table, 0, DT_DEBUG_OFFSETS_MAX);
	while (fgets(line, sizeof(line), file))
		count += hex_bytes(line, table + count, DT_DEBUG_OFFSETS_MAX - count);
	fclose(file);
}

/* A runtime that begins with this table, and has nothing else in it; returns the reason why it is not taken. */
static struct dt_error try_table(const char *name)
{
	static struct dt_python python;
	struct dt_find_candidate candidate = {.runtime = RUNTIME, .found_by = "section"};
	struct dt_finder f = {.python = &python};
	uint8_t *memory = calloc(1, SPACE);
	const struct dt_recorded_range range = {RUNTIME, memory, SPACE};
	struct dt_proc proc;

	assert_non_null(memory);
	load_table(name, memory);
	assert_int_equal(dt_proc_open(getpid(), &proc), 0);
	assert_int_equal(dt_mem_open_recorded(&range, 1, &f.mem), 0);
	f.place.proc = &proc;
	assert_int_equal(dt_find_try(&f, &candidate), DT_FIND_CONTINUE);
	dt_mem_free(f.mem);
	dt_proc_release(&proc);
	free(memory);
	return f.reason;
}

static void test_not_begun(void **state)
{
	struct dt_error reason;

	(void)state;
	reason = try_table("3.13");
	assert_int_equal(reason.code, DT_EAGAIN);
	assert_non_null(strstr(reason.message, "Python is not running at this moment"));
	assert_int_equal(try_table("3.15").code, DT_EAGAIN);
	assert_int_equal(try_table("3.14t").code, DT_EAGAIN);
}

/* ---- scan ---- */

struct hits {
	uint64_t address[8];
	bool cookie[8];
	size_t count, stop_at;
};

/* A mutex of glibc is larger on aarch64: what lies behind two of them is looked for in both places. */
static void fit_one(const struct dt_layout *table, uint32_t more, bool endless)
{
	uint8_t runtime[4096] = {0}, interpreter[4096] = {0};
	const struct dt_recorded_range ranges[] = {{RUNTIME, runtime, sizeof(runtime)},
						   {INTERPRETER, interpreter, sizeof(interpreter)}};
	bool known = table->runtime.auto_interpreter != DT_ABSENT;
	uint32_t moved = known && !endless && more == 16 ? more : 0;
	struct dt_layout layout = *table;
	struct dt_mem *mem;

	if (known) {
		put64(runtime + table->runtime.interpreters_head, INTERPRETER);
		put64(interpreter + table->interpreter.next, endless ? INTERPRETER : 0);
		put64(runtime + table->runtime.auto_interpreter + more, endless ? THREAD : INTERPRETER);
	}
	assert_int_equal(dt_mem_open_recorded(ranges, DT_COUNT(ranges), &mem), 0);
	dt_find_fit(mem, RUNTIME, &layout);
	dt_mem_free(mem);
	assert_int_equal(layout.gil.size, table->gil.size + moved);
	assert_int_equal(layout.gil.locked, table->gil.locked);
	assert_int_equal(layout.runtime.tstate_current, table->runtime.tstate_current + moved);
	assert_int_equal(layout.runtime.gil, table->runtime.gil);
}

static void test_fit(void **state)
{
	(void)state;
	for (const struct dt_layout *const *table = dt_layouts; *table; table++)
		for (uint32_t more = 0; more <= 24; more += 8) {
			fit_one(*table, more, false);
			fit_one(*table, more, true);
		}
}

static int note_hit(void *context, uint64_t address, bool cookie)
{
	struct hits *hits = context;

	assert_true(hits->count < DT_COUNT(hits->address));
	hits->address[hits->count] = address;
	hits->cookie[hits->count++] = cookie;
	return hits->count == hits->stop_at ? 7 : 0;
}

static int count_hit(void *context, uint64_t address, bool cookie)
{
	(void)address;
	(void)cookie;
	++*(size_t *)context;
	return 0;
}

static void test_scan_block(void **state)
{
	struct hits hits = {0};
	uint8_t *block = calloc(1, 4096);

	(void)state;
	assert_non_null(block);
	memcpy(block + 64, DT_DEBUG_COOKIE, 8);
	memcpy(block + 204, DT_DEBUG_COOKIE, 8); /* not aligned */
	put64(block + 1024, 0x7f0000000010);     /* mutex, head, main, next_id */
	put64(block + 1032, INTERPRETER);
	put64(block + 1040, INTERPRETER);
	put64(block + 1048, 1);
	put64(block + 2048, 0x7f0000000010);
	put64(block + 2056, INTERPRETER);
	put64(block + 2064, INTERPRETER);
	put64(block + 2072, UINT64_MAX); /* no count of interpreters */
	assert_int_equal(dt_find_scan_block(block, 4096, 0x10000, note_hit, &hits), 0);
	assert_int_equal(hits.count, 2);
	assert_int_equal(hits.address[0], 0x10000 + 64);
	assert_true(hits.cookie[0]);
	assert_int_equal(hits.address[1], 0x10000 + 1032);
	assert_false(hits.cookie[1]);

	hits = (struct hits){.stop_at = 1};
	assert_int_equal(dt_find_scan_block(block, 4096, 0x10000, note_hit, &hits), 7);
	assert_int_equal(hits.count, 1);

	/* A heap full of pointers and small numbers does not make the scan endless. */
	uint64_t *words = calloc(1, 1 << 20);
	size_t tried = 0;

	assert_non_null(words);
	for (size_t i = 0; i < (1 << 20) / 8; i++)
		words[i] = i % 4 == 3 ? 1 : INTERPRETER + 8 * i;
	assert_int_equal(dt_find_scan_block((uint8_t *)words, 1 << 20, 0x10000, count_hit, &tried), 0);
	assert_true(tried > 0 && tried <= 1024);
	free(words);
	free(block);
}

/* Blocks overlap: a pattern that lies across the border of two is found once or twice, never missed. */
static void test_scan_across_blocks(void **state)
{
	const char *text = "10000000-10300000 rw-p 00000000 00:00 0 \n"
			   "20000000-20001000 rw-s 00000000 00:00 0 \n"
			   "30000000-30001000 r--p 00000000 00:00 0 \n";
	const size_t size = 0x300000, border = (1 << 20) - 16;
	uint8_t *memory = calloc(1, size), *closed = calloc(1, 4096);
	struct hits hits = {0};
	struct dt_maps maps;
	struct dt_mem *mem;

	(void)state;
	assert_true(memory && closed);
	put64(memory + border, 0x7f0000000010);
	put64(memory + border + 8, INTERPRETER);
	put64(memory + border + 16, INTERPRETER);
	put64(memory + border + 24, 2);
	memcpy(closed, DT_DEBUG_COOKIE, 8);

	const struct dt_recorded_range ranges[] = {
	    {0x10000000, memory, size}, {0x20000000, closed, 4096}, {0x30000000, closed, 4096}};
	assert_int_equal(dt_mem_open_recorded(ranges, DT_COUNT(ranges), &mem), 0);
	assert_int_equal(dt_maps_parse(text, strlen(text), &maps), 0);
	assert_int_equal(dt_find_scan(mem, &maps, note_hit, &hits), 0);
	assert_int_equal(hits.count, 1);
	assert_int_equal(hits.address[0], 0x10000000 + border + 8);
	dt_maps_release(&maps);
	dt_mem_free(mem);
	free(memory);
	free(closed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_version_text),
	    cmocka_unit_test(test_version_from_hex),
	    cmocka_unit_test(test_version_in_name),
	    cmocka_unit_test(test_version_in_bytes),
	    cmocka_unit_test(test_modules),
	    cmocka_unit_test(test_modules_of_nothing),
	    cmocka_unit_test(test_names),
	    cmocka_unit_test(test_proof_ready),
	    cmocka_unit_test(test_proof_starting_and_ending),
	    cmocka_unit_test(test_proof_refuses),
	    cmocka_unit_test(test_proof_of_a_loop_ends),
	    cmocka_unit_test(test_not_begun),
	    cmocka_unit_test(test_fit),
	    cmocka_unit_test(test_scan_block),
	    cmocka_unit_test(test_scan_across_blocks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
