/* Converts tables of the file to the sink. */
#include "format/pprof/pprof_tables.h"

#include "base/parse.h"
#include "base/pb.h"
#include "format/common/guess.h"
#include "format/pprof/pprof.h"
#include "profile/sink.h"
#include "profile/state.h"

#include <stdint.h>
#include <string.h>

void pprof_tables_init(struct pprof_tables *t, struct sink *sink, const void *file)
{
	*t = (struct pprof_tables){ .sink = sink, .file = file };
	t->no_mapping = (struct pprof_mapping){ .role = ROLE_NONE, .id = UINT32_MAX };
}

static void entries_done(struct pprof_entries *e)
{
	vec_done(&e->all);
	vec_done(&e->ids);
	map_done(&e->row_of_id);
}

void pprof_tables_done(struct pprof_tables *t)
{
	entries_done(&t->strings);
	entries_done(&t->mappings);
	entries_done(&t->functions);
	entries_done(&t->locations);
	vec_done(&t->mapping);
	vec_done(&t->function);
	vec_done(&t->lines);
	vec_done(&t->lines_of_frame);
}

bool pprof_entries_add(struct pprof_tables *t, struct pprof_entries *e, struct cur c)
{
	if (e->all.n == PPROF_MAX_ENTRIES)
		return false;
	vec_push(&e->all, (struct pprof_entry){ c.p - t->file, cur_left(&c) });
	return true;
}

static struct cur entry_cur(const struct pprof_tables *t, const struct pprof_entry *e)
{
	return cur_of(t->file + e->at, e->len);
}

static bool pprof_string_valid(const struct pprof_tables *t, uint64_t index)
{
	return index < t->strings.all.n;
}

struct cur pprof_text(const struct pprof_tables *t, uint64_t index)
{
	if (!pprof_string_valid(t, index))
		return cur_of("", 0);
	return entry_cur(t, &t->strings.all.v[index]);
}

uint32_t pprof_string(struct pprof_tables *t, uint64_t index)
{
	if (index == 0)
		return 0;
	if (!pprof_string_valid(t, index)) {
		t->skipped++;
		return 0;
	}
	const struct pprof_entry *e = &t->strings.all.v[index];
	uint32_t *id = &t->strings.ids.v[index];
	if (*id == UINT32_MAX)
		*id = t->sink->ops->string(t->sink, (const char *)t->file + e->at, e->len);
	return *id;
}

/* --- ids -------------------------------------------------------------------------------------- */

static uint32_t row_of(const struct pprof_entries *e, uint64_t id)
{
	if (id - 1 < e->dense)
		return id - 1;
	const uint32_t *row = map_get(&e->row_of_id, id);
	return row ? *row : UINT32_MAX;
}

static void entries_index(struct pprof_tables *t, struct pprof_entries *e)
{
	enum { ENTRY_ID = 1 }; /* in all three kinds of message */
	for (uint32_t row = 0; row < e->all.n; row++) {
		struct cur c = entry_cur(t, &e->all.v[row]);
		struct pb_field f;
		uint64_t id = 0;
		while (id == 0 && pb_next(&c, &f))
			id = f.num == ENTRY_ID && f.wire == PB_VARINT ? f.u : 0;
		if (id == 0 || row_of(e, id) != UINT32_MAX)
			t->skipped++; /* no id, or a duplicate */
		else if (id == row + 1 && e->dense == row)
			e->dense++;
		else
			map_put(&e->row_of_id, id, row);
	}
}

/* --- functions -------------------------------------------------------------------------------- */

static uint32_t clamp_line(uint64_t line)
{
	return line <= INT32_MAX ? line : 0; /* a negative line appears as a huge one */
}

