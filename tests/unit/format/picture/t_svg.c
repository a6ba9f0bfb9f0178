// tier: test
#include "written.h"

#include "base/err.h"
#include "base/str.h"
#include "format/common/palette.h"
#include "format/picture/svg.h"
#include "format/picture/svg_page.h"
#include "profile/sink.h"

#include <errno.h>
#include <math.h>

/* A rectangle as it is in the file. */
struct rect {
	double x, width;
	unsigned y;
	long long value;
	char class[8], name[4096], info[4096];
};
struct rects {
	VEC(struct rect) all;
};

/* The file must be XML for an independent parser. Returns its result for the XPath expression, which the caller frees. */
static char *xpath(const char *svg, const char *expression)
{
	int fd = file_of(svg, strlen(svg));
	char *answer = shell("xmllint --huge --nonet --xpath '%s' /proc/%d/fd/%d", expression,
			     getpid(), fd);
	close(fd);
	return answer;
}

/* Reads the rectangles back, with the titles from the XML parser. */
static struct rects parse(const char *svg)
{
	struct rects r = { 0 };
	char *titles = xpath(svg, "//*[@data-v]/*[local-name()=\"title\"]/text()");
	char *title = titles;
	struct cur lines = cur_of(svg, strlen(svg));
	const char *line;
	size_t len;
	while (cur_line(&lines, &line, &len)) {
		struct rect rect = { 0 };
		unsigned height;
		char tag[256]; /* sscanf measures its whole input */
		snprintf(tag, sizeof tag, "%.*s", (int)(len < 255 ? len : 255), line);
		int n = sscanf(tag,
			       "<rect class=\"%7[^\"]\" x=\"%lf\" y=\"%u\" width=\"%lf\" "
			       "height=\"%u\" data-v=\"%lld\">",
			       rect.class, &rect.x, &rect.y, &rect.width, &height, &rect.value);
		if (n != 6)
			continue; /* something else */
		ck_assert_uint_eq(height, 17);
		char *info = strchr(title, '\n'), *end = info ? strchr(info + 1, '\n') : NULL;
		ck_assert_ptr_nonnull(end);
		snprintf(rect.name, sizeof rect.name, "%.*s", (int)(info - title), title);
		snprintf(rect.info, sizeof rect.info, "%.*s", (int)(end - info - 1), info + 1);
		title = end + 1;
		vec_push(&r.all, rect);
	}
	ck_assert_msg(*title == '\0', "more titles than rectangles: %s", title);
	free(titles);
	return r;
}

static const struct rect *rect_named(const struct rects *r, const char *name)
{
	for (size_t i = 0; i < r->all.n; i++)
		if (strcmp(r->all.v[i].name, name) == 0)
			return &r->all.v[i];
	ck_abort_msg("no frame is called %s", name);
	return NULL;
}

/* Rows of 18: the depth from the root. */
static unsigned depth_of(const struct rects *r, size_t i)
{
	return abs((int)r->all.v[i].y - (int)r->all.v[0].y) / 18;
}

/* Values of children never exceed their parent's, and every rectangle is at its place by value. Returns the sum of the parents' own values, which is
 * the total if nothing was lost. */
static long long check_geometry(const struct rects *r)
{
	long long next[512] = { 0 }, left[512] = { 0 }, own = 0, total = r->all.v[0].value;
	unsigned deepest = 0;
	for (size_t i = 0; i < r->all.n; i++) {
		const struct rect *rect = &r->all.v[i];
		unsigned d = depth_of(r, i);
		ck_assert_uint_lt(d + 1, 512);
		ck_assert_uint_le(d, deepest + 1);
		for (; deepest > d; deepest--)
			own += left[deepest];
		if (i && deepest == d)
			own += left[d];
		deepest = d;
		double px = 1180.0 * rect->value / total, x = 1180.0 * next[d] / total;
		ck_assert_double_eq_tol(rect->x, x, 0.0051);
		ck_assert_double_eq_tol(rect->width, px > 2 ? px - 0.5 : fmax(px * 0.75, 0.05),
					0.0051);
		left[d] = rect->value;
		next[d + 1] = next[d];
		next[d] += rect->value;
		if (d)
			left[d - 1] -= rect->value;
		if (d)
			ck_assert_int_ge(left[d - 1], 0);
	}
	for (; deepest > 0; deepest--)
		own += left[deepest];
	return own + left[0];
}

