/* Who of the suspects has a GIL, and which GILs are somebody else's than they say: see suspects.h. */
#include "sample/suspects.h"

bool dt_suspects_names(const struct dt_suspects *suspects, int tid)
{
	for (size_t i = 0; i < suspects->gils; i++) {
		const struct dt_suspect *holder = &suspects->list[i];

		if (holder->words.locked == 1 && holder->thread && holder->tid == tid && !holder->odd)
			return true;
	}
	return false;
}

/* A thread has one GIL at a time. So of several that name the same thread all but the first are somebody else's, and so
 * are those that name a blocked one, as far as threads run that no GIL names. */
static bool spare(const struct dt_suspects *suspects, size_t gil)
{
	const struct dt_suspect *holder = &suspects->list[gil];

	if (holder->words.locked != 1 || !holder->thread)
		return false;
	if (!holder->running || holder->odd)
		return true;
	for (size_t i = 0; i < gil; i++)
		if (suspects->list[i].words.locked == 1 && suspects->list[i].tid == holder->tid)
			return true;
	return false;
}

int dt_suspects_stranger(const struct dt_suspects *suspects)
{
	int found = 0;

	for (size_t i = 0; i < suspects->count; i++) {
		int tid = suspects->list[i].tid;

		if (!suspects->list[i].running || tid == found || dt_suspects_names(suspects, tid))
			continue;
		if (found)
			return 0;
		found = tid;
	}
	return found;
}

bool dt_suspects_has_gil(const struct dt_suspects *suspects, int tid)
{
	if (dt_suspects_names(suspects, tid))
		return true;
	if (!suspects->everybody || dt_suspects_stranger(suspects) != tid)
		return false;
	for (size_t i = 0; i < suspects->gils; i++)
		if (spare(suspects, i))
			return true;
	return false;
}

bool dt_suspects_borrowed(const struct dt_suspects *suspects, const struct dt_suspect *suspect)
{
	return suspects->everybody && spare(suspects, (size_t)(suspect - suspects->list));
}
