/* The survey of a host as the formats want it: an array of rows, busiest first. */
#include "format/processes.h"

#include <stdlib.h>

#include "base/util.h"

static int collect(const struct dt_process_list *list, const struct dt_process ***rows, size_t *count)
{
	*count = dt_process_list_count(list);
	*rows = calloc(*count ? *count : 1, sizeof(struct dt_process *));
	if (!*rows)
		return DT_EMEMORY;
	for (size_t i = 0; i < *count; i++)
		(*rows)[i] = dt_process_list_at(list, i);
	dt_processes_sort(*rows, *count);
	return 0;
}

int dt_render_processes_text(const struct dt_process_list *list, const struct dt_render *render, FILE *out)
{
	dt_auto_free const struct dt_process **rows = NULL;
	size_t count;
	int code = collect(list, &rows, &count);

	return code ? code : dt_processes_text(rows, count, render, out);
}

int dt_render_processes_json(const struct dt_process_list *list, FILE *out)
{
	dt_auto_free const struct dt_process **rows = NULL;
	size_t count;
	int code = collect(list, &rows, &count);

	return code ? code : dt_processes_json(rows, count, out);
}
