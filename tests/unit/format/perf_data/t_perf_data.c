// tier: test
/* perf.data: the effect of every record on the profile, in either byte order, as a file and through a pipe; and that no such file does harm. */
#include "base/buf.h"
#include "base/err.h"
#include "perf_data_world.h"
#include "rand.h"
#include "spelled_profile.h"

#include <errno.h>
#include <zstd.h>

/* --- a whole recording ------------------------------------------------------------------------ */

START_TEST(every_record_has_its_meaning)
{
	struct profile *p = read_recording(false, false);
	ck_assert_uint_eq(p->samples.n, 4);
	ck_assert_str_eq(stack_text(p, 0),
			 "/usr/bin/app+0x1100;/lib/libc.so.6 (deleted)+0x26010;[unknown]@[kernel];"
			 "bpf_prog_6deef7357e7b4530_on_cpu@[bpf];[nf_nat]+0x1f;"
			 "[kernel]+0xffffffff81000100");
	/* 0x1234 - 1 is nowhere. */
	ck_assert_str_eq(stack_text(p, 1), "[unknown];[unknown]@[anon];/usr/bin/app+0x1100");
	/* In the part of the kernel that is freed after the start. */
	ck_assert_str_eq(stack_text(p, 2), "[kernel]+0xffffffff83000000");
	ck_assert_str_eq(label_text(p, 0, "comm"), "app");
	ck_assert_str_eq(label_text(p, 2, "process"), "swapper");
	const struct type *cpu = type_of(p, 0), *sched = type_of(p, 3);
	ck_assert_str_eq(profile_str(p, cpu->name), "cpu");
	ck_assert_str_eq(profile_str(p, cpu->sample_type), "samples");
	ck_assert_str_eq(profile_str(p, cpu->period_unit), "nanoseconds");
	ck_assert_int_eq(p->series.series.v[p->samples.series[0]].period, 1001001);
	ck_assert_int_eq(p->samples.value[0], 1);
	ck_assert_str_eq(profile_str(p, sched->name), "sched:sched_switch");
	ck_assert_int_eq(p->samples.value[3], 5);
	ck_assert_int_eq(p->samples.time_ns[3], 3000);
	ck_assert_uint_eq(p->samples.cpu[3], 3);
	ck_assert_str_eq(profile_str(p, p->meta.host), "db7");
	ck_assert_str_eq(profile_str(p, p->meta.kernel), "6.1.0-13");
	ck_assert_str_eq(profile_str(p, p->meta.command), "perf record");
	ck_assert_str_eq(profile_str(p, p->meta.clock), "cpu-clock:ppp");
	ck_assert_uint_eq(p->meta.cpus, 4);
	ck_assert_int_eq(p->meta.start_mono_ns, 1000);
	ck_assert_int_eq(p->meta.duration_ns, 2000);
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 0);
	const struct mapping *app = NULL;
	for (size_t i = 0; i < p->frames.mappings.n; i++)
		if (strcmp(profile_str(p, p->frames.mappings.v[i].name), "/usr/bin/app") == 0)
			app = &p->frames.mappings.v[i];
	ck_assert_ptr_nonnull(app);
	ck_assert_uint_eq(app->build_id_len, 20);
	ck_assert_mem_eq(app->build_id, build_id, 20);
	profile_free(p);
}
END_TEST

START_TEST(byte_order_and_way_change_nothing)
{
	struct profile *file = read_recording(false, false);
	for (int i = 1; i < 4; i++) {
		struct profile *other = read_recording(i & 1, i & 2);
		assert_same_profile(file, other, SPELL_TIMES | SPELL_MAPPINGS);
		profile_free(other);
	}
	profile_free(file);
}
END_TEST

