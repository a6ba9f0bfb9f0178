/* State shared by the virtual tables. */
#include "query/sql/sql_state.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"
#include "profile/profile.h"
#include "query/source.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* --- functions of a dictionary --- */

struct function_key {
	const struct frame_names *names;
	const struct named_function *f;
};

static bool same_function(const void *ctx, uint32_t id)
{
	const struct function_key *key = ctx;
	const struct named_function *a = key->f, *b = &key->names->functions.v[id];
	return a->name == b->name && a->file == b->file && a->binary == b->binary &&
	       a->kind == b->kind;
}

static uint32_t intern_function(struct frame_names *names, const struct named_function *f)
{
	struct function_key key = { names, f };
	uint32_t fresh = names->functions.n;
	uint32_t id =
		map_intern(&names->index, hash_bytes(f, sizeof *f), fresh, same_function, &key);
	if (id == fresh)
		vec_push(&names->functions, *f);
	return id;
}

static void add_frame(struct frame_names *names, struct profile *dict, uint32_t frame)
{
	struct shown_line shown[NAMES_MAX_INLINE];
	uint32_t n = profile_frame_lines(dict, frame, shown, NAMES_MAX_INLINE);
	uint32_t binary = profile_frame_binary(dict, frame);

	vec_push(&names->first, names->lines.n);
	while (n--) {
		struct named_function f = { shown[n].name, shown[n].file, binary,
					    dict->frames.frames.v[frame].kind };
		vec_push(&names->lines,
			 (struct named_line){ intern_function(names, &f), shown[n].line });
	}
}

void frame_names_done(struct frame_names *names)
{
	vec_done(&names->functions);
	vec_done(&names->lines);
	vec_done(&names->first);
	map_done(&names->index);
}

void stack_lines_get(struct stack_lines *out, const struct frame_names *names, uint32_t stack)
{
	const struct stack_table *stacks = &names->dict->stacks;
	uint32_t depth = stack_depth(stacks, stack);

	vec_clear(&out->lines);
	vec_reserve(&out->frames, depth);
	if (depth)
		stack_frames(stacks, stack, out->frames.v);
	for (uint32_t i = 0; i < depth; i++) {
		uint32_t frame = out->frames.v[i];
		uint32_t first = names->first.v[frame], end = names->first.v[frame + 1];
		for (uint32_t k = first; k < end; k++) {
			const struct named_line *l = &names->lines.v[k];
			vec_push(&out->lines,
				 (struct stack_line){ frame, l->function, l->line, k > first });
		}
	}
}

void stack_lines_done(struct stack_lines *s)
{
	vec_done(&s->lines);
	vec_done(&s->frames);
}

bool sql_must_stop(struct sql *sql)
{
	int64_t used_bytes = sqlite3_memory_used() - sql->memory_before;

	return guard_check(&sql->guard, &sql->failed) ||
	       guard_memory(&sql->guard, used_bytes > 0 ? used_bytes : 0, &sql->failed);
}

/* Merges everything, which returns each dictionary once, in a stable order, with its names. */
static int find_parts(struct sql *sql)
{
	struct source *source = sql->source;
	uint32_t n = source->ops->catalog(source)->series.series.n;
	bool *wanted = xmalloc(n + 1);
	struct source_merged merged = { 0 };
	int64_t from_ns, to_ns;

	memset(wanted, true, n + 1);
	source->ops->range(source, &from_ns, &to_ns);
	to_ns += to_ns < INT64_MAX; /* including the last moment */
	int rc = source->ops->merge(source, wanted, from_ns, to_ns, &merged, &sql->failed);
	free(wanted);
	if (rc)
		return rc;
	for (size_t i = 0; i < merged.n; i++) {
		struct profile *dict = merged.parts[i].dict;
		if (sql_part_of(sql, dict) == UINT32_MAX)
			vec_push(&sql->parts,
				 (struct sql_part){ .dict = dict,
						    .n_stacks = dict->stacks.stacks.n });
	}
	source_merged_done(&merged);
	return 0;
}

int sql_find_parts(struct sql *sql)
{
	if (sql->has_parts)
		return SQLITE_OK;
	if (find_parts(sql)) {
		sql_must_stop(sql); /* if a limit was exceeded: sets the message */
		return SQLITE_ERROR;
	}
	sql->has_parts = true;
	return SQLITE_OK;
}

uint32_t sql_part_of(const struct sql *sql, const struct profile *dict)
{
	for (uint32_t i = 0; i < sql->parts.n; i++)
		if (sql->parts.v[i].dict == dict)
			return i;
	return UINT32_MAX;
}

const struct frame_names *sql_names(struct sql *sql, uint32_t part)
{
	struct sql_part *p = &sql->parts.v[part];

	if (p->has_names)
		return &p->names;
	/* This interns the strings of names in the dictionary. */
	p->names = (struct frame_names){ .dict = p->dict };
	for (uint32_t i = 0; i < p->dict->frames.frames.n; i++)
		add_frame(&p->names, p->dict, i);
	vec_push(&p->names.first, p->names.lines.n);
	p->has_names = true;
	return &p->names;
}

bool sql_stack_of(const struct sql *sql, sqlite3_value *value, uint32_t *part, uint32_t *stack)
{
	int64_t id = sqlite3_value_int64(value);

	if (sqlite3_value_type(value) != SQLITE_INTEGER || id < 0 ||
	    (uint64_t)id >> 32 >= sql->parts.n)
		return false;
	*part = (uint64_t)id >> 32;
	*stack = (uint32_t)id;
	return *stack < sql->parts.v[*part].n_stacks;
}
