/* A program without a C library and without frame pointers, whose stacks need unwind tables: recursion, a realigned stack, one whose
 * size is known at run time only, and one deeper than what is recorded of it. */
#include <stdint.h>

static volatile uint64_t sum;

__attribute__((noinline)) static void burn(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		sum += i * i;
}

__attribute__((noinline)) static uint64_t recurse(uint64_t depth, uint64_t n)
{
	uint64_t before = sum;
	if (depth)
		recurse(depth - 1, n);
	else
		burn(n);
	return sum - before;
}

__attribute__((noinline)) static uint64_t aligned(uint64_t n)
{
	volatile uint64_t v[8] __attribute__((aligned(64)));
	v[n & 7] = recurse(2, n);
	return v[n & 7];
}

__attribute__((noinline)) static uint64_t sized(uint64_t n)
{
	volatile uint64_t v[n & 15];
	v[0] = aligned(n);
	return v[0];
}

__attribute__((used, noreturn)) static void run(void)
{
	uint64_t result = 0;
	for (int i = 0; i < 20; i++)
		result += sized(4000003) + recurse(200, 1000000);
	__asm__ volatile("syscall" : : "a"(231), "D"(result & 0) : "rcx", "r11", "memory");
	__builtin_unreachable();
}

__asm__(".globl _start\n"
	".type _start, @function\n"
	"_start:\n"
	".cfi_startproc\n"
	".cfi_undefined rip\n"
	"xor %ebp, %ebp\n"
	"call run\n"
	".cfi_endproc\n"
	".size _start, .-_start\n");
