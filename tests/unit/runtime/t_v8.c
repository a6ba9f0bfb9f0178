// tier: test
/* V8's objects in memory made by hand: strings of all kinds, position tables, code with an inlined function, lines; and all of that torn: the work is
 * bounded, and nothing is named wrongly. */
#include "base/buf.h"
#include "bpf/space.h"
#include "rand.h"
#include "unit.h"
#include "unwind/walk.h"
#include "v8_layout.h"

#include <errno.h>

enum { BASE = 0x100000, BYTES = 1 << 16, MAX_READS = 100000 };
enum { NARROW = 8, CONS = 1, EXTERNAL = 2, SLICED = 3, THIN = 5, UNCACHED = 16 };

struct image {
	uint8_t bytes[BYTES];
	uint64_t len;
	uint64_t maps[2100]; /* by type; tagged */
	unsigned reads;
	bool is_late; /* longer reads are late */
};

static int image_read(void *ctx, uint64_t addr, void *out, size_t len)
{
	struct image *m = ctx;

	ck_assert_uint_le(++m->reads, MAX_READS);
	if (addr < BASE || addr - BASE > BYTES || len > BYTES - (addr - BASE))
		return -EFAULT;
	if (m->is_late && len > 8)
		return -EAGAIN;
	memcpy(out, m->bytes + (addr - BASE), len);
	return 0;
}

/* --- objects -------------------------------------------------------------------------------------- */

static void put64(struct image *m, uint64_t tagged, uint32_t at, uint64_t v)
{
	memcpy(m->bytes + (tagged - 1 + at - BASE), &v, 8);
}

static void put32(struct image *m, uint64_t tagged, uint32_t at, uint32_t v)
{
	memcpy(m->bytes + (tagged - 1 + at - BASE), &v, 4);
}

static uint64_t room(struct image *m, uint64_t bytes)
{
	uint64_t at = m->len;

	m->len += (bytes + 15) & ~15ull;
	ck_assert_uint_le(m->len, BYTES);
	return BASE + at + 1;
}

static uint64_t object(struct image *m, uint32_t type, uint64_t bytes)
{
	if (!m->maps[type]) {
		m->maps[type] = room(m, 32);
		put32(m, m->maps[type], layout.map_type, type);
	}
	uint64_t at = room(m, bytes);

	put64(m, at, 0, m->maps[type]);
	return at;
}

static uint64_t small(uint32_t v)
{
	return (uint64_t)v << 32;
}

static uint64_t string(struct image *m, const char *text)
{
	uint64_t at = object(m, NARROW, 16 + strlen(text));

	put32(m, at, 12, strlen(text));
	memcpy(m->bytes + (at - 1 + 16 - BASE), text, strlen(text));
	return at;
}

static uint64_t wide(struct image *m, const uint16_t *text, uint32_t n)
{
	uint64_t at = object(m, 0, 16 + 2 * n);

	put32(m, at, 12, n);
	memcpy(m->bytes + (at - 1 + 16 - BASE), text, 2 * n);
	return at;
}

static uint64_t made_of(struct image *m, uint32_t type, uint32_t n, uint64_t a, uint64_t b)
{
	uint64_t at = object(m, type, 32);

	put32(m, at, 12, n);
	put64(m, at, 16, a);
	put64(m, at, 24, b);
	return at;
}

static struct image *image_new(void)
{
	struct image *m = calloc(1, sizeof *m);

	m->len = 256; /* nothing is at small addresses */
	return m;
}

#define READER(m) \
	struct runtime_memory memory_ = { image_read, (m) }; \
	const struct v8_reader r = { &layout, &memory_ }

/* --- strings -------------------------------------------------------------------------------------- */

static void check_text(struct image *m, uint64_t tagged, int rc, const char *text)
{
	struct buf b = { 0 };
	READER(m);

	ck_assert_int_eq(v8_text_read(&r, tagged, V8_MAX_NAME, &b), rc);
	if (rc == 0)
		ck_assert_str_eq(buf_cstr(&b), text);
	buf_done(&b);
}

