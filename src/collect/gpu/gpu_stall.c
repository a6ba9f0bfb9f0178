/* Reads samples of stalls from the rings, splits them by launching stack, and makes samples with
 * source lines. */
#include "collect/gpu/gpu_stall.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"
#include "collect/gpu/gpu_stall_code.h"
#include "collect/gpu/gpu_stall_runs.h"
#include "collect/kernel/gpu_stats.h"
#include "collect/resolve/resolve.h"
#include "gpu/code/device_code.h"
#include "gpu/code/stall_split.h"
#include "profile/sink.h"
#include "profile/strtab.h"
#include "symbol/symbol.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FRAMES_MAX = 128, PERIOD_MAX = 62 };

static const double z95 = 1.96;

struct context {
	uint32_t pid, id;
	uint32_t gpu, period, model; /* gpu: plus 1; 0: unknown */
};
struct reason {
	uint32_t pid, context, number;
	uint32_t words; /* in texts */
	bool not_issued;
};
struct row_key {
	uint32_t pid, gpu, function, words, period, module;
	uint64_t offset;
};
_Static_assert(sizeof(struct row_key) == 32, "row_key has no padding");
struct row {
	struct row_key key;
	uint64_t samples, not_issued, time_ns;
};
struct gpu_stall {
	struct gpu_stall_opts opts;
	struct strtab texts;
	VEC(struct context) contexts;
	VEC(struct reason) reasons;
	VEC(struct row) rows;
	struct map context_of, reason_of, row_of;
	struct gpu_stall_code code;
	struct gpu_stall_runs runs;
	uint32_t dash, no_stack; /* frames */
	double error;            /* samples that may belong to another stack */
	struct gpu_stall_stats stats;
};

static uint64_t key_of(uint32_t pid, uint64_t a, uint64_t b)
{
	return hash_mix(hash_mix(pid, a), b);
}

static uint32_t frame_named(struct gpu_stall *s, enum frame_kind kind, const char *name,
			    const char *file, uint32_t line)
{
	struct frame f = {
		.kind = kind,
		.mapping = MAPPING_NONE,
		.function = sink_string(s->opts.sink, name),
		.file = file ? sink_string(s->opts.sink, file) : 0,
		.line = line,
	};

	return s->opts.sink->ops->frame(s->opts.sink, &f);
}

/* --- what the ring says --- */

static void on_name(struct gpu_stall *s, uint32_t pid, const struct ring_stall_name *n,
		    const char *name)
{
	uint64_t key = key_of(pid, n->context, n->r.correlation);
	const uint32_t *known = map_get(&s->reason_of, key);
	struct reason r = { pid, n->context, n->r.correlation, 0, false };
	char text[DEVICE_STALL_MAX];

	if (!known && s->reasons.n >= GPU_STALL_REASONS)
		return;
	r.words = strtab_put(&s->texts, device_stall_name(name, text, &r.not_issued));
	if (known) {
		s->reasons.v[*known] = r;
		return;
	}
	map_put(&s->reason_of, key, s->reasons.n);
	vec_push(&s->reasons, r);
}

static void note_period(struct gpu_stall *s, uint32_t period)
{
	struct gpu_stall_stats *t = &s->stats;

	if (!period)
		return;
	if (!t->shortest_period || period < t->shortest_period)
		t->shortest_period = period;
	if (period > t->longest_period)
		t->longest_period = period;
}

static void on_config(struct gpu_stall *s, const struct gpu_stall_told *told)
{
	const struct ring_stall_config *c = &told->record->stall_config;
	uint64_t key = key_of(told->pid, c->context, 0);
	const uint32_t *known = map_get(&s->context_of, key);
	struct context context = {
		.pid = told->pid,
		.id = c->context,
		.gpu = told->gpu,
		.period = c->period <= PERIOD_MAX ? c->period : 0,
		.model = c->model,
	};

	note_period(s, context.period);
	s->code.is_pending = true;
	if (known) {
		s->contexts.v[*known] = context;
	} else if (s->contexts.n < GPU_STALL_CONTEXTS) {
		map_put(&s->context_of, key, s->contexts.n);
		vec_push(&s->contexts, context);
	}
}

static bool same_row(const void *ctx, uint32_t i)
{
	const void *const *c = ctx;
	const struct gpu_stall *s = c[0];

	return memcmp(&s->rows.v[i].key, c[1], sizeof(struct row_key)) == 0;
}

