/* Adds entries to the dictionary on first use. */
#include "format/otlp/otlp_put.h"

#include "base/escape.h"
#include "base/pb.h"
#include "format/otlp/otlp_attr.h"
#include "format/pprof/pprof.h"
#include "profile/link.h"
#include "profile/names.h"
#include "profile/profile.h"
#include "profile/stack.h"

#include <string.h>

/* --- entries ---------------------------------------------------------------------------------- */

static uint32_t add_entry(struct otlp_put *w, enum otlp_table table, const void *data, size_t len)
{
	pb_put_bytes(&w->tables[table], table, data, len);
	return w->n[table]++;
}

struct entry_key {
	const struct otlp_put *w;
	const struct otlp_interned *of;
	enum otlp_table table;
};

static bool same_entry(const void *ctx, uint32_t i)
{
	const struct entry_key *key = ctx;
	const struct buf *entry = &key->w->entry;
	size_t len = key->of->entries.v[i].len;
	return len == entry->len &&
	       memcmp(key->w->tables[key->table].data + key->of->entries.v[i].at, entry->data,
		      len) == 0;
}

/* Returns the index of w->entry, adding it if new. */
static uint32_t intern_entry(struct otlp_put *w, struct otlp_interned *of, enum otlp_table table)
{
	struct entry_key key = { w, of, table };
	uint32_t fresh = of->entries.n;
	uint32_t i = map_intern(&of->index, hash_bytes(w->entry.data, w->entry.len), fresh,
				same_entry, &key);
	if (i != fresh)
		return i;
	add_entry(w, table, w->entry.data, w->entry.len);
	size_t end = w->tables[table].len;
	of->entries.n++;
	vec_reserve(&of->entries, of->entries.n);
	of->entries.v[fresh].at = end - w->entry.len;
	of->entries.v[fresh].len = w->entry.len;
	return i;
}

static void put_nonzero(struct buf *b, uint32_t field, uint64_t n)
{
	if (n)
		pb_put_u64(b, field, n);
}

uint32_t otlp_put_string(struct otlp_put *w, uint32_t string)
{
	const uint32_t *known = map_get(&w->string_of, string);
	if (string == 0 || known)
		return string ? *known : 0;
	struct buf *b = &w->tables[TABLE_STRING];
	size_t mark = pb_begin(b, TABLE_STRING), len = strtab_len(&w->p->strings, string);
	esc_utf8(b, profile_str(w->p, string), len, len);
	pb_end(b, mark);
	map_put(&w->string_of, string, w->n[TABLE_STRING]);
	return w->n[TABLE_STRING]++;
}

/* --- attributes ------------------------------------------------------------------------------- */

static void begin_attr(struct otlp_put *w, uint32_t key)
{
	buf_clear(&w->entry);
	pb_put_u64(&w->entry, ATTRIBUTE_KEY_INDEX, otlp_put_string(w, key));
}

static uint32_t end_attr(struct otlp_put *w)
{
	return intern_entry(w, &w->attributes, TABLE_ATTRIBUTE);
}

static void put_string_value(struct otlp_put *w, uint32_t string)
{
	otlp_put_text(&w->entry, ATTRIBUTE_VALUE, profile_str(w->p, string),
		      strtab_len(&w->p->strings, string));
}

uint32_t otlp_put_label(struct otlp_put *w, const struct label *l)
{
	enum otlp_role role = otlp_role_of_label(profile_str(w->p, l->key));
	begin_attr(w, role == ATTR_LABEL ? l->key : w->keys[role]);
	if (!l->is_num) {
		put_string_value(w, l->str);
	} else {
		otlp_put_number(&w->entry, ATTRIBUTE_VALUE, l->num);
		put_nonzero(&w->entry, ATTRIBUTE_UNIT_INDEX, otlp_put_string(w, l->unit));
	}
	return end_attr(w);
}

uint32_t otlp_put_role_number(struct otlp_put *w, enum otlp_role role, int64_t number)
{
	begin_attr(w, w->keys[role]);
	otlp_put_number(&w->entry, ATTRIBUTE_VALUE, number);
	return end_attr(w);
}

