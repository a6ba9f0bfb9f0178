// tier: test
/* HotSpot's structures in memory made by hand, in three forms; its numbers, line tables and names; and all of that torn: the work is bounded, and
 * nothing is named wrongly. */
#include "base/buf.h"
#include "base/err.h"
#include "hotspot_image.h"
#include "rand.h"
#include "unit.h"

/* --- numbers -------------------------------------------------------------------------------------- */

/* As the JVM writes them. */
static size_t put_number(uint8_t *out, uint32_t v, uint16_t version)
{
	uint32_t least = version >= 20, low = 192 - least;
	size_t n = 0;

	for (; n < 4 && v >= low; n++) {
		v -= low;
		out[n] = low + v % 64 + least;
		v /= 64;
	}
	out[n++] = v + least;
	return n;
}

START_TEST(numbers)
{
	const struct {
		uint8_t bytes[5];
		uint16_t version;
		uint32_t value;
		uint8_t used; /* 0: malformed */
	} cases[] = {
		{ { 0 }, 8, 0, 1 },
		{ { 191 }, 17, 191, 1 },
		{ { 192, 0 }, 17, 192, 2 },
		{ { 255, 1 }, 17, 255 + 64, 2 },
		{ { 0 }, 25, 0, 0 },
		{ { 1 }, 25, 0, 1 },
		{ { 191 }, 25, 190, 1 },
		{ { 192, 1 }, 25, 191, 2 },
		{ { 192, 0 }, 25, 0, 0 },
		{ { 192, 192, 192, 192, 255 },
		  17,
		  192u + (192 << 6) + (192 << 12) + (192 << 18) + (255u << 24),
		  5 },
	};
	uint8_t bytes[5];

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct cur c = cur_of(cases[i].bytes, 5);

		ck_assert_uint_eq(hotspot_unsigned5(&c, cases[i].version), cases[i].value);
		ck_assert_int_eq(c.bad, !cases[i].used);
		if (cases[i].used)
			ck_assert_uint_eq(c.p - cases[i].bytes, cases[i].used);
	}
	for (uint16_t version = 17; version <= 25; version += 8)
		for (uint64_t v = 0; v <= UINT32_MAX; v += 1 + v / 7) {
			size_t n = put_number(bytes, v, version);
			struct cur c = cur_of(bytes, n), less = cur_of(bytes, n - 1);

			ck_assert_uint_eq(hotspot_unsigned5(&c, version), v);
			ck_assert(!c.bad && c.p == bytes + n);
			hotspot_unsigned5(&less, version);
			ck_assert(less.bad);
		}
}
END_TEST

/* --- lines ---------------------------------------------------------------------------------------- */

START_TEST(lines)
{
	/* bci 0: 100, bci 5: 103, bci 2: 300 (out of order), bci 40: 90 */
	const int pairs[][2] = { { 0, 100 }, { 5, 3 }, { -3, 197 }, { 38, -210 } };
	uint8_t table[64];

	for (uint16_t version = 17; version <= 25; version += 8) {
		size_t n = 0, all;

		for (size_t i = 0; i < 4; i++) {
			if (i == 1) {
				table[n++] = pairs[i][0] << 3 | pairs[i][1];
				continue;
			}
			table[n++] = 255;
			n += put_number(table + n, zigzag(pairs[i][0]), version);
			n += put_number(table + n, zigzag(pairs[i][1]), version);
		}
		all = n;
		table[n++] = 0;
		memset(table + n, 0x41, sizeof table - n); /* not a part of it */
		ck_assert_uint_eq(hotspot_lines_size(version, table, sizeof table), n);
		ck_assert_uint_eq(hotspot_lines_size(version, table, all), all);
		ck_assert_uint_eq(hotspot_line(version, table, n, -1), 100);
		ck_assert_uint_eq(hotspot_line(version, table, n, 0), 100);
		ck_assert_uint_eq(hotspot_line(version, table, n, 1), 100);
		ck_assert_uint_eq(hotspot_line(version, table, n, 2), 300);
		ck_assert_uint_eq(hotspot_line(version, table, n, 4), 300);
		ck_assert_uint_eq(hotspot_line(version, table, n, 5), 103);
		ck_assert_uint_eq(hotspot_line(version, table, n, 39), 103);
		ck_assert_uint_eq(hotspot_line(version, table, n, 1000), 90);
		ck_assert_uint_eq(hotspot_line(version, table, 0, 5), 0);
	}
	/* Lines that no class file has. */
	size_t n = 0;
	table[n++] = 255;
	n += put_number(table + n, 0, 17);
	n += put_number(table + n, 70000 * 2, 17);
	table[n++] = 0;
	ck_assert_uint_eq(hotspot_line(17, table, n, 0), 0);
}
END_TEST

