// tier: test
/* Which functions of two builds are the same: one case per rule of docs/internals/differences.tsv, and what must stay apart. */
#include "unit.h"

#include "profile/frame.h"
#include "profile/tree/top.h"
#include "profile/tree/tree_match.h"

enum { NEW = 1, OLD = 2 };

/* A function on one or both sides, with a self value of 10 (or `self`). */
struct made_func {
	int sides;
	const char *name, *binary, *file;
	enum frame_kind kind;
	int64_t self;
};

static void add(struct tree *t, const struct made_func *m)
{
	struct tree_func f = { .name = strtab_put(&t->strings, m->name),
			       .binary = strtab_put(&t->strings, m->binary),
			       .file = strtab_put(&t->strings, m->file),
			       .kind = m->kind };
	uint32_t node = tree_child(t, TREE_ROOT, tree_func_intern(t, &f));
	t->nodes.v[node].self += m->self ? m->self : 10;
}

struct sides {
	struct tree *newer, *older;
	struct tree_match match;
};

static struct sides sides_of(const struct made_func *funcs, size_t n, bool is_strict)
{
	struct sides s = { tree_new(), tree_new(), { 0 } };
	for (size_t i = 0; i < n; i++) {
		if (funcs[i].sides & NEW)
			add(s.newer, &funcs[i]);
		if (funcs[i].sides & OLD)
			add(s.older, &funcs[i]);
	}
	tree_total(s.newer);
	tree_total(s.older);
	tree_match_init(&s.match, s.newer, s.older, is_strict);
	return s;
}

static void sides_done(struct sides *s)
{
	tree_match_done(&s->match);
	tree_free(s->newer);
	tree_free(s->older);
}

/* The function that stands for funcs[i] of this side. */
static uint32_t stands(const struct sides *s, const struct made_func *f, int side)
{
	const struct tree *t = side == NEW ? s->newer : s->older;
	for (uint32_t i = 1; i < t->funcs.n; i++) {
		const struct tree_func *have = &t->funcs.v[i];
		if (strcmp(strtab_get(&t->strings, have->name), f->name) == 0 &&
		    strcmp(strtab_get(&t->strings, have->binary), f->binary ? f->binary : "") ==
			    0 &&
		    strcmp(strtab_get(&t->strings, have->file), f->file ? f->file : "") == 0 &&
		    have->kind == f->kind)
			return (side == NEW ? s->match.newer : s->match.older)[i];
	}
	ck_abort_msg("%s is not there", f->name);
}

/* Asserts which of the functions are the same: groups has a letter for each. */
static void assert_groups(const struct made_func *funcs, const char *groups)
{
	size_t n = strlen(groups);
	struct sides s = sides_of(funcs, n, false);
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < i; k++) {
			uint32_t a = stands(&s, &funcs[i], funcs[i].sides & NEW ? NEW : OLD);
			uint32_t b = stands(&s, &funcs[k], funcs[k].sides & NEW ? NEW : OLD);
			ck_assert_msg((a == b) == (groups[i] == groups[k]), "%s %s, %s %s",
				      funcs[i].name, funcs[i].file, funcs[k].name, funcs[k].file);
		}
		if (funcs[i].sides == (NEW | OLD))
			ck_assert_uint_eq(stands(&s, &funcs[i], NEW), stands(&s, &funcs[i], OLD));
	}
	sides_done(&s);
}

#define GROUPS(groups, ...) assert_groups((const struct made_func[]){ __VA_ARGS__ }, groups)

