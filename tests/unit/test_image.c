/* The page-wise copy, over a recording whose contents change between looks. */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "mem/mem.h"

#define PAGE  DT_IMAGE_PAGE
#define PAGES 3000 /* more than one gather takes */
#define BASE  UINT64_C(0x7f0000000000)

struct world {
	uint8_t *data;
	struct dt_mem *base, *image;
};

/* PAGES pages at BASE, then a hole of one page, then one more page. */
static int setup(void **state)
{
	struct world *world = calloc(1, sizeof(*world));
	struct dt_recorded_range ranges[2];

	world->data = malloc((PAGES + 1) * PAGE);
	for (size_t i = 0; i < (PAGES + 1) * PAGE; i++)
		world->data[i] = (uint8_t)(i / PAGE * 31 + i);
	ranges[0] = (struct dt_recorded_range){BASE, world->data, PAGES * PAGE};
	ranges[1] = (struct dt_recorded_range){BASE + (PAGES + 1) * PAGE, world->data + PAGES * PAGE, PAGE};
	assert_int_equal(dt_mem_open_recorded(ranges, 2, &world->base), 0);
	assert_int_equal(dt_mem_open_image(world->base, NULL, &world->image), 0);
	*state = world;
	return 0;
}

static int teardown(void **state)
{
	struct world *world = *state;

	dt_mem_free(world->image);
	dt_mem_free(world->base);
	free(world->data);
	free(world);
	return 0;
}

static uint64_t calls(const struct world *world)
{
	return dt_mem_stats(world->base).calls;
}

static void read_page(struct world *world, size_t page)
{
	uint8_t byte;

	assert_int_equal(dt_mem_read(world->image, BASE + page * PAGE + 9, &byte, 1), 0);
	assert_int_equal(byte, world->data[page * PAGE + 9]);
}

static void test_one_call_per_page(void **state)
{
	struct world *world = *state;
	uint64_t value;

	for (size_t i = 0; i < 100; i++)
		assert_int_equal(dt_mem_read_u64(world->image, BASE + 8 * i, &value), 0);
	assert_int_equal(calls(world), 1);
	assert_int_equal(dt_mem_stats(world->image).calls, 1);
	assert_int_equal(dt_mem_stats(world->image).bytes, PAGE);
	assert_string_equal(dt_mem_stats(world->image).way, "image");
}

static void test_copy_holds_until_begin(void **state)
{
	struct world *world = *state;
	uint8_t old = world->data[0], byte;

	assert_int_equal(dt_mem_read(world->image, BASE, &byte, 1), 0);
	world->data[0] = (uint8_t)(old + 1);
	assert_int_equal(dt_mem_read(world->image, BASE, &byte, 1), 0);
	assert_int_equal(byte, old);
	dt_image_begin(world->image);
	assert_int_equal(dt_mem_read(world->image, BASE, &byte, 1), 0);
	assert_int_equal(byte, (uint8_t)(old + 1));
}

static void test_spans(void **state)
{
	struct world *world = *state;
	uint8_t *buffer = malloc(PAGES * PAGE);
	uint8_t small[16];
	struct dt_range ranges[] = {{BASE + PAGE - 8, small, 16}, {BASE + 50 * PAGE, buffer, 8}};

	assert_int_equal(dt_mem_gather(world->image, ranges, 2), 2);
	assert_int_equal(calls(world), 1);
	assert_memory_equal(small, world->data + PAGE - 8, 16);
	assert_memory_equal(buffer, world->data + 50 * PAGE, 8);
	assert_int_equal(dt_mem_read(world->image, BASE + 1, buffer, PAGES * PAGE - 2), 0);
	assert_memory_equal(buffer, world->data + 1, PAGES * PAGE - 2);
	assert_true(calls(world) <= 3);
	assert_int_equal(dt_mem_read(world->image, BASE, buffer, 0), 0);
	free(buffer);
}

