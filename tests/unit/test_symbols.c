/* Which function an address lies in: tables made by hand, and this program itself. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/util.h"
#include "native/symbols.h"

#include "../elf_file.h"

#define SYMBOLS(...)                                                                                                   \
	(const struct elf_file_symbol[]){__VA_ARGS__}, DT_COUNT(((const struct elf_file_symbol[]){__VA_ARGS__}))

static struct dt_elf *open_bytes(struct dt_buf bytes, int *fd)
{
	struct dt_elf *elf;

	*fd = memfd_create("elf", MFD_CLOEXEC);
	assert_true(*fd >= 0 && !bytes.failed);
	assert_int_equal(pwrite(*fd, bytes.data, bytes.length, 0), bytes.length);
	dt_buf_release(&bytes);
	assert_int_equal(dt_elf_open(*fd, &elf), 0);
	return elf;
}

static void close_elf(struct dt_elf *elf, int fd)
{
	dt_elf_free(elf);
	close(fd);
}

/* Of a file, and of its debug file if there is one; both are closed. */
static int read_files(struct elf_file *file, struct elf_file *debug_file, struct dt_symbols *symbols)
{
	int fd, debug_fd = -1, rc;
	struct dt_elf *elf = open_bytes(elf_file_end(file), &fd), *debug = NULL;

	if (debug_file)
		debug = open_bytes(elf_file_end(debug_file), &debug_fd);
	rc = dt_symbols_read(elf, debug, symbols);
	if (debug)
		close_elf(debug, debug_fd);
	close_elf(elf, fd);
	return rc;
}

static struct dt_symbols table_of(const struct elf_file_symbol *list, size_t count)
{
	struct dt_symbols symbols;
	struct elf_file file;

	elf_file_begin(&file);
	elf_file_symbols(&file, SHT_SYMTAB, list, count);
	assert_int_equal(read_files(&file, NULL, &symbols), 0);
	assert_int_equal(symbols.sources, DT_SYMBOLS_SYMTAB);
	assert_int_equal(symbols.missing, 0);
	assert_int_equal(symbols.base, ELF_FILE_CODE);
	return symbols;
}

static void check(const struct dt_symbols *symbols, uint64_t address, const char *name, uint64_t start, uint64_t size)
{
	struct dt_symbol symbol;

	assert_true(dt_symbols_find(symbols, address, &symbol));
	assert_string_equal(symbol.name, name);
	assert_int_equal(symbol.address, start);
	assert_int_equal(symbol.size, size);
}

static void check_none(const struct dt_symbols *symbols, uint64_t address)
{
	struct dt_symbol symbol;

	assert_false(dt_symbols_find(symbols, address, &symbol));
}

static void functions_have_a_beginning_and_an_end(void **state)
{
	struct dt_symbols symbols = table_of(
	    SYMBOLS({"b", 0x1200, 0x20, STT_FUNC, STB_LOCAL, 0}, {"a", 0x1100, 0x10, STT_FUNC, STB_GLOBAL, 0},
		    {"data", 0x1150, 0x10, STT_OBJECT, STB_GLOBAL, 0},
		    {"chosen", 0x1300, 0x10, STT_GNU_IFUNC, STB_GLOBAL, 0}, {"", 0x1400, 0x10, STT_FUNC, STB_GLOBAL, 0},
		    {"far", 0x4000, 0x10, STT_FUNC, STB_GLOBAL, 0}, {"long", 0x1ff0, 0x9999, STT_FUNC, STB_GLOBAL, 0}));

	(void)state;
	check_none(&symbols, 0);
	check_none(&symbols, 0x10ff);
	check(&symbols, 0x1100, "a", 0x1100, 0x10);
	check(&symbols, 0x110f, "a", 0x1100, 0x10);
	check_none(&symbols, 0x1110);
	check_none(&symbols, 0x1150);
	check(&symbols, 0x1210, "b", 0x1200, 0x20);
	check(&symbols, 0x1300, "chosen", 0x1300, 0x10);
	check_none(&symbols, 0x1400);
	check(&symbols, 0x1fff, "long", 0x1ff0, 0x10); /* no further than its section */
	check_none(&symbols, 0x2000);
	check_none(&symbols, UINT64_MAX);
	assert_true(dt_symbols_bytes(&symbols) > 4 * sizeof(struct dt_symbol_row));
	dt_symbols_release(&symbols);
	check_none(&symbols, 0x1100);
}

