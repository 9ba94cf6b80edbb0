/*
 * Puts what the sampling threads tell into a profile: codes become functions, frames locations and stacks, rounds the
 * runs of threads. It belongs to the thread that looks after the recording.
 */
#ifndef DT_RECORD_COLLECTOR_H
#define DT_RECORD_COLLECTOR_H

#include "profile/profile.h"
#include "record/ring.h"

struct dt_collector;

/* Beyond these, threads share an entry one after the other, which has a number instead of an ident (see
 * dt_profile_other()), and stacks are told as DT_TOO_MANY_STACKS. */
struct dt_collector_limits {
	uint32_t process_threads; /* of one process, that have an entry of their own */
	uint32_t threads;         /* of all processes */
	uint32_t stacks;
};

/* The profile is borrowed. limits: NULL for the usual ones. NULL if out of memory. */
struct dt_collector *dt_collector_new(struct dt_profile *profile, const struct dt_collector_limits *limits);
void dt_collector_free(struct dt_collector *collector);

/* A process joins: subject is its number in messages, counted up from 1. 0 or -ENOMEM. */
int dt_collector_join(struct dt_collector *collector, uint32_t subject, const struct dt_profile_process *process);

/* It has left; what was told of it before is collected first. */
int dt_collector_leave(struct dt_collector *collector, uint32_t subject, uint64_t at_ns);

/* Collects what is in a ring, up to a round of which an earlier one is in another ring: that one is to be drained then,
 * and this one again. Adds the number of messages. 0 or -ENOMEM. */
int dt_collector_drain(struct dt_collector *collector, struct dt_ring *ring, size_t *collected);

/* Puts the runs that go on into the profile as far as they have come, so that a file gets them. last: nothing follows.
 */
int dt_collector_settle(struct dt_collector *collector, bool last);

#endif