static void test_faults_are_remembered(void **state)
{
	struct world *world = *state;
	uint64_t hole = BASE + PAGES * PAGE, before;
	uint8_t buffer[2 * PAGE];
	struct dt_range ranges[] = {{BASE, buffer, 1}, {hole + 8, buffer, 1}, {BASE, buffer, 1}};

	assert_int_equal(dt_mem_read(world->image, hole, buffer, 1), -EFAULT);
	before = calls(world);
	assert_int_equal(dt_mem_read(world->image, hole + 100, buffer, 8), -EFAULT);
	assert_int_equal(calls(world), before);
	/* A read that runs into the hole fails, what lies on both sides of it is there. */
	assert_int_equal(dt_mem_read(world->image, hole - 8, buffer, 16), -EFAULT);
	assert_int_equal(dt_mem_read(world->image, hole - 8, buffer, 8), 0);
	assert_memory_equal(buffer, world->data + PAGES * PAGE - 8, 8);
	assert_int_equal(dt_mem_read(world->image, hole + PAGE, buffer, 8), 0);
	assert_memory_equal(buffer, world->data + PAGES * PAGE, 8);
	assert_int_equal(dt_mem_gather(world->image, ranges, 3), 1);
	assert_int_equal(dt_mem_read(world->image, UINT64_MAX - 3, buffer, 8), -EFAULT);
	assert_int_equal(dt_mem_read(world->image, UINT64_MAX - 3, buffer, 4), -EFAULT);
}

/* A long read over the hole joins pages into one range: those on both sides must be there nevertheless. */
static void test_joined_pages_fail_singly(void **state)
{
	struct world *world = *state;
	uint8_t buffer[5 * PAGE];
	uint64_t before;

	assert_int_equal(dt_mem_read(world->image, BASE + (PAGES - 3) * PAGE, buffer, 5 * PAGE), -EFAULT);
	before = calls(world);
	read_page(world, PAGES - 3);
	read_page(world, PAGES - 1);
	assert_int_equal(dt_mem_read(world->image, BASE + (PAGES + 1) * PAGE, buffer, PAGE), 0);
	assert_memory_equal(buffer, world->data + PAGES * PAGE, PAGE);
	assert_int_equal(calls(world), before);
}

static void test_prefetch(void **state)
{
	struct world *world = *state;
	uint64_t before;

	/* Downwards, so that the pages are not in order, and every other one, so that they cannot be joined. */
	for (size_t i = PAGES; i >= 2; i -= 2)
		read_page(world, i - 2);
	dt_image_begin(world->image);
	memset(world->data, 0x5a, (PAGES + 1) * PAGE);
	before = calls(world);
	dt_image_prefetch(world->image);
	assert_int_equal(calls(world) - before, 2);
	for (size_t i = 0; i < PAGES; i += 2)
		read_page(world, i);
	assert_int_equal(calls(world) - before, 2);
}

/* Is a page that was asked for once not fetched ahead any more, after looks in which only others were? */
static bool is_forgotten(struct world *world, size_t pages, int looks)
{
	uint64_t before;

	for (size_t i = 0; i <= pages; i++)
		read_page(world, 2 * i);
	while (looks--) {
		dt_image_begin(world->image);
		dt_image_prefetch(world->image);
		for (size_t i = 0; i < pages; i++)
			read_page(world, 2 * i);
	}
	before = calls(world);
	read_page(world, 0);
	assert_int_equal(calls(world), before);
	read_page(world, 2 * pages);
	return calls(world) > before;
}

static void test_prefetch_forgets(void **state)
{
	assert_false(is_forgotten(*state, 100, 2));
	assert_true(is_forgotten(*state, 100, 3));
}

/* Where there are few pages one that is missed costs more than one that is fetched in vain. */
static void test_prefetch_forgets_later(void **state)
{
	assert_false(is_forgotten(*state, 5, 10));
	assert_true(is_forgotten(*state, 5, 100));
}

/* What is behind the pages comes with them in one call, and is the last that was read. */
static void test_prefetch_and_more(void **state)
{
	struct world *world = *state;
	uint8_t last[2][8] = {{0}};
	const struct dt_range more[] = {{BASE + 5 * PAGE + 3, last[0], 8}, {BASE + 9 * PAGE, last[1], 8}};
	const struct dt_range gone[] = {more[0], {BASE + PAGES * PAGE, last[1], 8}};
	uint64_t before;

	read_page(world, 1);
	read_page(world, 3);
	read_page(world, 4);
	dt_image_begin(world->image);
	before = calls(world);
	assert_true(dt_image_prefetch_and(world->image, more, DT_COUNT(more)));
	assert_int_equal(calls(world), before + 1);
	assert_memory_equal(last[0], world->data + 5 * PAGE + 3, 8);
	assert_memory_equal(last[1], world->data + 9 * PAGE, 8);
	read_page(world, 1);
	read_page(world, 3);
	read_page(world, 4);
	assert_int_equal(calls(world), before + 1);
	read_page(world, 5); /* that was no part of the image */
	assert_int_equal(calls(world), before + 2);

	dt_image_begin(world->image);
	assert_false(dt_image_prefetch_and(world->image, gone, DT_COUNT(gone)));
	before = calls(world);
	read_page(world, 1);
	read_page(world, 3);
	assert_int_equal(calls(world), before);

	dt_image_begin(world->image);
	dt_image_begin(world->image);
	before = calls(world);
	assert_true(dt_image_prefetch_and(world->image, more, DT_COUNT(more)));
	assert_int_equal(calls(world), before + 1);
}

