/* The text of a thread's stat and syscall files. */
#include "fuzz.h"

#include <errno.h>
#include <string.h>

#include "proc/proc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct dt_thread_stat stat;
	struct dt_thread_call call;
	struct dt_proc_info info;
	int rc = dt_thread_stat_parse(text, size, &stat);

	MUST(rc == 0 || rc == -EIO);
	if (rc == 0)
		MUST(strnlen(stat.comm, sizeof(stat.comm)) < sizeof(stat.comm) && stat.processor >= 0);
	rc = dt_proc_info_parse(text, size, &info);
	MUST(rc == 0 || rc == -EIO);
	dt_proc_image_parse(text, size);
	rc = dt_thread_call_parse(text, size, &call);
	MUST(rc == 0 || rc == -EIO);
	if (rc == 0)
		MUST(call.number >= -1);
	return 0;
}
