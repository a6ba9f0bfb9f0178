// tier: test
/* CPython read from outside, compared with what each installed interpreter says of itself: names and lines of every instruction of a few thousand
 * code objects, and the stacks of threads that stand still. */
#include "base/buf.h"
#include "base/mem.h"
#include "live_python.h"
#include "runtime/cpython_parts.h"

/* --- names and lines --------------------------------------------------------------------------------- */

/* A longer name is cut, and marked as cut. */
static void check_name(const char *ours, const char *theirs)
{
	size_t len = strlen(theirs);

	if (len <= CPYTHON_MAX_NAME) {
		ck_assert_str_eq(ours, theirs);
		return;
	}
	ck_assert_uint_eq(strlen(ours), CPYTHON_MAX_NAME + strlen("…"));
	ck_assert_int_eq(strncmp(ours, theirs, CPYTHON_MAX_NAME), 0);
	ck_assert_str_eq(ours + CPYTHON_MAX_NAME, "…");
}

/* lines: "L offset line offset line …". Returns the number of instructions. */
static unsigned check_code(struct live *l, const struct told *told, char *lines)
{
	unsigned line = 0, next_at = 0, next_line = 0;
	char *save, *at = strtok_r(lines + 1, " ", &save);
	bool more = at != NULL;
	struct runtime_frames named_as;
	const struct runtime_frame *frame = &named_as.v[0];
	uint64_t words[2];

	if (more)
		next_at = atoi(at), next_line = atoi(strtok_r(NULL, " ", &save));
	stamped(l, told->addr, 0, words);
	for (unsigned offset = 0; offset < told->bytes; offset += 2) {
		while (more && offset >= next_at) {
			line = next_line;
			at = strtok_r(NULL, " ", &save);
			more = at != NULL;
			if (more)
				next_at = atoi(at), next_line = atoi(strtok_r(NULL, " ", &save));
		}
		words[1] = (words[1] >> 32 << 32) | offset;
		enum runtime_named named = cpython_runtime.name_frame(l->process, words, &named_as);
		enum runtime_named want = offset < told->begins ? RUNTIME_LEFT_OUT : RUNTIME_NAMED;
		ck_assert_msg(named == want, "%s: %s:%u %s (%u bytes, begins at %u) byte %u: %d",
			      l->name, told->file, told->first_line, told->name, told->bytes,
			      told->begins, offset, named);
		if (named == RUNTIME_LEFT_OUT)
			continue;
		ck_assert_msg(frame->line == line, "%s:%u %s byte %u: %u, not %u", told->file,
			      told->first_line, told->name, offset, frame->line, line);
		ck_assert_uint_eq(frame->start_line, told->first_line);
		check_name(frame->name, told->name);
		ck_assert_str_eq(frame->file, told->file);
	}
	return told->bytes / 2;
}

static void check_corpus(const struct python *p)
{
	struct live l;
	struct told *told = NULL;
	char **lines = NULL;
	size_t n = 0, instructions = 0;

	live_python(&l, p, "corpus.py", NULL);
	while (live_line(&l) && *l.line == 'C') {
		told = realloc(told, (n + 1) * sizeof *told);
		lines = realloc(lines, (n + 1) * sizeof *lines);
		ck_assert(take_told(l.line, &told[n]));
		unhex(told[n].name);
		unhex(told[n].file);
		ck_assert(live_line(&l) && *l.line == 'L');
		lines[n++] = xstrdup(l.line);
	}
	ck_assert_msg(n > 100, "%s%s: %zu code objects", p->root, p->path, n);
	live_attach(&l);
	for (size_t i = 0; i < n; i++) {
		instructions += check_code(&l, &told[i], lines[i]);
		free(told[i].name);
		free(told[i].file);
		free(lines[i]);
	}
	printf("# %s%s: %zu code objects, %zu instructions\n", p->root, p->path, n, instructions);
	free(told);
	free(lines);
	live_end(&l);
}

START_TEST(lines_match_dis)
{
	struct pythons all;

	pythons_find(&all);
	if (!all.n)
		T_SKIP("no CPython here");
	for (size_t i = 0; i < all.n; i++)
		check_corpus(&all.v[i]);
}
END_TEST

/* --- stacks -------------------------------------------------------------------------------------------- */

enum { MAX_STACKS = 64, MAX_DEPTH = 512 };
struct stacks {
	size_t n;
	struct told_stack {
		unsigned long thread;
		bool of_any_thread;
		char *text; /* one "name file line" a line */
		bool found;
	} v[MAX_STACKS];
};

static void take_stack(struct live *l, struct stacks *out)
{
	struct told_stack *s = &out->v[out->n++];
	struct buf text = { 0 };
	unsigned frames, line;
	char *name, *file;

	ck_assert_uint_le(out->n, MAX_STACKS);
	s->of_any_thread = *l->line == 'U';
	ck_assert_int_eq(sscanf(l->line + 1, " %lu %u", &s->thread, &frames), 2);
	for (unsigned i = 0; i < frames; i++) {
		ck_assert(live_line(l));
		ck_assert_int_eq(sscanf(l->line, "F %ms %ms %u", &name, &file, &line), 3);
		unhex(name);
		unhex(file);
		buf_addf(&text, "%s %s %u\n", name, file, line);
		free(name);
		free(file);
	}
	s->text = buf_steal(&text);
}

