/* tests/unit/shadow_stack.h: the stack of a program that runs one instruction at a time, updated according to what its instructions do: the truth for
 * comparing an unwinder.
 *
 * A call pushes an entry with the location of its return address. The entry lives until the stack pointer is above that location, whether by a
 * return, a jump over frames, or an exception. A signal pushes the interrupted instruction, and the return address that the kernel made. On an
 * alternate stack, its entries live until the program is back on its own stack. x86-64 only. */
#ifndef CRESSET_TESTS_SHADOW_STACK_H
#define CRESSET_TESTS_SHADOW_STACK_H

#include "unit.h"

#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/user.h>

struct shadow_entry {
	uint64_t place;   /* lives until the stack pointer is above it */
	uint64_t address; /* where it returns to */
	bool is_signal, on_other_stack;
};
struct shadow_stack {
	VEC(struct shadow_entry) entries;
	uint64_t other_lo, other_hi; /* the stack of sigaltstack() */
};
/* Reads the program's memory. */
typedef bool shadow_read(void *ctx, void *to, size_t size, uint64_t address);

/* The length of an instruction's prefixes. */
static inline size_t shadow_prefixes(const uint8_t *code, size_t len)
{
	size_t i = 0;
	while (i < len &&
	       (memchr("\x66\x67\xf2\xf3\x2e\x3e\x64\x65", code[i], 8) || (code[i] & 0xf0) == 0x40))
		i++;
	return i;
}

static inline bool shadow_is_call(const uint8_t *code, size_t len)
{
	size_t i = shadow_prefixes(code, len);
	return i + 1 < len && (code[i] == 0xe8 || (code[i] == 0xff && (code[i + 1] >> 3 & 7) == 2));
}

static inline bool shadow_is_return(const uint8_t *code, size_t len)
{
	size_t i = shadow_prefixes(code, len);
	return i < len && (code[i] == 0xc3 || code[i] == 0xc2);
}

static inline bool shadow_is_on_other(const struct shadow_stack *s, uint64_t sp)
{
	return sp >= s->other_lo && sp < s->other_hi;
}

/* Drops entries that are no longer live. */
static inline void shadow_drop(struct shadow_stack *s, uint64_t sp)
{
	size_t low = 0;
	for (size_t i = 0; i < s->entries.n; i++) {
		if (!s->entries.v[i].on_other_stack)
			continue;
		if (shadow_is_on_other(s, sp))
			low = i + 1;
		else
			s->entries.n = i;
		break;
	}
	while (s->entries.n > low && s->entries.v[s->entries.n - 1].place < sp)
		s->entries.n--;
}

/* Finds a signal frame at the new stack pointer: the return address, then struct ucontext with the registers from byte 40 on. False when there is
 * none that saves the registers in `before`. */
static inline bool shadow_signal(struct shadow_stack *s, const struct user_regs_struct *before,
				 const struct user_regs_struct *after, shadow_read *read, void *ctx)
{
	enum { SAVED_SP = 8 + 40 + 15 * 8 };
	uint64_t saved[2], restorer;
	if (after->rsp == before->rsp || !read(ctx, saved, sizeof saved, after->rsp + SAVED_SP) ||
	    !read(ctx, &restorer, sizeof restorer, after->rsp))
		return false;
	if (saved[0] != before->rsp || before->rip - saved[1] > 2) /* 2: a restarted system call */
		return false;
	bool other = shadow_is_on_other(s, after->rsp) && !shadow_is_on_other(s, before->rsp);
	vec_push(&s->entries, (struct shadow_entry){ .place = after->rsp + SAVED_SP + 8,
						     .address = saved[1],
						     .is_signal = true,
						     .on_other_stack = other });
	vec_push(&s->entries, (struct shadow_entry){ .place = after->rsp, .address = restorer });
	return true;
}

/* Updates the stack after the instruction `code` at before->rip. */
static inline void shadow_step(struct shadow_stack *s, const uint8_t *code, size_t len,
			       const struct user_regs_struct *before,
			       const struct user_regs_struct *after, shadow_read *read, void *ctx)
{
	uint64_t pushed;
	shadow_drop(s, after->rsp);
	if (shadow_is_call(code, len) && after->rsp == before->rsp - 8 &&
	    read(ctx, &pushed, sizeof pushed, after->rsp))
		vec_push(&s->entries,
			 (struct shadow_entry){ .place = after->rsp, .address = pushed });
}

#endif
