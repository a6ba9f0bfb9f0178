// tier: test
/* The layouts of CPython's structures, compared with the debug information of every build that has it; and false statements by a process about its
 * own layout. */
#include "base/err.h"
#include "base/mem.h"
#include "live_python.h"
#include "rand.h"
#include "runtime/cpython_layout.h"
#include "runtime/cpython_parts.h"
#include "runtime/loop_parts.h"
#include "symbol/elf/elf_layout.h"

#include <stddef.h>

/* --- debug information ------------------------------------------------------------------------------- */

struct field {
	const char *name;
	size_t at;
};
#define FIELD(name) \
	{ \
#name, offsetof(struct cpython_layout, name) \
	}
static const struct field fields[] = {
	FIELD(interp_next),   FIELD(interp_threads),  FIELD(thread_next),
	FIELD(thread_interp), FIELD(thread_id),       FIELD(thread_frame),
	FIELD(cframe_frame),  FIELD(cframe_previous), FIELD(frame_owner),
	FIELD(frame_entry),   FIELD(frame_bytes),     FIELD(frame_previous),
	FIELD(frame_code),    FIELD(frame_instr),     FIELD(code_first_traced),
	FIELD(code_instr),    FIELD(code_first_line), FIELD(code_name),
	FIELD(code_qualname), FIELD(code_file),       FIELD(code_lines),
	FIELD(bytes_size),    FIELD(bytes_data),      FIELD(str_length),
	FIELD(str_state),     FIELD(str_ascii),       FIELD(str_compact),
	FIELD(type),          FIELD(entry_from),
};

static unsigned value_of(const struct cpython_shape *s, const char *name, bool *known)
{
	uint16_t v = 0;

	*known = true;
	if (strcmp(name, "head") == 0)
		return s->head;
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
		if (strcmp(fields[i].name, name) == 0) {
			memcpy(&v, (const char *)&s->layout + fields[i].at, sizeof v);
			return v;
		}
	*known = false;
	return 0;
}

/* The words in the file by which a process describes the layout of its structures. */
static bool said_of(const char *file, const struct cpython_file *about,
		    uint64_t said[CPYTHON_SAID_WORDS])
{
	struct elf_layout layout = { 0 };
	struct elf_file f;
	uint64_t offset;
	int fd = file_open(file);
	bool ok;

	ck_assert_int_eq(elf_file_open(&f, fd, NULL), 0);
	ck_assert_int_eq(elf_layout_read(&layout, &f, NULL), 0);
	ok = elf_layout_offset(&layout, about->runtime, &offset) &&
	     elf_file_read(&f, offset, said, CPYTHON_SAID_WORDS * sizeof *said);
	elf_layout_done(&layout);
	elf_file_close(&f);
	close(fd);
	return ok;
}

static void read_file(const char *file, struct cpython_file *out)
{
	struct err err = { 0 };
	struct elf_file f;
	int fd = file_open(file);

	ck_assert_int_eq(elf_file_open(&f, fd, &err), 0);
	int rc = cpython_file_read(&f, file, out, &err);
	ck_assert_msg(rc == 0, "%s: %s", file, err.text);
	elf_file_close(&f);
	close(fd);
}

static void shape_of(const char *file, struct cpython_shape *out)
{
	uint64_t said[CPYTHON_SAID_WORDS];
	struct cpython_file about;
	struct err err = { 0 };

	read_file(file, &about);
	if (cpython_layout_of(about.version, out))
		return;
	ck_assert(said_of(file, &about, said));
	int rc = cpython_layout_said(said, out, &err);
	ck_assert_msg(rc == 0, "%s: %s", file, err.text);
}

/* The file with the code: the program or its library; "" if it has no debug information. */
static char *library_of(const struct python *p)
{
	return shell(
		"for f in %s%s $(ldd %s%s 2>/dev/null | grep -o '/[^ ]*libpython3[^ ]*'); do "
		"readelf -SW $f | grep -q '[.]debug_info' && echo $f; done | tail -1 | tr -d '\\n'",
		p->root, p->path, p->root, p->path);
}

