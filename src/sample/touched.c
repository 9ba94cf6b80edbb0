/*
 * Which threads a look has touched. Of a process with hundreds of them a look touches a few as a rule, and to go over
 * all of the others takes longer than the look, while the target waits for its CPU.
 *
 * What must stay true: where the list of a look is complete (`few`), every other thread is as the look before has left
 * it, but for what dt_recorder_begin() does to those that the look before has touched. Whoever changes a thread touches
 * it first, or says that all may have changed.
 */
#include "base/util.h"
#include "sample/recorder_inside.h"

void dt_recorder_touch_all(struct dt_recorder *r)
{
	r->touched.few = false;
}

void dt_recorder_touch(struct dt_recorder *r, const struct dt_recorded *thread)
{
	uint32_t place = (uint32_t)(thread - r->threads);

	if (!r->touched.few)
		return;
	for (size_t i = 0; i < r->touched.count; i++)
		if (r->touched.list[i] == place)
			return;
	if (r->touched.count == DT_COUNT(r->touched.list))
		r->touched.few = false;
	else
		r->touched.list[r->touched.count++] = place;
}

static bool is_in(const struct dt_touched *touched, uint32_t place)
{
	for (size_t i = 0; i < touched->count; i++)
		if (touched->list[i] == place)
			return true;
	return false;
}

bool dt_recorder_changed(const struct dt_recorder *r, struct dt_touched *changed)
{
	changed->few = r->touched.few && r->touched_before.few;
	changed->count = 0;
	if (!changed->few)
		return false;
	*changed = r->touched;
	for (size_t i = 0; i < r->touched_before.count; i++) {
		uint32_t place = r->touched_before.list[i];

		if (is_in(changed, place))
			continue;
		if (changed->count == DT_COUNT(changed->list))
			return changed->few = false;
		changed->list[changed->count++] = place;
	}
	return true;
}
