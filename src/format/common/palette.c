/* Colours by frame kind, by hash of the binary, by thread state or classic. */
#include "format/common/palette.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/utf8.h"
#include "profile/frame.h"
#include "profile/state.h"
#include "profile/strtab.h"
#include "profile/tree/tree.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>

/* --- colours as numbers, 0xrrggbb --- */

static uint32_t hash_unit(uint32_t h, uint32_t unit)
{
	return (h ^ unit) * 16777619;
}

/* FNV-1a over UTF-16, as in web/colours.js, so that colours by hash are the same in the page.
 * Invalid UTF-8 becomes U+FFFD there. */
static uint32_t rgb_hash(const char *s, size_t len)
{
	uint32_t h = 2166136261;
	for (size_t n; len; s += n, len -= n) {
		size_t valid = utf8_len(s, len);
		uint32_t c = valid ? utf8_char(s, valid) : 0xfffd;
		n = valid ? valid : 1;
		if (c > 0xffff) {
			h = hash_unit(h, 0xd800 + ((c - 0x10000) >> 10));
			c = 0xdc00 + (c & 0x3ff);
		}
		h = hash_unit(h, c);
	}
	return h ^ h >> 15;
}

/* share 0: a; 1: b. */
static uint32_t rgb_mix(uint32_t a, uint32_t b, double share)
{
	uint32_t out = 0;
	for (int shift = 0; shift < 24; shift += 8) {
		double from = (a >> shift) & 255, to = (b >> shift) & 255;
		out |= (uint32_t)(from + (to - from) * share + 0.5) << shift;
	}
	return out;
}

/* hue 0 … 360; saturation and lightness 0 … 1 */
static uint32_t rgb_of_hue(double hue, double saturation, double lightness)
{
	double chroma = saturation * (lightness < 0.5 ? lightness : 1 - lightness);
	uint32_t out = 0;
	for (int i = 0; i < 3; i++) {
		double k = hue / 30 + (i == 0 ? 0 : i == 1 ? 8 : 4);
		k -= 12 * (int)(k / 12);
		double ramp = k - 3 < 9 - k ? k - 3 : 9 - k;
		ramp = ramp < -1 ? -1 : ramp > 1 ? 1 : ramp;
		out = out << 8 | (uint32_t)(255 * (lightness - chroma * ramp) + 0.5);
	}
	return out;
}

/* --- the palette --- */

enum { LEGEND_MAX_BINARIES = 10, BINARY_HUES = 24 };

struct palette {
	const struct tree *tree;
	struct swatch swatches[PALETTE_MAX_SWATCHES];
	uint32_t n_swatches;
	uint8_t *of_func, *step; /* by function */
	uint8_t *of_node;        /* by node instead, if one function can have several meanings */
	double *self;            /* by function: its share of all self values */
	struct legend_line legend[PALETTE_MAX_SWATCHES];
	uint32_t n_legend;
};

enum {
	RGB_ROOT = 0xd9dce1,
	RGB_REST = 0xe4e6ea,
	RGB_UNKNOWN = 0xb8bcc2,
	RGB_KERNEL = 0xf0a050,
	RGB_GPU = 0x6ccfc4
};

struct meaning {
	uint32_t rgb;
	const char *label;
	bool light_text;
};

/* The swatches of the kind palette, after the common ones. Each domain has its own hue that people
 * with red-green blindness can distinguish (user warm, kernel orange, off-CPU blue, GPU teal,
 * darker towards the instruction); kinds within a domain rely on the legend. Off-CPU is a little
 * lighter than the #4f7fe0 that tested best, so that its darkest step retains the contrast. */
