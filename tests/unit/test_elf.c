/* ELF: this program's own file, its libraries in memory, a library made by hand, and damaged ones. */
#include "unit.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/util.h"
#include "elf/elf.h"
#include "proc/proc.h"

int test_elf_shared_object = 7;
static volatile int file_local = 8;

/* The bias of this program, from the mapping that holds one of its functions. */
static uint64_t own_bias(struct dt_elf *elf)
{
	uint64_t address = (uint64_t)(uintptr_t)own_bias, bias;
	const struct dt_map *map;
	struct dt_maps maps;
	struct dt_proc proc;

	assert_int_equal(dt_proc_open(getpid(), &proc), 0);
	assert_int_equal(dt_maps_read(&proc, &maps), 0);
	map = dt_maps_at(&maps, address);
	assert_non_null(map);
	assert_int_equal(dt_elf_bias(elf, map->start, map->offset, &bias), 0);
	dt_maps_release(&maps);
	dt_proc_release(&proc);
	return bias;
}

static void own_symbols_are_found(void **state)
{
	static const char *const names[] = {"test_elf_shared_object", "no_such_symbol", "file_local", "main"};
	struct dt_elf_range found[4], section, writable[8];
	uint64_t bias, shared = (uint64_t)(uintptr_t)&test_elf_shared_object;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), value;
	struct dt_elf *elf;
	size_t count, inside = 0;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(dt_elf_open(fd, &elf), 0);
	assert_true(dt_elf_type(elf) == ET_DYN || dt_elf_type(elf) == ET_EXEC);
	bias = own_bias(elf);
	assert_int_equal(dt_elf_symbols(elf, names, 4, found), 3);
	assert_int_equal(found[0].address + bias, shared);
	assert_int_equal(found[0].size, sizeof(int));
	assert_int_equal(found[1].address, 0);
	assert_int_equal(found[1].size, 0);
	assert_int_equal(found[2].address + bias, (uint64_t)(uintptr_t)&file_local);
	assert_int_equal(pread(fd, &value, sizeof(value), (off_t)found[0].offset), sizeof(value));
	assert_int_equal(value, 7);
	value = 0;
	assert_int_equal(dt_elf_content(elf, found[0].address, &value, sizeof(value)), 0);
	assert_int_equal(value, 7);
	assert_int_equal(dt_elf_content(elf, UINT64_MAX - 3, &value, sizeof(value)), -ENOENT);
	assert_int_equal(dt_elf_section(elf, ".data", &section), 0);
	assert_true(found[0].address >= section.address && found[0].address < section.address + section.size);
	assert_int_equal(found[0].address - section.address, found[0].offset - section.offset);
	assert_int_equal(dt_elf_section(elf, ".no.such.section", &section), -ENOENT);
	count = dt_elf_writable(elf, writable, DT_COUNT(writable));
	for (size_t i = 0; i < count; i++)
		inside += found[0].address >= writable[i].address &&
			  found[0].address - writable[i].address < writable[i].size;
	assert_int_equal(inside, 1);
	assert_int_equal(dt_elf_writable(elf, writable, 0), 0);
	dt_elf_free(elf);
	dt_elf_free(NULL);
	close(fd);
}

/* ---- the C library of this process, read as an image ---- */

struct memory {
	int fd;
	uint64_t base;
};

static ssize_t read_memory(void *context, uint64_t offset, void *buffer, size_t size)
{
	const struct memory *memory = context;
	ssize_t got = pread(memory->fd, buffer, size, (off_t)(memory->base + offset));

	return got < 0 ? -errno : got;
}

static int find_libc(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)size;
	if (!strstr(info->dlpi_name, "libc.so"))
		return 0;
	*(uint64_t *)context = info->dlpi_addr;
	return 1;
}

static void a_library_in_memory_is_searched(void **state)
{
	static const char *const names[] = {"malloc_usable_size", "no_such_symbol", "environ"};
	struct memory memory = {.fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC)};
	struct dt_elf_range found[3], in_file[3];
	uint8_t id[64], id_file[64];
	struct dt_elf *elf, *file;
	struct dt_maps maps;
	struct dt_proc proc;
	size_t length;
	uint64_t bias;
	int fd;

	(void)state;
	assert_true(memory.fd >= 0);
	if (!dl_iterate_phdr(find_libc, &memory.base))
		skip(); /* linked statically */
	assert_int_equal(dt_elf_open_image_at(read_memory, &memory, memory.base, &elf), 0);
	assert_int_equal(dt_elf_symbols(elf, names, 3, found), 2);
	assert_int_equal(found[1].address, 0);
	assert_int_equal(dt_elf_section(elf, ".text", &found[1]), -ENOENT);
	/* The file of the same library agrees. */
	assert_int_equal(dt_proc_open(getpid(), &proc), 0);
	assert_int_equal(dt_maps_read(&proc, &maps), 0);
	assert_non_null(dt_maps_at(&maps, memory.base));
	fd = dt_maps_open_file(&proc, dt_maps_at(&maps, memory.base));
	assert_true(fd >= 0);
	assert_int_equal(dt_elf_open(fd, &file), 0);
	assert_int_equal(dt_elf_bias(file, memory.base, 0, &bias), 0);
	assert_int_equal(bias, memory.base);
	assert_int_equal(dt_elf_dynamic_symbols(file, names, 3, in_file), 2);
	assert_int_equal(found[0].address, in_file[0].address);
	assert_int_equal(found[2].address, in_file[2].address);
	length = dt_elf_build_id(elf, id);
	assert_int_equal(length, dt_elf_build_id(file, id_file));
	assert_memory_equal(id, id_file, length);
	dt_elf_free(file);
	dt_elf_free(elf);
	dt_maps_release(&maps);
	dt_proc_release(&proc);
	close(fd);
	close(memory.fd);
}

