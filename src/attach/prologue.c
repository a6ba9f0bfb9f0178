/* Decodes the first instructions of a function, and finds one that the kernel emulates under a
 * probe. */
#include "attach/prologue.h"

#include <stdbool.h>
#include <string.h>

enum {
	REX = 0x40,
	REX_MASK = 0xf0,
	MODRM_RIP = 0x05,      /* mod 0, rm 5: a displacement from the next instruction */
	MODRM_RIP_MASK = 0xc7, /* without the register */
	JCC_NEAR = 0x0f,
};

/* push reg, nop, relative jumps and calls. */
static bool is_emulated(const uint8_t *c, size_t n)
{
	if (n >= 2 && c[0] == 0x41 && (c[1] & 0xf8) == 0x50) /* push r8 … r15 */
		return true;
	if (n >= 2 && c[0] == JCC_NEAR)
		return (c[1] & 0xf0) == 0x80;
	return (c[0] & 0xf8) == 0x50 || (c[0] & 0xf0) == 0x70 || c[0] == 0x90 || c[0] == 0xe8 ||
	       c[0] == 0xe9 || c[0] == 0xeb;
}

/* cmp of a word in memory with an immediate: 80 /7 ib, 81 /7 id, 83 /7 ib. */
static size_t compare_with_memory(const uint8_t *c, size_t n)
{
	enum { COMPARE = 7 << 3, MODRM_AND_DISTANCE = 5 };

	if (n < 2 || c[1] != (MODRM_RIP | COMPARE))
		return 0;
	if (c[0] == 0x81)
		return 1 + MODRM_AND_DISTANCE + 4;
	return c[0] == 0x80 || c[0] == 0x83 ? 1 + MODRM_AND_DISTANCE + 1 : 0;
}

/* Returns the length of an instruction that changes no register but rax, r10, r11 and the flags,
 * and does not branch; 0: unknown instruction. */
static size_t passed_over(const uint8_t *c, size_t n)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	size_t rex = n > 1 && (c[0] & REX_MASK) == REX, len = 0;
	uint8_t high = rex && (c[0] & 4) ? 8 : 0; /* REX.R: high bit of the register number */

	if (n >= sizeof endbr64 && !memcmp(c, endbr64, sizeof endbr64))
		return sizeof endbr64;
	c += rex;
	n -= rex;
	if (n < 2)
		return 0;
	uint8_t reg = ((c[1] >> 3) & 7) + high;
	if (c[0] == 0x8b && (c[1] & MODRM_RIP_MASK) == MODRM_RIP &&
	    (reg == 0 || reg == 10 || reg == 11))
		len = 6; /* mov from memory */
	else if (c[0] == 0x85 && c[1] >= 0xc0)
		len = 2; /* test of registers */
	else if (c[0] == 0x31 && c[1] == 0xc0 && !high)
		len = 2; /* xor %eax,%eax */
	else if (c[0] == 0xb8)
		len = rex ? 0 : 5; /* mov of a number into eax */
	else
		len = compare_with_memory(c, n);
	return len ? len + rex : 0;
}

int prologue_place(const uint8_t *code, size_t n)
{
	size_t at = 0;

	while (at < n && !is_emulated(code + at, n - at)) {
		size_t len = passed_over(code + at, n - at);

		if (!len)
			return -1;
		at += len;
	}
	return at < n ? (int)at : -1;
}
