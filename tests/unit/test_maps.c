/* The memory map: its text, its order, and the files behind it. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"
#include "proc/proc.h"

static void parse(const char *text, struct dt_maps *maps)
{
	assert_int_equal(dt_maps_parse(text, strlen(text), maps), 0);
}

static void fields_are_read(void **state)
{
	struct dt_maps maps;
	const struct dt_map *map;

	(void)state;
	parse("55d0c8a00000-55d0c8a01000 r--p 00000000 fe:01 1234                       /usr/bin/python3.11\n"
	      "55d0c8a01000-55d0c8a05000 r-xp 00001000 fe:01 1234                       /usr/bin/python3.11\n"
	      "7f0000000000-7f0000001000 rw-s 00002000 00:05 99                         /dev/shm/a b c\n"
	      "7f0000001000-7f0000002000 ---p 00000000 00:00 0 \n"
	      "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n",
	      &maps);
	assert_int_equal(maps.count, 5);
	map = &maps.maps[1];
	assert_int_equal(map->start, 0x55d0c8a01000);
	assert_int_equal(map->end, 0x55d0c8a05000);
	assert_int_equal(map->offset, 0x1000);
	assert_int_equal(map->inode, 1234);
	assert_int_equal(map->dev_major, 0xfe);
	assert_int_equal(map->dev_minor, 1);
	assert_true(map->read && map->exec && !map->write && !map->shared && !map->deleted);
	assert_string_equal(map->path, "/usr/bin/python3.11");
	assert_ptr_equal(map->path, maps.maps[0].path);
	assert_true(maps.maps[2].shared && maps.maps[2].write);
	assert_string_equal(maps.maps[2].path, "/dev/shm/a b c");
	assert_string_equal(maps.maps[3].path, "");
	assert_false(maps.maps[3].read);
	assert_string_equal(maps.maps[4].path, "[vsyscall]");
	assert_int_equal(maps.maps[4].end, 0xffffffffff601000);
	dt_maps_release(&maps);
	dt_maps_release(&maps);
}

static void odd_names_are_restored(void **state)
{
	struct dt_maps maps;

	(void)state;
	parse("1000-2000 r--p 00000000 fe:01 1 /a\\012b\\012\n"
	      "2000-3000 r--p 00000000 fe:01 2 /lib/x.so (deleted)\n"
	      "3000-4000 r--p 00000000 fe:01 2 /lib/x.so (deleted)\n"
	      "4000-5000 r--p 00000000 fe:01 3 /lib/x.so\n"
	      "5000-6000 rw-p 00000000 00:00 0 [anon: (deleted)]\n"
	      "6000-7000 r--p 00000000 fe:01 4 /back\\slash\\01",
	      &maps);
	assert_int_equal(maps.count, 6);
	assert_string_equal(maps.maps[0].path, "/a\nb\n");
	assert_string_equal(maps.maps[1].path, "/lib/x.so");
	assert_true(maps.maps[1].deleted && maps.maps[2].deleted);
	assert_string_equal(maps.maps[3].path, "/lib/x.so");
	assert_false(maps.maps[3].deleted);
	assert_string_equal(maps.maps[4].path, "[anon: (deleted)]");
	assert_string_equal(maps.maps[5].path, "/back\\slash\\01");
	dt_maps_release(&maps);
}

static void lines_without_sense_are_skipped(void **state)
{
	struct dt_maps maps;

	(void)state;
	parse("\n"
	      "nonsense\n"
	      "2000-1000 r--p 00000000 fe:01 1 /backwards\n"
	      "1000-1000 r--p 00000000 fe:01 1 /empty\n"
	      "1000-2000 r--p 00000000 fe:01 1 /good\n"
	      "1800-3000 r--p 00000000 fe:01 1 /overlap\n"
	      "10000000000000000-20000000000000000 r--p 00000000 fe:01 1 /wide\n"
	      "3000-4000 r--p 00000000 fe:01 99999999999999999999 /inode\n"
	      "3000-4000 r--p 00000000 fe:01\n"
	      "3000-4000 r-\n"
	      "4000-5000 r--p 00000000 100000000:01 1 /device\n",
	      &maps);
	assert_int_equal(maps.count, 1);
	assert_string_equal(maps.maps[0].path, "/good");
	dt_maps_release(&maps);
	parse("", &maps);
	assert_int_equal(maps.count, 0);
	assert_null(dt_maps_at(&maps, 0));
	dt_maps_release(&maps);
}

static void an_address_finds_its_mapping(void **state)
{
	struct dt_buf text = DT_BUF_INIT;
	struct dt_maps maps;

	(void)state;
	for (unsigned i = 1; i <= 5000; i++)
		dt_buf_printf(&text, "%x000-%x800 rw-p 00000000 00:00 0 \n", i, i);
	parse(text.data, &maps);
	assert_int_equal(maps.count, 5000);
	for (unsigned i = 1; i <= 5000; i++) {
		assert_ptr_equal(dt_maps_at(&maps, (uint64_t)i << 12), &maps.maps[i - 1]);
		assert_ptr_equal(dt_maps_at(&maps, ((uint64_t)i << 12) + 0x7ff), &maps.maps[i - 1]);
		assert_null(dt_maps_at(&maps, ((uint64_t)i << 12) + 0x800));
	}
	assert_null(dt_maps_at(&maps, 0xfff));
	assert_null(dt_maps_at(&maps, UINT64_MAX));
	dt_maps_release(&maps);
	dt_buf_release(&text);
}

static void own_code_is_in_the_own_map(void **state)
{
	struct stat file, exe;
	struct dt_proc proc;
	struct dt_maps maps;
	const struct dt_map *map;
	int fd;

	(void)state;
	assert_int_equal(dt_proc_open(getpid(), &proc), 0);
	assert_int_equal(dt_maps_read(&proc, &maps), 0);
	map = dt_maps_at(&maps, (uint64_t)(uintptr_t)own_code_is_in_the_own_map);
	assert_non_null(map);
	assert_true(map->read && map->exec);
	fd = dt_maps_open_file(&proc, map);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &file), 0);
	assert_int_equal(stat("/proc/self/exe", &exe), 0);
	assert_int_equal(file.st_ino, exe.st_ino);
	close(fd);
	map = dt_maps_at(&maps, (uint64_t)(uintptr_t)&fd);
	assert_non_null(map);
	assert_int_equal(dt_maps_open_file(&proc, map), -ENOENT);
	dt_maps_release(&maps);
	dt_proc_release(&proc);
}

/* Maps the file at path, and asks for it by the own memory map after `change` was done to the name. */
static int open_after(const char *path, void (*change)(const char *path), uint64_t *inode)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	struct dt_proc proc;
	struct dt_maps maps;
	struct stat st;
	void *at;

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 4096), 0);
	assert_int_equal(fstat(fd, &st), 0);
	*inode = st.st_ino;
	at = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(at, MAP_FAILED);
	close(fd);
	change(path);
	assert_int_equal(dt_proc_open(getpid(), &proc), 0);
	assert_int_equal(dt_maps_read(&proc, &maps), 0);
	assert_non_null(dt_maps_at(&maps, (uint64_t)(uintptr_t)at));
	fd = dt_maps_open_file(&proc, dt_maps_at(&maps, (uint64_t)(uintptr_t)at));
	munmap(at, 4096);
	dt_maps_release(&maps);
	dt_proc_release(&proc);
	return fd;
}

