/* Interprets instructions, with a stack of saved rows. */
#include "unwind/cfi_program.h"

/* --- expressions ------------------------------------------------------------------------------ */

/* DWARF expressions in call frame information. Only the few forms that compilers use are
 * recognized. */

enum {
	OP_DEREF = 0x06,
	OP_AND = 0x1a,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_SHL = 0x24,
	OP_GE = 0x2a,
	OP_LIT0 = 0x30,
	OP_LIT31 = 0x4f,
	OP_BREG0 = 0x70,
	OP_BREG31 = 0x8f,
};

/* Reads "breg: offset". */
static bool expr_breg(struct cur *c, uint8_t *reg, int64_t *offset)
{
	uint8_t op = cur_u8(c);
	if (c->bad || op < OP_BREG0 || op > OP_BREG31)
		return false;
	*reg = op - OP_BREG0;
	*offset = cfi_leb_signed(c);
	return !c->bad;
}

/* Matches sp + 8, and 8 more after the stub has pushed the index of its function: (pc & 15) >= 10
 * or 11. */
static bool expr_is_plt(const struct cfi_arch *arch, struct cur c, int32_t *from)
{
	uint8_t sp, pc, limit;
	int64_t sp_offset, pc_offset;
	if (!expr_breg(&c, &sp, &sp_offset) || !expr_breg(&c, &pc, &pc_offset))
		return false;
	if (sp != arch->sp || sp_offset != 8 || pc != arch->pc || pc_offset)
		return false;
	if (cur_u8(&c) != OP_LIT0 + 15 || cur_u8(&c) != OP_AND)
		return false;
	limit = cur_u8(&c);
	if (limit < OP_LIT0 || limit > OP_LIT0 + 15 || cur_u8(&c) != OP_GE)
		return false;
	if (cur_u8(&c) != OP_LIT0 + 3 || cur_u8(&c) != OP_SHL || cur_u8(&c) != OP_PLUS)
		return false;
	*from = limit - OP_LIT0;
	return !c.bad && cur_left(&c) == 0;
}

/* Classifies an expression for the CFA: CFI_OFFSET, CFI_DEREF, CFI_PLT or CFI_OTHER. */
static struct cfi_place cfi_expr_cfa(const struct cfi_arch *arch, struct cur expr)
{
	struct cfi_place other = { .kind = CFI_OTHER }, p = { .kind = CFI_OFFSET };
	if (expr_is_plt(arch, expr, &p.add))
		return (struct cfi_place){
			.kind = CFI_PLT, .reg = arch->sp, .offset = 8, .add = p.add
		};
	if (!expr_breg(&expr, &p.reg, &p.offset))
		return other;
	if (cur_left(&expr) == 0)
		return p;
	if (cur_u8(&expr) != OP_DEREF)
		return other;
	p.kind = CFI_DEREF;
	uint64_t add = 0;
	if (cur_left(&expr) && cur_u8(&expr) == OP_PLUS_UCONST)
		add = cur_varint(&expr);
	p.add = add;
	return expr.bad || cur_left(&expr) || add > INT32_MAX ? other : p;
}

/* Classifies an expression for the place of a saved register: CFI_DEREF or CFI_OTHER. */
static struct cfi_place cfi_expr_saved(struct cur expr)
{
	struct cfi_place p = { .kind = CFI_DEREF };
	if (!expr_breg(&expr, &p.reg, &p.offset) || cur_left(&expr))
		return (struct cfi_place){ .kind = CFI_OTHER };
	return p;
}

/* --- instructions ----------------------------------------------------------------------------- */