static void load_function(struct pprof_tables *t, const struct pprof_entry *e)
{
	struct cur c = entry_cur(t, e);
	struct pb_field f;
	uint64_t text[3] = { 0 }; /* name, system name, file name */
	struct pprof_function fn = { 0 };
	while (pb_next(&c, &f)) {
		if (f.num >= FUNCTION_NAME && f.num <= FUNCTION_FILENAME)
			text[f.num - FUNCTION_NAME] = f.u;
		else if (f.num == FUNCTION_START_LINE)
			fn.f.start_line = clamp_line(f.u);
	}
	t->skipped += c.bad;
	fn.f.name = pprof_string(t, text[0]);
	fn.f.linkage = pprof_string(t, text[1]);
	fn.f.file = pprof_string(t, text[2]);
	fn.hash = fn.f.start_line;
	for (int i = 0; i < 3; i++) {
		struct cur s = pprof_text(t, text[i]);
		fn.hash = hash_mix(fn.hash, hash_bytes(s.p, cur_left(&s)));
	}
	fn.name_text = text[0];
	fn.file_text = text[2];
	fn.id = t->sink->ops->function(t->sink, &fn.f);
	vec_push(&t->function, fn);
}

/* --- mappings --------------------------------------------------------------------------------- */

/* Converts hex to the raw build id; retains any other text unchanged. */
static void set_build_id(struct pprof_tables *t, struct mapping *m, uint64_t index)
{
	struct cur s = pprof_text(t, index);

	m->build_id_len = parse_hex((const char *)s.p, cur_left(&s), m->build_id, BUILD_ID_MAX);
	if (!m->build_id_len)
		m->build_id_text = pprof_string(t, index);
}

/* Maps "[python]" to FRAME_PYTHON. */
static bool kind_by_name(struct cur name, enum frame_kind *kind)
{
	size_t len = cur_left(&name);
	if (len < 2 || name.p[0] != '[' || name.p[len - 1] != ']')
		return false;
	for (int k = 0; k < FRAME_KINDS; k++) {
		if (!cur_is(cur_of(name.p + 1, len - 2), frame_kinds[k].name))
			continue;
		*kind = k;
		return k != FRAME_KERNEL;
	}
	return false;
}

/* Whether a mapping has only a name. */
static bool is_name_only(const struct mapping *m)
{
	return !m->start && !m->limit && !m->offset && !m->build_id_len && !m->build_id_text;
}

static void set_role(struct pprof_mapping *m, const struct mapping *model, struct cur name)
{
	bool empty = is_name_only(model);
	m->flags = model->flags;
	m->start = model->start;
	m->offset = model->offset;
	m->is_vsyscall = cur_starts(name, "[vsyscall]");
	if (cur_starts(name, PPROF_KERNEL) || cur_is(name, "[kernel]"))
		m->role = ROLE_KERNEL;
	else if (empty && cur_left(&name) == 0)
		m->role = ROLE_EMPTY;
	else if (empty && kind_by_name(name, &m->kind))
		m->role = ROLE_KIND;
}

static void load_mapping(struct pprof_tables *t, const struct pprof_entry *e)
{
	struct cur c = entry_cur(t, e);
	struct pb_field f;
	struct mapping model = { .flags = MAPPING_AS_GIVEN };
	struct pprof_mapping m = { .id = UINT32_MAX };
	uint64_t name = 0, build_id = 0;
	while (pb_next(&c, &f)) {
		if (f.num == MAPPING_START)
			model.start = f.u;
		else if (f.num == MAPPING_LIMIT)
			model.limit = f.u;
		else if (f.num == MAPPING_OFFSET)
			model.offset = f.u;
		else if (f.num == MAPPING_FILENAME)
			name = f.u;
		else if (f.num == MAPPING_BUILD_ID)
			build_id = f.u;
		else if (f.num >= MAPPING_FLAGS && f.num < MAPPING_FLAGS + 4 && f.u)
			model.flags |= 1u << (f.num - MAPPING_FLAGS);
	}
	t->skipped += c.bad;
	set_build_id(t, &model, build_id);
	set_role(&m, &model, pprof_text(t, name));
	if (m.role != ROLE_KIND) {
		bool is_kernel = cur_is(pprof_text(t, name), PPROF_KERNEL);
		model.name = is_kernel ? sink_string(t->sink, "[kernel]") : pprof_string(t, name);
	}
	if (m.role == ROLE_FILE)
		m.name = model.name;
	if (m.role != ROLE_KIND && !(m.role == ROLE_FILE && is_name_only(&model)))
		m.id = t->sink->ops->mapping(t->sink, &model);
	vec_push(&t->mapping, m);
}

static void entries_forget_ids(struct pprof_entries *e)
{
	vec_reserve(&e->ids, e->all.n);
	e->ids.n = e->all.n;
	if (e->ids.n)
		memset(e->ids.v, 0xff, e->ids.n * sizeof *e->ids.v);
}

