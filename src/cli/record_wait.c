/* Waiting for the first process where none matches yet. The output is known to be writable by then, and the recording
 * has not begun: its time is counted from that process on. */
#include <time.h>

#include "base/error.h"
#include "base/util.h"
#include "cli/record.h"
#include "cli/signals.h"

int dt_record_no_match(struct dt_record_run *run, struct dt_error *err)
{
	if (!run->command->wait) {
		dt_hint(err, "--wait waits until there is one");
		return err->code;
	}
	dt_record_tell(run, "%s; the first one is waited for (Ctrl-C ends it)", err->message);
	return 0;
}

int dt_record_await(struct dt_record_run *run, struct dt_error *err)
{
	int code = 0;

	if (!run->command->wait || run->picks.count)
		return 0;
	while (!code && !run->picks.count && !dt_signals_end()) {
		const long rest_ns = (long)(dt_arrivals_rest(run->arrivals) * 1e9);
		const int *pids;
		size_t count;

		nanosleep(&(struct timespec){.tv_nsec = rest_ns}, NULL);
		code = dt_arrivals_ask(run->arrivals, &pids, &count, err);
		for (size_t i = 0; i < count && !code; i++)
			code = dt_picks_add(&run->picks, pids[i], false, err);
	}
	if (run->picks.count)
		dt_record_name_anew(run);
	return code;
}