static void leave(const char *path)
{
	(void)path;
}

/* Another file takes the name: it must never be mistaken for the mapped one. */
static void replace(const char *path)
{
	char other[256];
	int fd;

	snprintf(other, sizeof(other), "%s.new", path);
	fd = open(other, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(rename(other, path), 0);
}

static void replace_by_fifo(const char *path)
{
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
}

static void only_the_mapped_file_is_opened(void **state)
{
	static const struct {
		const char *name;
		void (*change)(const char *path);
		bool there;
	} cases[] = {
	    {"plain", leave, true},       {"two\nlines", leave, true},      {"not really (deleted)", leave, true},
	    {"replaced", replace, false}, {"fifo", replace_by_fifo, false},
	};
	char dir[] = "/tmp/darter-maps-XXXXXX", path[128];

	(void)state;
	assert_non_null(mkdtemp(dir));
	for (size_t i = 0; i < DT_COUNT(cases); i++) {
		struct stat st;
		uint64_t inode;
		int fd;

		snprintf(path, sizeof(path), "%s/%s", dir, cases[i].name);
		fd = open_after(path, cases[i].change, &inode);
		/* With enough privilege the file is found without its name, else not at all. */
		if (fd >= 0) {
			assert_int_equal(fstat(fd, &st), 0);
			assert_int_equal(st.st_ino, inode);
			close(fd);
		} else {
			assert_false(cases[i].there);
			assert_int_equal(fd, -ENOENT);
		}
		unlink(path);
	}
	rmdir(dir);
}

/* The kernel may be too old to be asked; then it is always no. */
static bool kernel_tells(const struct dt_proc *proc, const struct dt_map *lowest)
{
	return dt_maps_has(proc, lowest, 1);
}

static bool differs(const struct dt_proc *proc, const struct dt_map *lowest, const struct dt_map *other)
{
	const struct dt_map list[] = {*lowest, *other};

	return !dt_maps_has(proc, list, 2);
}

static void single_mappings_are_asked_for(void **state)
{
	uint64_t address = (uint64_t)(uintptr_t)single_mappings_are_asked_for;
	const struct dt_map *code;
	struct dt_map other;
	struct dt_proc proc;
	struct dt_maps maps;

	(void)state;
	assert_int_equal(dt_proc_open(getpid(), &proc), 0);
	assert_int_equal(dt_maps_read(&proc, &maps), 0);
	code = dt_maps_at(&maps, address);
	assert_non_null(code);
	if (!kernel_tells(&proc, maps.maps)) {
		dt_maps_release(&maps);
		dt_proc_release(&proc);
		skip();
	}
	assert_false(differs(&proc, maps.maps, code));
	assert_false(dt_maps_has(&proc, code, 1)); /* it is not the lowest */
#define CHANGED(field, value) (other = *code, other.field = (value), differs(&proc, maps.maps, &other))
	assert_true(CHANGED(start, code->start + 4096));
	assert_true(CHANGED(end, code->end + 4096));
	assert_true(CHANGED(offset, code->offset + 4096));
	assert_true(CHANGED(inode, code->inode + 1));
	assert_true(CHANGED(dev_major, code->dev_major + 1));
	assert_true(CHANGED(dev_minor, code->dev_minor + 1));
	assert_true(CHANGED(read, !code->read));
	assert_true(CHANGED(write, !code->write));
	assert_true(CHANGED(exec, !code->exec));
	assert_true(CHANGED(shared, !code->shared));
	assert_true(CHANGED(deleted, true));
	assert_true(CHANGED(path, "/another"));
	assert_true(CHANGED(path, ""));
#undef CHANGED
	dt_maps_release(&maps);
	dt_proc_release(&proc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(fields_are_read),
	    cmocka_unit_test(odd_names_are_restored),
	    cmocka_unit_test(lines_without_sense_are_skipped),
	    cmocka_unit_test(an_address_finds_its_mapping),
	    cmocka_unit_test(own_code_is_in_the_own_map),
	    cmocka_unit_test(only_the_mapped_file_is_opened),
	    cmocka_unit_test(single_mappings_are_asked_for),
	};

	return cmocka_run_group_tests_name("maps", tests, NULL, NULL);
}
