/* The face: evidence, verdict, words. */
#include "doctor/refusal.h"

#include "doctor/ways.h"

int dt_refusal_explain(int pid, struct dt_error *err)
{
	struct dt_evidence evidence;

	dt_evidence_self(&evidence.self);
	dt_evidence_target(pid, &evidence.target);
	return dt_refusal_say(dt_refusal_judge(&evidence), &evidence, err);
}

void dt_refusal_short(int pid, char *text, size_t size)
{
	struct dt_evidence evidence;

	dt_evidence_self(&evidence.self);
	dt_evidence_target(pid, &evidence.target);
	dt_refusal_say_short(dt_refusal_judge(&evidence), &evidence, text, size);
}

void dt_refusal_hint_files(struct dt_error *err)
{
	struct dt_evidence_self self;

	dt_evidence_self(&self);
	if (self.euid != 0)
		dt_way_root(&self, err);
}
