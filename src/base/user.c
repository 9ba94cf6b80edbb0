/* Names of users: see user.h. The file only: the name service would load shared libraries into a program without any.
 */
#include "base/user.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A line is "name:password:uid:...". */
static bool is_of(const char *line, uid_t uid)
{
	const char *number = strchr(line, ':');
	char *end;

	number = number ? strchr(number + 1, ':') : NULL;
	return number && strtoul(number + 1, &end, 10) == uid && end != number + 1 && *end == ':';
}

void dt_user_name(uid_t uid, char *name, size_t size)
{
	FILE *file = fopen("/etc/passwd", "re");
	char *line = NULL;
	size_t room = 0;

	name[0] = '\0';
	if (!file)
		return;
	while (!name[0] && getline(&line, &room, file) > 0)
		if (is_of(line, uid))
			snprintf(name, size, "%.*s", (int)strcspn(line, ":"), line);
	free(line);
	fclose(file);
}
