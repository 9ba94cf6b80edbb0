/* Names of users. */
#ifndef DT_BASE_USER_H
#define DT_BASE_USER_H

#include <stddef.h>
#include <sys/types.h>

/* The name of a user cut to size, "" if there is none. Asks the system's databases, which may be slow: remember it. */
void dt_user_name(uid_t uid, char *name, size_t size);

#endif