enum {
	CFA_NOP = 0x00,
	CFA_SET_LOC = 0x01,
	CFA_ADVANCE_LOC1 = 0x02,
	CFA_ADVANCE_LOC2 = 0x03,
	CFA_ADVANCE_LOC4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME_VALUE = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER_STATE = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e,
	CFA_DEF_CFA_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_CFA_SF = 0x12,
	CFA_DEF_CFA_OFFSET_SF = 0x13,
	CFA_VAL_OFFSET = 0x14,
	CFA_VAL_OFFSET_SF = 0x15,
	CFA_VAL_EXPRESSION = 0x16,
	CFA_GNU_WINDOW_SAVE = 0x2d, /* arm64: the return address is (no longer) signed */
	CFA_GNU_ARGS_SIZE = 0x2e,
	CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
	/* With an operand in the lower six bits. */
	CFA_ADVANCE_LOC = 0x40,
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,
};

int64_t cfi_leb_signed(struct cur *c)
{
	enum { MAX_BYTES = 10 };
	uint64_t v = 0;
	for (unsigned i = 0; i < MAX_BYTES; i++) {
		uint8_t byte = cur_u8(c);
		v |= (uint64_t)(byte & 0x7f) << (7 * i);
		if (byte & 0x80)
			continue;
		if (byte & 0x40 && 7 * i + 7 < 64)
			v |= ~0ull << (7 * i + 7);
		return v;
	}
	c->bad = true;
	return 0;
}

struct cfi_run {
	const struct cfi_cie *cie;
	struct cur c;
	struct cfi_state now;
	uint64_t addr, end;
	struct cfi_state *states; /* CFI_MAX_STATES */
	unsigned n_states;
	struct cfi_program *out; /* NULL: only the last rule is needed */
	bool bad;
};

static bool place_equal(const struct cfi_place *a, const struct cfi_place *b)
{
	return a->kind == b->kind && a->reg == b->reg && a->offset == b->offset && a->add == b->add;
}

bool cfi_rule_equal(const struct cfi_rule *a, const struct cfi_rule *b)
{
	return place_equal(&a->cfa, &b->cfa) && place_equal(&a->fp, &b->fp) &&
	       place_equal(&a->ra, &b->ra) && place_equal(&a->bx, &b->bx) &&
	       a->is_signal == b->is_signal && a->ra_is_signed == b->ra_is_signed;
}

/* The current rule was valid up to here. */
static void end_row(struct cfi_run *r, uint64_t next)
{
	if (!r->out || next <= r->addr || r->addr >= r->end)
		return;
	if (r->out->rows.n &&
	    cfi_rule_equal(&r->out->rows.v[r->out->rows.n - 1].rule, &r->now.rule))
		return;
	if (r->out->rows.n >= CFI_MAX_ROWS_PER_FDE) {
		r->bad = true;
		return;
	}
	vec_push(&r->out->rows, (struct cfi_row){ r->addr, r->now.rule });
}

static void advance_to(struct cfi_run *r, uint64_t addr)
{
	if (addr < r->addr) {
		r->bad = true;
		return;
	}
	end_row(r, addr);
	r->addr = addr;
}

static void advance(struct cfi_run *r, uint64_t delta)
{
	uint64_t bytes, addr;
	if (__builtin_mul_overflow(delta, r->cie->code_align, &bytes) ||
	    __builtin_add_overflow(r->addr, bytes, &addr))
		r->bad = true;
	else
		advance_to(r, addr);
}

/* Registers that are not followed are ignored. */
static void set_place(struct cfi_run *r, uint64_t reg, struct cfi_place place)
{
	if (reg == r->cie->arch->fp)
		r->now.rule.fp = place;
	else if (reg == r->cie->arch->ra)
		r->now.rule.ra = place;
	else if (reg == CFI_BX && r->cie->arch->follows_bx)
		r->now.rule.bx = place;
}

static void restore(struct cfi_run *r, uint64_t reg)
{
	if (reg == r->cie->arch->fp)
		r->now.rule.fp = r->cie->first.rule.fp;
	else if (reg == r->cie->arch->ra)
		r->now.rule.ra = r->cie->first.rule.ra;
	else if (reg == CFI_BX)
		r->now.rule.bx = r->cie->first.rule.bx;
}

