/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/unwind.h: the walk over a user stack: from registers to frames, leaf first. Compiled for BPF
 * and for user space (unwind/walk.c).
 *
 * For each frame the walk finds the mapping of the instruction, the table of the mapped object and
 * the rule in the table, which gives the caller's registers. Code without a table or a rule is
 * walked by its frame pointer; a gap of a few bytes between code with rules is walked by the words
 * on the stack. Files that include this define the access to memory and tables:
 *
 *     int walk_read(w, to, size, address)       of the watched process; 0 when it worked
 *     int walk_word(w, address, out)            the same for a word of the stack; its neighbours
 *                                               will be read as well
 *     int walk_find(w, address)                 sets w->map; 0 when there is such a mapping
 *     struct space_table *walk_table(w, index)  NULL if none exists
 *     const void *walk_chunk(w, chunk)          NULL if none exists
 *     struct known_frame *walk_known(w, i)      one of KNOWN_FRAMES, initially zeros; NULL when
 *                                               there are none
 *
 * State that the verifier must not follow value by value is in *w, which is memory of a map
 * (bpf/unwind_find.h). */
#ifndef CRESSET_BPF_UNWIND_H
#define CRESSET_BPF_UNWIND_H

#include "bpf/walk.h"

#include "bpf/unwind_find.h" /* of struct walk */

/* DWARF's numbers of x86-64's registers. */
enum { REG_BX = 3, REG_FP = 6, REG_SP = 7, REGS = 16 };

/* The word of each DWARF register in struct pt_regs, and in the struct sigcontext that a signal
 * frame holds at SIGCONTEXT_AT above its stack pointer: four bits each, register 0 in the lowest.
 * (REG_SP is looked up in the latter only.) */
#define PT_REGS_OF    0x01236789f4ed5bcaull
#define SIGCONTEXT_OF 0x76543210fa89becdull
enum { SIGCONTEXT_AT = 40 };
#define WORD_OF(map, reg) ((map) >> ((reg) & (REGS - 1)) * 4 & 15)

#define FP_LOST    1ull /* there is no frame at this value */
#define BX_IN_REGS 0ull /* still the leaf's */
#define BX_LOST    1ull
#define USER_MAX   (1ull << 47) /* one past the highest user address */
#define NEAR_STACK \
	(8ull << 20) /* a frame pointer this far above the last is still a stack address */

/* The shape of nearly all rules: CFA from the stack or frame pointer, return address right below
 * it, frame pointer untouched or saved, no signal. */
enum { SHAPE_PLAIN = 1, SHAPE_BY_FP = 2, SHAPE_SAVES_FP = 4 };

static int walk_read(struct walk *w, void *to, __u32 size, __u64 address);
static int walk_word(struct walk *w, __u64 address, __u64 *out);
static int walk_find(struct walk *w, __u64 address);
static struct space_table *walk_table(struct walk *w, __u32 index);
static struct known_frame *walk_known(struct walk *w, __u32 i);
static void walk_put(struct walk *w, __u64 frame);

/* --- mappings --------------------------------------------------------------------------------- */

/* The last mapping of a block that starts at or before the address. */
static __always_inline const struct space_mapping *search_maps(struct walk *w,
							       const struct space_block *b,
							       __u64 address)
{
	search_begin(w, SPACE_BLOCK_MAPS);
	for (int i = 0; i < 6; i++) {
		int at = search_at(w);

		if (at < 0)
			break;
		search_move(w, b->maps[at & (SPACE_BLOCK_MAPS - 1)].start > address);
	}
	return &b->maps[(LOAD(w->pos) - 1) & (SPACE_BLOCK_MAPS - 1)];
}

/* The block that has the address, from the starts of all blocks. */
static __always_inline __u32 search_index(struct walk *w, const struct space_block *b,
					  __u64 address)
{
	search_begin(w, SPACE_INDEX_BLOCKS);
	for (int i = 0; i < 8; i++) {
		int at = search_at(w);

		if (at < 0)
			break;
		search_move(w, b->starts[at & (SPACE_INDEX_BLOCKS - 1)] > address);
	}
	return (LOAD(w->pos) - 1) & (SPACE_INDEX_BLOCKS - 1);
}

/* --- one frame -------------------------------------------------------------------------------- */

/* Ends the walk. */
static __always_inline int walk_over(struct walk *w, __u32 end)
{
	w->end = end;
	return 1;
}

static __always_inline int read_word(struct walk *w, __u64 address, __u64 *out)
{
	if (!walk_read(w, out, sizeof *out, address))
		return 0;
	return walk_over(w, WALK_UNREADABLE);
}