START_TEST(equal_functions_are_the_same)
{
	static const struct made_func f[] = {
		{ NEW | OLD, "f", "app", "/a/x.c", FRAME_NATIVE, 0 },
		{ NEW | OLD, "f.isra.0", "app", "/a/x.c", FRAME_NATIVE, 0 },
		{ NEW | OLD, "f", "app", "/a/y.c", FRAME_NATIVE, 0 },
		{ NEW | OLD, "app+0x10", "app", "", FRAME_NATIVE, 0 },
		{ OLD, "g", "app", "", FRAME_NATIVE, 0 },
	};
	assert_groups(f, "abcde");
	struct sides s = sides_of(f, 5, false);
	ck_assert(s.match.is_exact);
	for (uint32_t i = 0; i < s.match.n; i++)
		ck_assert_uint_eq(s.match.how[i], MATCH_EXACT);
	sides_done(&s);
}
END_TEST

START_TEST(directories_versions_and_clones_differ)
{
	GROUPS("aa", { OLD, "f", "app", "/b1/x.c", FRAME_NATIVE, 0 },
	       { NEW, "f", "app", "/b2/x.c", FRAME_NATIVE, 0 });
	GROUPS("aa", { OLD, "f", "libx-1.2.so", "", FRAME_NATIVE, 0 },
	       { NEW, "f", "libx.so.2", "", FRAME_NATIVE, 0 });
	GROUPS("aa", { OLD, "f", "app", "", FRAME_NATIVE, 0 },
	       { NEW, "f", "app (deleted)", "", FRAME_NATIVE, 0 });
	GROUPS("aaa", { OLD, "f", "app", "x.c", FRAME_NATIVE, 0 },
	       { NEW, "f.isra.0", "app", "x.c", FRAME_NATIVE, 0 },
	       { NEW, "f.cold", "app", "x.c", FRAME_NATIVE, 0 });
	GROUPS("aab", { OLD, "j.scan", "", "/m/j@v1.2.3/d.go", FRAME_GO, 0 },
	       { NEW, "j.scan", "", "/m/j@v1.2.4/d.go", FRAME_GO, 0 },
	       { NEW, "j.Scan", "", "/m/j@v1.2.4/d.go", FRAME_GO, 0 });
}
END_TEST

START_TEST(names_binaries_and_kinds_differ)
{
	GROUPS("ab", { OLD, "f", "app", "", FRAME_NATIVE, 0 },
	       { NEW, "f", "other", "", FRAME_NATIVE, 0 });
	GROUPS("ab", { OLD, "f", "app", "", FRAME_NATIVE, 0 },
	       { NEW, "f", "app", "", FRAME_KERNEL, 0 });
	GROUPS("ab", { OLD, "f", "app", "", FRAME_NATIVE, 0 },
	       { NEW, "g", "app", "", FRAME_NATIVE, 0 });
	GROUPS("ab", { OLD, "bash-1.0", "", "", FRAME_MARKER, 0 },
	       { NEW, "bash-1.1", "", "", FRAME_MARKER, 0 });
}
END_TEST

