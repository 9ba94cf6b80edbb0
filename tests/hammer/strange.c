/*
 * Threads made in C that call Python in ways that Python programs do not. A library for ctypes.PyDLL; the functions of
 * Python are those of the interpreter that loads it, so that one build serves every version.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

typedef struct interpreter PyInterpreterState;
typedef struct thread_state PyThreadState;
typedef struct object PyObject;

extern PyInterpreterState *PyInterpreterState_Head(void);
extern PyThreadState *PyThreadState_New(PyInterpreterState *interpreter);
extern void PyEval_AcquireThread(PyThreadState *state);
extern void PyEval_ReleaseThread(PyThreadState *state);
extern PyThreadState *PyEval_SaveThread(void);
extern int PyGILState_Ensure(void);
extern void PyGILState_Release(int state);
extern PyObject *PyObject_CallObject(PyObject *callable, PyObject *arguments);

#define EXPORTED __attribute__((visibility("default")))

EXPORTED void borrowed(PyObject *function);
EXPORTED void brief(PyObject *function);
EXPORTED void live_in_memory_of_parent(void);

static PyObject *called;

static void *run_borrowed(void *state)
{
	PyEval_AcquireThread(state);
	PyObject_CallObject(called, NULL);
	PyEval_ReleaseThread(state);
	return NULL;
}

static void *run_brief(void *unused)
{
	int state = PyGILState_Ensure();

	(void)unused;
	PyObject_CallObject(called, NULL);
	PyGILState_Release(state);
	return NULL;
}

/* A thread state that is made here is run by another thread: it names this one for ever. The function does not come
 * back. */
void borrowed(PyObject *function)
{
	pthread_t thread;

	called = function;
	pthread_create(&thread, NULL, run_borrowed, PyThreadState_New(PyInterpreterState_Head()));
}

/* Short lives, one after the other: the thread state of each lies where that of the one before lay. Does not come back.
 */
void brief(PyObject *function)
{
	called = function;
	PyEval_SaveThread();
	for (;;) {
		pthread_t thread;

		pthread_create(&thread, NULL, run_brief, NULL);
		pthread_join(thread, NULL);
		nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
	}
}

static int live(void *unused)
{
	(void)unused;
	return (int)sleep(3600);
}

/* As between vfork() and exec(): the child has the parent's memory, and the parent's other threads go on in it. */
void live_in_memory_of_parent(void)
{
	static char stack[1 << 16];

	clone(live, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
}
