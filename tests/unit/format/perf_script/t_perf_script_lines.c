// tier: test
/* perf script: single lines of its text. */
#include "perf_script_text.h"

#include "base/buf.h"
#include "format/perf_script/perf_script_line.h"

#define NO_ID SAMPLE_NO_ID

/* perf 3.x to 6.x, and comms that look like something else. -1: no time or period. */
static const struct header_case {
	const char *line, *comm;
	uint32_t pid, tid, cpu;
	int64_t time_ns, period;
	const char *event;
	int trust;
} header_cases[] = {
	{ "java 25607 4794564.109216: cycles: ", "java", NO_ID, 25607, NO_ID, 4794564109216000, -1,
	  "cycles", PERF_SURE_HEADER },
	{ "java 12688 [002] 6544038.708352: cpu-clock:", "java", NO_ID, 12688, 2, 6544038708352000,
	  -1, "cpu-clock", PERF_SURE_HEADER },
	{ "V8 WorkerThread 24636/25607 [000] 94564.109216: 10101010 cycles:u: ", "V8 WorkerThread",
	  24636, 25607, 0, 94564109216000, 10101010, "cycles:u", PERF_SURE_HEADER },
	{ "swapper     0/0     [115] 1.000000001:     250000 cpu/mem-loads,ldlat=30/P: ", "swapper",
	  0, 0, 115, 1000000001, 250000, "cpu/mem-loads,ldlat=30/P", PERF_SURE_HEADER },
	{ "kworker/0:1-eve 12 [000] 2.5: 1 a:b: x=1 y: 2", "kworker/0:1-eve", NO_ID, 12, 0,
	  2500000000, 1, "a:b", PERF_SURE_HEADER },
	{ "a 1 b: 2 77/78 [001] 2.5: e:", "a 1 b: 2", 77, 78, 1, 2500000000, -1, "e",
	  PERF_SURE_HEADER },
	{ "1234 5678 [000] 2.5: e:", "1234", NO_ID, 5678, 0, 2500000000, -1, "e",
	  PERF_SURE_HEADER },
	{ ":-1    -1 [000] 2.5: e:", ":-1", NO_ID, NO_ID, 0, 2500000000, -1, "e",
	  PERF_SURE_HEADER },
	{ ":4242 4242/4243 2.5: e:", ":4242", 4242, 4243, NO_ID, 2500000000, -1, "e",
	  PERF_SURE_HEADER },
	{ "bash 9 U     12958.042986:   10101010 cpu-clock:u:                         ", "bash",
	  NO_ID, 9, NO_ID, 12958042986000, 10101010, "cpu-clock:u", PERF_SURE_HEADER },
	{ "25522 12958.042986:   10101010 cpu-clock:u: ", "", NO_ID, 25522, NO_ID, 12958042986000,
	  10101010, "cpu-clock:u", PERF_SURE_HEADER },
	{ "12958.042986:   10101010 cpu-clock:u: ", "", NO_ID, NO_ID, NO_ID, 12958042986000,
	  10101010, "cpu-clock:u", PERF_SURE_HEADER },
	{ "burn 25522 12958.042986:   10101010 ", "burn", NO_ID, 25522, NO_ID, 12958042986000,
	  10101010, "", PERF_SURE_HEADER },
	{ "bash 2.5: e: ", "bash", NO_ID, NO_ID, NO_ID, 2500000000, -1, "e", PERF_SURE_HEADER },
	{ "cc1 25451 [000] cpu-clock: ", "cc1", NO_ID, 25451, 0, -1, -1, "cpu-clock",
	  PERF_SURE_HEADER },
	{ "cc1 [001] ", "cc1", NO_ID, NO_ID, 1, -1, -1, "", PERF_SURE_HEADER },
	{ "bash 9 2.5: raw 0x1a8: ", "bash", NO_ID, 9, NO_ID, 2500000000, -1, "raw 0x1a8",
	  PERF_SURE_HEADER },
	{ "bash 9 2.5: 1234567890123456789 off-cpu: ", "bash", NO_ID, 9, NO_ID, 2500000000,
	  1234567890123456789, "off-cpu", PERF_SURE_HEADER },
	{ "bash 9 cpu-clock:       55e0832258b5 f (/a)", "bash", NO_ID, 9, NO_ID, -1, -1,
	  "cpu-clock", PERF_SURE_HEADER },
	{ "bash 8/9            805807 f (/a)", "bash", 8, 9, NO_ID, -1, -1, "", PERF_SURE_HEADER },
	{ "node-v011 31912 cpu-clock: ", "node-v011", NO_ID, 31912, NO_ID, -1, -1, "cpu-clock",
	  PERF_FAIR_HEADER },
	{ "burn 25522 ", "burn", NO_ID, 25522, NO_ID, -1, -1, "", PERF_LOOSE_HEADER },
	{ "cpu-clock:u: ", "", NO_ID, NO_ID, NO_ID, -1, -1, "cpu-clock:u", PERF_LOOSE_HEADER },
	{ "burn ", "burn", NO_ID, NO_ID, NO_ID, -1, -1, "", PERF_LOOSE_HEADER },
	{ "this is a line of text that is no header", "", 0, 0, 0, 0, 0, "", PERF_NO_HEADER },
	{ "main;work;and_a_lot_more 12", "main;work;and_a_lot_more", NO_ID, 12, NO_ID, -1, -1, "",
	  PERF_LOOSE_HEADER },
	{ "{ \"version\": 1 , \"x\": 2 }", "", 0, 0, 0, 0, 0, "", PERF_NO_HEADER },
};
static void check_header(const struct header_case *c)
{
	struct perf_header h;

	ck_assert_msg((int)perf_header_parse(c->line, strlen(c->line), &h) == c->trust, "%s",
		      c->line);
	if (c->trust == PERF_NO_HEADER)
		return;
	ck_assert_msg(h.comm.len == strlen(c->comm) && memcmp(h.comm.s, c->comm, h.comm.len) == 0,
		      "%s", c->line);
	ck_assert_msg(h.event.len == strlen(c->event) &&
			      memcmp(h.event.s, c->event, h.event.len) == 0,
		      "%s: %.*s", c->line, (int)h.event.len, h.event.s);
	ck_assert_msg(h.pid == c->pid && h.tid == c->tid && h.cpu == c->cpu, "%s: %u/%u [%u]",
		      c->line, h.pid, h.tid, h.cpu);
	ck_assert_msg((h.has_time ? h.time_ns : -1) == c->time_ns, "%s", c->line);
	ck_assert_msg((h.has_period ? h.period : -1) == c->period, "%s", c->line);
}

