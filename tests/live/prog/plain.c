/* A library whose code needs nothing but itself: it can be copied and mapped anywhere. Its functions are in the second page of
 * its code, and keep no frame pointer. */
// build: -O2 -fomit-frame-pointer -shared -fPIC -nostdlib -fcf-protection=none
typedef int plain_fn(int (*goes_on)(void));

plain_fn plain_outer;

__asm__(".text\n.fill 5000, 1, 0x90\n");

__attribute__((noinline)) static int plain_inner(int n)
{
	volatile int room[100];

	for (int i = 0; i < n; i++)
		room[i % 100] = i;
	return room[0];
}

int plain_outer(int (*goes_on)(void))
{
	volatile int sum = 0;

	while (goes_on())
		sum += plain_inner(1000000);
	return sum;
}
