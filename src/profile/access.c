/* Reading the model: see profile.h. */
#include <string.h>

#include "profile/inside.h"

struct dt_profile_counts dt_profile_counts(const struct dt_profile *profile)
{
	return (struct dt_profile_counts){
	    .strings = (uint32_t)profile->strings.count,
	    .functions = (uint32_t)profile->functions.count,
	    .locations = (uint32_t)profile->locations.count,
	    .stacks = (uint32_t)profile->stacks.count,
	    .processes = (uint32_t)profile->processes.count,
	    .threads = (uint32_t)profile->threads.count,
	    .runs = profile->run_count,
	};
}

const char *dt_profile_text(const struct dt_profile *profile, uint32_t string)
{
	return profile_string_at(profile, string)->text;
}

const struct dt_profile_function *dt_profile_function_at(const struct dt_profile *profile, uint32_t id)
{
	return (const struct dt_profile_function *)profile->functions.items + id;
}

const struct dt_profile_location *dt_profile_location_at(const struct dt_profile *profile, uint32_t id)
{
	return (const struct dt_profile_location *)profile->locations.items + id;
}

const struct dt_profile_stack *dt_profile_stack_at(const struct dt_profile *profile, uint32_t id)
{
	return (const struct dt_profile_stack *)profile->stacks.items + id;
}

const struct dt_profile_process *dt_profile_process_at(const struct dt_profile *profile, uint32_t id)
{
	return &profile_process_entry(profile, id)->process;
}

const struct dt_profile_thread *dt_profile_thread_at(const struct dt_profile *profile, uint32_t id)
{
	return &profile_thread_entry(profile, id)->thread;
}

const struct dt_profile_meta *dt_profile_meta(const struct dt_profile *profile)
{
	return &profile->meta;
}

const struct dt_profile_run *dt_profile_runs(const struct dt_profile *profile)
{
	return profile->runs;
}

bool dt_profile_too_many(const struct dt_profile *profile, uint32_t function)
{
	const struct dt_profile_function *mark = dt_profile_function_at(profile, function);

	return mark->kind == DT_FUNCTION_MARK && !strcmp(dt_profile_text(profile, mark->name), DT_TOO_MANY_STACKS);
}

bool dt_profile_other(const struct dt_profile_thread *thread)
{
	return !thread->tid && thread->ident && thread->ident <= DT_PROFILE_THREADS && thread->name;
}

bool dt_profile_idle(enum dt_state state)
{
	return state == DT_STATE_SLEEPING || state == DT_STATE_STOPPED;
}

bool dt_profile_run_idle(const struct dt_profile_run *run)
{
	return dt_profile_idle((enum dt_state)run->state) &&
	       !(run->state == DT_STATE_SLEEPING && run->flags & DT_RUN_GIL);
}
