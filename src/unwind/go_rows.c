/* Makes rows from stack depths of the Go table. */
#include "unwind/go_rows.h"

#include "base/err.h"
#include "base/search.h"
#include "base/vec.h"
#include "symbol/elf/elf_layout.h"
#include "symbol/elf/file_pages.h"
#include "symbol/go/gopclntab.h"
#include "unwind/cfi.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* --- special functions ------------------------------------------------------------------------ */

/* Functions of Go's runtime whose rows differ from gopclntab. */

enum go_special {
	GO_ORDINARY,
	GO_OUTERMOST, /* has no caller */
	GO_LEAVES,    /* leaves its stack for another one and does not return */
	GO_SWITCHES,  /* calls on another stack */
	GO_CALLS_C,   /* the same, called by runtime.cgocall only */
	GO_CGOCALL,   /* runtime.cgocall */
	/* inserted by a signal handler: it returns to an instruction that was about to run */
	GO_INTERRUPTS,
	GO_SIGNAL_FRAME, /* signal handlers return to it */
	/* a signal handler: Go's own tracebacks end here, but the frame is a signal's */
	GO_HANDLER,
};

/* A range of a function's code (bytes from its start) that runs on another stack. */
struct go_switch {
	size_t from, to;
	bool is_same_stack; /* the stack pointer was only aligned; its old value was saved … */
	uint8_t kept_at;    /* … at this offset from it */
};
enum { GO_MAX_SWITCHES = 8 };

static enum go_special go_special_of(const char *name)
{
	static const struct {
		const char *name;
		enum go_special special;
	} known[] = {
		{ "_rt0_amd64", GO_OUTERMOST },
		{ "_rt0_amd64_linux", GO_OUTERMOST },
		{ "gogo", GO_LEAVES },
		{ "runtime.asmcgocall", GO_CALLS_C },
		{ "runtime.asyncPreempt", GO_INTERRUPTS },
		{ "runtime.cgoSigtramp", GO_HANDLER },
		{ "runtime.cgocall", GO_CGOCALL },
		{ "runtime.cgocallback", GO_SWITCHES },
		{ "runtime.cgocallback_gofunc", GO_SWITCHES },
		{ "runtime.clone", GO_LEAVES },
		{ "runtime.goexit", GO_OUTERMOST },
		{ "runtime.gogo", GO_LEAVES },
		{ "runtime.mcall", GO_LEAVES },
		{ "runtime.morestack", GO_LEAVES },
		{ "runtime.mstart", GO_OUTERMOST },
		{ "runtime.nanotime", GO_SWITCHES },
		{ "runtime.nanotime1", GO_SWITCHES },
		{ "runtime.rt0_go", GO_OUTERMOST },
		{ "runtime.sigpanic", GO_INTERRUPTS },
		{ "runtime.sigpanic0", GO_INTERRUPTS },
		{ "runtime.sigreturn", GO_SIGNAL_FRAME },
		{ "runtime.sigreturn__sigaction", GO_SIGNAL_FRAME },
		{ "runtime.sigtramp", GO_HANDLER },
		{ "runtime.systemstack", GO_SWITCHES },
		{ "runtime.walltime", GO_SWITCHES },
		{ "runtime.walltime1", GO_SWITCHES },
		{ "time.now", GO_SWITCHES },
	};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strcmp(known[i].name, name) == 0)
			return known[i].special;
	return GO_ORDINARY;
}

/* --- instructions ----------------------------------------------------------------------------- */

enum { RSP = 4 };

struct code {
	const uint8_t *p;
	size_t n;
};

static uint8_t byte_at(const struct code *c, size_t i)
{
	return i < c->n ? c->p[i] : 0;
}

/* Returns the length of an instruction whose ModRM byte is at i + 2, without an immediate. */
static size_t length_at(const struct code *c, size_t i)
{
	static const uint8_t displacement[] = { 0, 1, 4, 0 };
	uint8_t modrm = byte_at(c, i + 2), mod = modrm >> 6;
	return 3 + (mod != 3 && (modrm & 7) == RSP) + displacement[mod];
}

/* Returns the length of a mov or lea to rsp, else 0. */
static size_t load_sp(const struct code *c, size_t i)
{
	uint8_t rex = byte_at(c, i), op = byte_at(c, i + 1), modrm = byte_at(c, i + 2);
	if ((rex & 0xf8) != 0x48)
		return 0;
	bool from_register = op == 0x89 && modrm >> 6 == 3 && (modrm & 7) == RSP && !(rex & 1);
	bool by_reg = (op == 0x8b || op == 0x8d) && (modrm >> 3 & 7) == RSP && !(rex & 4);
	return from_register || by_reg ? length_at(c, i) : 0;
}

/* Returns the length of a sub or and of a constant to rsp, else 0. */
static size_t lower_sp(const struct code *c, size_t i)
{
	uint8_t op = byte_at(c, i + 1), modrm = byte_at(c, i + 2);
	bool is_sub_or_and = modrm == 0xec || modrm == 0xe4;
	if (byte_at(c, i) != 0x48 || !is_sub_or_and)
		return 0;
	return op == 0x83 ? 4 : op == 0x81 ? 7 : 0;
}

/* Matches pop %rbp, or mov x(%rsp),%rbp and add y,%rsp, followed by ret or a jump through rdi.
 * *gone: where the frame pointer is the caller's again. Returns the end of the sequence, 0 if there
 * is none. */