enum {
	KIND_NATIVE = PALETTE_OWN,
	KIND_CPP,
	KIND_RUST,
	KIND_GO,
	KIND_JAVA,
	KIND_PYTHON,
	KIND_SCRIPT,
	KIND_KERNEL,
	KIND_OFF_CPU,
	KIND_GPU_WAIT,
	KIND_GPU_SOURCE,
	KIND_GPU_KERNEL,
	KIND_GPU_INSTRUCTION,
	KIND_GPU_STALL,
	KIND_MARKER,
	KIND_END
};
static const struct meaning kind_meanings[KIND_END - PALETTE_OWN] = {
	[KIND_NATIVE - PALETTE_OWN] = { 0xe5776b, "native", false },
	[KIND_CPP - PALETTE_OWN] = { 0xecd965, "C++", false },
	[KIND_RUST - PALETTE_OWN] = { 0xb98a66, "Rust", false },
	[KIND_GO - PALETTE_OWN] = { 0x8fd0ee, "Go", false },
	[KIND_JAVA - PALETTE_OWN] = { 0xb5cf5c, "Java, JIT", false },
	[KIND_PYTHON - PALETTE_OWN] = { 0xf7b3cb, "Python", false },
	[KIND_SCRIPT - PALETTE_OWN] = { 0xcdb8e8, "interpreted", false },
	[KIND_KERNEL - PALETTE_OWN] = { RGB_KERNEL, "kernel", false },
	[KIND_OFF_CPU - PALETTE_OWN] = { 0x6089e6, "off-CPU", false },
	[KIND_GPU_WAIT - PALETTE_OWN] = { 0x6ccfc4, "waiting for a GPU", false },
	[KIND_GPU_SOURCE - PALETTE_OWN] = { 0xc9f0ea, "GPU source", false },
	[KIND_GPU_KERNEL - PALETTE_OWN] = { 0x6ccfc4, "GPU kernel", false },
	[KIND_GPU_INSTRUCTION - PALETTE_OWN] = { 0x36a294, "GPU instruction", false },
	[KIND_GPU_STALL - PALETTE_OWN] = { 0x0e6a62, "GPU stall", true },
	[KIND_MARKER - PALETTE_OWN] = { 0x9aa0a8, "group, marker", false },
};

static const uint8_t swatch_of_kind[FRAME_KINDS] = {
	[FRAME_NATIVE] = KIND_NATIVE,
	[FRAME_KERNEL] = KIND_KERNEL,
	[FRAME_JIT] = KIND_JAVA,
	[FRAME_PYTHON] = KIND_PYTHON,
	[FRAME_JAVA] = KIND_JAVA,
	[FRAME_GO] = KIND_GO,
	[FRAME_JS] = KIND_SCRIPT,
	[FRAME_RUBY] = KIND_SCRIPT,
	[FRAME_PHP] = KIND_SCRIPT,
	[FRAME_LUA] = KIND_SCRIPT,
	[FRAME_PERL] = KIND_SCRIPT,
	[FRAME_ERLANG] = KIND_SCRIPT,
	[FRAME_GPU_SOURCE] = KIND_GPU_SOURCE,
	[FRAME_GPU_KERNEL] = KIND_GPU_KERNEL,
	[FRAME_GPU_FUNCTION] = KIND_GPU_KERNEL,
	[FRAME_GPU_INSTRUCTION] = KIND_GPU_INSTRUCTION,
	[FRAME_GPU_STALL] = KIND_GPU_STALL,
	[FRAME_INTERPRETED] = KIND_SCRIPT,
	[FRAME_MARKER] = KIND_MARKER,
	[FRAME_REST] = PALETTE_REST,
};

static uint8_t swatch_add(struct palette *p, struct swatch s)
{
	p->swatches[p->n_swatches] = s;
	return p->n_swatches++;
}

static uint8_t swatch_around(struct palette *p, uint32_t rgb, bool light_text)
{
	return swatch_add(p, (struct swatch){ rgb_mix(rgb, 0x000000, 0.06), rgb,
					      rgb_mix(rgb, 0xffffff, 0.06), light_text });
}

static uint8_t swatch_between(struct palette *p, uint32_t first, uint32_t last)
{
	return swatch_add(p, (struct swatch){ first, rgb_mix(first, last, 0.5), last, false });
}

static uint8_t swatch_plain(struct palette *p, uint32_t rgb)
{
	return swatch_add(p, (struct swatch){ rgb, rgb, rgb, false });
}

