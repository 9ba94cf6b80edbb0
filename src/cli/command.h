/*
 * A command is one file with one struct dt_command, and one line in commands.c. Its option table feeds the parser,
 * --help, the man page and the shell completions.
 */
#ifndef DT_CLI_COMMAND_H
#define DT_CLI_COMMAND_H

#include <darter/darter.h>

enum dt_value_kind {
	DT_VALUE_NONE, /* a switch */
	DT_VALUE_TEXT,
	DT_VALUE_PID,
	DT_VALUE_NUMBER,
	DT_VALUE_SECONDS,
	DT_VALUE_CHOICE, /* one of choices, a space-separated list */
	DT_VALUE_FILE,
	DT_VALUE_FOLDER,
	DT_VALUE_COMMAND,        /* the name of a command */
	DT_VALUE_FORMAT,         /* the name of an output format: one of dt_formats() */
	DT_VALUE_PROFILE_FORMAT, /* the same for recordings: one of dt_profile_formats() */
};

struct dt_option {
	const char *name;  /* without dashes */
	const char *value; /* name of the value in help: "SECONDS" */
	const char *choices;
	const char *help;                                                   /* one sentence */
	int (*set)(void *options, const char *value, struct dt_error *err); /* value is NULL for a switch */
	enum dt_value_kind kind;
	char letter;   /* 0: none */
	bool hidden;   /* an alias kept for habit */
	bool several;  /* each value counts; else a second value is refused */
	bool optional; /* a value is only what follows "=", and set() is given NULL where there is none */
};

struct dt_example {
	const char *line; /* "darter dump 1234" */
	const char *what;
};

/* Of the environment. */
struct dt_variable {
	const char *name;
	const char *help; /* one sentence */
};

/* What exit codes mean, where that is more than what all commands have in common. NULL: nothing more, or not used. */
struct dt_exits {
	const char *done;       /* 0, behind "All went well" */
	const char *failed;     /* 1: what failed, besides writing the result */
	const char *permission; /* 3 */
	const char *not_found;  /* 4 */
	const char *besides;    /* a paragraph behind them */
};

struct dt_command {
	const char *name;
	const char *arguments;            /* "[PID...]", NULL: none */
	const char *instead;              /* of the arguments: "--core FILE"; NULL: nothing */
	enum dt_value_kind argument_kind; /* what completion offers */
	const char *argument_choices;
	const char *summary;                 /* a few words */
	const char *about;                   /* paragraphs for help and man page */
	const struct dt_option *options;     /* ended by one without a name */
	const struct dt_variable *variables; /* that mean something to it alone; ended by one without a name */
	const struct dt_example *examples;   /* ended by one without a line */
	size_t options_size; /* bytes of the command's options struct, which begins with struct dt_common */
	void (*defaults)(void *options);
	int (*argument)(void *options, const char *text, struct dt_error *err); /* NULL: takes none */
	/* Adds to an error of argument() what these words, of which it was given the first, may have meant; NULL:
	 * nothing. */
	void (*meant)(char *const *words, int count, struct dt_error *err);
	/* The words behind "--" are a program and its arguments, ended by NULL as argv is; NULL: they are arguments. */
	int (*program)(void *options, char *const *words, int count, struct dt_error *err);
	bool notes_signals;           /* from the very beginning (signals.h): they end what run() does, in its way */
	int (*run)(void *options);    /* returns the exit code */
	const struct dt_exits *exits; /* NULL: 0, 1 and 2 alone */
};

/* What the options that several commands share set. */
enum dt_color { DT_COLOR_AUTO, DT_COLOR_ALWAYS, DT_COLOR_NEVER };
struct dt_common {
	enum dt_color color;
	bool quiet, verbose, json;
};

extern const struct dt_command *const dt_commands[]; /* ended by NULL */
const struct dt_command *dt_command_by_name(const char *name);

/* Understood by every command, besides its own: --help. Ended by one without a name. */
extern const struct dt_option dt_common_options[];

/* Of the environment, for every command. Ended by one without a name. */
extern const struct dt_variable dt_common_variables[];

/* Rows for the tables of the commands to which they mean something. */
int dt_set_json(void *options, const char *value, struct dt_error *err);
int dt_set_color(void *options, const char *value, struct dt_error *err);
int dt_set_quiet(void *options, const char *value, struct dt_error *err);
int dt_set_verbose(void *options, const char *value, struct dt_error *err);

/* What a value of --native means; NULL: none was given. */
enum dt_native dt_native_of(const char *value);

/* Clang-format would tear the rows apart. */
/* clang-format off */
#define DT_OPTION_JSON {.letter = 'j', .name = "json", .help = "Write JSON, for programs.", .set = dt_set_json}
#define DT_OPTION_COLOR                                                                                                \
	{.name = "color", .kind = DT_VALUE_CHOICE, .value = "WHEN", .choices = "auto always never",                    \
	 .help = "Use colours: auto (on a terminal; the default), always or never. NO_COLOR is respected.",            \
	 .set = dt_set_color}
#define DT_OPTION_QUIET(words) {.letter = 'q', .name = "quiet", .help = words, .set = dt_set_quiet}
#define DT_OPTION_VERBOSE(words) {.letter = 'v', .name = "verbose", .help = words, .set = dt_set_verbose}
#define DT_OPTION_NATIVE(words)                                                                                        \
	{.letter = 'n', .name = "native", .kind = DT_VALUE_CHOICE, .value = "WHICH", .choices = "all leaf",            \
	 .optional = true, .help = words, .set = set_native}
/* clang-format on */

/* Exit codes of the whole program. */
enum { DT_EXIT_OK = 0, DT_EXIT_FAILED = 1, DT_EXIT_USAGE = 2, DT_EXIT_PERMISSION = 3, DT_EXIT_NOT_FOUND = 4 };

/* The exit code for a DT_E* code. */
int dt_exit_code(int code);

#endif