static void without_a_size_they_reach_to_the_next(void **state)
{
	struct dt_symbols symbols = table_of(
	    SYMBOLS({"a", 0x1100, 0, STT_FUNC, STB_GLOBAL, 0}, {"label", 0x1200, 0, STT_NOTYPE, STB_LOCAL, 0},
		    {"$x", 0x1280, 0, STT_NOTYPE, STB_LOCAL, 0}, {".annobin_a", 0x1290, 0, STT_NOTYPE, STB_LOCAL, 0},
		    {"b", 0x1300, 0x100, STT_FUNC, STB_GLOBAL, 0}, {"within", 0x1380, 0, STT_NOTYPE, STB_LOCAL, 0},
		    {"last", 0x1f00, 0, STT_FUNC, STB_GLOBAL, 0}, {"data_end", 0x2000, 0, STT_NOTYPE, STB_GLOBAL, 0}));

	(void)state;
	check(&symbols, 0x11ff, "a", 0x1100, 0x100);
	check(&symbols, 0x12ff, "label", 0x1200, 0x100);
	check(&symbols, 0x13ff, "b", 0x1300, 0x100);
	check_none(&symbols, 0x1400);
	check(&symbols, 0x1fff, "last", 0x1f00, 0x100);
	check_none(&symbols, 0x2000);
	dt_symbols_release(&symbols);
}

static void functions_may_lie_in_functions(void **state)
{
	struct dt_symbols symbols = table_of(
	    SYMBOLS({"outer", 0x1000, 0x100, STT_FUNC, STB_GLOBAL, 0},
		    {"middle", 0x1020, 0x80, STT_FUNC, STB_GLOBAL, 0}, {"inner", 0x1030, 0x10, STT_FUNC, STB_GLOBAL, 0},
		    {"across", 0x10f0, 0x30, STT_FUNC, STB_GLOBAL, 0}, {"after", 0x1118, 8, STT_FUNC, STB_GLOBAL, 0}));

	(void)state;
	check(&symbols, 0x101f, "outer", 0x1000, 0x100);
	check(&symbols, 0x1020, "middle", 0x1020, 0x80);
	check(&symbols, 0x103f, "inner", 0x1030, 0x10);
	check(&symbols, 0x1040, "middle", 0x1020, 0x80);
	check(&symbols, 0x10a0, "outer", 0x1000, 0x100);
	check(&symbols, 0x1117, "across", 0x10f0, 0x30);
	check(&symbols, 0x1118, "after", 0x1118, 8);
	check_none(&symbols, 0x1120);
	dt_symbols_release(&symbols);
}

static void one_name_of_several_is_taken(void **state)
{
	struct dt_symbols symbols = table_of(SYMBOLS(
	    {"weak", 0x1100, 8, STT_FUNC, STB_WEAK, 0}, {"local", 0x1100, 8, STT_FUNC, STB_LOCAL, 0},
	    {"__global", 0x1100, 8, STT_FUNC, STB_GLOBAL, 0}, {"_global", 0x1200, 8, STT_FUNC, STB_GLOBAL, 0},
	    {"global", 0x1200, 8, STT_FUNC, STB_GLOBAL, 0}, {"longer_global", 0x1200, 8, STT_FUNC, STB_GLOBAL, 0},
	    {"_weak", 0x1300, 8, STT_FUNC, STB_WEAK, 0}, {"_local", 0x1300, 8, STT_FUNC, STB_LOCAL, 0},
	    {"label", 0x1400, 8, STT_NOTYPE, STB_GLOBAL, 0}, {"____f", 0x1400, 0, STT_FUNC, STB_WEAK, 0},
	    {"_ZN1aC2Ev", 0x1500, 8, STT_FUNC, STB_GLOBAL, 0}, {"_ZN1aC1Ev", 0x1500, 8, STT_FUNC, STB_GLOBAL, 0}));

	(void)state;
	assert_int_equal(symbols.count, 5);
	check(&symbols, 0x1100, "__global", 0x1100, 8);
	check(&symbols, 0x1200, "global", 0x1200, 8);
	check(&symbols, 0x1300, "_local", 0x1300, 8);
	check(&symbols, 0x1407, "____f", 0x1400, 8); /* with the size of the other */
	check(&symbols, 0x1500, "_ZN1aC1Ev", 0x1500, 8);
	dt_symbols_release(&symbols);
}