START_TEST(files_distinguish_functions_of_one_name)
{
	GROUPS("abab", { OLD, "init", "app", "/b1/src/a/util.c", FRAME_NATIVE, 0 },
	       { OLD, "init", "app", "/b1/src/b/util.c", FRAME_NATIVE, 0 },
	       { NEW, "init", "app", "/b2/src/a/util.c", FRAME_NATIVE, 0 },
	       { NEW, "init", "app", "/b2/src/b/util.c", FRAME_NATIVE, 0 });
	GROUPS("abb", { OLD, "init", "app", "/b1/a.c", FRAME_NATIVE, 0 },
	       { OLD, "init", "app", "/b1/b.c", FRAME_NATIVE, 0 },
	       { NEW, "init", "app", "/b2/b.c", FRAME_NATIVE, 0 });
	GROUPS("abc", { OLD, "init", "app", "/b1/a.c", FRAME_NATIVE, 0 },
	       { OLD, "init", "app", "/b1/b.c", FRAME_NATIVE, 0 },
	       { NEW, "init", "app", "/b2/c.c", FRAME_NATIVE, 0 });
	/* One side knows no files. */
	GROUPS("aaa", { OLD, "init", "app", "/b1/a.c", FRAME_NATIVE, 0 },
	       { OLD, "init", "app", "/b1/b.c", FRAME_NATIVE, 0 },
	       { NEW, "init", "app", "", FRAME_NATIVE, 0 });
	/* Moved to another file. */
	GROUPS("aa", { OLD, "init", "app", "/b1/a.c", FRAME_NATIVE, 0 },
	       { NEW, "init", "app", "/b2/b.c", FRAME_NATIVE, 0 });
	GROUPS("aabb", { OLD, "init", "app", "/b1/a.c", FRAME_NATIVE, 0 },
	       { NEW, "init", "app", "/b2/new.c", FRAME_NATIVE, 0 },
	       { OLD, "parse", "app", "/b1/a.c", FRAME_NATIVE, 0 },
	       { NEW, "parse", "app", "/b2/a.c", FRAME_NATIVE, 0 });
	/* To one of the same name, in another directory. */
	GROUPS("aab", { OLD, "parse", "app", "/b/util.c", FRAME_NATIVE, 0 },
	       { NEW, "parse", "app", "/b/core/util.c", FRAME_NATIVE, 0 },
	       { OLD | NEW, "main", "app", "/b/main.c", FRAME_NATIVE, 0 });
	/* Both files are on both sides: each side has another function. */
	GROUPS("abccdd", { OLD, "init", "app", "/b1/a.c", FRAME_NATIVE, 0 },
	       { NEW, "init", "app", "/b2/b.c", FRAME_NATIVE, 0 },
	       { OLD, "parse", "app", "/b1/a.c", FRAME_NATIVE, 0 },
	       { NEW, "parse", "app", "/b2/a.c", FRAME_NATIVE, 0 },
	       { OLD, "emit", "app", "/b1/b.c", FRAME_NATIVE, 0 },
	       { NEW, "emit", "app", "/b2/b.c", FRAME_NATIVE, 0 });
	GROUPS("abcd", { OLD, "init", "app", "/b/net/util.c", FRAME_NATIVE, 0 },
	       { NEW, "init", "app", "/b/disk/util.c", FRAME_NATIVE, 0 },
	       { OLD | NEW, "recv", "app", "/b/net/util.c", FRAME_NATIVE, 0 },
	       { OLD | NEW, "read", "app", "/b/disk/util.c", FRAME_NATIVE, 0 });
}
END_TEST

START_TEST(files_are_part_of_names_in_scripts)
{
	GROUPS("aa", { OLD, "run", "", "/b1/app.py", FRAME_PYTHON, 0 },
	       { NEW, "run", "", "/b2/app.py", FRAME_PYTHON, 0 });
	GROUPS("ab", { OLD, "run", "", "/b1/app.py", FRAME_PYTHON, 0 },
	       { NEW, "run", "", "/b2/web.py", FRAME_PYTHON, 0 });
	GROUPS("aa", { OLD, "loads", "", "/usr/lib/python3.11/json/__init__.py", FRAME_PYTHON, 0 },
	       { NEW, "loads", "", "/usr/lib/python3.12/json/__init__.py", FRAME_PYTHON, 0 });
	/* Both sides have both packages: one is not the other under a new name. */
	GROUPS("abcd", { OLD, "<module>", "", "/x/foo/__init__.py", FRAME_PYTHON, 0 },
	       { NEW, "<module>", "", "/x/bar/__init__.py", FRAME_PYTHON, 0 },
	       { NEW, "f", "", "/x/foo/f.py", FRAME_PYTHON, 0 },
	       { OLD, "g", "", "/x/bar/g.py", FRAME_PYTHON, 0 });
}
END_TEST

