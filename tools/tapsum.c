/* tapsum: sums up TAP files in one line.
 *
 *     tapsum [--cases] FILE.tap…    →    FILE: passed NAME    (with --cases)
 *                                        FILE: skipped NAME (reason)
 *                                        FILE: FAILED NAME
 *                                        N passed, N failed, N skipped
 *
 * Exits with 0 if there was at least one test and none failed.
 *
 * Only leaves count: a test point with subtests (indented by four columns, as node prints them)
 * stands for them, and is counted only if it failed although none of them did. A file counts as one
 * more failure if its plan is missing, promises another number of tests than there are (at any
 * depth) or none at all, if it bails out, or if it cannot be read. TODO is no excuse: "not ok" is a
 * failure. Beside X.tap there may be X.skip, with one line "test<TAB>reason" for each test that
 * printed "ok" but did not run: Check has no skip. */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_DEPTH = 16, INDENT = 4 };

struct sum {
	unsigned long passed, failed, skipped;
};

/* The tests at one depth with the same parent. */
struct level {
	unsigned long points, planned;
	bool has_plan, failed;
};

struct file {
	const char *path;
	int name_len; /* of the last part of path, without .tap */
	const char *name;
	struct sum sum;
	struct level level[MAX_DEPTH + 1];
	bool in_yaml, with_cases;
};

static void fail(struct file *f, const char *what)
{
	f->sum.failed++;
	printf("%.*s: FAILED %s\n", f->name_len, f->name, what);
}

static void pass(struct file *f, const char *what)
{
	f->sum.passed++;
	if (f->with_cases)
		printf("%.*s: passed %s\n", f->name_len, f->name, what);
}

static void skip(struct file *f, const char *what, const char *reason)
{
	f->sum.skipped++;
	printf("%.*s: skipped %s (%s)\n", f->name_len, f->name, what,
	       *reason ? reason : "no reason");
}

/* Cuts text at its "# SKIP reason" and returns the reason, or NULL if it has none. */
static const char *take_skip(char *text)
{
	for (char *p = text; (p = strchr(p, '#')); p++) {
		char *word = p + 1 + strspn(p + 1, " ");
		if ((p > text && p[-1] == '\\') || strncasecmp(word, "skip", 4) != 0)
			continue;
		*p = 0;
		for (char *end = p; end > text && end[-1] == ' ';)
			*--end = 0;
		word += 4;
		while (isalpha((unsigned char)*word)) /* SKIPPED */
			word++;
		return word + strspn(word, " :");
	}
	return NULL;
}

/* Ends the list of tests at this depth: checks it against the plan. */
static void close_level(struct file *f, int depth)
{
	struct level *l = &f->level[depth];
	char what[128];
	if (!l->has_plan)
		snprintf(what, sizeof what, "no plan after %lu tests: it broke off", l->points);
	else if (l->points != l->planned)
		snprintf(what, sizeof what, "%lu tests planned, %lu seen", l->planned, l->points);
	else
		return;
	fail(f, what);
	l->failed = true;
}

static void take_plan(struct file *f, int depth, char *text)
{
	struct level *l = &f->level[depth];
	const char *reason = take_skip(text);
	l->has_plan = true;
	l->planned = strtoul(text + 3, NULL, 10);
	if (depth > 0 || l->planned > 0)
		return;
	if (reason)
		skip(f, "all", reason);
	else
		fail(f, "ran no test");
}

static void take_point(struct file *f, int depth, bool ok, char *text)
{
	struct level *l = &f->level[depth], *sub = l + 1;
	text += strspn(text, " ");
	text += strspn(text, "0123456789");
	text += strspn(text, " ");
	if (strncmp(text, "- ", 2) == 0)
		text += 2;
	l->points++;
	bool has_subtests = sub->points > 0 || sub->has_plan;
	const char *reason = take_skip(text);
	if (has_subtests)
		close_level(f, depth + 1);
	bool counted = has_subtests && (ok || sub->failed);
	l->failed |= !ok || sub->failed;
	memset(sub, 0, sizeof *sub * (MAX_DEPTH - depth));
	if (counted)
		return;
	if (!ok)
		fail(f, text);
	else if (reason)
		skip(f, text, reason);
	else
		pass(f, text);
}

static void take_line(struct file *f, char *line)
{
	line[strcspn(line, "\r\n")] = 0;
	size_t indent = strspn(line, " ");
	char *text = line + indent;
	if (f->in_yaml || strcmp(text, "---") == 0) {
		f->in_yaml = strcmp(text, "...") != 0;
		return;
	}
	if (indent % INDENT || indent / INDENT >= MAX_DEPTH)
		return;
	int depth = indent / INDENT;
	if (strncmp(text, "1..", 3) == 0 && isdigit((unsigned char)text[3]))
		take_plan(f, depth, text);
	else if (strncmp(text, "ok", 2) == 0 && strchr(" ", text[2]))
		take_point(f, depth, true, text + 2);
	else if (strncmp(text, "not ok", 6) == 0 && strchr(" ", text[6]))
		take_point(f, depth, false, text + 6);
	else if (strncmp(text, "Bail out!", 9) == 0)
		fail(f, text);
}

/* Moves the tests named in X.skip from passed to skipped. */
static void take_skips(struct file *f)
{
	char path[4096], line[4096];
	int stem = f->name - f->path + f->name_len;
	snprintf(path, sizeof path, "%.*s.skip", stem, f->path);
	FILE *in = fopen(path, "r");
	while (in && fgets(line, sizeof line, in)) {
		line[strcspn(line, "\n")] = 0;
		char *reason = strchr(line, '\t');
		if (reason)
			*reason++ = 0;
		if (f->sum.passed == 0) {
			fail(f, "more skips than tests that ran");
			break;
		}
		f->sum.passed--;
		skip(f, line, reason ? reason : "");
	}
	if (in)
		fclose(in);
}

static struct sum sum_file(const char *path, bool with_cases)
{
	const char *slash = strrchr(path, '/');
	struct file f = { .path = path,
			  .name = slash ? slash + 1 : path,
			  .with_cases = with_cases };
	f.name_len = strlen(f.name);
	if (f.name_len > 4 && strcmp(f.name + f.name_len - 4, ".tap") == 0)
		f.name_len -= 4;

	FILE *in = fopen(path, "r");
	if (!in) {
		fail(&f, "cannot be read: the program wrote no result");
		return f.sum;
	}
	char *line = NULL;
	size_t cap = 0;
	while (getline(&line, &cap, in) >= 0)
		take_line(&f, line);
	free(line);
	fclose(in);
	close_level(&f, 0);
	if (f.level[1].points > 0)
		fail(&f, "subtests without the end of their test");
	take_skips(&f);
	return f.sum;
}

int main(int argc, char **argv)
{
	struct sum all = { 0 };
	bool with_cases = argc > 1 && strcmp(argv[1], "--cases") == 0;

	for (int i = 1 + with_cases; i < argc; i++) {
		struct sum s = sum_file(argv[i], with_cases);
		all.passed += s.passed;
		all.failed += s.failed;
		all.skipped += s.skipped;
	}
	printf("%lu passed, %lu failed, %lu skipped\n", all.passed, all.failed, all.skipped);
	return all.failed || all.passed + all.skipped == 0;
}
