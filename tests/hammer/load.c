/*
 * load LIBRARY... [run SCRIPT | idle | finish]: a program that loads libpython at run time, whatever it is called, and
 * runs a script with the last one. idle: loads and never begins Python. finish: begins, ends, and waits.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void (*symbol(void *library, const char *name))(void)
{
	void *address = dlsym(library, name);
	void (*function)(void);

	memcpy(&function, &address, sizeof(function));
	return function;
}

static int fail(const char *what)
{
	fprintf(stderr, "load: %s\n", what ? what : "?");
	return 1;
}

static int wait_forever(void)
{
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
	return 0;
}

static int run(void *library, const char *path)
{
	int (*run_flags)(FILE *, const char *, int, void *) = (int (*)(FILE *, const char *, int, void *))symbol(
	    library, "PyRun_SimpleFileExFlags");
	FILE *script = run_flags ? fopen(path, "r") : NULL;
	int failed;

	if (!script)
		return fail(path);
	failed = run_flags(script, path, 0, NULL);
	fclose(script);
	return failed ? 1 : 0;
}

int main(int argc, char **argv)
{
	void *library = NULL;
	void (*begin)(void), (*finish)(void);
	int i;

	for (i = 1; i < argc && argv[i][0] == '/'; i++) {
		library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
		if (!library)
			return fail(dlerror());
	}
	if (!library || i == argc)
		return fail("usage: load LIBRARY... [run SCRIPT | idle | finish]");
	if (strcmp(argv[i], "idle") == 0)
		return wait_forever();
	begin = symbol(library, "Py_Initialize");
	finish = symbol(library, "Py_Finalize");
	if (!begin || !finish)
		return fail("not a Python library");
	begin();
	if (strcmp(argv[i], "run") == 0 && i + 1 < argc)
		return run(library, argv[i + 1]);
	finish();
	return wait_forever();
}
