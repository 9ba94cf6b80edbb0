/* Reads a command line as the tables say: see options.h. */
#include "cli/options.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/shell.h"
#include "base/util.h"

int dt_set_color(void *options, const char *value, struct dt_error *err)
{
	struct dt_common *common = options;

	(void)err;
	common->color = !strcmp(value, "always")  ? DT_COLOR_ALWAYS
			: !strcmp(value, "never") ? DT_COLOR_NEVER
						  : DT_COLOR_AUTO;
	return 0;
}

int dt_set_quiet(void *options, const char *value, struct dt_error *err)
{
	(void)value, (void)err;
	((struct dt_common *)options)->quiet = true;
	return 0;
}

enum dt_native dt_native_of(const char *value)
{
	if (value && !strcmp(value, "all"))
		return DT_NATIVE_ALL;
	return value && !strcmp(value, "leaf") ? DT_NATIVE_LEAF : DT_NATIVE_USUAL;
}

int dt_set_verbose(void *options, const char *value, struct dt_error *err)
{
	(void)value, (void)err;
	((struct dt_common *)options)->verbose = true;
	return 0;
}

int dt_set_json(void *options, const char *value, struct dt_error *err)
{
	(void)value, (void)err;
	((struct dt_common *)options)->json = true;
	return 0;
}

/* It has no function: it ends the parsing. */
const struct dt_option dt_common_options[] = {
    {.letter = 'h', .name = "help", .help = "Show this help."},
    {0},
};

static const struct dt_option *find_long(const struct dt_command *command, const char *name, size_t length)
{
	const struct dt_option *const tables[] = {command->options, dt_common_options};

	for (size_t t = 0; t < DT_COUNT(tables); t++)
		for (const struct dt_option *option = tables[t]; option && option->name; option++)
			if (strlen(option->name) == length && !strncmp(option->name, name, length))
				return option;
	return NULL;
}

static const struct dt_option *find_letter(const struct dt_command *command, char letter)
{
	const struct dt_option *const tables[] = {command->options, dt_common_options};

	for (size_t t = 0; t < DT_COUNT(tables); t++)
		for (const struct dt_option *option = tables[t]; option && option->name; option++)
			if (option->letter && option->letter == letter)
				return option;
	return NULL;
}

bool dt_is_option(const struct dt_command *command, const char *word)
{
	if (word[0] != '-' || !word[1])
		return false;
	return word[1] == '-' ? find_long(command, word + 2, strcspn(word + 2, "=")) : find_letter(command, word[1]);
}

static int unknown_long(const struct dt_command *command, const char *name, size_t length, struct dt_error *err)
{
	const struct dt_option *const tables[] = {command->options, dt_common_options};
	char wanted[64];
	struct dt_nearest nearest;

	snprintf(wanted, sizeof(wanted), "%.*s", (int)DT_MIN(length, sizeof(wanted)), name);
	dt_nearest_init(&nearest, wanted);
	for (size_t t = 0; t < DT_COUNT(tables); t++)
		for (const struct dt_option *option = tables[t]; option && option->name; option++)
			dt_nearest_offer(&nearest, option->name);
	dt_fail(err, DT_EUSAGE, "'darter %s' has no option --%.*s", command->name, (int)DT_MIN(length, 200), name);
	if (nearest.best)
		dt_hint(err, "did you mean --%s?", nearest.best);
	return DT_EUSAGE;
}

/* How the user would write the option. */
static const char *spelled(const struct dt_option *option, char letter, char text[64])
{
	if (letter)
		snprintf(text, 64, "-%c", letter);
	else
		snprintf(text, 64, "--%s", option->name);
	return text;
}

static bool is_choice(const char *choices, const char *value)
{
	size_t length = strlen(value);

	for (const char *at = choices; *at; at += strcspn(at, " "), at += strspn(at, " "))
		if (strcspn(at, " ") == length && !strncmp(at, value, length))
			return true;
	return false;
}

