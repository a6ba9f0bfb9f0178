// tier: test
/* Stacks of HotSpot's frames made by hand, and what the walker takes them for. */
#include "hotspot_image.h"
#include "unit.h"
#include "unwind/walk.h"

enum { STACK = 0x700000, WORDS = 256, FRAME_WORDS = 32 };

struct made {
	struct image image;
	struct hotspot_process process;
	struct hotspot_layout layout;
	uint64_t stack[WORDS];
};

static void made_init(struct made *m, uint16_t version)
{
	const struct runtime_memory memory = { image_read, &m->image };
	struct hotspot_at at = { .file = &m->image.file };
	struct hotspot_offsets o;

	*m = (struct made){ .process.layout = 0 };
	image_make(&m->image, version);
	ck_assert_int_eq(hotspot_offsets_read(&at, &memory, &o, NULL), 0);
	ck_assert_int_eq(hotspot_heaps_read(&o, &memory, &m->process, NULL), 0);
	ck_assert(hotspot_layout_of(&o, version, &m->layout));
}

static bool read_stack(void *ctx, void *to, size_t size, uint64_t address)
{
	const struct made *m = ctx;

	if (address < STACK || address - STACK > sizeof m->stack - size)
		return false;
	memcpy(to, (const char *)m->stack + (address - STACK), size);
	return true;
}

static bool read_memory(void *ctx, void *to, size_t size, uint64_t address)
{
	struct made *m = ctx;

	return image_read(&m->image, address, to, size) == 0;
}

static bool find_nothing(void *ctx, uint64_t address, struct space_mapping *out)
{
	(void)ctx, (void)address, (void)out;
	return false;
}

static struct unwind_source source_of(struct made *m)
{
	return (struct unwind_source){ .ctx = m,
				       .read = read_stack,
				       .find = find_nothing,
				       .hotspot = &m->process,
				       .hotspot_layout = &m->layout,
				       .read_memory = read_memory };
}

static uint64_t fp_of(unsigned frame)
{
	return STACK + (frame * FRAME_WORDS + FRAME_WORDS / 2) * 8;
}

static uint64_t *slot(struct made *m, unsigned frame, int from_fp)
{
	return &m->stack[(fp_of(frame) - STACK + from_fp) / 8];
}

/* An interpreted frame, which was called by the next one. */
static void push(struct made *m, unsigned frame, uint64_t method, uint64_t bcp)
{
	*slot(m, frame, m->layout.frame_method) = method;
	*slot(m, frame, m->layout.frame_bcp) = bcp;
	*slot(m, frame, m->layout.frame_sender_sp) = fp_of(frame) + 16;
	*slot(m, frame, 0) = fp_of(frame + 1);
	*slot(m, frame, 8) = m->process.interpreter_start + 64;
}

/* A native method's bytecode pointer is 0, or the place where bytecode would start. */
START_TEST(interpreted_native_methods)
{
	static const uint16_t versions[] = { 8, 17, 25 };

	for (size_t i = 0; i < 3; i++) {
		struct made m;
		uint64_t regs[PT_REGS_WORDS] = { 0 }, words[32], native_const;

		made_init(&m, versions[i]);
		struct image *g = &m.image;
		uint64_t begin = g->outer_const + m.layout.const_code;
		ck_assert_int_eq(image_read(g, g->inner + 8, &native_const, 8), 0);
		image_set(g, native_const + 24, 0, 2); /* bytes of bytecode */
		uint64_t none = native_const + m.layout.const_code;
		const struct {
			uint64_t method, bcp;
			bool is_frame;
			uint32_t index;
		} frames[] = {
			{ g->inner, none, true, 0 },        { g->outer, begin + 9, true, 9 },
			{ g->inner, 0, true, 0 },           { g->outer, begin, true, 0 },
			{ g->outer, begin + 19, true, 19 }, { g->inner, none + 1, false, 0 },
			{ g->outer, begin + 20, false, 0 },
		};
		unsigned n = sizeof frames / sizeof *frames;
		for (unsigned k = 0; k < n; k++)
			push(&m, k, frames[k].method, frames[k].bcp);
		regs[PT_IP] = m.process.interpreter_start + 32;
		regs[PT_SP] = STACK;
		regs[PT_FP] = fp_of(0);
		const struct unwind_source source = source_of(&m);
		struct unwind_walk w = unwind_walk(&source, regs, words, 32);

		ck_assert(w.has_inline);
		ck_assert_uint_ge(w.n, 2 * n);
		for (unsigned k = 0; k < n; k++) {
			uint64_t what = words[2 * k], place = words[2 * k + 1];

			if (!frames[k].is_frame) {
				ck_assert_uint_eq(RUNTIME_KIND_OF(what), HOTSPOT_STUB);
				continue;
			}
			ck_assert_uint_eq(what,
					  runtime_frame_what(RUNTIME_HOTSPOT, HOTSPOT_INTERPRETED,
							     frames[k].method));
			ck_assert_uint_eq(RUNTIME_OFFSET_OF(place), frames[k].index);
		}
	}
}
END_TEST

/* The outermost frame of a virtual thread returns to a stub; the carrier's frame is above the entry of the continuation, which may be some words
 * above the stack pointer. The words between them may have the stub's address again. */
