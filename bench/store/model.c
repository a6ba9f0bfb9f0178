#include "model.h"
#include "model_real.h"

#include "base/hash.h"
#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	PROGRAM_FUNCTIONS = 4000,
	SHARED_FUNCTIONS = 1200, /* half of a library, half of the kernel */
	LIVE_STACKS = 5000,
	GENERATIONS = 5, /* of a stack that lives 6 h at least, in a day */
	OFF_VALUES = 4096,
	NEVER_MET = UINT32_MAX,
};
/* Samples of all nodes and both types in a window, in the mean of a day. */
static const double window_samples = 5642;

struct place { /* of a stack in its pool: one stack after the other */
	uint32_t life_s, phase_s;
};
struct model {
	struct model_opts opts;
	uint32_t live, hot, program_functions, shared_functions;
	struct place *places; /* [pool * live + place] */
	uint32_t *met;        /* [(pool * live + place) * GENERATIONS + generation] → stack */
	VEC(uint32_t) frames; /* of all stacks, root first */
	VEC(uint32_t) first;  /* by stack: its first one; one more at the end */
	struct map by_frames; /* their hash → stack */
	double share[MODEL_SERIES];  /* of window_samples */
	uint32_t off_us[OFF_VALUES]; /* quantiles */
	uint64_t random;
	uint32_t window;
	VEC(struct model_row) samples; /* of a series in a window; of a node, when they are real */
	struct model_real *real;       /* NULL: they are not */
};

static uint64_t next_random(struct model *m)
{
	m->random += 0x9e3779b97f4a7c15;
	return hash_mix(m->random, m->opts.seed);
}
static double next_fraction(struct model *m)
{
	return (next_random(m) >> 11) * 0x1p-53;
}
/* What is always the same for a thing, however often it is asked. */
static double fraction_of(uint64_t a, uint64_t b)
{
	return (hash_mix(a, b) >> 11) * 0x1p-53;
}

/* --- what there is ---
 */

static void make_shares(struct model *m)
{
	double sum = 0, zipf[MODEL_PROGRAMS];
	for (int i = 0; i < MODEL_PROGRAMS; i++)
		sum += zipf[i] = 1.0 / (i + 1);
	for (uint32_t s = 0; s < MODEL_SERIES; s++) {
		uint32_t program = model_series_pool(s) / MODEL_TYPES, node = model_series_node(s);
		/* Nodes are alike, not equal. */
		m->share[s] = zipf[(program + 4 * node) % MODEL_PROGRAMS] / sum /
			      (MODEL_NODES * MODEL_TYPES);
	}
}

static void make_places(struct model *m)
{
	for (uint32_t i = 0; i < MODEL_POOLS * m->live; i++) {
		struct place *p = &m->places[i];
		if (i % m->live < m->hot)
			p->life_s = UINT32_MAX;
		else
			p->life_s = (6 + 12 * fraction_of(i, 1)) * 3600;
		p->phase_s = i % m->live < m->hot ? 0 : p->life_s * fraction_of(i, 2);
	}
}

/* Quantiles of a log-normal distribution, by its tangent approximation: median 300 µs, half between 80 µs and 1.1 ms. */
static void make_off_values(struct model *m)
{
	for (int i = 0; i < OFF_VALUES; i++) {
		double u = (i + 0.5) / OFF_VALUES;
		m->off_us[i] = 1 + 300 * exp(1.9 * log(u / (1 - u)) / 1.702);
	}
}

static uint32_t scaled(const struct model *m, uint32_t n, uint32_t least)
{
	uint32_t s = n * m->opts.size;
	return s > least ? s : least;
}

struct model *model_new(const struct model_opts *opts)
{
	struct model *m = xcalloc(1, sizeof *m);
	m->opts = *opts;
	m->random = opts->seed;
	vec_push(&m->first, 0);
	if (opts->recording) {
		m->real = model_real_new(opts->recording);
		m->met = xmalloc(sizeof *m->met * model_real_stacks(m->real));
		memset(m->met, 0xff, sizeof *m->met * model_real_stacks(m->real));
		return m;
	}
	m->live = scaled(m, LIVE_STACKS, 64);
	m->hot = m->live / 16;
	m->program_functions = scaled(m, PROGRAM_FUNCTIONS, 64);
	m->shared_functions = scaled(m, SHARED_FUNCTIONS, 32);
	m->places = xcalloc(MODEL_POOLS * m->live, sizeof *m->places);
	m->met = xmalloc(sizeof *m->met * MODEL_POOLS * m->live * GENERATIONS);
	memset(m->met, 0xff, sizeof *m->met * MODEL_POOLS * m->live * GENERATIONS);
	make_shares(m);
	make_places(m);
	make_off_values(m);
	return m;
}

void model_free(struct model *m)
{
	free(m->places);
	free(m->met);
	vec_done(&m->frames);
	vec_done(&m->first);
	map_done(&m->by_frames);
	vec_done(&m->samples);
	model_real_free(m->real);
	free(m);
}