START_TEST(every_frame_is_there)
{
	struct profile *p = folded_profile("main;a;leaf 30\nmain;a 10\nmain;b_[k] 50\nother 10\n");
	char *svg = written(&format_svg, p, &(struct format_write_opts){ 0 });
	struct rects r = parse(svg);
	static const struct {
		const char *name, *info;
		unsigned depth;
	} want[] = {
		{ "all", "100 samples \xc2\xb7 100.00 % of all", 0 },
		{ "main", "native \xc2\xb7 90 samples \xc2\xb7 90.00 % of all", 1 },
		{ "a", "native \xc2\xb7 40 samples \xc2\xb7 40.00 % of all \xc2\xb7 self 10.00 %",
		  2 },
		{ "leaf",
		  "native \xc2\xb7 30 samples \xc2\xb7 30.00 % of all \xc2\xb7 self 30.00 %", 3 },
		{ "b", "kernel \xc2\xb7 50 samples \xc2\xb7 50.00 % of all \xc2\xb7 self 50.00 %",
		  2 },
		{ "other",
		  "native \xc2\xb7 10 samples \xc2\xb7 10.00 % of all \xc2\xb7 self 10.00 %", 1 },
	};
	ck_assert_uint_eq(r.all.n, sizeof want / sizeof *want);
	for (size_t i = 0; i < r.all.n; i++) {
		ck_assert_str_eq(r.all.v[i].name, want[i].name);
		ck_assert_str_eq(r.all.v[i].info, want[i].info);
		ck_assert_uint_eq(depth_of(&r, i), want[i].depth);
	}
	ck_assert_int_eq(check_geometry(&r), 100);
	ck_assert_uint_gt(r.all.v[0].y, r.all.v[1].y); /* the root is at the bottom */
	vec_done(&r.all);
	free(svg);
	profile_free(p);
}
END_TEST

START_TEST(icicle_has_the_root_on_top)
{
	struct profile *p = folded_profile("main;a 3\n");
	char *svg = written(&format_svg, p, &(struct format_write_opts){ .icicle = true });
	struct rects r = parse(svg);
	for (size_t i = 0; i < r.all.n; i++)
		ck_assert_uint_eq(r.all.v[i].y, 18 * i);
	ck_assert_ptr_nonnull(strstr(svg, " data-icicle=\"\""));
	vec_done(&r.all);
	free(svg);
	profile_free(p);
}
END_TEST

/* Many stacks of very different weights. */
static char *wide_profile(unsigned n)
{
	struct buf b = { 0 };
	for (unsigned i = 0; i < n; i++)
		buf_addf(&b, "main;group%u;f%u;g%u %u\n", i % 7, i, i / 2,
			 1 + (i % 50 == 0) * 10000);
	return buf_steal(&b);
}

/* "123,456 frames below …" → 123456; 0 for another name. */
static unsigned long rest_count(const char *name)
{
	unsigned long n = 0;
	const char *at = name;
	for (; (*at >= '0' && *at <= '9') || *at == ','; at++)
		n = *at == ',' ? n : n * 10 + (*at - '0');
	return str_starts(at, " frame") && strstr(at, " below ") ? n : 0;
}

START_TEST(pruning_preserves_sums_and_counts)
{
	char *text = wide_profile(3000);
	struct profile *p = folded_profile(text);
	char *all = written(&format_svg, p, &(struct format_write_opts){ .min_width_px = -1 });
	char *some = written(&format_svg, p, &(struct format_write_opts){ .min_width_px = 1 });
	struct rects a = parse(all), s = parse(some);
	ck_assert_uint_eq(a.all.n, 2 + 7 + 2 * 3000);
	ck_assert_uint_lt(s.all.n, 400);
	ck_assert_int_eq(check_geometry(&a), a.all.v[0].value);
	ck_assert_int_eq(check_geometry(&s), a.all.v[0].value);
	unsigned long shown = 0, hidden = 0;
	for (size_t i = 0; i < s.all.n; i++) {
		unsigned long rest = rest_count(s.all.v[i].name);
		hidden += rest;
		shown += rest == 0;
		if (rest) {
			ck_assert_ptr_nonnull(strstr(s.all.v[i].name, " below 1 px"));
			ck_assert_str_eq(s.all.v[i].class, "b0");
		}
	}
	ck_assert_uint_eq(shown + hidden, a.all.n);
	ck_assert_ptr_nonnull(strstr(some, " data-rest=\"b\"")); /* what the script does not find */
	for (size_t i = 0; i < a.all.n; i++)
		ck_assert_uint_eq(rest_count(a.all.v[i].name), 0);
	vec_done(&a.all);
	vec_done(&s.all);
	free(all);
	free(some);
	free(text);
	profile_free(p);
}
END_TEST