uint32_t otlp_put_role_true(struct otlp_put *w, enum otlp_role role)
{
	begin_attr(w, w->keys[role]);
	otlp_put_true(&w->entry, ATTRIBUTE_VALUE);
	return end_attr(w);
}

uint32_t otlp_put_role_string(struct otlp_put *w, enum otlp_role role, uint32_t string)
{
	begin_attr(w, w->keys[role]);
	put_string_value(w, string);
	return end_attr(w);
}

static uint32_t put_kind(struct otlp_put *w, enum frame_kind kind)
{
	const char *type = otlp_frame_type(kind);
	uint32_t *known = &w->type_of_kind[kind];
	if (!*known)
		*known = otlp_put_role_string(w, ATTR_FRAME_TYPE, strtab_put(&w->p->strings, type));
	return *known;
}

/* --- mappings --------------------------------------------------------------------------------- */

static void put_list(struct buf *b, uint32_t field, const uint32_t *v, size_t n)
{
	size_t mark = n ? pb_begin(b, field) : 0;
	for (size_t i = 0; i < n; i++)
		pb_put_varint(b, v[i]);
	if (n)
		pb_end(b, mark);
}

static uint32_t put_build_id(struct otlp_put *w, const struct mapping *m)
{
	static const char digits[] = "0123456789abcdef";
	char hex[2 * BUILD_ID_MAX];
	if (!m->build_id_len)
		return otlp_put_role_string(w, ATTR_BUILD_ID_GO, m->build_id_text);
	for (int i = 0; i < m->build_id_len; i++) {
		hex[2 * i] = digits[m->build_id[i] >> 4];
		hex[2 * i + 1] = digits[m->build_id[i] & 15];
	}
	begin_attr(w, w->keys[ATTR_BUILD_ID_GNU]);
	otlp_put_text(&w->entry, ATTRIBUTE_VALUE, hex, 2 * (size_t)m->build_id_len);
	return end_attr(w);
}

static bool is_no_mapping(const struct mapping *m)
{
	return m->identity == PPROF_NO_MAPPING && !m->name && !m->build_id_len;
}

static uint32_t put_mapping(struct otlp_put *w, const struct mapping *m)
{
	bool is_kernel = strcmp(profile_str(w->p, m->name), "[kernel]") == 0;
	uint32_t text = is_kernel ? strtab_put(&w->p->strings, PPROF_KERNEL) : m->name;
	uint32_t attrs[3], n = 0, name = otlp_put_string(w, text);
	bool given = m->flags & MAPPING_AS_GIVEN;
	if (m->build_id_len || m->build_id_text)
		attrs[n++] = put_build_id(w, m);
	if (m->identity)
		attrs[n++] = otlp_put_role_number(w, ATTR_IDENTITY, m->identity);
	if (given)
		attrs[n++] = otlp_put_role_number(w, ATTR_MAPPING, m->flags);
	buf_clear(&w->entry);
	put_nonzero(&w->entry, OTLP_MAPPING_START, given ? m->start : 0);
	put_nonzero(&w->entry, OTLP_MAPPING_LIMIT, given ? m->limit : 0);
	put_nonzero(&w->entry, OTLP_MAPPING_OFFSET, given ? m->offset : 0);
	put_nonzero(&w->entry, OTLP_MAPPING_NAME, name);
	put_list(&w->entry, OTLP_MAPPING_ATTRIBUTES, attrs, n);
	return intern_entry(w, &w->mappings, TABLE_MAPPING);
}

static uint32_t mapping_index(struct otlp_put *w, uint32_t mapping)
{
	const struct mapping *m = &w->p->frames.mappings.v[mapping];
	if (is_no_mapping(m))
		return 0;
	uint32_t *known = &w->mapping_of.v[mapping];
	if (!*known)
		*known = put_mapping(w, m);
	return *known;
}

/* Adds a mapping that has only a name. */
static uint32_t binary_index(struct otlp_put *w, uint32_t binary)
{
	struct mapping m = { .name = binary };
	return binary ? put_mapping(w, &m) : 0;
}

/* --- functions and locations ------------------------------------------------------------------ */