/* Returns NULL if it is full. */
static struct row *row_of(struct gpu_stall *s, const struct row_key *key)
{
	const void *ctx[] = { s, key };
	uint64_t hash = hash_bytes(key, sizeof *key);
	uint32_t known;

	if (s->rows.n >= GPU_STALL_ROWS)
		return map_lookup(&s->row_of, hash, same_row, ctx, &known) ? &s->rows.v[known]
									   : NULL;
	uint32_t i = map_intern(&s->row_of, hash, s->rows.n, same_row, ctx);

	if (i == s->rows.n)
		vec_push(&s->rows, (struct row){ .key = *key });
	return &s->rows.v[i];
}

static void on_stall(struct gpu_stall *s, uint32_t pid, const struct ring_stall *r,
		     const char *function, uint64_t now_ns)
{
	const uint32_t *context = map_get(&s->context_of, key_of(pid, r->context, 0));
	const uint32_t *reason = map_get(&s->reason_of, key_of(pid, r->context, r->reason));
	struct row_key key = { .pid = pid,
			       .function = strtab_put(&s->texts, function),
			       .offset = r->offset };

	if (!context || !reason) { /* the program did not describe them, or there are too many */
		s->stats.refused += r->samples;
		return;
	}
	key.module = gpu_stall_code_sampled(&s->code, pid, r->crc, s->contexts.v[*context].model);
	key.gpu = s->contexts.v[*context].gpu;
	key.period = s->contexts.v[*context].period;
	key.words = s->reasons.v[*reason].words;
	struct row *row = row_of(s, &key);

	if (!row) {
		s->stats.refused += r->samples;
		return;
	}
	row->time_ns = now_ns;
	if (s->reasons.v[*reason].not_issued)
		row->not_issued += r->samples;
	else
		row->samples += r->samples;
}

void gpu_stall_record(struct gpu_stall *s, const struct gpu_stall_told *told)
{
	const union ring_any *r = told->record;

	switch (r->r.type) {
	case RING_STALL_NAME:
		on_name(s, told->pid, &r->stall_name, told->name);
		break;
	case RING_STALL_CONFIG:
		on_config(s, told);
		break;
	case RING_MODULE:
		gpu_stall_code_placed(&s->code, told->pid, &r->module);
		break;
	case RING_STALL:
		on_stall(s, told->pid, &r->stall, told->name, told->now_ns);
		break;
	default:
		break;
	}
}

void gpu_stall_read(struct gpu_stall *s, uint32_t pid, struct ring_reader *ring)
{
	gpu_stall_code_read(&s->code, pid, ring);
}

