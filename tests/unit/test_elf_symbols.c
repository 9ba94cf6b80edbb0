/* All symbols of this program and of its C library, in the file and in memory; what .gnu_debuglink says. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/util.h"
#include "elf/elf.h"

#include "../elf_file.h"

static int open_bytes(struct dt_buf *bytes)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes->data, bytes->length, 0), bytes->length);
	dt_buf_release(bytes);
	return fd;
}

static struct dt_elf *open_file(struct elf_file *file, int *fd)
{
	struct dt_buf bytes = elf_file_end(file);
	struct dt_elf *elf;

	*fd = open_bytes(&bytes);
	assert_int_equal(dt_elf_open(*fd, &elf), 0);
	return elf;
}

struct seen {
	const char *name;
	struct dt_elf_symbol symbol;
	size_t count, sum;
	int stop;
};

static int look(void *context, const struct dt_elf_symbol *symbol)
{
	struct seen *seen = context;

	seen->count++;
	seen->sum += symbol->address * 31 + symbol->size + symbol->type + strlen(symbol->name);
	if (seen->name && !strcmp(symbol->name, seen->name))
		seen->symbol = *symbol;
	return seen->stop;
}

static void own_functions_are_shown(void **state)
{
	dt_auto_close int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct seen seen = {.name = "own_functions_are_shown"}, stopped = {.stop = 7};
	struct dt_elf_range text;
	struct dt_elf *elf;

	(void)state;
	assert_int_equal(dt_elf_open(fd, &elf), 0);
	assert_int_equal(dt_elf_section(elf, ".text", &text), 0);
	assert_int_equal(dt_elf_every_symbol(elf, DT_ELF_SYMTAB, look, &seen), 0);
	assert_true(seen.count > 20);
	assert_int_equal(seen.symbol.type, STT_FUNC);
	assert_int_equal(seen.symbol.binding, STB_LOCAL);
	assert_true(seen.symbol.code && seen.symbol.size > 20);
	assert_int_equal(seen.symbol.end, text.address + text.size);
	assert_int_equal((seen.symbol.address ^ (uintptr_t)own_functions_are_shown) & 0xfff, 0);
	assert_int_equal(dt_elf_every_symbol(elf, DT_ELF_SYMTAB, look, &stopped), 7);
	assert_int_equal(stopped.count, 1);
	dt_elf_free(elf);
}

static ssize_t read_memory(void *context, uint64_t offset, void *buffer, size_t size)
{
	memcpy(buffer, *(const char **)context + offset, size);
	return (ssize_t)size;
}

static int find_libc(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)size;
	if (!strstr(info->dlpi_name, "libc.so"))
		return 0;
	*(struct dl_phdr_info *)context = *info;
	return 1;
}

/* In memory there are no sections: how many symbols there are the hash table tells. */
static void memory_and_file_have_the_same(void **state)
{
	struct seen in_file = {.name = "malloc"}, in_memory = {.name = "malloc"};
	struct dl_phdr_info info = {0};
	struct dt_elf *file, *image;
	const char *base;
	int fd;

	(void)state;
	if (!dl_iterate_phdr(find_libc, &info))
		skip(); /* linked statically */
	fd = open(info.dlpi_name, O_RDONLY | O_CLOEXEC);
	base = (const char *)(uintptr_t)info.dlpi_addr;
	assert_int_equal(dt_elf_open(fd, &file), 0);
	assert_int_equal(dt_elf_open_image_at(read_memory, &base, info.dlpi_addr, &image), 0);
	assert_int_equal(dt_elf_every_symbol(file, DT_ELF_DYNSYM, look, &in_file), 0);
	assert_int_equal(dt_elf_every_symbol(image, DT_ELF_DYNSYM, look, &in_memory), 0);
	assert_int_equal(dt_elf_every_symbol(image, DT_ELF_SYMTAB, look, &in_memory), -ENOENT);
	assert_int_equal(in_file.count, in_memory.count);
	assert_int_equal(in_file.sum, in_memory.sum);
	assert_int_equal(in_file.symbol.address, in_memory.symbol.address);
	assert_true(in_file.symbol.address && in_file.symbol.code && in_memory.symbol.code);
	dt_elf_free(file);
	dt_elf_free(image);
	close(fd);
}