struct words {
	char *const *list;
	int count, at;   /* at: the word being read */
	uint64_t valued; /* options of the command that have a value: a bit for each, in the table's order */
};

/* True the first time. */
static bool first_value(struct words *words, const struct dt_command *command, const struct dt_option *option)
{
	uint64_t bit = UINT64_C(1) << (option - command->options);
	bool first = !(words->valued & bit);

	words->valued |= bit;
	return first;
}

static int apply(const struct dt_command *command, struct words *words, const struct dt_option *option, char letter,
		 const char *value, void *options, struct dt_error *err)
{
	char text[64];
	struct dt_error why = {0};
	int code;

	if (value && !option->several && !first_value(words, command, option))
		return dt_fail(err, DT_EUSAGE, "%s is given twice: it takes one value (%s)",
			       spelled(option, letter, text), option->value);
	if (option->kind == DT_VALUE_CHOICE && value && !is_choice(option->choices, value))
		return dt_fail(err, DT_EUSAGE, "%s: '%s' is none of: %s", spelled(option, letter, text), value,
			       option->choices);
	code = option->set(options, value, &why);
	if (code) {
		dt_fail(err, code, "%s: %s", spelled(option, letter, text), why.message);
		if (err && why.hint[0])
			dt_hint(err, "%s", why.hint);
	}
	return code;
}

static int needs_value(const struct dt_option *option, char letter, struct dt_error *err)
{
	char text[64];

	return dt_fail(err, DT_EUSAGE, "%s needs a value (%s)", spelled(option, letter, text), option->value);
}

static int parse_long(const struct dt_command *command, struct words *words, void *options, struct dt_error *err)
{
	const char *name = words->list[words->at] + 2;
	size_t length = strcspn(name, "=");
	const char *value = name[length] ? name + length + 1 : NULL;
	const struct dt_option *option = find_long(command, name, length);

	if (!option)
		return unknown_long(command, name, length, err);
	if (option->kind == DT_VALUE_NONE && value)
		return dt_fail(err, DT_EUSAGE, "--%s takes no value", option->name);
	if (!option->set)
		return DT_PARSE_HELP;
	if (option->kind != DT_VALUE_NONE && !option->optional && !value) {
		if (words->at + 1 >= words->count)
			return needs_value(option, 0, err);
		value = words->list[++words->at];
	}
	return apply(command, words, option, 0, value, options, err);
}

/* -x, -xyz, -xVALUE, -x VALUE */
static int parse_letters(const struct dt_command *command, struct words *words, void *options, struct dt_error *err)
{
	for (const char *at = words->list[words->at] + 1; *at; at++) {
		const struct dt_option *option = find_letter(command, *at);
		const char *value = NULL;
		char letter = *at;
		int code;

		if (!option)
			return dt_fail(err, DT_EUSAGE, "'darter %s' has no option -%s%c", command->name,
				       (unsigned char)letter < 0x80 ? "" : "\\x", letter);
		if (!option->set)
			return DT_PARSE_HELP;
		if (option->optional && at[1] == '=') {
			value = at + 2;
		} else if (option->kind != DT_VALUE_NONE && !option->optional) {
			if (at[1])
				value = at + 1 + (at[1] == '=');
			else if (words->at + 1 < words->count)
				value = words->list[++words->at];
			else
				return needs_value(option, letter, err);
		}
		code = apply(command, words, option, letter, value, options, err);
		if (code || value)
			return code;
	}
	return 0;
}

static int parse_option(const struct dt_command *command, struct words *words, void *options, struct dt_error *err)
{
	return words->list[words->at][1] == '-' ? parse_long(command, words, options, err)
						: parse_letters(command, words, options, err);
}