START_TEST(strings)
{
	static const uint16_t mixed[] = { 'a', 0xe4, 0x20ac, 0xd83d, 0xde00, 0xdc00, 'z' };
	struct image *m = image_new();
	uint64_t hello = string(m, "hello "), world = string(m, "world\xe9");
	uint64_t cons = made_of(m, CONS | NARROW, 12, hello, world);
	uint64_t twice = made_of(m, CONS | NARROW, 24, cons, cons);
	uint64_t outside = made_of(m, EXTERNAL | NARROW, 5, 1, hello - 1 + 16);

	check_text(m, hello, 0, "hello ");
	check_text(m, string(m, ""), 0, "");
	check_text(m, wide(m, mixed, 7), 0, "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\xef\xbf\xbdz");
	check_text(m, cons, 0, "hello world\xc3\xa9");
	check_text(m, twice, 0, "hello world\xc3\xa9hello world\xc3\xa9");
	check_text(m, made_of(m, SLICED | NARROW, 4, hello, small(2)), 0, "llo ");
	check_text(m, made_of(m, SLICED | NARROW, 6, cons, small(4)), 0, "o worl");
	check_text(m, made_of(m, THIN | NARROW, 12, cons, 0), 0, "hello world\xc3\xa9");
	check_text(m, outside, 0, "hello");
	free(m);
}
END_TEST

START_TEST(malformed_strings)
{
	struct image *m = image_new();
	uint64_t hello = string(m, "hello");
	uint64_t circle = made_of(m, CONS | NARROW, 900, hello, hello);
	uint64_t thin = made_of(m, THIN, 5, 0, 0);

	put64(m, circle, 24, circle);
	put64(m, thin, 16, thin);
	check_text(m, circle, -EBADMSG, NULL); /* its second half is longer than the rest */
	check_text(m, thin, -E2BIG, NULL);
	check_text(m, made_of(m, SLICED | NARROW, 4, hello, small(2)), -EBADMSG, NULL);
	check_text(m, made_of(m, EXTERNAL | UNCACHED | NARROW, 5, 1, hello + 15), -EBADMSG, NULL);
	check_text(m, object(m, T_CODE, 32), -EBADMSG, NULL);
	check_text(m, hello - 1, -EBADMSG, NULL);
	put32(m, hello, 12, 1u << 30); /* a string of 1 GB */
	check_text(m, hello, -E2BIG, NULL);
	free(m);
}
END_TEST

/* --- position tables ------------------------------------------------------------------------------ */

/* As V8 writes them. */
static void put_number(struct buf *b, int64_t v)
{
	uint64_t left = (uint64_t)v << 1 ^ (uint64_t)(v >> 63);

	for (; left > 127; left >>= 7)
		buf_addc(b, (char)(left | 128));
	buf_addc(b, (char)left);
}

static uint64_t position(int32_t offset, int32_t inlining)
{
	return (uint64_t)(offset + 1) << 1 | (uint64_t)(inlining + 1) << 31;
}

struct entry {
	int32_t code, is_statement;
	uint64_t position;
};

static void put_positions(struct buf *b, const struct entry *e, size_t n)
{
	int64_t code = -1, position = 0;

	for (size_t i = 0; i < n; i++) {
		int64_t moved = e[i].code - code;

		put_number(b, e[i].is_statement ? moved : -moved - 1);
		put_number(b, (int64_t)e[i].position - position);
		code = e[i].code;
		position = e[i].position;
	}
}

