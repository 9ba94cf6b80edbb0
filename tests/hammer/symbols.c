/*
 * symbols ROOT FILE: the symbols of a file that a target with this root directory has, a line each: link-time address,
 * size and raw name. Before them: where they came from and what is missing, as numbers.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "native/symbols_cache.h"
#include "proc/proc.h"

int main(int argc, char **argv)
{
	struct dt_symbols_cache *cache = dt_symbols_cache_new(0);
	const struct dt_symbols *symbols = NULL;
	dt_auto_close int root = argc == 3 ? open(argv[1], O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	dt_auto_close int fd = root < 0 ? -1 : dt_open_below(root, argv[2]);
	int rc = fd < 0 || !cache ? fd : dt_symbols_cache_get(cache, fd, root, argv[2], &symbols);

	if (rc < 0 || !symbols) {
		fprintf(stderr, "usage: symbols ROOT FILE (%s)\n", strerror(-rc));
		return 1;
	}
	printf("%u %u\n", symbols->sources, symbols->missing);
	for (size_t i = 0; i < symbols->count; i++)
		printf("%" PRIx64 " %x %s\n", symbols->base + symbols->rows[i].start, symbols->rows[i].size,
		       symbols->names + symbols->rows[i].name);
	dt_symbols_cache_free(cache);
	return 0;
}
