/* Interns the tables of each thread while a profile is written. */
#include "format/firefox/firefox_rows.h"

#include "base/json/json.h"
#include "profile/frame.h"
#include "profile/names.h"
#include "profile/profile.h"
#include "profile/stack.h"
#include "profile/state.h"
#include "profile/strtab.h"

/* --- markers for samples with a duration --- */

#define FX_WAIT "Wait" /* name of the schema, and type of each marker's data */

enum { FX_PHASE_INTERVAL = 1 };

void fx_write_marker_schema(struct json *j)
{
	json_key(j, "markerSchema");
	json_arr(j);
	json_obj(j);
	json_key_str(j, "name", FX_WAIT);
	json_key(j, "display");
	json_arr(j);
	json_str(j, "marker-chart");
	json_str(j, "marker-table");
	json_end(j);
	json_key(j, "fields");
	json_arr(j);
	json_obj(j);
	json_key_str(j, "key", "state");
	json_key_str(j, "label", "State");
	json_key_str(j, "format", "string");
	json_end(j);
	json_end(j);
	json_end(j);
	json_end(j);
}

static enum thread_state state_of_sample(struct profile *p, size_t sample, uint32_t *reason)
{
	struct stack_state s = state_of_stack(p, p->samples.stack[sample]);
	const struct series *series = &p->series.series.v[p->samples.series[sample]];
	*reason = s.reason;
	return s.state ? s.state : state_of_type_in(p, series->type);
}

static void put_data(struct fx_markers *m, size_t sample)
{
	uint32_t reason;
	enum thread_state state = state_of_sample(m->tables->p, sample, &reason);
	json_obj(m->json);
	json_key_str(m->json, "type", FX_WAIT);
	json_key_str(m->json, "state", thread_state_names[state]);
	json_end(m->json);
}

static void put_name(struct fx_markers *m, size_t sample)
{
	struct profile *p = m->tables->p;
	uint32_t reason;
	enum thread_state state = state_of_sample(p, sample, &reason);
	if (!reason)
		reason = strtab_put(&p->strings, state ? thread_state_names[state] : FX_WAIT);
	json_u64(m->json, fx_put_string(m->tables, reason));
}

static void put_ms(struct fx_markers *m, size_t sample, int64_t length_ns)
{
	const struct profile *p = m->tables->p;
	json_num(m->json, ((double)p->samples.time_ns[sample] - (double)p->meta.start_mono_ns +
			   (double)length_ns) /
				  1e6);
}

static void put_start(struct fx_markers *m, size_t sample)
{
	put_ms(m, sample, 0);
}

static void put_end(struct fx_markers *m, size_t sample)
{
	put_ms(m, sample, sample_length_ns(&m->tables->p->samples, sample));
}

static void put_phase(struct fx_markers *m, size_t sample)
{
	(void)sample;
	json_u64(m->json, FX_PHASE_INTERVAL);
}

static void put_category(struct fx_markers *m, size_t sample)
{
	(void)sample;
	json_u64(m->json, FRAME_MARKER);
}

static const struct {
	const char *key;
	void (*put)(struct fx_markers *m, size_t sample);
} columns[] = {
	{ "data", put_data },   { "name", put_name },   { "startTime", put_start },
	{ "endTime", put_end }, { "phase", put_phase }, { "category", put_category },
};

void fx_write_markers(struct fx_markers *m)
{
	struct json *j = m->json;
	json_key(j, "markers");
	json_obj(j);
	json_key_u64(j, "length", m->samples.n);
	for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
		json_key(j, columns[c].key);
		json_arr(j);
		for (size_t i = 0; i < m->samples.n; i++) {
			columns[c].put(m, m->samples.v[i]);
			m->flush(m->ctx);
		}
		json_end(j);
	}
	json_end(j);
}

uint32_t fx_put_string(struct fx_out_tables *t, uint32_t string)
{
	const uint32_t *known = map_get(&t->string_rows, string);
	if (known)
		return *known;
	map_put(&t->string_rows, string, t->strings.n);
	vec_push(&t->strings, string);
	return t->strings.n - 1;
}

uint32_t fx_put_lib(struct fx_out_tables *t, uint32_t string)
{
	const uint32_t *known = map_get(&t->lib_rows, string);
	if (known)
		return *known;
	map_put(&t->lib_rows, string, t->libs.n);
	vec_push(&t->libs, string);
	return t->libs.n - 1;
}

static uint32_t fx_put_resource(struct fx_out_tables *t, uint32_t binary)
{
	const uint32_t *known = map_get(&t->resource_rows, binary);
	if (known)
		return *known;
	map_put(&t->resource_rows, binary, t->resources.n);
	vec_push(&t->resources, binary);
	fx_put_string(t, binary);
	fx_put_lib(t, binary);
	return t->resources.n - 1;
}

