/*
 * Completion scripts from the tables. Each script is complete in itself; only process ids are asked of darter when they
 * are wanted (darter ps --pids; with -v a tab and the command follow, for shells that show it).
 */
#include <string.h>

#include "base/util.h"
#include "cli/help.h"

typedef void option_fn(FILE *out, const struct dt_command *command, const struct dt_option *option);

static void each_option(FILE *out, const struct dt_command *command, option_fn *put)
{
	for (const struct dt_option *option = command->options; option && option->name; option++)
		if (!option->hidden)
			put(out, command, option);
	for (const struct dt_option *option = dt_common_options; option->name; option++)
		put(out, command, option);
}

static void put_command_names(FILE *out)
{
	for (const struct dt_command *const *command = dt_commands; *command; command++)
		fprintf(out, "%s%s", command == dt_commands ? "" : " ", (*command)->name);
}

/* Text inside of single quotes, for all three shells; more characters can be put behind a backslash. */
static void quoted(FILE *out, const char *text, const char *special, bool fish)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs(fish ? "\\'" : "'\\''", out);
		else if (strchr(special, *text))
			fprintf(out, "\\%c", *text);
		else
			putc(*text, out);
	}
}

/* ---- bash ---- */

static void bash_words(FILE *out, enum dt_value_kind kind, const char *choices)
{
	switch (kind) {
	case DT_VALUE_PID:
		fputs("COMPREPLY=($(compgen -W \"$(darter ps --pids 2>/dev/null)\" -- \"$cur\"))", out);
		break;
	case DT_VALUE_CHOICE:
		fprintf(out, "COMPREPLY=($(compgen -W '%s' -- \"$cur\"))", choices);
		break;
	case DT_VALUE_COMMAND:
		fputs("COMPREPLY=($(compgen -W '", out);
		put_command_names(out);
		fputs("' -- \"$cur\"))", out);
		break;
	case DT_VALUE_FORMAT:
	case DT_VALUE_PROFILE_FORMAT:
		fputs("COMPREPLY=($(compgen -W '", out);
		dt_help_formats(out, kind, " ");
		fputs("' -- \"$cur\"))", out);
		break;
	case DT_VALUE_FILE:
		fputs("COMPREPLY=($(compgen -f -- \"$cur\"))", out);
		break;
	case DT_VALUE_FOLDER:
		fputs("COMPREPLY=($(compgen -d -- \"$cur\"))", out);
		break;
	default:
		fputs("COMPREPLY=()", out);
		break;
	}
}

static void bash_flag(FILE *out, const struct dt_command *command, const struct dt_option *option)
{
	(void)command;
	fprintf(out, " --%s", option->name);
	if (option->letter)
		fprintf(out, " -%c", option->letter);
}

static void bash_value(FILE *out, const struct dt_command *command, const struct dt_option *option)
{
	if (option->kind == DT_VALUE_NONE)
		return;
	/* Behind "=" alone, if the value may be left out. */
	fprintf(out, "\t%s:--%s%s", command->name, option->name, option->optional ? "=" : "");
	if (!option->optional)
		fprintf(out, "|%s:--%s=", command->name, option->name);
	if (option->letter && !option->optional)
		fprintf(out, "|%s:-%c", command->name, option->letter);
	fputs(")\n\t\t", out);
	bash_words(out, option->kind, option->choices);
	fputs("\n\t\treturn\n\t\t;;\n", out);
}

static void bash(FILE *out)
{
	fputs("# bash completion for darter\n_darter()\n{\n"
	      "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}\n\n"
	      "\tif ((COMP_CWORD == 1)); then\n\t\t",
	      out);
	bash_words(out, DT_VALUE_COMMAND, NULL);
	fputs("\n\t\treturn\n\tfi\n"
	      "\tif [[ $cur == '=' ]]; then\n\t\tcur='' prev+='='\n"
	      "\telif [[ $prev == '=' ]]; then\n\t\tprev=${COMP_WORDS[COMP_CWORD-2]}=\n\tfi\n"
	      "\tcase $command:$prev in\n",
	      out);
	for (const struct dt_command *const *command = dt_commands; *command; command++)
		each_option(out, *command, bash_value);
	fputs("\tesac\n\tcase $command:$cur in\n", out);
	for (const struct dt_command *const *command = dt_commands; *command; command++) {
		fprintf(out, "\t%s:-*)\n\t\tCOMPREPLY=($(compgen -W '", (*command)->name);
		each_option(out, *command, bash_flag);
		fprintf(out, "' -- \"$cur\"))\n\t\t;;\n\t%s:*)\n\t\t", (*command)->name);
		bash_words(out, (*command)->argument_kind, (*command)->argument_choices);
		fputs("\n\t\t;;\n", out);
	}
	fputs("\tesac\n}\ncomplete -F _darter darter\n", out);
}

/* ---- zsh ---- */

static void zsh_action(FILE *out, enum dt_value_kind kind, const char *choices)
{
	switch (kind) {
	case DT_VALUE_PID:
		fputs("_darter_pids", out);
		break;
	case DT_VALUE_CHOICE:
		fprintf(out, "(%s)", choices);
		break;
	case DT_VALUE_COMMAND:
		fputs("_darter_commands", out);
		break;
	case DT_VALUE_FORMAT:
	case DT_VALUE_PROFILE_FORMAT:
		putc('(', out);
		dt_help_formats(out, kind, " ");
		putc(')', out);
		break;
	case DT_VALUE_FILE:
		fputs("_files", out);
		break;
	case DT_VALUE_FOLDER:
		fputs("_files -/", out);
		break;
	default:
		putc(' ', out);
		break;
	}
}

