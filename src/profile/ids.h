/*
 * Numbers of a .darter file, and those that the profile has given instead: the same, as long as no block was left out.
 * Numbers in a row are one span; between two spans are those that are lost, which takes no memory however many a file
 * claims them to be.
 */
#ifndef DT_PROFILE_IDS_H
#define DT_PROFILE_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct file_span {
	uint32_t first;
	size_t offset, count; /* in `to` */
};

/* All zero is an empty one. */
struct file_ids {
	struct file_span *spans;
	size_t span_count, span_capacity;
	uint32_t *to; /* 0: it speaks of something that is lost, and is lost itself */
	size_t count, capacity;
	uint32_t next; /* no number from here on has been seen */
};

/* `number` is `next` or larger, and below UINT32_MAX. 0 or -ENOMEM. */
int file_ids_add(struct file_ids *ids, uint32_t number, uint32_t id);

/* False and 0: it is lost, or never was. */
bool file_ids_find(const struct file_ids *ids, uint64_t number, uint32_t *id);

void file_ids_release(struct file_ids *ids);

#endif
