/* What cresset top shows, as rows of text from known data; its sums against the tree's; names that are hostile. No terminal is needed. */
#include "random_profile.h"
#include "unit.h"

#include "cmd/top_rows.h"
#include "profile/top.h"
#include "query/source.h"
#include "tui/plain.h"
#include "tui/ui.h"

#include <errno.h>

#define MS 1000000ll

/* --- a feed of known samples ------------------------------------------------------------------ */

struct known_feed {
	struct feed base;
	struct profile *p;
	struct source *source;
	bool held;
	int64_t span_ns;
};

static int known_take(struct feed *base, bool with_waits, struct feed_take *out, struct err *err)
{
	struct known_feed *f = (struct known_feed *)base;
	(void)with_waits;
	(void)err;
	*out = (struct feed_take){
		.to_ns = f->span_ns, .own_cpu = -1, .bpf_cpu = -1, .rate_hz = 99
	};
	return 0;
}
static struct source *known_source(struct feed *base)
{
	return ((struct known_feed *)base)->source;
}
static void known_hold(struct feed *base, bool held)
{
	((struct known_feed *)base)->held = held;
}
static const struct feed_ops known_ops = { .take = known_take,
					   .source = known_source,
					   .hold = known_hold };

/* A stack of names, root first, separated by ; — those with [ in front are markers, with k: in front of the kernel. */
static uint32_t put_stack(struct sink *s, const char *names)
{
	uint32_t frames[32], n = 0;
	while (*names && n < 32) {
		size_t len = strcspn(names, ";"), skip = strncmp(names, "k:", 2) == 0 ? 2 : 0;
		struct frame f = { .kind = skip            ? FRAME_KERNEL
					   : *names == '[' ? FRAME_MARKER
							   : FRAME_PYTHON,
				   .mapping = MAPPING_NONE,
				   .function = s->ops->string(s, names + skip, len - skip) };
		frames[n++] = s->ops->frame(s, &f);
		names += len + (names[len] == ';');
	}
	return s->ops->stack(s, frames, n);
}

struct known_sample {
	const char *type, *comm, *stack;
	uint32_t pid, tid, cpu;
	int64_t at_ms, ms; /* ms: of waits how long, of others how many samples of 10 ms */
};

static void put_sample(struct sink *s, const struct known_sample *k)
{
	bool is_cpu = strcmp(k->type, "cpu") == 0;
	struct type t = { .name = sink_string(s, k->type),
			  .sample_type = sink_string(s, is_cpu ? "samples" : k->type),
			  .unit = sink_string(s, is_cpu ? "count" : "nanoseconds"),
			  .period_type = is_cpu ? sink_string(s, "cpu") : 0,
			  .period_unit = is_cpu ? sink_string(s, "nanoseconds") : 0 };
	struct label labels[] = {
		{ .key = sink_string(s, "comm"), .str = sink_string(s, k->comm) },
		{ .key = sink_string(s, "process"), .str = sink_string(s, k->comm) },
	};
	struct series series = { .type = s->ops->type(s, &t),
				 .period = is_cpu ? 10 * MS : 0,
				 .labels = s->ops->labels(s, labels, 2) };
	struct sample sample = { .time_ns = 1 + k->at_ms * MS,
				 .length_ns = is_cpu ? 0 : k->ms * MS,
				 .value = is_cpu ? k->ms : k->ms * MS,
				 .series = s->ops->series(s, &series),
				 .stack = put_stack(s, k->stack),
				 .pid = k->pid,
				 .tid = k->tid,
				 .cpu = k->cpu };
	s->ops->sample(s, &sample);
}

static const struct known_sample samples[] = {
	{ "cpu", "web", "main;serve;parse", 10, 10, 0, 100, 50 },
	{ "cpu", "web", "main;serve;send;k:tcp_sendmsg", 10, 11, 1, 1200, 30 },
	{ "cpu", "db", "main;query", 20, 20, 1, 1500, 20 },
	{ "off-cpu", "web", "main;serve;[blocked: futex/lock];[woken by: db (20)]", 10, 10, 0, 200,
	  400 },
	{ "off-cpu", "db", "main;[blocked: disk I/O]", 20, 20, 0, 300, 100 },
};