/* --- names ---------------------------------------------------------------------------------------- */

static struct hotspot_symbol_text text_of(const char *s, bool is_cut)
{
	struct hotspot_symbol_text t = { .len = strlen(s), .is_cut = is_cut };

	memcpy(t.text, s, t.len);
	return t;
}

/* NULL: malformed. */
static char *name_of(const char *class_name, const char *method, const char *signature, bool is_cut)
{
	const struct hotspot_symbol_text c = text_of(class_name, false), m = text_of(method, false),
					 s = text_of(signature, is_cut);
	struct buf out = { 0 };

	if (hotspot_method_name(&out, &c, &m, &s))
		return buf_steal(&out);
	buf_done(&out);
	return NULL;
}

START_TEST(names)
{
	const struct {
		const char *class_name, *method, *signature, *expected;
		bool is_cut;
	} cases[] = {
		{ "java/util/HashMap", "get", "(Ljava/lang/Object;)Ljava/lang/Object;",
		  "java.util.HashMap.get(Object)", false },
		{ "A", "<init>", "()V", "A.<init>()", false },
		{ "A", "m", "(BCDFIJSZ)V", "A.m(byte,char,double,float,int,long,short,boolean)",
		  false },
		{ "p/A$B", "m", "([[I[Lq/C$D;Lx;)V", "p.A$B.m(int[][],C$D[],x)", false },
		{ "Main$$Lambda+0x00007f3e15001438", "run", "()V", "Main$$Lambda.run()", false },
		{ "p/Main$$Lambda$14+0x0000000800c03000", "run", "()V", "p.Main$$Lambda.run()",
		  false },
		{ "p/Main$$Lambda$14/0x0000000800c03000", "run", "()V", "p.Main$$Lambda.run()",
		  false },
		{ "Main$$Lambda$14/1879492184", "run", "()V", "Main$$Lambda.run()", false },
		{ "Main$$Lambda$14", "run", "()V", "Main$$Lambda.run()", false },
		{ "java/lang/invoke/LambdaForm$MH+0x0000000800c10c00", "invoke",
		  "(Ljava/lang/Object;)I", "java.lang.invoke.LambdaForm$MH.invoke(Object)", false },
		/* Numbers of other classes are names. */
		{ "Main$1", "run", "()V", "Main$1.run()", false },
		{ "com/sun/proxy/$Proxy12", "run", "()V", "com.sun.proxy.$Proxy12.run()", false },
		{ "A+0xyz", "m", "()V", "A+0xyz.m()", false },
		{ "A+0x", "m", "()V", "A+0x.m()", false },
		/* As Kotlin and Scala write them. */
		{ "TestKt", "it says \"hi\"", "()V", "TestKt.it says \"hi\"()", false },
		{ "Ops$", "$plus$plus", "(I)I", "Ops$.$plus$plus(int)", false },
		{ "A", "m", "(ILjava/lang/Str", "A.m(int…)", true },
		{ "A", "m", "(I", "A.m(int…)", true },
		{ "A", "m", "(I)", "A.m(int)", true },
		{ "A", "m", "(I", NULL, false },
		{ "A", "m", "", NULL, false },
		{ "A", "m", "I", NULL, false },
		{ "A", "m", "(V)V", NULL, false },
		{ "A", "m", "(Lp/q)V", NULL, false },
		{ "A", "m", "(Lp/;)V", NULL, false },
		{ "A", "m", "([)V", NULL, false },
		{ "A", "m", "(\xc3\xa9)V", NULL, false },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char *name = name_of(cases[i].class_name, cases[i].method, cases[i].signature,
				     cases[i].is_cut);

		if (cases[i].expected)
			ck_assert_pstr_eq(name, cases[i].expected);
		else
			ck_assert_ptr_null(name);
		free(name);
	}
}
END_TEST

