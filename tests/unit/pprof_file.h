/* tests/unit/pprof_file.h: handmade pprof files, and profiles read from and written to memory. */
#ifndef CRESSET_TESTS_PPROF_FILE_H
#define CRESSET_TESTS_PPROF_FILE_H

#include "shell.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/input.h"
#include "base/pb.h"
#include "format/common/format.h"
#include "format/pprof/pprof.h"
#include "profile/profile.h"

/* A file being made: messages go to b, and text() returns the index of a string. */
struct pprof_file {
	struct buf b, strings;
	uint32_t n_strings;
};

static inline uint32_t file_text(struct pprof_file *f, const char *s)
{
	if (f->n_strings == 0) {
		pb_put_bytes(&f->strings, PROFILE_STRING_TABLE, "", 0);
		f->n_strings = 1;
	}
	pb_put_bytes(&f->strings, PROFILE_STRING_TABLE, s, strlen(s));
	return f->n_strings++;
}

static inline void file_value_type(struct pprof_file *f, uint32_t field, const char *type,
				   const char *unit)
{
	size_t mark = pb_begin(&f->b, field);
	pb_put_u64(&f->b, VALUE_TYPE_TYPE, file_text(f, type));
	pb_put_u64(&f->b, VALUE_TYPE_UNIT, file_text(f, unit));
	pb_end(&f->b, mark);
}

static inline void file_function(struct pprof_file *f, uint64_t id, const char *name,
				 const char *file, uint64_t start_line)
{
	size_t mark = pb_begin(&f->b, PROFILE_FUNCTION);
	pb_put_u64(&f->b, FUNCTION_ID, id);
	pb_put_u64(&f->b, FUNCTION_NAME, file_text(f, name));
	pb_put_u64(&f->b, FUNCTION_FILENAME, file_text(f, file));
	pb_put_u64(&f->b, FUNCTION_START_LINE, start_line);
	pb_end(&f->b, mark);
}

static inline void file_mapping(struct pprof_file *f, uint64_t id, uint64_t start, uint64_t limit,
				uint64_t offset, const char *name, const char *build_id)
{
	size_t mark = pb_begin(&f->b, PROFILE_MAPPING);
	pb_put_u64(&f->b, MAPPING_ID, id);
	pb_put_u64(&f->b, MAPPING_START, start);
	pb_put_u64(&f->b, MAPPING_LIMIT, limit);
	pb_put_u64(&f->b, MAPPING_OFFSET, offset);
	pb_put_u64(&f->b, MAPPING_FILENAME, file_text(f, name));
	pb_put_u64(&f->b, MAPPING_BUILD_ID, file_text(f, build_id));
	pb_end(&f->b, mark);
}

/* functions: ids, innermost first, ended by 0; each at line 10 * id. */
static inline void file_location(struct pprof_file *f, uint64_t id, uint64_t mapping,
				 uint64_t address, const uint64_t *functions)
{
	size_t mark = pb_begin(&f->b, PROFILE_LOCATION);
	pb_put_u64(&f->b, LOCATION_ID, id);
	pb_put_u64(&f->b, LOCATION_MAPPING_ID, mapping);
	pb_put_u64(&f->b, LOCATION_ADDRESS, address);
	for (; functions && *functions; functions++) {
		size_t line = pb_begin(&f->b, LOCATION_LINE);
		pb_put_u64(&f->b, LINE_FUNCTION_ID, *functions);
		pb_put_u64(&f->b, LINE_LINE, 10 * *functions);
		pb_end(&f->b, line);
	}
	pb_end(&f->b, mark);
}
#define LINES(...) ((const uint64_t[]){ __VA_ARGS__, 0 })

/* One location and one value. */
static inline void file_sample(struct pprof_file *f, uint64_t location, int64_t value)
{
	size_t mark = pb_begin(&f->b, PROFILE_SAMPLE);
	pb_put_u64(&f->b, SAMPLE_LOCATION_ID, location);
	pb_put_u64(&f->b, SAMPLE_VALUE, value);
	pb_end(&f->b, mark);
}

static inline void file_end(struct pprof_file *f)
{
	buf_add(&f->b, f->strings.data, f->strings.len);
	buf_done(&f->strings);
}

static inline int read_bytes(const void *data, size_t len, struct profile *p, struct err *err)
{
	struct input *in;
	ck_assert_int_eq(input_open_memory(data, len, &in, err), 0);
	int rc = pprof_read(in, profile_sink(p), err);
	input_close(in);
	return rc;
}

/* The profile of a valid file; the caller frees it. */
static inline struct profile *profile_of_bytes(const void *data, size_t len)
{
	struct profile *p = profile_new();
	struct err err = { 0 };
	int rc = read_bytes(data, len, p, &err);
	ck_assert_msg(rc == 0, "%s", err.text);
	return p;
}

/* Ends the file and reads it. */
static inline struct profile *profile_of_file(struct pprof_file *f)
{
	file_end(f);
	struct profile *p = profile_of_bytes(f->b.data, f->b.len);
	buf_done(&f->b);
	return p;
}

/* The writer's output for p, still compressed. */
static inline struct buf written_bytes(struct profile *p, const char *type)
{
	struct format_write_opts opts = { .type = type };
	struct err err = { 0 };
	struct buf b = { 0 };
	struct out out = { .fd = memfd_create("written", MFD_CLOEXEC) };
	int rc = pprof_write(p, &opts, &out, &err);
	ck_assert_msg(rc == 0, "%s", err.text);
	ck_assert_int_eq(out_flush(&out, &err), 0);
	ck_assert_int_eq(lseek(out.fd, 0, SEEK_SET), 0);
	ck_assert_int_eq(fs_read_fd(out.fd, 1 << 30, &b, &err), 0);
	close(out.fd);
	out_abort(&out);
	return b;
}

static inline struct profile *written_and_read(struct profile *p)
{
	struct buf b = written_bytes(p, NULL);
	struct profile *again = profile_of_bytes(b.data, b.len);
	buf_done(&b);
	return again;
}

#endif