static void symbols_without_an_address_are_left_out(void **state)
{
	const struct elf_file_symbol symbols[] = {
	    {"here", 0x1010, 4, STT_FUNC, STB_GLOBAL, 0},    {"absolute", 0x1020, 4, STT_FUNC, STB_GLOBAL, SHN_ABS},
	    {"nowhere", 0, 4, STT_FUNC, STB_GLOBAL, 0},      {"tls", 0x1030, 4, STT_TLS, STB_GLOBAL, 0},
	    {"outside", 0x9000, 4, STT_FUNC, STB_GLOBAL, 0}, {"other section", 0x1040, 4, STT_FUNC, STB_GLOBAL, 3},
	};
	struct seen seen = {.name = "here"}, outside = {.name = "outside"}, other = {.name = "other section"};
	struct elf_file file;
	struct dt_elf *elf;
	int fd;

	(void)state;
	elf_file_begin(&file);
	elf_file_symbols(&file, SHT_SYMTAB, symbols, DT_COUNT(symbols));
	elf = open_file(&file, &fd);
	assert_int_equal(dt_elf_every_symbol(elf, DT_ELF_SYMTAB, look, &seen), 0);
	assert_int_equal(seen.count, 3);
	assert_int_equal(seen.symbol.end, 0x2000);
	assert_int_equal(dt_elf_every_symbol(elf, DT_ELF_SYMTAB, look, &outside), 0);
	assert_true(!outside.symbol.end && !outside.symbol.code);
	/* It does not lie in the section that it names: the segment tells. */
	assert_int_equal(dt_elf_every_symbol(elf, DT_ELF_SYMTAB, look, &other), 0);
	assert_true(other.symbol.end == 0x2000 && other.symbol.code);
	assert_int_equal(dt_elf_every_symbol(elf, DT_ELF_DYNSYM, look, &seen), -ENOENT);
	dt_elf_free(elf);
	close(fd);
}

static int link_of(const char *bytes, size_t size, char name[256], uint32_t *crc)
{
	struct elf_file file;
	struct dt_elf *elf;
	int fd, rc;

	elf_file_begin(&file);
	dt_buf_append(&elf_file_add(&file, ".gnu_debuglink", SHT_PROGBITS)->bytes, bytes, size);
	elf = open_file(&file, &fd);
	rc = dt_elf_debug_link(elf, name, crc);
	dt_elf_free(elf);
	close(fd);
	return rc;
}

static void a_link_is_a_name_and_a_number(void **state)
{
	char name[256], longest[260];
	uint32_t crc;

	(void)state;
	assert_int_equal(link_of("a.debug\0\x01\x02\x03\x04", 12, name, &crc), 0);
	assert_string_equal(name, "a.debug");
	assert_int_equal(crc, 0x04030201);
	assert_int_equal(link_of("abc.debug\0\0\0\x01\x02\x03\x04", 16, name, &crc), 0);
	assert_string_equal(name, "abc.debug");
	assert_int_equal(link_of("a.debug\0\x01\x02\x03", 11, name, &crc), -ENOENT);
	assert_int_equal(link_of("a.debug\0", 8, name, &crc), -ENOENT);
	assert_int_equal(link_of("aaaaaaaabbbb", 12, name, &crc), -ENOENT);
	assert_int_equal(link_of("../pass\0\x01\x02\x03\x04", 12, name, &crc), -ENOENT);
	assert_int_equal(link_of("\0\0\0\0\x01\x02\x03\x04", 8, name, &crc), -ENOENT);
	memset(longest, 'x', sizeof(longest));
	assert_int_equal(link_of(longest, sizeof(longest), name, &crc), -ENOENT);
	longest[255] = '\0';
	assert_int_equal(link_of(longest, sizeof(longest), name, &crc), 0);
	assert_int_equal(strlen(name), 255);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(own_functions_are_shown),
	    cmocka_unit_test(memory_and_file_have_the_same),
	    cmocka_unit_test(symbols_without_an_address_are_left_out),
	    cmocka_unit_test(a_link_is_a_name_and_a_number),
	};

	return cmocka_run_group_tests_name("elf symbols", tests, NULL, NULL);
}
