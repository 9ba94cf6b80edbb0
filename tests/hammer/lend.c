/*
 * lend LIBRARY busy|asleep|gone SCRIPT [ARGUMENT...]: a program with Python in it, whose main thread makes a thread
 * state and lets another thread run the script with it, so that the thread state names the main thread for ever.
 * Meanwhile the main thread computes in C (busy) or sleeps (asleep); gone: it sleeps and has no thread state any more.
 * The functions are looked up in the library at run time: one build serves every Python.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct interpreter;
struct thread_state;

static struct {
	void (*begin)(void);
	struct interpreter *(*interpreter)(void);
	struct thread_state *(*make)(struct interpreter *);
	struct thread_state *(*save)(void);
	void (*restore)(struct thread_state *);
	void (*clear)(struct thread_state *);
	void (*destroy)(struct thread_state *);
	int (*run)(const char *, void *);
} python;

static const struct {
	const char *name;
	void *function;
} symbols[] = {
    {"Py_Initialize", &python.begin},          {"PyInterpreterState_Head", &python.interpreter},
    {"PyThreadState_New", &python.make},       {"PyEval_SaveThread", &python.save},
    {"PyEval_RestoreThread", &python.restore}, {"PyThreadState_Clear", &python.clear},
    {"PyThreadState_Delete", &python.destroy}, {"PyRun_SimpleStringFlags", &python.run},
};

static struct {
	struct thread_state *state;  /* to be run by the other thread */
	struct thread_state *makers; /* of the main thread, to be thrown away; NULL: it keeps it */
	char text[4096];
} lent;

static void fail(const char *what)
{
	fprintf(stderr, "lend: %s\n", what ? what : "?");
	exit(2);
}

static void load(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);

	if (!library)
		fail(dlerror());
	for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++) {
		void *address = dlsym(library, symbols[i].name);

		if (!address)
			fail(symbols[i].name);
		memcpy(symbols[i].function, &address, sizeof(address));
	}
}

/* What runs the script as if it were started the ordinary way. */
static void write_text(int count, char **words)
{
	size_t length = (size_t)snprintf(lent.text, sizeof(lent.text), "import sys\nsys.argv = [");

	for (int i = 0; i < count; i++) {
		if (strpbrk(words[i], "'\\\n"))
			fail("an argument that would have to be quoted");
		length += (size_t)snprintf(lent.text + length, sizeof(lent.text) - length, "'%s', ", words[i]);
		if (length >= sizeof(lent.text))
			fail("too many arguments");
	}
	length += (size_t)snprintf(lent.text + length, sizeof(lent.text) - length,
				   "]\n__file__ = sys.argv[0]\nsys.path.insert(0, __file__.rpartition('/')[0])\n"
				   "exec(compile(open(__file__).read(), __file__, 'exec'))\n");
	if (length >= sizeof(lent.text))
		fail("too many arguments");
}

static void *run(void *unused)
{
	(void)unused;
	python.restore(lent.state);
	if (lent.makers) {
		python.clear(lent.makers);
		python.destroy(lent.makers);
	}
	exit(python.run(lent.text, NULL) ? 1 : 0);
}

int main(int argc, char **argv)
{
	struct thread_state *own;
	pthread_t thread;

	if (argc < 4)
		fail("usage: lend LIBRARY busy|asleep|gone SCRIPT [ARGUMENT...]");
	load(argv[1]);
	write_text(argc - 3, argv + 3);
	python.begin();
	lent.state = python.make(python.interpreter());
	own = python.save();
	if (strcmp(argv[2], "gone") == 0)
		lent.makers = own;
	if (pthread_create(&thread, NULL, run, NULL))
		fail("no thread");
	for (volatile unsigned long number = 0; strcmp(argv[2], "busy") == 0;)
		number = number + 1;
	for (;;)
		pause();
}