START_TEST(positions)
{
	const struct entry entries[] = { { 0, 1, position(10, -1) },
					 { 7, 0, position(5, 0) },
					 { 300, 1, position(70000, 3) },
					 { 301, 0, position(-1, -1) } };
	const struct {
		uint32_t at;
		int32_t offset, inlining;
	} cases[] = { { 0, 10, -1 },     { 6, 10, -1 },   { 7, 5, 0 },         { 299, 5, 0 },
		      { 300, 70000, 3 }, { 301, -1, -1 }, { 1u << 31, -1, -1 } };
	struct v8_position at;
	struct buf b = { 0 };

	put_positions(&b, entries, 4);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		ck_assert(v8_positions_find((uint8_t *)b.data, b.len, cases[i].at, &at));
		ck_assert_int_eq(at.offset, cases[i].offset);
		ck_assert_int_eq(at.inlining, cases[i].inlining);
	}
	ck_assert(!v8_positions_find((uint8_t *)b.data, 1, 100, &at));
	memset(b.data, 0xff, b.len); /* numbers without an end */
	ck_assert(!v8_positions_find((uint8_t *)b.data, b.len, 100, &at));
	buf_done(&b);
}
END_TEST

/* --- a program ------------------------------------------------------------------------------------ */

/* Two functions, the second inlined into the first, which has code of TurboFan. */
struct program {
	struct image *m;
	uint64_t script, outer, inner, code, start;
};

static const char source[] = "function inner() {}\r\nfunction outer() {\n  inner();\n}\n";

static uint64_t function(struct program *p, const char *name, uint32_t start)
{
	struct image *m = p->m;
	uint64_t scope = object(m, T_SCOPE, 96), shared = object(m, T_SHARED, 64);

	put64(m, scope, 8 + 8 * 2, small(1)); /* a local: its name and its place */
	put64(m, scope, 8 + 8 * 5, string(m, name));
	put64(m, scope, 8 + 8 * 8, small(start));
	put64(m, shared, layout.shared_name, scope);
	put64(m, shared, layout.shared_script, p->script);
	return shared;
}

static uint64_t array(struct image *m, const void *elements, uint32_t n, uint32_t width)
{
	uint64_t at = object(m, 190, 16 + (uint64_t)n * width);

	put64(m, at, 8, small(n));
	memcpy(m->bytes + (at - 1 + 16 - BASE), elements, (size_t)n * width);
	return at;
}

static void make_code(struct program *p)
{
	const struct entry entries[] = { { 0, 1, position(30, -1) }, { 16, 0, position(17, 0) } };
	struct {
		uint64_t position;
		int32_t function, reserved;
	} inlined = { position(43, -1), 0, 0 };
	struct image *m = p->m;
	uint64_t weak = p->inner | 2, deopt[8] = { 0 };
	struct buf b = { 0 };

	put_positions(&b, entries, 2);
	deopt[layout.deopt_literals] = array(m, &weak, 1, 8);
	deopt[layout.deopt_inlining] = array(m, &inlined, sizeof inlined, 1);
	deopt[layout.deopt_shared] = p->outer;
	p->code = object(m, T_CODE, 64);
	put64(m, p->code, layout.code_positions, array(m, b.data, b.len, 1));
	put64(m, p->code, layout.code_deopt, array(m, deopt, 8, 8));
	buf_done(&b);
	m->len = (m->len + 127) & ~63ull;
	p->start = BASE + m->len;
	m->len += 9000; /* in more than two pages */
	put64(m, p->start - 8 + 1, 0, p->code);
	put64(m, p->code, layout.code_start, p->start);
	put32(m, p->code, layout.code_size, 8900);
	put32(m, p->code, layout.code_flags, layout.kind_turbofan);
}

static struct program program_make(void)
{
	struct program p = { .m = image_new() };

	p.script = object(p.m, T_SCRIPT, 64);
	put64(p.m, p.script, layout.script_source, string(p.m, source));
	put64(p.m, p.script, layout.script_name, string(p.m, "/app/a.js"));
	p.inner = function(&p, "inner", 14);
	p.outer = function(&p, "outer", 35);
	make_code(&p);
	return p;
}