/* Fields that a version lacks are 0. Two numbers are our own: the flag that 3.11 has in its entry frames, and how much of a frame object is read. */
static void check_others(const struct cpython_shape *s, const char *seen, const char *file)
{
	char name[64];
	bool known;

	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		snprintf(name, sizeof name, "\n%s ", fields[i].name);
		if (strstr(seen, name))
			continue;
		unsigned expected = 0;
		if (strcmp(fields[i].name, "entry_from") == 0)
			expected = s->layout.flags & CPYTHON_ENTRY_IS_FRAME ? 1 : 0;
		if (strcmp(fields[i].name, "frame_bytes") == 0)
			expected = CPYTHON_MAX_FRAME;
		ck_assert_msg(value_of(s, fields[i].name, &known) == expected, "%s: %s", file,
			      fields[i].name);
	}
}

static void check_against_gdb(const char *file)
{
	struct cpython_shape s;
	unsigned n = 0, value;
	char name[64], *save;
	bool known;
	char *text = shell("echo; gdb -nx -q -batch -x tests/unit/python/layout.py %s 2>/dev/null",
			   file);

	shape_of(file, &s);
	check_others(&s, text, file);
	for (char *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		if (sscanf(l, "%63s %u", name, &value) != 2)
			continue;
		unsigned ours = value_of(&s, name, &known);
		ck_assert_msg(known && ours == value, "%s: %s: %u, not %u", file, name, ours,
			      value);
		n++;
	}
	free(text);
	printf("# %s: %u fields\n", file, n);
	/* 3.6 has no _PyRuntime, and frame objects have the fewest fields. */
	ck_assert_uint_ge(n, 17);
}

/* Runs fn on every file with debug information; returns their number. */
static int each_library(void (*fn)(const char *file))
{
	struct pythons all;
	int n = 0;

	pythons_find(&all);
	for (size_t i = 0; i < all.n; i++) {
		char *file = all.v[i].root[0] ? NULL : library_of(&all.v[i]);

		if (file && *file) {
			fn(file);
			n++;
		}
		free(file);
	}
	return n;
}

START_TEST(layouts_as_compiled)
{
	if (!each_library(check_against_gdb))
		T_SKIP("no CPython with debug information here");
}
END_TEST

/* --- a process's own description -------------------------------------------------------------------------- */

/* As in Debian's 3.14, in the order of pycore_debug_offsets.h: structure by structure. */
static const uint64_t said_314[CPYTHON_SAID_WORDS] = {
	0x7970677562656478,
	0x030e00f0,
	0,
	400000,
	784,
	808,
	/* interpreter */ 250000,
	7272,
	7264,
	7344,
	7352,
	7600,
	7800,
	8000,
	8100,
	8,
	9000,
	9008,
	0,
	9016,
	9024,
	0,
	/* thread */ 400,
	0,
	8,
	16,
	72,
	152,
	160,
	216,
	40,
	/* frame */ 88,
	8,
	0,
	56,
	80,
	74,
	64,
	0,
	/* code */ 216,
	112,
	120,
	128,
	136,
	68,
	52,
	96,
	104,
	208,
	0,
	/* object, type, tuple, list, set, dict, float, long */ 16,
	8,
	416,
	24,
	88,
	168,
	32,
	32,
	16,
	40,
	24,
	16,
	200,
	24,
	40,
	32,
	48,
	32,
	40,
	24,
	16,
	32,
	16,
	24,
	/* bytes, string */ 40,
	16,
	32,
	64,
	32,
	16,
	40
};