START_TEST(hostile_names_are_harmless)
{
	struct buf b = { 0 };
	buf_adds(&b, "<script>alert(1)</script>;\"quoted' & <b>;]]>x;\x1b[31mred\x07;\xff\xfe;"
		     "\xe2\x80\xaereversed 5\n</svg><script>;");
	for (int i = 0; i < 60000; i++)
		buf_addc(&b, 'A' + i % 26);
	buf_adds(&b, " 7\n");
	struct profile *p = folded_profile(buf_cstr(&b));
	char *svg = written(&format_svg, p,
			    &(struct format_write_opts){ .title = "</title><script>x</script>" });
	struct rects r = parse(svg);
	ck_assert_uint_eq(r.all.n, 9);
	rect_named(&r, "&lt;script&gt;alert(1)&lt;/script&gt;");
	rect_named(&r, "]]&gt;x");
	rect_named(
		&r,
		"\xef\xbf\xbd[31mred\xef\xbf\xbd"); /* no escape sequences if it is copied to a terminal */
	rect_named(&r, "\xef\xbf\xbdreversed");
	const struct rect *root = &r.all.v[0];
	for (size_t i = 0; i < r.all.n; i++)
		ck_assert_uint_le(strlen(r.all.v[i].name), SVG_MAX_NAME + 3);
	ck_assert_int_eq(root->value, 12);
	char *count = xpath(svg, "count(//*[local-name()=\"script\"])");
	ck_assert_int_eq(atoll(count), 1);
	free(count);
	vec_done(&r.all);
	free(svg);
	buf_done(&b);
	profile_free(p);
}
END_TEST

START_TEST(refuses_too_many_rectangles)
{
	char dir[32], path[64];
	struct err err = { 0 };
	char *text = wide_profile(SVG_MAX_RECTS / 2 + 1);
	struct profile *p = folded_profile(text);
	struct format_write_opts opts = { .min_width_px = -1 };
	temp_dir(dir);
	snprintf(path, sizeof path, "%s/x.svg", dir);
	ck_assert_int_eq(format_write_file(&format_svg, p, &opts, path, &err), -E2BIG);
	ck_assert_ptr_nonnull(strstr(err.text, "20011 rectangles"));
	ck_assert_ptr_nonnull(strstr(err.hint, "--min-width"));
	ck_assert_ptr_nonnull(strstr(err.hint, "--focus"));
	ck_assert_ptr_nonnull(strstr(err.hint, "--force"));
	ck_assert_int_eq(rmdir(dir), 0); /* no half file */
	opts.force = true;
	char *svg = written(&format_svg, p, &opts);
	struct rects r = parse(svg);
	ck_assert_uint_eq(r.all.n, 20011);
	opts = (struct format_write_opts){ 0 };
	char *small = written(&format_svg, p, &opts);
	ck_assert_uint_lt(strlen(small), strlen(svg) / 10);
	vec_done(&r.all);
	free(small);
	free(svg);
	free(text);
	profile_free(p);
}
END_TEST

