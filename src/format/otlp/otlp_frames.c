/* Reads stacks and frames of a message into the sink. */
#include "format/otlp/otlp_tables.h"

#include "base/buf.h"
#include "base/hash.h"
#include "base/pb.h"
#include "base/vec.h"
#include "format/common/guess.h"
#include "format/pprof/pprof.h"
#include "profile/sink.h"
#include "profile/stack.h"

#include <string.h>

struct location {
	struct cur bytes;
	uint64_t mapping, address;
	bool has_kind, is_folded, at_zero;
	enum frame_kind kind;
};

/* --- reading one ------------------------------------------------------------------------------ */

static void take_line(struct otlp_tables *t, struct cur c)
{
	struct pb_field f;
	struct line line = { 0 };
	uint64_t function = 0;
	while (pb_next(&c, &f)) {
		if (f.num == OTLP_LINE_FUNCTION)
			function = f.u;
		else if (f.num == OTLP_LINE_LINE)
			line.line = f.u <= INT32_MAX ? f.u : 0;
		else if (f.num == OTLP_LINE_COLUMN)
			line.column = f.u < LINE_FOLDED ? f.u : 0;
	}
	const struct otlp_function *fn = otlp_function(t, function);
	if (c.bad || !fn || t->lines.n == NAMES_MAX_INLINE) {
		t->skipped++;
		return;
	}
	t->outermost = fn;
	line.function = fn->id;
	t->lines_hash = hash_mix(t->lines_hash ^ fn->id, (uint64_t)line.line << 32 | line.column);
	vec_push(&t->lines, line);
}

static void take_attr(struct otlp_tables *t, struct location *l, uint64_t index)
{
	const struct otlp_attr *a = otlp_attr_at(t, index);
	if (!a)
		t->skipped++;
	else if (a->role == ATTR_FRAME_TYPE)
		l->has_kind = otlp_frame_kind(a->value.text, &l->kind);
	else if (a->role == ATTR_FOLDED)
		l->is_folded = true;
	else if (a->role == ATTR_AT_ZERO)
		l->at_zero = true;
}

/* Reads a location, and its lines into the tables. Returns false if it is malformed. */
static bool read_location(struct otlp_tables *t, struct cur c, struct location *l)
{
	struct pb_field f;
	vec_clear(&t->lines);
	t->lines_hash = 0;
	t->outermost = NULL;
	while (pb_next(&c, &f)) {
		if (f.num == OTLP_LOCATION_MAPPING)
			l->mapping = f.u;
		else if (f.num == OTLP_LOCATION_ADDRESS)
			l->address = f.u;
		else if (f.num == OTLP_LOCATION_LINES && f.wire == PB_LEN)
			take_line(t, f.len);
		else if (f.num == OTLP_LOCATION_ATTRIBUTES)
			for (struct cur a = f.len; cur_left(&a);)
				take_attr(t, l, cur_varint(&a));
	}
	if (l->is_folded && t->lines.n)
		t->lines.v[0].column |= LINE_FOLDED;
	return !c.bad;
}

/* --- kind and identity ------------------------------------------------------------------------ */

static enum frame_kind kind_of(struct otlp_tables *t, const struct location *l,
			       const struct otlp_mapping *m)
{
	if (l->has_kind)
		return l->kind;
	if (m->place == PLACE_KERNEL || l->address >= PPROF_KERNEL_HALF)
		return FRAME_KERNEL;
	if (!t->outermost)
		return FRAME_NATIVE;
	struct cur name = otlp_text(t, t->outermost->text[FUNCTION_TEXT_NAME]);
	struct cur file = otlp_text(t, t->outermost->text[FUNCTION_TEXT_FILE]);
	return guess_kind((const char *)name.p, cur_left(&name), (const char *)file.p,
			  cur_left(&file));
}

/* Whether the addresses of a kind are code addresses, not a runtime's own numbers. */
static bool kind_has_addresses(enum frame_kind kind)
{
	return kind == FRAME_NATIVE || kind == FRAME_KERNEL || kind == FRAME_JIT ||
	       kind == FRAME_GO || (kind >= FRAME_GPU_SOURCE && kind <= FRAME_GPU_STALL);
}

