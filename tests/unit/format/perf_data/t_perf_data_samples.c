// tier: test
/* perf.data: the content of a sample: its event, counts of a group, and stacks, including those that perf left unwound. */
#include "base/buf.h"
#include "base/err.h"
#include "perf_data_world.h"

#include <errno.h>

static int64_t sum_of(struct profile *p, const char *type)
{
	uint32_t t = profile_pick_type(p, type);
	return t == UINT32_MAX ? -1 : profile_total(p, t);
}

/* Two clocks measure the same time: they must stay separate. The default is the first event with samples, not the first sample's. */
START_TEST(each_event_is_a_type)
{
	const struct pdf_event events[] = {
		{ .type = PERF_TYPE_SOFTWARE,
		  .config = PERF_COUNT_SW_DUMMY,
		  .id = 1,
		  .name = "dummy" },
		{ .type = PERF_TYPE_HARDWARE, .id = 2, .name = "cycles", .is_freq = true },
		{ .type = PERF_TYPE_SOFTWARE, .config = 1, .id = 3, .name = "task-clock" },
		{ .type = PERF_TYPE_SOFTWARE, .config = 0, .id = 4, .name = "cpu-clock" },
		{ .type = PERF_TYPE_SOFTWARE, .config = 10, .id = 5, .name = "offcpu-time" },
	};
	const uint64_t chain[] = { PERF_CONTEXT_USER, 0x1000, 0 };
	struct pdf f = { .sample_type = PDF_SAMPLE_TYPE };
	for (uint64_t id = 5; id > 1; id--) {
		f.id = id;
		pdf_sample(&f, PERF_RECORD_MISC_USER, 10, 10, 100 - id, 1000 * id, chain);
		pdf_sample(&f, PERF_RECORD_MISC_USER, 10, 10, 100 - id, 1000 * id, chain);
	}
	struct profile *p = read_file(pdf_file(&f, events, 5));
	ck_assert_uint_eq(p->series.types.n, 4);
	ck_assert_int_eq(sum_of(p, "cycles"), 4000);
	ck_assert_int_eq(sum_of(p, "cpu"), 2);
	ck_assert_int_eq(sum_of(p, "off-cpu"), 10000);
	ck_assert_int_eq(sum_of(p, NULL), 4000);
	ck_assert_str_eq(profile_str(p, p->meta.clock), "cycles");
	profile_free(p);
	buf_done(&f.data);
}
END_TEST

/* {a,b}:S: a sample of the leader has the counts of the whole group. */
START_TEST(groups_count_since_the_last_sample)
{
	struct pdf_event events[] = {
		clock_event, { .type = PERF_TYPE_SOFTWARE, .config = 2, .id = 72, .name = "faults" }
	};
	struct pdf f = { .sample_type = PDF_SAMPLE_TYPE | PERF_SAMPLE_READ, .id = 71 };
	static const uint64_t counts[][2] = { { 1000, 7 }, { 2500, 7 }, { 2500, 9 } };
	for (int i = 0; i < 2; i++)
		events[i].read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID |
					PERF_FORMAT_TOTAL_TIME_ENABLED | 1 << 4;
	for (int i = 0; i < 3; i++) {
		pdf_sample_open(&f, PERF_RECORD_MISC_USER, 0x1000, 10, 10, 100 + i, 1);
		pdf64(&f, 2);
		pdf64(&f, 12345); /* time enabled */
		for (int k = 0; k < 2; k++) {
			pdf64(&f, counts[i][k]);
			pdf64(&f, events[k].id);
			pdf64(&f, 0); /* lost */
		}
		pdf_chain(&f, NULL);
		pdf_end(&f);
	}
	struct profile *p = read_file(pdf_file(&f, events, 2));
	ck_assert_uint_eq(p->samples.n, 4);
	ck_assert_int_eq(sum_of(p, "cpu"), 2);
	ck_assert_int_eq(sum_of(p, "faults"), 9);
	ck_assert_int_eq(p->series.series.v[p->samples.series[0]].period, 1000);
	ck_assert_int_eq(p->series.series.v[p->samples.series[2]].period, 1500);
	profile_free(p);
	buf_done(&f.data);
}
END_TEST

