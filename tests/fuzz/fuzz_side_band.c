// tier: test
/* Any bytes as a side-band ring. The first two are where in the ring they begin, so that records
 * wrap. */
#include "collect/kernel/side_band.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { RING_BYTES = 1 << 16 };

static void check(const struct side_record *r, const uint8_t *rec, size_t len)
{
	const char *end = (const char *)rec + len;

	if (r->kind == SIDE_MMAP && (!r->len || r->start + r->len <= r->start))
		abort();
	if (r->name && (r->name < (const char *)rec || r->name + strlen(r->name) >= end))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2 || size - 2 > RING_BYTES)
		return 0;
	uint8_t *ring = calloc(1, RING_BYTES);
	struct side_ring r = { .data = ring, .size = RING_BYTES };
	const uint8_t *rec;
	size_t len, n = 0;

	r.tail = (data[0] | data[1] << 8) & ~7u;
	r.head = r.tail + size - 2;
	for (size_t i = 2; i < size; i++)
		ring[(r.tail + i - 2) % RING_BYTES] = data[i];
	while (side_ring_next(&r, &rec, &len)) {
		uint8_t *copy = malloc(len); /* the sanitizer knows its end */
		struct side_record s;

		memcpy(copy, rec, len);
		if (side_record_decode(copy, len, &s))
			check(&s, copy, len);
		free(copy);
		if (++n > size)
			abort();
	}
	if (r.tail != r.head)
		abort();
	side_ring_done(&r);
	free(ring);
	return 0;
}