START_TEST(modified_utf8)
{
	const struct {
		const char *bytes, *expected;
		bool is_cut;
	} cases[] = {
		{ "Größe", "Größe", false },
		{ "名前", "名前", false },
		{ "a\xc0\x80z", "a\xef\xbf\xbdz", false },   /* NUL */
		{ "\xed\xa0\xb5\xed\xb2\xb3", "𝒳", false },  /* a pair */
		{ "\xed\xa0\xb5z", "\xef\xbf\xbdz", false }, /* half of one */
		{ "\xed\xb2\xb3\xed\xa0\xb5", "\xef\xbf\xbd\xef\xbf\xbd", false },
		{ "\xff\xc3", "\xef\xbf\xbd\xef\xbf\xbd", false },
		{ "\xe5\x90", "\xef\xbf\xbd\xef\xbf\xbd", false },
		{ "ab\xe5\x90", "ab…", true },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct hotspot_symbol_text t = text_of(cases[i].bytes, cases[i].is_cut);
		struct buf out = { 0 };

		hotspot_text_add(&out, &t);
		ck_assert_str_eq(buf_cstr(&out), cases[i].expected);
		buf_done(&out);
	}
}
END_TEST

/* --- a process ------------------------------------------------------------------------------------ */

struct made {
	struct image image;
	struct hotspot_process row;
	struct hotspot_layout layout;
	struct rng rng;
	unsigned torn_one_of; /* one word in this many reads as another; 0: none */
	uint64_t reads;
	struct runtime *runtime; /* NULL: made_attach opens one */
	bool shares_runtime;     /* of another, which is ended later */
	struct runtime_process *process;
	unsigned n_rows;
};

static int made_read(void *ctx, uint64_t addr, void *out, size_t len)
{
	struct made *m = ctx;
	int rc = image_read(&m->image, addr, out, len);
	uint8_t *bytes = out;

	m->reads++;
	for (size_t i = 0; rc == 0 && m->torn_one_of && i < len; i++)
		if (rng_below(&m->rng, m->torn_one_of) == 0)
			bytes[i] = rng_below(&m->rng, 3) ? rng_below(&m->rng, 256)
							 : (uint8_t)(bytes[i] + 1);
	return rc;
}

static int made_put(void *ctx, const char *map, uint32_t key, const void *value, size_t size)
{
	struct made *m = ctx;

	if (strcmp(map, HOTSPOT_LAYOUTS) == 0) {
		ck_assert_uint_eq(size, sizeof m->layout);
		memcpy(&m->layout, value, size);
		return 0;
	}
	ck_assert_str_eq(map, HOTSPOT_PROCESSES);
	ck_assert_uint_eq(key, 4711);
	ck_assert_uint_eq(size, sizeof m->row);
	memcpy(&m->row, value, size);
	m->n_rows++;
	return 0;
}

static int made_drop(void *ctx, const char *map, uint32_t key)
{
	struct made *m = ctx;

	ck_assert_str_eq(map, HOTSPOT_PROCESSES);
	ck_assert_uint_eq(key, 4711);
	m->n_rows--;
	return 0;
}

static int made_attach(struct made *m, struct err *err)
{
	const struct runtime_maps maps = { made_put, made_drop, m };
	const struct runtime_memory memory = { made_read, m };
	struct runtime_object object = { m->image.file };
	const struct runtime_place place = { &object, 0x1000, 0x1000, 0x2000 };

	object.file.code = (struct mapped_code){ { { 0x1000, 0x1000, 0 } }, 1 };
	if (!m->runtime)
		m->runtime = hotspot_runtime.open(&maps);
	return hotspot_runtime.attach(m->runtime, 4711, &place, 1, &memory, &m->process, err);
}

static void made_end(struct made *m)
{
	hotspot_runtime.detach(m->process);
	if (!m->shares_runtime)
		hotspot_runtime.close(m->runtime);
	ck_assert_uint_eq(m->n_rows, 0);
	free(m);
}