START_TEST(header_lines_of_every_shape)
{
	for (size_t i = 0; i < sizeof header_cases / sizeof *header_cases; i++)
		check_header(&header_cases[i]);
}
END_TEST

START_TEST(frames_are_named_and_placed)
{
	static const struct {
		const char *text, *name, *binary;
		enum frame_kind kind;
	} cases[] = {
		{ "main+0x1f (/usr/bin/a)", "main", "a", FRAME_NATIVE },
		{ "operator()(int) const (/opt/x y/lib(1).so)", "operator()(int) const",
		  "lib(1).so", FRAME_NATIVE },
		{ "(anonymous namespace)::f(void (*)(int))+0x0 (/a (deleted))",
		  "(anonymous namespace)::f(void (*)(int))", "a", FRAME_NATIVE },
		{ "std::map<a, b (c)>::~map()", "std::map<a, b (c)>::~map()", "", FRAME_NATIVE },
		{ "f(int) (.isra.0)", "f(int) (.isra.0)", "", FRAME_NATIVE },
		{ "f(int) (.isra.0)+0x4 (/b/a.so+0x12)", "f(int) (.isra.0)", "a.so", FRAME_NATIVE },
		{ "a+0x12 b (/x)", "a+0x12 b", "x", FRAME_NATIVE },
		{ "libc.so.6+0x1234+0x0 (/x)", "libc.so.6+0x1234", "x", FRAME_NATIVE },
		{ "[unknown] ([unknown])", "[unknown]", "", FRAME_NATIVE },
		{ "[unknown] (/bin/dd)", "[unknown]", "dd", FRAME_NATIVE },
		{ "", "[unknown]", "", FRAME_NATIVE },
		{ "(/bin/dd)", "[unknown]", "dd", FRAME_NATIVE },
		{ "f ([kernel.kallsyms])", "f", "[kernel]", FRAME_KERNEL },
		{ "f ([kernel.kallsyms].init.text)", "f", "[kernel]", FRAME_KERNEL },
		{ "f ([kernel])", "f", "[kernel]", FRAME_KERNEL },
		{ "f (/lib/modules/4.1.0/build/vmlinux)", "f", "[kernel]", FRAME_KERNEL },
		{ "f ([guest.kernel.kallsyms.12])", "f", "[guest.kernel.kallsyms.12]",
		  FRAME_KERNEL },
		{ "f ([nf_conntrack])", "f", "[nf_conntrack]", FRAME_KERNEL },
		{ "f (/lib/modules/6.1/kernel/fs/ext4/ext4.ko.xz)", "f", "ext4.ko.xz",
		  FRAME_KERNEL },
		{ "f (bpf_prog_6deef7357e7b4530_x)", "f", "bpf_prog_6deef7357e7b4530_x",
		  FRAME_KERNEL },
		{ "clock_gettime ([vdso])", "clock_gettime", "[vdso]", FRAME_NATIVE },
		{ "Lfoo/Bar;::baz (/tmp/perf-123.map)", "Lfoo/Bar;::baz", "", FRAME_JIT },
		{ "RegExp:[&<>\\\"\\'] (/tmp/perf-7539.map)", "RegExp:[&<>\\\"\\']", "",
		  FRAME_JIT },
		{ "[unknown] (//anon)", "[unknown]", "", FRAME_JIT },
		{ "f (/tmp/perf-x.map)", "f", "perf-x.map", FRAME_NATIVE },
		{ "f (//python)", "f", "", FRAME_PYTHON },
		{ "[GPU_Kernel]sgemm ([unknown])", "[GPU_Kernel]sgemm", "", FRAME_GPU_KERNEL },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char text[256];
		snprintf(text, sizeof text, "a 1 [0] 2.5: e:\n\t 4005b1 %s\n", cases[i].text);
		struct profile *p = read_text(text);
		ck_assert_uint_eq(p->frames.frames.n, 1);
		const struct frame *f = &p->frames.frames.v[0];
		ck_assert_str_eq(profile_str(p, f->function), cases[i].name);
		ck_assert_str_eq(profile_str(p, f->binary), cases[i].binary);
		ck_assert_msg(f->kind == cases[i].kind, "%s", cases[i].text);
		ck_assert_uint_eq(f->mapping, MAPPING_NONE);
		profile_free(p);
	}
}
END_TEST

/* Up to 128 places of such a line look like ids with an end after them: the cost must not depend on where the line ends. */
START_TEST(blanks_cost_their_length_only)
{
	struct buf b = { 0 };
	for (int i = 0; i < 120; i++)
		buf_adds(&b, "1 ");
	for (int i = 0; i < 15 << 20; i++)
		buf_addc(&b, ' ');
	struct perf_header h;
	for (int i = 0; i < 20; i++)
		ck_assert_int_eq(perf_header_parse(b.data, b.len, &h), PERF_LOOSE_HEADER);
	buf_done(&b);
}
END_TEST

UNIT_MAIN("perf_script_lines", header_lines_of_every_shape, frames_are_named_and_placed,
	  blanks_cost_their_length_only)