static void test_prefetch_without_pages(void **state)
{
	struct world *world = *state;

	dt_image_prefetch(world->image);
	dt_image_begin(world->image);
	dt_image_prefetch(world->image);
	assert_int_equal(calls(world), 0);
	read_page(world, 3);
}

/* Pages that vanished between looks: the others are fetched, the lost ones fail without another call. */
static void test_prefetch_over_vanished(void **state)
{
	struct world *world = *state;
	struct dt_recorded_range ranges[] = {{BASE, world->data, PAGE}, {BASE + 2 * PAGE, world->data, PAGE}};
	struct dt_mem *base, *image;
	uint64_t before;
	uint8_t byte;

	/* The reader borrows what the ranges point to, so a hole is made by another base over the same addresses: a
	 * first look asks for three pages, one of which never was there. */
	assert_int_equal(dt_mem_open_recorded(ranges, 2, &base), 0);
	assert_int_equal(dt_mem_open_image(base, NULL, &image), 0);
	assert_int_equal(dt_mem_read(image, BASE, &byte, 1), 0);
	assert_int_equal(dt_mem_read(image, BASE + PAGE, &byte, 1), -EFAULT);
	assert_int_equal(dt_mem_read(image, BASE + 2 * PAGE, &byte, 1), 0);
	dt_image_begin(image);
	before = dt_mem_stats(base).calls;
	dt_image_prefetch(image);
	assert_int_equal(dt_mem_stats(base).calls, before + 1);
	assert_int_equal(dt_mem_read(image, BASE + 2 * PAGE, &byte, 1), 0);
	assert_int_equal(byte, world->data[0]);
	assert_int_equal(dt_mem_stats(base).calls, before + 1);
	dt_mem_free(image);
	dt_mem_free(base);
}

static void test_limit(void **state)
{
	struct world *world = *state;
	uint8_t byte;

	/* Refused before anything is read: the buffer is far too small. */
	assert_int_equal(dt_mem_read(world->image, BASE, &byte, DT_IMAGE_LIMIT + 1), -ENOMEM);
	assert_int_equal(calls(world), 0);
	read_page(world, 0);
	/* Faulting pages count as well: a target full of wild pointers cannot make us grow for ever. */
	for (size_t i = 0; i < DT_IMAGE_LIMIT / PAGE - 1; i++)
		assert_int_equal(dt_mem_read(world->image, 0x10000 + i * PAGE, &byte, 1), -EFAULT);
	assert_int_equal(dt_mem_read(world->image, 0x1000, &byte, 1), -ENOMEM);
	read_page(world, 0);
	dt_image_begin(world->image);
	read_page(world, 1);
}

/* An image with an empty pool reads with the bytes of whoever it is lent to, and never sees what is left there. */
/* Reads every other page of so many with one image, and has another one of the pool follow it. */
static struct dt_mem *lead(struct world *world, struct dt_mem *base, struct dt_image_pool *pool, size_t pages)
{
	struct dt_mem *own = world->image, *follower;

	assert_int_equal(dt_mem_open_image(world->base, pool, &world->image), 0);
	assert_int_equal(dt_mem_open_image(base, pool, &follower), 0);
	dt_image_begin(world->image);
	for (size_t i = pages; i-- > 0;)
		read_page(world, 2 * i);
	dt_image_lead(world->image);
	dt_mem_free(world->image);
	world->image = own;
	dt_image_begin(follower);
	dt_image_follow(follower);
	return follower;
}

/* What the first look of one image asks for comes to that of the next one in one call, and not again if nobody asks. */
static void test_follow(void **state)
{
	struct world *world = *state;
	struct dt_image_pool *pool = dt_image_pool_new();
	struct dt_mem *own = world->image;
	uint64_t before = calls(world);

	world->image = lead(world, world->base, pool, 20);
	assert_int_equal(calls(world), before + 20 + 1);
	for (size_t i = 0; i < 5; i++)
		read_page(world, 2 * i);
	assert_int_equal(calls(world), before + 20 + 1);
	dt_image_begin(world->image);
	dt_image_prefetch(world->image);
	before = calls(world);
	read_page(world, 2 * 4);
	assert_int_equal(calls(world), before);
	read_page(world, 2 * 5);
	assert_int_equal(calls(world), before + 1);
	dt_mem_free(world->image);
	world->image = own;
	dt_image_pool_free(pool);
}

