/* Reading small files of the kernel, and fields out of their text. */
#ifndef DT_BASE_SMALL_FILE_H
#define DT_BASE_SMALL_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Reads up to size - 1 bytes and ends them with a NUL. The length, or a negative errno with "" in the buffer. */
ssize_t dt_small_file(const char *path, char *buffer, size_t size);

/* The numbers behind "NAME:" at a line's start ("Uid:\t0\t0"), in the given base. How many were found, at most count.
 */
unsigned dt_field_numbers(const char *text, const char *name, int base, uint64_t *values, unsigned count);

#endif