/* perf record -z: one zstd stream, cut anywhere, with records across the cuts. */
static struct pdf compressed(const struct pdf *f, size_t piece)
{
	struct pdf out = { .big = f->big, .sample_type = f->sample_type };
	size_t cap = ZSTD_compressBound(f->data.len);
	char *packed = malloc(cap);
	size_t len = ZSTD_compress(packed, cap, f->data.data, f->data.len, 3);
	for (size_t at = 0; at < len; at += piece) {
		pdf_begin(&out, 81, 0);
		buf_add(&out.data, packed + at, len - at < piece ? len - at : piece);
		pdf_end(&out);
	}
	free(packed);
	return out;
}

START_TEST(compressed_records_are_the_same)
{
	struct pdf f = recording(false);
	struct profile *plain = read_recording(false, false);
	for (size_t piece = 1; piece < 100; piece += 7) {
		struct pdf z = compressed(&f, piece);
		struct profile *p = read_file(pdf_file(&z, both(), 2));
		assert_same_profile(plain, p, SPELL_TIMES | SPELL_MAPPINGS);
		profile_free(p);
		buf_done(&z.data);
	}
	buf_done(&f.data);
	profile_free(plain);
}
END_TEST

/* perf was killed: the header claims no data, and nothing follows them. */
START_TEST(a_killed_recording_is_read)
{
	struct pdf f = recording(false);
	struct buf file = pdf_file(&f, both(), 2);
	size_t data_at = PDF_HEADER_BYTES + 2 * (8 + PDF_ATTR_BYTES + 16);
	file.len = data_at + f.data.len;
	memset(file.data + 48, 0, 8);
	struct profile *p = read_file(file);
	ck_assert_uint_eq(p->samples.n, 4);
	ck_assert_str_eq(stack_text(p, 2), "[kernel]+0xffffffff83000000");
	ck_assert_str_eq(profile_str(p, type_of(p, 3)->name), "tracepoint 316");
	profile_free(p);
	buf_done(&f.data);
}
END_TEST

/* Truncated anywhere: an error with a message, or the first samples of the whole with the loss counted. */
START_TEST(cut_anywhere)
{
	for (int pipe = 0; pipe < 2; pipe++) {
		struct pdf f = recording(false);
		struct buf file = (pipe ? pdf_pipe : pdf_file)(&f, both(), 2);
		size_t most = 0;
		for (size_t len = 0; len <= file.len; len++) {
			struct profile *p;
			struct err err = { 0 };
			char *exact = malloc(len + 1);
			memcpy(exact, file.data, len);
			int rc = read_bytes(exact, len, &p, &err);
			ck_assert(rc == 0 || (rc == -EBADMSG && *err.text));
			ck_assert_uint_ge(p->samples.n, most);
			most = p->samples.n;
			free(exact);
			profile_free(p);
		}
		ck_assert_uint_eq(most, 4);
		buf_done(&file);
		buf_done(&f.data);
	}
}
END_TEST

/* Any byte changed to anything: no harm (checked by the sanitizers). */
START_TEST(any_byte_changed)
{
	struct rng r = { 5 };
	struct pdf f = recording(false);
	struct buf file = pdf_file(&f, both(), 2);
	for (size_t at = 0; at < file.len; at++) {
		struct profile *p;
		char was = file.data[at];
		file.data[at] = rng_next(&r) >> 32;
		read_bytes(file.data, file.len, &p, NULL);
		profile_free(p);
		file.data[at] = was;
	}
	buf_done(&file);
	buf_done(&f.data);
}
END_TEST

/* --- other parts of a file --------------------------------------------------------------------- */