/* --- kind --- */

/* Matches "module+0x1f3c": an unsymbolized frame. */
static bool is_unsymbolized(const char *name)
{
	const char *plus = strrchr(name, '+');
	if (strcmp(name, "[unknown]") == 0)
		return true;
	if (!plus || !str_starts(plus, "+0x") || !plus[3])
		return false;
	return plus[3 + strspn(plus + 3, "0123456789abcdef")] == '\0';
}

/* Matches "…::h0123456789abcdef": the hash at the end of Rust's legacy mangling. */
static bool has_rust_hash(const char *name)
{
	const char *h = strrchr(name, ':');
	return h && h[1] == 'h' && strlen(h) == 18 && strspn(h + 2, "0123456789abcdef") == 16;
}

static bool is_rust(const char *name, const char *file)
{
	return str_ends(file, ".rs") || has_rust_hash(name) || str_starts(name, "core::") ||
	       str_starts(name, "alloc::") || (name[0] == '<' && strstr(name, " as "));
}

/* Finds the language of native code by its names and files, the only evidence there is. */
static uint8_t swatch_of_native(const char *name, const char *file)
{
	if (is_unsymbolized(name))
		return PALETTE_UNKNOWN;
	if (is_rust(name, file))
		return KIND_RUST;
	if (str_ends(file, ".go"))
		return KIND_GO;
	return strstr(name, "::") ? KIND_CPP : KIND_NATIVE;
}

static uint8_t swatch_of_marker(const char *name)
{
	enum thread_state state = state_of_marker(name, strlen(name));
	return state == STATE_OFF_CPU    ? KIND_OFF_CPU
	       : state == STATE_GPU_WAIT ? KIND_GPU_WAIT
					 : KIND_MARKER;
}

static uint8_t swatch_of_func(const struct palette *p, uint32_t func)
{
	const struct tree_func *f = &p->tree->funcs.v[func];
	const char *name = strtab_get(&p->tree->strings, f->name);
	if (f->kind == FRAME_MARKER)
		return swatch_of_marker(name);
	if (f->kind == FRAME_NATIVE)
		return swatch_of_native(name, strtab_get(&p->tree->strings, f->file));
	return f->kind < FRAME_KINDS ? swatch_of_kind[f->kind] : PALETTE_UNKNOWN;
}

/* --- legend --- */

static int legend_order(const void *a, const void *b)
{
	const struct legend_line *x = a, *y = b;
	if (x->self != y->self)
		return x->self < y->self ? 1 : -1;
	return strcmp(x->label, y->label);
}

static void legend_add(struct palette *p, uint8_t swatch, const char *label, double self)
{
	p->legend[p->n_legend++] = (struct legend_line){ swatch, label, self };
}

/* Returns self values by function, as shares of their sum; the caller frees them. Doubles, because
 * sums of hostile values may overflow. */
static double *self_shares(const struct tree *t)
{
	double *self = xcalloc(t->funcs.n + 1, sizeof *self), sum = 0;
	for (uint32_t i = 1; i < t->nodes.n; i++) {
		self[t->nodes.v[i].func] += t->nodes.v[i].self;
		sum += t->nodes.v[i].self;
	}
	for (uint32_t f = 0; f < t->funcs.n; f++)
		self[f] = sum > 0 ? self[f] / sum : 0;
	return self;
}

/* Adds one line for every swatch in use, with its label. */
static void legend_of_swatches(struct palette *p, const char *const *labels)
{
	double sums[PALETTE_MAX_SWATCHES] = { 0 };
	bool used[PALETTE_MAX_SWATCHES] = { 0 };
	for (uint32_t f = 1; f < p->tree->funcs.n; f++) { /* skip the root */
		sums[p->of_func[f]] += p->self[f];
		used[p->of_func[f]] = true;
	}
	for (uint32_t s = PALETTE_REST; s < p->n_swatches; s++)
		if (used[s])
			legend_add(p, s, labels[s], sums[s]);
	qsort(p->legend, p->n_legend, sizeof *p->legend, legend_order);
}

