/*
 * late: adds each process whose number it reads to a recording that nobody keeps, and prints the code. It does not wait
 * for any: the first answer is that it is not done. 0 looks after the recording.
 */
#include <stdio.h>
#include <stdlib.h>

#include "darter/darter.h"

int main(void)
{
	FILE *file = tmpfile();
	struct dt_record_options options = {.fd = file ? fileno(file) : -1};
	struct dt_recording *recording;
	struct dt_error err;
	char line[32];

	if (!file || dt_record(&options, &recording, &err) < 0) {
		fprintf(stderr, "late: %s\n", file ? err.message : "no file can be made");
		return 2;
	}
	while (fgets(line, sizeof(line), stdin)) {
		int pid = (int)strtol(line, NULL, 10);
		int code = pid ? dt_record_add(recording, pid, 0, &err)
			       : dt_record_tend(recording, 0, NULL, NULL, &err);

		printf("%d\n", code);
		fflush(stdout);
	}
	dt_record_free(recording);
	fclose(file);
	return 0;
}