START_TEST(code_and_inlined)
{
	struct program p = program_make();
	struct v8_site sites[4];
	struct v8_code code;
	uint32_t n;
	READER(p.m);

	for (uint64_t at = 0; at < 8900; at += 16) {
		ck_assert_int_eq(v8_code_find(&r, p.start + at, &code), 0);
		ck_assert_uint_eq(code.start, p.start);
		ck_assert_uint_eq(code.code, p.code);
		ck_assert(v8_code_is_optimized(&layout, &code));
		ck_assert_int_eq(v8_code_sites(&r, &code, p.start + at, sites, 4, &n), 0);
		ck_assert_uint_eq(n, at < 16 ? 1 : 2);
		ck_assert_uint_eq(sites[n - 1].shared, p.outer);
		ck_assert_int_eq(sites[n - 1].offset, at < 16 ? 30 : 43);
		if (n == 2) {
			ck_assert_uint_eq(sites[0].shared, p.inner);
			ck_assert_int_eq(sites[0].offset, 17);
		}
	}
	ck_assert_int_eq(v8_code_find(&r, p.start + 8900, &code), -ESTALE);
	put64(p.m, p.code, layout.code_start, p.start + 64); /* it has moved */
	ck_assert_int_eq(v8_code_find(&r, p.start, &code), -ESTALE);
	free(p.m);
}
END_TEST

START_TEST(functions)
{
	struct program p = program_make();
	struct v8_function f;
	READER(p.m);
	uint64_t name, script;

	v8_field(&r, p.outer, layout.shared_name, &name);
	v8_field(&r, p.outer, layout.shared_script, &script);
	uint32_t stamp = v8_stamp(name, script);

	ck_assert_int_eq(v8_function_read(&r, p.outer, stamp, UINT32_MAX, &f), 0);
	ck_assert_str_eq(f.name, "outer");
	ck_assert_int_eq(f.start, 35);
	ck_assert_uint_eq(f.script, p.script);
	ck_assert_int_eq(v8_function_check(&r, &f), 0);
	put64(p.m, p.outer, layout.shared_name, p.script);
	ck_assert_int_eq(v8_function_check(&r, &f), -ESTALE);
	put64(p.m, p.outer, layout.shared_name, name);
	v8_function_done(&f);
	ck_assert_int_eq(v8_function_read(&r, p.outer, stamp ^ 1, UINT32_MAX, &f), -ESTALE);
	ck_assert_int_eq(v8_function_read(&r, p.outer, stamp, UINT32_MAX >> 16, &f), 0);
	v8_function_done(&f);
	ck_assert_int_eq(v8_function_read(&r, p.script, 0, 0, &f), -ESTALE);
	ck_assert_int_lt(v8_function_read(&r, 0x7001, 0, 0, &f), 0);
	free(p.m);
}
END_TEST

START_TEST(script_lines)
{
	const struct {
		int32_t position;
		uint32_t line, column;
	} cases[] = { { 0, 1, 1 },   { 19, 1, 20 }, { 20, 1, 21 }, { 21, 2, 1 },
		      { 39, 2, 19 }, { 40, 3, 1 },  { 42, 3, 3 },  { 53, 5, 1 } };
	struct program p = program_make();
	struct v8_lines lines = { 0 };
	uint32_t line, column;
	READER(p.m);

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		ck_assert(v8_line_of(&lines, &r, p.script, cases[i].position, &line, &column));
		ck_assert_uint_eq(line, cases[i].line);
		ck_assert_uint_eq(column, cases[i].column);
	}
	ck_assert(!v8_line_of(&lines, &r, p.script, 54, &line, &column));
	ck_assert(!v8_line_of(&lines, &r, p.script, V8_NO_POSITION, &line, &column));
	ck_assert_uint_eq(lines.all.n, 1);

	/* CR LF in two pieces is one end, and a CR at the end of the source is one. */
	put64(p.m, p.script, layout.script_source,
	      made_of(p.m, CONS | NARROW, 6, string(p.m, "a\r"), string(p.m, "\nb\rc")));
	ck_assert(v8_line_of(&lines, &r, p.script, 3, &line, &column));
	ck_assert_uint_eq(line, 2);
	ck_assert_uint_eq(column, 1);
	ck_assert(v8_line_of(&lines, &r, p.script, 5, &line, &column));
	ck_assert_uint_eq(line, 3);
	v8_lines_done(&lines);
	free(p.m);
}
END_TEST