static struct made *made_new(uint16_t version)
{
	struct made *m = calloc(1, sizeof *m);
	struct err err = { 0 };

	image_make(&m->image, version);
	ck_assert_msg(made_attach(m, &err) == 0, "%u: %s", version, err.text);
	return m;
}

static enum runtime_named name(struct made *m, enum hotspot_frame kind, uint64_t addr,
			       uint32_t stamp, uint32_t offset, struct runtime_frames *out)
{
	const uint64_t words[2] = { runtime_frame_what(RUNTIME_HOTSPOT, kind, addr),
				    runtime_frame_place(stamp, offset) };

	return hotspot_runtime.name_frame(m->process, words, out);
}

static void check_frame(const struct runtime_frame *f, const char *expected, uint32_t line,
			uint32_t start_line)
{
	ck_assert_str_eq(f->name, expected);
	ck_assert_str_eq(f->file, "Made.java");
	ck_assert_uint_eq(f->line, line);
	ck_assert_uint_eq(f->start_line, start_line);
}

static const uint16_t versions[] = { 8, 17, 25 };
static const char outer[] = "p.q.Made.outer(int,String[])", inner[] = "p.q.Made$$Lambda.inner()";

START_TEST(attaches)
{
	for (size_t i = 0; i < 3; i++) {
		struct made *m = made_new(versions[i]);
		const struct hotspot_range *r = &m->row.ranges[0];
		struct buf text = { 0 };

		ck_assert_uint_eq(m->row.n_ranges, 1);
		ck_assert_uint_eq(r->start, m->image.heap);
		ck_assert_uint_eq(r->end, m->image.heap + IMAGE_HEAP_BYTES);
		ck_assert_uint_eq(r->segmap, m->image.segmap);
		ck_assert_uint_eq(1u << r->log2_segment, IMAGE_SEGMENT);
		ck_assert_uint_eq(m->row.interpreter, m->image.interpreter);
		ck_assert_uint_eq(m->row.interpreter_start, m->image.interpreter + 128);
		ck_assert_uint_eq(m->row.interpreter_end, m->image.interpreter + 128 + 512);
		ck_assert_uint_eq(m->layout.version, versions[i]);
		ck_assert_uint_eq(m->layout.block_header, versions[i] == 25 ? 8 : 16);
		ck_assert_int_eq(m->layout.frame_bcp, versions[i] == 8 ? -56 : -64);
		ck_assert_int_eq(m->layout.frame_method, -24);
		ck_assert_uint_eq(m->layout.flags & HOTSPOT_CODE_BY_OFFSET, versions[i] != 17);
		ck_assert_uint_eq(!!(m->layout.flags & HOTSPOT_COMPLETE_IS_SHORT),
				  versions[i] == 25);
		ck_assert_uint_eq(!!(m->layout.flags & HOTSPOT_DEOPT_BY_OFFSET), versions[i] != 17);
		ck_assert_uint_eq(m->layout.nmethod_deopt, 96);
		uint64_t words[4][2];
		size_t threads = 9;
		ck_assert_uint_eq(hotspot_runtime.look(m->process, words, 4, &threads), 1);
		ck_assert_uint_eq(threads, 0);
		ck_assert_uint_eq(RUNTIME_ADDRESS_OF(words[0][0]), m->image.nmethod);
		ck_assert_uint_eq(RUNTIME_STAMP_OF(words[0][1]), 77);
		ck_assert_uint_eq(hotspot_runtime.look(m->process, words, 0, &threads), 0);
		hotspot_runtime.describe(m->process, &text);
		ck_assert_int_eq(strncmp(buf_cstr(&text), "HotSpot ", 8), 0);
		buf_done(&text);
		made_end(m);
	}
}
END_TEST