uint32_t model_stacks(const struct model *m)
{
	return m->first.n - 1;
}
uint32_t model_functions(const struct model *m)
{
	if (m->real)
		return model_real_functions(m->real);
	return MODEL_PROGRAMS * m->program_functions + m->shared_functions;
}
uint32_t model_windows(const struct model *m)
{
	return m->opts.hours * 3600 / MODEL_WINDOW_S;
}

const char *model_word(const struct model *m)
{
	return m->real ? "alloc" : "flush_token";
}

uint32_t model_window(const struct model *m)
{
	return m->window;
}

/* --- stacks ---
 */

enum { BY_DEPTH = 16, BY_BASE, BY_SHARED, BY_LEAVES, BY_OWN };

static uint32_t depth_of(const struct model *m, uint32_t index)
{
	double u = fraction_of(index ^ m->opts.seed << 32, BY_DEPTH);
	return u < 0.05 ? 60 + u * 20 * 41 : 12 + (u - 0.05) / 0.95 * 37;
}

static uint32_t own_frame(const struct model *m, uint32_t index, uint32_t at, bool is_shared)
{
	uint64_t h = hash_mix(index ^ m->opts.seed << 32, BY_OWN + at);
	double u = (uint32_t)h * 0x1p-32;
	uint32_t pool = index / GENERATIONS / m->live, f;
	if (is_shared)
		f = MODEL_PROGRAMS * m->program_functions +
		    (uint32_t)(u * u * u * m->shared_functions);
	else
		f = pool / MODEL_TYPES * m->program_functions +
		    (uint32_t)(u * u * u * m->program_functions);
	return f * MODEL_FRAMES_PER_FUNCTION + (h >> 32) % MODEL_FRAMES_PER_FUNCTION;
}

/* The first `want` frames of a stack. It leaves a more popular one of its pool somewhere, which left another one, … */
static void put_frames(const struct model *m, uint32_t index, uint32_t want, uint32_t *frames)
{
	uint32_t place = index / GENERATIONS % m->live, depth = depth_of(m, index), shared = 0;
	uint64_t key = index ^ m->opts.seed << 32;
	if (place) {
		uint32_t other = fraction_of(key, BY_BASE) * place;
		uint32_t base = index - index % GENERATIONS - (place - other) * GENERATIONS;
		uint32_t limit = depth_of(m, base) < depth ? depth_of(m, base) : depth;
		shared = limit * (0.5 + 0.46 * fraction_of(key, BY_SHARED));
		put_frames(m, base, shared < want ? shared : want, frames);
	}
	uint32_t leaves = 1 + hash_mix(key, BY_LEAVES) % 5;
	for (uint32_t i = shared; i < want; i++)
		frames[i] = own_frame(m, index, i, i + leaves >= depth);
}

const uint32_t *model_stack_frames(const struct model *m, uint32_t stack, uint32_t *depth)
{
	*depth = m->first.v[stack + 1] - m->first.v[stack];
	return m->frames.v + m->first.v[stack];
}

uint32_t model_find_stack(const struct model *m, const uint32_t *frames, uint32_t n)
{
	const uint32_t *stack = map_get(&m->by_frames, hash_bytes(frames, n * sizeof *frames));
	return stack ? *stack : UINT32_MAX;
}

/* Now and then two come out equal: they are one. */
static uint32_t meet_stack(struct model *m, uint32_t index)
{
	uint32_t depth, fresh = model_stacks(m);
	vec_reserve(&m->frames, m->frames.n + MODEL_MAX_DEPTH);
	uint32_t *frames = m->frames.v + m->frames.n;
	if (m->real) {
		depth = model_real_stack(m->real, index, frames);
	} else {
		depth = depth_of(m, index);
		put_frames(m, index, depth, frames);
	}
	uint64_t key = hash_bytes(frames, depth * sizeof *frames);
	uint32_t stack = map_intern(&m->by_frames, key, fresh, NULL, NULL);
	if (stack == fresh) {
		m->frames.n += depth;
		vec_push(&m->first, m->frames.n);
	}
	return stack;
}

/* --- rows ---
 */

static int compare_stacks(const void *a, const void *b)
{
	const struct model_row *x = a, *y = b;
	if (x->series != y->series)
		return x->series < y->series ? -1 : 1;
	return (x->stack > y->stack) - (x->stack < y->stack);
}

/* What m->samples have of one stack is a row. */
static void put_samples(struct model *m, model_rows *out)
{
	const struct model_row *s = m->samples.v;
	if (m->samples.n)
		qsort(m->samples.v, m->samples.n, sizeof *m->samples.v, compare_stacks);
	for (size_t i = 0; i < m->samples.n; i++) {
		if (i && compare_stacks(&s[i], &s[i - 1]) == 0)
			out->v[out->n - 1].value += s[i].value;
		else
			vec_push(out, s[i]);
	}
}

static uint32_t met_stack(struct model *m, uint32_t index)
{
	if (m->met[index] == NEVER_MET)
		m->met[index] = meet_stack(m, index);
	return m->met[index];
}

