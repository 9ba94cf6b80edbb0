/*
 * Compares darter's reading of line tables with Python's: lines of tests/targets/line_truth.py on stdin, the kind of
 * table as argument. Prints what differs, then "N codes, N instructions, N different".
 */
#include <stdio.h>

#include "base/util.h"
#include "python/lines.h"

static bool hex_bytes(const char *text, uint8_t *bytes, size_t *count)
{
	unsigned byte;
	*count = 0;
	for (; *text && *text != '-'; text += 2) {
		if (sscanf(text, "%2x", &byte) != 1)
			return false;
		bytes[(*count)++] = (uint8_t)byte;
	}
	return true;
}

struct tally {
	uint64_t codes, instructions, different;
};

static bool compare(enum dt_line_kind kind, char *line, uint8_t *table, struct tally *tally)
{
	char *save = NULL;
	const char *first = strtok_r(line, " \n", &save), *hex = strtok_r(NULL, " \n", &save);
	char *runs = strtok_r(NULL, " \n", &save);
	uint64_t first_line;
	size_t size;
	if (!first || !hex || !runs || !dt_parse_u64(first, INT32_MAX, &first_line) || !hex_bytes(hex, table, &size))
		return false;
	int64_t offset = 0;
	for (char *run = strtok_r(runs, ",", &save); run; run = strtok_r(NULL, ",", &save)) {
		unsigned wanted, count;
		if (sscanf(run, "%ux%u", &wanted, &count) != 2)
			return false;
		for (; count; count--, offset += 2, tally->instructions++) {
			uint32_t found = dt_lines_at(kind, table, size, (uint32_t)first_line, offset);
			if (found == wanted)
				continue;
			tally->different++;
			printf("code %llu (line %llu) offset %lld: line %u, Python says %u\n",
			       (unsigned long long)tally->codes, (unsigned long long)first_line, (long long)offset,
			       found, wanted);
		}
	}
	tally->codes++;
	return true;
}

int main(int argc, char **argv)
{
	uint64_t kind;
	if (argc != 2 || !dt_parse_u64(argv[1], DT_LINES_LOCATIONS, &kind)) {
		fprintf(stderr, "usage: lines KIND < truth\n");
		return 2;
	}
	dt_auto_free char *line = NULL;
	size_t capacity = 0;
	ssize_t length;
	struct tally tally = {0};
	while ((length = getline(&line, &capacity, stdin)) > 0) {
		dt_auto_free uint8_t *table = malloc((size_t)length);
		if (!table || !compare((enum dt_line_kind)kind, line, table, &tally)) {
			fprintf(stderr, "code %llu: cannot be read\n", (unsigned long long)tally.codes);
			return 1;
		}
	}
	printf("%llu codes, %llu instructions, %llu different\n", (unsigned long long)tally.codes,
	       (unsigned long long)tally.instructions, (unsigned long long)tally.different);
	return tally.different ? 1 : 0;
}