/* A VM that is not loaded or has not started is tried again. */
START_TEST(attaches_later_or_never)
{
	static const struct {
		enum hotspot_symbol symbol;
		uint64_t value;
		int rc;
	} cases[] = {
		{ HOTSPOT_STRUCTS, 0, -EAGAIN },
		{ HOTSPOT_TYPES, 0, -EAGAIN },
		{ HOTSPOT_STRUCT_STRIDE, 0, -EAGAIN },
		{ HOTSPOT_STRUCT_STRIDE, 1 << 20, -EAGAIN },
		{ HOTSPOT_STRUCT_OFFSET, 48, -EAGAIN },
		{ HOTSPOT_STRUCT_OFFSET, UINT64_MAX, -EAGAIN },
		{ HOTSPOT_STRUCT_TYPE, 24, -EAGAIN }, /* a word that is 0 */
		{ HOTSPOT_INTS, 0xdead000, -EFAULT },
	};
	struct made *m;

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		m = calloc(1, sizeof *m);
		image_make(&m->image, 17);
		image_set(&m->image, m->image.file.symbols[cases[i].symbol], cases[i].value, 8);
		ck_assert_msg(made_attach(m, NULL) == cases[i].rc, "case %zu", i);
		ck_assert_ptr_null(m->process);
		made_end(m);
	}
	/* A heap without a start is not made yet. */
	m = made_new(17);
	struct image image = m->image;
	made_end(m);
	for (size_t at = 0; at + 8 <= image.len; at += 8) {
		uint64_t word;

		memcpy(&word, image.bytes + at, 8);
		if (word != image.heap)
			continue;
		m = calloc(1, sizeof *m);
		m->image = image;
		memset(m->image.bytes + at, 0, 8);
		ck_assert_int_eq(made_attach(m, NULL), -EAGAIN);
		made_end(m);
	}
}
END_TEST

START_TEST(names_frames)
{
	struct runtime_frames f;

	for (size_t i = 0; i < 3; i++) {
		struct made *m = made_new(versions[i]);
		const struct image *g = &m->image;
		uint32_t stamp = g->outer_const;

		ck_assert_int_eq(name(m, HOTSPOT_INTERPRETED, g->outer, stamp, 9, &f),
				 RUNTIME_NAMED);
		ck_assert_uint_eq(f.n, 1);
		check_frame(&f.v[0], outer, 203, 200);
		ck_assert_int_eq(name(m, HOTSPOT_INTERPRETED, g->outer, stamp, -1, &f),
				 RUNTIME_NAMED);
		check_frame(&f.v[0], outer, 200, 200);
		ck_assert_int_eq(name(m, HOTSPOT_INTERPRETED, g->outer, stamp + 8, 9, &f),
				 RUNTIME_GONE);

		/* A return address: exactly there; else, and for a leaf, the next one above. */
		ck_assert_int_eq(name(m, HOTSPOT_COMPILED, g->nmethod, 77, 16, &f), RUNTIME_NAMED);
		ck_assert_uint_eq(f.n, 1);
		check_frame(&f.v[0], outer, 203, 200);
		for (unsigned leaf = 16; leaf < 32; leaf += 15) {
			ck_assert_int_eq(name(m, HOTSPOT_COMPILED_LEAF, g->nmethod, 77, leaf, &f),
					 RUNTIME_NAMED);
			ck_assert_uint_eq(f.n, 2);
			check_frame(&f.v[0], inner, 1000, 1000);
			check_frame(&f.v[1], outer, 203, 200);
		}
		ck_assert_int_eq(name(m, HOTSPOT_COMPILED, g->nmethod, 77, 20, &f), RUNTIME_NAMED);
		ck_assert_uint_eq(f.n, 2);
		ck_assert_int_eq(name(m, HOTSPOT_COMPILED_LEAF, g->nmethod, 77, 15, &f),
				 RUNTIME_NAMED);
		ck_assert_uint_eq(f.n, 1);
		/* After the last one: the method itself. */
		ck_assert_int_eq(name(m, HOTSPOT_COMPILED_LEAF, g->nmethod, 77, 32, &f),
				 RUNTIME_NAMED);
		ck_assert_uint_eq(f.n, 1);
		check_frame(&f.v[0], outer, 200, 200);
		ck_assert_int_eq(name(m, HOTSPOT_COMPILED, g->nmethod, 78, 16, &f), RUNTIME_GONE);

		ck_assert_int_eq(name(m, HOTSPOT_STUB, g->stub, 0, 5, &f), RUNTIME_OWN);
		ck_assert_str_eq(f.v[0].name, "[stub: StubRoutines (1)]");
		ck_assert_int_eq(name(m, HOTSPOT_STUB, g->stub + 64, 0, 5, &f), RUNTIME_GONE);
		ck_assert_int_eq(name(m, 9, g->stub, 0, 5, &f), RUNTIME_UNREADABLE);
		ck_assert_uint_eq(hotspot_runtime.counts(m->process)->frames[RUNTIME_GONE], 3);
		made_end(m);
	}
}
END_TEST

