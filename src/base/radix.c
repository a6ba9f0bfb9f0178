/* Passes of 11 bits; passes over bits that are equal in all keys are skipped. */
#include "base/radix.h"

#include <stdlib.h>

enum {
	RADIX_BITS = 11,
	RADIX = 1 << RADIX_BITS,
	FEW = 512, /* counting costs more than it saves for fewer rows */
};

/* One stable pass, by the RADIX_BITS bits from shift on. */
static void radix_pass(const struct radix_key *from, struct radix_key *to, size_t n, int shift)
{
	size_t start[RADIX] = { 0 }, sum = 0;

	for (size_t i = 0; i < n; i++)
		start[from[i].key >> shift & (RADIX - 1)]++;
	for (size_t i = 0; i < RADIX; i++) {
		size_t count = start[i];
		start[i] = sum;
		sum += count;
	}
	for (size_t i = 0; i < n; i++)
		to[start[from[i].key >> shift & (RADIX - 1)]++] = from[i];
}

static int key_cmp(const void *a, const void *b)
{
	const struct radix_key *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

/* Passes over bits that are equal in all keys are skipped. */
struct radix_key *radix_sort(struct radix_key *room, size_t n)
{
	struct radix_key *keys = room, *spare = room + n;
	uint64_t differ = 0;

	if (n < FEW) {
		qsort(room, n, sizeof *room, key_cmp);
		return room;
	}
	for (size_t i = 0; i < n; i++)
		differ |= keys[i].key ^ keys[0].key;
	for (int shift = 0; shift < 64; shift += RADIX_BITS) {
		if (!(differ >> shift & (RADIX - 1)))
			continue;
		radix_pass(keys, spare, n, shift);
		struct radix_key *sorted = spare;
		spare = keys;
		keys = sorted;
	}
	return keys;
}
