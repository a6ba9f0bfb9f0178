/* Collects stacks and values until the frames are known. */
#include "format/speedscope/speedscope_calls.h"

#include "base/mem.h"
#include "format/speedscope/speedscope.h"
#include "profile/series.h"
#include "profile/sink.h"
#include "profile/sum.h"

/* --- amounts --- */

static struct amount amount_of(int64_t whole, double part)
{
	double carry = trunc(part);
	return (struct amount){ sum_add(whole, (int64_t)carry), part - carry };
}

struct amount amount_add(struct amount a, struct amount b)
{
	return amount_of(sum_add(a.whole, b.whole), a.part + b.part);
}

struct amount amount_sub(struct amount a, struct amount b)
{
	return amount_of(sum_sub(a.whole, b.whole), a.part - b.part);
}

struct amount amount_mul(struct amount a, int64_t factor)
{
	return amount_of(sum_mul(a.whole, factor), a.part * factor);
}

bool amount_less(struct amount a, struct amount b)
{
	struct amount d = amount_sub(a, b);
	return d.whole < 0 ? d.whole + d.part < 0 : d.whole == 0 && d.part < 0;
}

int64_t amount_round(struct amount a)
{
	return sum_add(a.whole, llround(a.part));
}

/* --- calls --- */

void speedscope_calls_init(struct speedscope_calls *c, struct sink *sink)
{
	*c = (struct speedscope_calls){ .sink = sink };
	vec_push(&c->calls, (struct speedscope_call){ CALL_ROOT, 0 });
}

void speedscope_calls_done(struct speedscope_calls *c)
{
	vec_done(&c->frames);
	vec_done(&c->calls);
	map_done(&c->children);
	map_done(&c->paths);
	vec_done(&c->sources);
	map_done(&c->source_index);
	vec_done(&c->sums);
	vec_done(&c->intervals);
}

uint32_t speedscope_call(struct speedscope_calls *c, uint32_t parent, uint32_t frame)
{
	uint64_t key = (uint64_t)parent << 32 | frame;
	const uint32_t *known = map_get(&c->children, key);
	if (known)
		return *known;
	if (c->calls.n == SPEEDSCOPE_MAX_CALLS)
		return CALL_NONE;
	uint32_t id = c->calls.n;
	vec_push(&c->calls, (struct speedscope_call){ parent, frame });
	map_put(&c->children, key, id);
	return id;
}

struct path_key {
	const struct speedscope_calls *c;
	const uint32_t *frames;
	size_t n;
};

static bool path_same(const void *ctx, uint32_t call)
{
	const struct path_key *key = ctx;
	const struct speedscope_call *calls = key->c->calls.v;
	size_t n = key->n;
	for (; n && call != CALL_ROOT && calls[call].frame == key->frames[n - 1]; n--)
		call = calls[call].parent;
	return n == 0 && call == CALL_ROOT;
}

uint32_t speedscope_path(struct speedscope_calls *c, const uint32_t *frames, size_t n)
{
	struct path_key key = { c, frames, n };
	uint64_t hash = hash_bytes(frames, n * sizeof *frames);
	uint32_t call = CALL_ROOT;
	if (map_lookup(&c->paths, hash, path_same, &key, &call))
		return call;
	for (size_t i = 0; i < n && call != CALL_NONE; i++)
		call = speedscope_call(c, call, frames[i]);
	if (call != CALL_NONE)
		map_intern(&c->paths, hash, call, path_same, &key);
	return call;
}

struct source_key {
	const struct speedscope_calls *c;
	const struct speedscope_source *source;
};

static bool source_same(const void *ctx, uint32_t id)
{
	const struct source_key *key = ctx;
	const struct speedscope_source *a = &key->c->sources.v[id], *b = key->source;
	return a->quantity == b->quantity && a->labels == b->labels && a->pid == b->pid &&
	       a->tid == b->tid;
}

uint32_t speedscope_source(struct speedscope_calls *c, const struct speedscope_source *source)
{
	struct source_key key = { c, source };
	uint64_t hash = hash_mix((uint64_t)source->quantity << 32 | source->labels,
				 (uint64_t)source->pid << 32 | source->tid);
	uint32_t fresh = c->sources.n;
	uint32_t id = map_intern(&c->source_index, hash, fresh, source_same, &key);
	if (id == fresh)
		vec_push(&c->sources, *source);
	return id;
}

