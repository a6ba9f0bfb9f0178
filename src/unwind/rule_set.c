/* Counts and numbers distinct rules. */
#include "unwind/rule_set.h"

#include "base/mem.h"
#include "unwind/cfi_rule.h"

#include <string.h>

static uint8_t packed(enum unwind_kind kind, uint8_t reg)
{
	return kind << 5 | reg;
}

static bool fits_16(int64_t v)
{
	return v == (int16_t)v;
}

static bool fits_32(int64_t v)
{
	return v == (int32_t)v;
}

/* Returns false if a rule cannot express it. */
static bool pack_cfa(const struct cfi_place *p, struct unwind_rule *out)
{
	static const uint8_t kinds[] = {
		[CFI_NONE] = UNWIND_NONE,      [CFI_UNDEFINED] = UNWIND_OTHER,
		[CFI_OFFSET] = UNWIND_REG,     [CFI_VALUE] = UNWIND_OTHER,
		[CFI_REGISTER] = UNWIND_OTHER, [CFI_DEREF] = UNWIND_DEREF,
		[CFI_PLT] = UNWIND_PLT,        [CFI_OTHER] = UNWIND_OTHER,
	};
	if (kinds[p->kind] == UNWIND_OTHER || p->reg > 31 || !fits_32(p->offset) ||
	    !fits_16(p->add))
		return false;
	out->cfa = packed(kinds[p->kind], p->reg);
	out->cfa_offset = p->offset;
	out->cfa_add = p->add;
	return true;
}

static uint8_t pack_register(const struct cfi_place *p)
{
	static const uint8_t kinds[] = {
		[CFI_NONE] = UNWIND_NONE,    [CFI_UNDEFINED] = UNWIND_UNDEFINED,
		[CFI_OFFSET] = UNWIND_CFA,   [CFI_VALUE] = UNWIND_OTHER,
		[CFI_REGISTER] = UNWIND_REG, [CFI_DEREF] = UNWIND_DEREF,
		[CFI_PLT] = UNWIND_OTHER,    [CFI_OTHER] = UNWIND_OTHER,
	};
	return p->reg > 31 ? packed(UNWIND_OTHER, 0) : packed(kinds[p->kind], p->reg);
}

static uint8_t pack_bx(const struct cfi_rule *r)
{
	int64_t words = r->bx.kind == CFI_OFFSET ? -r->bx.offset / 8 : 0;
	bool fits = r->bx.kind == CFI_NONE || (r->bx.kind == CFI_OFFSET && r->bx.offset % 8 == 0 &&
					       words > 0 && words <= UNWIND_BX_MAX);
	return r->follows_bx && fits ? UNWIND_BX_KNOWN | words << UNWIND_BX_SHIFT : 0;
}

static struct unwind_rule pack_rule(const struct cfi_rule *r)
{
	struct unwind_rule out = { .flags = (r->is_signal ? UNWIND_SIGNAL : 0) |
					    (r->ra_is_signed ? UNWIND_RA_SIGNED : 0) | pack_bx(r) };
	if (!pack_cfa(&r->cfa, &out))
		return (struct unwind_rule){ .cfa = packed(UNWIND_OTHER, 0) };
	out.fp = fits_32(r->fp.offset) ? pack_register(&r->fp) : packed(UNWIND_OTHER, 0);
	out.fp_offset = UNWIND_KIND(out.fp) == UNWIND_OTHER ? 0 : r->fp.offset;
	out.ra = fits_16(r->ra.offset) ? pack_register(&r->ra) : packed(UNWIND_OTHER, 0);
	out.ra_offset = UNWIND_KIND(out.ra) == UNWIND_OTHER ? 0 : r->ra.offset;
	return out;
}

struct rule_key {
	const struct rule_set *set;
	const struct unwind_rule *rule;
};

static bool rule_same(const void *ctx, uint32_t id)
{
	const struct rule_key *key = ctx;
	return memcmp(&key->set->rules.v[id], key->rule, sizeof *key->rule) == 0;
}

static uint32_t rule_intern(struct rule_set *s, const struct unwind_rule *rule)
{
	struct rule_key key = { s, rule };
	uint32_t fresh = s->rules.n;
	uint32_t id = map_intern(&s->index, hash_bytes(rule, sizeof *rule), fresh, rule_same, &key);
	if (id == fresh) {
		vec_push(&s->rules, *rule);
		vec_push(&s->used, 0);
	}
	return id;
}

void rule_set_init(struct rule_set *s)
{
	static const struct unwind_rule no_rule;
	rule_intern(s, &no_rule);
}

static unsigned known_slot(const struct unwind_rule *rule)
{
	uint64_t half[2];
	memcpy(half, rule, sizeof half);
	return (half[0] ^ half[1] * 0x9e3779b97f4a7c15) * 0xd6e8feb86659fd93 >>
	       (64 - RULE_SET_KNOWN_BITS);
}

uint32_t rule_set_add(struct rule_set *s, const struct cfi_rule *r)
{
	struct unwind_rule rule = pack_rule(r);
	unsigned slot = known_slot(&rule);
	uint32_t id = s->known_id[slot];
	if (memcmp(&s->known[slot], &rule, sizeof rule) != 0) {
		id = rule_intern(s, &rule);
		if (id < UNWIND_MAX_RULES) {
			s->known[slot] = rule;
			s->known_id[slot] = id;
		}
	}
	s->used.v[id]++;
	return id;
}

uint32_t rule_set_add_gap(struct rule_set *s, uint32_t uses)
{
	struct unwind_rule gap = { .cfa = packed(UNWIND_GAP, 0) };
	uint32_t id = rule_intern(s, &gap);
	s->used.v[id] += uses;
	return id;
}

/* --- numbers ---------------------------------------------------------------------------------- */

struct rule_use {
	uint32_t used, rule;
};

static int by_use(const void *a, const void *b)
{
	const struct rule_use *x = a, *y = b;
	if (x->used != y->used)
		return x->used < y->used ? 1 : -1;
	return x->rule < y->rule ? -1 : x->rule > y->rule;
}

uint16_t *rule_set_sort(struct rule_set *s)
{
	size_t n = s->rules.n;
	struct rule_use *use = xcalloc(n, sizeof *use);
	struct unwind_rule *rules = xcalloc(n, sizeof *rules);
	uint16_t *number = xcalloc(n, sizeof *number);
	for (size_t i = 0; i < n; i++)
		use[i] = (struct rule_use){ s->used.v[i], i };
	qsort(use + 1, n - 1, sizeof *use, by_use);
	for (size_t i = 0; i < n; i++) {
		number[use[i].rule] = i;
		rules[i] = s->rules.v[use[i].rule];
	}
	memcpy(s->rules.v, rules, n * sizeof *rules);
	free(use);
	free(rules);
	return number;
}

void rule_set_done(struct rule_set *s)
{
	vec_done(&s->rules);
	vec_done(&s->used);
	map_done(&s->index);
}