int dt_parse(const struct dt_command *command, int count, char *const *list, void *options, struct dt_error *err)
{
	struct words words = {.list = list, .count = count};
	bool only_arguments = false;

	for (; words.at < words.count; words.at++) {
		const char *word = list[words.at];
		bool option = !only_arguments && word[0] == '-' && word[1];
		int code;

		if (option && !strcmp(word, "--") && command->program)
			return command->program(options, list + words.at + 1, count - words.at - 1, err);
		if (option && !strcmp(word, "--")) {
			only_arguments = true;
			continue;
		}
		if (option)
			code = parse_option(command, &words, options, err);
		else if (command->argument)
			code = command->argument(options, word, err);
		else
			code = dt_fail(err, DT_EUSAGE, "'darter %s' takes no argument, but there is '%s'",
				       command->name, word);
		if (code == DT_EUSAGE && !option && command->meant)
			command->meant(list + words.at, count - words.at, err);
		/* What a command says of its arguments needs no more words. */
		if (code == DT_EUSAGE && (option || !command->argument))
			dt_hint(err, "'darter %s --help' shows its options", command->name);
		if (code)
			return code;
	}
	return DT_PARSE_RUN;
}

bool dt_is_file(const char *word)
{
	struct stat st;

	return strchr(word, '/') || (stat(word, &st) == 0 && S_ISREG(st.st_mode));
}

void dt_hint_core(const char *file, struct dt_error *err)
{
	struct dt_buf line = DT_BUF_INIT;

	dt_buf_puts(&line, "darter dump --core ");
	if (dt_shell_quote(&line, file) && !line.failed)
		dt_hint(err, "The stacks in a core file are shown by:\n    %s", line.data);
	else
		dt_hint(err, "'darter dump --core FILE' shows the stacks in a core file");
	dt_buf_release(&line);
}

int dt_value_pid(const char *text, int *pid, struct dt_error *err)
{
	uint64_t value;

	if (!dt_parse_u64(text, INT_MAX, &value) || !value)
		return dt_fail(err, DT_EUSAGE, "'%s' is not a process id", text);
	*pid = (int)value;
	return 0;
}

/* The seconds of a unit, 0 if there is none of that name. */
static double unit_seconds(const char *name, size_t length)
{
	static const struct {
		const char *name;
		double seconds;
	} units[] = {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"m", 60}, {"min", 60}, {"h", 3600}, {"d", 86400}};

	for (size_t i = 0; i < DT_COUNT(units); i++)
		if (strlen(units[i].name) == length && !strncmp(name, units[i].name, length))
			return units[i].seconds;
	return 0;
}

/* A number with its unit, which must be smaller than the one before; without one if it stands alone. */
static bool add_time(const char **text, double *unit, double *sum)
{
	char *end;
	double value = strtod(*text, &end), before = *unit;
	size_t length = strspn(end, "abcdefghijklmnopqrstuvwxyz");

	/* strtod() would take a space, a sign and words as well. */
	if (!strchr("0123456789.", **text) || end == *text)
		return false;
	*unit = *end || isfinite(before) ? unit_seconds(end, length) : 1;
	*sum += value * *unit;
	*text = end + length;
	return *unit > 0 && *unit < before;
}

int dt_value_seconds(const char *text, double min, double *seconds, struct dt_error *err)
{
	double value = 0, unit = HUGE_VAL;
	bool negative = *text == '-', good;
	const char *rest = text + negative;

	do
		good = add_time(&rest, &unit, &value);
	while (good && *rest);
	if (!good || !isfinite(value)) {
		dt_fail(err, DT_EUSAGE, "'%s' is not a number of seconds", text);
		dt_hint(err, "other units stand behind the number: 0.5, 500ms, 10s, 2m, 1h30m");
		return DT_EUSAGE;
	}
	if (negative || value < min || value > 86400 * 366)
		return dt_fail(err, DT_EUSAGE, "'%s': from %g s to a year is possible", text, min);
	*seconds = value;
	return 0;
}

int dt_value_count(const char *text, size_t *count, struct dt_error *err)
{
	uint64_t value;

	if (!dt_parse_u64(text, SIZE_MAX / 2, &value) || !value)
		return dt_fail(err, DT_EUSAGE, "'%s' is not a number above 0", text);
	*count = (size_t)value;
	return 0;
}