static int64_t scaled(struct cfi_run *r, int64_t factor)
{
	int64_t v;
	if (__builtin_mul_overflow(factor, r->cie->data_align, &v))
		r->bad = true;
	return r->bad ? 0 : v;
}

/* A register too large for a rule makes the program invalid. */
static uint8_t small_reg(struct cfi_run *r, uint64_t reg)
{
	if (reg > UINT8_MAX)
		r->bad = true;
	return reg;
}

static struct cfi_place place_at(struct cfi_run *r, enum cfi_kind kind, int64_t factor)
{
	return (struct cfi_place){ .kind = kind, .offset = scaled(r, factor) };
}

static void set_cfa(struct cfi_run *r, uint64_t reg, int64_t offset)
{
	r->now.cfa_reg = small_reg(r, reg);
	r->now.cfa_offset = offset;
	r->now.rule.cfa =
		(struct cfi_place){ .kind = CFI_OFFSET, .reg = r->now.cfa_reg, .offset = offset };
}

/* While the CFA is an expression, the offset is retained for when a register is used again. */
static void set_cfa_offset(struct cfi_run *r, int64_t offset)
{
	r->now.cfa_offset = offset;
	if (r->now.rule.cfa.kind == CFI_OFFSET)
		r->now.rule.cfa.offset = offset;
}

static struct cur take_block(struct cur *c)
{
	uint64_t len = cur_varint(c);
	if (len > cur_left(c))
		c->bad = true;
	return c->bad ? cur_of(NULL, 0) : cur_of(cur_take(c, len), len);
}

static void remember(struct cfi_run *r)
{
	if (r->n_states == CFI_MAX_STATES)
		r->bad = true;
	else
		r->states[r->n_states++] = r->now;
}

static void restore_state(struct cfi_run *r)
{
	if (r->n_states == 0)
		r->bad = true;
	else
		r->now = r->states[--r->n_states];
}

static uint64_t read_address(struct cfi_run *r)
{
	return r->cie->arch->address_size == 8 ? cur_u64(&r->c) : cur_u32(&r->c);
}

/* --- instructions of a whole byte ------------------------------------------------------------- */

static void step_cfa(struct cfi_run *r, uint8_t op)
{
	struct cur *c = &r->c;
	uint64_t reg;
	switch (op) {
	case CFA_DEF_CFA:
		reg = cur_varint(c);
		set_cfa(r, reg, cur_varint(c));
		break;
	case CFA_DEF_CFA_SF:
		reg = cur_varint(c);
		set_cfa(r, reg, scaled(r, cfi_leb_signed(c)));
		break;
	case CFA_DEF_CFA_REGISTER:
		set_cfa(r, cur_varint(c), r->now.cfa_offset);
		break;
	case CFA_DEF_CFA_OFFSET:
		set_cfa_offset(r, cur_varint(c));
		break;
	case CFA_DEF_CFA_OFFSET_SF:
		set_cfa_offset(r, scaled(r, cfi_leb_signed(c)));
		break;
	case CFA_DEF_CFA_EXPRESSION:
		r->now.rule.cfa = cfi_expr_cfa(r->cie->arch, take_block(c));
	}
}

/* Reads the operands after the register number. */
static struct cfi_place take_place(struct cfi_run *r, uint8_t op)
{
	struct cur *c = &r->c;
	switch (op) {
	case CFA_UNDEFINED:
		return (struct cfi_place){ .kind = CFI_UNDEFINED };
	case CFA_SAME_VALUE:
		return (struct cfi_place){ .kind = CFI_NONE };
	case CFA_REGISTER:
		return (struct cfi_place){ .kind = CFI_REGISTER,
					   .reg = small_reg(r, cur_varint(c)) };
	case CFA_OFFSET_EXTENDED:
		return place_at(r, CFI_OFFSET, cur_varint(c));
	case CFA_OFFSET_EXTENDED_SF:
		return place_at(r, CFI_OFFSET, cfi_leb_signed(c));
	case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
		return place_at(r, CFI_OFFSET, -cur_varint(c));
	case CFA_VAL_OFFSET:
		return place_at(r, CFI_VALUE, cur_varint(c));
	case CFA_VAL_OFFSET_SF:
		return place_at(r, CFI_VALUE, cfi_leb_signed(c));
	case CFA_EXPRESSION:
		return cfi_expr_saved(take_block(c));
	case CFA_VAL_EXPRESSION:
		take_block(c);
		return (struct cfi_place){ .kind = CFI_OTHER };
	}
	r->bad = true;
	return (struct cfi_place){ .kind = CFI_OTHER };
}

