/*
 * The tables of files of code (cfi.h): each is made once for all processes that have the file loaded, and kept on disk
 * for the next time, below $XDG_CACHE_HOME/darter/unwind or ~/.cache/darter/unwind, if that is our own user's and
 * nobody else can write there. The name of a file there is made of all that its table is made of, so a file of code
 * that claims to be another one spoils nothing.
 *
 * Used by one thread at a time. To make the table of a large library takes a second, and a file system that does not
 * answer may block it for good (base/patience.h).
 */
#ifndef DT_NATIVE_TABLES_H
#define DT_NATIVE_TABLES_H

#include "native/cfi.h"

#define DT_TABLES_LIMIT ((size_t)512 << 20) /* bytes of all tables; when it is reached no more are made */
#define DT_TABLES_FILES ((size_t)1 << 16)

struct dt_tables;

/* disk: keep them for the next time. NULL: out of memory. */
struct dt_tables *dt_tables_new(bool disk);
void dt_tables_free(struct dt_tables *tables);

/* That of the file that fd and elf are open on; it belongs to the cache until that is freed. NULL: there is none. */
const struct dt_cfi *dt_tables_get(struct dt_tables *tables, int fd, struct dt_elf *elf);

#endif