/* The registers that a callee may overwrite, by DWARF's numbers: rax rdx rcx rsi rdi r8 … r11. */
#define VOLATILE_REGS 0x0f37u

/* Reads a register of the current frame. In the leaf and in interrupted frames all are known; rbx
 * is followed. A caller's rule that needs a volatile register (assembly has such rules) relies on
 * callees that leave it alone, so it has the value from the leaf or interrupted frame. */
static __always_inline int read_register(struct walk *w, __u32 reg, __u64 *out)
{
	if (reg == REG_SP) {
		*out = w->sp;
	} else if (reg == REG_FP) {
		*out = w->fp;
	} else if (reg == REG_BX && w->bx_at != BX_IN_REGS) {
		return w->bx_at == BX_LOST ? walk_over(w, WALK_RULE) : read_word(w, w->bx_at, out);
	} else if (reg != REG_BX && !w->exact && !(VOLATILE_REGS >> (reg & (REGS - 1)) & 1)) {
		return walk_over(w, WALK_RULE);
	} else if (w->sigcontext) {
		return read_word(w, w->sigcontext + 8 * WORD_OF(SIGCONTEXT_OF, reg), out);
	} else {
		*out = w->regs[WORD_OF(PT_REGS_OF, reg)];
	}
	return 0;
}

static __always_inline int read_cfa(struct walk *w, const struct unwind_rule *r, __u64 pc,
				    __u64 *cfa)
{
	__u32 kind = UNWIND_KIND(r->cfa);

	if (kind != UNWIND_REG && kind != UNWIND_DEREF && kind != UNWIND_PLT)
		return walk_over(w, WALK_RULE);
	if (read_register(w, UNWIND_REGISTER(r->cfa), cfa))
		return 1;
	*cfa += r->cfa_offset;
	if (kind == UNWIND_DEREF) {
		if (read_word(w, *cfa, cfa))
			return 1;
		*cfa += r->cfa_add;
	} else if (kind == UNWIND_PLT && (pc & 15) >= (__u32)r->cfa_add) {
		*cfa += 8;
	}
	return 0;
}

/* Reads the caller's value of a register from the place given by the rule. */
static __always_inline int read_saved(struct walk *w, __u8 place, __s32 offset, __u64 cfa,
				      __u64 same, __u64 *out)
{
	__u64 base;

	*out = same;
	switch (UNWIND_KIND(place)) {
	case UNWIND_NONE:
		return 0;
	case UNWIND_UNDEFINED:
		*out = 0;
		return 0;
	case UNWIND_CFA:
		return read_word(w, cfa + offset, out);
	case UNWIND_REG:
		return read_register(w, UNWIND_REGISTER(place), out);
	case UNWIND_DEREF:
		if (read_register(w, UNWIND_REGISTER(place), &base))
			return 1;
		return read_word(w, base + offset, out);
	}
	return walk_over(w, WALK_RULE);
}

/* Only remembers where the caller's rbx is stored: it is rarely needed. */
static __always_inline void follow_bx(struct walk *w, const struct unwind_rule *r, __u64 cfa)
{
	__u32 words = r->flags >> UNWIND_BX_SHIFT;

	if (r->flags & UNWIND_SIGNAL)
		w->bx_at = w->sp + SIGCONTEXT_AT + 8 * WORD_OF(SIGCONTEXT_OF, REG_BX);
	else if (!(r->flags & UNWIND_BX_KNOWN))
		w->bx_at = BX_LOST;
	else if (words)
		w->bx_at = cfa - 8 * words;
}

/* Whether the frame pointer is right below the return address, as most functions save it: then one
 * read gets both. */
static __always_inline int is_pair(const struct unwind_rule *r)
{
	return UNWIND_KIND(r->ra) == UNWIND_CFA && UNWIND_KIND(r->fp) == UNWIND_CFA &&
	       r->fp_offset + 8 == r->ra_offset;
}

/* vfork moves its return address from the stack into a register: the only case of a frame without a
 * word of its own. */
static __always_inline int has_no_word(const struct walk *w, const struct unwind_rule *r, __u64 cfa)
{
	return w->exact && cfa == w->sp && UNWIND_KIND(r->ra) == UNWIND_REG;
}

/* Whether a CFA that is not above the stack pointer is wrong. It is right for a frame on another
 * stack, which a function that switches stacks keeps in its frame pointer: a goroutine's may lie
 * below that of its thread. A walk that goes round comes to the same CFA again: it is remembered at
 * the 1st, 2nd, 4th, 8th … time, so each period is found. */
