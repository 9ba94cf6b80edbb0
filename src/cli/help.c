/* Help on the screen, wrapped to its width. */
#include "cli/help.h"

#include <string.h>

#include "base/util.h"
#include "base/wrap.h"

#define DEFAULT_COLUMNS 80
#define WIDEST          100 /* longer lines are hard to read */
#define OPTION_COLUMN   28  /* where the explanation of an option begins */

const struct dt_example dt_help_first[] = {
    {"darter ps", "The Python programs here, and what each does now."},
    {"darter dump PID", "The stack of every thread of one of them."},
    {"darter record PID", "Where its time goes, until Ctrl-C; as a flame graph."},
    {"darter dump --core FILE", "What a program was doing when it died."},
    {0},
};

/* One paragraph, each further line behind `indent` columns; `at` columns of the first line are taken already. */
static void wrap(FILE *out, const char *text, size_t length, size_t at, size_t indent, size_t columns)
{
	struct dt_buf lines = DT_BUF_INIT;

	dt_wrap(&lines, text, length, at, indent, columns);
	fprintf(out, "%s\n", lines.data);
	dt_buf_release(&lines);
}

/* Paragraphs are separated by empty lines; lines that begin with a space are kept as they are. */
static void put_paragraphs(FILE *out, const char *text, size_t columns)
{
	while (*text) {
		const char *end = strstr(text, "\n\n");
		size_t length = end ? (size_t)(end - text) : strlen(text);

		if (*text == ' ')
			fprintf(out, "%.*s\n", (int)length, text);
		else
			wrap(out, text, length, 0, 0, columns);
		putc('\n', out);
		text += length;
		text += strspn(text, "\n");
	}
}

void dt_help_formats(FILE *out, enum dt_value_kind kind, const char *between)
{
	const struct dt_profile_format *const *recorded = dt_profile_formats();
	const struct dt_format *const *shown = dt_formats();

	for (size_t i = 0; kind == DT_VALUE_FORMAT ? shown[i] != NULL : recorded[i] != NULL; i++)
		fprintf(out, "%s%s", i ? between : "", kind == DT_VALUE_FORMAT ? shown[i]->name : recorded[i]->name);
}

static void put_option(FILE *out, const struct dt_option *option, size_t columns)
{
	char head[128];
	int length;

	if (option->hidden)
		return;
	length = snprintf(head, sizeof(head), "  %c%c%c --%s%s%s%s", option->letter ? '-' : ' ',
			  option->letter ? option->letter : ' ', option->letter ? ',' : ' ', option->name,
			  option->optional ? "[="
			  : option->value  ? " "
					   : "",
			  option->value ? option->value : "", option->optional ? "]" : "");
	fputs(head, out);
	if (length + 2 > OPTION_COLUMN) {
		putc('\n', out);
		length = 0;
	}
	fprintf(out, "%*s", OPTION_COLUMN - length, "");
	wrap(out, option->help, strlen(option->help), OPTION_COLUMN, OPTION_COLUMN, columns);
	if (option->kind == DT_VALUE_FORMAT || option->kind == DT_VALUE_PROFILE_FORMAT) {
		fprintf(out, "%*sOne of: ", OPTION_COLUMN, "");
		dt_help_formats(out, option->kind, ", ");
		fputs(".\n", out);
	}
}

static size_t usable(size_t columns)
{
	return DT_MIN(DT_MAX(columns ? columns : DEFAULT_COLUMNS, (size_t)OPTION_COLUMN + 20), (size_t)WIDEST);
}

void dt_help_command(const struct dt_command *command, FILE *out, size_t columns)
{
	columns = usable(columns);
	wrap(out, command->summary, strlen(command->summary), (size_t)fprintf(out, "darter %s: ", command->name), 0,
	     columns);
	putc('\n', out);
	fprintf(out, "Usage: darter %s [options]%s%s\n", command->name, command->arguments ? " " : "",
		command->arguments ? command->arguments : "");
	if (command->instead)
		fprintf(out, "       darter %s [options] %s\n", command->name, command->instead);
	putc('\n', out);
	put_paragraphs(out, command->about, columns);
	fputs("Options:\n", out);
	for (const struct dt_option *option = command->options; option && option->name; option++)
		put_option(out, option, columns);
	for (const struct dt_option *option = dt_common_options; option->name; option++)
		put_option(out, option, columns);
	if (command->variables)
		fputs("\nEnvironment:\n", out);
	for (const struct dt_variable *variable = command->variables; variable && variable->name; variable++) {
		fprintf(out, "  %-*s", OPTION_COLUMN - 2, variable->name);
		wrap(out, variable->help, strlen(variable->help), OPTION_COLUMN, OPTION_COLUMN, columns);
	}
	if (command->examples)
		fputs("\nExamples:\n", out);
	for (const struct dt_example *example = command->examples; example && example->line; example++) {
		fprintf(out, "  %s\n      ", example->line);
		wrap(out, example->what, strlen(example->what), 6, 6, columns);
	}
}

void dt_help_overview(FILE *out, size_t columns)
{
	columns = usable(columns);
	fputs("darter looks into running Python programs from outside; they need no change.\n\n"
	      "Usage: darter COMMAND [options] [PID...]\n\nCommands:\n",
	      out);
	for (const struct dt_command *const *command = dt_commands; *command; command++) {
		fprintf(out, "  %-12s", (*command)->name);
		wrap(out, (*command)->summary, strlen((*command)->summary), 14, 14, columns);
	}
	fputs("\nTo begin with:\n", out);
	for (const struct dt_example *example = dt_help_first; example->line; example++) {
		fprintf(out, "  %-25s", example->line);
		wrap(out, example->what, strlen(example->what), 27, 27, columns);
	}
	fputs("\n'darter help COMMAND' or 'darter COMMAND --help' tells more.\n", out);
}
