/* Reads words of a stack copy, with the rules at its start. */
#include "collect/walker/stack_copy.h"

#include <string.h>

enum {
	STACK_MAX_BYTES = 8 << 20, /* still the stack, this far above its pointer */
	RED_ZONE_BYTES = 128, /* below it; only the thread writes there (System V ABI, 3.2.2) */
};

static bool read_copied(struct stack_copy *s, void *to, size_t size, uint64_t at)
{
	if (at >= s->size_bytes || size > s->size_bytes - at) {
		s->is_short = !s->is_whole && at < STACK_MAX_BYTES;
		return false;
	}
	memcpy(to, s->data + at, size);
	return true;
}

bool stack_copy_read(struct stack_copy *s, void *to, size_t size, uint64_t address)
{
	size_t word = sizeof s->fp;

	if (s->sp - address - 1 >= RED_ZONE_BYTES || size < word)
		return read_copied(s, to, size, address - s->sp);
	memcpy(to, &s->fp, word);
	return size == word || stack_copy_read(s, (char *)to + word, size - word, address + word);
}

enum walk_end stack_copy_end(const struct stack_copy *s, enum walk_end end)
{
	return end == WALK_UNREADABLE && s->is_short ? WALK_CUT : end;
}