static uint32_t put_function(struct otlp_put *w, const struct function *f)
{
	uint32_t name = otlp_put_string(w, f->name), linkage = otlp_put_string(w, f->linkage);
	uint32_t file = otlp_put_string(w, f->file);
	struct buf *b = &w->tables[TABLE_FUNCTION];
	size_t mark = pb_begin(b, TABLE_FUNCTION);
	put_nonzero(b, OTLP_FUNCTION_NAME, name);
	put_nonzero(b, OTLP_FUNCTION_SYSTEM_NAME, linkage);
	put_nonzero(b, OTLP_FUNCTION_FILE, file);
	put_nonzero(b, OTLP_FUNCTION_START_LINE, f->start_line);
	pb_end(b, mark);
	return w->n[TABLE_FUNCTION]++;
}

static uint32_t function_index(struct otlp_put *w, uint32_t function)
{
	uint32_t *known = &w->function_of.v[function];
	if (!*known)
		*known = put_function(w, &w->p->names.functions.v[function]);
	return *known;
}

/* Returns the function of a frame that is known by name and has no other names. */
static uint32_t function_by_name(struct otlp_put *w, const struct frame *f)
{
	uint64_t key = (uint64_t)f->function << 32 | f->file;
	const uint32_t *known = map_get(&w->function_by_name, key);
	if (known)
		return *known;
	struct function fn = { .name = f->function, .file = f->file };
	uint32_t index = put_function(w, &fn);
	map_put(&w->function_by_name, key, index);
	return index;
}

static void put_line(struct buf *b, uint32_t function, uint32_t line, uint32_t column)
{
	size_t mark = pb_begin(b, OTLP_LOCATION_LINES);
	pb_put_u64(b, OTLP_LINE_FUNCTION, function);
	put_nonzero(b, OTLP_LINE_LINE, line);
	put_nonzero(b, OTLP_LINE_COLUMN, column);
	pb_end(b, mark);
}

static uint64_t frame_address(const struct otlp_put *w, const struct frame *f)
{
	const struct mapping *m = &w->p->frames.mappings.v[f->mapping];
	const char *name = profile_str(w->p, m->name);
	bool is_kernel = strncmp(name, OTLP_KERNEL_PREFIX, strlen(OTLP_KERNEL_PREFIX)) == 0;
	if (is_kernel || !(m->flags & MAPPING_AS_GIVEN))
		return f->offset;
	return f->offset - m->offset + m->start;
}

struct place {
	uint32_t mapping;
	uint64_t address;
	bool at_zero;
};

static struct place frame_place(struct otlp_put *w, const struct frame *f)
{
	if (f->mapping == MAPPING_NONE)
		return (struct place){ .mapping = binary_index(w, f->binary) };
	struct place place = { .mapping = mapping_index(w, f->mapping) };
	if (!pprof_has_address(f->offset))
		return place;
	place.address = frame_address(w, f);
	place.at_zero = place.address == 0;
	return place;
}

static uint32_t put_location(struct otlp_put *w, uint32_t frame)
{
	const struct frame *f = &w->p->frames.frames.v[frame];
	const struct line *lines = NULL;
	uint32_t n = names_get(&w->p->names, frame, &lines), attrs[3], n_attrs = 0;
	struct place place = frame_place(w, f);
	attrs[n_attrs++] = put_kind(w, f->kind);
	if (n && lines[0].column & LINE_FOLDED)
		attrs[n_attrs++] = otlp_put_role_true(w, ATTR_FOLDED);
	if (place.at_zero)
		attrs[n_attrs++] = otlp_put_role_true(w, ATTR_AT_ZERO);
	struct buf *b = &w->tables[TABLE_LOCATION];
	size_t mark = pb_begin(b, TABLE_LOCATION);
	put_nonzero(b, OTLP_LOCATION_MAPPING, place.mapping);
	put_nonzero(b, OTLP_LOCATION_ADDRESS, place.address);
	for (uint32_t i = 0; i < n; i++)
		put_line(b, function_index(w, lines[i].function), lines[i].line,
			 lines[i].column & (LINE_FOLDED - 1));
	if (n == 0 && f->mapping == MAPPING_NONE)
		put_line(b, function_by_name(w, f), f->line, 0);
	put_list(b, OTLP_LOCATION_ATTRIBUTES, attrs, n_attrs);
	pb_end(b, mark);
	return w->n[TABLE_LOCATION]++;
}

