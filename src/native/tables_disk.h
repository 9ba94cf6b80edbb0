/* Tables on disk; the inside of tables.h. */
#ifndef DT_NATIVE_TABLES_DISK_H
#define DT_NATIVE_TABLES_DISK_H

#include "native/cfi.h"

#define DT_TABLES_NAME 64

/* A descriptor of the directory, which is made if it is not there; -1: there is none that can be trusted. */
int dt_tables_folder(void);

/* The name of the file's table: a hash of what it is made of. 0 or a negative errno. */
int dt_tables_name(struct dt_elf *elf, char name[DT_TABLES_NAME]);

/* 0 or a negative errno: it is not there, or not as it was written. */
int dt_tables_fetch(int folder, const char *name, struct dt_cfi *table);

/* That it could not be stored is no failure. */
void dt_tables_store(int folder, const char *name, const struct dt_cfi *table);

#endif
