/* The same as chain.c, in C++: a class template in a namespace, with a member that holds an exception on its way. */
#include <ctime>
#include <stdexcept>

#define STEADY __attribute__((noinline))
#define HERE   __asm__ volatile("" ::: "memory")

volatile unsigned long chain_turns;

namespace links {

template <typename T> class Link {
      public:
	STEADY void spin()
	{
		for (;;)
			chain_turns = chain_turns + 1;
	}
	STEADY void sleep()
	{
		timespec time = {1000, 0};
		for (;;) {
			nanosleep(&time, nullptr);
			HERE;
		}
	}
	STEADY void leaf(T sleeps)
	{
		try {
			throw std::runtime_error("caught on the way");
		} catch (const std::exception &) {
			if (sleeps)
				sleep();
			else
				spin();
		}
		HERE;
	}
	STEADY void middle(void (*function)())
	{
		function();
		HERE;
	}
};

}

extern "C" {
void chain_leaf(int sleeps)
{
	links::Link<int>().leaf(sleeps);
	HERE;
}

void chain_outer(void (*function)())
{
	links::Link<int>().middle(function);
	HERE;
}
}