/* A source is read again if a read was late, and while the process may read more. */
START_TEST(script_lines_later)
{
	struct program p = program_make();
	size_t n_all = 4 << 20;
	struct v8_lines lines = { .n_all = &n_all };
	uint32_t line, column;
	READER(p.m);

	p.m->is_late = true;
	ck_assert(!v8_line_of(&lines, &r, p.script, 21, &line, &column));
	p.m->is_late = false;
	ck_assert(!v8_line_of(&lines, &r, p.script, 21, &line, &column)); /* no memory left */
	n_all = 100;
	ck_assert(v8_line_of(&lines, &r, p.script, 21, &line, &column));
	ck_assert_uint_eq(line, 2);
	ck_assert_uint_eq(n_all, 104);
	v8_lines_done(&lines);
	ck_assert_uint_eq(n_all, 100);
	lines.characters.left_ns = -(int64_t)(60u << 20); /* no characters left */
	ck_assert(!v8_line_of(&lines, &r, p.script, 21, &line, &column));
	v8_lines_done(&lines);
	free(p.m);
}
END_TEST

/* --- walks ---------------------------------------------------------------------------------------- */

/* A stack of three: a builtin or compiled leaf, a compiled caller, an interpreted one. Words of the stack are tagged by put64: it takes address + 1. */
enum { BUILTINS = BASE + 0x4000, CODE = BASE + 0x8000, STACK = BASE + 0xf000, CODE_BYTES = 0x1000 };

struct stack {
	struct program p;
	struct v8_process process;
	uint64_t function, bytecode, regs[PT_REGS_WORDS];
	uint64_t frames[32];
};

static bool stack_read(void *ctx, void *to, size_t size, uint64_t address)
{
	return image_read(((struct stack *)ctx)->p.m, address, to, size) == 0;
}

static bool stack_find(void *ctx, uint64_t address, struct space_mapping *out)
{
	bool is_code = address - CODE < CODE_BYTES;

	(void)ctx;
	*out = (struct space_mapping){ .start = is_code ? CODE : BUILTINS,
				       .object = is_code ? 0 : 7 };
	out->end = out->start + CODE_BYTES;
	return is_code || address - BUILTINS < CODE_BYTES;
}

static struct space_table *no_table(void *ctx, uint32_t index)
{
	(void)ctx, (void)index;
	return NULL;
}

static const void *no_chunk(void *ctx, uint32_t chunk)
{
	(void)ctx, (void)chunk;
	return NULL;
}

static void put_code(struct stack *s, uint64_t at, const char *bytes, size_t n)
{
	memcpy(s->p.m->bytes + (at - BASE), bytes, n);
}

static void put_frame(struct stack *s, uint64_t fp, uint64_t caller, uint64_t ra)
{
	const uint64_t words[] = { small(77),   s->bytecode, small(0), s->function,
				   s->p.script, caller,      ra };

	for (size_t i = 0; i < 7; i++)
		put64(s->p.m, fp - 40 + 8 * i + 1, 0, words[i]);
	put_code(s, ra - 5, "\xe8", 1);
}

/* The leaf's frame is at STACK + 0x100; its caller, in code at CODE + 0x100, has its frame at + 0x200. */
static struct stack *stack_new(uint64_t pc)
{
	struct stack *s = calloc(1, sizeof *s);
	struct image *m;

