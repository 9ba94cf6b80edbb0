/* A program of its own name that has Python linked in: embed SCRIPT runs it. For every Python from 2.7 on. */
#include <Python.h>

int main(int argc, char **argv)
{
	FILE *script = argc > 1 ? fopen(argv[1], "r") : NULL;
	int failed;

	if (!script)
		return 2;
	Py_Initialize();
	failed = PyRun_SimpleFile(script, argv[1]);
	fclose(script);
	return failed ? 1 : 0;
}
