/* tests/unit/perf_data_world.h: a small recording of one program and its kernel, and the result of reading it. */
#ifndef CRESSET_TESTS_PERF_DATA_WORLD_H
#define CRESSET_TESTS_PERF_DATA_WORLD_H

#include "perf_data_file.h"
#include "unit.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/input.h"
#include "format/perf_data/perf_data.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "profile/sink.h"
#include "profile/stack.h"

#include <inttypes.h>

static const struct pdf_event clock_event = { .type = PERF_TYPE_SOFTWARE,
					      .config = PERF_COUNT_SW_CPU_CLOCK,
					      .period = 1000,
					      .is_freq = true,
					      .id = 71,
					      .name = "cpu-clock:ppp" };
static const struct pdf_event switch_event = { .type = PERF_TYPE_TRACEPOINT,
					       .config = 316,
					       .period = 1,
					       .id = 72,
					       .name = "sched:sched_switch" };

/* Run-time addresses of the kernel of these files, moved by KASLR by 0x19000000. */
#define KERNEL_TEXT  0xffffffff9a000000ull
#define MODULE_START 0xffffffffc0100000ull
#define BPF_START    0xffffffffc0200000ull
static const char build_id[21] = "abcdefghijklmnopqrst";

static inline int read_bytes(const void *data, size_t len, struct profile **out, struct err *err)
{
	struct input *in;
	struct profile *p = profile_new();
	ck_assert_int_eq(input_open_memory(data, len, &in, err), 0);
	int rc = perf_data_read(in, profile_sink(p), err);
	input_close(in);
	*out = p;
	return rc;
}

/* Takes over file. */
static inline struct profile *read_file(struct buf file)
{
	struct profile *p;
	struct err err = { 0 };
	int rc = read_bytes(file.data, file.len, &p, &err);
	ck_assert_msg(rc == 0, "%s", err.text);
	buf_done(&file);
	return p;
}

/* The stack of a sample as text, root first: "app+0x10;[unknown]@[anon]". */
static inline const char *stack_text(struct profile *p, size_t sample)
{
	static char text[4096];
	struct buf b = { 0 };
	uint32_t frames[256], stack = p->samples.stack[sample], n = stack_depth(&p->stacks, stack);
	stack_frames(&p->stacks, stack, frames);
	for (uint32_t i = 0; i < n; i++) {
		const struct frame *f = &p->frames.frames.v[frames[i]];
		buf_adds(&b, i ? ";" : "");
		if (f->mapping != MAPPING_NONE)
			buf_addf(&b, "%s+0x%" PRIx64,
				 profile_str(p, p->frames.mappings.v[f->mapping].name), f->offset);
		else
			buf_addf(&b, "%s%s%s", profile_str(p, f->function), f->binary ? "@" : "",
				 profile_str(p, f->binary));
	}
	snprintf(text, sizeof text, "%s", buf_cstr(&b));
	buf_done(&b);
	return text;
}

static inline const char *label_text(struct profile *p, size_t sample, const char *key)
{
	const struct series *s = &p->series.series.v[p->samples.series[sample]];
	uint32_t id = strtab_find(&p->strings, key);
	const struct label *l = label_find(&p->series, s->labels, id);
	return l ? profile_str(p, l->str) : "";
}

static inline const struct type *type_of(struct profile *p, size_t sample)
{
	return &p->series.types.v[p->series.series.v[p->samples.series[sample]].type];
}

/* --- recorded events -------------------------------------------------------------------------- */

static inline void put_world(struct pdf *f)
{
	pdf_kernel_mmap(f, KERNEL_TEXT, 0x1000000, KERNEL_TEXT, "[kernel.kallsyms]_text");
	pdf_kernel_mmap(f, MODULE_START, 0x5000, 0, "/lib/modules/6.1.0/kernel/net/nf-nat.ko.xz");
	pdf_ksymbol(f, BPF_START, 0x100, 0, "bpf_prog_6deef7357e7b4530_on_cpu", 0);
	pdf_comm(f, 0, 10, 10, "app", 0);
	pdf_mmap2(f, 10, 0x400000, 0x2000, 0x1000, "/usr/bin/app", build_id, 0, 0);
	pdf_mmap2(f, 10, 0x7f0000000000, 0x10000, 0x26000, "/lib/libc.so.6 (deleted)", NULL, 99, 0);
	pdf_mmap(f, 10, 0x7f1000000000, 0x10000, 0, "//anon", 0);
}

static inline void put_samples(struct pdf *f)
{
	const uint64_t kernel[] = { PERF_CONTEXT_KERNEL,
				    KERNEL_TEXT + 0x100,
				    MODULE_START + 0x20,
				    BPF_START + 0x30,
				    0xffffffffd0000000,
				    PERF_CONTEXT_USER,
				    0x7f0000000010,
				    0x400101,
				    0 };
	const uint64_t user[] = { PERF_CONTEXT_USER, 0x400100, 0x7f1000000010, 0x1234, 0 };
	const uint64_t idle[] = { PERF_CONTEXT_KERNEL, KERNEL_TEXT + 0x2000000, 0 };
	f->id = clock_event.id;
	pdf_sample(f, PERF_RECORD_MISC_KERNEL, 10, 10, 1000, 1001001, kernel);
	pdf_sample(f, PERF_RECORD_MISC_USER, 10, 10, 2000, 1001001, user);
	pdf_sample(f, PERF_RECORD_MISC_KERNEL, 0, 0, 2500, 1001001, idle);
	f->id = switch_event.id;
	pdf_sample(f, PERF_RECORD_MISC_KERNEL, 10, 10, 3000, 5, kernel);
}

static inline struct pdf recording(bool big)
{
	struct pdf f = { .big = big, .sample_type = PDF_SAMPLE_TYPE };
	put_world(&f);
	put_samples(&f);
	return f;
}

static inline const struct pdf_event *both(void)
{
	static struct pdf_event events[2];
	events[0] = clock_event;
	events[1] = switch_event;
	return events;
}

static inline struct profile *read_recording(bool big, bool pipe)
{
	struct pdf f = recording(big);
	struct profile *p = read_file((pipe ? pdf_pipe : pdf_file)(&f, both(), 2));
	buf_done(&f.data);
	return p;
}

static inline void put_at(struct pdf *f, uint32_t pid, uint32_t tid, uint64_t time, uint64_t ip)
{
	const uint64_t chain[] = { PERF_CONTEXT_USER, ip, 0 };
	f->id = clock_event.id;
	pdf_sample(f, PERF_RECORD_MISC_USER, pid, tid, time, 1000, chain);
}

#endif
