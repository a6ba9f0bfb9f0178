// tier: test
/* Reading a file in which all stacks differ takes at most eight times its size, profile included. Prints the ratio of each
 * reader and shape: CRESSET_READER_MB=40 CRESSET_READER=heaptrack build/unit/t_reader_memory measures larger files. */
#include "differing_stacks.h"
#include "read_text.h"

#include "format/bpftrace/bpftrace.h"
#include "format/gperftools/gperftools.h"
#include "format/heaptrack/heaptrack.h"
#include "format/python/python.h"
#include "format/sysprof/sysprof.h"
#include "format/v8/v8.h"
#include "format/valgrind/valgrind.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { TIMES = 8, TEXT_START = 0x400000, FUNCTION_BYTES = 64 };

static const struct differing_shape shapes[] = {
	{ "few functions", .depth = 16, .functions = 3000 },
	{ "a common root", .depth = 40, .functions = 500, .shared = 20 },
	{ "no function twice", .depth = 6 },
	{ "one new function each", .depth = 9, .shared = 8 },
};

static void nothing(struct differing_stacks *s, struct buf *b)
{
	(void)s, (void)b;
}

static void put(struct buf *b, uint64_t v, size_t size)
{
	buf_add(b, &v, size);
}

static uint64_t address(uint32_t function)
{
	return 0x555555554000 + (uint64_t)function * FUNCTION_BYTES;
}

/* --- gperftools ------------------------------------------------------------------------------- */

static void gperf_maps(struct differing_stacks *s, struct buf *b)
{
	(void)s;
	buf_addf(b, "555555554000-5f5555554000 r-xp 00000000 08:01 12 /usr/bin/prog\n");
}

static void gperf_cpu_begin(struct differing_stacks *s, struct buf *b)
{
	static const uint64_t head[] = { 0, 3, 0, 10000, 0 };
	(void)s;
	buf_add(b, head, sizeof head);
}

static void gperf_cpu_stack(struct differing_stacks *s, struct buf *b)
{
	put(b, 1, 8);
	put(b, s->depth, 8);
	for (uint32_t i = s->depth; i-- > 0;)
		put(b, address(s->f[i]) + 2, 8);
}

static void gperf_cpu_end(struct differing_stacks *s, struct buf *b)
{
	static const uint64_t end[] = { 0, 1, 0 };
	buf_add(b, end, sizeof end);
	gperf_maps(s, b);
}

static void gperf_heap_begin(struct differing_stacks *s, struct buf *b)
{
	(void)s;
	buf_adds(b, "heap profile:    600:  1200000 [  1100:  1232000] @ heapprofile\n");
}

static void gperf_heap_stack(struct differing_stacks *s, struct buf *b)
{
	buf_addf(b, "%6d: %8d [%6d: %8d] @", 3, 3000, 5, 5000);
	for (uint32_t i = s->depth; i-- > 0;)
		buf_addf(b, " 0x%llx", (unsigned long long)address(s->f[i]) + 2);
	buf_addc(b, '\n');
}

static void gperf_heap_end(struct differing_stacks *s, struct buf *b)
{
	buf_adds(b, "\nMAPPED_LIBRARIES:\n");
	gperf_maps(s, b);
}

static void go_begin(struct differing_stacks *s, struct buf *b)
{
	(void)s;
	buf_adds(b, "heap profile: 3: 9000 [7: 12000] @ heap/1048576\n");
}

static void go_stack(struct differing_stacks *s, struct buf *b)
{
	buf_addf(b, "%d: %d [%d: %d] @", 3, 3000, 5, 5000);
	for (uint32_t i = s->depth; i-- > 0;)
		buf_addf(b, " 0x%llx", (unsigned long long)address(s->f[i]) + 2);
	for (uint32_t i = s->depth; i-- > 0;)
		buf_addf(b, "\n#\t0x%llx\tmain.function%u+0x1f\t\t/src/app/file%u.go:%u",
			 (unsigned long long)address(s->f[i]) + 1, s->f[i], s->f[i] % 100,
			 s->f[i] % 900);
	buf_adds(b, "\n\n");
}

static void go_end(struct differing_stacks *s, struct buf *b)
{
	(void)s;
	buf_adds(b, "# runtime.MemStats\n# Alloc = 12\n");
}

/* --- heaptrack -------------------------------------------------------------------------------- */