/* --call-graph dwarf: the kernel's part is there, and only the first address of the user's. */
START_TEST(an_unwalked_stack_is_marked)
{
	struct pdf_event e = clock_event;
	e.user_regs = 0x1f0; /* four registers, the last is ip */
	struct pdf f = { .sample_type = PDF_SAMPLE_TYPE | PERF_SAMPLE_RAW | PERF_SAMPLE_REGS_USER |
					PERF_SAMPLE_STACK_USER,
			 .id = 71 };
	const uint64_t kernel[] = { PERF_CONTEXT_KERNEL, KERNEL_TEXT + 8, KERNEL_TEXT + 17, 0 };
	pdf_kernel_mmap(&f, KERNEL_TEXT, 0x1000000, KERNEL_TEXT, "[kernel.kallsyms]_text");
	pdf_mmap(&f, 10, 0x400000, 0x1000, 0, "/bin/app", 0);
	for (int i = 0; i < 3; i++) {
		bool is_user = i == 1, is_kernel_thread = i == 2;
		pdf_sample_open(&f, is_user ? PERF_RECORD_MISC_USER : PERF_RECORD_MISC_KERNEL,
				is_user ? 0x400020 : KERNEL_TEXT + 8, 10, 10, 100 + i, 1000);
		pdf_chain(&f, is_user ? NULL : kernel);
		pdf32(&f, 4); /* raw */
		pdf32(&f, 0);
		pdf64(&f, is_kernel_thread ? PERF_SAMPLE_REGS_ABI_NONE : PERF_SAMPLE_REGS_ABI_64);
		for (uint64_t reg = 0; reg < 5 && !is_kernel_thread; reg++)
			pdf64(&f, reg == 4 ? 0x400020 : reg);
		pdf64(&f, 0);
		pdf_end(&f);
	}
	struct profile *p = read_file(pdf_file(&f, &e, 1));
	ck_assert_uint_eq(p->samples.n, 3);
	ck_assert_str_eq(stack_text(p, 0),
			 "[truncated: DWARF stack not walked];/bin/app+0x20;"
			 "[kernel]+0xffffffff81000010;[kernel]+0xffffffff81000008");
	ck_assert_str_eq(stack_text(p, 1), "[truncated: DWARF stack not walked];/bin/app+0x20");
	ck_assert_str_eq(stack_text(p, 2),
			 "[kernel]+0xffffffff81000010;[kernel]+0xffffffff81000008");
	profile_free(p);
	buf_done(&f.data);
}
END_TEST

/* Returns frames at the addresses in the words of the copy. */
struct fake_walker {
	uint64_t addr[8];
	uint32_t n;
	struct user_stack last;
	char files[256]; /* of the addresses */
};

static struct user_walk fake_walk(void *stacks, const struct user_stack *s)
{
	struct fake_walker *w = stacks;
	struct user_map m;
	uint32_t n = 0;
	struct buf files = { 0 };
	w->last = *s;
	for (; n < s->stack_bytes / 8 && n < 8; n++) {
		memcpy(&w->addr[n], (const char *)s->stack + n * 8, 8);
		bool found = s->find(s->space, w->addr[n], &m);
		buf_addf(&files, " %s:%llu", found ? m.file.path ? m.file.path : "memory" : "none",
			 found ? (unsigned long long)m.file.inode : 0);
	}
	snprintf(w->files, sizeof w->files, "%s", buf_cstr(&files));
	buf_done(&files);
	return (struct user_walk){ w->addr, n, n < 3 ? "[truncated: fake]" : NULL };
}

static struct profile *read_walked(struct buf file, struct fake_walker *w)
{
	struct format_here here = { .host = "", .walk_stack = fake_walk, .stacks = w };
	struct profile *p = profile_new();
	struct input *in;
	*w = (struct fake_walker){ 0 };
	ck_assert_int_eq(input_open_memory(file.data, file.len, &in, NULL), 0);
	ck_assert_int_eq(perf_data_read_here(in, profile_sink(p), &here, NULL), 0);
	input_close(in);
	buf_done(&file);
	return p;
}

static const uint64_t deep_stack[] = { 0x400020, 0x7f0000000010, 0x10000, 0x400030 };
static const uint64_t user_regs[] = { 5, 4, 3, 2, 0x400020 }; /* r4, r5, r6, r7, r8 */