/* --- output --- */

enum { STACK_UNKNOWN = UINT32_MAX, STACK_BAD = UINT32_MAX - 1 };
enum { MILLION = 1000000 };

static const struct {
	const char *name, *unit, *millionth;
} quantities[QUANTITIES] = {
	[QUANTITY_TIME] = { "time", "nanoseconds", NULL },
	[QUANTITY_COUNT] = { "samples", "count", "millionths" },
	[QUANTITY_BYTES] = { "memory", "bytes", "microbytes" },
};

struct giver {
	struct speedscope_calls *c;
	uint32_t types[QUANTITIES]; /* id + 1, 0 = not created yet */
	uint32_t too_deep;          /* frame id + 1 */
	uint32_t *stacks;           /* by call */
	VEC(uint32_t) path;
	struct map row_index; /* source << 32 | stack → row */
	VEC(struct sample) rows;
	size_t n_given;
	uint64_t scaled;  /* sums with a fraction, in millionths */
	uint64_t rounded; /* or without it, as their sum is too large for millionths */
};

static uint32_t give_type(struct giver *g, enum quantity q)
{
	struct sink *s = g->c->sink;
	if (g->types[q])
		return g->types[q] - 1;
	bool in_millionths = g->c->has_fractions[q];
	uint32_t name = sink_string(s, quantities[q].name);
	struct type type = { .name = name,
			     .sample_type = name,
			     .unit = sink_string(s, in_millionths ? quantities[q].millionth
								  : quantities[q].unit) };
	g->types[q] = s->ops->type(s, &type) + 1;
	return g->types[q] - 1;
}

static uint32_t give_series(struct giver *g, const struct speedscope_source *source)
{
	struct sink *s = g->c->sink;
	struct series series = { .type = give_type(g, source->quantity), .labels = source->labels };
	return s->ops->series(s, &series);
}

static uint32_t too_deep_frame(struct giver *g)
{
	struct sink *s = g->c->sink;
	struct frame f = { .kind = FRAME_MARKER,
			   .mapping = MAPPING_NONE,
			   .function = sink_string(s, "[truncated: too deep]") };
	if (!g->too_deep)
		g->too_deep = s->ops->frame(s, &f) + 1;
	return g->too_deep - 1;
}

/* Returns the stack of a call, or STACK_BAD if one of its frames is missing. */
static uint32_t give_stack(struct giver *g, uint32_t call)
{
	const struct speedscope_calls *c = g->c;
	vec_clear(&g->path);
	for (uint32_t at = call; at != CALL_ROOT; at = c->calls.v[at].parent) {
		uint32_t frame = c->calls.v[at].frame;
		if (frame != FRAME_TOO_DEEP && frame >= c->frames.n)
			return STACK_BAD;
		vec_push(&g->path,
			 frame == FRAME_TOO_DEEP ? too_deep_frame(g) : c->frames.v[frame]);
	}
	for (size_t i = 0, n = g->path.n; i < n / 2; i++) {
		uint32_t frame = g->path.v[i];
		g->path.v[i] = g->path.v[n - 1 - i];
		g->path.v[n - 1 - i] = frame;
	}
	return c->sink->ops->stack(c->sink, g->path.v, g->path.n);
}

static uint32_t stack_of(struct giver *g, uint32_t call)
{
	if (g->stacks[call] == STACK_UNKNOWN)
		g->stacks[call] = give_stack(g, call);
	return g->stacks[call];
}

/* Returns the row of a source and a stack. Different calls may have the same stack: a file may
 * contain the same frame twice. */
static struct sample *row_of(struct giver *g, uint32_t source_id, uint32_t stack)
{
	const struct speedscope_source *source = &g->c->sources.v[source_id];
	uint64_t key = (uint64_t)source_id << 32 | stack;
	const uint32_t *known = map_get(&g->row_index, key);
	if (known)
		return &g->rows.v[*known];
	map_put(&g->row_index, key, g->rows.n);
	vec_push(&g->rows, (struct sample){ .series = give_series(g, source),
					    .stack = stack,
					    .pid = source->pid,
					    .tid = source->tid,
					    .cpu = SAMPLE_NO_ID });
	return &g->rows.v[g->rows.n - 1];
}

