/*
 * Something that happens once, and that other threads wait for. Limits are by CLOCK_MONOTONIC: what semaphores and
 * joins offer everywhere is the time of day, which may be set back at any moment.
 */
#ifndef DT_BASE_EVENT_H
#define DT_BASE_EVENT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct dt_event {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	bool happened;
};

/* 0 or a negative errno. */
int dt_event_init(struct dt_event *event);

/* Nobody may wait for it any more. */
void dt_event_destroy(struct dt_event *event);

/* It happens; waiters go on. The last touch of the event by the caller. */
void dt_event_happen(struct dt_event *event);

void dt_event_await(struct dt_event *event);

/* The same until dt_clock_ns() is until_ns; true if it has happened. */
bool dt_event_await_until(struct dt_event *event, uint64_t until_ns);

#endif