static void paint_kind(struct palette *p)
{
	const char *labels[PALETTE_MAX_SWATCHES] = {
		[PALETTE_REST] = "not drawn", [PALETTE_UNKNOWN] = "no symbols"
	};
	for (int k = PALETTE_OWN; k < KIND_END; k++) {
		const struct meaning *m = &kind_meanings[k - PALETTE_OWN];
		labels[swatch_around(p, m->rgb, m->light_text)] = m->label;
	}
	for (uint32_t f = 0; f < p->tree->funcs.n; f++)
		p->of_func[f] = swatch_of_func(p, f);
	legend_of_swatches(p, labels);
}

/* --- binary --- */

static void legend_of_binaries(struct palette *p)
{
	const struct tree *t = p->tree;
	double *sum = xcalloc(t->strings.all.n, sizeof *sum);
	uint8_t *swatch = xcalloc(t->strings.all.n, 1);
	for (uint32_t f = 0; f < t->funcs.n; f++) {
		sum[t->funcs.v[f].binary] += p->self[f];
		swatch[t->funcs.v[f].binary] = p->of_func[f];
	}
	while (p->n_legend < LEGEND_MAX_BINARIES) {
		uint32_t best = 0;
		for (uint32_t s = 1; s < t->strings.all.n; s++)
			best = sum[s] > sum[best] ? s : best;
		if (sum[best] <= 0)
			break;
		legend_add(p, swatch[best], best ? strtab_get(&t->strings, best) : "no binary",
			   sum[best]);
		sum[best] = 0;
	}
	double others = 0;
	for (uint32_t s = 0; s < t->strings.all.n; s++)
		others += sum[s];
	if (others > 0)
		legend_add(p, PALETTE_REST, "other binaries", others);
	free(sum);
	free(swatch);
}

static void paint_binary(struct palette *p)
{
	const struct tree *t = p->tree;
	uint8_t kernel = swatch_around(p, RGB_KERNEL, false);
	for (int i = 0; i < BINARY_HUES; i++)
		swatch_around(p, rgb_of_hue(i * 360.0 / BINARY_HUES, 0.6, 0.74), false);
	for (uint32_t i = 0; i < t->funcs.n; i++) {
		const struct tree_func *f = &t->funcs.v[i];
		const char *path = strtab_get(&t->strings, f->binary), *slash = strrchr(path, '/');
		const char *name = slash ? slash + 1 : path;
		if (f->kind == FRAME_KERNEL)
			p->of_func[i] = kernel;
		else if (f->kind == FRAME_REST)
			p->of_func[i] = PALETTE_REST;
		else
			p->of_func[i] =
				*name ? kernel + 1 + rgb_hash(name, strlen(name)) % BINARY_HUES
				      : PALETTE_UNKNOWN;
	}
	legend_of_binaries(p);
}

/* --- wall: thread states above a frame ------------- */

/* Colours of threads working, blocked and waiting for a CPU. Frames with an unknown state count as
 * working. */
static const struct {
	uint32_t rgb;
	const char *label;
} wall_meanings[THREAD_STATES] = {
	[STATE_ON_CPU] = { 0xe5635a, "on-CPU" },
	[STATE_OFF_CPU] = { 0x6089e6, "off-CPU" },
	[STATE_SCHED_WAIT] = { 0x9aa0a8, "waiting for a CPU" },
	[STATE_GPU_WAIT] = { 0x6ccfc4, "waiting for a GPU" },
};
enum { RGB_SEVERAL = 0xd9c2e0 };

struct wall_shares {
	double part[THREAD_STATES];
};

/* Returns the state of nearly all of the time, or STATE_UNSAID if none exists. */
static int wall_state(const struct wall_shares *s, double total)
{
	for (int state = STATE_ON_CPU; state < THREAD_STATES; state++)
		if (s->part[state] > 0.99 * total)
			return state;
	return STATE_UNSAID;
}

