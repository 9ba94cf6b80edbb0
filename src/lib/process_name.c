/* What a process runs, as a part of the name of a file. */
#include <ctype.h>
#include <stdio.h>

#include <darter/darter.h>

#include "base/short_command.h"
#include "base/util.h"
#include "proc/proc.h"

/* The first word of the script's command line, without what it ends with and without what a file name should not have.
 * What has no script (-c) is called as its interpreter. */
static void make_name(const char *command, char *name, size_t size)
{
	const char *script = dt_command_script(command);
	const char *word = script[0] == '-' ? dt_command_program(command) : script;
	size_t length = strcspn(word, " "), used = 0;

	if (length > 3 && !strncmp(word + length - 3, ".py", 3))
		length -= 3;
	for (size_t i = 0; i < length && used + 1 < size; i++) {
		unsigned char c = (unsigned char)word[i];

		if (c < 0x80 && (isalnum(c) || strchr("_.", c)))
			name[used++] = (char)c;
		else if (used && name[used - 1] != '-')
			name[used++] = '-';
	}
	while (used && name[used - 1] == '-')
		used--;
	name[used] = '\0';
	if (!used || name[0] == '.')
		snprintf(name, size, "python");
}

void dt_process_name(int pid, const char *command, char *name, size_t size)
{
	struct dt_arena arena;
	struct dt_proc proc;

	snprintf(name, size, "python");
	if (command)
		make_name(command, name, size);
	if (command || dt_proc_open(pid, &proc) < 0)
		return;
	dt_arena_init(&arena, 0);
	command = dt_proc_command(&proc, &arena);
	if (command)
		make_name(command, name, size);
	dt_arena_release(&arena);
	dt_proc_release(&proc);
}
