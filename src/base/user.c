/* Names of users: see user.h. */
#include "base/user.h"

#include <pwd.h>
#include <stdio.h>

void dt_user_name(uid_t uid, char *name, size_t size)
{
	char buffer[4096];
	struct passwd entry;
	struct passwd *result = NULL;

	name[0] = '\0';
	if (getpwuid_r(uid, &entry, buffer, sizeof(buffer), &result) == 0 && result)
		snprintf(name, size, "%s", result->pw_name);
}
