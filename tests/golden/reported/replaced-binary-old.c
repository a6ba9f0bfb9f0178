#include <stdlib.h>
#include <unistd.h>
volatile unsigned long s;
__attribute__((noinline)) void old_func(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		s += i * i;
}
int main(int c, char **v)
{
	alarm(atoi(v[1]));
	for (;;)
		old_func(3000000);
}