/* Strings and places come before their first use, from number 1 on. id: the stack of each frame. */
static void heaptrack_begin(struct differing_stacks *s, struct buf *b)
{
	(void)s;
	buf_adds(b, "v 10500 3\nX ./prog\nI 1000 5e2990\ns d /usr/bin/prog_\n");
}

static void heaptrack_functions(struct differing_stacks *s, struct buf *b, uint32_t until)
{
	for (; s->known <= until; s->known++) {
		char name[32];
		int len = snprintf(name, sizeof name, "function_%u", s->known);
		buf_addf(b, "s %x %s\ni %llx 1 %x\n", len, name,
			 (unsigned long long)address(s->known), s->known + 2);
	}
}

static void heaptrack_stack(struct differing_stacks *s, struct buf *b)
{
	static uint32_t id[DIFFERING_DEPTH];
	for (uint32_t i = s->first; i < s->depth; i++) {
		heaptrack_functions(s, b, s->f[i]);
		buf_addf(b, "t %x %x\n", s->f[i] + 1, i ? id[i - 1] : 0);
		id[i] = ++s->ids;
	}
	buf_addf(b, "a %x %x\n+ %x\n", 0x40 + s->n % 512, s->ids, s->n - 1);
	if (s->n % 2)
		buf_addf(b, "- %x\n", s->n - 1);
}

/* --- Python ----------------------------------------------------------------------------------- */

static void austin_begin(struct differing_stacks *s, struct buf *b)
{
	(void)s;
	buf_adds(b, "# austin: 3.7.0\n# interval: 100\n# mode: wall\n\n");
}

static void austin_stack(struct differing_stacks *s, struct buf *b)
{
	buf_adds(b, "P24529;T0:24529");
	for (uint32_t i = 0; i < s->depth; i++)
		buf_addf(b, ";/w/file%u.py:function%u:%u", s->f[i] % 100, s->f[i], s->f[i] % 900);
	buf_adds(b, " 103\n");
}

static void leb(struct buf *b, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		buf_addc(b, (char)(v | 0x80));
	buf_addc(b, (char)v);
}

static void tach_begin(struct differing_stacks *s, struct buf *b)
{
	(void)s;
	buf_add(b, "HCAT\1\0\0\0\3\17\2\0", 12);
	put(b, 1, 8);
	put(b, 1000, 8);
	while (b->len < 64)
		buf_addc(b, 0);
	leb(&s->tables, 4);
	buf_adds(&s->tables, "a.py");
}

static void tach_stack(struct differing_stacks *s, struct buf *b)
{
	put(b, 24529, 8);
	put(b, 0, 4);
	put(b, 2, 1);
	leb(b, 1003);
	put(b, 0x24, 1);
	leb(b, s->first);
	leb(b, s->depth - s->first);
	for (uint32_t i = s->depth; i-- > s->first;)
		leb(b, s->f[i]);
	for (uint32_t i = s->first; i < s->depth; i++)
		for (; s->known <= s->f[i]; s->known++) {
			char name[32];
			leb(&s->tables, snprintf(name, sizeof name, "function_%u", s->known));
			buf_adds(&s->tables, name);
		}
}

static void tach_end(struct differing_stacks *s, struct buf *b)
{
	uint64_t strings = b->len, frames = strings + s->tables.len;
	buf_add(b, s->tables.data, s->tables.len);
	for (uint32_t i = 0; i < s->known; i++) {
		leb(b, 0);
		leb(b, i + 1);
		leb(b, 2 * (i % 900));
		buf_add(b, "\0\0\0\377", 4);
	}
	memcpy(b->data + 40, &strings, 8);
	memcpy(b->data + 48, &frames, 8);
	buf_adds(b, "TACHSTAT");
	put(b, 0, 8);
	put(b, 0, 4);
	put(b, s->known, 4);
	buf_add(b, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 24);
}

static void jsonl_line(struct buf *b, const char *type, const char *list)
{
	buf_addf(
		b,
		"{\"type\":\"%s\",\"v\":0,\"run_id\":\"bcfe2249be9f40d389df53b5a1c90771\",\"%s\":[",
		type, list);
}

