/*
 * Compares darter's reading of line tables with Python's: lines of tests/targets/line_truth.py on stdin, the kind of
 * table as argument. Prints what differs, then "N codes, N instructions, N different".
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/util.h"
#include "python/lines.h"

#include "../hex.h"

struct tally {
	uint64_t codes, instructions, different;
	int64_t offset; /* in the code at hand */
};

struct reading {
	enum dt_line_kind kind;
	uint32_t first_line;
	const uint8_t *table;
	size_t size;
};

static void compare_run(const struct reading *reading, uint32_t wanted, uint64_t count, struct tally *tally)
{
	for (; count; count--, tally->offset += 2, tally->instructions++) {
		uint32_t found = dt_lines_at(reading->kind, reading->table, reading->size, reading->first_line,
					     tally->offset);
		if (found == wanted)
			continue;
		tally->different++;
		printf("code %" PRIu64 " (line %u) offset %" PRId64 ": line %u, Python says %u\n", tally->codes,
		       reading->first_line, tally->offset, found, wanted);
	}
}

/* One line of the truth; table is room for half as many bytes as the line has characters. */
static bool compare(enum dt_line_kind kind, char *line, uint8_t *table, struct tally *tally)
{
	char *save = NULL;
	const char *first = strtok_r(line, " \n", &save), *hex = strtok_r(NULL, " \n", &save);
	char *runs = strtok_r(NULL, " \n", &save);
	uint64_t first_line;
	if (!first || !hex || !runs || !dt_parse_u64(first, INT32_MAX, &first_line))
		return false;
	struct reading reading = {kind, (uint32_t)first_line, table, hex_bytes(hex, table, strlen(hex) / 2)};
	tally->offset = 0;
	for (char *run = strtok_r(runs, ",", &save); run; run = strtok_r(NULL, ",", &save)) {
		char *cross = strchr(run, 'x');
		uint64_t wanted, count;
		if (!cross)
			return false;
		*cross = 0;
		if (!dt_parse_u64(run, INT32_MAX, &wanted) || !dt_parse_u64(cross + 1, INT32_MAX, &count))
			return false;
		compare_run(&reading, (uint32_t)wanted, count, tally);
	}
	tally->codes++;
	return true;
}

int main(int argc, char **argv)
{
	uint64_t kind;
	if (argc != 2 || !dt_parse_u64(argv[1], DT_LINES_LNOTAB_UNSIGNED, &kind)) {
		fprintf(stderr, "usage: lines KIND < truth\n");
		return 2;
	}
	char *line = NULL;
	uint8_t *table = NULL;
	size_t capacity = 0;
	struct tally tally = {0};
	bool good = true;
	while (good && getline(&line, &capacity, stdin) > 0) {
		uint8_t *room = realloc(table, capacity);
		good = room != NULL;
		table = room ? room : table;
		good = good && compare((enum dt_line_kind)kind, line, table, &tally);
	}
	free(line);
	free(table);
	if (!good)
		fprintf(stderr, "code %" PRIu64 ": cannot be read\n", tally.codes);
	printf("%" PRIu64 " codes, %" PRIu64 " instructions, %" PRIu64 " different\n", tally.codes, tally.instructions,
	       tally.different);
	return good && !tally.different ? 0 : 1;
}