/* After a mapping of the first file was replaced in part, by memory and by another file. */
static struct pdf dwarf_recording(bool big)
{
	struct pdf f = { .sample_type =
				 PDF_SAMPLE_TYPE | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
			 .id = 71,
			 .big = big };
	pdf_kernel_mmap(&f, KERNEL_TEXT, 0x1000000, KERNEL_TEXT, "[kernel.kallsyms]_text");
	pdf_mmap2(&f, 10, 0x400000, 0x1000, 0, "/bin/old", NULL, 6, 0);
	pdf_mmap2(&f, 10, 0x400000, 0x1000, 0, "/bin/app (deleted)", NULL, 7, 1);
	pdf_mmap2(&f, 10, 0x7f0000000000, 0x1000, 0, "//anon", NULL, 0, 2);
	return f;
}

static void put_walked(struct pdf *f, uint16_t misc, uint64_t abi, size_t n_words, uint64_t used,
		       const uint64_t *chain)
{
	pdf_sample_open(f, misc, chain ? KERNEL_TEXT + 8 : 0x400020, 10, 10, 100, 1000);
	pdf_chain(f, chain);
	pdf_user_state(f, abi, user_regs, 5, deep_stack, n_words, used);
	pdf_end(f);
}

START_TEST(a_stack_is_handed_to_be_walked)
{
	static const uint64_t kernel[] = { PERF_CONTEXT_KERNEL, KERNEL_TEXT + 8, 0 };
	struct pdf_event e = clock_event;
	struct fake_walker w;
	e.user_regs = 0x1f0;
	struct pdf f = dwarf_recording(false);
	put_walked(&f, PERF_RECORD_MISC_USER, PERF_SAMPLE_REGS_ABI_64, 4, 16, NULL);
	put_walked(&f, PERF_RECORD_MISC_KERNEL, PERF_SAMPLE_REGS_ABI_64, 4, 32, kernel);
	struct profile *p = read_walked(pdf_file(&f, &e, 1), &w);
	ck_assert_str_eq(stack_text(p, 0),
			 "[truncated: fake];[unknown]@[anon];/bin/app (deleted)+0x20");
	ck_assert_str_eq(stack_text(p, 1), "/bin/app (deleted)+0x30;[unknown];[unknown]@[anon];"
					   "/bin/app (deleted)+0x20;[kernel]+0xffffffff81000008");
	ck_assert_str_eq(w.files, " /bin/app (deleted):7 memory:0 none:0 /bin/app (deleted):7");
	ck_assert_int_eq(w.last.machine, USER_MACHINE_X86_64);
	ck_assert_uint_eq(w.last.has_regs, 0x1f0);
	for (int i = 4; i <= 8; i++)
		ck_assert_uint_eq(w.last.regs[i], user_regs[i - 4]);
	ck_assert(!w.last.is_whole);
	profile_free(p);
	buf_done(&f.data);
}
END_TEST

/* The leaf is there even if nothing is unwound; a stack that does not fit into its record is no sample. */
START_TEST(user_states_that_are_odd)
{
	struct pdf_event e = clock_event;
	struct fake_walker w;
	e.user_regs = 0x1f0;
	struct pdf f = dwarf_recording(false);
	put_walked(&f, PERF_RECORD_MISC_USER, PERF_SAMPLE_REGS_ABI_32, 0, 0, NULL);
	struct profile *p = read_walked(pdf_file(&f, &e, 1), &w);
	ck_assert_int_eq(w.last.machine, USER_MACHINE_X86);
	ck_assert_uint_eq(w.last.stack_bytes, 0);
	ck_assert_str_eq(stack_text(p, 0), "[truncated: fake];/bin/app (deleted)+0x20");
	profile_free(p);
	/* More used than available; then complete. */
	put_walked(&f, PERF_RECORD_MISC_USER, PERF_SAMPLE_REGS_ABI_64, 4, UINT64_MAX, NULL);
	p = read_walked(pdf_file(&f, &e, 1), &w);
	ck_assert_uint_eq(w.last.stack_bytes, 32);
	ck_assert(!w.last.is_whole);
	profile_free(p);
	put_walked(&f, PERF_RECORD_MISC_USER, PERF_SAMPLE_REGS_ABI_64, 4, 24, NULL);
	p = read_walked(pdf_file(&f, &e, 1), &w);
	ck_assert_uint_eq(w.last.stack_bytes, 24);
	ck_assert(w.last.is_whole);
	profile_free(p);
	/* More registers than bytes in the records. */
	e.user_regs = UINT64_MAX;
	struct buf file = pdf_file(&f, &e, 1);
	struct err err = { 0 };
	ck_assert_int_eq(read_bytes(file.data, file.len, &p, &err), -EBADMSG);
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 3);
	profile_free(p);
	buf_done(&file);
	buf_done(&f.data);
}
END_TEST