static void give_sum(struct giver *g, const struct speedscope_sum *sum)
{
	uint32_t stack = stack_of(g, sum->call);
	if (stack == STACK_BAD) {
		g->c->skipped += sum->samples;
		if (g->c->sources.v[sum->source].quantity == QUANTITY_TIME)
			g->c->skipped_ns = sum_add(g->c->skipped_ns, amount_round(sum->value));
		return;
	}
	struct amount value = sum->value;
	g->rounded += value.part != 0 && g->c->is_too_large[g->c->sources.v[sum->source].quantity];
	if (g->c->has_fractions[g->c->sources.v[sum->source].quantity]) {
		g->scaled += value.part != 0;
		value = amount_mul(value, MILLION);
	}
	struct sample *row = row_of(g, sum->source, stack);
	row->value = sum_add(row->value, amount_round(value));
}

/* Counts and bytes that are too large for millionths are rounded. */
static void find_too_large(struct speedscope_calls *c)
{
	int64_t all[QUANTITIES] = { 0 };
	for (size_t i = 0; i < c->sums.n; i++) {
		int64_t whole = c->sums.v[i].value.whole,
			*of = &all[c->sources.v[c->sums.v[i].source].quantity];
		*of = sum_add(sum_add(*of, whole < 0 ? sum_sub(0, whole) : whole), 1);
	}
	for (size_t q = 0; q < QUANTITIES; q++) {
		c->is_too_large[q] = c->has_fractions[q] && all[q] > INT64_MAX / MILLION;
		c->has_fractions[q] &= !c->is_too_large[q];
	}
}

static void give_sums(struct giver *g)
{
	struct speedscope_calls *c = g->c;
	for (size_t i = 0; i < c->sums.n; i++)
		give_sum(g, &c->sums.v[i]);
	for (size_t i = 0; i < g->rows.n; i++)
		c->sink->ops->sample(c->sink, &g->rows.v[i]);
	g->n_given += g->rows.n;
}

static void give_intervals(struct giver *g)
{
	struct speedscope_calls *c = g->c;
	for (size_t i = 0; i < c->intervals.n; i++) {
		const struct speedscope_interval *in = &c->intervals.v[i];
		const struct speedscope_source *source = &c->sources.v[in->source];
		struct sample sample = { .time_ns = in->start_ns,
					 .length_ns = in->value_ns,
					 .value = in->value_ns,
					 .stack = stack_of(g, in->call),
					 .pid = source->pid,
					 .tid = source->tid,
					 .cpu = SAMPLE_NO_ID };
		if (sample.stack == STACK_BAD) {
			c->skipped++;
			c->skipped_ns = sum_add(c->skipped_ns, in->value_ns);
			continue;
		}
		sample.series = give_series(g, source);
		c->sink->ops->sample(c->sink, &sample);
		g->n_given++;
	}
}

size_t speedscope_give(struct speedscope_calls *c, enum quantity first)
{
	struct giver g = { .c = c };
	g.stacks = xreallocarray(NULL, c->calls.n, sizeof *g.stacks);
	for (size_t i = 0; i < c->calls.n; i++)
		g.stacks[i] = STACK_UNKNOWN;
	find_too_large(c);
	c->sink->ops->meta(c->sink)->default_type = give_type(&g, first); /* even without samples */
	give_sums(&g);
	give_intervals(&g);
	if (g.scaled)
		c->sink->ops->loss(c->sink, LOSS_INPUT_SCALED, g.scaled);
	if (g.rounded)
		c->sink->ops->loss(c->sink, LOSS_INPUT_ROUNDED, g.rounded);
	if (c->skipped)
		c->sink->ops->loss(c->sink, LOSS_INPUT_SKIPPED, c->skipped);
	c->sink->ops->loss_time(c->sink, LOSS_INPUT_SKIPPED, c->skipped_ns);
	free(g.stacks);
	vec_done(&g.path);
	vec_done(&g.rows);
	map_done(&g.row_index);
	return g.n_given;
}