/* Functions, as these files have no stacks; a line for each 256. */
static void jsonl_stack(struct differing_stacks *s, struct buf *b)
{
	uint32_t from = 256 * (s->n - 1), i;
	jsonl_line(b, "string_table", "strings");
	for (i = 0; i < 256; i++)
		buf_addf(b, "%s{\"str_id\":%u,\"value\":\"function_%u\"}", i ? "," : "", from + i,
			 from + i);
	buf_adds(b, "]}\n");
	jsonl_line(b, "frame_table", "frames");
	for (i = 0; i < 256; i++)
		buf_addf(b,
			 "%s{\"frame_id\":%u,\"path_str_id\":0,\"func_str_id\":%u,\"line\":%u,"
			 "\"end_line\":5,\"col\":13,\"end_col\":27}",
			 i ? "," : "", from + i, from + i, 7 + i);
	buf_adds(b, "]}\n");
	jsonl_line(b, "agg", "entries");
	for (i = 0; i < 256; i++)
		buf_addf(b, "%s{\"frame_id\":%u,\"self\":1,\"cumulative\":2}", i ? "," : "",
			 from + i);
	buf_adds(b, "]}\n");
}

static void mojo_number(struct buf *b, uint64_t v)
{
	uint8_t first = v & 0x3f;
	v >>= 6;
	buf_addc(b, (char)(first | (v ? 0x80 : 0)));
	for (; v; v >>= 7)
		buf_addc(b, (char)((v & 0x7f) | (v > 0x7f ? 0x80 : 0)));
}

static void mojo_begin(struct differing_stacks *s, struct buf *b)
{
	(void)s;
	buf_add(b, "MOJ\3\1mode\0wall\0", 15);
	buf_add(b, "\13\1a.py", 7); /* a string */
}

/* Names follow the stack that needs them first. */
static void mojo_names(struct differing_stacks *s, struct buf *b, uint32_t until)
{
	for (; s->known <= until; s->known++) {
		char name[32];
		int len = snprintf(name, sizeof name, "function_%u", s->known);
		buf_addc(b, 11);
		mojo_number(b, s->known + 2);
		buf_add(b, name, len + 1);
		buf_addc(b, 3);
		mojo_number(b, s->known);
		mojo_number(b, 1);
		mojo_number(b, s->known + 2);
		mojo_number(b, s->known % 900);
		buf_add(b, "\0\0\0", 3);
	}
}

static void mojo_stack(struct differing_stacks *s, struct buf *b)
{
	buf_addc(b, 2);
	mojo_number(b, 24529);
	mojo_number(b, 0);
	buf_add(b, "5fd1", 5);
	for (uint32_t i = 0; i < s->depth; i++) {
		mojo_names(s, b, s->f[i]);
		buf_addc(b, 5);
		mojo_number(b, s->f[i]);
	}
	buf_addc(b, 9);
	mojo_number(b, 103);
}

/* --- bpftrace --------------------------------------------------------------------------------- */

static void bpftrace_text(struct differing_stacks *s, struct buf *b)
{
	buf_adds(b, "@[\n");
	for (uint32_t i = s->depth; i-- > 0;)
		buf_addf(b, "        function_%u+%u\n", s->f[i], 12 + s->f[i] % 80);
	buf_adds(b, ", known]: 49\n");
}

static void bpftrace_json_begin(struct differing_stacks *s, struct buf *b)
{
	(void)s;
	buf_adds(b, "{\"type\": \"attached_probes\", \"data\": {\"probes\": 2}}\n"
		    "{\"type\": \"map\", \"data\": {\"@\": {");
}

static void bpftrace_json(struct differing_stacks *s, struct buf *b)
{
	buf_adds(b, s->n > 1 ? ", \"" : "\"");
	for (uint32_t i = s->depth; i-- > 0;)
		buf_addf(b, "\\nfunction_%u+%u", s->f[i], 12 + s->f[i] % 80);
	buf_adds(b, "\\n,known\": 49");
}

static void bpftrace_json_end(struct differing_stacks *s, struct buf *b)
{
	(void)s;
	buf_adds(b, "}}}\n");
}

/* --- valgrind --------------------------------------------------------------------------------- */

static void massif_begin(struct differing_stacks *s, struct buf *b)
{
	(void)s;
	buf_adds(b,
		 "desc: --threshold=0\ncmd: ./prog\ntime_unit: "
		 "i\n#-----------\nsnapshot=0\n#-----------\n"
		 "time=0\nmem_heap_B=1200064\nheap_tree=peak\n"
		 "n1: 999999999 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n");
}

/* The tree is the other way round: two stacks share their first frames. */
static void massif_stack(struct differing_stacks *s, struct buf *b)
{
	for (uint32_t i = s->first; i < s->depth; i++)
		buf_addf(b, "%*sn%d: %u 0x%llX: function_%u (file%u.c:%u)\n", i + 1, "",
			 i + 1 < s->depth, i + 1 < s->depth ? 0 : 4096 + s->n,
			 (unsigned long long)address(s->f[i]), s->f[i], s->f[i] % 100,
			 s->f[i] % 900);
}

