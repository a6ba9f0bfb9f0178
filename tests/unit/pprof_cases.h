/* tests/unit/pprof_cases.h: files that several pprof tests start from. */
#ifndef CRESSET_TESTS_PPROF_CASES_H
#define CRESSET_TESTS_PPROF_CASES_H

#include "base/err.h"
#include "format/formats.h"
#include "pprof_file.h"
#include "spelled_profile.h"

static inline struct profile *read_golden(const char *name)
{
	char path[256];
	struct profile *p = profile_new();
	struct err err = { 0 };
	snprintf(path, sizeof path, "tests/golden/pprof/%s.pb.gz", name);
	int rc = format_read_file(path, NULL, profile_sink(p), &err);
	ck_assert_msg(rc == 0, "%s", err.text);
	return p;
}

#define GO_PPROF "TZ=UTC go tool pprof -symbolize=none"

static inline bool has_program(const char *name)
{
	char *found = shell("command -v %s || true", name);
	bool has = *found;
	free(found);
	return has;
}

static inline void write_to(struct profile *p, const char *path)
{
	struct format_write_opts opts = { 0 };
	struct err err = { 0 };
	int rc = format_write_file(&format_pprof, p, &opts, path, &err);
	ck_assert_msg(rc == 0, "%s", err.text);
}

/* A file with a sample for each location; functions 1 … 4. */
static inline void begin_locations(struct pprof_file *f)
{
	static const char *const names[] = { "one", "two", "three", "four" };
	static const char *const files[] = { "a.c", "b.go", "c.py", "" };
	*f = (struct pprof_file){ 0 };
	file_value_type(f, PROFILE_SAMPLE_TYPE, "samples", "count");
	for (int i = 0; i < 4; i++)
		file_function(f, i + 1, names[i], files[i], i);
	file_mapping(f, 1, 0x400000, 0x500000, 0x1000, "/bin/prog", "c0ffee");
	file_mapping(f, 2, 0, 0, 0, "[kernel.kallsyms]", "");
	file_mapping(f, 7, 0, 0, 0, "", "");
}

/* Reads the file and checks that its samples stay n different stacks of one frame, also after writing and reading them again. */
static inline struct profile *end_locations(struct pprof_file *f, uint32_t n)
{
	struct profile *p = profile_of_file(f), *again = written_and_read(p);
	ck_assert_uint_eq(p->samples.n, n);
	ck_assert_uint_eq(p->stacks.stacks.n, n + 1);
	assert_same_profile(p, again, SPELL_MAPPINGS);
	profile_free(again);
	return p;
}

static inline const struct frame *frame_of_sample(const struct profile *p, size_t i)
{
	return &p->frames.frames.v[stack_leaf(&p->stacks, p->samples.stack[i])];
}

static inline void put_two_values(struct pprof_file *f, int64_t a, int64_t b)
{
	size_t mark = pb_begin(&f->b, PROFILE_SAMPLE);
	pb_put_u64(&f->b, SAMPLE_LOCATION_ID, 1);
	pb_put_u64(&f->b, SAMPLE_VALUE, a);
	pb_put_u64(&f->b, SAMPLE_VALUE, b);
	pb_end(&f->b, mark);
}

/* As made by the collector: no run-time ranges, the kernel, frames by name, labels and columns. */
static inline struct profile *collected_profile(void)
{
	struct profile *p = profile_new();
	struct sink *s = profile_sink(p);
	struct mapping libc = { .name = sink_string(s, "/usr/lib/libc.so.6"),
				.build_id = { 0xab, 0xcd },
				.build_id_len = 2 };
	struct mapping prog = { .name = sink_string(s, "/opt/prog"), .identity = 77 };
	struct mapping kernel = { .name = sink_string(s, "[kernel]") };
	struct mapping module = { .name = sink_string(s, "[ext4]"),
				  .build_id = { 1, 2, 3 },
				  .build_id_len = 3 };
	struct mapping bpf = { .name = sink_string(s, "[bpf]"), .identity = 99 };
	uint32_t libc_id = s->ops->mapping(s, &libc), prog_id = s->ops->mapping(s, &prog);
	uint32_t kernel_id = s->ops->mapping(s, &kernel), module_id = s->ops->mapping(s, &module);
	uint32_t bpf_id = s->ops->mapping(s, &bpf);
	struct frame frames[] = {
		{ .kind = FRAME_KERNEL, .mapping = module_id, .offset = 0x1f0 },
		{ .kind = FRAME_KERNEL, .mapping = bpf_id, .offset = 0xffffffffc0123456 },
		{ .kind = FRAME_NATIVE, .mapping = prog_id, .offset = 0x1a2b },
		{ .kind = FRAME_NATIVE, .mapping = libc_id, .offset = 0x28abc },
		{ .kind = FRAME_PYTHON,
		  .mapping = MAPPING_NONE,
		  .function = sink_string(s, "handler"),
		  .file = sink_string(s, "app.py"),
		  .line = 12 },
		{ .kind = FRAME_JIT,
		  .mapping = MAPPING_NONE,
		  .function = sink_string(s, "LazyCompile:f") },
		{ .kind = FRAME_KERNEL, .mapping = kernel_id, .offset = 0xffffffff81001234 },
		{ .kind = FRAME_KERNEL,
		  .mapping = MAPPING_NONE,
		  .function = sink_string(s, "bpf_prog") },
	};
	enum { FRAMES = sizeof frames / sizeof *frames };
	uint32_t ids[FRAMES];
	for (int i = 0; i < FRAMES; i++)
		ids[i] = s->ops->frame(s, &frames[i]);
	struct function read_fn = { .name = sink_string(s, "ksys_read"),
				    .linkage = sink_string(s, "ksys_read") };
	struct line line = { .function = s->ops->function(s, &read_fn) };
	s->ops->names(s, ids[6], &line, 1);
	struct type cpu = { .name = sink_string(s, "cpu"),
			    .sample_type = sink_string(s, "samples"),
			    .unit = sink_string(s, "count"),
			    .period_type = sink_string(s, "cpu"),
			    .period_unit = sink_string(s, "nanoseconds") };
	struct label comm = { .key = sink_string(s, "comm"), .str = sink_string(s, "web server") };
	struct series series = { .type = s->ops->type(s, &cpu),
				 .period = 10101010,
				 .labels = s->ops->labels(s, &comm, 1) };
	for (int i = 0; i < 3; i++) {
		struct sample sample = { .time_ns = 1000 + i,
					 .value = 1,
					 .series = s->ops->series(s, &series),
					 .stack = s->ops->stack(s, ids, FRAMES),
					 .pid = 1234,
					 .tid = 1235 + i % 2,
					 .cpu = SAMPLE_NO_ID };
		s->ops->sample(s, &sample);
	}
	struct profile_meta *meta = s->ops->meta(s);
	meta->start_wall_ns = 1700000000000000000;
	meta->start_mono_ns = 12345;
	meta->duration_ns = 30000000000;
	meta->host = sink_string(s, "db7");
	meta->kernel = sink_string(s, "6.1.0-13-amd64");
	meta->command = sink_string(s, "cresset record -a");
	meta->clock = sink_string(s, "cpu-clock");
	meta->cpus = 2;
	meta->own_cpu_ns = 123456789;
	meta->own_peak_bytes = 7654321;
	s->ops->loss(s, LOSS_RING_FULL, 5);
	s->ops->loss(s, LOSS_LATE, 1);
	return p;
}

#endif