	s->p = program_make();
	m = s->p.m;
	ck_assert_uint_le(m->len, BUILTINS - BASE);
	s->function = object(m, T_FUNCTION, 64);
	s->bytecode = object(m, T_BYTECODE, 64);
	put64(m, s->function, layout.function_shared, s->p.outer);
	put64(m, s->p.outer, layout.shared_data, s->bytecode);
	s->process = (struct v8_process){
		.builtins = { { BUILTINS, BUILTINS + CODE_BYTES } },
		.map_type = layout.map_type,
		.function_shared = layout.function_shared,
		.first_function = T_FUNCTION,
		.last_function = T_FUNCTION + 16,
		.shared_name = layout.shared_name,
		.shared_script = layout.shared_script,
		.shared_data = layout.shared_data,
		.type_bytecode = T_BYTECODE,
	};
	put_frame(s, STACK + 0x100, STACK + 0x200, CODE + 0x100);
	put_frame(s, STACK + 0x200, 0, BUILTINS + 0x200);
	s->regs[PT_IP] = pc;
	s->regs[PT_SP] = STACK + 0x80;
	s->regs[PT_FP] = STACK + 0x100;
	s->regs[14] = s->function; /* rdi */
	return s;
}

static struct unwind_walk stack_walk(struct stack *s)
{
	const struct unwind_source source = {
		.ctx = s,
		.read = stack_read,
		.find = stack_find,
		.table = no_table,
		.chunk = no_chunk,
		.read_memory = stack_read,
		.v8 = &s->process,
	};

	return unwind_walk(&source, s->regs, s->frames, 30);
}

static void stack_free(struct stack *s)
{
	free(s->p.m);
	free(s);
}

static uint64_t what(uint32_t kind, uint64_t shared)
{
	return runtime_frame_what(RUNTIME_V8, kind, shared ? shared - 1 : 0);
}

/* Walks, and compares the frames: pairs of words, native ones with a second word of 0. */
static void check_walk(struct stack *s, const uint64_t (*want)[2], size_t n)
{
	struct unwind_walk w = stack_walk(s);
	size_t at = 0;

	for (size_t i = 0; i < n; i++) {
		ck_assert_uint_eq(s->frames[at], want[i][0]);
		at++;
		if (is_runtime_frame(want[i][0]))
			ck_assert_uint_eq(s->frames[at++], want[i][1]);
	}
	ck_assert_uint_ge(w.n, at);
	stack_free(s);
}

static uint32_t stamp_of(const struct stack *s)
{
	READER(s->p.m);
	uint64_t name, script;

	v8_field(&r, s->p.outer, layout.shared_name, &name);
	v8_field(&r, s->p.outer, layout.shared_script, &script);
	return v8_stamp(name, script);
}

START_TEST(walks)
{
	struct stack *s = stack_new(BUILTINS + 0x300);
	uint64_t stamp = stamp_of(s), outer = s->p.outer;
	const uint64_t in_builtin[2] = { what(V8_IN_BUILTIN, outer), stamp << 32 | 77 };
	const uint64_t caller[2] = { what(V8_COMPILED, outer),
				     v8_compiled_place(stamp, CODE + 0xff) };
	const uint64_t leaf[2] = { what(V8_COMPILED, outer),
				   v8_compiled_place(stamp, CODE + 0x300) };
	const uint64_t native[2] = { 7ull << FRAME_OFFSET_BITS | 0x300, 0 };
	const uint64_t unknown[2] = { what(V8_COMPILED, 0),
				      v8_compiled_place(v8_stamp(0, 0), CODE + 0x300) };

	/* A handler of a bytecode, in the frame of the interpreted function. */
	check_walk(
		s,
		(const uint64_t[][2]){ { in_builtin[0], in_builtin[1] }, { caller[0], caller[1] } },
		2);
	/* The same without bytecode in the frame. */
	s = stack_new(BUILTINS + 0x300);
	put64(s->p.m, STACK + 0x100 - 32 + 1, 0, s->function);
	check_walk(
		s,
		(const uint64_t[][2]){ { in_builtin[0], stamp << 32 }, { caller[0], caller[1] } },
		2);
	/* Code that a compiled function has called, without a frame. */
	s = stack_new(BUILTINS + 0x300);
	put64(s->p.m, STACK + 0x80 + 1, 0, CODE + 0x100);
	check_walk(s, (const uint64_t[][2]){ { native[0], 0 }, { caller[0], caller[1] } }, 2);
	/* A compiled leaf with a frame. */
	s = stack_new(CODE + 0x300);
	check_walk(s, (const uint64_t[][2]){ { leaf[0], leaf[1] }, { caller[0], caller[1] } }, 2);
	/* … at its return, and before its frame. */
	s = stack_new(CODE + 0x300);
	put_code(s, CODE + 0x300, "\xc3", 1);
	put64(s->p.m, STACK + 0x80 + 1, 0, CODE + 0x100);
	check_walk(s, (const uint64_t[][2]){ { unknown[0], unknown[1] }, { caller[0], caller[1] } },
		   2);
	s = stack_new(CODE + 0x300);
	put_code(s, CODE + 0x304, "\x55\x48\x89\xe5", 4);
	put64(s->p.m, STACK + 0x80 + 1, 0, CODE + 0x100);
	check_walk(s, (const uint64_t[][2]){ { leaf[0], leaf[1] }, { caller[0], caller[1] } }, 2);
	/* The slot holds no function. */
	s = stack_new(CODE + 0x300);
	put64(s->p.m, STACK + 0x100 - 16 + 1, 0, s->p.script);
	check_walk(s,
		   (const uint64_t[][2]){ { FRAME_ADDRESS | (CODE + 0x300), 0 },
					  { caller[0], caller[1] } },
		   2);
}
END_TEST