/* Code and classes that were read before, and have been replaced. */
/* Sets a part of an nmethod, or of its block, that was not named yet. */
static void check_gone(int version, uint64_t at_block, uint64_t at_nmethod, uint8_t value,
		       size_t len)
{
	struct made *m = made_new(version);
	struct image *g = &m->image;
	struct runtime_frames f;

	image_set(g, at_block ? g->nmethod - image_block(g) + at_block : g->nmethod + at_nmethod,
		  value, len);
	ck_assert_int_eq(name(m, HOTSPOT_COMPILED, g->nmethod, 77, 16, &f), RUNTIME_GONE);
	made_end(m);
}

START_TEST(gone)
{
	for (size_t i = 0; i < 3; i++) {
		struct made *m = made_new(versions[i]);
		uint64_t used = image_block(&m->image) / 2;

		made_end(m);
		check_gone(versions[i], used, 0, 0, 1); /* freed */
		if (versions[i] > 8)
			check_gone(versions[i], 0, 68, 3, 1); /* zombie */
		check_gone(versions[i], 0, 56, 0, 8);         /* unloaded */
	}
}
END_TEST

START_TEST(gone_when_replaced)
{
	struct runtime_frames f;

	for (size_t i = 0; i < 3; i++) {
		struct made *m = made_new(versions[i]);
		struct image *g = &m->image;
		uint64_t block = g->nmethod - image_block(g), klass, pool, symbol;

		/* Code that was named once retains its name: its compile id is given to no other. */
		ck_assert_int_eq(name(m, HOTSPOT_COMPILED, g->nmethod, 77, 16, &f), RUNTIME_NAMED);
		image_set(g, block + image_block(g) / 2, 0, 1);
		ck_assert_int_eq(name(m, HOTSPOT_COMPILED, g->nmethod, 77, 16, &f), RUNTIME_NAMED);
		image_set(g, block + image_block(g) / 2, 1, 1);

		/* Another class of the same shape in the same memory has its own name. */
		ck_assert_int_eq(image_read(g, g->outer_const + 8, &pool, 8), 0);
		ck_assert_int_eq(image_read(g, pool + 16, &klass, 8), 0);
		ck_assert_int_eq(image_read(g, klass + 24, &symbol, 8), 0);
		image_set(g, symbol + 6, 'P', 1);
		image_set(g, g->nmethod + 64, 78, 4); /* as other code */
		ck_assert_int_eq(name(m, HOTSPOT_COMPILED, g->nmethod, 78, 16, &f), RUNTIME_NAMED);
		ck_assert_str_eq(f.v[0].name, "P.q.Made.outer(int,String[])");
		made_end(m);
	}
}
END_TEST

/* --- copies of tables ----------------------------------------------------------------------------- */

static int read_nothing_but_zeros(void *ctx, uint64_t addr, void *out, size_t len)
{
	(void)ctx, (void)addr;
	memset(out, 0, len);
	return 0;
}

/* A copy of `bytes` of scopes. */
static void add_copy(struct hotspot_copies *s, uint32_t compile_id, uint32_t bytes)
{
	const struct runtime_memory memory = { read_nothing_but_zeros, NULL };
	const struct hotspot_nmethod n = { .scopes = 0x2000,
					   .scopes_bytes = bytes,
					   .compile_id = compile_id };
	struct hotspot_copy *c;

	ck_assert_int_eq(hotspot_copy_read(0x1000, &n, 16, &memory, &c), 0);
	hotspot_copies_add(s, c);
	ck_assert_ptr_eq(hotspot_copies_find(s, 0x1000, compile_id), c);
}

