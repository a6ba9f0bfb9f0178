/* Reads CIEs and FDEs, and calls back with rows. */
#include "unwind/cfi.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/vec.h"
#include "unwind/cfi_program.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

static const struct cfi_arch archs[] = {
	{ .machine = EM_X86_64, .sp = 7, .fp = 6, .ra = 16, .pc = 16, .address_size = 8 },
	{ .machine = EM_AARCH64,
	  .sp = 31,
	  .fp = 29,
	  .ra = 30,
	  .pc = 32,
	  .address_size = 8,
	  .ra_in_register = true },
};
static const struct cfi_arch x86_with_bx = { .machine = EM_X86_64,
					     .sp = 7,
					     .fp = 6,
					     .ra = 16,
					     .pc = 16,
					     .address_size = 8,
					     .follows_bx = true };

const struct cfi_arch *cfi_arch_of(uint16_t machine)
{
	for (size_t i = 0; i < sizeof archs / sizeof *archs; i++)
		if (archs[i].machine == machine)
			return &archs[i];
	return NULL;
}

const struct cfi_arch *cfi_arch_with_bx(const struct cfi_arch *arch)
{
	return arch->machine == EM_X86_64 ? &x86_with_bx : NULL;
}

/* --- pointers --------------------------------------------------------------------------------- */

enum { /* how a pointer is encoded: its form, and its base */
       PE_ABSPTR = 0x00,
       PE_ULEB128 = 0x01,
       PE_UDATA2 = 0x02,
       PE_UDATA4 = 0x03,
       PE_UDATA8 = 0x04,
       PE_SLEB128 = 0x09,
       PE_SDATA2 = 0x0a,
       PE_SDATA4 = 0x0b,
       PE_SDATA8 = 0x0c,
       PE_FORM = 0x0f,
       PE_PCREL = 0x10,
       PE_TEXTREL = 0x20,
       PE_DATAREL = 0x30,
       PE_FUNCREL = 0x40,
       PE_BASE = 0x70,
       PE_OMIT = 0xff,
};

struct cfi_reader {
	const struct cfi_section *s;
	const uint8_t *start;
	VEC(struct cfi_cie) cies;
	struct map cie_at; /* offset → index in cies */
	struct cfi_program program;
	uint64_t skipped, fdes, cie_bytes;
};

static uint64_t place_addr(const struct cfi_reader *r, const uint8_t *p)
{
	return r->s->addr + (p - r->start);
}

static uint64_t read_form(const struct cfi_reader *r, struct cur *c, uint8_t form)
{
	switch (form) {
	case PE_ABSPTR:
		return r->s->arch->address_size == 8 ? cur_u64(c) : cur_u32(c);
	case PE_ULEB128:
		return cur_varint(c);
	case PE_UDATA2:
		return cur_u16(c);
	case PE_UDATA4:
		return cur_u32(c);
	case PE_UDATA8:
	case PE_SDATA8:
		return cur_u64(c);
	case PE_SLEB128:
		return cfi_leb_signed(c);
	case PE_SDATA2:
		return (int16_t)cur_u16(c);
	case PE_SDATA4:
		return (int32_t)cur_u32(c);
	}
	c->bad = true;
	return 0;
}

static uint64_t read_pointer(const struct cfi_reader *r, struct cur *c, uint8_t encoding)
{
	uint64_t here = place_addr(r, c->p);
	uint64_t v = read_form(r, c, encoding & PE_FORM);
	switch (encoding & PE_BASE) {
	case 0:
		return v;
	case PE_PCREL:
		return here + v;
	case PE_TEXTREL:
		return r->s->text_addr + v;
	case PE_DATAREL:
		return r->s->data_addr + v;
	}
	c->bad = true;
	return 0;
}

/* --- CIEs ------------------------------------------------------------------------------------- */