/* Bits of the stack, of objects and of registers change: the walk ends. */
START_TEST(torn_walks)
{
	for (int round = 0; round < 3000; round++) {
		struct stack *s = stack_new((round & 1 ? BUILTINS : CODE) + 0x300);
		struct rng rng = { .state = round + 1 };

		for (int i = 0; i < 100; i++) {
			uint64_t at = i & 1 ? STACK - BASE + rng_below(&rng, 0x240)
					    : rng_below(&rng, BYTES);

			s->p.m->bytes[at] ^= 1 << rng_below(&rng, 8);
		}
		s->regs[rng_below(&rng, 20)] ^= 8ull << rng_below(&rng, 8);
		ck_assert_uint_le(stack_walk(s).n, 30);
		stack_free(s);
	}
}
END_TEST

/* --- torn ----------------------------------------------------------------------------------------- */

/* Bits of memory change: functions are found or not, within bounds. */
START_TEST(torn)
{
	enum { ROUNDS = 3000 };
	unsigned found = 0, lost = 0;

	for (int round = 0; round < ROUNDS; round++) {
		struct program p = program_make();
		struct rng rng = { .state = round + 1 };
		struct v8_lines lines = { 0 };
		struct v8_site sites[4];
		struct v8_function f;
		struct v8_code code;
		uint32_t n, line, column;
		READER(p.m);

		for (int i = 0; i < 200; i++)
			p.m->bytes[256 + rng_below(&rng, p.m->len - 256)] ^= 1
									     << rng_below(&rng, 8);
		p.m->reads = 0;
		int rc = v8_code_find(&r, p.start + 20, &code);

		if (rc == 0)
			rc = v8_code_sites(&r, &code, p.start + 20, sites, 4, &n);
		for (uint32_t i = 0; rc == 0 && i < n; i++) {
			rc = v8_function_read(&r, sites[i].shared, 0, 0, &f);
			if (rc)
				break;
			v8_line_of(&lines, &r, f.script, sites[i].offset, &line, &column);
			v8_function_done(&f);
		}
		found += rc == 0;
		lost += rc != 0;
		v8_lines_done(&lines);
		free(p.m);
	}
	ck_assert_uint_gt(found, ROUNDS / 50);
	ck_assert_uint_gt(lost, ROUNDS / 50);
}
END_TEST

UNIT_MAIN("v8", strings, malformed_strings, positions, code_and_inlined, functions, script_lines,
	  script_lines_later, walks, torn_walks, torn)