static void dhat_begin(struct differing_stacks *s, struct buf *b)
{
	(void)s;
	buf_adds(b, "{\"dhatFileVersion\":2,\"mode\":\"heap\",\"verb\":\"Allocated\"\n,\"cmd\":\"./"
		    "prog\",\"pid\":12\n,\"pps\":\n [");
}

static void dhat_stack(struct differing_stacks *s, struct buf *b)
{
	buf_addf(b,
		 "%s{\"tb\":%u,\"tbk\":3,\"tl\":1000,\"mb\":3000,\"mbk\":3,\"gb\":3000,\"gbk\":3,"
		 "\"eb\":1000,\"ebk\":1\n"
		 "   ,\"rb\":100,\"wb\":3000\n   ,\"acc\":[]\n   ,\"fs\":[",
		 s->n > 1 ? "\n ," : "", 3000 + s->n);
	for (uint32_t i = s->depth; i-- > 0;) {
		buf_addf(b, "%u%s", s->f[i] + 1, i ? "," : "]\n  }");
		for (; s->known <= s->f[i]; s->known++)
			buf_addf(&s->tables, "\n ,\"0x%llX: function_%u (file%u.c:%u)\"",
				 (unsigned long long)address(s->known), s->known, s->known % 100,
				 s->known % 900);
	}
}

static void dhat_end(struct differing_stacks *s, struct buf *b)
{
	buf_adds(b, "\n ]\n,\"ftbl\":\n [\"[root]\"");
	buf_add(b, s->tables.data, s->tables.len);
	buf_adds(b, "\n ]\n}\n");
}

/* --- V8 --------------------------------------------------------------------------------------- */

static void heapprofile_begin(struct differing_stacks *s, struct buf *b)
{
	(void)s;
	buf_adds(b,
		 "{\"head\":{\"callFrame\":{\"functionName\":\"(root)\",\"scriptId\":\"0\",\"url\":"
		 "\"\","
		 "\"lineNumber\":-1,\"columnNumber\":-1},\"selfSize\":0,\"id\":1,\"children\":[");
}

/* s->known: nodes that are open. */
static void heapprofile_stack(struct differing_stacks *s, struct buf *b)
{
	bool comma = s->n > 1;
	for (; s->known > s->first; s->known--)
		buf_adds(b, "]}");
	for (uint32_t i = s->first; i < s->depth; i++, s->known++, comma = false)
		buf_addf(b,
			 "%s{\"callFrame\":{\"functionName\":\"function%u\",\"scriptId\":\"87\","
			 "\"url\":"
			 "\"file:///app/"
			 "file%u.js\",\"lineNumber\":%u,\"columnNumber\":4},\"selfSize\":%u,"
			 "\"id\":%u,\"children\":[",
			 comma ? "," : "", s->f[i], s->f[i] % 100, s->f[i] % 900,
			 i + 1 < s->depth ? 0 : 4000, ++s->ids + 1);
}

static void heapprofile_end(struct differing_stacks *s, struct buf *b)
{
	for (; s->known; s->known--)
		buf_adds(b, "]}");
	buf_adds(b, "]},\"samples\":[]}");
}

/* --- sysprof ---------------------------------------------------------------------------------- */

static void sysprof_frame(struct buf *b, int type, size_t len)
{
	put(b, 24 + len, 2);
	put(b, 1, 2);
	put(b, 24529, 4);
	put(b, b->len, 8);
	put(b, type, 8);
}

static void sysprof_begin(struct differing_stacks *s, struct buf *b)
{
	static const char file[24] = "/usr/bin/prog";
	(void)s;
	buf_add(b,
		"\x5e\x97\xca\xfd\1\1\0\0"
		"2026-11-28T22:14:00Z",
		28);
	while (b->len < 256)
		buf_addc(b, 0);
	sysprof_frame(b, 3, 32 + sizeof file);
	put(b, address(0), 8);
	put(b, address(0) + (1ull << 40), 8);
	put(b, 0, 8);
	put(b, 7, 8);
	buf_add(b, file, sizeof file);
}

static void sysprof_addresses(struct differing_stacks *s, struct buf *b)
{
	put(b, 0xfffffffffffffe00, 8);
	for (uint32_t i = s->depth; i-- > 0;)
		put(b, address(s->f[i]) + 2, 8);
}

