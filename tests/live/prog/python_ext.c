/* A library that Python programs call (tests/live/python/shapes.py): functions of C between Python frames, with and without the GIL. */
// build: -O2 -fomit-frame-pointer -fno-optimize-sibling-calls -shared -fPIC
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

extern void *PyObject_CallObject(void *callable, void *args) __attribute__((weak));
void ext_ctypes(int (*callback)(int), int times);
void *ext_held(void *callable);
void ext_spin(int millions);
void ext_ruin(uint64_t *at, uint32_t words, uint32_t seed, int millions);

/* By ctypes.CDLL: without the GIL, which each callback takes. */
void ext_ctypes(int (*callback)(int), int times)
{
	volatile int sum = 0;
	for (int i = 0; i < times; i++)
		sum += callback(300 + i);
}

/* By ctypes.PyDLL: with the GIL, as an extension module does. */
void *ext_held(void *callable)
{
	void *result = NULL;
	for (int i = 0; i < 3; i++)
		result = PyObject_CallObject(callable, NULL);
	__asm__ volatile("");
	return result;
}

void ext_spin(int millions)
{
	volatile unsigned x = 1;
	for (int i = 0; i < millions * 1000000; i++)
		x = x * 3 + 1;
}

/* Overwrites memory with whatever could lead a reader astray: noise, small numbers, pointers into itself; works on, and ends the process,
 * as nothing of Python works any more. */
void ext_ruin(uint64_t *at, uint32_t words, uint32_t seed, int millions)
{
	uint64_t x = seed * 0x9e3779b97f4a7c15ull + 1;
	for (uint32_t i = 0; i < words; i++) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		uint64_t choices[] = { x, x & 255, (uintptr_t)(at + x % words), (uintptr_t)(at + i),
				       0, ~0ull };
		at[i] = choices[(x >> 32) % 6];
	}
	ext_spin(millions);
	_exit(0);
}