static void versions_are_no_part_of_names(void **state)
{
	struct dt_symbols symbols = table_of(SYMBOLS({"memcpy@@GLIBC_2.14", 0x1100, 8, STT_FUNC, STB_GLOBAL, 0},
						     {"old@GLIBC_2.2.5", 0x1200, 8, STT_FUNC, STB_GLOBAL, 0},
						     {"@odd", 0x1300, 8, STT_FUNC, STB_GLOBAL, 0}));

	(void)state;
	check(&symbols, 0x1100, "memcpy", 0x1100, 8);
	check(&symbols, 0x1200, "old", 0x1200, 8);
	check(&symbols, 0x1300, "@odd", 0x1300, 8);
	dt_symbols_release(&symbols);
}

static void long_names_are_cut(void **state)
{
	char *name = calloc(1, DT_SYMBOLS_NAME_LIMIT + 100);
	struct dt_symbols symbols;
	struct dt_symbol symbol;

	(void)state;
	assert_non_null(name);
	memset(name, 'n', DT_SYMBOLS_NAME_LIMIT + 99);
	symbols = table_of(SYMBOLS({name, 0x1100, 8, STT_FUNC, STB_GLOBAL, 0}));
	assert_true(dt_symbols_find(&symbols, 0x1100, &symbol));
	assert_int_equal(strlen(symbol.name), DT_SYMBOLS_NAME_LIMIT);
	dt_symbols_release(&symbols);
	free(name);
}

static void tables_are_put_together(void **state)
{
	struct elf_file file, debug;
	struct dt_symbols symbols;

	(void)state;
	elf_file_begin(&file);
	elf_file_symbols(
	    &file, SHT_DYNSYM,
	    SYMBOLS({"exported", 0x1100, 8, STT_FUNC, STB_GLOBAL, 0}, {"both", 0x1200, 8, STT_FUNC, STB_WEAK, 0}));
	elf_file_begin(&debug);
	elf_file_symbols(
	    &debug, SHT_SYMTAB,
	    SYMBOLS({"hidden", 0x1300, 8, STT_FUNC, STB_LOCAL, 0}, {"both_", 0x1200, 8, STT_FUNC, STB_GLOBAL, 0}));
	assert_int_equal(read_files(&file, &debug, &symbols), 0);
	assert_int_equal(symbols.sources, DT_SYMBOLS_DYNSYM | DT_SYMBOLS_DEBUG_FILE);
	check(&symbols, 0x1100, "exported", 0x1100, 8);
	check(&symbols, 0x1200, "both_", 0x1200, 8);
	check(&symbols, 0x1300, "hidden", 0x1300, 8);
	dt_symbols_release(&symbols);
}

static void nothing_is_no_table(void **state)
{
	struct dt_symbols symbols;
	struct elf_file file;

	(void)state;
	elf_file_begin(&file);
	assert_int_equal(read_files(&file, NULL, &symbols), -ENOENT);
	assert_int_equal(symbols.count, 0);
	check_none(&symbols, 0x1000);
	elf_file_begin(&file);
	dt_buf_puts(&elf_file_add(&file, ".gnu_debugdata", SHT_PROGBITS)->bytes, "\xfd"
										 "7zXZ is what it should be");
	assert_int_equal(read_files(&file, NULL, &symbols), -ENOENT);
	assert_true(symbols.missing == DT_SYMBOLS_DAMAGED || symbols.missing == DT_SYMBOLS_NO_LZMA);
	dt_symbols_release(&symbols);
}

/* ---- MiniDebugInfo ---- */

/* What `xz` makes of it; false: it is not to be had. */
static bool pack(const struct dt_buf *bytes, struct dt_buf *packed)
{
	char folder[] = "/tmp/darter-symbols-XXXXXX", path[64], command[96], chunk[4096];
	FILE *file, *pipe;
	size_t got;

	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/elf", folder);
	file = fopen(path, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes->data, 1, bytes->length, file), bytes->length);
	fclose(file);
	snprintf(command, sizeof(command), "xz -c %s 2>&-", path);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	while ((got = fread(chunk, 1, sizeof(chunk), pipe)) > 0)
		dt_buf_append(packed, chunk, got);
	unlink(path);
	rmdir(folder);
	return pclose(pipe) == 0 && packed->length;
}

