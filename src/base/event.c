/* Events: see event.h. */
#include "base/event.h"

#include <time.h>

int dt_event_init(struct dt_event *event)
{
	pthread_condattr_t attributes;
	int rc = pthread_condattr_init(&attributes);

	event->happened = false;
	if (rc)
		return -rc;
	rc = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	if (!rc)
		rc = pthread_cond_init(&event->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	if (rc)
		return -rc;
	rc = pthread_mutex_init(&event->mutex, NULL);
	if (rc)
		pthread_cond_destroy(&event->changed);
	return -rc;
}

void dt_event_destroy(struct dt_event *event)
{
	pthread_cond_destroy(&event->changed);
	pthread_mutex_destroy(&event->mutex);
}

void dt_event_happen(struct dt_event *event)
{
	pthread_mutex_lock(&event->mutex);
	event->happened = true;
	pthread_cond_broadcast(&event->changed); /* with the mutex in hand: a waiter may destroy the event at once */
	pthread_mutex_unlock(&event->mutex);
}

void dt_event_await(struct dt_event *event)
{
	pthread_mutex_lock(&event->mutex);
	while (!event->happened)
		pthread_cond_wait(&event->changed, &event->mutex);
	pthread_mutex_unlock(&event->mutex);
}

bool dt_event_await_until(struct dt_event *event, uint64_t until_ns)
{
	struct timespec when = {.tv_sec = (time_t)(until_ns / 1000000000u), .tv_nsec = (long)(until_ns % 1000000000u)};
	bool happened;

	pthread_mutex_lock(&event->mutex);
	while (!event->happened && pthread_cond_timedwait(&event->changed, &event->mutex, &when) == 0)
		;
	happened = event->happened;
	pthread_mutex_unlock(&event->mutex);
	return happened;
}
