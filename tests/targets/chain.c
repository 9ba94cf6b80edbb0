/* A chain of calls that is known: chain_outer() -> chain_middle() -> the function that it was given, and chain_leaf(),
 * which does not come back. */
#include <time.h>

#define STEADY __attribute__((noinline, visibility("default")))
#define HERE   __asm__ volatile("" ::: "memory") /* keeps a call from becoming a jump */

volatile unsigned long chain_turns;

STEADY void chain_spin(void)
{
	for (;;)
		chain_turns++;
}

STEADY void chain_sleep(void)
{
	for (;;) {
		nanosleep(&(struct timespec){.tv_sec = 1000}, 0);
		HERE;
	}
}

STEADY void chain_leaf(int sleeps)
{
	if (sleeps)
		chain_sleep();
	else
		chain_spin();
	HERE;
}

static __attribute__((noinline)) void chain_middle(void (*function)(void))
{
	function();
	HERE;
}

STEADY void chain_outer(void (*function)(void))
{
	chain_middle(function);
	HERE;
}
