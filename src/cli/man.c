/* Man pages from the same tables as the help, in the language of scdoc. */
#include <string.h>

#include "cli/help.h"

/* scdoc's marks in plain text are taken back with a backslash. */
static void plain(FILE *out, const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if (strchr("_*\\#[]|<>~", text[i]))
			putc('\\', out);
		putc(text[i], out);
	}
}

static void put(FILE *out, const char *text)
{
	plain(out, text, strlen(text));
}

static void put_paragraphs(FILE *out, const char *text)
{
	while (*text) {
		const char *end = strstr(text, "\n\n");
		size_t length = end ? (size_t)(end - text) : strlen(text);

		if (*text == ' ')
			fprintf(out, "```\n%.*s\n```", (int)length, text);
		else
			plain(out, text, length);
		fputs("\n\n", out);
		text += length;
		text += strspn(text, "\n");
	}
}

static void put_options(FILE *out, const struct dt_option *option)
{
	for (; option && option->name; option++) {
		if (option->hidden)
			continue;
		if (option->letter)
			fprintf(out, "*-%c*, ", option->letter);
		fprintf(out, "*--%s*", option->name);
		if (option->optional)
			fprintf(out, "[=_%s_]", option->value);
		else if (option->value)
			fprintf(out, " _%s_", option->value);
		fputs("\n\t", out);
		put(out, option->help);
		if (option->kind == DT_VALUE_FORMAT || option->kind == DT_VALUE_PROFILE_FORMAT) {
			fputs(" One of: ", out);
			dt_help_formats(out, option->kind, ", ");
			putc('.', out);
		}
		fputs("\n\n", out);
	}
}

static void put_variables(FILE *out, const struct dt_variable *variable)
{
	for (; variable && variable->name; variable++) {
		putc('*', out);
		put(out, variable->name);
		fputs("*\n\t", out);
		put(out, variable->help);
		fputs("\n\n", out);
	}
}

static void put_exit_status(FILE *out, const struct dt_exits *exits)
{
	static const struct dt_exits none;

	exits = exits ? exits : &none;
	fprintf(out,
		"# EXIT STATUS\n\n"
		"*0*\n\tAll went well%s.\n\n"
		"*1*\n\tSomething failed: %s%sa result that could not be written.\n\n"
		"*2*\n\tThe command line makes no sense.\n\n",
		exits->done ? exits->done : "", exits->failed ? exits->failed : "", exits->failed ? ", " : "");
	if (exits->permission)
		fprintf(out, "*3*\n\t%s\n\n", exits->permission);
	if (exits->not_found)
		fprintf(out, "*4*\n\t%s\n\n", exits->not_found);
	if (exits->besides)
		fprintf(out, "%s\n\n", exits->besides);
}

/* Of all commands together: docs/exit-codes.md. */
static const struct dt_exits all_exits = {
    .done =
	"; also when a recording or 'dump --every' is ended by Ctrl-C (SIGINT) or SIGTERM, or when the process that is "
	"looked at ends",
    .failed = "a Python that cannot be read, a file that is no core or recording, or one that is not whole enough",
    .permission = "The kernel does not allow it (a core file: its owner does not); the message says what would.",
    .not_found = "There is no such process, program, core file or recording, no name matches, it ended, or there is no "
		 "Python in it.",
    .besides = "With several processes it is the code of the first error; the others are shown all the same. 'darter "
	       "record' with a program behind -- exits as the program did.",
};

static void put_examples(FILE *out, const struct dt_example *example)
{
	if (!example)
		return;
	fputs("# EXAMPLES\n\n", out);
	for (; example->line; example++) {
		fprintf(out, "```\n%s\n```\n\n", example->line);
		put(out, example->what);
		fputs("\n\n", out);
	}
}

static void put_command_page(const struct dt_command *command, FILE *out)
{
	fprintf(out, "darter-%s(1) \"darter %s\"\n\n# NAME\n\ndarter-%s - ", command->name, dt_library_version(),
		command->name);
	put(out, command->summary);
	fprintf(out, "\n\n# SYNOPSIS\n\n*darter %s* ", command->name);
	put(out, "[options]");
	if (command->arguments) {
		putc(' ', out);
		put(out, command->arguments);
	}
	if (command->instead) {
		fprintf(out, "\n\n*darter %s* ", command->name);
		put(out, "[options] ");
		put(out, command->instead);
	}
	fputs("\n\n# DESCRIPTION\n\n", out);
	put_paragraphs(out, command->about);
	fputs("# OPTIONS\n\n", out);
	put_options(out, command->options);
	put_options(out, dt_common_options);
	if (command->variables)
		fputs("# ENVIRONMENT\n\n", out);
	put_variables(out, command->variables);
	put_examples(out, command->examples);
	put_exit_status(out, command->exits);
	fputs("# SEE ALSO\n\n*darter*(1)\n", out);
}

void dt_help_man(const struct dt_command *command, FILE *out)
{
	if (command) {
		put_command_page(command, out);
		return;
	}
	fprintf(
	    out,
	    "darter(1) \"darter %s\"\n\n# NAME\n\ndarter - look into running Python programs from outside\n\n"
	    "# SYNOPSIS\n\n*darter* _COMMAND_ \\[options\\] \\[PID...\\]\n\n# DESCRIPTION\n\n"
	    "Darter reads the stacks of running Python programs out of their memory. The programs need no preparation, "
	    "are not signalled and not written to. Of a program that has died it reads the core file.\n\n"
	    "# COMMANDS\n\n",
	    dt_library_version());
	for (const struct dt_command *const *command_at = dt_commands; *command_at; command_at++) {
		fprintf(out, "*darter-%s*(1)\n\t", (*command_at)->name);
		put(out, (*command_at)->summary);
		fputs("\n\n", out);
	}
	fputs("# OPTIONS\n\n*-h*, *--help*\n\tShow the commands.\n\n*-V*, *--version*\n\tShow the version.\n\n", out);
	fputs("# ENVIRONMENT\n\n", out);
	put_variables(out, dt_common_variables);
	for (const struct dt_command *const *at = dt_commands; *at; at++)
		put_variables(out, (*at)->variables);
	put_examples(out, dt_help_first);
	put_exit_status(out, &all_exits);
	fputs("# SEE ALSO\n\n", out);
	for (const struct dt_command *const *at = dt_commands; *at; at++)
		fprintf(out, "%s*darter-%s*(1)", at == dt_commands ? "" : ", ", (*at)->name);
	putc('\n', out);
}
