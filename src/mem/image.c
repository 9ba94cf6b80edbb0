/*
 * A page-wise copy for one look.
 *
 *     slots[hash]  --index-->  pages[index]  {address, asked, there}
 *                              data of page i: blocks[i / BLOCK_PAGES] + i % BLOCK_PAGES pages
 *
 * A slot counts only if it bears the number of the current look, so forgetting everything is one increment. Blocks are
 * never moved or given back before the end, and arrays keep their size: a look that resembles the last one allocates
 * nothing. A page that could not be read stays known as such until the next look.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "mem/reader.h"

#define PAGE        DT_IMAGE_PAGE
#define PAGE_LIMIT  (DT_IMAGE_LIMIT / PAGE)
#define BLOCK_PAGES ((size_t)256)
#define BLOCKS      (PAGE_LIMIT / BLOCK_PAGES)
#define BATCH       1024
#define KEEP_LOOKS  2  /* a page that was not asked for in so many looks is not fetched ahead any more */
#define KEEP_LONGER 32 /* where there are few pages: one more with the others costs less than one that is missed */
#define FEW_PAGES   32
#define NEVER       0                         /* the look in which a page was asked for that nobody has asked for yet */
#define FIRST_LOOK  (NEVER + KEEP_LONGER + 1) /* so that such a page is not fetched ahead again */
#define STRAYS      4                         /* ranges of a trail that are not there, before the rest is given up */
#define FIRST_SLOTS ((size_t)256)             /* for 128 pages: a look at an ordinary process has half as many */

struct slot {
	uint64_t page;
	uint32_t look;
	uint32_t index;
};

struct page {
	uint64_t address;
	uint32_t asked; /* look in which it was last asked for */
	bool there;
};

struct page_list {
	struct page *items;
	size_t count, capacity;
};

/* What only the look that is being taken needs: several images may share it. */
struct store {
	const struct image *user; /* whose look it is */
	uint8_t *blocks[BLOCKS];
	struct dt_range batch[BATCH]; /* pages entered, but not yet fetched: the last ones of `now` */
	uint64_t trail[DT_IMAGE_TRAIL];
	size_t trail_count;
};

struct dt_image_pool {
	struct store *store; /* NULL: it is one that borrows, and nothing is lent to it */
	bool borrows;
};

struct image {
	struct dt_mem mem;
	struct dt_mem *base;
	struct dt_image_pool *pool;
	bool own_pool;
	struct slot *slots;
	size_t slot_count;            /* a power of two, at least twice the number of pages */
	uint32_t look;                /* FIRST_LOOK and up */
	int error;                    /* why pages are missing, if it is more than -EFAULT: holds for the whole look */
	struct page_list now, before; /* pages of this look and of the last one */
	size_t batch_count, batch_first;
};

static uint8_t *page_data(const struct image *image, size_t index)
{
	return image->pool->store->blocks[index / BLOCK_PAGES] + index % BLOCK_PAGES * PAGE;
}

