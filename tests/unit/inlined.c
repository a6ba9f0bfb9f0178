// A program of functions that are inlined into each other, out of order and in part cold, for t_dwarf.c.
#include <stdlib.h>

struct list {
	int value;
	struct list *next;
};
typedef int (*step)(int);

static inline int inner(int a)
{
	return a + rand();
}
static inline int middle(int a)
{
	return inner(a) * inner(a + 1);
}
__attribute__((always_inline)) static inline int outer(int n)
{
	int sum = 0;
	for (int i = 0; i < n; i++)
		sum += middle(i);
	return sum;
}
static __attribute__((noinline)) int sometimes(int a, int unused)
{
	if (a > 3)
		return outer(a) + unused;
	abort();
}
static __attribute__((noinline)) int walk(const struct list *l, step f)
{
	int sum = 0;
	for (; l; l = l->next)
		sum += f(l->value);
	return sum;
}
#ifdef __GNUC__
int dropped(int a)
{
	return outer(a);
}
#endif
int main(int argc, char **argv)
{
	struct list one = { argc, NULL };
	(void)argv;
	return sometimes(argc, 3) + walk(&one, middle) + outer(argc);
}
