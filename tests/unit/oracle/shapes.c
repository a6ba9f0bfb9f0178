/* Functions with every form of frame that compilers make: t_walk_oracle.c builds this in many ways and checks each instruction. */
#include <alloca.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define OUT_OF_LINE __attribute__((noinline, noclone_))
#ifdef __clang__
#define noclone_
#define realigned
#else
#define noclone_  noclone
#define realigned __attribute__((force_align_arg_pointer))
#endif

static volatile int sink;

OUT_OF_LINE int leaf(int a)
{
	return a * 3 + sink;
}

OUT_OF_LINE int many_arguments(int a, int b, int c, int d, int e, int f, int g, int h, int i)
{
	return leaf(a + b) + leaf(c + d) * leaf(e + f) + g * h - i;
}

/* Uses every callee-saved register. */
OUT_OF_LINE long many_registers(const long *v)
{
	long a = v[0], b = v[1], c = v[2], d = v[3], e = v[4], f = v[5], g = v[6], h = v[7];

	for (int i = 0; i < 3; i++) {
		a += leaf(b) ^ c;
		b += leaf(c) ^ d;
		c += leaf(d) ^ e;
		d += leaf(e) ^ f;
		e += leaf(f) ^ g;
		f += leaf(g) ^ h;
		g += leaf(h) ^ a;
		h += leaf(a) ^ b;
	}
	return a + b + c + d + e + f + g + h;
}

OUT_OF_LINE int large_frame(int n)
{
	char area[20000];

	memset(area, n, sizeof area / 40);
	area[n & 1023] = leaf(n);
	return area[7] + leaf(area[n & 7]);
}

OUT_OF_LINE int with_alloca(int n)
{
	volatile char *p = alloca(n * 16 + 16), *q = p;

	for (int i = 0; i < n; i++)
		p[i * 16] = leaf(i);
	if (n > 3)
		q = alloca(n * 48);
	q[0] = 1;
	return p[0] + q[0] + leaf(n);
}

OUT_OF_LINE int with_vla(int n)
{
	int sum = 0;

	for (int k = 1; k < n; k++) {
		volatile int v[k * 5];

		v[0] = v[k] = leaf(k);
		sum += v[0] + v[k];
	}
	return sum;
}

OUT_OF_LINE int aligned_frame(int n)
{
	_Alignas(64) volatile int v[32];

	v[0] = leaf(n);
	v[31] = many_arguments(n, 1, 2, 3, 4, 5, 6, 7, 8);
	return v[0] + v[31] + (((uintptr_t)v & 63) != 0);
}

OUT_OF_LINE int aligned_and_variable(int n, int a, int b, int c, int d, int e, int f, int g)
{
	_Alignas(32) volatile int v[16];
	volatile char *p = alloca(n + 100);

	p[n] = leaf(a + b + c);
	v[0] = leaf(d + e + f + g);
	return v[0] + p[n];
}

realigned OUT_OF_LINE int realigned_frame(int n)
{
	volatile double d[4] = { n, 1, 2, 3 };

	return d[0] + leaf(n) + d[3];
}

OUT_OF_LINE int tail_a(int n);
OUT_OF_LINE int tail_b(int n)
{
	return n <= 0 ? leaf(n) : tail_a(n - 1);
}
OUT_OF_LINE int tail_a(int n)
{
	int v[8] = { n, leaf(n) };

	sink += v[n & 1];
	return tail_b(n - 1);
}

OUT_OF_LINE int recurse(int n)
{
	return n ? recurse(n - 1) + leaf(n) : 0;
}

OUT_OF_LINE int variadic(int n, ...)
{
	va_list ap;
	double sum = 0;

	va_start(ap, n);
	for (int i = 0; i < n; i++)
		sum += va_arg(ap, double) + leaf(i);
	va_end(ap);
	return sum;
}

struct big {
	long v[12];
};
OUT_OF_LINE struct big by_value(struct big b)
{
	b.v[3] += leaf(b.v[4]);
	return b;
}

