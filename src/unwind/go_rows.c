#include "unwind/go_rows.h"

#include "base/vec.h"
#include "unwind/go_special.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

enum {
	WORD = 8,
	GO_MAX_ALL_STEPS = 64 << 20, /* terraform has 0.8 million */
	GO_MAX_DEPTH = 1 << 30,      /* bytes of a frame */
	GO_MAX_SWITCH_CODE =
		4 << 10, /* bytes of a function that changes stacks; the longest has 400 */
};

struct rows {
	struct gopclntab *t;
	const struct cfi_arch *arch;
	struct go_function f;
	uint64_t offset; /* of its code in the file */
	VEC(struct cfi_row) v;
	bool keeps_fp;
	uint64_t steps;        /* of all tables of values */
	int32_t cgocall_depth; /* of runtime.cgocall's frame; 0: not seen */
};

/* --- rules ------------------------------------------------------------------------------------- */

static struct cfi_rule rule_at(uint8_t reg, int64_t cfa, bool fp_saved)
{
	struct cfi_rule rule = {
		.cfa = { .kind = CFI_OFFSET, .reg = reg, .offset = cfa },
		.ra = { .kind = CFI_OFFSET, .offset = -WORD },
	};
	if (fp_saved)
		rule.fp = (struct cfi_place){ .kind = CFI_OFFSET, .offset = -2 * WORD };
	return rule;
}

static struct cfi_rule rule_by_depth(const struct rows *r, int32_t depth, bool fp_saved)
{
	return rule_at(r->arch->sp, depth + WORD, fp_saved);
}

static struct cfi_rule rule_by_fp(const struct rows *r)
{
	return rule_at(r->arch->fp, 2 * WORD, true);
}

static struct cfi_rule rule_outermost(const struct rows *r)
{
	struct cfi_rule rule = rule_at(r->arch->sp, WORD, false);
	rule.ra = rule.fp = (struct cfi_place){ .kind = CFI_UNDEFINED };
	return rule;
}

/* The kernel's struct ucontext is at the stack pointer: registers from byte 40 on, r8 first. */
static struct cfi_rule rule_of_signal_frame(const struct rows *r)
{
	enum { FP_AT = 40 + 10 * WORD, SP_AT = 40 + 15 * WORD, PC_AT = 40 + 16 * WORD };
	uint8_t sp = r->arch->sp;
	return (struct cfi_rule){
		.cfa = { .kind = CFI_DEREF, .reg = sp, .offset = SP_AT },
		.fp = { .kind = CFI_DEREF, .reg = sp, .offset = FP_AT },
		.ra = { .kind = CFI_DEREF, .reg = sp, .offset = PC_AT },
		.is_signal = true,
	};
}

/* --- rows -------------------------------------------------------------------------------------- */

static void add(struct rows *r, uint64_t addr, const struct cfi_rule *rule)
{
	if (r->v.n && r->v.v[r->v.n - 1].addr == addr)
		r->v.n--;
	if (r->v.n && cfi_rule_equal(&r->v.v[r->v.n - 1].rule, rule))
		return;
	vec_push(&r->v, (struct cfi_row){ addr, *rule });
}

/* One rule for the whole function. */
static void add_only(struct rows *r, struct cfi_rule rule)
{
	vec_clear(&r->v);
	add(r, r->f.start, &rule);
}