void pprof_tables_load(struct pprof_tables *t)
{
	entries_forget_ids(&t->strings);
	entries_forget_ids(&t->locations);
	entries_index(t, &t->mappings);
	entries_index(t, &t->functions);
	entries_index(t, &t->locations);
	for (uint32_t i = 0; i < t->mappings.all.n; i++)
		load_mapping(t, &t->mappings.all.v[i]);
	for (uint32_t i = 0; i < t->functions.all.n; i++)
		load_function(t, &t->functions.all.v[i]);
}

/* --- locations -------------------------------------------------------------------------------- */

struct location {
	uint64_t mapping_id, address;
	bool is_folded;
};

static void location_line(struct pprof_tables *t, struct cur c)
{
	struct pb_field f;
	struct line line = { 0 };
	uint64_t function_id = 0;
	while (pb_next(&c, &f)) {
		if (f.num == LINE_FUNCTION_ID)
			function_id = f.u;
		else if (f.num == LINE_LINE)
			line.line = clamp_line(f.u);
		else if (f.num == LINE_COLUMN)
			line.column = f.u < LINE_FOLDED ? f.u : 0;
	}
	uint32_t row = row_of(&t->functions, function_id);
	if (c.bad || row == UINT32_MAX || t->lines.n == NAMES_MAX_INLINE) {
		t->skipped++;
		return;
	}
	t->outermost = &t->function.v[row];
	line.function = t->outermost->id;
	t->lines_hash = hash_mix(t->lines_hash, t->outermost->hash);
	t->lines_hash = hash_mix(t->lines_hash, (uint64_t)line.line << 32 | line.column);
	vec_push(&t->lines, line);
}

/* Reads a location, and its lines into the tables. Returns false if it is malformed. */
static bool read_location(struct pprof_tables *t, struct cur c, struct location *l)
{
	struct pb_field f;
	vec_clear(&t->lines);
	t->lines_hash = 0;
	t->outermost = NULL;
	while (pb_next(&c, &f)) {
		if (f.num == LOCATION_MAPPING_ID)
			l->mapping_id = f.u;
		else if (f.num == LOCATION_ADDRESS)
			l->address = f.u;
		else if (f.num == LOCATION_LINE)
			location_line(t, f.len);
		else if (f.num == LOCATION_IS_FOLDED)
			l->is_folded = f.u != 0;
	}
	if (l->is_folded && t->lines.n)
		t->lines.v[0].column |= LINE_FOLDED;
	return !c.bad;
}

static struct pprof_mapping *location_mapping(struct pprof_tables *t, uint64_t id)
{
	uint32_t row = id ? row_of(&t->mappings, id) : UINT32_MAX;
	if (row != UINT32_MAX)
		return &t->mapping.v[row];
	t->skipped += id != 0;
	return &t->no_mapping;
}

/* Returns the sink's mapping, for frames that need one. */
static uint32_t mapping_id(struct pprof_tables *t, struct pprof_mapping *m)
{
	struct mapping named = { .name = m->name, .flags = m->flags };
	if (m->id == UINT32_MAX && m->role == ROLE_FILE)
		m->id = t->sink->ops->mapping(t->sink, &named);
	if (m->id != UINT32_MAX)
		return m->id;
	struct mapping none = pprof_no_mapping();
	if (t->no_mapping.id == UINT32_MAX)
		t->no_mapping.id = t->sink->ops->mapping(t->sink, &none);
	return t->no_mapping.id;
}

static enum frame_kind location_kind(const struct pprof_tables *t, const struct pprof_mapping *m)
{
	if (m->role == ROLE_KERNEL)
		return FRAME_KERNEL;
	if (m->role == ROLE_KIND)
		return m->kind;
	if (!t->outermost)
		return FRAME_NATIVE;
	struct cur name = pprof_text(t, t->outermost->name_text);
	struct cur file = pprof_text(t, t->outermost->file_text);
	if (cur_is(name, STATE_IDLE_FRAME) && !cur_left(&file))
		return FRAME_MARKER;
	return guess_kind((const char *)name.p, cur_left(&name), (const char *)file.p,
			  cur_left(&file));
}

