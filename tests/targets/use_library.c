/* A user of the installed library: asks for its version and takes the stacks of the process named on the command line.
 */
#include <darter/darter.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	struct dt_error err;
	struct dt_target *target;
	const struct dt_snapshot *snapshot;

	printf("version %s\n", dt_library_version());
	if (argc < 2)
		return 0;
	if (dt_attach(atoi(argv[1]), NULL, &target, &err) || dt_take(target, &snapshot, &err)) {
		fprintf(stderr, "%s\n%s\n", err.message, err.hint);
		return 1;
	}
	dt_render_text(snapshot, NULL, stdout);
	dt_release(target);
	return 0;
}
