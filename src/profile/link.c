/* A table of interned spans, with parsing and printing of ids. */
#include "profile/link.h"

#include <string.h>

struct lookup {
	const struct link_table *table;
	const struct trace_link *link;
};

static bool is_same(const void *ctx, uint32_t i)
{
	const struct lookup *l = ctx;

	return memcmp(&l->table->all.v[i], l->link, sizeof *l->link) == 0;
}

bool link_is_none(const struct trace_link *l)
{
	static const struct trace_link none;

	return memcmp(l, &none, sizeof none) == 0;
}

uint32_t link_intern(struct link_table *t, const struct trace_link *l)
{
	struct lookup lookup = { t, l };
	uint64_t key = hash_bytes(l, sizeof *l);
	uint32_t i;

	if (link_is_none(l))
		return 0;
	if (t->all.n >= LINK_MAX)
		return map_lookup(&t->index, key, is_same, &lookup, &i) ? i + 1 : 0;
	i = map_intern(&t->index, key, t->all.n, is_same, &lookup);
	if (i == t->all.n)
		vec_push(&t->all, *l);
	return i + 1;
}

void link_table_done(struct link_table *t)
{
	vec_done(&t->all);
	map_done(&t->index);
}

void link_text(const uint8_t *bytes, size_t n, char *out)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		*out++ = digits[bytes[i] >> 4];
		*out++ = digits[bytes[i] & 15];
	}
	*out = '\0';
}

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool link_parse(const char *text, size_t len, uint8_t *bytes, size_t n)
{
	if (len != 2 * n)
		return false;
	for (size_t i = 0; i < len; i++)
		if (digit_of(text[i]) < 0)
			return false;
	for (size_t i = 0; i < n; i++)
		bytes[i] = digit_of(text[2 * i]) << 4 | digit_of(text[2 * i + 1]);
	return true;
}
