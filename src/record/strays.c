/* CPU time of threads that were not met: see strays.h. */
#include "record/strays.h"

#define ASK_NS   UINT64_C(100000000)
#define DOUBT_NS UINT64_C(200000000) /* so long a thread that is not known is no thread of Python */

static bool may_have(const struct dt_recorded *thread)
{
	return thread->began && thread->state == DT_STATE_RUNNING && !thread->waits && dt_recorded_lives(thread);
}

void dt_strays_give(struct dt_strays *strays, struct dt_recorded *threads, size_t count)
{
	uint64_t left = 0, part;

	if (!strays->owed_ns)
		return;
	for (size_t i = 0; i < count; i++)
		left += may_have(&threads[i]);
	for (size_t i = 0; i < count && left; i++) {
		if (!may_have(&threads[i]))
			continue;
		part = strays->owed_ns / left--;
		threads[i].spent_ns += part;
		strays->owed_ns -= part;
	}
}

/* Not all threads are known: nothing is concluded for now, and of the time until they are if that takes long. */
static void doubt(struct dt_strays *strays, uint64_t now_ns)
{
	if (!strays->doubt_ns)
		strays->doubt_ns = now_ns;
	if (now_ns - strays->doubt_ns >= DOUBT_NS)
		strays->based = false;
}

/* Where no thread that is known has spent anything none has begun another one. */
void dt_strays_note(struct dt_strays *strays, struct dt_recorder *recorder, bool come_and_go, uint64_t told_ns,
		    uint64_t now_ns)
{
	bool soon = strays->based && (come_and_go || strays->doubt_ns);
	uint64_t clock_ns, known_ns;

	strays->known_ns += told_ns;
	if ((!soon && now_ns < strays->asked_ns + ASK_NS) ||
	    (strays->based && strays->known_ns == strays->asked_known_ns))
		return;
	strays->asked_ns = now_ns;
	strays->asked_known_ns = strays->known_ns;
	known_ns = strays->known_ns + strays->owed_ns;
	if (!dt_recorder_spent(recorder, &clock_ns)) {
		doubt(strays, now_ns);
		return;
	}
	strays->doubt_ns = 0;
	if (!strays->based)
		strays->base_ns = clock_ns - known_ns; /* may be below zero: only the difference counts */
	else if ((int64_t)(clock_ns - strays->base_ns - known_ns) > 0)
		strays->owed_ns += clock_ns - strays->base_ns - known_ns;
	strays->based = true;
}
