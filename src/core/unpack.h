/*
 * Compressed core files: gzip, zstd and lz4, told by their first bytes. The core is decompressed into a file without a
 * name, so it needs no memory; blocks of zeros take no room in it. What a hostile file can make of that is bounded: it
 * must begin as a core, no more is decompressed than the core's own headers speak of, and neither more than a limit
 * (DARTER_CORE_LIMIT, 16G by default) nor half of the room that the disk has. The file lies in TMPDIR, if that is set,
 * else in /var/tmp or /tmp.
 */
#ifndef DT_CORE_UNPACK_H
#define DT_CORE_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* If *fd is a compressed file, *fd becomes what was in it: the given descriptor is closed. *damaged: the file was cut
 * short or is damaged, and what came before that is there. options may be NULL; its progress is called. Does nothing to
 * a file that is not compressed. On failure *fd stays as it is. */
int dt_unpack(const char *path, int *fd, const struct dt_options *options, bool *damaged, struct dt_error *err);

/* ---- the inside: one function for each format (inflate.c) ---- */

struct unpack;

/* Takes decompressed bytes. 0: go on; anything else: stop, and return just that. */
int unpack_sink(struct unpack *unpack, const void *bytes, size_t size);

/* The next bytes of the compressed file: how many, 0 at its end, or a negative errno. */
ssize_t unpack_source(struct unpack *unpack, void *bytes, size_t size);

/* Decompresses all: 0, what unpack_sink returned, UNPACK_DAMAGED, or a negative errno. */
enum {
	UNPACK_ENOUGH = 1,
	UNPACK_DAMAGED,
	UNPACK_NO_CORE,
	UNPACK_TOO_LARGE,
	UNPACK_NO_ROOM,
	UNPACK_WINDOW,
	UNPACK_NO_FOLDER
};
typedef int unpack_run_fn(struct unpack *unpack);
#ifdef DT_ZLIB
unpack_run_fn unpack_gzip;
#endif
#ifdef DT_ZSTD
unpack_run_fn unpack_zstd;
#endif
#ifdef DT_LZ4
unpack_run_fn unpack_lz4;
#endif

#endif
