/* Where the search of the last process ended: src/python/find_trail.c, tried on this process. */
#include "unit.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/util.h"
#include "python/find_inside.h"

#define PAGES 4
#define PAGE  4096

struct fixture {
	struct dt_proc proc;
	struct dt_maps maps;
	char *library; /* mapped from a file: pages that are read and pages that are written, and one of no file behind
			  them */
	const struct dt_map *first;
};

static void read_maps(struct fixture *f)
{
	assert_int_equal(dt_maps_read(&f->proc, &f->maps), 0);
	f->first = dt_maps_at(&f->maps, (uint64_t)(uintptr_t)f->library);
	assert_non_null(f->first);
}

static int set_up(void **state)
{
	static struct fixture f;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	f.library = mmap(NULL, (PAGES + 2) * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(f.library, MAP_FAILED);
	assert_ptr_equal(mmap(f.library, PAGES * PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0), f.library);
	assert_int_equal(mprotect(f.library + 2 * PAGE, 2 * PAGE, PROT_READ | PROT_WRITE), 0);
	assert_int_equal(mprotect(f.library + PAGES * PAGE, PAGE, PROT_READ | PROT_WRITE), 0);
	close(fd);
	assert_int_equal(dt_proc_open(getpid(), &f.proc), 0);
	read_maps(&f);
	*state = &f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	dt_maps_release(&f->maps);
	dt_proc_release(&f->proc);
	munmap(f->library, (PAGES + 2) * PAGE);
	return 0;
}

static struct dt_find_trail *keep(struct fixture *f)
{
	const struct dt_find_module module = {.first = f->first, .last = f->first + 1};
	struct dt_find_trail *trail = NULL;

	dt_find_trail_keep(&trail, &f->maps, &module);
	assert_non_null(trail);
	if (!dt_maps_has(&f->proc, f->maps.maps, 1)) { /* before Linux 6.11 */
		assert_false(dt_find_trail_leads(trail, &f->proc));
		dt_find_trail_free(trail);
		skip();
	}
	return trail;
}

static void test_no_trail(void **state)
{
	struct fixture *f = *state;

	assert_false(dt_find_trail_leads(NULL, &f->proc));
}

/* The module, and the data of it that is in no file. */
static void test_same(void **state)
{
	struct fixture *f = *state;
	struct dt_find_trail *trail = keep(f);
	struct dt_find_module *module;
	struct dt_maps maps;

	assert_true(dt_find_trail_leads(trail, &f->proc));
	dt_find_trail_follow(trail, &maps, &module);
	assert_int_equal(maps.count, 3);
	assert_ptr_equal(module->first, &maps.maps[0]);
	assert_ptr_equal(module->last, &maps.maps[1]);
	assert_int_equal(maps.maps[0].start, f->first->start);
	assert_int_equal(maps.maps[2].start, f->first[1].end);
	assert_int_equal(maps.maps[2].inode, 0);
	dt_find_trail_free(trail);
}

/* Any of its parts. */
static void test_changed(void **state)
{
	struct fixture *f = *state;
	struct dt_find_trail *trail = keep(f);
	const struct {
		int page, protection, before;
	} changes[] = {
	    {0, PROT_NONE, PROT_READ}, {3, PROT_READ, PROT_READ | PROT_WRITE}, {4, PROT_READ, PROT_READ | PROT_WRITE}};

	for (size_t i = 0; i < DT_COUNT(changes); i++) {
		char *page = f->library + changes[i].page * PAGE;

		assert_int_equal(mprotect(page, PAGE, changes[i].protection), 0);
		assert_false(dt_find_trail_leads(trail, &f->proc));
		assert_int_equal(mprotect(page, PAGE, changes[i].before), 0);
		assert_true(dt_find_trail_leads(trail, &f->proc));
	}
	dt_find_trail_free(trail);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_no_trail, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_same, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(test_changed, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("find_trail", tests, NULL, NULL);
}
