#include <stdlib.h>
#include <unistd.h>
volatile unsigned long s;
__attribute__((noinline)) void check_auth(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		s += i * 7;
}
__attribute__((noinline)) void parse_request(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		s += i * i;
}
__attribute__((noinline)) void write_reply(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		s += i ^ 3;
}
int main(int c, char **v)
{
	alarm(atoi(v[1]));
	for (;;) {
		parse_request(3000000);
		write_reply(1000000);
		check_auth(4000000);
	}
}
