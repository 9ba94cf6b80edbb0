/* Debug files below a root directory made here, and the cache that keeps what came of them. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"
#include "native/debug_file.h"
#include "native/symbols_cache.h"

#include "../elf_file.h"

#define ID     "\x01\x23\x45\x67\x89\xab\xcd\xef"
#define ID_HEX "0123456789abcdef"
#define BY_ID  "/usr/lib/debug/.build-id/01/23456789abcdef.debug"

struct place {
	char path[64];
	int root;
};

static int set_up(void **state)
{
	struct place *place = calloc(1, sizeof(*place));

	if (!place)
		return -1;
	strcpy(place->path, "/tmp/darter-debug-XXXXXX");
	if (!mkdtemp(place->path))
		return -1;
	place->root = open(place->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	*state = place;
	unsetenv("DEBUGINFOD_CACHE_PATH");
	unsetenv("XDG_CACHE_HOME");
	setenv("HOME", place->path, 1);
	return place->root < 0;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *walk)
{
	(void)st;
	(void)flag;
	(void)walk;
	return remove(path);
}

static int tear_down(void **state)
{
	struct place *place = *state;

	nftw(place->path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	close(place->root);
	free(place);
	return 0;
}

/* The file with its directories. */
static void put(const struct place *place, const char *name, const struct dt_buf *bytes)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s%s", place->path, name);
	for (char *slash = strchr(path + strlen(place->path) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0755);
		*slash = '/';
	}
	unlink(path);
	if (!bytes)
		return;
	file = fopen(path, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes->data, 1, bytes->length, file), bytes->length);
	fclose(file);
}

static void in_place(const struct place *place, const char *name, char path[512])
{
	snprintf(path, 512, "%s%s", place->path, name);
}

/* A debug file: one function, and an id if there is one. */
static struct dt_buf debug_bytes(const char *id, const char *function)
{
	const struct elf_file_symbol symbol = {function, 0x1300, 8, STT_FUNC, STB_LOCAL, 0};
	struct elf_file file;

	elf_file_begin(&file);
	if (id)
		elf_file_build_id(&file, id);
	if (function)
		elf_file_symbols(&file, SHT_SYMTAB, &symbol, 1);
	return elf_file_end(&file);
}

/* A module without symbols. */
static struct dt_elf *module_of(const char *id, const char *link, uint32_t crc, int *fd)
{
	struct elf_file file;
	struct dt_buf bytes;
	struct dt_elf *elf;

	elf_file_begin(&file);
	if (id)
		elf_file_build_id(&file, id);
	if (link)
		elf_file_debug_link(&file, link, crc);
	bytes = elf_file_end(&file);
	*fd = memfd_create("module", MFD_CLOEXEC);
	assert_int_equal(pwrite(*fd, bytes.data, bytes.length, 0), bytes.length);
	dt_buf_release(&bytes);
	assert_int_equal(dt_elf_open(*fd, &elf), 0);
	return elf;
}

/* Looks for the debug file of a module; true: it is the one with that function. */
static bool finds(const struct place *place, const char *id, const char *link, uint32_t crc, const char *function)
{
	struct dt_debug_file file;
	struct dt_symbols symbols;
	struct dt_symbol symbol;
	bool found = false;
	int fd, rc;
	struct dt_elf *elf = module_of(id, link, crc, &fd);

	rc = dt_debug_file_open(elf, place->root, "/opt/app/module.so", &file);
	assert_true(rc == 0 || rc == -ENOENT);
	assert_true((rc == 0) == (file.fd >= 0 && file.elf));
	if (rc == 0) {
		assert_int_equal(dt_symbols_read(elf, file.elf, &symbols), 0);
		found = dt_symbols_find(&symbols, 0x1300, &symbol) && !strcmp(symbol.name, function);
		dt_symbols_release(&symbols);
	}
	dt_debug_file_release(&file);
	dt_elf_free(elf);
	close(fd);
	return found;
}

