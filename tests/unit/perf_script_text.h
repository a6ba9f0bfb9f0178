/* tests/unit/perf_script_text.h: profiles from the text of perf script, and their content. */
#ifndef CRESSET_TESTS_PERF_SCRIPT_TEXT_H
#define CRESSET_TESTS_PERF_SCRIPT_TEXT_H

#include "written.h"

#include "base/buf.h"
#include "base/err.h"
#include "format/perf_script/perf_script.h"

#define GOLDEN "tests/golden/perf-script/"

static inline struct profile *read_bytes(const char *text, size_t len)
{
	struct profile *p = profile_new();
	struct err err = { 0 };
	struct input *in;
	ck_assert_int_eq(input_open_memory(text, len, &in, &err), 0);
	int rc = perf_script_read(in, profile_sink(p), &err);
	ck_assert_msg(rc == 0, "%s", err.text);
	input_close(in);
	return p;
}

static inline struct profile *read_text(const char *text)
{
	return read_bytes(text, strlen(text));
}

static inline struct buf file_bytes(const char *path)
{
	struct buf b = { 0 };
	ck_assert_int_eq(fs_read_at(AT_FDCWD, path, 1u << 30, &b, NULL), 0);
	return b;
}

static inline char *folded_of(struct profile *p, enum tree_by by, unsigned annotate)
{
	struct format_write_opts opts = { .annotate = annotate };
	opts.tree.by[0] = by;
	opts.tree.n_by = 1;
	return written(&format_folded, p, &opts);
}

/* stackcollapse-perf.pl loses a last sample without an empty line after it. We do not; files that end like that are cut before it for the
 * comparison. */
static inline struct profile *read_golden(const char *name)
{
	char path[128];
	snprintf(path, sizeof path, GOLDEN "%s.txt", name);
	struct buf b = file_bytes(path);
	while (b.len >= 2 && memcmp(b.data + b.len - 2, "\n\n", 2) != 0)
		b.len--;
	struct profile *p = read_bytes(b.data, b.len);
	buf_done(&b);
	return p;
}

#endif
