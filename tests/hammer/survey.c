/*
 * Surveys the host a number of times and prints how long each one took, in milliseconds, and how many processes it
 * found: `survey [TIMES]`. For figures: the command line adds its own start to that.
 */
#include <darter/darter.h>

#include "base/util.h"

int main(int argc, char **argv)
{
	uint64_t times = 5;

	if (argc > 2 || (argc == 2 && !dt_parse_u64(argv[1], 1000000, &times))) {
		fprintf(stderr, "usage: survey [TIMES]\n");
		return 2;
	}
	for (uint64_t i = 0; i < times; i++) {
		uint64_t start = dt_clock_ns();
		struct dt_process_list *list;
		struct dt_error err;

		if (dt_survey(0, &list, &err) < 0) {
			fprintf(stderr, "survey: %s\n", err.message);
			return 1;
		}
		printf("%.3f %zu\n", (double)(dt_clock_ns() - start) / 1e6, dt_process_list_count(list));
		dt_process_list_free(list);
	}
	return 0;
}