/* Returns the mapping for frames without one: the kernel, or none. */
static uint32_t mapping_of_kind(struct otlp_tables *t, enum frame_kind kind)
{
	bool is_kernel = kind == FRAME_KERNEL;
	uint32_t *id = is_kernel ? &t->kernel : &t->no_mapping;
	struct mapping m = pprof_no_mapping();
	if (*id == UINT32_MAX && is_kernel)
		m = (struct mapping){ .name = sink_string(t->sink, "[kernel]") };
	if (*id == UINT32_MAX)
		*id = t->sink->ops->mapping(t->sink, &m);
	return *id;
}

static uint32_t mapping_id(struct otlp_tables *t, struct otlp_mapping *m, enum frame_kind kind)
{
	if (m->place == PLACE_NONE)
		return mapping_of_kind(t, kind);
	if (m->id == UINT32_MAX)
		m->id = t->sink->ops->mapping(t->sink, &m->model);
	return m->id;
}

/* Hashes all text of the lines; the same in every message. */
static uint64_t hash_of_texts(struct otlp_tables *t, struct cur location)
{
	struct pb_field f, g;
	uint64_t hash = 0;
	while (pb_next(&location, &f)) {
		if (f.num != OTLP_LOCATION_LINES || f.wire != PB_LEN)
			continue;
		while (pb_next(&f.len, &g)) {
			const struct otlp_function *fn =
				g.num == OTLP_LINE_FUNCTION ? otlp_function(t, g.u) : NULL;
			hash = hash_mix(hash, fn ? fn->f.start_line : g.u);
			for (int i = 0; fn && i < FUNCTION_TEXTS; i++) {
				struct cur s = otlp_text(t, fn->text[i]);
				hash = hash_mix(hash, hash_bytes(s.p, cur_left(&s)));
			}
		}
	}
	return hash;
}

/* Returns a frame that is identified by its lines within its mapping. */
static struct frame frame_of_lines(struct otlp_tables *t, const struct location *l,
				   struct otlp_mapping *m, enum frame_kind kind)
{
	return (struct frame){ .kind = kind,
			       .mapping = mapping_id(t, m, kind),
			       .offset = PPROF_NO_ADDRESS | hash_of_texts(t, l->bytes) >> 16 };
}

static bool frame_at(struct otlp_tables *t, const struct location *l, struct otlp_mapping *m,
		     enum frame_kind kind, struct frame *out)
{
	uint64_t offset = l->address;
	if (m->place == PLACE_FILE)
		offset += m->model.offset - m->model.start;
	if ((l->address == 0 && !l->at_zero) || !pprof_has_address(offset))
		return false;
	*out = (struct frame){ .kind = kind, .mapping = mapping_id(t, m, kind), .offset = offset };
	return true;
}

static bool is_known_by_name(const struct otlp_tables *t, const struct location *l,
			     const struct otlp_mapping *m, enum frame_kind kind)
{
	if (t->lines.n != 1)
		return false;
	if (m->place == PLACE_NONE || (m->name_only && l->address == 0 && !l->at_zero))
		return true;
	return !kind_has_addresses(kind);
}

static struct frame identify(struct otlp_tables *t, const struct location *l,
			     struct otlp_mapping *m)
{
	enum frame_kind kind = kind_of(t, l, m);
	struct frame f;
	if (is_known_by_name(t, l, m, kind))
		return (struct frame){ .kind = kind,
				       .mapping = MAPPING_NONE,
				       .function = t->outermost->f.name,
				       .file = t->outermost->f.file,
				       .line = t->lines.v[0].line,
				       .binary = m->model.name };
	return frame_at(t, l, m, kind, &f) ? f : frame_of_lines(t, l, m, kind);
}

/* Whether the lines add nothing to the identity of a frame known by name. */
static bool lines_are_identity(const struct otlp_tables *t, const struct frame *f)
{
	return f->mapping == MAPPING_NONE && t->lines.v[0].column == 0 &&
	       t->outermost->f.start_line == 0 && t->outermost->f.linkage == 0;
}

/* Returns whether this frame already has other lines; records the lines if it lacks one yet. */
static bool lines_conflict(struct otlp_tables *t, uint32_t frame)
{
	if (t->lines.n == 0)
		return false;
	if (t->lines_of_frame.n <= frame) {
		size_t before = t->lines_of_frame.n;
		vec_reserve(&t->lines_of_frame, frame + 1u);
		t->lines_of_frame.n = frame + 1u;
		memset(t->lines_of_frame.v + before, 0,
		       (frame + 1u - before) * sizeof *t->lines_of_frame.v);
	}
	uint32_t *known = &t->lines_of_frame.v[frame], hash = t->lines_hash >> 32 | 1;
	if (*known)
		return *known != hash;
	*known = hash;
	return false;
}