static __always_inline int is_astray(struct walk *w, const struct unwind_rule *r, __u64 cfa)
{
	if (UNWIND_KIND(r->cfa) != UNWIND_REG || UNWIND_REGISTER(r->cfa) != REG_FP || (cfa & 7) ||
	    cfa == w->sp || cfa == w->back_cfa)
		return 1;
	if (!(w->n_back & (w->n_back + 1)))
		w->back_cfa = cfa;
	w->n_back++;
	return 0;
}

static __always_inline int step_by_rule(struct walk *w, const struct unwind_rule *r, __u64 pc)
{
	__u64 cfa, ra, fp, pair[2];
	int is_signal = r->flags & UNWIND_SIGNAL;

	if (UNWIND_KIND(r->ra) == UNWIND_UNDEFINED)
		return walk_over(w, WALK_COMPLETE);
	if (read_cfa(w, r, pc, &cfa))
		return 1;
	if (!is_signal && cfa <= w->sp && !has_no_word(w, r, cfa) && is_astray(w, r, cfa))
		return walk_over(w, WALK_ASTRAY);
	if (is_pair(r)) {
		if (walk_read(w, pair, sizeof pair, cfa + r->fp_offset))
			return walk_over(w, WALK_UNREADABLE);
		fp = pair[0];
		ra = pair[1];
	} else {
		if (read_saved(w, r->ra, r->ra_offset, cfa, 0, &ra))
			return 1;
		/* Many callers do not need it, so its loss only shows where one does. */
		if (read_saved(w, r->fp, r->fp_offset, cfa, w->fp, &fp))
			fp = FP_LOST;
	}
	follow_bx(w, r, cfa);
	if (is_signal)
		w->sigcontext = w->sp + SIGCONTEXT_AT;
	w->exact = is_signal != 0;
	w->ip = ra;
	w->sp = cfa;
	w->fp = fp;
	w->by_rule = 1;
	w->by_table++;
	return 0;
}

/* Whether the instruction before the address is a call: e8 and four bytes, or ff /2 in its forms of
 * 2 to 7 bytes. */
static __always_inline int is_behind_call(struct walk *w, __u64 address)
{
	__u8 b[8];

	if (walk_read(w, b, sizeof b, address - sizeof b))
		return 0;
#define IS_INDIRECT(at) (b[at] == 0xff && (b[(at) + 1] & 0x38) == 0x10)
	return b[3] == 0xe8 || IS_INDIRECT(6) || IS_INDIRECT(5) || IS_INDIRECT(4) ||
	       IS_INDIRECT(2) || IS_INDIRECT(1);
#undef IS_INDIRECT
}

static __always_inline int is_return_address(struct walk *w, __u64 address)
{
	return address >= 4096 && address < USER_MAX && !walk_find(w, address - 1) &&
	       is_behind_call(w, address);
}

/* Gaps between functions with rules contain start files of the C library, stubs made by the linker,
 * and assembly. Most of this code has no frame, or one word, so the return address is at the stack
 * pointer or above it. Returns 0 if it is. */
static __always_inline int step_by_sp(struct walk *w)
{
	__u64 words[2];
	__u32 at = 0;

	if (walk_read(w, words, sizeof words, w->sp))
		return 1;
	if (!is_return_address(w, words[0])) {
		at = 1;
		if (w->fp == w->sp || !is_return_address(w, words[1]))
			return 1;
	}
	w->exact = 0;
	w->ip = at ? words[1] : words[0];
	w->sp += at ? 16 : 8;
	w->by_rule = 0;
	w->by_fp++;
	return 0;
}

/* Code without a file and without a frame pointer that continues after its call with `add $N,%rsp;
 * ret`: CPython up to 3.13 calls its loop through such code with -X perf. Returns 0 if it is. */
static __always_inline int step_by_epilogue(struct walk *w)
{
	__u64 code, ra;
	__u32 size;

	if (!w->use_tables || w->map.object || walk_read(w, &code, sizeof code, w->ip))
		return 1;
	size = code >> 24 & 0xff;
	if ((code & 0xff00ffffffull) != 0xc300c48348ull || size > 127 ||
	    walk_read(w, &ra, sizeof ra, w->sp + size))
		return 1;
	w->exact = 0;
	w->ip = ra;
	w->sp += size + 8;
	w->by_rule = 0;
	w->by_fp++;
	return 0;
}