static void known_open(struct known_feed *f, const struct known_sample *all, size_t n)
{
	*f = (struct known_feed){ .base = {
					  .ops = &known_ops, .what = "a test", .goes_on = true } };
	f->p = profile_new();
	f->span_ns = 2000 * MS;
	for (size_t i = 0; i < n; i++)
		put_sample(profile_sink(f->p), &all[i]);
	f->p->meta.duration_ns = f->span_ns;
	f->source = source_of_profile(f->p);
}
static void known_close(struct known_feed *f)
{
	source_close(f->source);
	profile_free(f->p);
}

static void open_ui(struct ui *ui, struct known_feed *f, int rows, int cols)
{
	struct err err = { 0 };
	known_open(f, samples, sizeof samples / sizeof *samples);
	ui_init(ui, &f->base, false, false);
	ui_resize(ui, rows, cols);
	ck_assert_int_eq(ui_take(ui, &err), 0);
	ui_draw(ui);
}
static void close_ui(struct ui *ui, struct known_feed *f)
{
	ui_done(ui);
	known_close(f);
}

/* Presses keys, one a character; draws. */
static void press(struct ui *ui, const char *keys)
{
	for (; *keys; keys++) {
		struct ui_input in = { .key = *keys == '\n'   ? UI_ENTER
					      : *keys == 27   ? UI_ESC
					      : *keys == '\v' ? UI_DOWN
					      : *keys == '\b' ? UI_BACKSPACE
							      : UI_CHAR,
				       .c = (unsigned char)*keys };
		ui_input(ui, &in);
	}
	ui_draw(ui);
}

static char *row(const struct ui *ui, int y)
{
	struct buf b = { 0 };
	grid_row_text(&ui->grid, y, &b);
	buf_cstr(&b);
	return buf_steal(&b);
}
#define ROW_IS(ui, y, text) \
	do { \
		char *row_ = row(ui, y); \
		ck_assert_str_eq(row_, text); \
		free(row_); \
	} while (0)
#define ROW_HAS(ui, y, text) \
	do { \
		char *row_ = row(ui, y); \
		ck_assert_msg(strstr(row_, text), "'%s' is not in '%s'", text, row_); \
		free(row_); \
	} while (0)

/* --- cells ------------------------------------------------------------------------------------ */

START_TEST(hostile_names_are_plain_characters)
{
	static const char *const names[] = { "\033[2J\033]0;x\a",
					     "a\nb\rc\td",
					     "\x9b"
					     "31m",
					     "\xc2\x9b"
					     "31m",
					     "x\xe2\x80\xae"
					     "evil",
					     "\xff\xfe",
					     "\x7f",
					     "e\xcc\x81\xcc\x81" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct grid g;
		struct buf b = { 0 };
		grid_init(&g, 1, 40, false);
		grid_put(&g, 0, 0, 40, GRID_PLAIN, names[i]);
		for (int x = 0; x < 40; x++) {
			uint32_t c = g.cells[x].c;
			ck_assert_msg(c == 0 ||
					      (c >= 0x20 && c != 0x7f && !(c >= 0x80 && c < 0xa0)),
				      "%x", c);
			ck_assert(!(c >= 0x202a && c <= 0x202e) && !(c >= 0x2066 && c <= 0x2069));
		}
		grid_row_text(&g, 0, &b);
		ck_assert(b.len > 0);
		buf_done(&b);
		grid_done(&g);
	}
}
END_TEST

