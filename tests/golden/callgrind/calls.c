#include <pthread.h>
#include "inl.h"
#define NOINLINE __attribute__((noinline))
int odd(int n);
NOINLINE int fib(int n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}
NOINLINE int even(int n)
{
	return n == 0 ? 1 : odd(n - 1) + (n & 3);
}
NOINLINE int odd(int n)
{
	return n == 0 ? 0 : even(n - 1) * 3;
}
NOINLINE int leaf(int n)
{
	int s = 0;
	for (int i = 0; i < n; i++)
		s += sq(i) % 7;
	return s;
}
NOINLINE int a(int n)
{
	return leaf(n) + leaf(n / 2);
}
NOINLINE int b(int n)
{
	return a(n) + leaf(n) + sq(n);
}
NOINLINE void *thread(void *arg)
{
	return (void *)(long)b((int)(long)arg);
}
int main(int argc, char **argv)
{
	(void)argv;
	int s = a(100) + b(200) + leaf(argc);
#ifdef RECURSE
	s += fib(9) + even(30);
#endif
#ifdef THREADS
	pthread_t t[2];
	for (long i = 0; i < 2; i++)
		pthread_create(&t[i], 0, thread, (void *)(300 * (i + 1)));
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
#endif
	return s & 1;
}
