/* Reads the tables in which HotSpot describes its structures. */
#include "runtime/hotspot_parts.h"

#include "base/err.h"
#include "base/mem.h"
#include "runtime/runtime.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- pages ------------------------------------------------------------------------------------ */

/* The names are strings all over libjvm's read-only data, most of them near each other. Pages of
 * the process are read once, and stay in slots by their address: 245 reads instead of 8 000 for the
 * tables of 17. */
enum {
	PAGE = 4096,
	SLOTS = 256,
	MAX_PAGES = 8192, /* limit: pages read from a process for HotSpot's tables */
};

struct pages {
	const struct runtime_memory *memory;
	unsigned n_read;
	struct {
		uint64_t addr; /* 0: unused */
		uint8_t bytes[PAGE];
	} slots[SLOTS];
};

static const uint8_t *page_at(struct pages *p, uint64_t addr)
{
	uint64_t start = addr & ~(uint64_t)(PAGE - 1);
	size_t slot = start / PAGE % SLOTS;

	if (!start)
		return NULL;
	if (p->slots[slot].addr == start)
		return p->slots[slot].bytes;
	p->slots[slot].addr = 0;
	if (p->n_read++ >= MAX_PAGES ||
	    p->memory->read(p->memory->ctx, start, p->slots[slot].bytes, PAGE) < 0)
		return NULL;
	p->slots[slot].addr = start;
	return p->slots[slot].bytes;
}

static bool take(struct pages *p, uint64_t addr, void *out, size_t len)
{
	uint8_t *to = out;

	while (len) {
		const uint8_t *page = page_at(p, addr);
		size_t n = PAGE - addr % PAGE;

		if (!page)
			return false;
		n = n < len ? n : len;
		memcpy(to, page + addr % PAGE, n);
		to += n;
		addr += n;
		len -= n;
	}
	return true;
}

/* A longer string is truncated: no name that is searched for is longer. NULL is an empty string. */
static bool take_text(struct pages *p, uint64_t addr, char text[HOTSPOT_MAX_WORD])
{
	size_t n = 0;

	while (addr && n < HOTSPOT_MAX_WORD - 1) {
		const uint8_t *page = page_at(p, addr);

		if (!page)
			return false;
		text[n] = page[addr++ % PAGE];
		if (!text[n])
			break;
		n++;
	}
	text[n] = '\0';
	return true;
}

/* --- tables ----------------------------------------------------------------------------------- */

enum {
	MAX_STRIDE = 256,   /* bytes of an entry */
	MAX_ENTRIES = 8192, /* limit: entries of a table of HotSpot; 17 has up to 788 */
};

struct table {
	struct pages *pages;
	uint64_t at, stride;
	size_t left;
	uint8_t entry[MAX_STRIDE];
};

/* Sets *out to the value of one of the exported variables. */
static bool take_symbol(struct pages *p, const struct hotspot_at *at, enum hotspot_symbol symbol,
			uint64_t *out)
{
	return take(p, at->file->symbols[symbol] + at->bias, out, sizeof *out);
}

/* These numbers do not need relocation. If they are not plausible, the data of libjvm are not
 * mapped yet: at first other parts of the file are there. */
static bool table_open(struct table *t, struct pages *p, const struct hotspot_at *at,
		       enum hotspot_symbol start, enum hotspot_symbol stride)
{
	*t = (struct table){ .pages = p, .left = MAX_ENTRIES };
	return take_symbol(p, at, start, &t->at) && take_symbol(p, at, stride, &t->stride) &&
	       t->stride >= 8 && t->stride <= MAX_STRIDE;
}

/* Offset of a member in the entries; false if it is not inside. */
static bool table_member(const struct table *t, const struct hotspot_at *at,
			 enum hotspot_symbol symbol, size_t size, uint64_t *out)
{
	return take_symbol(t->pages, at, symbol, out) && *out <= t->stride - size;
}

static uint64_t word_at(const struct table *t, uint64_t member)
{
	uint64_t v;

	memcpy(&v, t->entry + member, sizeof v);
	return v;
}

static int32_t int_at(const struct table *t, uint64_t member)
{
	int32_t v;

	memcpy(&v, t->entry + member, sizeof v);
	return v;
}

/* The last entry has no name. One that has no name, but a value, was not relocated yet: the dynamic
 * linker is at work. Returns 1, 0 at the end, or -errno. */