static uint32_t crc_of(const struct dt_buf *bytes)
{
	uint32_t crc = ~0u;

	for (size_t i = 0; i < bytes->length; i++) {
		crc ^= (uint8_t)bytes->data[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ 0xedb88320 : crc >> 1;
	}
	return ~crc;
}

static void by_build_id(void **state)
{
	struct dt_buf good = debug_bytes(ID, "good"), other = debug_bytes("another1", "other");
	struct dt_buf none = debug_bytes(NULL, "none"), empty = debug_bytes(ID, NULL);

	assert_false(finds(*state, ID, NULL, 0, "good"));
	put(*state, BY_ID, &good);
	assert_true(finds(*state, ID, NULL, 0, "good"));
	assert_false(finds(*state, "\x01\x23", NULL, 0, "good"));
	assert_false(finds(*state, NULL, NULL, 0, "good"));
	put(*state, BY_ID, &other);
	assert_false(finds(*state, ID, NULL, 0, "other"));
	put(*state, BY_ID, &none);
	assert_false(finds(*state, ID, NULL, 0, "none"));
	put(*state, BY_ID, &empty); /* without symbols it is of no use */
	assert_false(finds(*state, ID, NULL, 0, "good"));
	good.data[offsetof(Elf64_Ehdr, e_machine)] = (char)EM_AARCH64;
	put(*state, BY_ID, &good);
	assert_false(finds(*state, ID, NULL, 0, "good"));
	dt_buf_release(&good);
	dt_buf_release(&other);
	dt_buf_release(&none);
	dt_buf_release(&empty);
}

static void by_link(void **state)
{
	static const char *const names[] = {"/usr/lib/debug/opt/app/m.debug", "/opt/app/.debug/m.debug",
					    "/opt/app/m.debug"};
	struct dt_buf plain = debug_bytes(NULL, "plain"), identified = debug_bytes(ID, "identified");
	uint32_t crc = crc_of(&plain);

	for (size_t i = 0; i < DT_COUNT(names); i++) {
		put(*state, names[i], &plain);
		assert_true(finds(*state, NULL, "m.debug", crc, "plain"));
		assert_false(finds(*state, NULL, "m.debug", crc + 1, "plain"));
		assert_false(finds(*state, NULL, "n.debug", crc, "plain"));
		assert_false(finds(*state, ID, "m.debug", crc, "plain"));
		/* With an id nobody asks for the CRC; what is no use is passed over. */
		put(*state, names[i], &identified);
		assert_true(finds(*state, ID, "m.debug", 0, "identified"));
		assert_false(finds(*state, NULL, "m.debug", crc_of(&identified), "identified"));
	}
	dt_buf_release(&plain);
	dt_buf_release(&identified);
}

static void no_link_leads_out(void **state)
{
	struct place *place = *state;
	struct dt_buf good = debug_bytes(ID, "good");
	char path[512], target[512];

	/* Absolute links count from the root directory of the target. */
	put(place, "/elsewhere", &good);
	put(place, BY_ID, NULL);
	in_place(place, BY_ID, path);
	in_place(place, "/elsewhere", target);
	assert_int_equal(symlink(target, path), 0);
	assert_false(finds(place, ID, NULL, 0, "good"));
	unlink(path);
	assert_int_equal(symlink("/elsewhere", path), 0);
	assert_true(finds(place, ID, NULL, 0, "good"));
	unlink(path);
	assert_int_equal(symlink("../../../../../../../../../../../../elsewhere", path), 0);
	assert_true(finds(place, ID, NULL, 0, "good"));
	unlink(path);
	/* Opening this one would wait for somebody who writes. */
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_false(finds(place, ID, NULL, 0, "good"));
	unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_false(finds(place, ID, NULL, 0, "good"));
	dt_buf_release(&good);
}

static void in_the_cache_of_debuginfod(void **state)
{
	struct place *place = *state;
	struct dt_buf good = debug_bytes(ID, "good"), other = debug_bytes("another1", "other");
	char path[512];

	put(place, "/one/" ID_HEX "/debuginfo", &good);
	put(place, "/two/debuginfod_client/" ID_HEX "/debuginfo", &other);
	put(place, "/.cache/debuginfod_client/" ID_HEX "/debuginfo", &good);
	assert_true(finds(place, ID, NULL, 0, "good")); /* HOME */
	in_place(place, "/two", path);
	setenv("XDG_CACHE_HOME", path, 1);
	assert_false(finds(place, ID, NULL, 0, "other"));
	put(place, "/two/debuginfod_client/" ID_HEX "/debuginfo", &good);
	assert_true(finds(place, ID, NULL, 0, "good"));
	in_place(place, "/none", path);
	setenv("DEBUGINFOD_CACHE_PATH", path, 1);
	assert_false(finds(place, ID, NULL, 0, "good"));
	in_place(place, "/one", path);
	setenv("DEBUGINFOD_CACHE_PATH", path, 1);
	assert_true(finds(place, ID, NULL, 0, "good"));
	dt_buf_release(&good);
	dt_buf_release(&other);
}

/* ---- the cache ---- */

static const struct dt_symbols *get(struct dt_symbols_cache *cache, const struct place *place, const char *id)
{
	const struct dt_symbols *symbols = NULL;
	int fd;

	dt_elf_free(module_of(id, NULL, 0, &fd));
	assert_int_equal(dt_symbols_cache_get(cache, fd, place->root, "/opt/app/module.so", &symbols), 0);
	assert_non_null(symbols);
	close(fd);
	return symbols;
}

static void a_module_is_read_once(void **state)
{
	struct dt_symbols_cache *cache = dt_symbols_cache_new(0);
	struct dt_buf good = debug_bytes(ID, "good");
	const struct dt_symbols *first, *symbols;
	struct dt_symbol symbol;

	assert_non_null(cache);
	put(*state, BY_ID, &good);
	first = get(cache, *state, ID);
	assert_true(dt_symbols_find(first, 0x1300, &symbol));
	put(*state, BY_ID, NULL);
	assert_ptr_equal(get(cache, *state, ID), first);
	for (char i = 1; i < 100; i++) /* others without a debug file: nothing is known of them */
		assert_int_equal(get(cache, *state, (char[]){i, i, i, '\0'})->count, 0);
	assert_ptr_equal(get(cache, *state, ID), first);
	assert_true(dt_symbols_find(first, 0x1300, &symbol));
	/* Without an id it is the file that counts. */
	symbols = get(cache, *state, NULL);
	assert_ptr_not_equal(get(cache, *state, NULL), symbols);
	dt_symbols_cache_free(cache);
	dt_symbols_cache_free(NULL);
	dt_buf_release(&good);
}

static void a_file_without_an_id_is_known_again(void **state)
{
	struct dt_symbols_cache *cache = dt_symbols_cache_new(0);
	const struct dt_symbols *one, *two;
	struct place *place = *state;
	int fd;

	dt_elf_free(module_of(NULL, NULL, 0, &fd));
	assert_int_equal(dt_symbols_cache_get(cache, fd, place->root, NULL, &one), 0);
	assert_int_equal(dt_symbols_cache_get(cache, fd, place->root, NULL, &two), 0);
	assert_ptr_equal(one, two);
	close(fd);
	/* Nor is what is no program at all. */
	fd = memfd_create("text", MFD_CLOEXEC);
	assert_int_equal(pwrite(fd, "text", 4, 0), 4);
	assert_int_equal(dt_symbols_cache_get(cache, fd, place->root, NULL, &two), 0);
	assert_int_equal(two->count, 0);
	assert_ptr_not_equal(one, two);
	close(fd);
	assert_int_equal(dt_symbols_cache_get(cache, fd, place->root, NULL, &two), -EBADF);
	dt_symbols_cache_free(cache);
}

static void a_full_cache_says_so(void **state)
{
	struct dt_symbols_cache *cache = dt_symbols_cache_new(1);
	const struct dt_symbols *first, *symbols;
	struct place *place = *state;
	int fd;

	first = get(cache, place, ID);
	dt_elf_free(module_of("another1", NULL, 0, &fd));
	assert_int_equal(dt_symbols_cache_get(cache, fd, place->root, NULL, &symbols), -ENOSPC);
	assert_ptr_equal(get(cache, place, ID), first);
	close(fd);
	dt_symbols_cache_free(cache);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(by_build_id, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(by_link, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(no_link_leads_out, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(in_the_cache_of_debuginfod, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(a_module_is_read_once, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(a_file_without_an_id_is_known_again, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(a_full_cache_says_so, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("debug file", tests, NULL, NULL);
}
