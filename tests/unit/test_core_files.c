/* The files that a core says were mapped: what lies where, and that nothing is read from a file that is another one. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/util.h"
#include "core_opened.h"

#define ALL_KINDS (DT_CORE_ABSENT | DT_CORE_REPLACED | DT_CORE_UNSURE)

/* The list of mapped files: offsets in pages of 4096. */
static size_t put_files(uint8_t *note, const uint64_t (*rows)[3], size_t count, const char *paths, size_t paths_size)
{
	const uint64_t head[] = {count, 4096};

	memcpy(note, head, sizeof(head));
	memcpy(note + 16, rows, count * 24);
	memcpy(note + 16 + count * 24, paths, paths_size);
	return 16 + count * 24 + paths_size;
}

static void maps_are_put_together(void **state)
{
	static const uint64_t rows[][3] = {
	    {0x10000, 0x12000, 0}, {0x12000, 0x13000, 2}, {0x15000, 0x17000, 0}, {0x16000, 0x18000, 0}};
	static const char paths[] = "/a\0/a\0/b\0/c";
	struct core_file_maker m;
	struct dt_core *core;
	struct dt_maps *maps;
	uint8_t note[512];

	(void)state;
	core_file_begin(&m);
	core_file_note(&m, NT_FILE, note, put_files(note, rows, DT_COUNT(rows), paths, sizeof(paths)));
	core_file_load(&m, 0x20000, 0x1000, 0x5000, 0x1000, PF_R | PF_W);
	core_file_load(&m, 0x10000, 0x2000, 0x4000, 0x1000, PF_R);
	core_file_load(&m, 0x11000, 0x4000, 0x4000, 0x4000, PF_R | PF_W); /* overlaps */
	core_file_write(&m, 0x6000);
	core = opened(&m);
	maps = dt_core_maps(core);
	assert_int_equal(maps->count, 4);
	assert_int_equal(maps->maps[0].start, 0x10000);
	assert_string_equal(maps->maps[0].path, "/a");
	assert_false(maps->maps[0].write);
	assert_int_equal(maps->maps[1].start, 0x12000); /* no segment: left out by whoever wrote it */
	assert_int_equal(maps->maps[1].offset, 0x2000);
	assert_int_equal(maps->maps[1].inode, maps->maps[0].inode);
	assert_int_equal(maps->maps[2].start, 0x15000);
	assert_string_equal(maps->maps[2].path, "/b");
	assert_int_not_equal(maps->maps[2].inode, maps->maps[0].inode);
	assert_int_equal(maps->maps[3].start, 0x20000);
	assert_string_equal(maps->maps[3].path, "");
	assert_int_equal(byte_at(core, 0x10000), 4);
	missing_at(core, 0x11000); /* from /a, which is not there */
	missing_at(core, 0x12000);
	assert_int_equal(byte_at(core, 0x20000), 5);
	assert_int_equal(dt_core_open_mapped(core, &maps->maps[0]), -ENOENT);
	dt_core_free(core);
}

/* A program of this host that was mapped: its pages come from the file, if it is the one. */
static void files_are_compared(bool same)
{
	static const char program[] = "/proc/self/exe";
	char path[256] = {0};
	uint8_t page[4096], note[512], byte;
	uint64_t rows[][3] = {{0x10000, 0x12000, 0}};
	int fd = open(program, O_RDONLY | O_CLOEXEC), core_fd;
	struct dt_core_asked asked = {.library = "", .kinds = ALL_KINDS};
	const char *complaints[2];
	struct dt_core *core;
	struct core_file_maker m;
	struct dt_arena arena;

	assert_true(fd >= 0 && readlink(program, path, sizeof(path) - 1) > 0);
	assert_int_equal(pread(fd, page, sizeof(page), 0), sizeof(page));
	assert_int_equal(pread(fd, &byte, 1, 0x1000), 1);
	close(fd);
	core_file_begin(&m);
	core_file_note(&m, NT_FILE, note, put_files(note, rows, 1, path, strlen(path) + 1));
	core_file_load(&m, 0x10000, 0x2000, 0x4000, 0x1000, PF_R);
	core_file_write(&m, 0x5000);
	if (!same) /* the build id and all that follows */
		memset(page + 0x200, 0xa5, sizeof(page) - 0x200);
	core_fd = open(m.path, O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(core_fd, page, sizeof(page), 0x4000), sizeof(page));
	close(core_fd);
	core = opened(&m);
	dt_arena_init(&arena, 0);
	if (same) {
		assert_int_equal(byte_at(core, 0x11000), byte);
		assert_int_equal(dt_core_complaints(core, &asked, &arena, complaints, 2), 0);
	} else {
		missing_at(core, 0x11000);
		assert_int_equal(dt_core_complaints(core, &asked, &arena, complaints, 2), 1);
		assert_non_null(strstr(complaints[0], "is not the file that the process had"));
		asked.kinds = DT_CORE_ABSENT | DT_CORE_UNSURE;
		assert_int_equal(dt_core_complaints(core, &asked, &arena, complaints, 2), 0);
		assert_int_equal(dt_core_open_mapped(core, &dt_core_maps(core)->maps[0]), -ESTALE);
	}
	assert_string_equal(dt_core_info(core)->program, path);
	dt_arena_release(&arena);
	dt_core_free(core);
}

