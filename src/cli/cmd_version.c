/* darter version */
#include "cli/commands.h"

static int run(void *options)
{
	const struct dt_common *common = options;

	if (common->json)
		printf("{\"schema\":\"darter.version/1\",\"version\":\"%s\"}\n", dt_library_version());
	else
		printf("darter %s\n", dt_library_version());
	return DT_EXIT_OK;
}

static const struct dt_option table[] = {DT_OPTION_JSON, {0}};

static const struct dt_example examples[] = {
    {"darter version", "Print the version."},
    {0},
};

const struct dt_command dt_command_version = {
    .name = "version",
    .summary = "print the version",
    .about = "Prints the version of darter. 'darter --version' does the same.",
    .options = table,
    .examples = examples,
    .options_size = sizeof(struct dt_common),
    .run = run,
};