static void wall_legend(struct palette *p, const uint8_t *swatch, const struct wall_shares *all)
{
	double sum = 0;
	int n = 0;
	for (int state = STATE_ON_CPU; state < THREAD_STATES; state++)
		sum += all->part[state];
	for (int state = STATE_ON_CPU; state < THREAD_STATES; state++) {
		if (all->part[state] <= 0)
			continue;
		legend_add(p, swatch[state], wall_meanings[state].label, all->part[state] / sum);
		n++;
	}
	qsort(p->legend, p->n_legend, sizeof *p->legend, legend_order);
	if (n > 1)
		legend_add(p, swatch[STATE_UNSAID], "several above it", -1);
}

static void paint_wall(struct palette *p)
{
	const struct tree *t = p->tree;
	uint8_t swatch[THREAD_STATES], *state = tree_states(t);
	struct wall_shares *shares = xcalloc(t->nodes.n, sizeof *shares);
	swatch[STATE_UNSAID] = swatch_around(p, RGB_SEVERAL, false);
	for (int s = STATE_ON_CPU; s < THREAD_STATES; s++)
		swatch[s] = swatch_around(p, wall_meanings[s].rgb, false);
	p->of_node = xcalloc(t->nodes.n, 1);
	for (uint32_t i = t->nodes.n; i-- > 0;) {
		const struct tree_node *n = &t->nodes.v[i];
		shares[i].part[state[i] ? state[i] : STATE_ON_CPU] += n->self;
		p->of_node[i] = swatch[wall_state(&shares[i], n->total)];
		if (t->funcs.v[n->func].kind == FRAME_REST)
			p->of_node[i] = PALETTE_REST;
		for (int s = STATE_ON_CPU; s < THREAD_STATES && i != TREE_ROOT; s++)
			shares[n->parent].part[s] += shares[i].part[s];
	}
	wall_legend(p, swatch, &shares[TREE_ROOT]);
	free(shares);
	free(state);
}

/* --- classic --- */

/* Returns the colours of the first flame graphs: java if there is compiled Java, mem and io by what
 * is measured, hot for anything else. */
static const char *classic_family(const struct tree *t)
{
	static const char *const words[][2] = { { "alloc", "mem" }, { "inuse", "mem" },
						{ "mem", "mem" },   { "page", "mem" },
						{ "hbm", "mem" },   { "off-cpu", "io" },
						{ "wait", "io" },   { "lock", "io" },
						{ "io", "io" } };
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strstr(t->type_name, words[i][0]))
			return words[i][1];
	for (uint32_t f = 0; f < t->funcs.n; f++)
		if (t->funcs.v[f].kind == FRAME_JAVA || t->funcs.v[f].kind == FRAME_JIT)
			return "java";
	return "hot";
}

enum { CLASSIC_ALL = PALETTE_OWN, CLASSIC_JAVA, CLASSIC_AQUA, CLASSIC_CPP, CLASSIC_KERNEL };

static uint8_t classic_java(const struct palette *p, uint32_t func)
{
	switch (swatch_of_func(p, func)) {
	case KIND_JAVA:
		return p->tree->funcs.v[func].inlined ? CLASSIC_AQUA : CLASSIC_JAVA;
	case KIND_SCRIPT:
		return CLASSIC_AQUA;
	case KIND_CPP:
		return CLASSIC_CPP;
	case KIND_KERNEL:
		return CLASSIC_KERNEL;
	default:
		return CLASSIC_ALL;
	}
}