/* For another kind of machine, the walker is told so. */
START_TEST(stacks_of_another_machine)
{
	struct pdf_event e = clock_event;
	struct fake_walker w;
	e.user_regs = 0x1f0;
	struct pdf f = dwarf_recording(true);
	put_walked(&f, PERF_RECORD_MISC_USER, PERF_SAMPLE_REGS_ABI_64, 1, 8, NULL);
	struct buf file = pdf_file(&f, &e, 1);
	char *arch = memmem(file.data, file.len, "x86_64", 6);
	memcpy(arch, "ppc64 ", 6);
	struct profile *p = read_walked(file, &w);
	ck_assert_int_eq(w.last.machine, USER_MACHINE_OTHER);
	ck_assert_uint_eq(w.last.regs[8], 0x400020);
	profile_free(p);
	/* For an unknown machine, the set of registers decides. */
	f.data.len = 0;
	e.user_regs = 0xff0fff;
	pdf_sample_open(&f, PERF_RECORD_MISC_USER, 0x400020, 10, 10, 100, 1000);
	pdf_chain(&f, NULL);
	uint64_t regs[20] = { [8] = 0x400020 };
	pdf_user_state(&f, PERF_SAMPLE_REGS_ABI_64, regs, 20, NULL, 0, 0);
	pdf_end(&f);
	file = pdf_file(&f, &e, 1);
	memset(file.data + 72, 0, 32); /* the bitmap of sections */
	p = read_walked(file, &w);
	ck_assert_int_eq(w.last.machine, USER_MACHINE_X86_64);
	ck_assert_uint_eq(w.last.regs[8], 0x400020);
	profile_free(p);
	buf_done(&f.data);
}
END_TEST

START_TEST(stacks_that_were_cut_say_so)
{
	uint64_t deep[130] = { PERF_CONTEXT_USER },
		 odd[] = { PERF_CONTEXT_USER, 0x1000, -3000ull, 0x2000, 0 };
	struct pdf f = { .sample_type = PDF_SAMPLE_TYPE, .id = 71 };
	for (int i = 1; i <= 127; i++)
		deep[i] = 0x1000;
	pdf_sample(&f, PERF_RECORD_MISC_USER, 10, 10, 1, 1000, deep);
	deep[127] = 0;
	pdf_sample(&f, PERF_RECORD_MISC_USER, 10, 10, 2, 1000, deep);
	pdf_sample(&f, PERF_RECORD_MISC_USER, 10, 10, 3, 1000, odd);
	struct profile *p = read_file(pdf_file(&f, &clock_event, 1));
	ck_assert_int_eq(strncmp(stack_text(p, 0), "[truncated: depth];[unknown];", 29), 0);
	ck_assert_int_eq(strncmp(stack_text(p, 1), "[unknown];", 10), 0);
	ck_assert_str_eq(stack_text(p, 2), "[truncated: unknown part of the stack];[unknown]");
	profile_free(p);
	buf_done(&f.data);
}
END_TEST

/* Without times, equal samples are merged. */
START_TEST(samples_without_a_time_are_summed)
{
	const uint64_t chain[] = { PERF_CONTEXT_USER, 0x1000, 0 };
	struct pdf f = { .sample_type = PDF_SAMPLE_TYPE & ~(uint64_t)PERF_SAMPLE_TIME, .id = 71 };
	for (int i = 0; i < 1000; i++)
		pdf_sample(&f, PERF_RECORD_MISC_USER, 10, 10 + i % 2, 0, 1000, chain);
	struct profile *p = read_file(pdf_file(&f, &clock_event, 1));
	ck_assert_uint_eq(p->samples.n, 2);
	ck_assert_int_eq(profile_total(p, 0), 1000);
	ck_assert_int_eq(p->meta.duration_ns, 0);
	profile_free(p);
	buf_done(&f.data);
}
END_TEST

UNIT_MAIN("perf_data_samples", each_event_is_a_type, groups_count_since_the_last_sample,
	  an_unwalked_stack_is_marked, a_stack_is_handed_to_be_walked, user_states_that_are_odd,
	  stacks_of_another_machine, stacks_that_were_cut_say_so, samples_without_a_time_are_summed)