static uint32_t make_frame(struct otlp_tables *t, struct cur c)
{
	struct location l = { .bytes = c };
	struct otlp_mapping none = { .place = PLACE_NONE, .id = UINT32_MAX };
	if (!read_location(t, c, &l))
		return UINT32_MAX;
	struct otlp_mapping *m = &none;
	if (l.mapping < t->mappings.n)
		m = &t->mappings.v[l.mapping];
	else
		t->skipped += l.mapping != 0;
	struct frame f = identify(t, &l, m);
	uint32_t frame = t->sink->ops->frame(t->sink, &f);
	if (lines_conflict(t, frame)) {
		f = frame_of_lines(t, &l, m, f.kind);
		frame = t->sink->ops->frame(t->sink, &f);
	}
	if (t->lines.n && !lines_are_identity(t, &f))
		t->sink->ops->names(t->sink, frame, t->lines.v, t->lines.n);
	t->n_frames++;
	t->unnamed += t->lines.n == 0;
	return frame;
}

static uint32_t find_frame(struct otlp_tables *t, uint64_t index)
{
	struct otlp_entries *e = &t->of[TABLE_LOCATION];
	if (index >= e->all.n)
		return UINT32_MAX;
	if (e->ids.v[index] == UINT32_MAX)
		e->ids.v[index] =
			make_frame(t, cur_of(t->file + e->all.v[index].at, e->all.v[index].len));
	return e->ids.v[index];
}

/* --- stacks ----------------------------------------------------------------------------------- */

/* Appends the frames of a stack, leaf first. Returns false if one is missing. */
static bool read_stack(struct otlp_tables *t, struct cur c)
{
	struct pb_field f;
	while (pb_next(&c, &f)) {
		if (f.num != STACK_LOCATIONS)
			continue;
		struct cur list = f.len;
		if (f.wire == PB_VARINT) {
			vec_push(&t->frames, find_frame(t, f.u));
			if (t->frames.v[t->frames.n - 1] == UINT32_MAX)
				return false;
		}
		vec_reserve(&t->frames, t->frames.n + cur_left(&list));
		while (cur_left(&list)) {
			uint32_t frame = find_frame(t, cur_varint(&list));
			if (list.bad || frame == UINT32_MAX)
				return false;
			t->frames.v[t->frames.n++] = frame;
		}
	}
	return !c.bad;
}

static void turn_round(uint32_t *frames, size_t n)
{
	for (size_t i = 0; i + 1 < n; i++) {
		uint32_t leaf = frames[i];
		frames[i] = frames[--n];
		frames[n] = leaf;
	}
}

/* Loads up to STACK_BATCH used stacks, starting at `first`. Returns the first stack not
 * examined. */
static size_t load_batch(struct otlp_tables *t, size_t first)
{
	struct otlp_entries *e = &t->of[TABLE_STACK];
	struct stack_list lists[STACK_BATCH] = { 0 };
	uint32_t ids[STACK_BATCH], index[STACK_BATCH], n = 0;
	size_t starts[STACK_BATCH], i;
	vec_reserve(&t->frames, 1);
	vec_clear(&t->frames);
	for (i = first; i < e->all.n && n < STACK_BATCH; i++) {
		size_t start = t->frames.n;
		if (e->ids.v[i] != OTLP_STACK_USED)
			continue;
		e->ids.v[i] = UINT32_MAX;
		if (!read_stack(t, cur_of(t->file + e->all.v[i].at, e->all.v[i].len))) {
			t->frames.n = start;
			t->skipped++;
			continue;
		}
		turn_round(t->frames.v + start, t->frames.n - start);
		starts[n] = start;
		lists[n] = (struct stack_list){ .n = t->frames.n - start };
		index[n++] = i;
	}
	for (uint32_t k = 0; k < n; k++)
		lists[k].frames = t->frames.v + starts[k];
	t->sink->ops->stacks(t->sink, lists, n, ids);
	for (uint32_t k = 0; k < n; k++)
		e->ids.v[index[k]] = ids[k];
	return i;
}

void otlp_load_stacks(struct otlp_tables *t)
{
	for (size_t i = 0; i < t->of[TABLE_STACK].all.n;)
		i = load_batch(t, i);
}