START_TEST(bundles_lose_their_hashes_if_one_has_the_name)
{
	GROUPS("aa", { OLD, "run", "", "/d/main.3f2a1b9c.js", FRAME_JS, 0 },
	       { NEW, "run", "", "/d/main.77e0c1d2.js", FRAME_JS, 0 });
	GROUPS("abc", { OLD, "t", "", "/d/index-3f2a1b9c.js", FRAME_JS, 0 },
	       { NEW, "t", "", "/d/index-77e0c1d2.js", FRAME_JS, 0 },
	       { NEW, "t", "", "/d/index-9d0e1f2a.js", FRAME_JS, 0 });
	/* The other bundle of a side may have other functions. */
	GROUPS("abc", { OLD, "t", "", "/d/index-3f2a1b9c.js", FRAME_JS, 0 },
	       { NEW, "t", "", "/d/index-77e0c1d2.js", FRAME_JS, 0 },
	       { OLD, "u", "", "/d/index-9d0e1f2a.js", FRAME_JS, 0 });
	GROUPS("aa", { OLD, "run", "", "/d/main.3f2a1b9c.js", FRAME_JS, 0 },
	       { NEW, "run", "", "/d/main.77e0c1d2.js", FRAME_JS, 0 },
	       { NEW, "run", "", "/e/main.9d0e1f2a.js", FRAME_JS, 0 });
}
END_TEST

START_TEST(major_versions_are_separate_if_both_exist)
{
	GROUPS("aa", { OLD, "x/j/v2.F", "", "/m/j/v2@v2.0.1/f.go", FRAME_GO, 0 },
	       { NEW, "x/j/v3.F", "", "/m/j/v3@v3.1.0/f.go", FRAME_GO, 0 });
	GROUPS("ab", { OLD | NEW, "x/j/v2.F", "", "/m/j/v2/f.go", FRAME_GO, 0 },
	       { NEW, "x/j/v3.F", "", "/m/j/v3/f.go", FRAME_GO, 0 });
}
END_TEST

/* Go and Java in recordings and pprof files: native code and code made at run time, whose source file
 * tells the language. */
START_TEST(source_files_tell_the_language)
{
	GROUPS("aa", { OLD, "x/j/v2.(*D).F", "app", "/m/j/v2@v2.0.1/f.go", FRAME_NATIVE, 0 },
	       { NEW, "x/j/v3.(*D).F", "app", "/m/j/v3@v3.1.0/g.go", FRAME_NATIVE, 0 });
	GROUPS("ab", { OLD, "x/j/v2.F", "app", "/m/j.c", FRAME_NATIVE, 0 },
	       { NEW, "x/j/v3.F", "app", "/m/j.c", FRAME_NATIVE, 0 });
	GROUPS("ab", { OLD, "main.main.func1.2", "app", "/m/m.go", FRAME_NATIVE, 0 },
	       { NEW, "main.main.func1.3", "app", "/m/m.go", FRAME_NATIVE, 0 });
	GROUPS("aa", { OLD, "main.run", "app", "", FRAME_NATIVE, 0 },
	       { NEW, "main.run", "app", "/m/m.go", FRAME_NATIVE, 0 });
	GROUPS("aa", { OLD, "main.M[go.shape.int_0]", "app", "/m/m.go", FRAME_NATIVE, 0 },
	       { NEW, "main.M[go.shape.int]", "app", "/m/m.go", FRAME_NATIVE, 0 });
	GROUPS("aa", { OLD, "Job$$Lambda$14/0x0000000800c8d440.run", "", "Job.java", FRAME_JIT, 0 },
	       { NEW, "Job$$Lambda$15/0x0000000800c8d888.run", "", "Job.java", FRAME_JIT, 0 });
}
END_TEST

