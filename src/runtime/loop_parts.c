/* Finds the parts of an interpreter loop's function. */
#include "runtime/loop_parts.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/search.h"
#include "base/vec.h"
#include "symbol/elf/elf_file.h"
#include "symbol/elf/elf_layout.h"
#include "unwind/cfi.h"

#include <stdlib.h>
#include <string.h>

/* Pieces of code that do not start like a function. */
struct pieces {
	VEC(struct code_range) v;
	uint64_t function; /* excluded */
	const struct cfi_arch *arch;
};

/* At its first instruction a function's stack pointer is where its caller's call left it: the CFA
 * is right above the return address. */
static bool begins_as_function(const struct cfi_fde *fde, const struct cfi_arch *arch)
{
	const struct cfi_place *cfa = &fde->rows[0].rule.cfa;

	return cfa->kind == CFI_OFFSET && cfa->reg == arch->sp && cfa->offset == 8;
}

static bool take_piece(void *ctx, const struct cfi_fde *fde)
{
	struct pieces *p = ctx;

	if (fde->start != p->function && fde->n && !begins_as_function(fde, p->arch))
		vec_push(&p->v, (struct code_range){ fde->start, fde->end });
	return true;
}

static int piece_compare(const void *a, const void *b)
{
	const struct code_range *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static void find_pieces(const struct elf_file *f, struct pieces *p)
{
	struct cfi_section section;
	struct buf data = { 0 };
	uint64_t skipped = 0;

	if (cfi_file_section(f, CFI_EH_FRAME, &data, &section, NULL) == 0) {
		p->arch = section.arch;
		cfi_read(&section, take_piece, p, &skipped, NULL);
	}
	buf_done(&data);
	if (p->v.n)
		qsort(p->v.v, p->v.n, sizeof *p->v.v, piece_compare);
}

static const struct code_range *piece_at(const struct pieces *p, uint64_t addr)
{
	size_t after = vec_upper(&p->v, start, addr);

	return after && addr < p->v.v[after - 1].end ? &p->v.v[after - 1] : NULL;
}

static void add_part(struct code_range out[LOOP_PARTS_MAX], uint32_t *n,
		     const struct code_range *part)
{
	for (uint32_t i = 0; i < *n; i++)
		if (out[i].start == part->start)
			return;
	if (*n < LOOP_PARTS_MAX)
		out[(*n)++] = *part;
}

/* Matches jumps with a 32-bit distance: E9, and 0F 80 to 0F 8F. Bytes that only look like a jump
 * lead to other places: into a piece, which is less than a hundredth of the code, once in thousands
 * by chance. */
static void follow_jumps(const struct pieces *p, const uint8_t *code, const struct code_range *at,
			 struct code_range out[LOOP_PARTS_MAX], uint32_t *n)
{
	uint64_t size = at->end - at->start;

	for (uint64_t i = 0; i + 6 <= size; i++) {
		bool is_conditional = code[i] == 0x0f && (code[i + 1] & 0xf0) == 0x80;
		uint64_t operand = i + 1 + is_conditional;
		int32_t distance;

		if (!is_conditional && code[i] != 0xe9)
			continue;
		memcpy(&distance, code + operand, sizeof distance);
		const struct code_range *piece =
			piece_at(p, at->start + operand + 4 + (int64_t)distance);
		if (piece)
			add_part(out, n, piece);
	}
}

static void find_parts(const struct elf_file *f, const struct pieces *p,
		       struct code_range out[LOOP_PARTS_MAX], uint32_t *n)
{
	struct elf_layout layout = { 0 };
	uint64_t offset;

	if (elf_layout_read(&layout, f, NULL) < 0)
		return;
	/* Only code that the function itself jumps into: a part of a part also jumps back to it. */
	uint64_t size = out[0].end - out[0].start;
	if (size <= LOOP_MAX_BYTES && elf_layout_offset(&layout, out[0].start, &offset)) {
		uint8_t *code = xmalloc(size ? size : 1);

		if (elf_file_read(f, offset, code, size))
			follow_jumps(p, code, &out[0], out, n);
		free(code);
	}
	elf_layout_done(&layout);
}

uint32_t loop_parts_find(const struct elf_file *f, uint64_t start, uint64_t size,
			 struct code_range out[LOOP_PARTS_MAX])
{
	struct pieces p = { .function = start };
	uint32_t n = 1;

	if (!size || start > UINT64_MAX - size)
		return 0;
	out[0] = (struct code_range){ start, start + size };
	if (f->header.e_machine != EM_X86_64)
		return n;
	find_pieces(f, &p);
	if (p.v.n)
		find_parts(f, &p, out, &n);
	vec_done(&p.v);
	return n;
}