/* An entry of the section: a CIE, or an FDE with a reference to its CIE. */
struct cfi_entry {
	struct cur body; /* after the id */
	uint64_t offset; /* of the entry */
	uint64_t cie;    /* offset of the CIE of an FDE */
	bool is_cie, is_64;
};

/* Reads the augmentation "zPLRS…": the data for its letters are in a block of known length. */
static void read_augmentation(const struct cfi_reader *r, const char *letters, struct cur *c,
			      struct cfi_cie *cie)
{
	struct cur data = { 0 };
	uint64_t len = cur_varint(c);
	const void *p = len <= cur_left(c) ? cur_take(c, len) : NULL;
	if (!p) {
		c->bad = true;
		return;
	}
	cie->has_augmentation = true;
	data = cur_of(p, len);
	for (; *letters && !data.bad; letters++) {
		switch (*letters) {
		case 'R':
			cie->encoding = cur_u8(&data);
			break;
		case 'P': {
			uint8_t encoding = cur_u8(&data);
			read_form(r, &data, encoding & PE_FORM);
			break;
		}
		case 'L':
			cur_u8(&data);
			break;
		case 'S':
			cie->is_signal = true;
			break;
		case 'B': /* arm64: return addresses are signed with the B key */
		case 'G':
			break;
		default:
			return; /* the data after an unknown letter cannot be found */
		}
	}
}

static const char *read_text(struct cur *c)
{
	const void *end = cur_left(c) ? memchr(c->p, 0, cur_left(c)) : NULL;
	if (!end) {
		c->bad = true;
		return "";
	}
	return cur_take(c, (const uint8_t *)end + 1 - c->p);
}

static bool read_cie(struct cfi_reader *r, struct cur c, struct cfi_cie *cie)
{
	enum { NEWEST_VERSION = 4 };
	uint8_t version = cur_u8(&c);
	const char *augmentation = read_text(&c);
	*cie = (struct cfi_cie){ .arch = r->s->arch, .encoding = PE_ABSPTR };
	if (c.bad || version == 0 || version == 2 || version > NEWEST_VERSION)
		return false;
	if (version == NEWEST_VERSION && (cur_u8(&c) != r->s->arch->address_size || cur_u8(&c)))
		return false;
	cie->code_align = cur_varint(&c);
	cie->data_align = cfi_leb_signed(&c);
	uint64_t ra = version == 1 ? cur_u8(&c) : cur_varint(&c);
	if (ra != r->s->arch->ra)
		return false;
	if (*augmentation == 'z')
		read_augmentation(r, augmentation + 1, &c, cie);
	else if (*augmentation)
		return false;
	cie->program = c;
	return !c.bad && cfi_program_begin(&r->program, cie);
}

/* --- entries ---------------------------------------------------------------------------------- */

/* Returns the length of the next entry, 0 at the end. .eh_frame ends with a length of 0, but files
 * linked from several may have more after it. */
static uint64_t next_length(const struct cfi_reader *r, struct cur *c, struct cfi_entry *e)
{
	while (cur_left(c) >= 4) {
		e->offset = c->p - r->start;
		uint64_t len = cur_u32(c);
		e->is_64 = len == UINT32_MAX;
		if (e->is_64)
			len = cur_u64(c);
		if (len || r->s->ends_itself)
			return len;
	}
	return 0;
}

/* Returns 1 for an entry, 0 at the end, -1 if the section is damaged. */
static int next_entry(const struct cfi_reader *r, struct cur *c, struct cfi_entry *e)
{
	uint64_t len = next_length(r, c, e);
	if (c->bad || len > cur_left(c))
		return -1;
	if (len == 0)
		return 0;
	e->body = cur_of(cur_take(c, len), len);
	const uint8_t *id_at = e->body.p;
	bool wide_id = e->is_64 && r->s->is_debug_frame;
	uint64_t id = wide_id ? cur_u64(&e->body) : cur_u32(&e->body);
	if (r->s->is_debug_frame) {
		e->is_cie = id == (wide_id ? UINT64_MAX : UINT32_MAX);
		e->cie = id;
	} else {
		e->is_cie = id == 0;
		e->cie = (uint64_t)(id_at - r->start) - id;
	}
	return 1;
}

