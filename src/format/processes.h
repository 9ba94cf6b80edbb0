/* The process list as rows: sorted and rendered without knowing where they come from. */
#ifndef DT_FORMAT_PROCESSES_H
#define DT_FORMAT_PROCESSES_H

#include <darter/darter.h>

/* Busiest first, then by pid. */
void dt_processes_sort(const struct dt_process **rows, size_t count);

int dt_processes_text(const struct dt_process *const *rows, size_t count, const struct dt_render *render, FILE *out);
int dt_processes_json(const struct dt_process *const *rows, size_t count, FILE *out);

#endif