static uint64_t more_than(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

void gpu_stall_lost(struct gpu_stall *s, const struct ring_state_now *now,
		    const struct ring_state_now *before)
{
	s->stats.dropped += more_than(now->stall_dropped, before->stall_dropped);
	s->stats.other += more_than(now->stall_other, before->stall_other);
	s->stats.cubins_lost += more_than(now->cubins_lost, before->cubins_lost);
}

void gpu_stall_ran(struct gpu_stall *s, const struct gpu_share *share, uint32_t gpu,
		   const char *kernel)
{
	gpu_stall_runs_add(&s->runs, share, gpu,
			   kernel ? strtab_put(&s->texts, kernel) + 1 : GPU_STALL_ALL);
}

/* --- samples --- */

struct frames {
	struct gpu_stall *s;
	uint32_t v[FRAMES_MAX], n;
};

static void add_frame(void *ctx, enum frame_kind kind, const char *name, const char *file,
		      uint32_t line)
{
	struct frames *f = ctx;

	if (f->n < FRAMES_MAX)
		f->v[f->n++] = frame_named(f->s, kind, name, file, line);
}

/* Adds frames without device code: the function, the reason, and the offset. */
static void add_bare(struct frames *f, const char *function, const char *words, uint64_t offset)
{
	char place[24], *plain = symbol_demangle(function);

	snprintf(place, sizeof place, "0x%" PRIx64, offset);
	add_frame(f, FRAME_GPU_FUNCTION,
		  plain       ? plain
		  : *function ? function
			      : "[unknown]",
		  NULL, 0);
	add_frame(f, FRAME_GPU_STALL, words, NULL, 0);
	add_frame(f, FRAME_GPU_INSTRUCTION, place, NULL, 0);
	free(plain);
}

static void build_frames(struct gpu_stall *s, const struct row *row, struct frames *out)
{
	const char *function = strtab_get(&s->texts, row->key.function);
	const char *words = strtab_get(&s->texts, row->key.words);

	bool is_unclear;

	*out = (struct frames){ .s = s };
	if (gpu_stall_code_layers(&s->code, row->key.module, function, row->key.offset, words,
				  add_frame, out, &is_unclear))
		return;
	out->n = 0;
	add_bare(out, function, words, row->key.offset);
	s->stats.no_code += row->samples;
	s->stats.unclear += is_unclear ? row->samples : 0;
}

/* The stacks of one function, and the share of its samples that each has. */
struct launchers {
	struct stall_stack *stacks;
	uint64_t *parts;
	uint32_t n;
	struct stall_split *split;
	bool is_estimate;
};

static void put_sample(struct gpu_stall *s, const struct row *row, const struct frames *frames,
		       uint32_t stack, uint32_t type, uint64_t samples, uint32_t of)
{
	struct gpu_ran ran = {
		.type = type,
		.origin = stack,
		.pid = row->key.pid,
		.start_ns = row->time_ns,
		.ns = samples,
		.gpu = row->key.gpu,
		.frames = { stack ? s->dash : s->no_stack },
		.n_frames = 1,
		.more = frames->v,
		.n_more = frames->n,
		.period = row->key.period ? 1ll << row->key.period : 0,
		.samples = of,
	};

	if (samples && type != TYPE_NONE)
		resolve_gpu_ran(s->opts.resolver, &ran);
}

static void count(struct gpu_stall *s, uint32_t stack, uint64_t samples, bool is_estimate)
{
	if (!stack)
		s->stats.no_stack += samples;
	else if (is_estimate)
		s->stats.estimated += samples;
	else
		s->stats.exact += samples;
}

/* Returns 0 if it is no estimate. */
static uint32_t rests_on(const struct launchers *l, uint32_t i, uint64_t samples)
{
	return l->is_estimate ? stall_split_rests_on(l->split, i, samples) : 0;
}

/* Splits the not-issued samples in the same way as the samples that include them. */
static void put_row(struct gpu_stall *s, struct row *row, const struct launchers *l)
{
	struct frames frames;
	uint64_t before = 0, told = 0;

	if (row->not_issued > row->samples)
		row->samples = row->not_issued;
	build_frames(s, row, &frames);
	stall_split_row(l->split, row->samples, l->parts);
	for (uint32_t i = 0; i < l->n; i++) {
		uint64_t samples = l->parts[i], end;

		before += samples;
		end = (uint64_t)((unsigned __int128)before * row->not_issued /
				 (row->samples ? row->samples : 1));
		put_sample(s, row, &frames, l->stacks[i].stack, s->opts.type, samples,
			   rests_on(l, i, row->samples));
		put_sample(s, row, &frames, l->stacks[i].stack, s->opts.not_issued_type, end - told,
			   rests_on(l, i, row->not_issued));
		count(s, l->stacks[i].stack, samples, l->is_estimate);
		told = end;
	}
	s->stats.samples += row->samples;
	s->stats.not_issued += row->not_issued;
	s->stats.places++;
}

static struct launchers launchers_of(struct gpu_stall *s, const struct row_key *key)
{
	struct launchers l = { 0 };

	l.stacks = gpu_stall_runs_get(&s->runs, key->pid, key->gpu, key->function + 1, &l.n);
	l.parts = xcalloc(l.n, sizeof *l.parts);
	l.split = stall_split_new(l.stacks, l.n);
	l.is_estimate = l.n > 1 || s->runs.is_full;
	return l;
}

static void launchers_done(struct gpu_stall *s, struct launchers *l)
{
	for (uint32_t i = 0; l->n > 1 && i < l->n; i++) {
		struct stall_part part = stall_split_part(l->split, i, z95);

		s->error += (part.high - part.low) / 4; /* excess of one is missing from others */
	}
	stall_split_free(l->split);
	free(l->stacks);
	free(l->parts);
}

static int by_function(const void *a, const void *b)
{
	const struct row_key *x = &((const struct row *)a)->key, *y = &((const struct row *)b)->key;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->gpu != y->gpu)
		return x->gpu < y->gpu ? -1 : 1;
	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return x->words < y->words ? -1 : x->words > y->words;
}