/* ---- a library made by hand ---- */

#define BASE 0x7f1234560000

struct tiny {
	Elf64_Ehdr header;
	Elf64_Phdr segments[3];
	Elf64_Dyn dynamic[6];
	Elf64_Sym symbols[4];
	char strings[32];
	uint32_t hash[2];
	struct {
		uint32_t buckets, first, words, shift;
		uint64_t bloom;
		uint32_t bucket, chain[3];
	} gnu;
	struct {
		uint32_t name_size, size, type;
		char name[4];
		uint8_t id[20];
	} note;
};

static uint32_t gnu_hash(const char *name)
{
	uint32_t hash = 5381;

	while (*name)
		hash = hash * 33 + (unsigned char)*name++;
	return hash;
}

static Elf64_Sym symbol(uint32_t name, uint64_t value)
{
	return (Elf64_Sym){.st_name = name,
			   .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
			   .st_shndx = 1,
			   .st_value = value,
			   .st_size = 8};
}

/* "one" at 0x2000, "two" undefined, "three" at 0x3000; addresses of tables are relocated by `moved`. */
static struct tiny make_tiny(bool gnu, uint64_t moved)
{
	struct tiny t = {
	    .header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		       .e_type = ET_DYN,
		       .e_machine = EM_X86_64,
		       .e_phoff = offsetof(struct tiny, segments),
		       .e_phentsize = sizeof(Elf64_Phdr),
		       .e_phnum = 3},
	    .segments = {{.p_type = PT_LOAD, .p_filesz = sizeof(t), .p_memsz = sizeof(t)},
			 {.p_type = PT_DYNAMIC,
			  .p_offset = offsetof(struct tiny, dynamic),
			  .p_vaddr = offsetof(struct tiny, dynamic),
			  .p_filesz = sizeof(t.dynamic),
			  .p_memsz = sizeof(t.dynamic)},
			 {.p_type = PT_NOTE,
			  .p_offset = offsetof(struct tiny, note),
			  .p_vaddr = offsetof(struct tiny, note),
			  .p_filesz = sizeof(t.note),
			  .p_memsz = sizeof(t.note),
			  .p_align = 4}},
	    .dynamic = {{DT_SYMTAB, {offsetof(struct tiny, symbols) + moved}},
			{DT_STRTAB, {offsetof(struct tiny, strings) + moved}},
			{DT_STRSZ, {sizeof(t.strings)}},
			{gnu ? DT_GNU_HASH : DT_HASH,
			 {(gnu ? offsetof(struct tiny, gnu) : offsetof(struct tiny, hash)) + moved}},
			{DT_NULL, {0}}},
	    .symbols = {{0}, symbol(1, 0x2000), symbol(5, 0), symbol(9, 0x3000)},
	    .strings = "\0one\0two\0three",
	    .hash = {1, 4},
	    .gnu = {1, 1, 1, 6, UINT64_MAX, 1, {gnu_hash("one") & ~1u, gnu_hash("two") & ~1u, gnu_hash("three") | 1}},
	    .note = {4, 20, NT_GNU_BUILD_ID, "GNU", {1, 2, 3, 4, 5}},
	};

	t.symbols[2].st_shndx = SHN_UNDEF;
	return t;
}

static ssize_t read_tiny(void *context, uint64_t offset, void *buffer, size_t size)
{
	if (offset >= sizeof(struct tiny))
		return -EFAULT;
	size = DT_MIN(size, sizeof(struct tiny) - offset);
	memcpy(buffer, (char *)context + offset, size);
	return (ssize_t)size;
}

static int search(struct dt_elf *elf, struct dt_elf_range found[4])
{
	static const char *const names[] = {"one", "two", "three", "hree"};
	int rc = dt_elf_symbols(elf, names, 4, found);

	dt_elf_free(elf);
	return rc;
}