/* As in Debian's 3.15.2. */
static const uint64_t said_315[CPYTHON_SAID_WORDS] = {
	0x7970677562656478,
	0x030f02f0,
	0,
	346568,
	912,
	936,
	/* interpreter */ 226240,
	7272,
	7264,
	7336,
	7352,
	7400,
	7592,
	7576,
	7584,
	16,
	7736,
	0,
	7752,
	7744,
	7944,
	0,
	/* thread */ 888,
	0,
	8,
	16,
	72,
	80,
	88,
	96,
	176,
	184,
	256,
	32,
	36,
	40,
	136,
	288,
	/* exception */ 0,
	/* frame */ 88,
	8,
	0,
	56,
	80,
	74,
	64,
	0,
	/* code */ 216,
	112,
	120,
	128,
	136,
	68,
	52,
	96,
	104,
	208,
	0,
	/* object, type, heap type, tuple, list, set, dict, float, long */ 16,
	8,
	424,
	24,
	88,
	168,
	32,
	288,
	944,
	888,
	40,
	32,
	16,
	40,
	24,
	16,
	200,
	24,
	40,
	32,
	48,
	32,
	40,
	24,
	16,
	32,
	16,
	24,
	/* bytes, string */ 40,
	16,
	32,
	64,
	32,
	16,
	40,
	56,
	/* the first of gc */ 176,
	112
};

START_TEST(each_has_its_own_index)
{
	struct cpython_shape s, newer;
	struct err err = { 0 };

	ck_assert_int_eq(cpython_layout_said(said_314, &s, &err), 0);
	ck_assert(s.is_known);
	ck_assert_uint_eq(s.layout.version, CPYTHON_VERSION(3, 14));
	ck_assert_uint_eq(s.layout.flags, CPYTHON_TAGGED);
	ck_assert_uint_eq(s.head, 808);
	ck_assert_uint_eq(s.layout.thread_id, 152);
	ck_assert_uint_eq(s.layout.frame_owner, 74);
	ck_assert_uint_eq(s.layout.code_instr, 208);
	ck_assert_uint_eq(s.layout.str_compact, 56);

	/* The same structures, but for the thread. */
	ck_assert_int_eq(cpython_layout_said(said_315, &newer, &err), 0);
	ck_assert(newer.is_known);
	ck_assert_uint_eq(newer.layout.version, CPYTHON_VERSION(3, 15));
	ck_assert_uint_eq(newer.head, 936);
	ck_assert_uint_eq(newer.layout.interp_threads, 7336);
	ck_assert_uint_eq(newer.layout.thread_id, 176);
	ck_assert_uint_eq(newer.layout.code_first_traced, 192);
	newer.layout.version = s.layout.version;
	newer.layout.thread_id = s.layout.thread_id;
	newer.layout.interp_threads = s.layout.interp_threads;
	ck_assert_mem_eq(&newer.layout, &s.layout, sizeof s.layout);
}
END_TEST

START_TEST(newer_ones_are_read_as_the_newest)
{
	uint64_t said[CPYTHON_SAID_WORDS];
	struct cpython_shape s, newer;
	struct err err = { 0 };

	ck_assert_int_eq(cpython_layout_said(said_315, &s, &err), 0);
	memcpy(said, said_315, sizeof said);
	said[1] = 0x036300f0; /* 3.99 */
	ck_assert_int_eq(cpython_layout_said(said, &newer, &err), 0);
	ck_assert(!newer.is_known);
	newer.layout.version = s.layout.version;
	ck_assert_mem_eq(&newer.layout, &s.layout, sizeof s.layout);
}
END_TEST

static void check_refused(const uint64_t *said, const char *why)
{
	struct cpython_shape s;
	struct err err = { 0 };

	ck_assert_int_eq(cpython_layout_said(said, &s, &err), -ENOTSUP);
	ck_assert_msg(strstr(err.text, why), "%s", err.text);
}