START_TEST(virtual_threads)
{
	enum { ENTRY = 64, MOST = 3, RETURNS = 40 };

	for (unsigned extra = 0; extra <= MOST + 1; extra++) {
		struct made m;
		uint64_t regs[PT_REGS_WORDS] = { 0 }, words[32];

		made_init(&m, 25);
		struct image *g = &m.image;
		m.layout.entry_bytes = ENTRY;
		image_set(g, g->stub + 8, image_text(g, "StubRoutines (continuationstubs)"), 8);
		uint64_t begin = g->outer_const + m.layout.const_code;
		uint64_t back = g->stub + 128 + 5, ra = m.process.interpreter_start + RETURNS;
		push(&m, 0, g->outer, begin + 9);
		*slot(&m, 0, 8) = back;
		/* After the return: the words between, the entry, the saved frame pointer. */
		for (unsigned k = 0; k < extra; k++)
			*slot(&m, 0, 16 + 8 * k) = k & 1 ? back : 7;
		*slot(&m, 0, 16 + 8 * extra + ENTRY) = fp_of(2);
		*slot(&m, 0, 16 + 8 * extra + ENTRY + 8) = ra;
		push(&m, 2, g->outer, begin + 12);
		regs[PT_IP] = m.process.interpreter_start + 32;
		regs[PT_SP] = STACK;
		regs[PT_FP] = fp_of(0);
		const struct unwind_source source = source_of(&m);
		struct unwind_walk w = unwind_walk(&source, regs, words, 32);

		ck_assert_uint_ge(w.n, 4);
		ck_assert_uint_eq(RUNTIME_KIND_OF(words[0]), HOTSPOT_INTERPRETED);
		ck_assert_uint_eq(RUNTIME_KIND_OF(words[2]), HOTSPOT_STUB);
		if (extra > MOST) {
			ck_assert_uint_eq(w.n, 4);
			continue;
		}
		ck_assert_uint_ge(w.n, 6);
		ck_assert_uint_eq(words[4], runtime_frame_what(RUNTIME_HOTSPOT, HOTSPOT_INTERPRETED,
							       g->outer));
		ck_assert_uint_eq(RUNTIME_OFFSET_OF(words[5]), 12);
	}
}
END_TEST

/* --- the end of a code heap ----------------------------------------------------------------------- */

enum { HEAP = 0x20000, PAGE = 4096, SEGMAP = 0x30000, NAME = 0x40000, LAST_BLOB = HEAP + 0xf10 };

/* Of the heap only the first page is in memory. */
static bool read_page(void *ctx, void *to, size_t size, uint64_t address)
{
	const struct made *m = ctx;
	const struct {
		uint64_t start;
		const void *bytes;
		size_t size;
	} parts[] = { { HEAP, m->image.bytes, PAGE },
		      { SEGMAP, m->image.bytes + PAGE, PAGE },
		      { NAME, "nmethod", 8 } };

	for (size_t i = 0; i < 3; i++)
		if (address >= parts[i].start && address - parts[i].start < parts[i].size &&
		    size <= parts[i].size - (address - parts[i].start)) {
			memcpy(to, (const char *)parts[i].bytes + (address - parts[i].start), size);
			return true;
		}
	return false;
}

static void set_word(struct made *m, uint64_t at, uint64_t value, size_t size)
{
	memcpy(m->image.bytes + at, &value, size);
}

START_TEST(last_blob_before_memory_that_is_absent)
{
	struct made m = { .process.n_ranges = 1 };
	uint64_t regs[PT_REGS_WORDS] = { 0 }, words[32], at = LAST_BLOB - HEAP;

	m.process.ranges[0] = (struct hotspot_range){
		.start = HEAP, .end = HEAP + 4 * PAGE, .segmap = SEGMAP, .log2_segment = 8
	};
	m.layout = (struct hotspot_layout){ .version = 17,
					    .block_header = 16,
					    .blob_name = 8,
					    .blob_code = 32,
					    .blob_frame_size = 20,
					    .blob_frame_complete = 24,
					    .nmethod_compile_id = 64 };
	set_word(&m, at + 8, NAME, 8);
	set_word(&m, at + 20, 4, 4);
	set_word(&m, at + 24, UINT32_MAX, 4);
	set_word(&m, at + 32, LAST_BLOB + 128, 8);
	set_word(&m, at + 64, 77, 4);
	regs[PT_IP] = LAST_BLOB + 144;
	regs[PT_SP] = STACK;
	struct unwind_source source = source_of(&m);
	source.read_memory = read_page;
	struct unwind_walk w = unwind_walk(&source, regs, words, 32);

	ck_assert_uint_ge(w.n, 2);
	ck_assert_uint_eq(words[0],
			  runtime_frame_what(RUNTIME_HOTSPOT, HOTSPOT_COMPILED_LEAF, LAST_BLOB));
	ck_assert_uint_eq(words[1], runtime_frame_place(77, 16));
}
END_TEST

UNIT_MAIN("hotspot_walk", interpreted_native_methods, virtual_threads,
	  last_blob_before_memory_that_is_absent)
