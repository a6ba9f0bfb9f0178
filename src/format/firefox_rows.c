#include "format/firefox_rows.h"

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

/* Rows of a frame: outermost line first, inlined ones behind it. Returns the first. */
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

/* One node of the profile's prefix tree, known by where its frame stands in stacks.own. Returns the row of its leaf. */
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

/* Stacks share what lies root-wards: each is a chain of pieces of ever earlier stacks, which is followed from the leaf until
 * a node that the thread has already, and then written from there. */
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