/* For code that has no rule for its frames. */
static __always_inline int step_by_fp(struct walk *w)
{
	__u64 pair[2], fp = w->fp;

	if (fp == 0)
		return walk_over(w, WALK_COMPLETE);
	if (fp < w->sp || (fp & 7) || fp >= USER_MAX)
		return walk_over(w, WALK_NO_FP);
	if (walk_read(w, pair, sizeof pair, fp))
		return walk_over(w, fp - w->sp < NEAR_STACK ? WALK_UNREADABLE : WALK_NO_FP);
	w->bx_at = BX_LOST;
	w->exact = 0;
	w->fp = pair[0];
	w->ip = pair[1];
	w->sp = fp + sizeof pair;
	w->by_rule = 0;
	w->by_fp++;
	return 0;
}

/* Code that has no rules at all. A frame pointer of 0 ends the chain that led to it; a leaf, and
 * code made at run time that calls code with rules, may use the register for anything. */
static __always_inline int step_unknown(struct walk *w)
{
	int is_leaf = w->by_table + w->by_fp == 0;

	if (w->fp == 0 && w->use_tables && (is_leaf || (w->by_rule && !w->map.object)))
		return walk_over(w, WALK_NO_FP);
	return step_by_fp(w);
}

/* The address is outside of all known mappings. After a step by frame pointer it is not code; after
 * a step by a rule, or at the leaf, a mapping may be missing. */
static __always_inline int step_outside(struct walk *w)
{
	int is_leaf = w->by_table + w->by_fp == 0;

	if (is_leaf) /* running code is mapped: a library that was just opened */
		return walk_over(w, w->ip < USER_MAX ? WALK_NOT_LOADED : WALK_NO_FP);
	if (!w->by_rule)
		return walk_over(w, WALK_NO_FP);
	return walk_over(w, w->settled ? WALK_ASTRAY : WALK_NOT_LOADED);
}

static __always_inline __u32 shape_of(const struct unwind_rule *r)
{
	__u32 reg = UNWIND_REGISTER(r->cfa), fp = UNWIND_KIND(r->fp);

	if (UNWIND_KIND(r->cfa) != UNWIND_REG || (reg != REG_SP && reg != REG_FP) ||
	    UNWIND_KIND(r->ra) != UNWIND_CFA || r->ra_offset != -8 ||
	    (fp != UNWIND_NONE && fp != UNWIND_CFA) || (r->flags & UNWIND_SIGNAL))
		return 0;
	return SHAPE_PLAIN | (reg == REG_FP ? SHAPE_BY_FP : 0) |
	       (fp == UNWIND_CFA ? SHAPE_SAVES_FP : 0);
}

/* The slot for what is known about an instruction. */
static __always_inline __u32 known_index(const struct walk *w, __u64 pc)
{
	__u64 mixed = (pc ^ w->image << 48) * 0x9e3779b97f4a7c15ull;

	return mixed >> (64 - KNOWN_FRAMES_BITS);
}

static __always_inline struct known_frame *known_at(struct walk *w, __u64 pc)
{
	return walk_known(w, known_index(w, pc));
}

/* The place of the current frame: its instruction, or inside the call. */
static __always_inline __u64 walk_pc(const struct walk *w)
{
	return w->ip - 1 + w->exact;
}

/* Remembers what was found about the instruction, which is in w->map. */
static __always_inline void known_set(struct walk *w, __u64 pc, __u64 frame,
				      const struct unwind_rule *rule)
{
	struct known_frame *known = known_at(w, pc);

	if (!known)
		return;
	known->pc = pc;
	known->image = w->image;
	known->frame = frame;
	known->rule = *rule;
	known->table = w->map.table;
	known->shape = shape_of(rule);
}

/* Whether the rules of a table may be used. Marks it as used. */
static __always_inline int is_ready(struct walk *w, __u32 table)
{
	struct space_table *t;

	if (table == w->table)
		return table != 0;
	t = walk_table(w, table);
	if (!t || t->state != TABLE_READY)
		return 0;
	if (!t->used)
		t->used = 1;
	w->table = table;
	return 1;
}

static __always_inline void append(struct walk *w, __u64 frame)
{
	w->has_address |= frame >> 63;
	walk_put(w, frame);
}

/* Returns what is known about an instruction, NULL if nothing. */
static __always_inline const struct known_frame *known_frame(struct walk *w, __u64 pc)
{
	const struct known_frame *known = known_at(w, pc);

	if (!known || !w->image || known->pc != pc || known->image != w->image)
		return 0;
	return is_ready(w, known->table) ? known : 0;
}

