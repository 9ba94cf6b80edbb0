/*
 * The file in which a module's symbols and debug information were left when it was stripped. In this order:
 *
 *     ROOT/usr/lib/debug/.build-id/xx/rest.debug         by build id
 *     DIR/NAME, DIR/.debug/NAME, /usr/lib/debug/DIR/NAME below ROOT; .gnu_debuglink has NAME, DIR is the module's
 *     CACHE/BUILDID/debuginfo                            what debuginfod has fetched before; nothing is fetched here
 *
 * ROOT is the target's root directory, and no link leads out of it. CACHE is that of our own user and system:
 * $DEBUGINFOD_CACHE_PATH, else $XDG_CACHE_HOME/debuginfod_client, else ~/.cache/debuginfod_client.
 *
 * A file is taken only if it is a regular one, for the same kind of machine, with a .symtab, and has the module's build
 * id. If neither of them has one, the CRC that .gnu_debuglink tells must be that of the file.
 */
#ifndef DT_NATIVE_DEBUG_FILE_H
#define DT_NATIVE_DEBUG_FILE_H

#include "elf/elf.h"

#define DT_DEBUG_FILE_CRC_LIMIT ((uint64_t)256 << 20) /* a larger file is not read through for its CRC, but refused */

struct dt_debug_file {
	int fd; /* -1: there is none */
	struct dt_elf *elf;
};

/* root: a descriptor of the directory; path: of the module, as the target sees it, or NULL. 0, -ENOENT or -ENOMEM.
 * Released by the caller in any case. */
int dt_debug_file_open(struct dt_elf *elf, int root, const char *path, struct dt_debug_file *file);
void dt_debug_file_release(struct dt_debug_file *file);

#endif
