/* The text of /proc/PID/cgroup: what is made of it is short and safe to print. */
#include "fuzz.h"

#include <string.h>

#include "base/util.h"
#include "proc/proc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	dt_auto_free char *text = strndup((const char *)data, size);
	struct dt_arena arena;
	const char *found;

	MUST(text);
	dt_arena_init(&arena, 0);
	found = dt_container_parse(text, &arena);
	if (found) {
		MUST(*found && strlen(found) < 128);
		for (const char *p = found; *p; p++)
			MUST((unsigned char)*p >= 0x20 && *p != 0x7f);
	}
	dt_arena_release(&arena);
	return 0;
}
