/*
 * Whether a .darter file is still being written: its writer holds a lock on it, which nobody has to respect and the
 * kernel takes away when the writer ends, in whatever way. It belongs to the open file, not to a process: it is not
 * lost when another descriptor of the file is closed, and ids of processes play no part in it.
 */
#ifndef DT_BASE_FILE_LOCK_H
#define DT_BASE_FILE_LOCK_H

#include <stdbool.h>

/* Where a file cannot be locked (a pipe, some file systems) nothing happens. */
void dt_file_lock(int fd);
void dt_file_unlock(int fd);

/* By somebody who opened it himself. */
bool dt_file_locked(int fd);

#endif