/* Folded stacks have names only. */
START_TEST(names_without_kinds_have_a_language)
{
	GROUPS("aa", { OLD, "Job$$Lambda$14/0x0000000800c8d440.run", "", "", FRAME_NATIVE, 0 },
	       { NEW, "Job$$Lambda/0x0000000800c8d888.run", "", "", FRAME_NATIVE, 0 });
	GROUPS("aa", { OLD, "LazyCompile:*f /srv/b7/app.js:3:9", "", "", FRAME_NATIVE, 0 },
	       { NEW, "LazyCompile:~f /srv/b8/app.js:4:1", "", "", FRAME_NATIVE, 0 });
	GROUPS("ab", { OLD, "JS:~ /srv/b7/app.js:3:9", "", "", FRAME_NATIVE, 0 },
	       { NEW, "JS:~ /srv/b8/app.js:4:1", "", "", FRAME_NATIVE, 0 });
	GROUPS("ab", { OLD, "camlMain.fun_274", "", "", FRAME_NATIVE, 0 },
	       { NEW, "camlMain.fun_310", "", "", FRAME_NATIVE, 0 });
	GROUPS("aa", { OLD, "x.org/j/v2.F", "", "", FRAME_NATIVE, 0 },
	       { NEW, "x.org/j/v3.F", "", "", FRAME_NATIVE, 0 });
	GROUPS("ab", { OLD | NEW, "x.org/j/v2.F", "", "", FRAME_NATIVE, 0 },
	       { NEW, "x.org/j/v3.F", "", "", FRAME_NATIVE, 0 });
	GROUPS("ab", { OLD, "main.f.func1.2", "", "", FRAME_NATIVE, 0 },
	       { NEW, "main.f.func1.3", "", "", FRAME_NATIVE, 0 });
	GROUPS("aa", { OLD, "void [a] B::C()[QuickJitted]", "", "", FRAME_NATIVE, 0 },
	       { NEW, "void [a] B::C()[OptimizedTier1]", "", "", FRAME_NATIVE, 0 });
}
END_TEST

START_TEST(paths_in_names_are_files)
{
	GROUPS("aa", { OLD, "JS:*f /srv/b7/app.js:3:9", "", "", FRAME_JIT, 0 },
	       { NEW, "JS:f /srv/b8/app.js:4:9", "", "", FRAME_JIT, 0 });
	GROUPS("aba", { OLD, "py::run:/s/b7/x/__init__.py", "", "", FRAME_JIT, 0 },
	       { NEW, "py::run:/s/b8/y/__init__.py", "", "", FRAME_JIT, 0 },
	       { NEW, "py::run:/s/b8/x/__init__.py", "", "", FRAME_JIT, 0 });
	GROUPS("ab", { OLD | NEW, "py::run:/s/x/__init__.py", "", "", FRAME_JIT, 0 },
	       { NEW, "py::run:/s/y/__init__.py", "", "", FRAME_JIT, 0 });
	GROUPS("ab", { OLD | NEW, "JS:f /s/x/index.js:1:1", "", "", FRAME_NATIVE, 0 },
	       { NEW, "JS:f /s/y/index.js:1:1", "", "", FRAME_NATIVE, 0 });
}
END_TEST

START_TEST(addresses_of_two_builds_are_one_function)
{
	static const struct made_func f[] = {
		{ OLD, "app+0x10", "app", "", FRAME_NATIVE, 0 },
		{ NEW, "app+0x18", "app", "", FRAME_NATIVE, 0 },
		{ NEW, "app+0x28", "app", "", FRAME_NATIVE, 0 },
		{ OLD, "lib+0x10", "lib", "", FRAME_NATIVE, 0 },
		{ OLD | NEW, "main", "app", "", FRAME_NATIVE, 0 },
	};
	assert_groups(f, "aaabc");
	struct sides s = sides_of(f, 5, false);
	uint32_t fold = stands(&s, &f[0], OLD);
	ck_assert_uint_eq(s.match.how[fold], MATCH_NO_NAMES);
	ck_assert_str_eq(strtab_get(&s.match.names->strings, s.match.names->funcs.v[fold].name),
			 "[no names]");
	sides_done(&s);
	s = sides_of(f, 5, true);
	ck_assert(s.match.is_exact);
	ck_assert_uint_ne(stands(&s, &f[0], OLD), stands(&s, &f[1], NEW));
	sides_done(&s);
}
END_TEST

