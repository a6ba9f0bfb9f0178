/* tests/unit/written.h: profiles from folded text, and the output of the writers. */
#ifndef CRESSET_TESTS_WRITTEN_H
#define CRESSET_TESTS_WRITTEN_H

#include "shell.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/input.h"
#include "format/common/format.h"
#include "format/folded/folded.h"
#include "profile/profile.h"

/* The kind of a frame, as in stackcollapse-perf.pl --all; not the state of its thread. */
enum { ANNOTATE_KINDS = ANNOTATE_ALL & ~(1 << ANNOTATE_ON_CPU | 1 << ANNOTATE_OFF_CPU) };

/* A profile with these stacks; to be freed with profile_free. */
static inline struct profile *folded_profile(const char *text)
{
	struct profile *p = profile_new();
	struct err err = { 0 };
	struct input *in;
	ck_assert_int_eq(input_open_memory(text, strlen(text), &in, &err), 0);
	ck_assert_msg(format_folded.read(in, profile_sink(p), &err) == 0, "%s", err.text);
	input_close(in);
	return p;
}

static inline struct tree *built_tree(struct profile *p, const struct tree_opts *opts)
{
	struct tree_opts o = opts ? *opts : (struct tree_opts){ 0 };
	struct err err = { 0 };
	struct tree *t;
	o.type = profile_pick_type(p, NULL);
	ck_assert_msg(tree_build(p, &o, &t, &err) == 0, "%s", err.text);
	return t;
}

/* The content of the written file, which is removed; to be freed. NULL when it was not written. */
static inline char *taken_file(const char *dir, const char *name)
{
	char path[64];
	struct buf b = { 0 };
	snprintf(path, sizeof path, "%s/%s", dir, name);
	if (fs_read_at(AT_FDCWD, path, 1u << 30, &b, NULL))
		return NULL;
	unlink(path);
	return buf_steal(&b);
}

/* The whole output of a format; to be freed. */
static inline char *written(const struct format *f, struct profile *p,
			    const struct format_write_opts *opts)
{
	char dir[32], path[64];
	struct err err = { 0 };
	temp_dir(dir);
	snprintf(path, sizeof path, "%s/out", dir);
	ck_assert_msg(format_write_file(f, p, opts, path, &err) == 0, "%s", err.text);
	char *text = taken_file(dir, "out");
	ck_assert_ptr_nonnull(text);
	ck_assert_int_eq(rmdir(dir), 0); /* nothing else was left there */
	return text;
}

/* The only frame with this name. */
static inline const struct frame *frame_named(const struct profile *p, const char *name)
{
	uint32_t id = strtab_find(&p->strings, name);
	for (size_t i = 0; i < p->frames.frames.n; i++)
		if (p->frames.frames.v[i].mapping == MAPPING_NONE &&
		    p->frames.frames.v[i].function == id)
			return &p->frames.frames.v[i];
	ck_abort_msg("no frame %s", name);
}

#endif