static bool is_same_function(const struct row_key *a, const struct row_key *b)
{
	return a->pid == b->pid && a->gpu == b->gpu && a->function == b->function;
}

/* Searches code that was not handed over, by everything that was sampled in it. */
static void find_code(struct gpu_stall *s)
{
	for (size_t i = 0; i < s->rows.n; i++) {
		const struct row_key *key = &s->rows.v[i].key;

		gpu_stall_code_need(&s->code, key->module, strtab_get(&s->texts, key->function),
				    key->offset);
	}
	gpu_stall_code_search(&s->code, !s->opts.is_always);
}

void gpu_stall_flush(struct gpu_stall *s)
{
	struct row *rows = s->rows.v;

	if (s->rows.n)
		qsort(rows, s->rows.n, sizeof *rows, by_function);
	find_code(s);
	for (size_t i = 0, end; i < s->rows.n; i = end) {
		struct launchers l = launchers_of(s, &rows[i].key);

		for (end = i; end < s->rows.n && is_same_function(&rows[i].key, &rows[end].key);
		     end++)
			put_row(s, &rows[end], &l);
		launchers_done(s, &l);
		s->stats.functions++;
	}
	vec_clear(&s->rows);
	map_clear(&s->row_of);
	gpu_stall_runs_clear(&s->runs);
}

void gpu_stall_get_stats(const struct gpu_stall *s, struct gpu_stall_stats *out)
{
	*out = s->stats;
	out->modules = s->code.copied;
	out->in_files = s->code.in_files;
	out->unread = gpu_stall_code_unread(&s->code);
	out->estimate_error = s->stats.estimated ? s->error / (double)s->stats.estimated : 0;
}

/* --- life --- */

static void make_frames(struct gpu_stall *s)
{
	s->dash = frame_named(s, FRAME_MARKER, "-", NULL, 0);
	s->no_stack = frame_named(s, FRAME_MARKER, "[no stack]", NULL, 0);
}

static bool has_ended(uint32_t pid)
{
	return kill(pid, 0) && errno == ESRCH;
}

static void keep_contexts(struct gpu_stall *s)
{
	size_t n = 0;

	map_clear(&s->context_of);
	for (size_t i = 0; i < s->contexts.n; i++) {
		struct context c = s->contexts.v[i];

		if (has_ended(c.pid))
			continue;
		map_put(&s->context_of, key_of(c.pid, c.id, 0), n);
		s->contexts.v[n++] = c;
	}
	s->contexts.n = n;
}

/* Rebuilds texts: names of kernels are not needed between intervals. */
static void keep_reasons(struct gpu_stall *s)
{
	struct strtab texts;
	size_t n = 0;

	strtab_init(&texts);
	map_clear(&s->reason_of);
	for (size_t i = 0; i < s->reasons.n; i++) {
		struct reason r = s->reasons.v[i];

		if (has_ended(r.pid))
			continue;
		r.words = strtab_put(&texts, strtab_get(&s->texts, r.words));
		map_put(&s->reason_of, key_of(r.pid, r.context, r.number), n);
		s->reasons.v[n++] = r;
	}
	s->reasons.n = n;
	strtab_done(&s->texts);
	s->texts = texts;
}

void gpu_stall_set_sink(struct gpu_stall *s, struct sink *sink, const struct gpu_types *types)
{
	gpu_stall_flush(
		s); /* rows refer to numbers that change below; after an interval's end, none */
	keep_contexts(s);
	keep_reasons(s);
	gpu_stall_code_forget_ended(&s->code);
	s->opts.sink = sink;
	s->opts.type = types->stall;
	s->opts.not_issued_type = types->not_issued;
	make_frames(s);
}

struct gpu_stall *gpu_stall_new(const struct gpu_stall_opts *opts)
{
	struct gpu_stall *s = xcalloc(1, sizeof *s);

	s->opts = *opts;
	strtab_init(&s->texts);
	make_frames(s);
	return s;
}

void gpu_stall_free(struct gpu_stall *s)
{
	if (!s)
		return;
	vec_done(&s->contexts);
	vec_done(&s->reasons);
	vec_done(&s->rows);
	map_done(&s->context_of);
	map_done(&s->reason_of);
	map_done(&s->row_of);
	gpu_stall_code_done(&s->code);
	gpu_stall_runs_done(&s->runs);
	strtab_done(&s->texts);
	free(s);
}
