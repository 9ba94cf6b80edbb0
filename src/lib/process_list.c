/* Lists of processes: see process_list.h and the public header. */
#include "lib/process_list.h"

#include "base/util.h"

struct dt_process_list *dt_process_list_new(void)
{
	struct dt_process_list *list = calloc(1, sizeof(*list));

	if (list)
		dt_arena_init(&list->arena, 0);
	return list;
}

struct dt_process *dt_process_list_add(struct dt_process_list *list)
{
	if (list->count == list->capacity) {
		size_t capacity = list->capacity ? list->capacity * 2 : 64;
		struct dt_process *items = reallocarray(list->items, capacity, sizeof(*items));

		if (!items)
			return NULL;
		list->items = items;
		list->capacity = capacity;
	}
	list->items[list->count] = (struct dt_process){0};
	return &list->items[list->count++];
}

size_t dt_process_list_count(const struct dt_process_list *list)
{
	return list->count;
}

const struct dt_process *dt_process_list_at(const struct dt_process_list *list, size_t index)
{
	return index < list->count ? &list->items[index] : NULL;
}

void dt_process_list_free(struct dt_process_list *list)
{
	if (!list)
		return;
	dt_arena_release(&list->arena);
	free(list->items);
	free(list);
}
