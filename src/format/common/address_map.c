#include "format/common/address_map.h"

#include "base/buf.h"
#include "profile/frame.h"
#include "profile/sink.h"

#include <stdlib.h>
#include <string.h>

#define ADDRESS_MAP_UNKNOWN 0x616464726573ull /* identity of the mapping without a name */

static void address_map_add(struct address_map *m, const struct address_range *r,
			    struct give_text name)
{
	if (r->end <= r->start || m->ranges.n >= ADDRESS_MAP_MAX)
		return;
	struct address_range range = *r;
	struct mapping mapping = { .name = m->sink->ops->string(m->sink, name.s, name.len) };
	range.mapping = m->sink->ops->mapping(m->sink, &mapping);
	range.order = m->ranges.n;
	vec_push(&m->ranges, range);
	m->is_sorted = false;
}

static bool hex_before(const char **s, const char *end, char stop, uint64_t *out)
{
	uint64_t v = 0;
	const char *p = *s;
	for (; p < end && *p != stop; p++) {
		unsigned c = (unsigned char)*p | 0x20;
		unsigned digit = *p >= '0' && *p <= '9' ? c - '0' : c - 'a' + 10;
		if (digit > 15 || (digit >= 10 && (c < 'a' || c > 'f')) || v >> 60)
			return false;
		v = v << 4 | digit;
	}
	bool good = p < end && p > *s;
	*s = p + 1;
	*out = v;
	return good;
}

static const char *after_blanks(const char *s, const char *end)
{
	while (s < end && (*s == ' ' || *s == '\t'))
		s++;
	return s;
}

static const char *after_token(const char *s, const char *end)
{
	while (s < end && *s != ' ' && *s != '\t')
		s++;
	return after_blanks(s, end);
}

bool address_map_add_line(struct address_map *m, const char *line, size_t len)
{
	struct address_range r = { 0 };
	const char *s = after_blanks(line, line + len), *end = line + len;
	if (!hex_before(&s, end, '-', &r.start) || !hex_before(&s, end, ' ', &r.end))
		return false;
	s = after_token(s, end); /* permissions */
	if (!hex_before(&s, end, ' ', &r.offset))
		return false;
	s = after_token(after_token(after_blanks(s, end), end), end); /* device, inode */
	if (s < end)
		address_map_add(m, &r, (struct give_text){ s, end - s });
	return true;
}

void address_map_add_text(struct address_map *m, const char *text, size_t len)
{
	struct cur c = cur_of(text, len);
	const char *line;
	size_t line_len;
	while (cur_line(&c, &line, &line_len))
		address_map_add_line(m, line, line_len);
}

static int range_cmp(const void *a, const void *b)
{
	const struct address_range *x = a, *y = b;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static const struct address_range *range_of(struct address_map *m, uint64_t address)
{
	size_t low = 0, high = m->ranges.n;
	if (!m->is_sorted && m->ranges.n)
		qsort(m->ranges.v, m->ranges.n, sizeof *m->ranges.v, range_cmp);
	m->is_sorted = true;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (m->ranges.v[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < m->ranges.v[low - 1].end ? &m->ranges.v[low - 1] : NULL;
}

static uint32_t unknown_mapping(struct address_map *m)
{
	struct mapping mapping = { .identity = ADDRESS_MAP_UNKNOWN };
	if (!m->has_unknown)
		m->unknown = m->sink->ops->mapping(m->sink, &mapping);
	m->has_unknown = true;
	return m->unknown;
}

uint32_t address_map_frame(struct address_map *m, uint64_t address)
{
	const struct address_range *r = range_of(m, address);
	struct frame f = { .kind = FRAME_NATIVE, .mapping = r ? r->mapping : unknown_mapping(m) };
	f.offset = r ? address - r->start + r->offset : address;
	return m->sink->ops->frame(m->sink, &f);
}

void address_map_done(struct address_map *m)
{
	vec_done(&m->ranges);
}