static void paint_classic(struct palette *p)
{
	const char *family = classic_family(p->tree);
	const char *labels[PALETTE_MAX_SWATCHES] = { [PALETTE_REST] = "not drawn" };
	bool java = strcmp(family, "java") == 0;
	uint8_t all = strcmp(family, "mem") == 0  ? swatch_between(p, 0x1fb35a, 0x7ce8a4)
		      : strcmp(family, "io") == 0 ? swatch_between(p, 0x7b9be8, 0xb4c8f6)
		      : java                      ? swatch_between(p, 0xe86a5c, 0xf59084)
						  : swatch_between(p, 0xea6a3c, 0xf6d657);
	labels[all] = java ? "native" : family;
	labels[swatch_between(p, 0x5cc35c, 0x8fe08f)] = "Java, JIT";
	labels[swatch_between(p, 0x4fc3c3, 0x86e0e0)] = "inlined, interpreted";
	labels[swatch_between(p, 0xd6d04a, 0xeeea86)] = "C++";
	labels[swatch_between(p, 0xec9440, 0xf7b06c)] = "kernel";
	for (uint32_t f = 0; f < p->tree->funcs.n; f++)
		p->of_func[f] = p->tree->funcs.v[f].kind == FRAME_REST ? PALETTE_REST
				: java                                 ? classic_java(p, f)
								       : CLASSIC_ALL;
	if (java)
		legend_of_swatches(p, labels);
}

/* Greys by domain, for print and for high contrast. */
enum { MONO_USER = PALETTE_OWN, MONO_KERNEL, MONO_OFF_CPU, MONO_GPU };

static uint8_t mono_of_kind(uint8_t swatch)
{
	switch (swatch) {
	case PALETTE_REST:
		return PALETTE_REST;
	case KIND_KERNEL:
		return MONO_KERNEL;
	case KIND_OFF_CPU:
		return MONO_OFF_CPU;
	case KIND_GPU_SOURCE:
	case KIND_GPU_KERNEL:
	case KIND_GPU_INSTRUCTION:
	case KIND_GPU_STALL:
		return MONO_GPU;
	default:
		return MONO_USER;
	}
}

static void paint_mono(struct palette *p)
{
	const char *labels[PALETTE_MAX_SWATCHES] = { [PALETTE_REST] = "not drawn" };
	labels[swatch_plain(p, 0xffffff)] = "user";
	labels[swatch_plain(p, 0xc4c7cc)] = "kernel";
	labels[swatch_add(p, (struct swatch){ 0x4a505a, 0x4a505a, 0x4a505a, true })] = "off-CPU";
	labels[swatch_plain(p, 0x8a909a)] = "GPU";
	for (uint32_t f = 0; f < p->tree->funcs.n; f++)
		p->of_func[f] = mono_of_kind(swatch_of_func(p, f));
	legend_of_swatches(p, labels);
}

/* --- diff --- */

/* Returns the change of a frame; without a factor between the sides, in points of the whole. */
static double node_change(const struct tree *t, const struct tree_node *n)
{
	const struct tree_node *root = &t->nodes.v[TREE_ROOT];
	if (t->other_factor > 0)
		return n->total - n->other_total * t->other_factor;
	double now = root->total > 0 ? (double)n->total / root->total : 0;
	double before = root->other_total > 0 ? (double)n->other_total / root->other_total : 0;
	return now - before;
}

/* Returns 0 … 3: the size of a change relative to the greatest one. */
static int change_level(double change, double max)
{
	change = change < 0 ? -change : change;
	return change * 2 > max ? 3 : change * 8 > max ? 2 : change * 50 > max ? 1 : 0;
}

static void paint_diff(struct palette *p)
{
	const struct tree *t = p->tree;
	const uint32_t red = 0xe05a50, grey = 0xd4d6da, blue = 0x6089e6;
	uint8_t same = swatch_plain(p, grey), more[4] = { same }, less[4] = { same };
	for (int i = 1; i <= 3; i++) {
		more[i] = swatch_plain(p, rgb_mix(grey, red, i / 3.0));
		less[i] = swatch_plain(p, rgb_mix(grey, blue, i / 3.0));
	}
	uint8_t fresh = swatch_plain(p, 0xf2dc5d);
	double max = 0;
	for (uint32_t i = 1; i < t->nodes.n; i++) {
		double change = node_change(t, &t->nodes.v[i]);
		change = change < 0 ? -change : change;
		max = change > max ? change : max;
	}
	p->of_node = xcalloc(t->nodes.n, 1);
	for (uint32_t i = 1; i < t->nodes.n; i++) {
		double change = node_change(t, &t->nodes.v[i]);
		int level = max > 0 ? change_level(change, max) : 0;
		p->of_node[i] = t->nodes.v[i].other_total == 0 ? fresh
				: change > 0                   ? more[level]
							       : less[level];
	}
	legend_add(p, more[3], "more \xe2\x96\xb2", -1);
	legend_add(p, less[3], "less \xe2\x96\xbc", -1);
	legend_add(p, fresh, "new", -1);
	legend_add(p, same, t->other_factor > 0 ? "same" : "same share", -1);
}