uint32_t otlp_put_stack(struct otlp_put *w, uint32_t stack)
{
	uint32_t *known = &w->stack_of.v[stack], n = stack_depth(&w->p->stacks, stack);
	if (*known || n == 0)
		return *known;
	vec_reserve(&w->frames, n);
	stack_frames(&w->p->stacks, stack, w->frames.v);
	vec_clear(&w->locations);
	while (n--) {
		uint32_t *location = &w->location_of_frame.v[w->frames.v[n]];
		if (!*location)
			*location = put_location(w, w->frames.v[n]);
		vec_push(&w->locations, *location);
	}
	struct buf *b = &w->tables[TABLE_STACK];
	size_t mark = pb_begin(b, TABLE_STACK);
	put_list(b, STACK_LOCATIONS, w->locations.v, w->locations.n);
	pb_end(b, mark);
	*known = w->n[TABLE_STACK]++;
	return *known;
}

uint32_t otlp_put_link(struct otlp_put *w, uint32_t link)
{
	const struct trace_link *l = link_get(&w->p->links, link);
	uint32_t *known = &w->link_of.v[link];
	if (*known || !l)
		return *known;
	struct buf *b = &w->tables[TABLE_LINK];
	size_t mark = pb_begin(b, TABLE_LINK);
	pb_put_bytes(b, OTLP_LINK_TRACE, l->trace, sizeof l->trace);
	pb_put_bytes(b, OTLP_LINK_SPAN, l->span, sizeof l->span);
	pb_end(b, mark);
	*known = w->n[TABLE_LINK]++;
	return *known;
}

/* --- all tables ------------------------------------------------------------------------------- */

#define FILL_ZERO(v_, n_) \
	do { \
		vec_reserve(&(v_), (n_) + 1); \
		memset((v_).v, 0, ((n_) + 1) * sizeof *(v_).v); \
	} while (0)

void otlp_put_init(struct otlp_put *w, struct profile *p)
{
	*w = (struct otlp_put){ .p = p };
	FILL_ZERO(w->location_of_frame, p->frames.frames.n);
	FILL_ZERO(w->mapping_of, p->frames.mappings.n);
	FILL_ZERO(w->function_of, p->names.functions.n);
	FILL_ZERO(w->stack_of, p->stacks.stacks.n);
	FILL_ZERO(w->link_of, p->links.all.n);
	for (int i = 0; i < OTLP_ROLES; i++)
		w->keys[i] = strtab_put(&p->strings, otlp_roles[i].key);
	for (int i = TABLE_MAPPING; i < OTLP_TABLES; i++)
		if (i != TABLE_ATTRIBUTE && i != TABLE_MAPPING)
			add_entry(w, i, NULL, 0);
	intern_entry(w, &w->attributes, TABLE_ATTRIBUTE);
	intern_entry(w, &w->mappings, TABLE_MAPPING);
}

void otlp_put_done(struct otlp_put *w)
{
	for (int i = 0; i < OTLP_TABLES; i++)
		buf_done(&w->tables[i]);
	vec_done(&w->attributes.entries);
	map_done(&w->attributes.index);
	vec_done(&w->mappings.entries);
	map_done(&w->mappings.index);
	map_done(&w->string_of);
	map_done(&w->function_by_name);
	vec_done(&w->location_of_frame);
	vec_done(&w->function_of);
	vec_done(&w->mapping_of);
	vec_done(&w->stack_of);
	vec_done(&w->link_of);
	vec_done(&w->frames);
	vec_done(&w->locations);
	buf_done(&w->entry);
}

void otlp_put_tables(struct otlp_put *w, struct buf *out)
{
	size_t mark = pb_begin(out, DATA_DICTIONARY);
	for (int i = TABLE_MAPPING; i < OTLP_TABLES; i++)
		buf_add(out, w->tables[i].data, w->tables[i].len);
	pb_end(out, mark);
}