START_TEST(others_are_refused_with_a_reason)
{
	uint64_t said[CPYTHON_SAID_WORDS];

	memcpy(said, said_314, sizeof said);
	said[2] = 1;
	check_refused(said, "free-threaded");
	memcpy(said, said_314, sizeof said);
	said[0]++;
	check_refused(said, "offsets are unknown");
	memcpy(said, said_314, sizeof said);
	said[1] = 0x030c00f0; /* 3.12 with a cookie */
	check_refused(said, "has no description of its structures");
	memcpy(said, said_314, sizeof said);
	said[27] = 401; /* thread_id outside the thread's structure */
	check_refused(said, "are invalid");
}
END_TEST

/* Whatever it says: fields that are accepted lie inside the memory that the walker may read. */
START_TEST(no_lie_leads_out)
{
	uint64_t said[CPYTHON_SAID_WORDS];
	struct rng rng = { 7 };
	struct cpython_shape s;
	unsigned taken = 0;

	for (int i = 0; i < 300000; i++) {
		memcpy(said, i % 4 < 2 ? said_314 : said_315, sizeof said);
		for (int k = 0; k < 1 + i % 3; k++)
			said[3 + rng_next(&rng) % 90] =
				i % 2 ? rng_next(&rng) : rng_next(&rng) % 512;
		if (cpython_layout_said(said, &s, NULL) < 0)
			continue;
		taken++;
		const struct cpython_layout *l = &s.layout;
		ck_assert_uint_le(l->frame_bytes, CPYTHON_MAX_FRAME);
		ck_assert_uint_le(l->frame_code + 8, l->frame_bytes);
		ck_assert_uint_le(l->frame_instr + 8, l->frame_bytes);
		ck_assert_uint_le(l->frame_previous + 8, l->frame_bytes);
		ck_assert_uint_lt(l->frame_entry, l->frame_bytes);
		ck_assert_uint_le(l->stamp_words, CPYTHON_MAX_STAMP);
		ck_assert_uint_le(l->stamp_at + l->stamp_words * 8, l->code_instr);
		ck_assert_uint_le(l->code_instr, CPYTHON_MAX_CODE);
		ck_assert_uint_le(l->code_first_traced + 4, l->code_instr);
	}
	ck_assert_uint_gt(taken, 1000);
}
END_TEST

/* --- files ------------------------------------------------------------------------------------------------------- */