/* Newer perf reports lost records and lost samples twice; trace data follow their record in a stream. */
START_TEST(losses_and_passed_over_data)
{
	struct pdf f = recording(false);
	f.id = 71;
	pdf_begin(&f, PERF_RECORD_LOST, 0);
	pdf64(&f, 71);
	pdf64(&f, 30);
	pdf_trailer(&f, 0, 0, 4000);
	pdf_begin(&f, PERF_RECORD_LOST_SAMPLES, 0);
	pdf64(&f, 20);
	pdf_trailer(&f, 0, 0, 4001);
	pdf_begin(&f, 71, 0); /* AUXTRACE */
	pdf64(&f, 16);
	for (int i = 0; i < 4; i++)
		pdf64(&f, 0);
	pdf_end(&f);
	pdf64(&f, UINT64_MAX);
	pdf64(&f, UINT64_MAX);
	pdf_begin(&f, 66, 0); /* tracing data */
	pdf32(&f, 5);
	pdf32(&f, 0);
	pdf_end(&f);
	pdf64(&f, UINT64_MAX);
	pdf_begin(&f, 12345, 0); /* a kind from the future */
	pdf_end(&f);
	put_at(&f, 10, 10, 5000, 0x400100);
	struct profile *p = read_file(pdf_pipe(&f, both(), 2));
	ck_assert_uint_eq(p->samples.n, 5);
	ck_assert_str_eq(stack_text(p, 4), "/usr/bin/app+0x1100");
	ck_assert_uint_eq(p->meta.loss[LOSS_RING_FULL], 30);
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 1);
	profile_free(p);
	buf_done(&f.data);
}
END_TEST

/* The table of build ids merges mappings of one file, whatever their inodes. */
START_TEST(build_ids_of_the_table)
{
	struct pdf f = { .sample_type = PDF_SAMPLE_TYPE, .id = 71 };
	pdf_begin(&f, 67, 1 << 15);
	pdf32(&f, UINT32_MAX);
	buf_add(&f.data, build_id, 16);
	buf_add(&f.data, "\0\0\0\0\x10\0\0\0", 8); /* 16 bytes long */
	pdf_text(&f, "/lib/a.so");
	pdf_end(&f);
	pdf_mmap2(&f, 10, 0x1000, 0x1000, 0, "/lib/a.so", NULL, 1, 0);
	pdf_mmap2(&f, 11, 0x1000, 0x1000, 0, "/lib/a.so", NULL, 2, 0);
	pdf_mmap2(&f, 10, 0x2000, 0x1000, 0, "/lib/b.so", NULL, 3, 0);
	pdf_mmap2(&f, 11, 0x2000, 0x1000, 0, "/lib/b.so", NULL, 4, 0);
	for (uint32_t pid = 10; pid < 12; pid++) {
		put_at(&f, pid, pid, pid, 0x1000);
		put_at(&f, pid, pid, pid, 0x2000);
	}
	struct profile *p = read_file(pdf_pipe(&f, &clock_event, 1));
	ck_assert_uint_eq(p->frames.mappings.n, 3);
	ck_assert_uint_eq(p->frames.mappings.v[0].build_id_len, 16);
	ck_assert_mem_eq(p->frames.mappings.v[0].build_id, build_id, 16);
	ck_assert_uint_eq(p->samples.stack[0], p->samples.stack[2]);
	ck_assert_uint_ne(p->samples.stack[1], p->samples.stack[3]);
	profile_free(p);
	buf_done(&f.data);
}
END_TEST

static const char *jit_name(void *ctx, uint32_t pid, uint64_t addr)
{
	(void)ctx;
	return pid == 10 && addr == 0x7f1000000010 ? "jitted" : NULL;
}

static bool is_replaced(const char *path, uint32_t dev_major, uint32_t dev_minor, uint64_t inode,
			uint64_t generation)
{
	ck_assert_str_eq(path, "/lib/a.so");
	(void)generation;
	(void)dev_major;
	(void)dev_minor;
	return inode == 1;
}

/* Reads a sample in one of two mappings of a file, and checks whether the first is shown as deleted.
 * The second has an id, or else another inode. */
