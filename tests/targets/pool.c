/* Threads that Python does not know: some compute, the others wait. */
#include <pthread.h>
#include <time.h>

#define STEADY __attribute__((noinline, visibility("default")))

volatile unsigned long pool_turns;

STEADY void pool_compute(void)
{
	for (;;)
		pool_turns++;
}

STEADY void pool_wait(void)
{
	for (;;)
		nanosleep(&(struct timespec){.tv_sec = 1000}, 0);
}

static void *pool_thread(void *computes)
{
	if (computes)
		pool_compute();
	else
		pool_wait();
	return 0;
}

STEADY int pool_start(int computing, int waiting)
{
	pthread_t thread;

	for (int i = 0; i < computing + waiting; i++)
		if (pthread_create(&thread, 0, pool_thread, i < computing ? (void *)&pool_turns : 0))
			return -1;
	return 0;
}