struct fx_func_key {
	const struct fx_out_tables *t;
	struct fx_out_func func;
};

static bool fx_same_func(const void *ctx, uint32_t id)
{
	const struct fx_func_key *key = ctx;
	const struct fx_out_func *f = &key->t->funcs.v[id];
	return f->name == key->func.name && f->file == key->func.file &&
	       f->resource == key->func.resource && f->is_js == key->func.is_js;
}

static uint32_t fx_put_func(struct fx_out_tables *t, const struct fx_out_func *f)
{
	struct fx_func_key key = { t, *f };
	uint64_t hash = hash_mix(hash_mix(f->name, f->file), hash_mix(f->resource, f->is_js));
	uint32_t fresh = t->funcs.n;
	uint32_t id = map_intern(&t->func_rows, hash, fresh, fx_same_func, &key);
	if (id == fresh) {
		vec_push(&t->funcs, *f);
		fx_put_string(t, f->name);
		if (f->file)
			fx_put_string(t, f->file);
	}
	return id;
}

/* Adds the rows of a frame: outermost line first, then inlined ones. Returns the first. */
static uint32_t fx_put_frame(struct fx_out_tables *t, uint32_t frame)
{
	struct shown_line lines[NAMES_MAX_INLINE];
	uint8_t kind = t->p->frames.frames.v[frame].kind;
	const uint32_t *known = map_get(&t->frame_rows, frame);
	if (known)
		return *known;
	uint32_t first = t->frames.n, binary = profile_frame_binary(t->p, frame);
	uint32_t resource = FX_NULL;
	if (strtab_len(&t->p->strings, binary))
		resource = fx_put_resource(t, binary);
	uint32_t n = profile_frame_lines(t->p, frame, lines, NAMES_MAX_INLINE);
	for (uint32_t i = 0; i < n; i++) {
		const struct shown_line *l = &lines[n - 1 - i];
		struct fx_out_func func = { l->name, l->file, resource, kind == FRAME_JS };
		uint32_t row = fx_put_func(t, &func);
		vec_push(&t->frames, (struct fx_out_frame){ row, l->line, kind, i });
	}
	map_put(&t->frame_rows, frame, first);
	return first;
}

/* Adds one node of the profile's prefix tree, identified by the position of its frame in
 * stacks.own. Returns the row of its leaf. */
static uint32_t fx_put_node(struct fx_out_tables *t, uint64_t own, uint32_t prefix)
{
	uint32_t row = fx_put_frame(t, t->p->stacks.own.v[own]);
	do {
		vec_push(&t->stacks, (struct fx_out_stack){ prefix, row++ });
		prefix = t->stacks.n - 1;
	} while (row < t->frames.n && t->frames.v[row].inline_depth);
	map_put(&t->stack_rows, own, prefix);
	return prefix;
}

/* Stacks share their root ends: each is a chain of pieces of earlier stacks. The chain is followed
 * from the leaf to a node that the thread already has; the rest is added from there. */
uint32_t fx_put_stack(struct fx_out_tables *t, uint32_t id)
{
	const struct stack_table *stacks = &t->p->stacks;
	uint32_t depth = stack_depth(stacks, id), row = FX_NULL;
	VEC(uint64_t) nodes = { 0 }; /* leaf first */
	while (depth > 0) {
		const struct stack *s = &stacks->stacks.v[id];
		if (depth <= s->shared) {
			id = s->parent;
			continue;
		}
		uint64_t own = s->own + (depth - 1 - s->shared);
		const uint32_t *known = map_get(&t->stack_rows, own);
		if (known) {
			row = *known;
			break;
		}
		vec_push(&nodes, own);
		depth--;
	}
	while (nodes.n)
		row = fx_put_node(t, nodes.v[--nodes.n], row);
	vec_done(&nodes);
	return row;
}

void fx_out_tables_clear(struct fx_out_tables *t)
{
	map_done(&t->stack_rows);
	map_done(&t->frame_rows);
	map_done(&t->func_rows);
	map_done(&t->resource_rows);
	vec_clear(&t->stacks);
	vec_clear(&t->frames);
	vec_clear(&t->funcs);
	vec_clear(&t->resources);
}

void fx_out_tables_done(struct fx_out_tables *t)
{
	fx_out_tables_clear(t);
	map_done(&t->string_rows);
	map_done(&t->lib_rows);
	vec_done(&t->strings);
	vec_done(&t->libs);
	vec_done(&t->stacks);
	vec_done(&t->frames);
	vec_done(&t->funcs);
	vec_done(&t->resources);
}
