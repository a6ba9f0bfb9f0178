/* tests/unit/read_text.h: reads profiles from text in any format, and checks their contents. */
#ifndef CRESSET_TESTS_READ_TEXT_H
#define CRESSET_TESTS_READ_TEXT_H

#include "base/buf.h"
#include "base/err.h"
#include "format/formats.h"
#include "written.h"

#include <errno.h>

/* NULL when it cannot be read; *err then gives the reason. */
static inline struct profile *read_bytes(const struct format *f, const void *data, size_t len,
					 struct err *err)
{
	struct profile *p = profile_new();
	struct input *in;
	ck_assert_int_eq(input_open_memory(data, len, &in, err), 0);
	int rc = f->read(in, profile_sink(p), err);
	input_close(in);
	if (rc == 0)
		return p;
	ck_assert_int_lt(rc, 0);
	profile_free(p);
	return NULL;
}

static inline struct profile *read_text(const struct format *f, const char *text)
{
	struct err err = { 0 };
	struct profile *p = read_bytes(f, text, strlen(text), &err);
	ck_assert_msg(p != NULL, "%s in %.200s", err.text, text);
	return p;
}

static inline struct profile *read_golden(const char *path)
{
	struct profile *p = profile_new();
	struct err err = { 0 };
	ck_assert_msg(format_read_file(path, NULL, profile_sink(p), &err) == 0, "%s", err.text);
	return p;
}

/* One type as folded stacks; type NULL: the default; the caller frees it. */
static inline char *folded_type(struct profile *p, const char *type, const char *unit)
{
	struct format_write_opts opts = { .type = type, .unit = unit };
	return written(&format_folded, p, &opts);
}

/* Checks the folded stacks that a text yields, and how much of it was skipped. */
static inline void check_folded(const struct format *f, const char *text, const char *type,
				const char *unit, const char *want, uint64_t skipped)
{
	struct profile *p = read_text(f, text);
	char *got = folded_type(p, type, unit);
	ck_assert_msg(strcmp(got, want) == 0, "%s\ngives\n%s\nnot\n%s", text, got, want);
	ck_assert_msg(p->meta.loss[LOSS_INPUT_SKIPPED] == skipped, "%s\nskips %llu, not %llu", text,
		      (unsigned long long)p->meta.loss[LOSS_INPUT_SKIPPED],
		      (unsigned long long)skipped);
	free(got);
	profile_free(p);
}

static inline void check_refused(const struct format *f, const char *text, const char *words)
{
	struct err err = { 0 };
	struct profile *p = read_bytes(f, text, strlen(text), &err);
	ck_assert_msg(p == NULL, "%s can be read", text);
	ck_assert_int_eq(err.code, EBADMSG);
	ck_assert_msg(strstr(err.text, words) != NULL, "%s", err.text);
}

/* Data cut after any byte is read or refused, and its format is detected or not; nothing else happens. */
static inline void check_cut_anywhere(const struct format *f, const char *data, size_t len)
{
	for (size_t n = 0; n < len; n++) {
		struct err err = { 0 };
		char *copy = malloc(n + 1); /* so that an overread is seen */
		memcpy(copy, data, n);
		f->detect(copy, n);
		profile_free(read_bytes(f, copy, n, &err));
		free(copy);
	}
}

static inline void check_cut_file(const struct format *f, const char *path)
{
	struct buf b = { 0 };
	ck_assert_int_eq(fs_read_at(AT_FDCWD, path, 1 << 20, &b, NULL), 0);
	check_cut_anywhere(f, b.data, b.len);
	buf_done(&b);
}

#endif