/* What was typed already is not offered again, by neither of its names, unless it may be given several times. */
static void zsh_spec(FILE *out, const struct dt_option *option, const char *flag, const char *ending)
{
	fputs("\t\t\t'", out);
	if (option->several)
		putc('*', out);
	else if (option->letter)
		fprintf(out, "(-%c --%s)", option->letter, option->name);
	fprintf(out, "%s%s[", flag, option->kind == DT_VALUE_NONE ? "" : ending);
	quoted(out, option->help, "[]:\\", false);
	putc(']', out);
	if (option->kind != DT_VALUE_NONE && *ending) {
		fprintf(out, ":%s%s:", option->optional ? ":" : "", option->value);
		zsh_action(out, option->kind, option->choices);
	}
	fputs("' \\\n", out);
}

static void zsh_option(FILE *out, const struct dt_command *command, const struct dt_option *option)
{
	char flag[64];

	(void)command;
	if (option->letter) {
		snprintf(flag, sizeof(flag), "-%c", option->letter);
		zsh_spec(out, option, flag, option->optional ? "" : "+");
	}
	snprintf(flag, sizeof(flag), "--%s", option->name);
	zsh_spec(out, option, flag, option->optional ? "=-" : "=");
}

static void zsh(FILE *out)
{
	fputs("#compdef darter\n\n_darter_pids()\n{\n\tlocal -a pids\n\tpids=(${(f)\"$(darter ps --pids -v "
	      "2>/dev/null)\"})\n"
	      "\tpids=(${pids/$'\\t'/:})\n\t_describe process pids\n}\n\n_darter_commands()\n{\n\tlocal -a "
	      "commands\n\tcommands=(\n",
	      out);
	for (const struct dt_command *const *command = dt_commands; *command; command++) {
		fprintf(out, "\t\t'%s:", (*command)->name);
		quoted(out, (*command)->summary, ":\\", false);
		fputs("'\n", out);
	}
	fputs(
	    "\t)\n\t_describe command commands\n}\n\n_darter()\n{\n\tif ((CURRENT == 2)); then\n\t\t_darter_commands\n"
	    "\t\treturn\n\tfi\n\tlocal command=$words[2]\n\tshift words\n\t((CURRENT--))\n\tcase $command in\n",
	    out);
	for (const struct dt_command *const *command = dt_commands; *command; command++) {
		fprintf(out, "\t%s)\n\t\t_arguments -s -S \\\n", (*command)->name);
		each_option(out, *command, zsh_option);
		fputs("\t\t\t'*:argument:", out);
		zsh_action(out, (*command)->argument_kind, (*command)->argument_choices);
		fputs("'\n\t\t;;\n", out);
	}
	fputs("\tesac\n}\n\nif [[ $funcstack[1] == _darter ]]; then\n\t_darter \"$@\"\nelse\n\tcompdef _darter "
	      "darter\nfi\n",
	      out);
}

/* ---- fish ---- */

static void fish_words(FILE *out, enum dt_value_kind kind, const char *choices)
{
	switch (kind) {
	case DT_VALUE_PID:
		fputs(" -a '(darter ps --pids -v 2>/dev/null)'", out);
		break;
	case DT_VALUE_CHOICE:
		fprintf(out, " -a '%s'", choices);
		break;
	case DT_VALUE_COMMAND:
		fputs(" -a '", out);
		put_command_names(out);
		putc('\'', out);
		break;
	case DT_VALUE_FORMAT:
	case DT_VALUE_PROFILE_FORMAT:
		fputs(" -a '", out);
		dt_help_formats(out, kind, " ");
		putc('\'', out);
		break;
	case DT_VALUE_FILE:
		fputs(" -F", out);
		break;
	case DT_VALUE_FOLDER:
		fputs(" -a '(__fish_complete_directories)'", out);
		break;
	default:
		break;
	}
}

static void fish_option(FILE *out, const struct dt_command *command, const struct dt_option *option)
{
	fprintf(out, "complete -c darter -n '__fish_seen_subcommand_from %s' -l %s", command->name, option->name);
	if (option->letter)
		fprintf(out, " -s %c", option->letter);
	if (option->kind != DT_VALUE_NONE && !option->optional) {
		fputs(" -x", out);
		fish_words(out, option->kind, option->choices);
	}
	fputs(" -d '", out);
	quoted(out, option->help, "\\", true);
	fputs("'\n", out);
}

static void fish(FILE *out)
{
	fputs("# fish completion for darter\ncomplete -c darter -f\n", out);
	for (const struct dt_command *const *command = dt_commands; *command; command++) {
		fprintf(out, "complete -c darter -n __fish_use_subcommand -a %s -d '", (*command)->name);
		quoted(out, (*command)->summary, "\\", true);
		fputs("'\n", out);
		each_option(out, *command, fish_option);
		if ((*command)->argument_kind == DT_VALUE_NONE)
			continue;
		fprintf(out, "complete -c darter -n '__fish_seen_subcommand_from %s'", (*command)->name);
		fish_words(out, (*command)->argument_kind, (*command)->argument_choices);
		putc('\n', out);
	}
}

bool dt_complete(const char *shell, FILE *out)
{
	static const struct {
		const char *name;
		void (*put)(FILE *out);
	} shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};

	for (size_t i = 0; i < DT_COUNT(shells); i++) {
		if (strcmp(shells[i].name, shell) == 0) {
			shells[i].put(out);
			return true;
		}
	}
	return false;
}
