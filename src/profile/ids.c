/* Numbers of the file: see ids.h. */
#include "profile/ids.h"

#include <errno.h>
#include <stdlib.h>

int file_ids_add(struct file_ids *ids, uint32_t number, uint32_t id)
{
	struct file_span *last = ids->span_count ? &ids->spans[ids->span_count - 1] : NULL;

	if (!ids->to || ids->count == ids->capacity) {
		size_t capacity = ids->capacity ? ids->capacity * 2 : 64;
		uint32_t *to = realloc(ids->to, capacity * sizeof(*to));

		if (!to)
			return -ENOMEM;
		ids->to = to;
		ids->capacity = capacity;
	}
	if (!last || number != last->first + last->count) {
		if (!ids->spans || ids->span_count == ids->span_capacity) {
			size_t capacity = ids->span_capacity ? ids->span_capacity * 2 : 4;
			struct file_span *spans = realloc(ids->spans, capacity * sizeof(*spans));

			if (!spans)
				return -ENOMEM;
			ids->spans = spans;
			ids->span_capacity = capacity;
		}
		last = &ids->spans[ids->span_count++];
		*last = (struct file_span){.first = number, .offset = ids->count};
	}
	ids->to[ids->count++] = id;
	last->count++;
	ids->next = number + 1;
	return 0;
}

bool file_ids_find(const struct file_ids *ids, uint64_t number, uint32_t *id)
{
	size_t low = 0, high = ids->span_count;

	*id = 0;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct file_span *span = &ids->spans[middle];

		if (number < span->first) {
			high = middle;
		} else if (number - span->first >= span->count) {
			low = middle + 1;
		} else {
			*id = ids->to[span->offset + (number - span->first)];
			return *id != 0;
		}
	}
	return false;
}

void file_ids_release(struct file_ids *ids)
{
	free(ids->spans);
	free(ids->to);
	*ids = (struct file_ids){0};
}