/* Contents are never carried over, and no more addresses than fit. */
static void test_follow_is_bounded(void **state)
{
	struct world *world = *state;
	struct dt_image_pool *pool = dt_image_pool_new();
	struct dt_mem *own = world->image;
	uint64_t before;

	world->image = lead(world, world->base, pool, DT_IMAGE_TRAIL + 50);
	assert_int_equal(dt_mem_stats(world->image).bytes, DT_IMAGE_TRAIL * PAGE);
	world->data[2 * 100 * PAGE + 9]++; /* one of those that were read first */
	dt_image_begin(world->image);
	dt_image_follow(world->image);
	before = calls(world);
	read_page(world, 2 * 100);
	assert_int_equal(calls(world), before);
	dt_mem_free(world->image);
	world->image = own;
	dt_image_pool_free(pool);
}

/* Where the process is another one, the pages of the last one are soon given up, and none counts as missing for that.
 */
static void test_follow_in_vain(void **state)
{
	struct world *world = *state;
	struct dt_image_pool *pool = dt_image_pool_new();
	const struct dt_recorded_range there[] = {{BASE + 2 * PAGE, world->data + 2 * PAGE, PAGE},
						  {BASE + 2 * 60 * PAGE, world->data + 2 * 60 * PAGE, PAGE}};
	struct dt_mem *base, *follower;
	uint64_t before;
	uint8_t byte;

	assert_int_equal(dt_mem_open_recorded(there, 2, &base), 0);
	follower = lead(world, base, pool, 100);
	assert_true(dt_mem_stats(base).calls < 10);
	before = dt_mem_stats(base).calls;
	assert_int_equal(dt_mem_read(follower, BASE + 2 * PAGE + 9, &byte, 1), 0);
	assert_int_equal(byte, world->data[2 * PAGE + 9]);
	assert_int_equal(dt_mem_stats(base).calls, before);
	for (size_t i = 0; i < 100; i++)
		assert_int_equal(dt_mem_read(follower, BASE + 2 * i * PAGE, &byte, 1), i == 1 || i == 60 ? 0 : -EFAULT);
	dt_mem_free(follower);
	dt_mem_free(base);
	dt_image_pool_free(pool);
}

static void test_lent_bytes(void **state)
{
	struct world *world = *state;
	struct dt_image_pool *owners[] = {dt_image_pool_new(), dt_image_pool_new()};
	struct dt_image_pool *empty = dt_image_pool_new_empty();
	struct dt_mem *own = world->image, *lent, *other;
	uint8_t byte;

	assert_int_equal(dt_mem_open_image(world->base, empty, &lent), 0);
	assert_int_equal(dt_mem_open_image(world->base, owners[1], &other), 0);
	dt_image_begin(lent);
	dt_image_prefetch(lent);
	assert_int_equal(dt_mem_read(lent, BASE, &byte, 1), -ENOMEM);
	for (size_t i = 0; i < 6; i++) {
		dt_image_pool_lend(empty, owners[i % 2]);
		world->image = lent;
		read_page(world, i);
		read_page(world, 20);
		world->image = other;
		read_page(world, 30 + i);
		world->image = lent;
		read_page(world, 20);
		world->data[20 * PAGE + 9]++; /* read again, and not what it was */
		dt_image_begin(lent);
		dt_image_prefetch(lent);
		read_page(world, 20);
		dt_image_pool_lend(empty, NULL);
		assert_int_equal(dt_mem_read(lent, BASE, &byte, 1), -ENOMEM);
	}
	world->image = own;
	dt_mem_free(other);
	dt_image_pool_free(owners[1]);
	dt_image_pool_free(owners[0]);
	dt_mem_free(lent); /* which outlives whoever lent to it */
	dt_image_pool_free(empty);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_lent_bytes, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_follow, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_follow_is_bounded, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_follow_in_vain, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_one_call_per_page, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_copy_holds_until_begin, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_spans, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_faults_are_remembered, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_joined_pages_fail_singly, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_prefetch, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_prefetch_forgets, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_prefetch_forgets_later, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_prefetch_and_more, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_prefetch_without_pages, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_prefetch_over_vanished, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_limit, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
