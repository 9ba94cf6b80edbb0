/*
 * Command lines made shorter: see short_command.h. Arguments come joined by spaces, so one that holds a space is taken
 * for two: what is shown is then another part of the command line, never something else.
 */
#include "base/short_command.h"

#include <stdbool.h>
#include <string.h>

static const char *next_word(const char *word)
{
	word += strcspn(word, " ");
	return word + strspn(word, " ");
}

const char *dt_command_program(const char *command)
{
	const char *at = command;

	for (size_t i = 0; command[i] && command[i] != ' '; i++)
		if (command[i] == '/' && command[i + 1] && command[i + 1] != ' ')
			at = command + i + 1;
	return at;
}

/* "python", "python3", "python3.13t", "python3.11-dbg": not "python-server", whose words mean something else. */
static bool is_interpreter(const char *program)
{
	const size_t length = strlen("python");

	if (strncmp(program, "python", length) != 0)
		return false;
	program += length;
	program += strspn(program, "0123456789.");
	program += strspn(program, "dmtu");
	if (!strncmp(program, "-dbg", strlen("-dbg")))
		program += strlen("-dbg");
	return !*program || *program == ' ';
}

/* Passes over one word of the interpreter's options (-u, -Wd, -X dev, -Im), and over its value if that is the next
 * word. True where none can follow: *word is then what runs. */
static bool pass_option(const char **word)
{
	static const char hash_based[] = "--check-hash-based-pycs "; /* the only long one with a value */
	const char *letter = *word + 1, *value;

	if (!*letter || *letter == ' ')
		return true; /* "-": the script comes from a pipe */
	if (*letter == '-') {
		if (!strncmp(*word, hash_based, strlen(hash_based)))
			*word = next_word(*word);
		*word = next_word(*word);
		return false;
	}
	letter += strcspn(letter, "cmWX ");
	value = *letter && letter[1] && letter[1] != ' ' ? letter + 1 : next_word(*word);
	switch (*letter) {
	case 'c':
		return true;
	case 'm':
		*word = value;
		return true;
	case 'W':
	case 'X':
		*word = next_word(value);
		return false;
	default:
		*word = next_word(*word);
		return false;
	}
}

const char *dt_command_script(const char *command)
{
	const char *program = dt_command_program(command), *word;

	if (!is_interpreter(program))
		return program;
	word = next_word(program);
	while (*word == '-')
		if (pass_option(&word))
			return *word ? word : program;
	return *word ? dt_command_program(word) : program;
}