/* Appends the current frame and finds its rule, NULL if none exists. Returns nonzero when the
 * walk is over. */
static __always_inline int look_up(struct walk *w, __u64 pc, const struct unwind_rule **rule)
{
	__u64 offset, frame = FRAME_ADDRESS | pc;
	struct space_table *t;
	int outside = 0;

	if (w->use_tables && (pc < w->map.start || pc >= w->map.end))
		outside = walk_find(w, pc);
	offset = pc - w->map.start + w->map.pgoff;
	if (w->use_tables && !outside && w->map.object)
		frame = (__u64)w->map.object << FRAME_OFFSET_BITS | offset;
	if (!outside || !w->n)
		append(w, frame);
	if (outside)
		return step_outside(w);
	if (!w->use_tables || !w->map.table)
		return 0;
	t = walk_table(w, w->map.table);
	if (t && t->state == TABLE_WANTED) {
		w->missing = w->map.table;
		return walk_over(w, WALK_NOT_LOADED);
	}
	if (!t || !is_ready(w, w->map.table))
		return 0;
	*rule = find_rule(w, &t->ref, offset);
	if (*rule)
		known_set(w, pc, frame, *rule);
	return 0;
}

/* Appends the current frame and steps to its caller. Returns nonzero when the walk is over. */
static __always_inline int walk_frame(struct walk *w)
{
	__u64 pc = walk_pc(w);
	const struct unwind_rule *rule = 0;
	const struct known_frame *known;

	if (w->n && w->ip == 0)
		return walk_over(w, WALK_COMPLETE);
	if (w->n && (w->ip < 4096 || w->ip >= USER_MAX))
		return walk_over(w, w->by_rule ? WALK_ASTRAY : WALK_NO_FP);
	if (w->n >= w->max)
		return walk_over(w, WALK_DEPTH);
	known = known_frame(w, pc);
	if (known) {
		append(w, known->frame);
		rule = &known->rule;
	} else if (look_up(w, pc, &rule)) {
		return 1;
	}
	if (!rule)
		return step_by_epilogue(w) ? step_unknown(w) : 0;
	if (UNWIND_KIND(rule->cfa) == UNWIND_GAP)
		return w->exact && !step_by_sp(w) ? 0 : step_by_fp(w);
	if (!step_by_rule(w, rule, pc))
		return 0;
	/* The rule of longjmp describes the frame it jumps to. */
	if (w->end == WALK_ASTRAY && w->exact)
		return step_by_sp(w);
	return 1;
}

/* --- the fast path ---------------------------------------------------------------------------- */

/* walk_frame for a known frame of a plain shape on the current part of the stack: almost all frames
 * of a busy program. Returns nonzero, with nothing done, for other frames. known: the slot of its
 * instruction (known_index of walk_pc); NULL: none. */
static __always_inline int walk_known_frame(struct walk *w, const struct known_frame *known)
{
	__u64 pc = walk_pc(w), cfa, ra, fp = w->fp;

	if (!known || !w->image || known->pc != pc || known->image != w->image || !known->shape)
		return 1;
	if (w->n >= w->max || !is_ready(w, known->table))
		return 1;
	cfa = (known->shape & SHAPE_BY_FP ? w->fp : w->sp) + known->rule.cfa_offset;
	if (cfa <= w->sp)
		return 1;
	if (known->shape & SHAPE_SAVES_FP && walk_word(w, cfa + known->rule.fp_offset, &fp))
		return 1;
	if (walk_word(w, cfa - 8, &ra))
		return 1;
	append(w, known->frame);
	follow_bx(w, &known->rule, cfa);
	w->exact = 0;
	w->ip = ra;
	w->sp = cfa;
	w->fp = fp;
	w->by_rule = 1;
	w->by_table++;
	return 0;
}

/* Starts from w->regs, use_tables, max, and what walk_find needs. */
static __always_inline void walk_begin(struct walk *w)
{
	w->ip = w->regs[PT_IP];
	w->sp = w->regs[PT_SP];
	w->fp = w->regs[PT_FP];
	w->sigcontext = 0;
	w->bx_at = BX_IN_REGS;
	w->map.start = w->map.end = 0;
	w->n = 0;
	w->exact = 1;
	w->end = WALK_COMPLETE;
	w->by_table = w->by_fp = 0;
	w->has_address = 0;
	w->missing = 0;
	w->by_rule = 0;
	w->has_inline = 0;
	w->table = 0;
	w->n_back = 0;
	w->back_cfa = 0;
}

#endif