static bool entry_at(const struct cfi_reader *r, uint64_t offset, struct cfi_entry *e)
{
	if (offset >= r->s->size)
		return false;
	struct cur c = cur_of(r->start + offset, r->s->size - offset);
	return next_entry(r, &c, e) == 1 && e->offset == offset;
}

/* Disjoint CIEs are not larger than their section. Forged ones may overlap. */
static bool cie_is_affordable(struct cfi_reader *r, size_t size)
{
	if (size > r->s->size - r->cie_bytes)
		return false;
	r->cie_bytes += size;
	return true;
}

/* Returns the CIE of an FDE, read on first use, as it may be after the FDE. Returns NULL if it is
 * unusable. */
static const struct cfi_cie *cie_of(struct cfi_reader *r, uint64_t offset)
{
	uint32_t *known = map_get(&r->cie_at, offset);
	if (!known) {
		struct cfi_entry e = { 0 };
		struct cfi_cie cie = { 0 };
		cie.usable = entry_at(r, offset, &e) && e.is_cie &&
			     cie_is_affordable(r, cur_left(&e.body)) && read_cie(r, e.body, &cie);
		map_put(&r->cie_at, offset, r->cies.n);
		vec_push(&r->cies, cie);
		known = map_get(&r->cie_at, offset);
	}
	struct cfi_cie *cie = &r->cies.v[*known];
	return cie->usable ? cie : NULL;
}

static bool read_fde(struct cfi_reader *r, const struct cfi_entry *e, struct cfi_fde *out)
{
	const struct cfi_cie *cie = cie_of(r, e->cie);
	struct cur c = e->body;
	if (!cie)
		return false;
	uint64_t start = read_pointer(r, &c, cie->encoding);
	uint64_t size = read_form(r, &c, cie->encoding & PE_FORM);
	if (cie->has_augmentation) {
		uint64_t len = cur_varint(&c);
		if (len > cur_left(&c))
			return false;
		cur_take(&c, len);
	}
	if (c.bad || start + size < start)
		return false;
	*out = (struct cfi_fde){ .start = start, .end = start + size };
	if (size == 0)
		return true;
	if (!cfi_program_run(&r->program, cie, c, start, out->end))
		return false;
	out->rows = r->program.rows.v;
	out->n = r->program.rows.n;
	return true;
}

/* Empty functions, and the ones that a linker dropped, which remain with address 0. */
static bool is_nothing(const struct cfi_reader *r, const struct cfi_fde *fde)
{
	return fde->n == 0 || (r->s->is_debug_frame && fde->start == 0);
}

int cfi_read(const struct cfi_section *s, bool (*on_fde)(void *ctx, const struct cfi_fde *fde),
	     void *ctx, uint64_t *skipped, struct err *err)
{
	struct cfi_reader r = { .s = s, .start = s->data };
	struct cur c = cur_of(s->data, s->size);
	struct cfi_entry e = { 0 };
	bool go_on = true;
	int rc;
	while (go_on && (rc = next_entry(&r, &c, &e)) > 0) {
		struct cfi_fde fde;
		if (e.is_cie)
			continue;
		if (++r.fdes > CFI_MAX_FDES) {
			rc = err_set(err, E2BIG, "more than %d functions", CFI_MAX_FDES);
			break;
		}
		if (!read_fde(&r, &e, &fde))
			r.skipped++;
		else if (!is_nothing(&r, &fde))
			go_on = on_fde(ctx, &fde);
	}
	if (rc == -1)
		rc = err_set(err, EBADMSG, "call frame information is damaged at byte %" PRIu64,
			     e.offset);
	*skipped = r.skipped;
	vec_done(&r.cies);
	map_done(&r.cie_at);
	cfi_program_done(&r.program);
	return rc < 0 ? rc : 0;
}
