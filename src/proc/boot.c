/* See boot.h. */
#include "proc/boot.h"

#include <stdlib.h>
#include <string.h>

#include "base/small_file.h"

bool dt_boot_shifted(const char *offsets)
{
	const char *line = strstr(offsets, "boottime");
	char *rest;

	if (!line)
		return false;
	return strtoll(line + strlen("boottime"), &rest, 10) != 0 || strtoll(rest, NULL, 10) != 0;
}

void dt_boot_id(char id[DT_BOOT_ID])
{
	char offsets[256];

	dt_small_file("/proc/sys/kernel/random/boot_id", id, DT_BOOT_ID);
	id[strcspn(id, "\n")] = '\0';
	dt_small_file("/proc/self/timens_offsets", offsets, sizeof(offsets));
	if (dt_boot_shifted(offsets))
		id[0] = '\0';
}