START_TEST(odd_values_stay_inside)
{
	struct tree *t = tree_new();
	struct profile *p = profile_new();
	static const struct {
		const char *name;
		int64_t self;
	} nodes[] = {
		{ "huge", INT64_MAX }, { "negative", -5 }, { "zero", 0 }, { "huge2", INT64_MAX }
	};
	for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
		struct tree_func f = { .name = strtab_put(&t->strings, nodes[i].name) };
		uint32_t id = tree_child(t, TREE_ROOT, tree_func_intern(t, &f));
		t->nodes.v[id].self = nodes[i].self;
	}
	tree_total(t);
	char dir[32], path[64];
	struct err err = { 0 };
	struct out out;
	temp_dir(dir);
	snprintf(path, sizeof path, "%s/x.svg", dir);
	ck_assert_int_eq(out_open(&out, path, &err), 0);
	ck_assert_int_eq(svg_write_tree(p, t, &(struct format_write_opts){ 0 }, &out, &err), 0);
	ck_assert_int_eq(out_commit(&out, &err), 0);
	char *svg = taken_file(dir, "x.svg");
	struct rects r = parse(svg);
	for (size_t i = 0; i < r.all.n; i++) {
		ck_assert_double_ge(r.all.v[i].x, 0);
		ck_assert_double_le(r.all.v[i].x + r.all.v[i].width, 1180.01);
		ck_assert_str_ne(r.all.v[i].name, "negative");
		ck_assert_str_ne(r.all.v[i].name, "zero");
	}
	vec_done(&r.all);
	free(svg);
	rmdir(dir);
	tree_free(t);
	profile_free(p);
}
END_TEST

START_TEST(an_empty_profile_is_still_a_graph)
{
	struct profile *p = folded_profile("a;b 0\n");
	char *svg = written(&format_svg, p, &(struct format_write_opts){ 0 });
	struct rects r = parse(svg);
	ck_assert_uint_eq(r.all.n, 1);
	ck_assert_str_eq(r.all.v[0].name, "all");
	ck_assert_int_eq(r.all.v[0].value, 0);
	vec_done(&r.all);
	free(svg);
	profile_free(p);
}
END_TEST

START_TEST(reports_losses)
{
	struct profile *p = folded_profile("[truncated: stack memory unreadable];a 1\nmain;b 39\n");
	p->meta.loss[LOSS_RING_FULL] = 2;
	p->meta.duration_ns = 30000000000;
	p->meta.host = strtab_put(&p->strings, "db7 <&>");
	char *svg = written(&format_svg, p, &(struct format_write_opts){ .title = "A & B" });
	char *sub = xpath(svg, "//*[@class=\"sub\"]/text()");
	ck_assert_ptr_nonnull(strstr(sub, "40 samples"));
	ck_assert_ptr_nonnull(strstr(sub, "30.0 s recorded"));
	ck_assert_ptr_nonnull(strstr(sub, "2 lost (4.8 %)"));
	char *title = xpath(svg, "string(/*/*[local-name()=\"title\"])");
	ck_assert_str_eq(title, "A & B\n");
	char *description = xpath(svg, "string(/*/*[local-name()=\"desc\"])");
	ck_assert_ptr_nonnull(strstr(description, "b 97.5 %"));
	ck_assert_ptr_nonnull(strstr(description, "db7 <&>"));
	char *role = xpath(svg, "string(/*/@role)");
	ck_assert_str_eq(role, "img\n");
	free(role);
	free(description);
	free(title);
	free(sub);
	free(svg);
	profile_free(p);
}
END_TEST

START_TEST(refers_to_nothing_outside)
{
	struct profile *p = folded_profile("a;b 1\n");
	char *svg = written(&format_svg, p, &(struct format_write_opts){ 0 });
	for (const char *at = svg; (at = strstr(at, "://")); at++) /* namespaces only */
		ck_assert_msg(strncmp(at, "://www.w3.org/", 14) == 0, "%.40s", at);
	static const char *const words[] = { "@import", "url(",  "src=",      "href",
					     "fetch(",  "eval(", "innerHTML", "XMLHttp" };
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		ck_assert_msg(!strstr(svg, words[i]), "%s", words[i]);
	char *script = xpath(svg, "string(//*[local-name()=\"script\"])");
	ck_assert_uint_le(strlen(script), 14 * 1024);
	free(script);
	free(svg);
	profile_free(p);
}
END_TEST

