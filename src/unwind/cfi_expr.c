#include "unwind/cfi_expr.h"

#include "unwind/cfi_program.h"

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

/* "breg: offset" */
static bool expr_breg(struct cur *c, uint8_t *reg, int64_t *offset)
{
	uint8_t op = cur_u8(c);
	if (c->bad || op < OP_BREG0 || op > OP_BREG31)
		return false;
	*reg = op - OP_BREG0;
	*offset = cfi_leb_signed(c);
	return !c->bad;
}

/* sp + 8, and 8 more once the stub has pushed the index of its function: (pc & 15) >= 10 or 11. */
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

struct cfi_place cfi_expr_cfa(const struct cfi_arch *arch, struct cur expr)
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

struct cfi_place cfi_expr_saved(struct cur expr)
{
	struct cfi_place p = { .kind = CFI_DEREF };
	if (!expr_breg(&expr, &p.reg, &p.offset) || cur_left(&expr))
		return (struct cfi_place){ .kind = CFI_OTHER };
	return p;
}