OUT_OF_LINE int by_switch(int n)
{
	switch (n) {
	case 0:
		return leaf(1);
	case 1:
		return leaf(2) + leaf(3);
	case 2:
		return with_vla(2);
	case 3:
		return many_arguments(1, 2, 3, 4, 5, 6, 7, 8, n);
	case 4:
		return 17;
	case 5:
		return leaf(leaf(n));
	default:
		return sink;
	}
}

/* An early return before the registers are saved, and a cold part elsewhere. */
__attribute__((cold, noinline)) void unlikely(int n)
{
	sink += n;
}
OUT_OF_LINE int wrapped(const long *v, int n)
{
	if (!v)
		return n;
	if (__builtin_expect(v[0] > 100, 0)) {
		unlikely(n);
		return leaf(n) + with_alloca(n);
	}
	return many_registers(v) + leaf(v[1]);
}

static jmp_buf back;
__attribute__((noreturn, noinline)) void jump_back(int n)
{
	volatile char area[64];

	area[n & 63] = n;
	longjmp(back, area[n & 63] + 1);
}
/* Ends in a call that does not return. */
__attribute__((noinline)) int dive(int n)
{
	volatile int v = leaf(n);

	if (n > 0)
		return dive(n - 1) + v;
	jump_back(v & 3);
}
OUT_OF_LINE int jumps(void)
{
	volatile int n = 0;

	if (setjmp(back) == 0)
		n = dive(4);
	return n + leaf(2);
}

static int by_value_of(const void *a, const void *b)
{
	return leaf(*(const int *)a) - leaf(*(const int *)b);
}
OUT_OF_LINE int sorted(int n)
{
	int v[24];

	for (int i = 0; i < 24; i++)
		v[i] = (i * 17 + n) % 23;
	qsort(v, 24, sizeof *v, by_value_of);
	int *found = bsearch(&n, v, 24, sizeof *v, by_value_of);
	return v[3] + (found ? *found : 0);
}

OUT_OF_LINE int the_time(void)
{
	struct timespec t;
	struct timeval tv;

	clock_gettime(CLOCK_MONOTONIC, &t);
	clock_gettime(CLOCK_REALTIME, &t);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	gettimeofday(&tv, NULL);
	return t.tv_nsec + tv.tv_usec + time(NULL) + getppid();
}

OUT_OF_LINE int library(int n)
{
	char text[64], *copy, *end;

	memset(text, 'a', sizeof text - 1);
	text[63] = '\0';
	copy = strdup(text);
	text[3] = '\0';
	n += strlen(copy) + strcmp(copy, text) + strtol("1234", &end, 10) + atoi("77");
	copy = realloc(copy, 100000);
	copy[99999] = 1;
	free(copy);
	return n + abs(rand());
}

#if defined __GNUC__ && !defined __clang__
/* Called by code on the stack. */
OUT_OF_LINE int apply(int (*fn)(int), int n)
{
	return fn(n) + n;
}
OUT_OF_LINE int nested(int n)
{
	int calls = 0;
	int inner(int k)
	{
		calls++;
		return leaf(k) + n;
	}
	return apply(inner, n) + calls;
}
#else
static int nested(int n)
{
	return n;
}
#endif

static void at_end(void)
{
	sink += leaf(4);
}

int main(void)
{
	static const long values[8] = { 3, 1, 4, 1, 5, 9, 2, 6 }, above[8] = { 101 };
	struct big b = { { 1, 2, 3 } };
	int (*volatile indirect)(int) = large_frame;

	atexit(at_end);
	sink += many_arguments(1, 2, 3, 4, 5, 6, 7, 8, 9) + many_registers(values);
	sink += indirect(5) + with_alloca(2) + with_alloca(7) + with_vla(5);
	sink += aligned_frame(3) + aligned_and_variable(9, 1, 2, 3, 4, 5, 6, 7) +
		realigned_frame(4);
	sink += tail_a(5) + recurse(30) + variadic(3, 1.5, 2.5, 3.5) + by_value(b).v[3];
	for (int i = 0; i < 7; i++)
		sink += by_switch(i);
	sink += wrapped(NULL, 1) + wrapped(values, 1) + wrapped(above, 2);
	sink += jumps() + sorted(3) + the_time() + library(2) + nested(5);
	return 0;
}