/* --- */

static const struct {
	const char *name;
	void (*paint)(struct palette *p);
} palettes[] = {
	{ "kind", paint_kind },       { "binary", paint_binary }, { "wall", paint_wall },
	{ "classic", paint_classic }, { "mono", paint_mono },
};
enum { N_PALETTES = sizeof palettes / sizeof *palettes };

static int palette_unknown(const char *name, struct err *err)
{
	const char *names[N_PALETTES];
	for (int i = 0; i < N_PALETTES; i++)
		names[i] = palettes[i].name;
	const char *near = str_nearest(name, names, N_PALETTES);
	err_set(err, EINVAL, "unknown palette \"%.40s\"", name);
	return err_hint(err, near ? "did you mean %s?" : "one of kind, binary, wall, classic, mono",
			near);
}

/* The default of types that include waits shows where threads ran and where they waited. */
const char *palette_for(const char *name, const char *type_name)
{
	bool waits = strcmp(type_name, "wall") == 0 || strcmp(type_name, "off-cpu") == 0;
	return name ? name : waits ? "wall" : "kind";
}

int palette_new(const char *name, const struct tree *t, struct palette **out, struct err *err)
{
	void (*paint)(struct palette *) = NULL;
	name = name || t->unmarked ? palette_for(name, t->type_name) : "kind";
	for (int i = 0; i < N_PALETTES; i++)
		if (strcmp(name, palettes[i].name) == 0)
			paint = palettes[i].paint;
	if (!paint)
		return palette_unknown(name, err);
	struct palette *p = xcalloc(1, sizeof *p);
	p->tree = t;
	p->of_func = xcalloc(t->funcs.n + 1, 1);
	p->step = xcalloc(t->funcs.n + 1, 1);
	for (uint32_t f = 0; f < t->funcs.n; f++) {
		uint32_t s = t->funcs.v[f].name;
		p->step[f] = rgb_hash(strtab_get(&t->strings, s), strtab_len(&t->strings, s)) %
			     PALETTE_STEPS;
	}
	p->self = self_shares(t);
	swatch_plain(p, RGB_ROOT);
	swatch_plain(p, RGB_REST);
	swatch_around(p, RGB_UNKNOWN, false);
	(t->is_diff ? paint_diff : paint)(p);
	*out = p;
	return 0;
}

void palette_free(struct palette *p)
{
	if (!p)
		return;
	free(p->of_func);
	free(p->step);
	free(p->of_node);
	free(p->self);
	free(p);
}

struct shade palette_shade(const struct palette *p, uint32_t node)
{
	uint32_t func = p->tree->nodes.v[node].func;
	if (node == TREE_ROOT)
		return (struct shade){ PALETTE_ROOT, 0 };
	return (struct shade){ p->of_node ? p->of_node[node] : p->of_func[func], p->step[func] };
}

const struct swatch *palette_swatches(const struct palette *p, uint32_t *n)
{
	*n = p->n_swatches;
	return p->swatches;
}

uint32_t palette_rgb(const struct swatch *s, uint8_t step)
{
	double at = 2 * step / (PALETTE_STEPS - 1.0);
	return at < 1 ? rgb_mix(s->first, s->middle, at) : rgb_mix(s->middle, s->last, at - 1);
}

const struct legend_line *palette_legend(const struct palette *p, uint32_t *n)
{
	*n = p->n_legend;
	return p->legend;
}

const double *palette_self(const struct palette *p)
{
	return p->self;
}