/* Read whole, cut short, and with one byte changed: never a wrong name. */
static void packed_symbols_are_read(void **state)
{
	struct elf_file inner, file;
	struct dt_buf packed = DT_BUF_INIT, bytes;
	struct dt_symbols symbols = {0};
	bool unable;

	(void)state;
	elf_file_begin(&inner);
	elf_file_symbols(&inner, SHT_SYMTAB, SYMBOLS({"hidden", 0x1300, 8, STT_FUNC, STB_LOCAL, 0}));
	bytes = elf_file_end(&inner);
	unable = !pack(&bytes, &packed);
	for (size_t cut = 0; cut < 3 && !unable; cut++) {
		struct elf_file_section *section;

		elf_file_begin(&file);
		elf_file_symbols(&file, SHT_DYNSYM, SYMBOLS({"exported", 0x1100, 8, STT_FUNC, STB_GLOBAL, 0}));
		section = elf_file_add(&file, ".gnu_debugdata", SHT_PROGBITS);
		dt_buf_append(&section->bytes, packed.data, cut == 1 ? packed.length / 2 : packed.length);
		if (cut == 2)
			section->bytes.data[packed.length / 2] ^= 1;
		assert_int_equal(read_files(&file, NULL, &symbols), 0);
		check(&symbols, 0x1100, "exported", 0x1100, 8);
		unable = symbols.missing & DT_SYMBOLS_NO_LZMA;
		if (!unable && !cut)
			check(&symbols, 0x1300, "hidden", 0x1300, 8);
		else
			check_none(&symbols, 0x1300);
		assert_int_equal(symbols.missing, unable ? DT_SYMBOLS_NO_LZMA : cut ? DT_SYMBOLS_DAMAGED : 0);
		dt_symbols_release(&symbols);
	}
	dt_buf_release(&bytes);
	dt_buf_release(&packed);
	if (unable)
		skip(); /* without xz or liblzma */
}

/* ---- this program ---- */

static int first_object(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)size;
	*(uint64_t *)context = info->dlpi_addr;
	return 1;
}

static void own_functions_are_found(void **state)
{
	static const struct {
		void (*function)(void **);
		const char *name;
	} functions[] = {{own_functions_are_found, "own_functions_are_found"},
			 {packed_symbols_are_read, "packed_symbols_are_read"}};
	dt_auto_close int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct dt_symbols symbols;
	struct dt_symbol symbol;
	struct dt_elf *elf;
	uint64_t bias = 0;

	(void)state;
	dl_iterate_phdr(first_object, &bias);
	assert_int_equal(dt_elf_open(fd, &elf), 0);
	assert_int_equal(dt_symbols_read(elf, NULL, &symbols), 0);
	for (size_t i = 0; i < DT_COUNT(functions); i++) {
		uint64_t address = (uintptr_t)functions[i].function - bias;

		assert_true(dt_symbols_find(&symbols, address + 4, &symbol));
		assert_string_equal(symbol.name, functions[i].name);
		assert_int_equal(symbol.address, address);
	}
	for (size_t i = 1; i < symbols.count; i++)
		assert_true(symbols.rows[i - 1].start < symbols.rows[i].start && symbols.rows[i].outer <= i);
	dt_symbols_release(&symbols);
	dt_elf_free(elf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(functions_have_a_beginning_and_an_end),
	    cmocka_unit_test(without_a_size_they_reach_to_the_next),
	    cmocka_unit_test(functions_may_lie_in_functions),
	    cmocka_unit_test(one_name_of_several_is_taken),
	    cmocka_unit_test(versions_are_no_part_of_names),
	    cmocka_unit_test(long_names_are_cut),
	    cmocka_unit_test(tables_are_put_together),
	    cmocka_unit_test(nothing_is_no_table),
	    cmocka_unit_test(packed_symbols_are_read),
	    cmocka_unit_test(own_functions_are_found),
	};

	return cmocka_run_group_tests_name("symbols", tests, NULL, NULL);
}
