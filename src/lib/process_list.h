/* A list of processes, and the texts in it. The inside of src/lib. */
#ifndef DT_LIB_PROCESS_LIST_H
#define DT_LIB_PROCESS_LIST_H

#include "base/arena.h"
#include "base/error.h"

struct dt_process_list {
	struct dt_process *items; /* by pid */
	size_t count, capacity;
	struct dt_arena arena; /* holds all texts of the items */
};

/* NULL if out of memory. */
struct dt_process_list *dt_process_list_new(void);

/* A cleared item at the end; NULL if out of memory. Earlier pointers to items become invalid. */
struct dt_process *dt_process_list_add(struct dt_process_list *list);

#endif