static void every_shape_of_dynamic_symbols_is_read(void **state)
{
	(void)state;
	for (int shape = 0; shape < 4; shape++) {
		struct tiny tiny = make_tiny(shape & 1, shape & 2 ? BASE : 0);
		struct dt_elf_range found[4];
		struct dt_elf *elf;
		uint8_t id[64];

		assert_int_equal(dt_elf_open_image_at(read_tiny, &tiny, BASE, &elf), 0);
		assert_int_equal(dt_elf_machine(elf), EM_X86_64);
		assert_int_equal(dt_elf_build_id(elf, id), 20);
		assert_memory_equal(id, tiny.note.id, 20);
		assert_int_equal(search(elf, found), 2);
		assert_int_equal(found[0].address, 0x2000);
		assert_int_equal(found[0].size, 8);
		assert_int_equal(found[1].address, 0);
		assert_int_equal(found[2].address, 0x3000);
		assert_int_equal(found[3].address, 0);
		assert_int_equal(dt_elf_open_image(read_tiny, &tiny, &elf), 0);
		assert_int_equal(search(elf, found), shape & 2 ? 0 : 2);
	}
}

/* ---- damage ---- */

static void other_files_are_refused(void **state)
{
	struct tiny tiny;
	struct dt_elf *elf;
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(dt_elf_open(fd, &elf), -ENOEXEC);
	close(fd);
	assert_int_equal(dt_elf_open(-1, &elf), -EBADF);
	for (int change = 0; change < 5; change++) {
		tiny = make_tiny(true, 0);
		switch (change) {
		case 0:
			tiny.header.e_ident[0] = 0;
			break;
		case 1:
			tiny.header.e_ident[EI_CLASS] = ELFCLASS32;
			break;
		case 2:
			tiny.header.e_ident[EI_DATA] = ELFDATA2MSB;
			break;
		case 3:
			tiny.header.e_phentsize = 1;
			break;
		case 4:
			tiny.segments[0].p_vaddr = UINT64_MAX;
			break;
		}
		assert_int_equal(dt_elf_open_image(read_tiny, &tiny, &elf), -ENOEXEC);
	}
}

/* Asks everything there is to ask; ASan and the fuzz targets look for what happens behind this. */
static void ask_all(struct dt_elf *elf)
{
	struct dt_elf_range found[4], ranges[4];
	uint8_t id[64];
	uint64_t bias;

	dt_elf_section(elf, ".PyRuntime", ranges);
	dt_elf_bias(elf, 0x1000, 0x1000, &bias);
	assert_in_range(dt_elf_writable(elf, ranges, 4), 0, 4);
	assert_in_range(dt_elf_build_id(elf, id), 0, 64);
	assert_true(search(elf, found) <= 4);
}

static void damage_is_survived(void **state)
{
	uint32_t random = 12345;
	unsigned opened = 0;

	(void)state;
	for (unsigned round = 0; round < 20000; round++) {
		struct tiny tiny = make_tiny(round & 1, round & 2 ? BASE : 0);
		struct dt_elf *elf;
		int rc;

		for (int i = 0; i < 3; i++) {
			random = random * 1664525 + 1013904223;
			/* Behind the identification, so that most are opened. */
			((uint8_t *)&tiny)[16 + (random >> 8) % (sizeof(tiny) - 16)] = (uint8_t)(random >> 3);
		}
		rc = dt_elf_open_image_at(read_tiny, &tiny, BASE, &elf);
		assert_true(rc == 0 || rc == -ENOEXEC || rc == -EFAULT);
		if (rc == 0) {
			ask_all(elf);
			opened++;
		}
	}
	assert_true(opened > 1000);
}

static void a_file_cut_short_is_survived(void **state)
{
	static uint8_t data[1 << 20];
	int exe = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), fd = memfd_create("cut", MFD_CLOEXEC);
	ssize_t size = read(exe, data, sizeof(data));
	struct dt_elf *elf;

	(void)state;
	assert_true(size > 4096);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, (size_t)size), size);
	for (off_t length = size; length > 0; length -= length > 8192 ? 1999 : 61) {
		assert_int_equal(ftruncate(fd, length), 0);
		if (dt_elf_open(fd, &elf) == 0)
			ask_all(elf);
		else
			assert_true(length < 4096);
	}
	close(fd);
	close(exe);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(own_symbols_are_found),
	    cmocka_unit_test(a_library_in_memory_is_searched),
	    cmocka_unit_test(every_shape_of_dynamic_symbols_is_read),
	    cmocka_unit_test(other_files_are_refused),
	    cmocka_unit_test(damage_is_survived),
	    cmocka_unit_test(a_file_cut_short_is_survived),
	};

	return cmocka_run_group_tests_name("elf", tests, NULL, NULL);
}