static void check_two_mappings(const struct format_here *here, const char *id, bool is_deleted)
{
	struct pdf f = { .sample_type = PDF_SAMPLE_TYPE };
	struct input *in;
	struct profile *p = profile_new();

	pdf_mmap2(&f, 10, 0x1000, 0x1000, 0, "/lib/a.so", NULL, 1, 0);
	pdf_mmap2(&f, 11, 0x1000, 0x1000, 0, "/lib/a.so", id, id ? 0 : 2, 0);
	put_at(&f, 10, 10, 5, 0x1010);
	put_at(&f, 11, 11, 6, 0x1010);
	struct buf file = pdf_file(&f, &clock_event, 1);
	ck_assert_int_eq(input_open_memory(file.data, file.len, &in, NULL), 0);
	ck_assert_int_eq(perf_data_read_here(in, profile_sink(p), here, NULL), 0);
	ck_assert_str_eq(stack_text(p, 0),
			 is_deleted ? "/lib/a.so (deleted)+0x10" : "/lib/a.so+0x10");
	ck_assert_str_eq(stack_text(p, 1), "/lib/a.so+0x10");
	input_close(in);
	profile_free(p);
	buf_done(&file);
	buf_done(&f.data);
}

/* perf reads its table of build ids when the recording ends: that of a replaced file is the new
 * one's. */
START_TEST(replaced_files_have_no_names)
{
	static const char *const hosts[] = { "db7", "db8" };

	for (int i = 0; i < 2; i++) {
		const struct format_here here = { .host = hosts[i],
						  .code_name = jit_name,
						  .is_replaced = is_replaced };

		check_two_mappings(&here, NULL, i == 0);
	}
}
END_TEST

static bool is_newer(const char *path, int64_t than_ns)
{
	return strcmp(path, "/lib/a.so") == 0 && than_ns < 100;
}

/* Writing a file again does not change its inode. A build id shows the right content. */
START_TEST(files_written_after_the_recording_have_no_names)
{
	static const int64_t written_ns[] = { 99, 100, 0 };

	for (int i = 0; i < 3; i++) {
		const struct format_here here = { .host = "db7",
						  .is_newer = is_newer,
						  .written_ns = written_ns[i] };

		check_two_mappings(&here, build_id, i == 0);
	}
}
END_TEST

static bool are_two(const char *a, const char *b, const uint8_t *id, size_t len)
{
	ck_assert_uint_eq(len, 20);
	ck_assert_mem_eq(id, build_id, 20);
	return strcmp(a, "/bin/one") == 0 && strcmp(b, "/bin/two") == 0;
}

/* Linkers write any id that they are given. A file that this machine has under two paths is one. */
START_TEST(two_files_with_one_build_id)
{
	static const char *const hosts[] = { "db7", "db8" };

	for (int i = 0; i < 2; i++) {
		const struct format_here here = { .host = hosts[i], .are_two = are_two };
		static const char *const paths[] = { "/bin/one", "/root/bin/one", "/bin/two" };
		struct pdf f = { .sample_type = PDF_SAMPLE_TYPE };
		struct profile *p = profile_new();
		struct input *in;
		for (uint32_t k = 0; k < 3; k++) {
			pdf_mmap2(&f, 10 + k, 0x1000, 0x1000, 0, paths[k], build_id, 0, 0);
			put_at(&f, 10 + k, 10 + k, 5 + k, 0x1010);
		}
		struct buf file = pdf_file(&f, &clock_event, 1);
		ck_assert_int_eq(input_open_memory(file.data, file.len, &in, NULL), 0);
		ck_assert_int_eq(perf_data_read_here(in, profile_sink(p), &here, NULL), 0);
		ck_assert_uint_eq(p->frames.mappings.n, i ? 1 : 2);
		ck_assert_str_eq(stack_text(p, 1), "/bin/one+0x10");
		ck_assert_str_eq(stack_text(p, 2), i ? "/bin/one+0x10" : "/bin/two+0x10");
		ck_assert_uint_eq(p->meta.loss[LOSS_BUILD_ID_SHARED], !i);
		input_close(in);
		profile_free(p);
		buf_done(&file);
		buf_done(&f.data);
	}
}
END_TEST

