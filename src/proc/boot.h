/* Which run of the kernel this is: times of CLOCK_BOOTTIME can be compared within one. */
#ifndef DT_PROC_BOOT_H
#define DT_PROC_BOOT_H

#include <stdbool.h>

#define DT_BOOT_ID 40 /* bytes of an id, with the NUL */

/* "" if the kernel does not tell, or if our clock is not that of the machine (a time namespace). */
void dt_boot_id(char id[DT_BOOT_ID]);

/* Does this text of /proc/self/timens_offsets say that CLOCK_BOOTTIME is shifted? */
bool dt_boot_shifted(const char *offsets);

#endif