START_TEST(a_side_without_names_hides_those_of_the_other_one)
{
	GROUPS("aaaab", { OLD, "f", "app", "/x.c", FRAME_NATIVE, 60 },
	       { OLD, "g", "app", "/x.c", FRAME_NATIVE, 40 },
	       { NEW, "app+0x18", "app", "", FRAME_NATIVE, 70 },
	       { NEW, "app+0x28", "app", "", FRAME_NATIVE, 30 },
	       { NEW | OLD, "malloc", "libc.so.6", "", FRAME_NATIVE, 10 });
	/* So do files without binaries. */
	GROUPS("aab", { OLD, "f", "", "", FRAME_NATIVE, 60 },
	       { NEW, "app+0x18", "", "", FRAME_NATIVE, 60 },
	       { NEW | OLD, "malloc", "", "", FRAME_NATIVE, 40 });
	/* So do words of other programs, also if both sides have them. */
	GROUPS("aab", { OLD, "f", "app", "", FRAME_NATIVE, 60 },
	       { NEW, "[unknown]", "app", "", FRAME_NATIVE, 60 },
	       { NEW | OLD, "malloc", "libc.so.6", "", FRAME_NATIVE, 40 });
	GROUPS("aab", { OLD, "f", "", "", FRAME_NATIVE, 60 },
	       { NEW, "??", "", "", FRAME_NATIVE, 60 },
	       { NEW | OLD, "malloc", "", "", FRAME_NATIVE, 40 });
	GROUPS("ab", { OLD, "f", "app", "", FRAME_NATIVE, 10 },
	       { NEW | OLD, "[unknown]", "app", "", FRAME_NATIVE, 90 });
	/* A few addresses hide nothing. */
	GROUPS("aabc", { OLD, "app+0x18", "app", "", FRAME_NATIVE, 1 },
	       { NEW, "app+0x28", "app", "", FRAME_NATIVE, 1 },
	       { NEW, "f", "app", "/x.c", FRAME_NATIVE, 10 },
	       { NEW | OLD, "main", "app", "/x.c", FRAME_NATIVE, 90 });
	/* Those of one build stay. */
	GROUPS("abc", { OLD | NEW, "app+0x18", "app", "", FRAME_NATIVE, 50 },
	       { NEW, "app+0x28", "app", "", FRAME_NATIVE, 10 },
	       { OLD, "app+0x38", "app", "", FRAME_NATIVE, 10 });
}
END_TEST

/* --- trees of both sides --- */

static uint32_t child(struct tree *t, uint32_t parent, const char *name, const char *file,
		      bool inlined, int64_t self)
{
	struct tree_func f = { .name = strtab_put(&t->strings, name),
			       .binary = strtab_put(&t->strings, "app"),
			       .file = strtab_put(&t->strings, file),
			       .inlined = inlined };
	uint32_t id = tree_child(t, parent, tree_func_intern(t, &f));
	t->nodes.v[id].self += self;
	return id;
}

/* main calls f (10), which calls its clone or part (5), and g (20). */
static struct tree *build(const char *dir, const char *f, const char *part, bool inlined)
{
	char file[64];
	struct tree *t = tree_new();
	snprintf(file, sizeof file, "/%s/x.c", dir);
	uint32_t main = child(t, TREE_ROOT, "main", file, false, 0);
	uint32_t id = child(t, main, f, file, false, 10);
	child(t, id, part, file, false, 5);
	child(t, main, "g", file, inlined, 20);
	tree_total(t);
	return t;
}