/* The slot that holds the page, or the free one where it belongs. */
static struct slot *find_slot(const struct image *image, uint64_t page)
{
	size_t mask = image->slot_count - 1;
	size_t at = (size_t)((page / PAGE * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & mask;

	while (image->slots[at].look == image->look && image->slots[at].page != page)
		at = (at + 1) & mask;
	return &image->slots[at];
}

static int grow_slots(struct image *image)
{
	size_t count = image->slot_count * 2;
	struct slot *slots = calloc(count, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	free(image->slots);
	image->slots = slots;
	image->slot_count = count;
	for (size_t i = 0; i < image->now.count; i++) {
		struct slot *slot = find_slot(image, image->now.items[i].address);

		*slot = (struct slot){image->now.items[i].address, image->look, (uint32_t)i};
	}
	return 0;
}

static int grow_list(struct page_list *list)
{
	size_t capacity = list->capacity ? list->capacity * 2 : 256;
	struct page *items = realloc(list->items, capacity * sizeof(*items));

	if (!items)
		return -ENOMEM;
	list->items = items;
	list->capacity = capacity;
	return 0;
}

/* Makes room for one more page in all that holds pages. */
static int make_room(struct image *image)
{
	size_t index = image->now.count;
	int rc = 0;

	if (index >= PAGE_LIMIT)
		return -ENOMEM;
	if (index == image->now.capacity)
		rc = grow_list(&image->now);
	if (rc == 0 && (index + 1) * 2 > image->slot_count)
		rc = grow_slots(image);
	if (rc == 0 && !image->pool->store->blocks[index / BLOCK_PAGES]) {
		image->pool->store->blocks[index / BLOCK_PAGES] = malloc(BLOCK_PAGES * PAGE);
		if (!image->pool->store->blocks[index / BLOCK_PAGES])
			rc = -ENOMEM;
	}
	return rc;
}

/* A range of the batch failed: its pages one by one, because neighbours were joined. */
static void fetch_singly(struct image *image, const struct dt_range *range, size_t index)
{
	size_t pages = range->size / PAGE;

	for (size_t i = 0; i < pages && pages > 1; i++) {
		int rc = dt_mem_read(image->base, range->address + i * PAGE, page_data(image, index + i), PAGE);

		image->now.items[index + i].there = rc == 0;
		if (rc == 0)
			image->mem.stats.bytes += PAGE;
		else if (rc != -EFAULT)
			image->error = rc;
	}
}

/* Fetches the batch, going on behind what fails, so many times. A range that fails is the first of the next call: only
 * then is it known why. Returns up to which page it was tried. */
static size_t fetch_over(struct image *image, size_t failures)
{
	uint64_t calls = image->base->stats.calls;
	size_t index = image->batch_first, done = 0;

	while (done < image->batch_count && !image->error) {
		ssize_t got = dt_mem_gather(image->base, image->pool->store->batch + done, image->batch_count - done);

		if (got == -EFAULT && failures-- == 0)
			break;
		if (got == -EFAULT) {
			fetch_singly(image, &image->pool->store->batch[done], index);
			index += image->pool->store->batch[done++].size / PAGE;
		} else if (got < 0) {
			image->error = (int)got;
		}
		for (; got > 0; got--) {
			size_t pages = image->pool->store->batch[done].size / PAGE;

			image->mem.stats.bytes += image->pool->store->batch[done++].size;
			while (pages--)
				image->now.items[index++].there = true;
		}
	}
	image->batch_count = 0;
	image->mem.stats.calls += image->base->stats.calls - calls;
	return index;
}

static void fetch_batch(struct image *image)
{
	fetch_over(image, SIZE_MAX);
}

/* Enters a page, to be fetched by the next fetch_batch(). Pages that follow each other here and there share a range. */
static int enter_page(struct image *image, uint64_t page, uint32_t asked)
{
	struct slot *slot = find_slot(image, page);
	struct dt_range *last;
	size_t index;
	uint8_t *data;
	int rc;

	if (slot->look == image->look) {
		image->now.items[slot->index].asked = DT_MAX(asked, image->now.items[slot->index].asked);
		return 0;
	}
	rc = make_room(image);
	if (rc < 0)
		return rc;
	if (image->batch_count == BATCH)
		fetch_batch(image);
	index = image->now.count++;
	*find_slot(image, page) = (struct slot){page, image->look, (uint32_t)index};
	image->now.items[index] = (struct page){.address = page, .asked = asked};
	data = page_data(image, index);
	if (image->batch_count == 0)
		image->batch_first = index;
	last = image->batch_count ? &image->pool->store->batch[image->batch_count - 1] : NULL;
	if (last && last->address + last->size == page && (uint8_t *)last->buffer + last->size == data)
		last->size += PAGE;
	else
		image->pool->store->batch[image->batch_count++] = (struct dt_range){page, data, PAGE};
	return 0;
}

/* Enters all pages of a range. */
static int enter_range(struct image *image, const struct dt_range *range)
{
	uint64_t page = range->address & ~(uint64_t)(PAGE - 1);
	uint64_t last;

	if (range->size == 0)
		return 0;
	if (range->size - 1 > UINT64_MAX - range->address)
		return -EFAULT;
	if (range->size > DT_IMAGE_LIMIT)
		return -ENOMEM;
	last = (range->address + range->size - 1) & ~(uint64_t)(PAGE - 1);
	for (;; page += PAGE) {
		int rc = enter_page(image, page, image->look);

		if (rc < 0 || page == last)
			return rc;
	}
}

/* Copies a range all pages of which were entered and fetched. */
static int copy_range(const struct image *image, const struct dt_range *range)
{
	uint64_t address = range->address;
	uint8_t *to = range->buffer;
	size_t left = range->size;

	while (left) {
		size_t skip = (size_t)(address & (PAGE - 1));
		size_t part = DT_MIN(PAGE - skip, left);
		const struct slot *slot = find_slot(image, address - skip);

		if (slot->look != image->look || !image->now.items[slot->index].there)
			return image->error ? image->error : -EFAULT;
		memcpy(to, page_data(image, slot->index) + skip, part);
		to += part;
		left -= part;
		address += part;
	}
	return 0;
}

/* Nearly every read is a field of a page that is there: one look into the table, no batch. */
static const uint8_t *find_known(const struct image *image, uint64_t address, size_t size)
{
	size_t skip = (size_t)(address & (PAGE - 1));
	const struct slot *slot;

	if (size > PAGE - skip)
		return NULL;
	slot = find_slot(image, address - skip);
	if (slot->look != image->look || !image->now.items[slot->index].there)
		return NULL;
	image->now.items[slot->index].asked = image->look;
	return page_data(image, slot->index) + skip;
}

static bool copy_known(const struct image *image, const struct dt_range *range)
{
	const uint8_t *known = find_known(image, range->address, range->size);

	if (known)
		memcpy(range->buffer, known, range->size);
	return known != NULL;
}

static ssize_t gather(struct dt_mem *mem, const struct dt_range *ranges, size_t count)
{
	struct image *image = (struct image *)mem;
	size_t entered;
	int rc = 0;

	if (!image->pool->store)
		return -ENOMEM;
	if (image->pool->store->user != image)
		dt_image_begin(mem); /* another image has been at the pool: nothing is here any more */
	if (count == 1 && copy_known(image, ranges))
		return 1;
	for (entered = 0; entered < count && rc == 0; entered++)
		rc = enter_range(image, &ranges[entered]);
	if (rc < 0)
		entered--;
	if (image->batch_count)
		fetch_batch(image);
	for (size_t i = 0; i < entered; i++) {
		int failed = copy_range(image, &ranges[i]);

		if (failed < 0)
			return i ? (ssize_t)i : failed;
	}
	return entered || rc == 0 ? (ssize_t)entered : rc;
}

void dt_image_begin(struct dt_mem *mem)
{
	struct image *image = (struct image *)mem;
	struct page_list list = image->before;

	if (image->pool->store)
		image->pool->store->user = image;
	image->before = image->now;
	image->now = list;
	image->now.count = 0;
	image->error = 0;
	if (++image->look == 0) { /* the numbers begin again: none of the old ones may seem current */
		memset(image->slots, 0, image->slot_count * sizeof(*image->slots));
		image->before.count = 0;
		image->look = FIRST_LOOK;
	}
}

static int by_address(const void *a, const void *b)
{
	const struct page *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

/* Sorting is for joining neighbours. Pages are entered in this order, so it is done only after new ones came. */
static void enter_again(struct image *image)
{
	struct page *pages = image->before.items;
	size_t count = image->before.count;
	size_t sorted = 1;
	uint32_t keep = count <= FEW_PAGES ? KEEP_LONGER : KEEP_LOOKS;

	while (sorted < count && pages[sorted - 1].address < pages[sorted].address)
		sorted++;
	if (sorted < count)
		qsort(pages, count, sizeof(*pages), by_address);
	for (size_t i = 0; i < count; i++) {
		if (!pages[i].there || image->look - pages[i].asked > keep)
			continue;
		if (enter_page(image, pages[i].address, pages[i].asked) < 0)
			break;
	}
}

void dt_image_prefetch(struct dt_mem *mem)
{
	struct image *image = (struct image *)mem;

	if (!image->pool->store)
		return;
	enter_again(image);
	if (image->batch_count)
		fetch_batch(image);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

void dt_image_lead(struct dt_mem *mem)
{
	const struct image *image = (const struct image *)mem;
	struct store *store = image->pool->store;
	size_t count = 0;

	if (!store || store->user != image)
		return;
	for (size_t i = 0; i < image->now.count && count < DT_IMAGE_TRAIL; i++)
		if (image->now.items[i].there && image->now.items[i].asked == image->look)
			store->trail[count++] = image->now.items[i].address;
	qsort(store->trail, count, sizeof(*store->trail), by_value);
	store->trail_count = count;
}

/* Of pages that were entered and not tried nothing is known. Those entered last go first: no other one was put behind
 * their slots. */
static void forget_untried(struct image *image, size_t tried)
{
	while (image->now.count > tried)
		find_slot(image, image->now.items[--image->now.count].address)->look = 0;
}

void dt_image_follow(struct dt_mem *mem)
{
	struct image *image = (struct image *)mem;
	const struct store *store = image->pool->store;

	for (size_t i = 0; store && i < store->trail_count; i++)
		if (enter_page(image, store->trail[i], NEVER) < 0)
			break;
	if (image->batch_count)
		forget_untried(image, fetch_over(image, STRAYS));
}

/* Fetches the batch and, behind it, what is no part of the image, if all of it can be had in one go. */
static bool fetch_all(struct image *image, const struct dt_range *last, size_t count)
{
	struct dt_range *batch = image->pool->store->batch;
	uint64_t calls = image->base->stats.calls;
	size_t ranges = image->batch_count;
	ssize_t got;

	if (count > BATCH - ranges || image->error)
		return false;
	memcpy(batch + ranges, last, count * sizeof(*last));
	got = dt_mem_gather(image->base, batch, ranges + count);
	image->mem.stats.calls += image->base->stats.calls - calls;
	if (got != (ssize_t)(ranges + count))
		return false;
	for (size_t i = image->batch_first; ranges && i < image->now.count; i++)
		image->now.items[i].there = true;
	for (size_t i = 0; i < ranges; i++)
		image->mem.stats.bytes += batch[i].size;
	image->batch_count = 0;
	return true;
}

bool dt_image_prefetch_and(struct dt_mem *mem, const struct dt_range *last, size_t count)
{
	struct image *image = (struct image *)mem;

	if (!image->pool->store)
		return false;
	enter_again(image);
	if (fetch_all(image, last, count))
		return true;
	if (image->batch_count)
		fetch_batch(image);
	return false;
}

struct dt_image_pool *dt_image_pool_new(void)
{
	struct dt_image_pool *pool = dt_image_pool_new_empty();

	if (!pool)
		return NULL;
	pool->borrows = false;
	pool->store = calloc(1, sizeof(*pool->store));
	if (pool->store)
		return pool;
	free(pool);
	return NULL;
}

struct dt_image_pool *dt_image_pool_new_empty(void)
{
	struct dt_image_pool *pool = calloc(1, sizeof(*pool));

	if (pool)
		pool->borrows = true;
	return pool;
}

/* The store may have been used by images of the borrower: nothing that is there is theirs any more. */
void dt_image_pool_lend(struct dt_image_pool *borrower, struct dt_image_pool *from)
{
	if (borrower->store)
		borrower->store->user = NULL;
	borrower->store = from ? from->store : NULL;
}

/* In the store an image of the borrower may still be named, but nobody looks there for it. */
void dt_image_pool_part(struct dt_image_pool *borrower)
{
	borrower->store = NULL;
}

void dt_image_pool_free(struct dt_image_pool *pool)
{
	if (!pool)
		return;
	for (size_t i = 0; !pool->borrows && i < BLOCKS; i++)
		free(pool->store->blocks[i]);
	if (!pool->borrows)
		free(pool->store);
	free(pool);
}

static void image_free(struct dt_mem *mem)
{
	struct image *image = (struct image *)mem;

	if (image->own_pool)
		dt_image_pool_free(image->pool);
	else if (image->pool && image->pool->store && image->pool->store->user == image)
		image->pool->store->user = NULL;
	free(image->now.items);
	free(image->before.items);
	free(image->slots);
	free(image);
}

static const struct dt_mem_ops image_ops = {gather, image_free};

const uint8_t *dt_image_peek(const struct dt_mem *mem, uint64_t address, size_t size)
{
	const struct image *image = (const struct image *)mem;

	if (mem->ops != &image_ops || !image->pool->store || image->pool->store->user != image)
		return NULL;
	return find_known(image, address, size);
}

int dt_mem_open_image(struct dt_mem *base, struct dt_image_pool *pool, struct dt_mem **mem)
{
	struct image *image = calloc(1, sizeof(*image));

	if (!image)
		return -ENOMEM;
	image->mem = (struct dt_mem){.ops = &image_ops, .stats = {.way = "image"}};
	image->base = base;
	image->look = FIRST_LOOK;
	image->slot_count = FIRST_SLOTS;
	image->slots = calloc(FIRST_SLOTS, sizeof(*image->slots));
	image->own_pool = !pool;
	image->pool = pool ? pool : dt_image_pool_new();
	if (!image->slots || !image->pool) {
		image_free(&image->mem);
		return -ENOMEM;
	}
	*mem = &image->mem;
	return 0;
}