START_TEST(wide_characters_are_never_halved)
{
	static const struct {
		int n;
		const char *text, *shown;
	} cases[] = {
		{ 6, "日本語", "日本語" }, { 5, "日本語", "日本…" }, { 4, "日本語", "日…" },
		{ 3, "日本語", "日…" },    { 2, "日本語", "…" },     { 1, "日本語", "…" },
		{ 3, "abc", "abc" },       { 2, "abc", "a…" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct grid g;
		struct buf b = { 0 };
		grid_init(&g, 1, 8, false);
		ck_assert_int_le(grid_put(&g, 0, 0, cases[i].n, GRID_PLAIN, cases[i].text),
				 cases[i].n);
		grid_row_text(&g, 0, &b);
		ck_assert_str_eq(buf_cstr(&b), cases[i].shown);
		buf_done(&b);
		grid_done(&g);
	}
}
END_TEST

START_TEST(half_of_a_wide_character_goes_when_the_other_does)
{
	struct grid g;
	struct buf b = { 0 };
	grid_init(&g, 1, 8, false);
	grid_put(&g, 0, 0, 8, GRID_PLAIN, "日本");
	grid_set(&g, 0, 1, 'x', GRID_PLAIN);
	grid_set(&g, 0, 2, 'y', GRID_PLAIN);
	grid_row_text(&g, 0, &b);
	ck_assert_str_eq(buf_cstr(&b), " xy");
	buf_done(&b);
	grid_done(&g);
}
END_TEST

START_TEST(ascii_is_ascii)
{
	struct grid g;
	struct buf b = { 0 };
	grid_init(&g, 1, 20, true);
	grid_put(&g, 0, 0, 10, GRID_PLAIN, "é日x█·…");
	grid_row_text(&g, 0, &b);
	ck_assert_str_eq(buf_cstr(&b), "???x#-.");
	buf_done(&b);
	grid_done(&g);
}
END_TEST

/* --- sums ------------------------------------------------------------------------------------- */

static struct function_sum *find_sum(struct function_sums *f, const struct tree *t,
				     const struct tree_func *func)
{
	for (size_t i = 0; i < f->all.n; i++) {
		struct function_sum *s = &f->all.v[i];
		if (s->kind == func->kind &&
		    !strcmp(s->name, strtab_get(&t->strings, func->name)) &&
		    !strcmp(s->binary, strtab_get(&t->strings, func->binary)) &&
		    !strcmp(s->file, strtab_get(&t->strings, func->file)))
			return s;
	}
	return NULL;
}

START_TEST(functions_are_those_of_the_tree)
{
	for (uint64_t seed = 1; seed < 30; seed++) {
		struct random_profile r = random_profile(
			seed, (struct random_shape){ .n_stacks = 80,
						     .n_samples = 300,
						     .waits = seed % 2,
						     .periods_differ = seed % 3 == 0 });
		struct source *s = source_of_profile(r.p);
		struct look l = { .source = s,
				  .type = r.cpu,
				  .pid = SAMPLE_NO_ID,
				  .tid = SAMPLE_NO_ID,
				  .no_kernel = seed % 5 == 0 };
		struct function_sums sums = { 0 };
		struct top_table top = { 0 };
		struct tree *t = NULL;
		struct err err = { 0 };
		s->ops->range(s, &l.from_ns, &l.to_ns);
		ck_assert_int_eq(function_sums_make(&sums, &l, &err), 0);
		ck_assert_int_eq(look_tree(&l, &t, &err), 0);
		top_build(t, &top);
		ck_assert_int_eq(sums.total, top.total);
		size_t n = 0;
		for (size_t i = 0; i < sums.all.n; i++)
			n += sums.all.v[i].self || sums.all.v[i].total;
		ck_assert_uint_eq(n, top.rows.n);
		for (size_t i = 0; i < top.rows.n; i++) {
			struct function_sum *f =
				find_sum(&sums, t, &t->funcs.v[top.rows.v[i].func]);
			ck_assert_ptr_nonnull(f);
			ck_assert_int_eq(f->self, top.rows.v[i].self);
			ck_assert_int_eq(f->total, top.rows.v[i].total);
		}
		top_done(&top);
		tree_free(t);
		function_sums_done(&sums);
		source_close(s);
		profile_free(r.p);
	}
}
END_TEST

/* --- the source that is not sorted ------------------------------------------------------------- */

struct row_digest {
	uint64_t sum; /* in any order */
	size_t n;
};

static int digest_row(void *ctx, const struct source_row *r)
{
	struct row_digest *d = ctx;
	uint64_t h = hash_mix((uint64_t)r->time_ns, (uint64_t)r->length_ns);
	h = hash_mix(h, (uint64_t)r->value);
	h = hash_mix(h, (uint64_t)r->series << 32 | r->stack);
	h = hash_mix(h, (uint64_t)r->pid << 32 | r->tid);
	d->sum += hash_mix(h, r->cpu);
	d->n++;
	return 0;
}

static struct row_digest digest(struct source *s, const bool *wanted, int64_t from_ns,
				int64_t to_ns)
{
	struct row_digest d = { 0 };
	struct err err = { 0 };
	ck_assert_int_eq(s->ops->rows(s, wanted, from_ns, to_ns, digest_row, &d, &err), 0);
	return d;
}

START_TEST(rows_as_they_lie_are_those_of_a_sorted_source)
{
	size_t seen = 0;
	for (uint64_t seed = 1; seed < 60; seed++) {
		struct random_profile r = random_profile(
			seed, (struct random_shape){
				      .n_stacks = 40, .n_samples = 200, .waits = seed % 3 > 0 });
		if (seed % 2)
			r.p->meta.start_wall_ns = 1700000000000000000;
		struct source *sorted = source_of_profile(r.p), *lying = top_rows_open(r.p);
		bool wanted[RANDOM_SERIES];
		int64_t first, end;
		sorted->ops->range(sorted, &first, &end);
		for (int i = 0; i < 20 && !sorted->is_block; i++) {
			uint64_t span = (uint64_t)(end - first);
			int64_t from = first + (int64_t)rng_below(&r.rng, span);
			int64_t to = from + 1 + (int64_t)rng_below(&r.rng, span);
			for (size_t k = 0; k < RANDOM_SERIES; k++)
				wanted[k] = rng_below(&r.rng, 2);
			struct row_digest a = digest(sorted, wanted, from, to),
					  b = digest(lying, wanted, from, to);
			ck_assert_uint_eq(a.n, b.n);
			ck_assert_uint_eq(a.sum, b.sum);
			seen += a.n;
		}
		source_close(sorted);
		source_close(lying);
		profile_free(r.p);
	}
	ck_assert_uint_gt(seen, 1000);
}
END_TEST

/* --- two dictionaries ------------------------------------------------------------------------- */

struct two_sources {
	struct source base;
	struct source *part[2];
};

static const struct profile *two_catalog(struct source *base)
{
	struct source *first = ((struct two_sources *)base)->part[0];
	return first->ops->catalog(first);
}

static int two_rows(struct source *base, const bool *wanted, int64_t from_ns, int64_t to_ns,
		    source_row_fn row, void *ctx, struct err *err)
{
	struct two_sources *t = (struct two_sources *)base;
	int rc = 0;
	for (int i = 0; rc == 0 && i < 2; i++)
		rc = t->part[i]->ops->rows(t->part[i], wanted, from_ns, to_ns, row, ctx, err);
	return rc;
}

/* The same samples again, with a dictionary of their own, are twice as much, not twice as many functions. */
START_TEST(functions_of_two_dictionaries_are_put_together)
{
	static const struct source_ops ops = { .catalog = two_catalog, .rows = two_rows };
	const struct random_shape shape = { .n_stacks = 60, .n_samples = 200 };
	struct random_profile one = random_profile(7, shape), same = random_profile(7, shape);
	struct two_sources both = { { .ops = &ops },
				    { source_of_profile(one.p), source_of_profile(same.p) } };
	struct look l = {
		.source = both.part[0], .type = one.cpu, .pid = SAMPLE_NO_ID, .tid = SAMPLE_NO_ID
	};
	struct function_sums sums = { 0 }, twice = { 0 };
	struct err err = { 0 };
	both.part[0]->ops->range(both.part[0], &l.from_ns, &l.to_ns);
	ck_assert_int_eq(function_sums_make(&sums, &l, &err), 0);
	l.source = &both.base;
	ck_assert_int_eq(function_sums_make(&twice, &l, &err), 0);
	ck_assert_int_eq(twice.total, 2 * sums.total);
	ck_assert_uint_eq(twice.order.n, sums.order.n);
	for (size_t i = 0; i < sums.order.n; i++) {
		const struct function_sum *a = &sums.all.v[sums.order.v[i]],
					  *b = &twice.all.v[twice.order.v[i]];
		ck_assert_str_eq(a->name, b->name);
		ck_assert_int_eq(b->self, 2 * a->self);
		ck_assert_int_eq(b->total, 2 * a->total);
		ck_assert(i == 0 || sums.all.v[sums.order.v[i - 1]].self >= a->self);
	}
	function_sums_done(&sums);
	function_sums_done(&twice);
	source_close(both.part[0]);
	source_close(both.part[1]);
	profile_free(one.p);
	profile_free(same.p);
}
END_TEST

START_TEST(a_heatmap_adds_up)
{
	struct known_feed f;
	struct err err = { 0 };
	known_open(&f, samples, sizeof samples / sizeof *samples);
	for (uint32_t type = 0; type < 2; type++)
		for (uint32_t rows = 1; rows < 60; rows += 7) {
			struct scan s = { 0 };
			struct look l = { .source = f.source,
					  .type = type,
					  .to_ns = f.span_ns,
					  .pid = SAMPLE_NO_ID,
					  .tid = SAMPLE_NO_ID };
			int64_t sum = 0;
			ck_assert_int_eq(scan_heat(&s, &l, 40, rows, &err), 0);
			ck_assert_uint_eq(s.heat.columns, 2);
			for (uint32_t i = 0; i < s.heat.columns * rows; i++)
				sum += s.heat.cells[i];
			ck_assert_int_le(llabs(sum - s.total), rows * 2); /* cells are rounded */
			ck_assert_int_eq(s.total, type ? 500 * MS : 1000 * MS);
			scan_done(&s);
		}
	known_close(&f);
}
END_TEST

/* --- tabs ------------------------------------------------------------------------------------- */

START_TEST(functions_processes_threads_waits)
{
	struct known_feed f;
	struct ui ui;
	open_ui(&ui, &f, 24, 80);
	ROW_HAS(&ui, 0, "cresset top · a test");
	ROW_HAS(&ui, 1, "  0[");
	ROW_HAS(&ui, 1, "25%]");
	ROW_HAS(&ui, 2, " 1 Functions  2 Processes  3 Threads  4 Waits  5 Flame  6 Heatmap");
	ROW_IS(&ui, 3, " ▼self %  total % kind   function                            binary");
	ROW_IS(&ui, 4, "   50.00    50.00 python parse");
	ROW_IS(&ui, 5, "   30.00    30.00 kernel tcp_sendmsg");
	ROW_IS(&ui, 6, "   20.00    20.00 python query");
	ROW_HAS(&ui, 7, "0.00   100.00 python main");
	press(&ui, "2");
	ROW_HAS(&ui, 4, "80.00    40.00    37.50       2       10 web");
	ROW_HAS(&ui, 4, "parse");
	ROW_HAS(&ui, 5, "20.00    10.00     0.00       1       20 db");
	press(&ui, "3");
	ROW_HAS(&ui, 4, "10       10 web             parse");
	ROW_HAS(&ui, 6, "20       20 db");
	press(&ui, "4");
	ROW_HAS(&ui, 4, "80.00    400 ms      1 futex/lock");
	ROW_HAS(&ui, 4, "db (20)");
	ROW_HAS(&ui, 5, "20.00    100 ms      1 disk I/O");
	close_ui(&ui, &f);
}
END_TEST

START_TEST(a_flame_graph_has_boxes_as_wide_as_they_should_be)
{
	struct known_feed f;
	struct ui ui;
	open_ui(&ui, &f, 24, 80);
	press(&ui, "5");
	ROW_IS(&ui, 3, "all");
	ROW_IS(&ui, 4, "main");
	ROW_IS(&ui, 5, "query           serve"); /* 20 % and 80 % of 80 */
	ROW_IS(&ui, 6, "                parse                                   send");
	ROW_HAS(&ui, 22, "all  100.00 % of view");
	press(&ui, "\v\v\v\n"); /* the widest: main, serve, parse; into that */
	ROW_HAS(&ui, 22, "parse  100.00 % of view, 50.00 % of all, self 50.00 %");
	ROW_IS(&ui, 6, "parse");
	press(&ui, "\033");
	ROW_HAS(&ui, 22, "serve  100.00 % of view, 80.00 % of all");
	press(&ui, "/send\n");
	ROW_HAS(&ui, 22, "matched 30.00 %");
	close_ui(&ui, &f);
}
END_TEST

START_TEST(keys_do_what_help_says)
{
	struct known_feed f;
	struct ui ui;
	open_ui(&ui, &f, 24, 80);
	press(&ui, "/QUE\n");
	ROW_IS(&ui, 4, "   20.00    20.00 python query");
	ROW_IS(&ui, 5, "");
	press(&ui, "/\b\b\b/^(send|parse)$/\n");
	ROW_HAS(&ui, 4, "parse");
	ROW_HAS(&ui, 5, "send");
	ROW_IS(&ui, 6, "");
	press(&ui, "/(\n");
	ck_assert_str_ne(ui.message, "");
	ck_assert_str_eq(ui.filter.text, "/^(send|parse)$/");
	press(&ui, "\033"); /* without a zoom: the filter goes */
	ck_assert(!match_is_on(&ui.filter));
	press(&ui, "s");
	ck_assert_int_eq(ui.tabs[0].sort, 1);
	ROW_HAS(&ui, 4, "main");
	press(&ui, "sss");
	ck_assert_int_eq(ui.tabs[0].sort, 0);
	press(&ui, "k");
	ROW_HAS(&ui, 4, "parse");
	ROW_HAS(&ui, 5, "30.00    30.00 python send");
	press(&ui, "k2\n"); /* into process 10 */
	ROW_HAS(&ui, 23, "in process 10");
	ROW_HAS(&ui, 4, "62.50    62.50 python parse");
	press(&ui, "\033");
	ck_assert_int_eq(ui.tab, 1);
	press(&ui, "1\n"); /* into parse */
	ck_assert_str_eq(ui.pane.view->name, "flame");
	ROW_HAS(&ui, 22, "all  100.00 % of view, 100.00 % of all");
	ROW_HAS(&ui, 6, "parse");
	press(&ui, "\033\033");
	ck_assert_int_eq(ui.tab, 0);
	press(&ui, "e");
	ROW_HAS(&ui, 5, "100.00 %  serve");
	ROW_HAS(&ui, 6, "100.00 %  main");
	press(&ui, "e");
	ROW_HAS(&ui, 5, "tcp_sendmsg");
	press(&ui, "p");
	ROW_HAS(&ui, 2, "off-cpu");
	press(&ui, "p ");
	ck_assert(f.held && ui.is_paused);
	press(&ui, " h");
	ck_assert(!f.held);
	ROW_HAS(&ui, 3, "the tabs, from left to right");
	press(&ui, "xq");
	ck_assert(ui.is_done);
	close_ui(&ui, &f);
}
END_TEST

START_TEST(reset_and_zero_forget)
{
	struct known_feed f;
	struct ui ui;
	struct err err = { 0 };
	open_ui(&ui, &f, 24, 80);
	press(&ui, "r");
	ck_assert_int_eq(ui.reset_ns, 2000 * MS);
	f.span_ns = 3000 * MS;
	ck_assert_int_eq(ui_take(&ui, &err), 0);
	ui_draw(&ui);
	ROW_HAS(&ui, 4, "Nothing was seen yet.");
	ui.reset_ns = 0;
	press(&ui, "z");
	ck_assert_int_eq(ui_from_ns(&ui), 2000 * MS);
	close_ui(&ui, &f);
}
END_TEST

START_TEST(clicks)
{
	struct known_feed f;
	struct ui ui;
	open_ui(&ui, &f, 24, 80);
	ui_input(&ui, &(struct ui_input){ .key = UI_CLICK, .y = 2, .x = 15 });
	ck_assert_str_eq(ui.pane.view->name, "processes");
	ui_input(&ui, &(struct ui_input){ .key = UI_CLICK, .y = 5, .x = 15 });
	ck_assert_int_eq(ui.tabs[1].selected, 1);
	ui_input(&ui, &(struct ui_input){ .key = UI_CLICK, .y = 5, .x = 15 });
	ck_assert_uint_eq(ui.zooms.n, 1);
	ck_assert_uint_eq(ui.zooms.v[0].pid, 20);
	ui_input(&ui, &(struct ui_input){ .key = UI_ESC });
	ui_input(&ui, &(struct ui_input){ .key = UI_CHAR, .c = '1' });
	ui_input(&ui, &(struct ui_input){ .key = UI_CLICK, .y = 3, .x = 12 }); /* head: total */
	ck_assert_int_eq(ui.tabs[0].sort, 1);
	ui_input(&ui, &(struct ui_input){ .key = UI_CHAR, .c = '5' });
	ui_draw(&ui);
	ui_input(&ui, &(struct ui_input){ .key = UI_CLICK, .y = 5, .x = 40 });
	ui_draw(&ui);
	ROW_HAS(&ui, 22, "serve  100.00 % of view, 80.00 % of all");
	/* Anywhere, whatever it means: nothing breaks. */
	for (int y = -1; y < 26; y++)
		for (int x = -1; x < 82; x += 3)
			for (int key = UI_CLICK; key <= UI_WHEEL_DOWN; key++) {
				ui_input(&ui, &(struct ui_input){
						      .key = (enum ui_key)key, .y = y, .x = x });
				ui_draw(&ui);
			}
	close_ui(&ui, &f);
}
END_TEST

START_TEST(any_keys_at_any_size)
{
	static const int sizes[][2] = { { 24, 80 }, { 12, 60 },  { 10, 40 },
					{ 1, 1 },   { 50, 200 }, { 3, 500 } };
	struct rng rng = { .state = 7 };
	struct known_feed f;
	struct ui ui;
	struct err err = { 0 };
	open_ui(&ui, &f, 24, 80);
	for (int i = 0; i < 4000; i++) {
		struct ui_input in = { .key = (enum ui_key)(rng_below(&rng, UI_WHEEL_DOWN + 1)),
				       .c = rng_below(&rng, 128),
				       .y = (int)rng_below(&rng, 30),
				       .x = (int)rng_below(&rng, 90) };
		int size = (int)rng_below(&rng, 6);
		if (ui.prompt == PROMPT_WRITE) /* nothing is to be written here */
			in.key = UI_ESC;
		ui_input(&ui, &in);
		if (i % 50 == 0)
			ui_resize(&ui, sizes[size][0], sizes[size][1]);
		if (i % 20 == 0)
			ck_assert_int_eq(ui_take(&ui, &err), 0);
		ui_draw(&ui);
	}
	close_ui(&ui, &f);
}
END_TEST

START_TEST(too_small_is_said)
{
	struct known_feed f;
	struct ui ui;
	open_ui(&ui, &f, 10, 40);
	ROW_IS(&ui, 0, "40 x 10 is too small:");
	ROW_IS(&ui, 1, "make it 60 x 12.");
	ui_resize(&ui, 24, 80);
	ui_draw(&ui);
	ROW_HAS(&ui, 2, "1 Functions");
	close_ui(&ui, &f);
}
END_TEST

START_TEST(tabs_are_there_when_their_data_is)
{
	static const struct known_sample gpu = { "gpu-time", "train", "main;launch;matmul", 7, 7, 0,
						 0,          50 };
	struct known_feed f;
	struct ui ui;
	struct err err = { 0 };
	known_open(&f, &gpu, 1);
	ui_init(&ui, &f.base, false, false);
	ck_assert_int_eq(ui_take(&ui, &err), 0);
	ui_draw(&ui);
	ROW_HAS(&ui, 1, "5 Heatmap  6 GPU"); /* no waits; no CPU's share is known, so no bars */
	press(&ui, "6");
	ROW_HAS(&ui, 3, "100.00   100.00 python matmul");
	close_ui(&ui, &f);
}
END_TEST

START_TEST(hostile_names_on_the_screen)
{
	static const struct known_sample bad = {
		"cpu", "\033[31mred\n", "ma\033[2Jin;\xff\xfe\x9b", 7, 7, 0, 0, 50
	};
	struct known_feed f;
	struct ui ui;
	struct err err = { 0 };
	known_open(&f, &bad, 1);
	f.base.what = "\033]0;title\a";
	ui_init(&ui, &f.base, false, false);
	ck_assert_int_eq(ui_take(&ui, &err), 0);
	for (const char *tab = "123456"; *tab; tab++) {
		press(&ui, (char[]){ *tab, '\0' });
		for (int i = 0; i < ui.grid.rows * ui.grid.cols; i++)
			ck_assert(!ui.grid.cells[i].c || ui.grid.cells[i].c >= 0x20);
	}
	struct buf out = { 0 };
	plain_text(&ui, &(struct plain_opts){ .rows = 5 }, &out);
	for (size_t i = 0; i < out.len; i++)
		ck_assert((unsigned char)out.data[i] >= 0x20 || out.data[i] == '\n');
	buf_done(&out);
	close_ui(&ui, &f);
}
END_TEST

UNIT_MAIN("tui", hostile_names_are_plain_characters, wide_characters_are_never_halved,
	  half_of_a_wide_character_goes_when_the_other_does, ascii_is_ascii,
	  functions_are_those_of_the_tree, rows_as_they_lie_are_those_of_a_sorted_source,
	  functions_of_two_dictionaries_are_put_together, a_heatmap_adds_up,
	  functions_processes_threads_waits, a_flame_graph_has_boxes_as_wide_as_they_should_be,
	  keys_do_what_help_says, reset_and_zero_forget, clicks, any_keys_at_any_size,
	  too_small_is_said, tabs_are_there_when_their_data_is, hostile_names_on_the_screen)