/* The split parts have names where there is a .symtab. The least possible is code that never runs: a few bytes that nothing jumps to. */
static uint32_t check_parts(const char *file, unsigned least_bytes)
{
	struct code_range parts[LOOP_PARTS_MAX];
	struct elf_file f;
	unsigned long start, size, addr, bytes;
	char *text =
		shell("nm -S %s | awk '$4 == \"_PyEval_EvalFrameDefault\" { print $1, $2 }'", file);
	char *cold = shell("nm -S %s | awk '$4 ~ /^_PyEval_EvalFrameDefault[.]/ { print $1, $2 }'",
			   file);
	char *save;
	int fd = file_open(file);

	ck_assert_int_eq(sscanf(text, "%lx %lx", &start, &size), 2);
	ck_assert_int_eq(elf_file_open(&f, fd, NULL), 0);
	uint32_t n = loop_parts_find(&f, start, size, parts), expected = 1;
	ck_assert_uint_ge(n, 1);
	ck_assert_uint_eq(parts[0].start, start);
	ck_assert_uint_eq(parts[0].end, start + size);
	for (char *l = strtok_r(cold, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		bool found = false;

		ck_assert_int_eq(sscanf(l, "%lx %lx", &addr, &bytes), 2);
		for (uint32_t i = 0; i < n; i++)
			found |= parts[i].start == addr && parts[i].end == addr + bytes;
		ck_assert_msg(found || bytes < least_bytes, "%s: %lx", file, addr);
		expected += found;
	}
	printf("# %s: %u parts of the loop\n", file, n);
	ck_assert_uint_eq(n, expected);
	elf_file_close(&f);
	close(fd);
	free(text);
	free(cold);
	return n;
}

static void check_real_parts(const char *file)
{
	check_parts(file, 16);
}

START_TEST(loop_parts_as_their_names_say)
{
	if (!each_library(check_real_parts))
		T_SKIP("no CPython with a symbol table here");
}
END_TEST

/* A loop that the compiler is certain to split. */
START_TEST(loop_parts_of_a_split_function)
{
	char dir[32];

	temp_dir(dir);
	shell_do("cat > %s/loop.c <<'END'\n"
		 "void rare(int, int *) __attribute__((cold));\n"
		 "void rare(int a, int *b) { b[a & 7]++; }\n"
		 "int work(int, int);\n"
		 "int work(int a, int b) { return a * b + 1; }\n"
		 "int _PyEval_EvalFrameDefault(int n, char **v) {\n"
		 "	int kept[8] = { 0 }, sum = 0;\n"
		 "	for (int i = 0; i < n; i++) {\n"
		 "		sum += work(i, v[i][0]);\n"
		 "		if (v[i][1] == 'x') { rare(i, kept); rare(sum, kept); sum += "
		 "kept[i & 7]; }\n"
		 "		if (v[i][2] == 'y') { rare(sum, kept); rare(i, kept); sum -= "
		 "kept[i & 3]; }\n"
		 "	}\n"
		 "	return sum + kept[2];\n"
		 "}\n"
		 "int main(int n, char **v) { return _PyEval_EvalFrameDefault(n, v); }\n"
		 "END\n"
		 "cc -O2 -fno-inline -freorder-blocks-and-partition -o %s/loop %s/loop.c",
		 dir, dir, dir);
	char *file = xasprintf("%s/loop", dir);
	ck_assert_uint_eq(check_parts(file, 0), 2);
	free(file);
	shell_do("rm -rf %s", dir);
}
END_TEST

/* Under any name, and with only the sections it needs to run. */
START_TEST(found_without_its_name_and_sections)
{
	struct cpython_file named, copied;
	struct pythons all;
	char dir[32], copy[64];
	int n = 0;

	temp_dir(dir);
	snprintf(copy, sizeof copy, "%s/worker", dir);
	pythons_find(&all);
	for (size_t i = 0; i < all.n; i++) {
		char *file = all.v[i].root[0] ? NULL : library_of(&all.v[i]);

		if (!file || !*file) {
			free(file);
			continue;
		}
		read_file(file, &named);
		ck_assert_uint_eq(named.version & 255, all.v[i].minor);
		shell_do("strip -o %s %s", copy, file);
		read_file(copy, &copied);
		/* In 3.6, interp_head is not an exported name. */
		if (all.v[i].minor > 6)
			ck_assert_uint_eq(copied.runtime, named.runtime);
		ck_assert_uint_eq(copied.current, named.current);
		ck_assert_uint_eq(copied.version, named.version);
		ck_assert_uint_eq(copied.n_loops, named.n_loops);
		ck_assert_mem_eq(copied.loops, named.loops, sizeof named.loops);
		shell_do("strip --strip-section-headers %s 2>/dev/null || "
			 "printf '\\0\\0\\0\\0\\0\\0\\0\\0' | dd of=%s bs=1 seek=40 conv=notrunc "
			 "2>/dev/null && "
			 "printf '\\0\\0\\0\\0\\0\\0' | dd of=%s bs=1 seek=58 conv=notrunc "
			 "2>/dev/null",
			 copy, copy, copy);
		read_file(copy, &copied);
		ck_assert_uint_eq(copied.version, named.version);
		ck_assert_uint_eq(copied.n_loops, named.n_loops);
		n++;
		free(file);
	}
	shell_do("rm -rf %s", dir);
	if (!n)
		T_SKIP("no CPython with a symbol table here");
}
END_TEST

UNIT_MAIN("cpython layouts", layouts_as_compiled, each_has_its_own_index,
	  newer_ones_are_read_as_the_newest, others_are_refused_with_a_reason, no_lie_leads_out,
	  loop_parts_as_their_names_say, loop_parts_of_a_split_function,
	  found_without_its_name_and_sections)