/* Fills in a frame at an address. Returns false if no address exists, or it looks like none. */
static bool frame_at(struct pprof_tables *t, struct pprof_mapping *m, uint64_t address,
		     struct frame *out)
{
	if (address == 0)
		return false;
	out->kind = m->role == ROLE_FILE ? FRAME_NATIVE : location_kind(t, m);
	if (address >= PPROF_KERNEL_HALF && !m->is_vsyscall)
		out->kind = FRAME_KERNEL;
	out->offset = address;
	if (m->role == ROLE_FILE)
		out->offset += m->offset - m->start;
	out->mapping = mapping_id(t, m);
	return pprof_has_address(out->offset);
}

/* Returns a frame that is identified by its lines within its mapping. */
static struct frame frame_without_address(struct pprof_tables *t, struct pprof_mapping *m)
{
	return (struct frame){ .kind = m->role == ROLE_FILE ? FRAME_NATIVE : location_kind(t, m),
			       .mapping = mapping_id(t, m),
			       .offset = PPROF_NO_ADDRESS | t->lines_hash >> 16 };
}

static struct frame location_identity(struct pprof_tables *t, struct pprof_mapping *m,
				      uint64_t address)
{
	struct frame f = { .mapping = MAPPING_NONE };
	if (frame_at(t, m, address, &f))
		return f;
	if (t->lines.n != 1 || (m->role == ROLE_FILE && !m->name))
		return frame_without_address(t, m);
	return (struct frame){ .kind = location_kind(t, m),
			       .mapping = MAPPING_NONE,
			       .function = t->outermost->f.name,
			       .file = t->outermost->f.file,
			       .line = t->lines.v[0].line,
			       .binary = m->name };
}

/* Whether the lines add nothing to the identity of a frame known by name. */
static bool lines_are_identity(const struct pprof_tables *t, const struct frame *f)
{
	return f->mapping == MAPPING_NONE && t->lines.v[0].column == 0 &&
	       t->outermost->f.start_line == 0 && t->outermost->f.linkage == t->outermost->f.name;
}

/* Returns whether this frame already has other lines; records the lines if it lacks one yet. A
 * location without lines conflicts with nothing. */
static bool lines_conflict(struct pprof_tables *t, uint32_t frame)
{
	if (t->lines.n == 0)
		return false;
	while (t->lines_of_frame.n <= frame)
		vec_push(&t->lines_of_frame, 0);
	uint32_t *known = &t->lines_of_frame.v[frame], hash = t->lines_hash >> 32 | 1;
	if (*known)
		return *known != hash;
	*known = hash;
	return false;
}

/* What Go writes for threads without a stack is no place in any file. */
static bool is_nowhere(const struct pprof_tables *t, const struct location *l)
{
	return l->address == UINT64_MAX && (!t->outermost || !t->outermost->f.name);
}

static uint32_t location_frame(struct pprof_tables *t, struct cur c)
{
	struct location l = { 0 };
	if (!read_location(t, c, &l))
		return UINT32_MAX;
	if (is_nowhere(t, &l))
		return PPROF_NO_FRAME;
	struct pprof_mapping *m = location_mapping(t, l.mapping_id);
	struct frame f = location_identity(t, m, l.address);
	uint32_t frame = t->sink->ops->frame(t->sink, &f);
	if (l.address && lines_conflict(t, frame)) {
		f = location_identity(t, m, 0);
		frame = t->sink->ops->frame(t->sink, &f);
	}
	if (lines_conflict(t, frame)) {
		f = frame_without_address(t, m);
		frame = t->sink->ops->frame(t->sink, &f);
	}
	if (t->lines.n && !lines_are_identity(t, &f))
		t->sink->ops->names(t->sink, frame, t->lines.v, t->lines.n);
	return frame;
}

uint32_t pprof_find_frame(struct pprof_tables *t, uint64_t location_id)
{
	uint32_t row = row_of(&t->locations, location_id);
	if (row == UINT32_MAX)
		return UINT32_MAX;
	uint32_t *frame = &t->locations.ids.v[row];
	if (*frame != UINT32_MAX)
		return *frame;
	uint32_t found = location_frame(t, entry_cur(t, &t->locations.all.v[row]));
	if (found != PPROF_NO_FRAME)
		*frame = found;
	return found;
}