START_TEST(suffixes_are_for_colours_by_default)
{
	struct profile *p = folded_profile("main;vfs_read_[k] 5\nmain;odd_[x] 5\nodd_[c];main 5\n");
	char *plain = written(&format_svg, p, &(struct format_write_opts){ 0 });
	char *full =
		written(&format_svg, p, &(struct format_write_opts){ .annotate = ANNOTATE_ALL });
	ck_assert_ptr_null(strstr(plain, "vfs_read_[k]"));
	ck_assert_ptr_nonnull(strstr(full, "<title>vfs_read_[k]\n"));
	ck_assert_ptr_nonnull(strstr(full, ">vfs_read</text>"));
	ck_assert_ptr_nonnull(strstr(plain, ">odd</text>"));
	free(plain);
	free(full);
	profile_free(p);
}
END_TEST

START_TEST(legend_adds_up)
{
	struct profile *p =
		folded_profile("main;a::b 20\nmain;vfs_[k] 30\nmain;f_[j] 40\nmain 10\n");
	char *svg = written(&format_svg, p, &(struct format_write_opts){ 0 });
	char *legend = xpath(svg, "//*[@class=\"legend\"]//*[local-name()=\"text\"]/text()");
	ck_assert_str_eq(legend, "Java, JIT 40.0 %\nkernel 30.0 %\nC++ 20.0 %\nnative 10.0 %\n");
	free(legend);
	free(svg);
	profile_free(p);
}
END_TEST

/* Relative luminance and contrast of WCAG 2.1. */
static double luminance(uint32_t rgb)
{
	static const double weight[3] = { 0.0722, 0.7152, 0.2126 };
	double sum = 0;
	for (int i = 0; i < 3; i++) {
		double c = ((rgb >> (8 * i)) & 255) / 255.0;
		sum += weight[i] * (c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4));
	}
	return sum;
}

static double contrast(uint32_t a, uint32_t b)
{
	double x = luminance(a) + 0.05, y = luminance(b) + 0.05;
	return x > y ? x / y : y / x;
}

static void check_contrast(const char *palette, const struct tree *t)
{
	struct palette *pal;
	uint32_t n;
	ck_assert_int_eq(palette_new(palette, t, &pal, NULL), 0);
	const struct swatch *s = palette_swatches(pal, &n);
	ck_assert_uint_ge(n, PALETTE_OWN);
	for (uint32_t i = 0; i < n; i++)
		for (int step = 0; step < PALETTE_STEPS; step++) {
			uint32_t rgb = palette_rgb(&s[i], step);
			double c = contrast(rgb, s[i].light_text ? 0xffffff : 0x111111);
			ck_assert_msg(c >= 4.5, "%s: swatch %u #%06x has %.2f", palette, i, rgb, c);
		}
	palette_free(pal);
}

START_TEST(text_is_legible_on_every_colour)
{
	struct profile *hot = folded_profile("a;b 1\n"), *java = folded_profile("a;b_[j] 1\n");
	struct tree *t = built_tree(hot, NULL), *j = built_tree(java, NULL);
	static const char *const names[] = { "kind", "binary", "wall", "classic", "mono" };
	for (size_t i = 0; i < 5; i++) {
		check_contrast(names[i], t);
		check_contrast(names[i], j);
	}
	t->type_name = "alloc_space";
	check_contrast("classic", t);
	t->type_name = "off-cpu";
	check_contrast("classic", t);
	t->is_diff = true;
	check_contrast("kind", t);
	ck_assert_double_ge(contrast(0xe600e6, 0x111111), 4.5); /* a match */
	tree_free(t);
	tree_free(j);
	profile_free(hot);
	profile_free(java);
}
END_TEST

START_TEST(unknown_palettes_are_refused)
{
	struct profile *p = folded_profile("a;b 1\n");
	struct tree *t = built_tree(p, NULL);
	struct palette *pal;
	struct err err = { 0 };
	ck_assert_int_eq(palette_new("clasic", t, &pal, &err), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.hint, "classic"));
	tree_free(t);
	profile_free(p);
}
END_TEST