static int table_next(struct table *t, uint64_t name)
{
	static const uint8_t zeros[MAX_STRIDE];

	if (!t->at)
		return -EAGAIN;
	if (!t->left--)
		return -ENOTSUP;
	if (!take(t->pages, t->at, t->entry, t->stride))
		return -EFAULT;
	t->at += t->stride;
	if (word_at(t, name))
		return 1;
	return memcmp(t->entry, zeros, t->stride) == 0 ? 0 : -EAGAIN;
}

static int read_structs(struct pages *p, const struct hotspot_at *at,
			const struct hotspot_reader *r)
{
	struct hotspot_entry e;
	struct table t;
	uint64_t type, field, field_type, is_static, offset, address;
	int rc;

	if (!table_open(&t, p, at, HOTSPOT_STRUCTS, HOTSPOT_STRUCT_STRIDE) ||
	    !table_member(&t, at, HOTSPOT_STRUCT_TYPE, 8, &type) ||
	    !table_member(&t, at, HOTSPOT_STRUCT_FIELD, 8, &field) ||
	    !table_member(&t, at, HOTSPOT_STRUCT_FIELD_TYPE, 8, &field_type) ||
	    !table_member(&t, at, HOTSPOT_STRUCT_IS_STATIC, 4, &is_static) ||
	    !table_member(&t, at, HOTSPOT_STRUCT_OFFSET, 8, &offset) ||
	    !table_member(&t, at, HOTSPOT_STRUCT_ADDRESS, 8, &address))
		return -EAGAIN;
	while ((rc = table_next(&t, type)) > 0) {
		if (!take_text(p, word_at(&t, type), e.type) ||
		    !take_text(p, word_at(&t, field), e.field) ||
		    !take_text(p, word_at(&t, field_type), e.field_type))
			return -EFAULT;
		e.is_static = int_at(&t, is_static);
		e.offset = word_at(&t, offset);
		e.address = word_at(&t, address);
		r->field(r->ctx, &e);
	}
	return rc;
}

static int read_types(struct pages *p, const struct hotspot_at *at, const struct hotspot_reader *r)
{
	char type[HOTSPOT_MAX_WORD];
	struct table t;
	uint64_t name, size;
	int rc;

	if (!table_open(&t, p, at, HOTSPOT_TYPES, HOTSPOT_TYPE_STRIDE) ||
	    !table_member(&t, at, HOTSPOT_TYPE_NAME, 8, &name) ||
	    !table_member(&t, at, HOTSPOT_TYPE_SIZE, 8, &size))
		return -EAGAIN;
	while ((rc = table_next(&t, name)) > 0) {
		if (!take_text(p, word_at(&t, name), type))
			return -EFAULT;
		r->type(r->ctx, type, word_at(&t, size));
	}
	return rc;
}

static int read_ints(struct pages *p, const struct hotspot_at *at, const struct hotspot_reader *r)
{
	char text[HOTSPOT_MAX_WORD];
	struct table t;
	uint64_t name, value;
	int rc;

	if (!table_open(&t, p, at, HOTSPOT_INTS, HOTSPOT_INT_STRIDE) ||
	    !table_member(&t, at, HOTSPOT_INT_NAME, 8, &name) ||
	    !table_member(&t, at, HOTSPOT_INT_VALUE, 4, &value))
		return -EAGAIN;
	while ((rc = table_next(&t, name)) > 0) {
		if (!take_text(p, word_at(&t, name), text))
			return -EFAULT;
		r->constant(r->ctx, text, int_at(&t, value));
	}
	return rc;
}

int hotspot_tables_read(const struct hotspot_at *at, const struct runtime_memory *memory,
			const struct hotspot_reader *r, struct err *err)
{
	struct pages *pages = xcalloc(1, sizeof *pages);
	int rc;

	pages->memory = memory;
	rc = read_structs(pages, at, r);
	rc = rc < 0 ? rc : read_types(pages, at, r);
	rc = rc < 0 ? rc : read_ints(pages, at, r);
	free(pages);
	if (rc == -EAGAIN)
		return err_set(err, EAGAIN, "HotSpot is not loaded completely yet");
	if (rc == -ENOTSUP)
		return err_set(err, ENOTSUP, "the tables of its structures are invalid");
	if (rc < 0)
		return err_set(err, -rc, "the tables of its structures cannot be read: %s",
			       strerror(-rc));
	return 0;
}