static bool has_copy(struct hotspot_copies *s, uint32_t compile_id)
{
	return hotspot_copies_find(s, 0x1000, compile_id) != NULL;
}

/* Twenty processes have no more than the limit together. The first is used all the time and
 * retains its copies; so do the last ones. */
START_TEST(copies_of_all_processes)
{
	enum { PROCESSES = 20, EACH = 12, BYTES = 60 << 10 };
	struct hotspot_pool pool = { 0 };
	struct hotspot_copies all[PROCESSES] = { { 0 } };
	size_t n_last = 0, bytes = 0;

	for (unsigned i = 0; i < PROCESSES; i++)
		all[i].pool = &pool;
	for (unsigned i = 0; i < PROCESSES; i++)
		for (unsigned k = 0; k < EACH; k++) {
			add_copy(&all[i], k, BYTES);
			ck_assert_uint_le(pool.bytes, HOTSPOT_MAX_POOL_BYTES);
			ck_assert(has_copy(&all[0], 0));
		}
	ck_assert_uint_gt(pool.bytes, HOTSPOT_MAX_POOL_BYTES - EACH * (BYTES + 200));
	for (unsigned i = 0; i < PROCESSES; i++) {
		ck_assert(!all[i].v.n || all[i].v.n == EACH);
		bytes += all[i].bytes;
	}
	ck_assert_uint_eq(bytes, pool.bytes);
	for (unsigned i = PROCESSES; i-- > 1 && all[i].v.n;)
		n_last++;
	ck_assert_uint_ge(n_last, 4);
	for (unsigned i = 1; i < PROCESSES - n_last; i++)
		ck_assert_uint_eq(all[i].v.n, 0);

	/* One process alone has its own limit, also after its copies were dropped. */
	for (unsigned k = 0; k < 4 * EACH; k++)
		add_copy(&all[1], 100 + k, BYTES);
	ck_assert_uint_le(all[1].bytes, HOTSPOT_MAX_COPIES_BYTES);
	for (unsigned i = 0; i < PROCESSES; i += 2)
		hotspot_copies_done(&all[i]);
	for (unsigned i = 1; i < PROCESSES; i += 2)
		hotspot_copies_done(&all[i]);
	ck_assert_uint_eq(pool.bytes, 0);
	ck_assert_ptr_null(pool.newest);
	ck_assert_ptr_null(pool.oldest);
}
END_TEST

/* A dropped copy is read again; if its code was freed in the meantime, it is gone. */
START_TEST(names_after_copies_were_dropped)
{
	enum { OTHERS = 12, CODES = 2500 };
	struct made *first = made_new(17), *others[OTHERS];
	uint64_t used = first->image.nmethod - image_block(&first->image) + 8;
	struct runtime_frames f;

	ck_assert_int_eq(name(first, HOTSPOT_COMPILED, first->image.nmethod, 77, 32, &f),
			 RUNTIME_NAMED);
	image_set(&first->image, used, 0, 1);
	ck_assert_int_eq(name(first, HOTSPOT_COMPILED, first->image.nmethod, 77, 32, &f),
			 RUNTIME_NAMED);
	for (unsigned i = 0; i < OTHERS; i++) {
		struct made *m = calloc(1, sizeof *m);

		others[i] = m;
		image_make(&m->image, 17);
		m->runtime = first->runtime;
		m->shares_runtime = true;
		/* Its row is written to the maps of the first. */
		ck_assert_int_eq(made_attach(m, NULL), 0);
		for (unsigned k = 0; k < CODES; k++) {
			image_set(&m->image, m->image.nmethod + 64, 1000 + k, 4);
			ck_assert_int_eq(
				name(m, HOTSPOT_COMPILED, m->image.nmethod, 1000 + k, 32, &f),
				RUNTIME_NAMED);
		}
	}
	ck_assert_int_eq(name(first, HOTSPOT_COMPILED, first->image.nmethod, 77, 32, &f),
			 RUNTIME_GONE);
	ck_assert_uint_eq(hotspot_runtime.counts(first->process)->frames[RUNTIME_GONE], 1);
	image_set(&first->image, used, 1, 1);
	ck_assert_int_eq(name(first, HOTSPOT_COMPILED, first->image.nmethod, 77, 32, &f),
			 RUNTIME_NAMED);
	ck_assert_uint_eq(f.n, 2);
	check_frame(&f.v[0], inner, 1000, 1000);
	check_frame(&f.v[1], outer, 203, 200);
	for (unsigned i = 0; i < OTHERS; i++)
		made_end(others[i]);
	made_end(first);
}
END_TEST

