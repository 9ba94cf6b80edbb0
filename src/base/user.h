/* Names of users. */
#ifndef DT_BASE_USER_H
#define DT_BASE_USER_H

#include <stddef.h>
#include <sys/types.h>

/* The name of a user in /etc/passwd cut to size, "" if there is none. The file may be long: remember the name. */
void dt_user_name(uid_t uid, char *name, size_t size);

#endif
