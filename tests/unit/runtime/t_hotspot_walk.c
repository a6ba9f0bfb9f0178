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
		const struct unwind_source source = { .ctx = &m,
						      .read = read_stack,
						      .find = find_nothing,
						      .hotspot = &m.process,
						      .hotspot_layout = &m.layout,
						      .read_memory = read_memory };
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

UNIT_MAIN("hotspot_walk", interpreted_native_methods)
