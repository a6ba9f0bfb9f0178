#include <stdlib.h>
#include <unistd.h>
void (*hook)(unsigned long);
int main(int c, char **v)
{
	alarm(atoi(v[1]));
	for (;;)
		hook(3000000);
}
