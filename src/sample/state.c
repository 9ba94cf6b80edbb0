/* States: see state.h. */
#include "sample/state.h"

#include <string.h>

enum dt_state dt_state_by_letter(const struct dt_proc *proc, int tid)
{
	struct dt_thread_stat stat;

	if (dt_thread_stat(proc, tid, &stat) < 0)
		return DT_STATE_UNKNOWN;
	switch (stat.state) {
	case 'R':
		return DT_STATE_RUNNING;
	case 'D':
		return DT_STATE_SYSCALL;
	case 'S':
		return DT_STATE_SLEEPING;
	case 'T':
	case 't':
		return DT_STATE_STOPPED;
	default:
		return DT_STATE_UNKNOWN;
	}
}

enum dt_state dt_state_of_call(const struct dt_machine *machine, const struct dt_thread_call *call, uint64_t gil_start,
			       uint64_t gil_end, const char **name)
{
	*name = NULL;
	if (call->running)
		return DT_STATE_RUNNING;
	*name = dt_machine_call(machine, call->number);
	if (*name && !strcmp(*name, "futex") && call->args[0] >= gil_start && call->args[0] < gil_end)
		return DT_STATE_GIL_WAIT;
	return dt_call_waits(*name) ? DT_STATE_SLEEPING : DT_STATE_SYSCALL;
}

enum dt_state dt_state_without_call(const struct dt_proc *proc, int tid)
{
	enum dt_state state = dt_state_by_letter(proc, tid);

	return state == DT_STATE_SYSCALL ? DT_STATE_SLEEPING : state;
}

enum dt_state dt_state_of(const struct dt_proc *proc, int tid, uint64_t gil_start, uint64_t gil_end, const char **name)
{
	struct dt_thread_call call;

	*name = NULL;
	if (!tid)
		return DT_STATE_UNKNOWN;
	if (dt_thread_call(proc, tid, &call) < 0)
		return dt_state_by_letter(proc, tid);
	if (!call.running && call.number < 0)
		return dt_state_without_call(proc, tid);
	return dt_state_of_call(dt_machine_here(), &call, gil_start, gil_end, name);
}