/* Only for recordings of this machine. */
START_TEST(generated_code_is_requested)
{
	static const char *const hosts[] = { "db7", "db8" };
	for (int i = 0; i < 2; i++) {
		struct format_here here = { .host = hosts[i], .code_name = jit_name };
		struct pdf f = { .sample_type = PDF_SAMPLE_TYPE };
		put_world(&f);
		put_at(&f, 10, 10, 5, 0x7f1000000010);
		put_at(&f, 10, 10, 6, 0x7f1000000018);
		struct buf file = pdf_file(&f, &clock_event, 1);
		struct input *in;
		struct profile *p = profile_new();
		ck_assert_int_eq(input_open_memory(file.data, file.len, &in, NULL), 0);
		ck_assert_int_eq(perf_data_read_here(in, profile_sink(p), &here, NULL), 0);
		ck_assert_str_eq(stack_text(p, 0), i ? "[unknown]@[anon]" : "jitted");
		ck_assert_str_eq(stack_text(p, 1), "[unknown]@[anon]");
		input_close(in);
		profile_free(p);
		buf_done(&file);
		buf_done(&f.data);
	}
}
END_TEST

/* --- files that are none ---------------------------------------------------------------------- */

struct damage {
	size_t at; /* 8 bytes of the header */
	uint64_t value;
	const char *words;
};

START_TEST(headers_that_cannot_be)
{
	static const struct damage damages[] = {
		{ 16, 0, "no events" },
		{ 16, UINT64_MAX, "no events" },
		{ 16, 40, "cannot be read" },
		{ 24, UINT64_MAX - 8, "after the end" },
		{ 32, 0, "no events" },
		{ 32, UINT64_MAX, "section of" },
		{ 40, 0, "no data section" },
		{ 40, UINT64_MAX, "no data section" },
		{ 48, UINT64_MAX, "no data section" },
	};
	struct pdf f = recording(false);
	for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
		struct buf file = pdf_file(&f, both(), 2);
		struct profile *p;
		struct err err = { 0 };
		memcpy(file.data + damages[i].at, &damages[i].value, 8);
		ck_assert_int_eq(read_bytes(file.data, file.len, &p, &err), -EBADMSG);
		ck_assert_msg(strstr(err.text, damages[i].words) != NULL, "%zu: %s", i, err.text);
		profile_free(p);
		buf_done(&file);
	}
	buf_done(&f.data);
}
END_TEST

/* An impossible record ends the reading: samples before it stay. */
START_TEST(damage_in_the_middle)
{
	struct pdf f = recording(false);
	pdf_begin(&f, PERF_RECORD_SAMPLE, 0); /* of size 0 */
	put_at(&f, 10, 10, 5000, 0x400100);
	struct profile *p = read_file(pdf_file(&f, both(), 2));
	ck_assert_uint_eq(p->samples.n, 4);
	ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 1);
	profile_free(p);
	buf_done(&f.data);
}
END_TEST

START_TEST(other_files_are_left_alone)
{
	static const char *const texts[] = { "PERFILE", "PERFFILE\x68\0\0\0\0\0\0\0",
					     "main;work 5\nmain 6\n", "" };
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		ck_assert(!perf_data_detect(texts[i], strlen(texts[i])));
	struct pdf f = recording(true);
	struct buf file = pdf_pipe(&f, both(), 2);
	ck_assert(perf_data_detect(file.data, file.len));
	buf_done(&file);
	buf_done(&f.data);
}
END_TEST

UNIT_MAIN("perf_data", every_record_has_its_meaning, byte_order_and_way_change_nothing,
	  compressed_records_are_the_same, a_killed_recording_is_read, cut_anywhere,
	  any_byte_changed, losses_and_passed_over_data, build_ids_of_the_table,
	  replaced_files_have_no_names, files_written_after_the_recording_have_no_names,
	  two_files_with_one_build_id, generated_code_is_requested, headers_that_cannot_be,
	  damage_in_the_middle, other_files_are_left_alone)