/* The meaning of a colour in its palette's legend; NULL if it is not explained. */
static const char *meaning(const char *palette, const struct tree *t, const char *name)
{
	struct palette *p;
	const char *label = NULL;
	uint32_t n;
	ck_assert_int_eq(palette_new(palette, t, &p, NULL), 0);
	const struct legend_line *legend = palette_legend(p, &n);
	for (uint32_t i = 1; i < t->nodes.n; i++) {
		const struct tree_func *f = &t->funcs.v[t->nodes.v[i].func];
		if (strcmp(strtab_get(&t->strings, f->name), name) != 0)
			continue;
		for (uint32_t k = 0; k < n; k++)
			if (legend[k].swatch == palette_shade(p, i).swatch)
				label = legend[k].label;
		palette_free(p);
		return label;
	}
	ck_abort_msg("no node is called %s", name);
	return NULL;
}

START_TEST(colours_mean_what_frames_are)
{
	struct profile *p = folded_profile(
		"m;std::sort<int> 1\nm;libc.so.6+0x1f3a 1\nm;[unknown] 1\nm;<a::B as c::D>::e 1\n"
		"m;x::y::h0123456789abcdef 1\nm;[blocked: futex/lock] 1\nm;k_[k] 1\nm;j_[j] "
		"1\nm;i_[i] "
		"1\n"
		"m;plus+1 1\n");
	struct tree *t = built_tree(p, NULL);
	ck_assert_str_eq(meaning("kind", t, "m"), "native");
	ck_assert_str_eq(meaning("kind", t, "std::sort<int>"), "C++");
	ck_assert_str_eq(meaning("kind", t, "libc.so.6+0x1f3a"), "no symbols");
	ck_assert_str_eq(meaning("kind", t, "[unknown]"), "no symbols");
	ck_assert_str_eq(meaning("kind", t, "plus+1"), "native");
	ck_assert_str_eq(meaning("kind", t, "<a::B as c::D>::e"), "Rust");
	ck_assert_str_eq(meaning("kind", t, "x::y::h0123456789abcdef"), "Rust");
	ck_assert_str_eq(meaning("kind", t, "[blocked: futex/lock]"), "off-CPU");
	ck_assert_str_eq(meaning("kind", t, "k"), "kernel");
	ck_assert_str_eq(meaning("kind", t, "j"), "Java, JIT");
	ck_assert_str_eq(meaning("kind", t, "i"), "interpreted");
	tree_free(t);
	profile_free(p);
}
END_TEST

START_TEST(wall_shows_waiting)
{
	struct profile *p =
		folded_profile("m;io;[blocked: disk I/O];[woken by: w (1)]_[o] 3\nm;busy_[c] "
			       "3\nm_[c] 1\nn;w_[o] 2\n"
			       "n;v_[c] 1\nq;[sched-wait] 1\nr;[off-CPU below 1ms]_[o] 1\n");
	for (int inverted = 0; inverted < 2; inverted++) {
		struct tree *t = built_tree(p, &(struct tree_opts){ .inverted = inverted });
		ck_assert_str_eq(meaning(NULL, t, "busy"), "on-CPU");
		ck_assert_str_eq(meaning(NULL, t, "v"), "on-CPU");
		ck_assert_str_eq(meaning(NULL, t, "io"), "off-CPU");
		ck_assert_str_eq(meaning(NULL, t, "[woken by: w (1)]"), "off-CPU");
		ck_assert_str_eq(meaning(NULL, t, "w"), "off-CPU");
		ck_assert_str_eq(meaning(NULL, t, "r"), "off-CPU");
		ck_assert_str_eq(meaning(NULL, t, "[sched-wait]"), "waiting for a CPU");
		ck_assert_str_eq(meaning(NULL, t, "q"), "waiting for a CPU");
		if (!inverted)
			ck_assert_str_eq(meaning(NULL, t, "m"), "several above it");
		check_contrast(NULL, t);
		tree_free(t);
	}
	char *svg = written(&format_svg, p, &(struct format_write_opts){ 0 });
	char *legend = xpath(svg, "//*[@class=\"legend\"]//*[local-name()=\"text\"]/text()");
	ck_assert_str_eq(legend, "off-CPU 50.0 %\non-CPU 41.7 %\nwaiting for a CPU 8.3 %\n"
				 "several above it\n");
	ck_assert_ptr_nonnull(strstr(svg, "<title>busy_[c]\n"));
	ck_assert_ptr_nonnull(strstr(svg, ">busy</text>"));
	ck_assert_ptr_nonnull(strstr(svg, "<title>[woken by: w (1)]_[o]\n"));
	ck_assert_ptr_nonnull(strstr(svg, "<title>m\n")); /* its own work is a separate frame */
	ck_assert_ptr_nonnull(strstr(svg, "<title>[on-CPU]_[c]\n"));
	free(legend);
	free(svg);
	profile_free(p);
}
END_TEST