/* The row that an address is in; NULL before the first. */
static const struct cfi_row *row_in(const struct rows *r, uint64_t addr)
{
	size_t lo = 0, hi = r->v.n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (r->v.v[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? &r->v.v[lo - 1] : NULL;
}

/* Lays a rule over [from, to). */
static void lay_over(struct rows *r, uint64_t from, uint64_t to, struct cfi_rule rule)
{
	struct rows made = { 0 };
	size_t i = 0;
	const struct cfi_row *last = row_in(r, to);
	if (from >= to || !last)
		return;
	struct cfi_rule after = last->rule;
	for (; i < r->v.n && r->v.v[i].addr < from; i++)
		add(&made, r->v.v[i].addr, &r->v.v[i].rule);
	add(&made, from, &rule);
	if (to < r->f.end)
		add(&made, to, &after);
	for (; i < r->v.n; i++)
		if (r->v.v[i].addr > to)
			add(&made, r->v.v[i].addr, &r->v.v[i].rule);
	vec_clear(&r->v);
	vec_append(&r->v, made.v.v, made.v.n);
	vec_done(&made.v);
}

/* How many bytes from the first row with a frame on the frame pointer is saved, -1: it is not. */
static int fp_saved_after(struct rows *r, uint64_t addr, int32_t depth)
{
	enum { BEFORE = 1, PUSH_RBP = 0x55 };
	uint8_t code[BEFORE + 8];
	uint32_t place;
	file_pages_read(&r->t->pages, r->offset + (addr - r->f.start) - BEFORE, code, sizeof code);
	if (code[0] == PUSH_RBP)
		return 0;
	if (memcmp(code + BEFORE, "\x48\x89\x6c\x24", 4) == 0 && code[BEFORE + 4] == depth - WORD)
		return 5;
	memcpy(&place, code + BEFORE + 4, sizeof place);
	if (memcmp(code + BEFORE, "\x48\x89\xac\x24", 4) == 0 && place == (uint32_t)depth - WORD)
		return 8;
	return -1;
}

/* The stack is never above where it was at entry, but in a function that takes its return address off it. */
static struct cfi_rule rule_of_value(const struct rows *r, int32_t depth)
{
	if (depth < 0 || depth % WORD || depth > GO_MAX_DEPTH)
		return (struct cfi_rule){ .cfa.kind = CFI_OTHER };
	return rule_by_depth(r, depth, r->keeps_fp && depth > 0);
}

/* The rows as gopclntab has them; false when it has none. */
static bool rows_by_depth(struct rows *r)
{
	struct go_values v;
	bool is_first = true; /* no frame so far */
	vec_clear(&r->v);
	r->keeps_fp = false;
	go_values_begin(&v, r->t, &r->f, r->f.depths);
	while (go_values_next(&v)) {
		struct cfi_rule rule = rule_of_value(r, v.value);
		add(r, v.from, &rule);
		int after = is_first && v.value > 0 ? fp_saved_after(r, v.from, v.value) : -1;
		is_first &= v.value == 0;
		if (after < 0 || v.from + after >= v.to)
			continue;
		r->keeps_fp = true;
		rule = rule_of_value(r, v.value);
		add(r, v.from + after, &rule);
	}
	r->steps += v.steps;
	return r->v.n > 0;
}

/* --- special functions ------------------------------------------------------------------------- */

static bool is_row(const void *ctx, size_t at)
{
	const struct rows *r = ctx;
	const struct cfi_row *row = row_in(r, r->f.start + at);
	return row && row->addr == r->f.start + at;
}

static struct cfi_rule rule_of_switch(const struct rows *r, enum go_special special,
				      const struct go_switch *s)
{
	if (s->is_same_stack && s->kept_at) {
		struct cfi_rule rule = rule_by_depth(r, 0, false);
		rule.cfa = (struct cfi_place){
			.kind = CFI_DEREF, .reg = r->arch->sp, .offset = s->kept_at, .add = WORD
		};
		return rule;
	}
	/* The frame pointer is cgocall's, whose frame has a known size. */
	if (special == GO_CALLS_C && !r->keeps_fp && r->cgocall_depth)
		return rule_at(r->arch->fp, WORD - r->cgocall_depth, false);
	return rule_by_fp(r);
}

static void rows_of_switches(struct rows *r, enum go_special special)
{
	struct go_switch switches[GO_MAX_SWITCHES];
	uint8_t code[GO_MAX_SWITCH_CODE];
	uint64_t size = r->f.end - r->f.start;
	if (size > sizeof code)
		return;
	size = file_pages_read(&r->t->pages, r->offset, code, size);
	size_t n = go_switches_find(code, size, r->keeps_fp, is_row, r, switches);
	if (special == GO_LEAVES && n) {
		lay_over(r, r->f.start + switches[0].from, r->f.end, rule_outermost(r));
		return;
	}
	for (size_t i = 0; i < n; i++)
		lay_over(r, r->f.start + switches[i].from, r->f.start + switches[i].to,
			 rule_of_switch(r, special, &switches[i]));
}

static int32_t deepest(const struct rows *r)
{
	int64_t depth = 0;
	for (size_t i = 0; i < r->v.n; i++)
		if (r->v.v[i].rule.cfa.offset - WORD > depth)
			depth = r->v.v[i].rule.cfa.offset - WORD;
	return depth;
}

static void rows_of_special(struct rows *r, enum go_special special)
{
	switch (special) {
	case GO_OUTERMOST:
		add_only(r, rule_outermost(r));
		break;
	case GO_SIGNAL_FRAME:
		/* A caller is looked up one byte before its address, which is the first of this function. */
		r->f.start--;
		add_only(r, rule_of_signal_frame(r));
		break;
	case GO_INTERRUPTS:
		for (size_t i = 0; i < r->v.n; i++)
			r->v.v[i].rule.is_signal = true;
		break;
	case GO_CGOCALL:
		r->cgocall_depth = deepest(r);
		break;
	case GO_LEAVES:
	case GO_SWITCHES:
	case GO_CALLS_C:
		rows_of_switches(r, special);
		break;
	case GO_ORDINARY:
	case GO_HANDLER:
		break;
	}
}

static enum go_special special_of(struct rows *r)
{
	char name[64];
	gopclntab_name(r->t, r->f.name, name, sizeof name);
	enum go_special special = go_special_of(name);
	if (special != GO_ORDINARY)
		return special;
	return r->f.is_outermost ? GO_OUTERMOST : r->f.writes_sp ? GO_SWITCHES : GO_ORDINARY;
}

static bool load_function(struct rows *r, uint32_t i)
{
	return gopclntab_function(r->t, i, &r->f) &&
	       elf_layout_offset(r->t->layout, r->f.start, &r->offset);
}

static bool give(struct rows *r, enum go_special special,
		 bool (*on_fde)(void *ctx, const struct cfi_fde *fde), void *ctx)
{
	rows_of_special(r, special);
	struct cfi_fde fde = { r->f.start, r->f.end, r->v.v, r->v.n };
	return on_fde(ctx, &fde);
}

int go_rows_read(struct gopclntab *t, uint16_t machine,
		 bool (*on_fde)(void *ctx, const struct cfi_fde *fde), void *ctx, uint64_t *skipped,
		 struct err *err)
{
	struct rows r = { .t = t, .arch = cfi_arch_of(machine) };
	uint32_t calls_c = UINT32_MAX;
	bool more = true;
	if (machine != EM_X86_64)
		return err_set(err, ENOTSUP, "Go's frames are known on x86-64 only");
	for (uint32_t i = 0; i < t->n_functions && more; i++) {
		if (r.steps > GO_MAX_ALL_STEPS) {
			*skipped += t->n_functions - i;
			break;
		}
		bool loaded = load_function(&r, i);
		if (!loaded || !rows_by_depth(&r)) {
			*skipped += !loaded || r.f.depths; /* marks in the text have no table */
			continue;
		}
		enum go_special special = special_of(&r);
		if (special == GO_CALLS_C)
			calls_c = i; /* needs runtime.cgocall, which may come later */
		else
			more = give(&r, special, on_fde, ctx);
	}
	if (more && calls_c != UINT32_MAX && load_function(&r, calls_c) && rows_by_depth(&r))
		give(&r, GO_CALLS_C, on_fde, ctx);
	vec_done(&r.v);
	return 0;
}
