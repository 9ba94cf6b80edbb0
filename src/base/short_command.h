/* The part of a command line that tells one Python program from another, for where there is no room for the whole. */
#ifndef DT_BASE_SHORT_COMMAND_H
#define DT_BASE_SHORT_COMMAND_H

/* "python3 server.py" of "/usr/bin/python3 server.py": without the directory of the program. Points into command. */
const char *dt_command_program(const char *command);

/* "server.py --port 80" of "/usr/bin/python3 -u /srv/server.py --port 80", "http.server" of "python3 -m http.server":
 * without the interpreter and its options. Of a command that is no Python script it is dt_command_program. Points into
 * command. */
const char *dt_command_script(const char *command);

#endif
