/* tests/unit/names_db_world.h: a database of names in its own directory, profiles whose frames have given names, and what a profile's frames are named. */
#ifndef CRESSET_TESTS_NAMES_DB_WORLD_H
#define CRESSET_TESTS_NAMES_DB_WORLD_H

#include "base/err.h"
#include "base/mem.h"
#include "profile/frame.h"
#include "profile/profile.h"
#include "profile/sink.h"
#include "store/names/names_db.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAPPINGS = 5, OFFSETS = 3000 };

static inline char *directory(void)
{
	char path[] = "/tmp/cresset-names-XXXXXX";

	ck_assert_ptr_nonnull(mkdtemp(path));
	return xstrdup(path);
}

static inline char *db_file(const char *dir)
{
	return xasprintf("%s/names.db", dir);
}

static inline void remove_directory(char *dir)
{
	char *command = xasprintf("rm -r '%s'", dir);

	ck_assert_int_eq(system(command), 0);
	free(command);
	free(dir);
}

static inline struct names_db *open_db_of(const char *dir, const struct names_db_opts *opts)
{
	char *path = db_file(dir);
	struct names_db *db = NULL;
	struct err err = { 0 };

	ck_assert_msg(names_db_open(path, opts, &db, &err) == 0, "%s", err.text);
	free(path);
	return db;
}

static inline struct names_db *open_db(const char *dir, bool read_only)
{
	return open_db_of(dir, &(struct names_db_opts){ .read_only = read_only });
}

/* --- profiles --------------------------------------------------------------------------------- */

/* Mapping n as in every profile of these tests: two are identified by build id, one by its text, two by name and hash. */
static inline uint32_t add_mapping(struct profile *p, uint32_t n)
{
	struct sink *s = profile_sink(p);
	char name[32];

	snprintf(name, sizeof name, "/lib/m%u.so", n);
	struct mapping m = { .name = sink_string(s, name) };
	if (n < 2) {
		m.build_id_len = 20;
		memset(m.build_id, (int)n + 1, 20);
	} else if (n == 2) {
		m.build_id_text = sink_string(s, "not hex");
	} else {
		m.identity = 7;
	}
	return s->ops->mapping(s, &m);
}

/* Some are kernel addresses. */
static inline uint64_t offset_of(uint32_t i)
{
	return i % 3 ? 0x1000 + i * 5 : 0xffffffff81000000ull + i * 5;
}

static inline uint32_t add_frame(struct profile *p, uint32_t mapping, uint32_t i)
{
	struct sink *s = profile_sink(p);

	return s->ops->frame(s, &(struct frame){ .kind = FRAME_NATIVE,
						 .mapping = add_mapping(p, mapping),
						 .offset = offset_of(i) });
}

/* A list of n lines; `file` and `number` say whether they have these. */
struct given {
	uint32_t name, n;
	bool file, number;
};

static inline void name_frame(struct profile *p, uint32_t frame, const struct given *g)
{
	struct sink *s = profile_sink(p);
	struct line lines[4];

	for (uint32_t k = 0; k < g->n; k++) {
		char name[64];

		snprintf(name, sizeof name, "f%u_%u", g->name, k);
		struct function f = { .name = sink_string(s, name) };
		if (g->file)
			f.file = sink_string(s, "a.c");
		f.start_line = g->name % 7;
		lines[k] = (struct line){ s->ops->function(s, &f), g->number ? 10 + k : 0,
					  k == 0 && g->name % 5 == 0 ? LINE_FOLDED : 0 };
	}
	s->ops->names(s, frame, lines, g->n);
}

static inline void check_frame(const struct profile *p, uint32_t frame, const struct given *g)
{
	const struct line *lines;

	ck_assert_uint_eq(names_get(&p->names, frame, &lines), g->n);
	for (uint32_t k = 0; k < g->n; k++) {
		const struct function *f = &p->names.functions.v[lines[k].function];
		char name[64];

		snprintf(name, sizeof name, "f%u_%u", g->name, k);
		ck_assert_str_eq(profile_str(p, f->name), name);
		ck_assert_str_eq(profile_str(p, f->file), g->file ? "a.c" : "");
		ck_assert_uint_eq(f->start_line, g->name % 7);
		ck_assert_uint_eq(lines[k].line, g->number ? 10 + k : 0);
		ck_assert_uint_eq(lines[k].column, k == 0 && g->name % 5 == 0 ? LINE_FOLDED : 0);
	}
}

static inline void apply_all(struct names_db *db, struct profile *p, struct names_applied *a)
{
	struct err err = { 0 };

	ck_assert_msg(names_db_apply(db, p, a, NULL, 0, &err) == 0, "%s", err.text);
}

static inline void write_all(struct names_db *db)
{
	struct err err = { 0 };

	ck_assert_msg(names_db_write(db, &err) == 0, "%s", err.text);
	ck_assert_uint_eq(names_db_gathered_bytes(db), 0);
	ck_assert_uint_eq(names_db_first_sequence(db), UINT64_MAX);
}

static inline void add(struct names_db *db, struct profile *p, int32_t day)
{
	names_db_add(db, p, day, 1);
}

static inline void offer(struct names_db *db, const struct given *g)
{
	struct profile *p = profile_new();

	name_frame(p, add_frame(p, 0, 1), g);
	add(db, p, 1);
	profile_free(p);
}

#endif