static void sysprof_sample(struct differing_stacks *s, struct buf *b)
{
	sysprof_frame(b, 2, 8 + 8 + 8 * s->depth);
	put(b, s->depth + 1, 4);
	put(b, 24530, 4);
	sysprof_addresses(s, b);
}

static void sysprof_allocation(struct differing_stacks *s, struct buf *b)
{
	sysprof_frame(b, 14, 24 + 8 + 8 * s->depth);
	put(b, 0x7f0000000000 + 64 * s->n, 8);
	put(b, 4096, 8);
	put(b, 24530, 4);
	put(b, s->depth + 1, 4);
	sysprof_addresses(s, b);
}

/* ---------------------------------------------------------------------------------------------- */

static const struct differing_format readers[] = {
	{ &format_heapprofile, "heapprofile", heapprofile_begin, heapprofile_stack,
	  heapprofile_end },
	{ &format_gperf_cpu, "gperftools-cpu", gperf_cpu_begin, gperf_cpu_stack, gperf_cpu_end },
	{ &format_gperf_text, "gperftools-text", gperf_heap_begin, gperf_heap_stack,
	  gperf_heap_end },
	{ &format_gperf_text, "Go's debug=1", go_begin, go_stack, go_end },
	{ &format_heaptrack, "heaptrack", heaptrack_begin, heaptrack_stack, nothing },
	{ &format_python_binary, "python-binary", tach_begin, tach_stack, tach_end },
	{ &format_python_text, "python-text", austin_begin, austin_stack, nothing },
	{ &format_python_jsonl, "python-jsonl", nothing, jsonl_stack, nothing },
	{ &format_austin_binary, "austin-binary", mojo_begin, mojo_stack, nothing },
	{ &format_bpftrace, "bpftrace", nothing, bpftrace_text, nothing },
	{ &format_bpftrace, "bpftrace, JSON", bpftrace_json_begin, bpftrace_json,
	  bpftrace_json_end },
	{ &format_massif, "massif", massif_begin, massif_stack, nothing },
	{ &format_dhat, "dhat", dhat_begin, dhat_stack, dhat_end },
	{ &format_sysprof, "sysprof", sysprof_begin, sysprof_sample, nothing },
	{ &format_sysprof, "sysprof --memprof", sysprof_begin, sysprof_allocation, nothing },
};

/* Peak memory of the reader, profile included, over the size of the data. */
struct measure {
	double times;
	char error[200];
};

static size_t peak_now(void)
{
	struct rusage use;
	getrusage(RUSAGE_SELF, &use);
	return (size_t)use.ru_maxrss * 1024;
}

static void measure_here(const struct differing_format *f, const struct differing_shape *shape,
			 size_t size, struct measure *out)
{
	struct buf b = differing_file(f, shape, size);
	struct err err = { 0 };
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); /* it adds memory that no code needs */
	size_t before = peak_now();
	struct profile *p = read_bytes(f->format, b.data, b.len, &err);
	out->times = (double)(peak_now() - before) / b.len;
	if (!p)
		snprintf(out->error, sizeof out->error, "%.150s", err.text);
	else if (p->meta.loss[LOSS_INPUT_SKIPPED])
		snprintf(out->error, sizeof out->error, "parts are skipped");
}

/* The peak of a process never falls, so each measurement has its own. */
static void measure(const struct differing_format *f, const struct differing_shape *shape,
		    size_t size)
{
	struct measure *m =
		mmap(NULL, sizeof *m, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status;
	ck_assert_ptr_ne(m, MAP_FAILED);
	pid_t pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		measure_here(f, shape, size, m);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	printf("%-18s %-22s %5.2f\n", f->name, shape->name, m->times);
	ck_assert_msg(!*m->error, "%s, %s: %s", f->name, shape->name, m->error);
#ifndef __SANITIZE_ADDRESS__
	ck_assert_msg(m->times <= TIMES, "%s, %s: %.2f times the data", f->name, shape->name,
		      m->times);
#endif
	munmap(m, sizeof *m);
}

START_TEST(memory_is_bounded_by_the_file)
{
	const char *mb = getenv("CRESSET_READER_MB"), *only = getenv("CRESSET_READER");
	size_t size = (mb ? strtod(mb, NULL) : 3) * 1e6;
	for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
		for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
			if (!only || strcmp(only, readers[i].name) == 0)
				measure(&readers[i], &shapes[k], size);
	fflush(stdout);
}
END_TEST

UNIT_MAIN("reader_memory", memory_is_bounded_by_the_file)