START_TEST(trees_of_two_builds_overlap)
{
	struct tree *b = build("b2", "f.isra.0", "f.part.1", true);
	struct tree *a = build("b1", "f", "f.cold", false);
	tree_diff(b, a, false);
	ck_assert_uint_eq(b->nodes.n, 4); /* all, main, f, g */
	for (uint32_t i = 0; i < b->nodes.n; i++) {
		ck_assert_int_eq(b->nodes.v[i].self, b->nodes.v[i].other_self);
		ck_assert_int_eq(b->nodes.v[i].total, b->nodes.v[i].other_total);
	}
	ck_assert_int_eq(b->nodes.v[TREE_ROOT].total, 35);
	tree_free(b);
	b = build("b2", "f.isra.0", "f.part.1", true);
	tree_diff(b, a, true);
	ck_assert_uint_eq(b->nodes.n, 9);
	tree_free(a);
	tree_free(b);
}
END_TEST

/* all of one tree: f and g in two build directories, init in two directories of each, h in one */
START_TEST(builds_in_one_tree_become_one)
{
	static const struct {
		const char *name, *file;
	} all[] = {
		{ "f", "/b1/src/f.c" },         { "f", "/b2/src/f.c" },
		{ "g.isra.0", "/b1/src/g.c" },  { "g", "/b2/src/g.c" },
		{ "init", "/b1/src/a/util.c" }, { "init", "/b1/src/b/util.c" },
		{ "init", "/b2/src/a/util.c" }, { "init", "/b2/src/b/util.c" },
		{ "h", "/b1/src/h.c" },
	};
	struct tree *t = tree_new();
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		child(t, TREE_ROOT, all[i].name, all[i].file, false, 1);
	tree_total(t);
	tree_merge_builds(t);
	struct top_table top = { 0 };
	top_build(t, &top);
	ck_assert_uint_eq(top.rows.n, 5); /* f, g, init twice, h */
	ck_assert_int_eq(top.total, 9);
	for (size_t i = 0; i < top.rows.n; i++)
		ck_assert_int_eq(top.rows.v[i].self, i < 4 ? 2 : 1);
	top_done(&top);
	tree_free(t);
}
END_TEST

START_TEST(directories_of_one_build_stay_apart)
{
	struct tree *t = tree_new();
	child(t, TREE_ROOT, "init", "/src/a/util.c", false, 1);
	child(t, TREE_ROOT, "init", "/src/b/util.c", false, 1);
	child(t, TREE_ROOT, "start", "/src/a/start.c", false, 1);
	child(t, TREE_ROOT, "stop", "/src/b/stop.c", false, 1);
	tree_total(t);
	tree_merge_builds(t);
	ck_assert_uint_eq(t->nodes.n, 5);
	tree_free(t);
}
END_TEST

START_TEST(a_function_of_many_files_ends)
{
	enum { FILES = 2000 };
	struct tree *newer = tree_new(), *older = tree_new();
	char file[64];
	for (int i = 0; i < 2 * FILES; i++) {
		struct tree *t = i % 2 ? newer : older;
		snprintf(file, sizeof file, "/b%d/%d/x.c", i % 2, i);
		child(t, TREE_ROOT, "f", file, false, 1);
	}
	struct tree_match m;
	tree_match_init(&m, newer, older, false);
	tree_match_done(&m);
	tree_free(newer);
	tree_free(older);
}
END_TEST

UNIT_MAIN("tree_match", equal_functions_are_the_same, directories_versions_and_clones_differ,
	  names_binaries_and_kinds_differ, files_distinguish_functions_of_one_name,
	  files_are_part_of_names_in_scripts, bundles_lose_their_hashes_if_one_has_the_name,
	  major_versions_are_separate_if_both_exist, source_files_tell_the_language,
	  names_without_kinds_have_a_language, paths_in_names_are_files,
	  addresses_of_two_builds_are_one_function,
	  a_side_without_names_hides_those_of_the_other_one, trees_of_two_builds_overlap,
	  builds_in_one_tree_become_one, directories_of_one_build_stay_apart,
	  a_function_of_many_files_ends)