/* For CPU time and others, the kind of a frame matters more. */
START_TEST(palettes_go_with_the_type)
{
	static const struct {
		const char *text, *label;
	} cases[] = {
		{ "m;w_[c] 1\n", "native" },
		{ "m;w 1\n", "native" },
		{ "m;w_[o] 1\n", "off-CPU" },
		{ "m;w;[sched-wait] 1\n", "native" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct profile *p = folded_profile(cases[i].text);
		struct tree *t = built_tree(p, NULL);
		ck_assert_str_eq(meaning(NULL, t, "w"), cases[i].label);
		tree_free(t);
		profile_free(p);
	}
}
END_TEST

START_TEST(differences_are_red_and_blue)
{
	struct profile *now = folded_profile("m;more 60\nm;less 10\nm;same 20\nm;fresh 10\n");
	struct profile *before = folded_profile("m;more 20\nm;less 60\nm;same 20\n");
	struct tree *t = built_tree(now, NULL), *old = built_tree(before, NULL);
	tree_diff(t, old, false);
	ck_assert_str_eq(meaning("kind", t, "more"), "more \xe2\x96\xb2");
	ck_assert_str_eq(meaning("kind", t, "less"), "less \xe2\x96\xbc");
	ck_assert_str_eq(meaning("kind", t, "same"), "same share");
	ck_assert_str_eq(meaning("kind", t, "fresh"), "new");
	char dir[32], path[64];
	struct out out;
	temp_dir(dir);
	snprintf(path, sizeof path, "%s/d.svg", dir);
	ck_assert_int_eq(out_open(&out, path, NULL), 0);
	ck_assert_int_eq(svg_write_tree(now, t, &(struct format_write_opts){ 0 }, &out, NULL), 0);
	ck_assert_int_eq(out_commit(&out, NULL), 0);
	char *svg = taken_file(dir, "d.svg");
	rmdir(dir);
	struct rects r = parse(svg);
	ck_assert_ptr_nonnull(
		strstr(rect_named(&r, "more")->info, "\xe2\x96\xb2 40.00 points, was 20.00 %"));
	ck_assert_ptr_nonnull(
		strstr(rect_named(&r, "less")->info, "\xe2\x96\xbc 50.00 points, was 60.00 %"));
	ck_assert_ptr_nonnull(strstr(rect_named(&r, "fresh")->info, "new"));
	ck_assert_ptr_nonnull(strstr(svg, "compared with 100 samples"));
	vec_done(&r.all);
	free(svg);
	tree_free(t);
	tree_free(old);
	profile_free(now);
	profile_free(before);
}
END_TEST

START_TEST(equal_input_gives_equal_graphs)
{
	struct profile *a = folded_profile("m;x 1\nm;y 2\nm;z 3\n");
	struct profile *b = folded_profile("m;z 3\nm;y 2\nm;x 1\n");
	char *s = written(&format_svg, a, &(struct format_write_opts){ 0 });
	char *u = written(&format_svg, b, &(struct format_write_opts){ 0 });
	ck_assert_str_eq(s, u);
	free(s);
	free(u);
	profile_free(a);
	profile_free(b);
}
END_TEST

UNIT_MAIN("svg", every_frame_is_there, icicle_has_the_root_on_top,
	  pruning_preserves_sums_and_counts, hostile_names_are_harmless,
	  refuses_too_many_rectangles, odd_values_stay_inside, an_empty_profile_is_still_a_graph,
	  reports_losses, refers_to_nothing_outside, suffixes_are_for_colours_by_default,
	  legend_adds_up, text_is_legible_on_every_colour, unknown_palettes_are_refused,
	  colours_mean_what_frames_are, wall_shows_waiting, palettes_go_with_the_type,
	  differences_are_red_and_blue, equal_input_gives_equal_graphs)