static void put_real(struct model *m, uint32_t node, model_rows *out)
{
	model_rows rows = { 0 };
	model_real_rows(m->real, node, m->window, &rows);
	vec_clear(&m->samples);
	for (size_t i = 0; i < rows.n; i++) {
		struct model_row row = rows.v[i];
		row.series += node * MODEL_POOLS;
		row.window = m->window;
		row.stack = met_stack(m, row.stack);
		vec_push(&m->samples, row);
	}
	put_samples(m, out);
	vec_done(&rows);
}

static uint32_t pick_stack(struct model *m, uint32_t pool)
{
	double u = next_fraction(m);
	uint32_t at = pool * m->live + (uint32_t)(u * u * u * u * m->live);
	const struct place *p = &m->places[at];
	uint32_t generation = (m->window * MODEL_WINDOW_S + p->phase_s) / p->life_s;
	return met_stack(m, at * GENERATIONS + generation);
}

static void put_series(struct model *m, uint32_t series, double samples, model_rows *out)
{
	uint32_t pool = model_series_pool(series), n = samples + next_fraction(m);
	bool off = pool % MODEL_TYPES;
	vec_clear(&m->samples);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t stack = pick_stack(m, pool);
		vec_push(&m->samples,
			 (struct model_row){ .series = series,
					     .window = m->window,
					     .stack = stack,
					     .value = off ? m->off_us[next_random(m) % OFF_VALUES]
							  : 1 });
	}
	put_samples(m, out);
}

static void put_made_up(struct model *m, model_rows *out)
{
	double hour = m->window * (MODEL_WINDOW_S / 3600.0);
	double load = 1 - 0.6 * cos((hour - 3) * (M_PI / 12));
	for (uint32_t s = 0; s < MODEL_SERIES; s++)
		put_series(m, s, m->share[s] * load * window_samples * m->opts.size, out);
}

bool model_next(struct model *m, uint32_t windows, model_rows *out)
{
	vec_clear(out);
	if (m->window >= model_windows(m))
		return false;
	uint32_t end = m->window + windows;
	for (end = end < model_windows(m) ? end : model_windows(m); m->window < end; m->window++) {
		if (!m->real)
			put_made_up(m, out);
		for (uint32_t node = 0; m->real && node < MODEL_NODES; node++)
			put_real(m, node, out);
	}
	return true;
}

/* --- names ---
 */

uint32_t model_function_binary(const struct model *m, uint32_t function)
{
	uint32_t shared = MODEL_PROGRAMS * m->program_functions;
	if (m->real)
		return model_real_binary(m->real, function);
	if (function < shared)
		return function / m->program_functions;
	return MODEL_PROGRAMS + (function - shared) % 2;
}

const char *model_program_name(uint32_t program, char *buf)
{
	snprintf(buf, MODEL_NAME_BYTES, "service-%02u", program);
	return buf;
}

const char *model_binary_name(const struct model *m, uint32_t binary, char *buf)
{
	char program[MODEL_NAME_BYTES];
	if (m->real)
		snprintf(buf, MODEL_NAME_BYTES, "%s", model_real_binary_name(m->real, binary));
	else if (binary >= MODEL_PROGRAMS)
		snprintf(buf, MODEL_NAME_BYTES, "%s",
			 binary == MODEL_PROGRAMS ? "/usr/lib/libc.so.6" : "[kernel]");
	else
		snprintf(buf, MODEL_NAME_BYTES, "/usr/bin/%.32s",
			 model_program_name(binary, program));
	return buf;
}

static const char *const verbs[] = { "read",   "write", "parse", "encode", "find",  "insert",
				     "remove", "open",  "close", "merge",  "visit", "check",
				     "split",  "flush", "wait",  "notify" };
static const char *const nouns[] = { "request", "reply", "header", "table", "index",
				     "page",    "cache", "queue",  "lock",  "stream",
				     "token",   "node",  "key" };

const char *model_function_name(const struct model *m, uint32_t function, char *buf)
{
	static const char *const spaces[] = { "", "net::", "db::detail::", "std::__detail::" };
	uint64_t h = hash_mix(function, 3);
	uint32_t binary = model_function_binary(m, function);
	if (m->real) {
		snprintf(buf, MODEL_NAME_BYTES, "%s", model_real_name(m->real, function));
		return buf;
	}
	snprintf(buf, MODEL_NAME_BYTES, "%ss%u::%s_%s::%s_%s_%x",
		 binary < MODEL_PROGRAMS ? spaces[h % 4] : "", binary, nouns[h / 1024 % 13],
		 nouns[h / 16384 % 13], verbs[h / 4 % 16], nouns[h / 64 % 13], function);
	return buf;
}

const char *model_file_name(const struct model *m, uint32_t function, char *buf)
{
	if (m->real) {
		snprintf(buf, MODEL_NAME_BYTES, "%s", model_real_file(m->real, function));
		return buf;
	}
	snprintf(buf, MODEL_NAME_BYTES, "src/%u/%s.cc", model_function_binary(m, function),
		 nouns[hash_mix(function, 3) / 64 % 13]);
	return buf;
}
