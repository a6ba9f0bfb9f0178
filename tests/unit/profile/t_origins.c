// tier: test
/* The origin of names is kept: through recordings, merging and selecting; and trees of binaries keep their sums. */
#include "random_profile.h"
#include "shell.h"

#include "base/err.h"
#include "base/mem.h"
#include "format/formats.h"
#include "profile/tree/select.h"
#include "profile/tree/top.h"
#include "profile/tree/tree.h"
#include "store/recording/recording.h"

static uint32_t mapping_called(struct profile *p, const char *path, uint64_t identity)
{
	struct sink *s = profile_sink(p);
	struct mapping m = { .name = sink_string(s, path), .identity = identity };
	return s->ops->mapping(s, &m);
}

static void add(struct profile *p, const char *path, const char *origin, uint64_t frames)
{
	struct sink *s = profile_sink(p);
	s->ops->origin(s, mapping_called(p, path, 1), sink_string(s, origin), frames);
}

static int text_cmp(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* "/a .symtab 3|/b  1|", sorted. */
static const char *said(const struct profile *p)
{
	static char text[1024];
	char *rows[32];
	size_t n = p->origins.all.n, len = 0;
	ck_assert_uint_le(n, 32);
	for (size_t i = 0; i < n; i++) {
		const struct origin *o = &p->origins.all.v[i];
		rows[i] = xasprintf("%s %s %llu|",
				    profile_str(p, p->frames.mappings.v[o->mapping].name),
				    profile_str(p, o->name), (unsigned long long)o->frames);
	}
	if (n)
		qsort(rows, n, sizeof *rows, text_cmp);
	text[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		len += snprintf(text + len, sizeof text - len, "%s", rows[i]);
		free(rows[i]);
	}
	return text;
}

START_TEST(they_add_up)
{
	struct profile *p = profile_new();
	add(p, "/b", "", 1);
	add(p, "/a", ".symtab", 3);
	add(p, "/a", "dwarf", 5);
	add(p, "/a", ".symtab", 4);
	add(p, "/a", "much", UINT64_MAX - 1);
	add(p, "/a", "much", 7);
	ck_assert_str_eq(said(p), "/a .symtab 7|/a dwarf 5|/a much 18446744073709551615|/b  1|");
	profile_free(p);
}
END_TEST

START_TEST(recordings_preserve_them)
{
	char dir[32], path[64];
	struct recorder *rec;
	struct err err = { 0 };
	struct profile *p = profile_new(), *again;
	temp_dir(dir);
	snprintf(path, sizeof path, "%s/r.cresset", dir);
	ck_assert_int_eq(recorder_open(path, &rec, &err), 0);
	for (int i = 1; i <= 3; i++) {
		add(p, "/a", ".symtab", i);
		if (i != 2)
			add(p, "/b", "", 10);
		ck_assert_int_eq(recorder_commit(rec, p, &err), 0);
	}
	ck_assert_int_eq(recorder_finish(rec, p, &err), 0);
	again = profile_new();
	ck_assert_int_eq(format_read_file(path, NULL, profile_sink(again), &err), 0);
	ck_assert_str_eq(said(again), "/a .symtab 6|/b  20|");
	profile_free(again);
	profile_free(p);
	shell_do("rm -r %s", dir);
}
END_TEST

START_TEST(merging_adds_them)
{
	struct profile *p = profile_new(), *q = profile_new();
	add(p, "/a", ".symtab", 1);
	add(p, "/b", "", 2);
	sink_string(profile_sink(q), "shifts ids");
	add(q, "/c", "dwarf", 3);
	add(q, "/a", ".symtab", 4);
	profile_merge(p, q);
	ck_assert_str_eq(said(p), "/a .symtab 5|/b  2|/c dwarf 3|");
	profile_free(p);
	profile_free(q);
}
END_TEST

/* Unreferenced mappings are removed with their origins. */
START_TEST(selecting_preserves_the_rest)
{
	struct random_profile r =
		random_profile(11, (struct random_shape){ .n_stacks = 40, .n_samples = 100 });
	struct profile *part;
	struct err err = { 0 };
	bool *types = xcalloc(r.p->series.types.n, sizeof *types);
	struct select_opts opts = { .types = types };
	add(r.p, "/nobody/is/here", ".symtab", 9);
	ck_assert_int_eq(profile_select(r.p, &opts, &part, &err), 0);
	ck_assert_str_eq(said(part), "");
	profile_free(part);
	uint32_t name = r.p->frames.mappings.v[0].name;
	struct sink *s = profile_sink(r.p);
	s->ops->origin(s, 0, sink_string(s, "dwarf"), 2);
	memset(types, 1, r.p->series.types.n);
	char want[128];
	snprintf(want, sizeof want, "%s dwarf 2|", profile_str(r.p, name));
	ck_assert_int_eq(profile_select(r.p, &opts, &part, &err), 0);
	ck_assert_str_eq(said(part), want);
	profile_free(part);
	profile_free(r.p);
	free(types);
}
END_TEST

/* --- trees of binaries ------------------------------------------------------------------------------------------------ */

/* Every binary has the self time of its functions together, and the total is the same. */
START_TEST(binaries_have_the_sums_of_their_functions)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct random_profile r = random_profile(
			seed, (struct random_shape){ .n_stacks = 60, .n_samples = 300 });
		struct tree_opts opts = {
			.type = r.p->series.series.v[r.p->samples.series[0]].type
		};
		struct tree *t;
		struct err err = { 0 };
		struct top_table functions = { 0 }, binaries = { 0 };
		ck_assert_int_eq(tree_build(r.p, &opts, &t, &err), 0);
		struct tree *b = tree_by_binary(t);
		top_build(t, &functions);
		top_build(b, &binaries);
		ck_assert_int_eq(b->nodes.v[TREE_ROOT].total, t->nodes.v[TREE_ROOT].total);
		for (size_t i = 0; i < binaries.rows.n; i++) {
			const struct tree_func *f = &b->funcs.v[binaries.rows.v[i].func];
			int64_t self = 0;
			for (size_t k = 0; k < functions.rows.n && f->binary; k++) {
				const struct tree_func *g = &t->funcs.v[functions.rows.v[k].func];
				if (g->kind == f->kind &&
				    !strcmp(strtab_get(&t->strings, g->binary),
					    strtab_get(&b->strings, f->binary)))
					self += functions.rows.v[k].self;
			}
			if (f->binary)
				ck_assert_int_eq(binaries.rows.v[i].self, self);
		}
		for (uint32_t i = 1; i < b->nodes.n; i++)
			ck_assert(b->nodes.v[i].parent == TREE_ROOT ||
				  b->nodes.v[i].func != b->nodes.v[b->nodes.v[i].parent].func);
		top_done(&functions);
		top_done(&binaries);
		tree_free(b);
		tree_free(t);
		profile_free(r.p);
	}
}
END_TEST

UNIT_MAIN("origins", they_add_up, recordings_preserve_them, merging_adds_them,
	  selecting_preserves_the_rest, binaries_have_the_sums_of_their_functions)