static char *seen_stack(struct live *l, const struct cpython_layout *layout, uint64_t state)
{
	const struct runtime_memory memory = { live_read, l };
	struct cpython_frame frames[MAX_DEPTH];
	struct runtime_frames named_as;
	const struct runtime_frame *frame = &named_as.v[0];
	struct buf text = { 0 };
	size_t n = cpython_frames(layout, state, &memory, frames, MAX_DEPTH);

	for (size_t i = 0; i < n; i++) {
		enum runtime_named named =
			cpython_runtime.name_frame(l->process, frames[i].words, &named_as);

		if (named == RUNTIME_LEFT_OUT)
			continue;
		ck_assert_int_eq(named, RUNTIME_NAMED);
		buf_addf(&text, "%s %s %u\n", frame->name, frame->file, frame->line);
	}
	return buf_steal(&text);
}

static void find_stack(struct stacks *told, uint64_t thread, const char *text, const char *of)
{
	const char *other = "";

	for (size_t i = 0; i < told->n; i++) {
		struct told_stack *s = &told->v[i];

		if (s->thread != thread && !s->of_any_thread)
			continue;
		other = s->text;
		if (s->found || strcmp(s->text, text) != 0)
			continue;
		s->found = true;
		if (s->thread != thread)
			printf("# %s: the state of another interpreter is of the thread that made "
			       "it\n",
			       of);
		return;
	}
	ck_abort_msg("%s: thread %lx:\n%s\nnot\n%s", of, (unsigned long)thread, text, other);
}

/* States without a thread, or without a frame, are ignored. */
static size_t check_stacks(struct live *l, struct stacks *told, const char *of)
{
	const struct runtime_memory memory = { live_read, l };
	struct cpython_thread threads[MAX_STACKS];
	size_t frames = 0;

	for (uint32_t k = 0; k < l->row.n; k++) {
		size_t n = cpython_threads(layout_of(l, k), l->row.runtimes[k].head_at, &memory,
					   threads, MAX_STACKS);

		for (size_t i = 0; i < n; i++) {
			char *text = seen_stack(l, layout_of(l, k), threads[i].state);

			if (*text)
				find_stack(told, threads[i].id, text, of);
			for (const char *p = text; *p; p++)
				frames += *p == '\n';
			free(text);
		}
	}
	return frames;
}

static void check_still(struct live *l, const char *of)
{
	struct stacks told = { .n = 0 };
	char *about;
	struct buf text = { 0 };

	while (live_line(l) && *l->line != 'E') {
		if (*l->line == 'P')
			l->pid = atoi(l->line + 2);
		else
			take_stack(l, &told);
	}
	ck_assert_msg(told.n > 0, "%s", of);
	live_attach(l);
	size_t frames = check_stacks(l, &told, of);
	for (size_t i = 0; i < told.n; i++) {
		ck_assert_msg(told.v[i].found, "%s: not seen: %lx:\n%s", of, told.v[i].thread,
			      told.v[i].text);
		free(told.v[i].text);
	}
	cpython_runtime.describe(l->process, &text);
	about = buf_steal(&text);
	printf("# %s: %zu stacks, %zu frames: %s", of, told.n, frames, about);
	free(about);
	live_end(l);
}

static void check_threads(const char *argument)
{
	struct pythons all;
	struct live l;
	char of[500];

	pythons_find(&all);
	if (!all.n)
		T_SKIP("no CPython here");
	for (size_t i = 0; i < all.n; i++) {
		live_python(&l, &all.v[i], "threads.py", argument);
		snprintf(of, sizeof of, "%s%s", all.v[i].root, all.v[i].path);
		check_still(&l, of);
	}
}

START_TEST(stacks_match_the_interpreter)
{
	check_threads(NULL);
}
END_TEST

START_TEST(stacks_after_fork)
{
	check_threads("fork");
}
END_TEST

/* --- in other programs -------------------------------------------------------------------------------------- */

/* The library that contains a pyenv interpreter's code, and the directory it belongs to; NULL where there is none. */
static char *library_of(const struct python *p, char **home)
{
	char *library, *end;

	if (p->root[0] || !strstr(p->path, "/bin/"))
		return NULL;
	*home = xstrdup(p->path);
	*strstr(*home, "/bin/") = '\0';
	library = shell("ls %s/lib/libpython3.%d*.so.1.0 2>/dev/null | head -1", *home, p->minor);
	end = strchr(library, '\n');
	if (end) {
		*end = '\0';
		return library;
	}
	free(library);
	free(*home);
	return NULL;
}

/* All that can share a process: up to four. */
START_TEST(several_in_a_program_of_any_name)
{
	struct pythons all;
	char dir[32], program[64], *homes[MAX_PYTHONS], *libraries[MAX_PYTHONS];
	size_t n = 0;

	pythons_find(&all);
	for (size_t i = 0; i < all.n; i++) {
		libraries[n] = library_of(&all.v[i], &homes[n]);
		n += libraries[n] != NULL;
	}
	if (n < 2)
		T_SKIP("no two libpythons here");
	temp_dir(dir);
	snprintf(program, sizeof program, "%s/service", dir);
	shell_do("cc -O1 -o %s tests/unit/python/twice.c -ldl -lpthread", program);
	for (size_t i = 0; i < n; i++) {
		size_t next = (i + 1) % n;
		char *argv[] = {
			program, libraries[i], homes[i], libraries[next], homes[next], NULL
		};
		struct live l;

		live_start(&l, "", argv);
		check_still(&l, libraries[i]);
	}
	for (size_t i = 0; i < n; i++) {
		free(libraries[i]);
		free(homes[i]);
	}
	shell_do("rm -rf %s", dir);
}
END_TEST

UNIT_MAIN("cpython", lines_match_dis, stacks_match_the_interpreter, stacks_after_fork,
	  several_in_a_program_of_any_name)