static void the_file_that_was_mapped_is_read(void **state)
{
	(void)state;
	files_are_compared(true);
}

static void another_file_is_not_read(void **state)
{
	(void)state;
	files_are_compared(false);
}

/* It has no build id, and the loader has written into its first page (a dynamic section that patchelf has put there).
 */
static void headers_do_where_the_page_was_written(void **state)
{
	char path[256] = {0};
	uint8_t page[4096], note[512];
	uint64_t rows[][3] = {{0x10000, 0x11000, 0}};
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	Elf64_Ehdr head;
	size_t end;

	(void)state;
	assert_true(fd >= 0 && readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	assert_int_equal(pread(fd, page, sizeof(page), 0), sizeof(page));
	close(fd);
	memcpy(&head, page, sizeof(head));
	end = sizeof(head) + head.e_phnum * sizeof(Elf64_Phdr);
	memset(page + end, 0xa5, sizeof(page) - end);
	for (int changed = 0; changed < 2; changed++) {
		struct core_file_maker m;
		struct dt_core *core;

		core_file_begin(&m);
		core_file_note(&m, NT_FILE, note, put_files(note, rows, 1, path, strlen(path) + 1));
		core_file_load(&m, 0x10000, 0x1000, 0x4000, 0x1000, PF_R | PF_W);
		core_file_write(&m, 0x5000);
		page[end - 1] ^= (uint8_t)changed;
		fd = open(m.path, O_WRONLY | O_CLOEXEC);
		assert_int_equal(pwrite(fd, page, sizeof(page), 0x4000), sizeof(page));
		close(fd);
		core = opened(&m);
		fd = dt_core_open_mapped(core, &dt_core_maps(core)->maps[0]);
		if (changed)
			assert_int_equal(fd, -ESTALE);
		else
			assert_true(fd >= 0 && close(fd) == 0);
		dt_core_free(core);
	}
}

/* Where the list is missing the headers of the program tell, if it is given. */
static void the_program_is_mapped_without_a_list(void **state)
{
	const uint64_t where = 0x555500000000;
	struct core_file_maker m;
	Elf64_Ehdr header;
	struct dt_error err;
	struct dt_core *core;
	uint64_t auxv[4] = {AT_PHDR, 0};
	uint8_t page[4096], file[4096];
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(pread(fd, file, sizeof(file), 0), sizeof(file));
	memcpy(&header, file, sizeof(header));
	for (size_t i = 0; i < header.e_phnum; i++) {
		Elf64_Phdr segment;

		memcpy(&segment, file + header.e_phoff + i * sizeof(segment), sizeof(segment));
		if (segment.p_type == PT_PHDR)
			auxv[1] = where + segment.p_offset;
	}
	assert_true(auxv[1]);
	core_file_begin(&m);
	m.header.e_machine = header.e_machine;
	core_file_note(&m, NT_AUXV, auxv, sizeof(auxv));
	core_file_load(&m, where, 0x1000, 0x4000, 0, PF_R);
	core_file_write(&m, 0x4000);
	assert_int_equal(dt_core_open(m.path, NULL, "/proc/self/exe", NULL, &core, &err), 0);
	assert_string_equal(dt_core_info(core)->program, "/proc/self/exe");
	assert_int_equal(dt_mem_read(dt_core_memory(core), where, page, sizeof(page)), 0);
	assert_memory_equal(page, file, sizeof(page));
	assert_false(dt_core_info(core)->files_told);
	dt_core_free(core);
	/* Headers that do not lie so tell nothing. */
	unlink(m.path);
	core_file_begin(&m);
	m.header.e_machine = header.e_machine;
	auxv[1] += 8;
	core_file_note(&m, NT_AUXV, auxv, sizeof(auxv));
	core_file_load(&m, where, 0x1000, 0x4000, 0, PF_R);
	core_file_write(&m, 0x4000);
	assert_int_equal(dt_core_open(m.path, NULL, "/proc/self/exe", NULL, &core, &err), 0);
	missing_at(core, where);
	assert_true(dt_core_exe_in_doubt(core));
	dt_core_free(core);
	unlink(m.path);
	close(fd);
}

/* Of files that cannot be had, those that Python needs are told: below which root, and why. */
static void complaints_are_about_what_is_needed(void **state)
{
	static const uint64_t rows[][3] = {
	    {0x10000, 0x12000, 0}, {0x20000, 0x22000, 0}, {0x30000, 0x32000, 0}, {0x40000, 0x42000, 0}};
	static const char paths[] = "/bin/app\0/lib/ld.so\0/lib/libpython3.so\0/lib/data";
	char root[] = "/tmp/darter-root-XXXXXX", lib[64], fifo[64], data[64], given[64], expected[128];
	struct dt_core_asked asked = {.library = "", .kinds = ALL_KINDS};
	const char *texts[4];
	struct core_file_maker m;
	struct dt_arena arena;
	struct dt_error err;
	struct dt_core *core;
	uint8_t note[512];
	int fd;

	(void)state;
	assert_non_null(mkdtemp(root));
	snprintf(lib, sizeof(lib), "%s/lib", root);
	snprintf(fifo, sizeof(fifo), "%s/lib/libpython3.so", root);
	snprintf(data, sizeof(data), "%s/lib/data", root);
	snprintf(given, sizeof(given), "%s//", root);
	assert_true(mkdir(lib, 0700) == 0 && mkfifo(fifo, 0600) == 0);
	fd = open(data, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0 && close(fd) == 0);
	core_file_begin(&m);
	core_file_note(&m, NT_FILE, note, put_files(note, rows, DT_COUNT(rows), paths, sizeof(paths)));
	core_file_write(&m, 0x4000);
	assert_int_equal(dt_core_open(m.path, given, NULL, NULL, &core, &err), 0);
	dt_arena_init(&arena, 0);
	assert_int_equal(dt_core_complaints(core, &asked, &arena, texts, 4), 0); /* none was used */
	for (size_t i = 0; i < DT_COUNT(rows); i++)
		missing_at(core, rows[i][0]);
	assert_int_equal(dt_core_complaints(core, &asked, &arena, texts, 4), 2);
	snprintf(expected, sizeof(expected), "%s/bin/app cannot be read: No such file or directory", root);
	assert_string_equal(texts[0], expected);
	snprintf(expected, sizeof(expected), "%s cannot be read: it is no regular file", fifo);
	assert_string_equal(texts[1], expected);
	assert_int_equal(dt_core_complaints(core, &asked, &arena, texts, 1), 1);
	assert_string_equal(texts[0], "the same goes for 2 other files of the process");
	asked.others = true; /* what is no program at all is no reason */
	assert_int_equal(dt_core_complaints(core, &asked, &arena, texts, 4), 1);
	assert_non_null(strstr(texts[0], "/lib/ld.so cannot be read"));
	asked = (struct dt_core_asked){.library = "/lib/libpython3.so", .kinds = DT_CORE_ABSENT};
	assert_int_equal(dt_core_complaints(core, &asked, &arena, texts, 4), 1);
	assert_string_equal(texts[0], expected);
	asked.kinds = DT_CORE_REPLACED | DT_CORE_UNSURE;
	assert_int_equal(dt_core_complaints(core, &asked, &arena, texts, 4), 0);
	assert_false(dt_core_forbidden(core, ""));
	dt_arena_release(&arena);
	dt_core_free(core);
	unlink(m.path);
	unlink(fifo);
	unlink(data);
	rmdir(lib);
	rmdir(root);
}

static void a_name_of_a_special_file_is_not_opened(void **state)
{
	static const char *const paths[] = {"/dev/zero", "/dev/tty", "/proc/self/mem", "/etc/passwd", "relative", ""};

	(void)state;
	for (size_t i = 0; i < DT_COUNT(paths); i++) {
		const uint64_t rows[][3] = {{0x10000, 0x12000, 0}};
		struct core_file_maker m;
		struct dt_core *core;
		uint8_t note[512];

		core_file_begin(&m);
		core_file_note(&m, NT_FILE, note, put_files(note, rows, 1, paths[i], strlen(paths[i]) + 1));
		core_file_write(&m, 0x4000);
		core = opened(&m);
		missing_at(core, 0x10000);
		dt_core_free(core);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(maps_are_put_together),
	    cmocka_unit_test(the_file_that_was_mapped_is_read),
	    cmocka_unit_test(another_file_is_not_read),
	    cmocka_unit_test(headers_do_where_the_page_was_written),
	    cmocka_unit_test(the_program_is_mapped_without_a_list),
	    cmocka_unit_test(complaints_are_about_what_is_needed),
	    cmocka_unit_test(a_name_of_a_special_file_is_not_opened),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
