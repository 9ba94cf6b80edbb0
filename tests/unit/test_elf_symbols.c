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

/* ---- the linkage table ---- */

struct pieces {
	struct dt_elf_symbol symbols[4];
	char names[4][16];
	size_t count;
};

static int keep_piece(void *context, const struct dt_elf_symbol *symbol)
{
	struct pieces *pieces = context;

	assert_true(pieces->count < DT_COUNT(pieces->symbols));
	snprintf(pieces->names[pieces->count], sizeof(*pieces->names), "%s", symbol->name);
	pieces->symbols[pieces->count++] = *symbol;
	return 0;
}

/* Code at 0x3000; slots at 0x13018 ("one"), 0x2018 ("two") and 0x2020 (a symbol that is not there). */
static struct pieces pieces_of(uint16_t machine, uint32_t type, const void *code, size_t size)
{
	const struct elf_file_symbol symbols[] = {{"one", 0, 0, STT_FUNC, STB_GLOBAL, 0},
						  {"two", 0, 0, STT_FUNC, STB_GLOBAL, 0}};
	const Elf64_Rela relocs[] = {{0x13018, ELF64_R_INFO(1, type), 0},
				     {0x2020, ELF64_R_INFO(77, type), 0},
				     {0x2018, ELF64_R_INFO(2, type), 0},
				     {0x3018, ELF64_R_INFO(2, 0), 0}};
	struct elf_file_section *section;
	struct pieces pieces = {0};
	struct elf_file file;
	struct dt_buf bytes;
	struct dt_elf *elf;
	int fd;

	elf_file_begin(&file);
	elf_file_symbols(&file, SHT_DYNSYM, symbols, DT_COUNT(symbols));
	section = elf_file_add(&file, ".plt", SHT_PROGBITS);
	section->address = 0x3000;
	section->entry_size = 16;
	dt_buf_append(&section->bytes, code, size);
	section = elf_file_add(&file, ".rela.plt", SHT_RELA);
	section->flags = SHF_ALLOC;
	dt_buf_append(&section->bytes, (const char *)relocs, sizeof(relocs));
	bytes = elf_file_end(&file);
	memcpy(bytes.data + offsetof(Elf64_Ehdr, e_machine), &machine, sizeof(machine));
	fd = open_bytes(&bytes);
	assert_int_equal(dt_elf_open(fd, &elf), 0);
	assert_int_equal(dt_elf_every_plt(elf, keep_piece, &pieces), 0);
	dt_elf_free(elf);
	close(fd);
	return pieces;
}

static void check_pieces(const struct pieces *pieces, uint64_t two, uint64_t size)
{
	assert_int_equal(pieces->count, 2);
	assert_string_equal(pieces->names[0], "one");
	assert_int_equal(pieces->symbols[0].address, 0x3000);
	assert_int_equal(pieces->symbols[0].size, 16);
	assert_string_equal(pieces->names[1], "two");
	assert_int_equal(pieces->symbols[1].address, two);
	assert_int_equal(pieces->symbols[1].size, size);
}

static void calls_of_others_are_told_by_their_slot(void **state)
{
	static const uint8_t x86_64[] = {0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0x0d, 0,    1,    0,    0,    0,
					 0,    0,    0,    0xff, 0x25, 0x02, 0xf0, 0xff, 0xff, 0,    0,    0,    0,
					 0,    0,    0,    0,    0,    0,    0xff, 0x25, 0xfa, 0xef, 0xff, 0xff, 0,
					 0,    0,    0,    0,    0,    0,    0,    0,    0,    0xff, 0x35, 0x02, 0xf0,
					 0xff, 0xff, 0xff, 0x25, 0xff, 0xff, 0,    0xff, 0x25, 0xff, 0,    0};
	static const uint32_t aarch64[] = {0x90000090, 0xf9400e11, 0x91000210, 0xd61f0220, /* adrp, ldr, add, br */
					   0xd503245f, 0xf0fffff0, 0xf9400e11, 0x91000210,
					   0xd61f0220, /* the same behind bti */
					   0x90000011, 0xf9400e11, 0x90000010};
	struct pieces pieces = pieces_of(EM_X86_64, R_X86_64_JUMP_SLOT, x86_64, sizeof(x86_64));

	(void)state;
	check_pieces(&pieces, 0x3010, 16);
	pieces = pieces_of(EM_X86_64, R_X86_64_GLOB_DAT, x86_64, sizeof(x86_64) - 1);
	check_pieces(&pieces, 0x3010, 16);
	assert_int_equal(pieces_of(EM_X86_64, R_X86_64_RELATIVE, x86_64, sizeof(x86_64)).count, 0);
	pieces = pieces_of(EM_AARCH64, R_AARCH64_JUMP_SLOT, aarch64, sizeof(aarch64));
	check_pieces(&pieces, 0x3010, 20);
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
	    cmocka_unit_test(calls_of_others_are_told_by_their_slot),
	    cmocka_unit_test(a_link_is_a_name_and_a_number),
	};

	return cmocka_run_group_tests_name("elf symbols", tests, NULL, NULL);
}
