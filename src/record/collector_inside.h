/* The inside of the collector. Not for other rooms. */
#ifndef DT_RECORD_COLLECTOR_INSIDE_H
#define DT_RECORD_COLLECTOR_INSIDE_H

#include "record/collector.h"
#include "record/message.h"

struct collected_thread {
	uint32_t serial;
	uint32_t id;                    /* in the profile */
	uint32_t stack;                 /* in the profile */
	uint32_t call;                  /* string */
	uint64_t since_ns, since_looks; /* of the process, when the open run began */
	uint64_t cpu_ns;                /* spent in it */
	uint64_t owed_ns;               /* spent since it was last met running, and met blocked */
	uint8_t state, flags;
	bool open;
	bool other; /* its entry is for one thread after the other */
};

struct collected_process {
	uint32_t id;           /* in the profile; 0: not there */
	uint32_t unused;       /* what it was there, if it left before any round */
	uint64_t now_ns;       /* end of its last round */
	uint64_t seen_ns;      /* when the look of that was: time up to then may not have been told yet */
	uint64_t rounds;       /* so far */
	uint64_t looks;        /* of them: the others tell of time alone */
	bool behind;           /* its time began as far behind the clock as it ends */
	uint32_t *functions;   /* of code ids, from the oldest on; 0: the profile had no room for it */
	size_t function_count; /* ids there is room for */
	uint32_t oldest_code;
	struct collected_thread *threads;
	size_t count, capacity;
	uint32_t own;    /* threads that got an entry of their own */
	uint32_t *free;  /* entries for other threads that nobody has now */
	uint32_t others; /* entries for other threads; there is room for as many in `free` */
	uint32_t free_count;
};

struct dt_collector {
	struct dt_profile *profile;
	struct dt_collector_limits limits;
	struct collected_process *processes; /* by subject - 1 */
	size_t count, capacity;
	uint32_t too_many;     /* the stack that stands for those that there is no room for; 0: there was for all */
	const char *last_call; /* the same few names again and again */
	uint32_t last_call_id;
};

int collect_code(struct dt_collector *collector, struct collected_process *process,
		 const struct dt_message_code *message);

/* The stack of a change, which tells one. */
int collect_stack(struct dt_collector *collector, const struct collected_process *process,
		  const struct dt_message_change *message, uint32_t *stack);

/* Gives a thread its entry, and takes it back when the thread is gone. */
int collect_entry(struct dt_collector *collector, struct collected_process *process,
		  const struct dt_profile_thread *told, struct collected_thread *thread);
void collect_entry_free(struct collected_process *process, const struct collected_thread *thread);

#endif
