/* Each block is as large as all blocks before it together, from 4 KiB to 1 MiB. */
#include "base/arena.h"

#include "base/mem.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ARENA_ALIGN = 8, ARENA_BLOCK_MIN = 4096, ARENA_BLOCK_MAX = 1 << 20 };

struct arena_block {
	struct arena_block *next;
	_Alignas(ARENA_ALIGN) char data[];
};

static struct arena_block *arena_block_new(struct arena *a, size_t cap)
{
	struct arena_block *block = xmalloc(sizeof *block + cap);
	a->total += cap;
	return block;
}

/* Each new block is as large as all previous ones together, within limits, so there are few blocks
 * and at most half is wasted. */
static size_t arena_next_cap(const struct arena *a)
{
	size_t cap = a->total < ARENA_BLOCK_MIN ? ARENA_BLOCK_MIN : a->total;
	cap = cap > ARENA_BLOCK_MAX ? ARENA_BLOCK_MAX : cap;
	return cap - sizeof(struct arena_block);
}

/* Allocates a separate block after the head, whose free space stays in use. */
static void *arena_alloc_large(struct arena *a, size_t size)
{
	struct arena_block *block = arena_block_new(a, size);
	block->next = a->head->next;
	a->head->next = block;
	return block->data;
}

void *arena_alloc(struct arena *a, size_t size)
{
	if (size > PTRDIFF_MAX)
		mem_exhausted();
	size = (size + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
	if (a->head && size > a->cap - a->used && size > arena_next_cap(a) / 4)
		return arena_alloc_large(a, size);
	if (!a->head || size > a->cap - a->used) {
		size_t cap = arena_next_cap(a);
		cap = cap < size ? size : cap;
		struct arena_block *block = arena_block_new(a, cap);
		block->next = a->head;
		a->head = block;
		a->used = 0;
		a->cap = cap;
	}
	void *p = a->head->data + a->used;
	a->used += size;
	return p;
}

void *arena_zalloc(struct arena *a, size_t size)
{
	return memset(arena_alloc(a, size), 0, size);
}

void *arena_dup(struct arena *a, const void *data, size_t len)
{
	char *p = arena_alloc(a, len + 1);
	if (len)
		memcpy(p, data, len);
	p[len] = '\0';
	return p;
}

void arena_done(struct arena *a)
{
	while (a->head) {
		struct arena_block *next = a->head->next;
		free(a->head);
		a->head = next;
	}
	*a = (struct arena){ 0 };
}