/* Scopes that point forward or to themselves, numbers without an end, methods beyond the metadata. */
START_TEST(malformed_scopes)
{
	const struct {
		unsigned at;
		uint8_t value;
	} cases[] = {
		{ 1, 4 },                       /* a sender of the outermost: forward */
		{ 1, 1 },                       /* itself */
		{ 4, 4 }, { 4, 150 }, { 5, 0 }, /* no method */
		{ 5, 3 }, { 5, 190 },           /* no such method */
		{ 2, 2 },                       /* another outermost than the compiled one */
	};
	struct runtime_frames f;

	for (size_t i = 0; i < 3; i++)
		for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
			struct made *m = made_new(versions[i]);
			struct image *g = &m->image;
			uint64_t data = g->nmethod + 256;

			if (versions[i] == 25) {
				ck_assert_int_eq(image_read(g, g->nmethod + 104, &data, 8), 0);
				data += 64;
			}
			image_set(g, data + cases[k].at, image_number(g, cases[k].value), 1);
			ck_assert_int_eq(name(m, HOTSPOT_COMPILED, g->nmethod, 77, 32, &f),
					 RUNTIME_UNREADABLE);
			made_end(m);
		}
}
END_TEST

/* --- torn memory ---------------------------------------------------------------------------------- */

/* A frame that is named has a name of one line, and work ends. */
START_TEST(torn)
{
	enum { ROUNDS = 20000, MAX_READS = 4000 };
	uint64_t named[RUNTIME_UNREADABLE + 1] = { 0 };
	struct runtime_frames f;

	for (size_t i = 0; i < 3; i++) {
		struct made *m = made_new(versions[i]);
		const struct image *g = &m->image;

		m->rng.state = i + 1;
		for (int round = 0; round < ROUNDS; round++) {
			bool is_interpreted = round % 3 == 0;

			m->torn_one_of = 50 + rng_below(&m->rng, 2000);
			m->reads = 0;
			named[name(m, is_interpreted ? HOTSPOT_INTERPRETED : HOTSPOT_COMPILED_LEAF,
				   is_interpreted ? g->outer : g->nmethod,
				   is_interpreted ? (uint32_t)g->outer_const : 77,
				   rng_below(&m->rng, 40), &f)]++;
			ck_assert_uint_le(m->reads, MAX_READS);
			ck_assert_uint_le(f.n, RUNTIME_MAX_INLINED);
		}
		made_end(m);
	}
	ck_assert_uint_gt(named[RUNTIME_NAMED], ROUNDS / 2);
	ck_assert_uint_gt(named[RUNTIME_GONE], 0);
	ck_assert_uint_gt(named[RUNTIME_UNREADABLE], 0);
}
END_TEST

START_TEST(torn_tables)
{
	enum { ROUNDS = 600, MAX_READS = 20000 };
	unsigned attached = 0;

	for (int round = 0; round < ROUNDS; round++) {
		struct made *m = calloc(1, sizeof *m);

		image_make(&m->image, versions[round % 3]);
		m->rng.state = round + 1;
		m->torn_one_of = 200 + rng_below(&m->rng, 100000);
		attached += made_attach(m, NULL) == 0;
		ck_assert_uint_le(m->reads, MAX_READS);
		made_end(m);
	}
	ck_assert_uint_gt(attached, ROUNDS / 20);
	ck_assert_uint_lt(attached, ROUNDS);
}
END_TEST

UNIT_MAIN("hotspot", numbers, lines, names, modified_utf8, attaches, attaches_later_or_never,
	  names_frames, gone, gone_when_replaced, copies_of_all_processes,
	  names_after_copies_were_dropped, malformed_scopes, torn, torn_tables)
