/*
 * Symbols of many processes: a module is read once, however many have it loaded. It is known by its build id, or if it
 * has none by the file that it is (device, inode, size and time of its last change). A file that claims the build id of
 * another one shares its names: that can spoil names, and nothing else.
 *
 * Used by one thread at a time. Reading takes from milliseconds to a second, and a file system that does not answer may
 * block it for good (base/patience.h): not for a thread that samples.
 */
#ifndef DT_NATIVE_SYMBOLS_CACHE_H
#define DT_NATIVE_SYMBOLS_CACHE_H

#include "native/symbols.h"

#define DT_SYMBOLS_CACHE_LIMIT   ((size_t)1 << 30) /* bytes of all tables; when it is reached nothing more is read */
#define DT_SYMBOLS_CACHE_MODULES ((size_t)1 << 16)

struct dt_symbols_cache;

/* NULL: out of memory. limit: bytes; 0 stands for the one above. */
struct dt_symbols_cache *dt_symbols_cache_new(size_t limit);
void dt_symbols_cache_free(struct dt_symbols_cache *cache);

/* The symbols of the file that fd is open on, with those of its debug file, which is looked for below root (a
 * descriptor of the target's root directory) with the path that the module has there (or NULL). *symbols belongs to the
 * cache and stays valid until that is freed; where nothing could be read it is empty, which is kept too. 0, -ENOMEM,
 * -ENOSPC (the cache is full) or another negative errno of fd. */
int dt_symbols_cache_get(struct dt_symbols_cache *cache, int fd, int root, const char *path,
			 const struct dt_symbols **symbols);

#endif