static void step_whole(struct cfi_run *r, uint8_t op)
{
	struct cur *c = &r->c;
	uint64_t reg;
	switch (op) {
	case CFA_NOP:
		break;
	case CFA_SET_LOC:
		advance_to(r, read_address(r));
		break;
	case CFA_ADVANCE_LOC1:
		advance(r, cur_u8(c));
		break;
	case CFA_ADVANCE_LOC2:
		advance(r, cur_u16(c));
		break;
	case CFA_ADVANCE_LOC4:
		advance(r, cur_u32(c));
		break;
	case CFA_DEF_CFA ... CFA_DEF_CFA_EXPRESSION:
	case CFA_DEF_CFA_SF ... CFA_DEF_CFA_OFFSET_SF:
		step_cfa(r, op);
		break;
	case CFA_RESTORE_EXTENDED:
		restore(r, cur_varint(c));
		break;
	case CFA_REMEMBER_STATE:
		remember(r);
		break;
	case CFA_RESTORE_STATE:
		restore_state(r);
		break;
	case CFA_GNU_WINDOW_SAVE:
		r->now.rule.ra_is_signed = !r->now.rule.ra_is_signed;
		break;
	case CFA_GNU_ARGS_SIZE:
		cur_varint(c);
		break;
	default:
		reg = cur_varint(c);
		set_place(r, reg, take_place(r, op));
	}
}

static void step(struct cfi_run *r)
{
	enum { OP = 0xc0, OPERAND = 0x3f };
	uint8_t byte = cur_u8(&r->c), operand = byte & OPERAND;
	switch (byte & OP) {
	case CFA_ADVANCE_LOC:
		advance(r, operand);
		break;
	case CFA_OFFSET:
		set_place(r, operand, place_at(r, CFI_OFFSET, cur_varint(&r->c)));
		break;
	case CFA_RESTORE:
		restore(r, operand);
		break;
	default:
		step_whole(r, byte);
	}
}

static bool run_all(struct cfi_run *r)
{
	while (cur_left(&r->c) && !r->bad)
		step(r);
	return !r->bad && !r->c.bad;
}

bool cfi_program_begin(struct cfi_program *p, struct cfi_cie *cie)
{
	struct cfi_run r = { .cie = cie, .c = cie->program, .states = p->states };
	r.now.rule.is_signal = cie->is_signal;
	r.now.rule.follows_bx = cie->arch->follows_bx;
	if (cie->arch->ra_in_register)
		r.now.rule.ra = (struct cfi_place){ .kind = CFI_REGISTER, .reg = cie->arch->ra };
	cie->first = r.now;
	if (!run_all(&r))
		return false;
	cie->first = r.now;
	return true;
}

bool cfi_program_run(struct cfi_program *p, const struct cfi_cie *cie, struct cur program,
		     uint64_t start, uint64_t end)
{
	struct cfi_run r = { .cie = cie,
			     .c = program,
			     .now = cie->first,
			     .addr = start,
			     .end = end,
			     .states = p->states,
			     .out = p };
	p->rows.n = 0;
	if (!run_all(&r))
		return false;
	end_row(&r, end);
	return !r.bad && p->rows.n;
}

void cfi_program_done(struct cfi_program *p)
{
	vec_done(&p->rows);
}