static size_t leave(const struct code *c, size_t i, size_t *gone)
{
	size_t at = i;
	if (byte_at(c, i) == 0x5d) {
		*gone = at = i + 1;
	} else if (byte_at(c, i) == 0x48 && byte_at(c, i + 1) == 0x8b &&
		   byte_at(c, i + 2) == 0x6c && byte_at(c, i + 3) == 0x24 &&
		   byte_at(c, i + 5) == 0x48 && byte_at(c, i + 6) == 0x83 &&
		   byte_at(c, i + 7) == 0xc4) {
		*gone = i + 5;
		at = i + 9;
	} else {
		return 0;
	}
	if (byte_at(c, at) == 0xc3)
		return at + 1;
	return byte_at(c, at) == 0xff && byte_at(c, at + 1) == 0xe7 ? at + 2 : 0;
}

/* mov %rdx,x(%rsp): saves the old stack pointer. */
static bool keeps_sp(const struct code *c, size_t i, uint8_t *at)
{
	*at = byte_at(c, i + 4);
	return byte_at(c, i) == 0x48 && byte_at(c, i + 1) == 0x89 && byte_at(c, i + 2) == 0x54 &&
	       byte_at(c, i + 3) == 0x24;
}

/* --- switches --------------------------------------------------------------------------------- */

struct search {
	struct code code;
	struct go_switch *out, now; /* now.to != 0: inside */
	size_t n;
	bool keeps_fp, began;
};

static void begin(struct search *s, size_t from, bool is_same_stack)
{
	s->now = (struct go_switch){ from, s->code.n, is_same_stack, 0 };
	s->began = true;
}

static void end(struct search *s, size_t to)
{
	if (s->now.to && s->n < GO_MAX_SWITCHES && s->now.from < to) {
		s->now.to = to;
		s->out[s->n++] = s->now;
	}
	s->now.to = 0;
}

/* A second load switches back. The function's own frame pointer is valid on either stack. */
static void on_load(struct search *s, size_t at)
{
	if (s->now.to && !s->keeps_fp)
		end(s, at);
	else if (!s->now.to)
		begin(s, at, false);
}

/* Finds the switches in x86-64 code. keeps_fp: the function has a frame pointer of its own, so all
 * code with it may be treated as running on another stack. is_tracked(ctx, at): gopclntab has the
 * change made by the instruction that ends there. */
static size_t go_switches_find(const uint8_t *code, size_t size, bool keeps_fp,
			       bool (*is_tracked)(const void *ctx, size_t at), const void *ctx,
			       struct go_switch out[GO_MAX_SWITCHES])
{
	struct search s = { .code = { code, size }, .out = out, .keeps_fp = keeps_fp };
	for (size_t i = 0, len, gone, to; i < size; i += len) {
		uint8_t kept_at;
		len = 1;
		if (keeps_fp && (to = leave(&s.code, i, &gone)) && s.began) {
			end(&s, gone);
			begin(&s, to, false);
			len = to - i;
		} else if ((to = load_sp(&s.code, i)) && !is_tracked(ctx, i + to)) {
			on_load(&s, i + to);
			len = to;
		} else if ((to = lower_sp(&s.code, i)) && !is_tracked(ctx, i + to)) {
			if (!s.now.to)
				begin(&s, i, !keeps_fp);
			len = to;
		} else if (s.now.to && s.now.is_same_stack && keeps_sp(&s.code, i, &kept_at)) {
			s.now.kept_at = kept_at;
		}
	}
	end(&s, size);
	return s.n;
}

/* --- the rows of a table ---------------------------------------------------------------------- */

enum {
	WORD = 8,
	/* limit: steps for a Go program's unwind rows; terraform has 0.8 million */
	GO_MAX_ALL_STEPS = 64 << 20,
	GO_MAX_DEPTH = 1 << 30, /* bytes of a frame */
	GO_MAX_SWITCH_CODE =
		4 << 10, /* bytes of a function that switches stacks; the longest has 400 */
};

struct rows {
	struct gopclntab *t;
	const struct cfi_arch *arch;
	struct go_function f;
	uint64_t offset; /* of its code in the file */
	VEC(struct cfi_row) v;
	bool keeps_fp;
	uint64_t steps;        /* over all tables of values */
	int32_t cgocall_depth; /* of runtime.cgocall's frame; 0: not seen */
};

/* --- rules ------------------------------------------------------------------------------------ */

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

/* --- rows ------------------------------------------------------------------------------------- */

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

/* Returns the row of an address, NULL before the first. */
static const struct cfi_row *row_in(const struct rows *r, uint64_t addr)
{
	size_t after = vec_upper(&r->v, addr, addr);
	return after ? &r->v.v[after - 1] : NULL;
}

/* Replaces the rules in [from, to) by one. */
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

/* Returns how many bytes after the first row with a frame the frame pointer is saved, -1 if it is
 * not. */
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

/* The stack is never above its value at entry, except in a function that removes its return
 * address. */
static struct cfi_rule rule_of_value(const struct rows *r, int32_t depth)
{
	if (depth < 0 || depth % WORD || depth > GO_MAX_DEPTH)
		return (struct cfi_rule){ .cfa.kind = CFI_OTHER };
	return rule_by_depth(r, depth, r->keeps_fp && depth > 0);
}

/* Makes the rows from gopclntab; returns false if it lacks one. */
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

/* --- rows of special functions ---------------------------------------------------------------- */

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
		/* A caller is looked up one byte before its address, which is the first of this
		 * function. */
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
			calls_c = i; /* needs runtime.cgocall, which may follow later */
		else
			more = give(&r, special, on_fde, ctx);
	}
	if (more && calls_c != UINT32_MAX && load_function(&r, calls_c) && rows_by_depth(&r))
		give(&r, GO_CALLS_C, on_fde, ctx);
	vec_done(&r.v);
	return 0;
}
