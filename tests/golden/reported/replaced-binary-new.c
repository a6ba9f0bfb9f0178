#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) int filler(int x)
{
	return x * 3 + 1;
}
volatile unsigned long s;
__attribute__((noinline)) void new_func_other(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		s += i * i;
}
int main(int c, char **v)
{
	alarm(atoi(v[1]));
	for (;;)
		new_func_other(3000000);
}
