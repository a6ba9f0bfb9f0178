/* Interns locations, functions, mappings and strings of the file. */
#include "format/pprof/pprof_put.h"

#include "base/escape.h"
#include "base/pb.h"
#include "format/common/guess.h"
#include "format/pprof/pprof.h"
#include "profile/names.h"
#include "profile/profile.h"

#include <string.h>

/* Assigned ranges are where Linux maps nothing on its own: above programs, below their libraries.
 * Those of kernel modules must be in the kernel's half. */
#define PLACE_FIRST        0x100000000000ull
#define PLACE_FIRST_KERNEL 0xffff900000000000ull
enum { PLACE_PAGE = 4096 };

/* The largest file offset that fits such a range. */
#define PLACE_MAX_OFFSET (1ull << 40)

static uint64_t page_up(uint64_t n)
{
	return (n + PLACE_PAGE - 1) & -(uint64_t)PLACE_PAGE;
}

static bool is_no_mapping(const struct mapping *m)
{
	return !m->name && m->identity == PPROF_NO_MAPPING && !m->build_id_len && !m->build_id_text;
}

static bool is_empty_mapping(const struct mapping *m)
{
	return m->flags & MAPPING_AS_GIVEN && !m->name && !m->identity && !m->build_id_len &&
	       !m->build_id_text && !m->start && !m->limit && !m->offset;
}

static bool is_kernel_mapping(const struct profile *p, const struct mapping *m)
{
	const char *name = profile_str(p, m->name);
	return strcmp(name, "[kernel]") == 0 ||
	       strncmp(name, PPROF_KERNEL, strlen(PPROF_KERNEL)) == 0;
}

/* Whether the reader takes a mapping of this name for a file. */
static bool is_file_name(const char *name)
{
	char kind[64];
	bool is_file = strncmp(name, PPROF_KERNEL, strlen(PPROF_KERNEL)) != 0;
	for (int k = 0; k < FRAME_KINDS && is_file; k++) {
		snprintf(kind, sizeof kind, "[%s]", frame_kinds[k].name);
		is_file = strcmp(name, kind) != 0;
	}
	return is_file;
}

static uint64_t mapping_number(uint32_t mapping)
{
	return mapping + 1ull;
}

/* --- places of mappings ----------------------------------------------------------------------- */

/* Extends start and limit to cover a frame, if the source gave no range. */
static void measure_place(struct pprof_put *w, const struct frame *f)
{
	if (f->mapping == MAPPING_NONE || !pprof_has_address(f->offset))
		return;
	struct pprof_place *place = &w->places.v[f->mapping];
	if (w->p->frames.mappings.v[f->mapping].flags & MAPPING_AS_GIVEN)
		return;
	if (f->kind == FRAME_KERNEL)
		place->is_kernel = true;
	else if (f->offset >= PLACE_MAX_OFFSET)
		return;
	if (!place->limit || f->offset < place->start)
		place->start = f->offset;
	if (f->offset >= place->limit)
		place->limit = f->offset + 1;
}

struct next_places {
	uint64_t user, kernel;
};

static void choose_place(struct pprof_put *w, struct pprof_place *place, const struct mapping *m,
			 struct next_places *next)
{
	bool is_kernel_itself = is_kernel_mapping(w->p, m);
	if (m->flags & MAPPING_AS_GIVEN) {
		place->start = m->start;
		place->limit = m->limit;
		place->offset = m->offset;
	} else if (is_kernel_itself || place->start >= PPROF_KERNEL_HALF) {
		/* Kernel frames with addresses: the range is around these. */
		uint64_t limit = place->limit;
		place->start &= -(uint64_t)PLACE_PAGE;
		place->limit = limit > -(uint64_t)PLACE_PAGE ? UINT64_MAX : page_up(limit);
		place->offset = is_kernel_itself ? 0 : place->start;
	} else {
		uint64_t *at = place->is_kernel ? &next->kernel : &next->user;
		place->start = *at;
		place->limit = *at + page_up(place->limit ? place->limit : 1);
		*at = place->limit + PLACE_PAGE;
	}
}

static void choose_places(struct pprof_put *w)
{
	const struct frame_table *t = &w->p->frames;
	struct next_places next = { PLACE_FIRST, PLACE_FIRST_KERNEL };
	w->kernel = w->empty = MAPPING_NONE;
	for (size_t i = 0; i < t->mappings.n; i++)
		vec_push(&w->places, (struct pprof_place){ 0 });
	for (size_t i = 0; i < t->frames.n; i++)
		measure_place(w, &t->frames.v[i]);
	for (size_t i = 0; i < t->mappings.n; i++) {
		const struct mapping *m = &t->mappings.v[i];
		choose_place(w, &w->places.v[i], m, &next);
		if (w->kernel == MAPPING_NONE && is_kernel_mapping(w->p, m))
			w->kernel = i;
		if (w->empty == MAPPING_NONE && is_empty_mapping(m))
			w->empty = i;
		if (m->name && m->flags & MAPPING_AS_GIVEN &&
		    !map_get(&w->mapping_of_binary, m->name) &&
		    is_file_name(profile_str(w->p, m->name)))
			map_put(&w->mapping_of_binary, m->name, mapping_number(i));
	}
}

/* --- strings and functions -------------------------------------------------------------------- */

static void fill_zero(struct pprof_put *w)
{
	const struct profile *p = w->p;
	vec_reserve(&w->location_of_frame, p->frames.frames.n);
	vec_reserve(&w->function_of, p->names.functions.n);
	vec_reserve(&w->string_of, p->strings.all.n);
	if (p->frames.frames.n)
		memset(w->location_of_frame.v, 0, p->frames.frames.n * sizeof(uint32_t));
	if (p->names.functions.n)
		memset(w->function_of.v, 0, p->names.functions.n * sizeof(uint32_t));
	memset(w->string_of.v, 0, p->strings.all.n * sizeof(uint32_t));
}

void pprof_put_init(struct pprof_put *w, struct profile *p)
{
	*w = (struct pprof_put){ .p = p };
	fill_zero(w);
	pprof_put_text(w, "", 0);
	choose_places(w);
}

void pprof_put_done(struct pprof_put *w)
{
	buf_done(&w->locations);
	buf_done(&w->functions);
	buf_done(&w->strings);
	vec_done(&w->location_of_frame);
	vec_done(&w->function_of);
	vec_done(&w->string_of);
	map_done(&w->function_by_name);
	vec_done(&w->places);
	vec_done(&w->binaries);
	map_done(&w->mapping_of_binary);
}

uint32_t pprof_put_text(struct pprof_put *w, const char *text, size_t len)
{
	size_t mark = pb_begin(&w->strings, PROFILE_STRING_TABLE);
	esc_utf8(&w->strings, text, len, len);
	pb_end(&w->strings, mark);
	return w->n_strings++;
}

uint32_t pprof_put_string(struct pprof_put *w, uint32_t string)
{
	uint32_t *known = &w->string_of.v[string];
	if (string && !*known)
		*known = pprof_put_text(w, profile_str(w->p, string),
					strtab_len(&w->p->strings, string));
	return *known;
}

uint32_t pprof_put_value_string(struct pprof_put *w, uint32_t string)
{
	uint32_t index = pprof_put_string(w, string);
	if (index)
		return index;
	if (!w->empty_string)
		w->empty_string = pprof_put_text(w, "", 0);
	return w->empty_string;
}

static void put_number(struct buf *b, uint32_t field, uint64_t n)
{
	if (n)
		pb_put_u64(b, field, n);
}

static uint32_t put_function(struct pprof_put *w, const struct function *f)
{
	uint32_t name = pprof_put_string(w, f->name), linkage = pprof_put_string(w, f->linkage);
	uint32_t file = pprof_put_string(w, f->file);
	size_t mark = pb_begin(&w->functions, PROFILE_FUNCTION);
	pb_put_u64(&w->functions, FUNCTION_ID, ++w->n_functions);
	put_number(&w->functions, FUNCTION_NAME, name);
	put_number(&w->functions, FUNCTION_SYSTEM_NAME, linkage);
	put_number(&w->functions, FUNCTION_FILENAME, file);
	put_number(&w->functions, FUNCTION_START_LINE, f->start_line);
	pb_end(&w->functions, mark);
	return w->n_functions;
}

static uint32_t function_id(struct pprof_put *w, uint32_t function)
{
	uint32_t *known = &w->function_of.v[function];
	if (!*known)
		*known = put_function(w, &w->p->names.functions.v[function]);
	return *known;
}

/* Returns the function of a frame that is known by name and has no other names. */
static uint32_t function_by_name(struct pprof_put *w, const struct frame *f)
{
	uint64_t key = (uint64_t)f->function << 32 | f->file;
	uint32_t *known = map_get(&w->function_by_name, key);
	if (known)
		return *known;
	struct function fn = { .name = f->function, .linkage = f->function, .file = f->file };
	uint32_t id = put_function(w, &fn);
	map_put(&w->function_by_name, key, id);
	return id;
}

/* --- locations -------------------------------------------------------------------------------- */

/* Returns the number of the mapping that only states a kind. */
static uint64_t kind_number(struct pprof_put *w, enum frame_kind kind)
{
	w->kind_used[kind] = true;
	return w->p->frames.mappings.n + 1ull + kind;
}

static uint64_t first_binary_number(const struct pprof_put *w)
{
	return w->p->frames.mappings.n + 1ull + FRAME_KINDS;
}

/* Returns the source's first mapping of this name, else one that has only the name. Returns 0 if
 * the name would mean something else. */
static uint64_t binary_number(struct pprof_put *w, uint32_t binary)
{
	const uint32_t *known = map_get(&w->mapping_of_binary, binary);
	if (known)
		return *known;
	uint64_t number = 0;
	if (is_file_name(profile_str(w->p, binary))) {
		number = first_binary_number(w) + w->binaries.n;
		vec_push(&w->binaries, binary);
	}
	map_put(&w->mapping_of_binary, binary, number);
	return number;
}

/* Returns the mapping of a frame known by name: one that states its kind, if the reader would not
 * guess it, else its binary. */
static uint64_t mapping_by_name(struct pprof_put *w, const struct frame *f)
{
	const struct strtab *s = &w->p->strings;
	if (f->kind == FRAME_KERNEL && w->kernel == MAPPING_NONE)
		return kind_number(w, FRAME_KERNEL);
	if (f->kind == FRAME_KERNEL) {
		w->places.v[w->kernel].used = true;
		return mapping_number(w->kernel);
	}
	if (guess_kind(strtab_get(s, f->function), strtab_len(s, f->function),
		       strtab_get(s, f->file), strtab_len(s, f->file)) != f->kind)
		return kind_number(w, f->kind);
	uint64_t number = f->binary ? binary_number(w, f->binary) : 0;
	if (number)
		return number;
	return w->empty == MAPPING_NONE ? 0 : mapping_number(w->empty);
}

static uint64_t frame_address(const struct pprof_put *w, const struct frame *f)
{
	const struct mapping *m = &w->p->frames.mappings.v[f->mapping];
	const struct pprof_place *place = &w->places.v[f->mapping];
	if (!pprof_has_address(f->offset))
		return 0;
	if (is_kernel_mapping(w->p, m))
		return f->offset;
	if (!(m->flags & MAPPING_AS_GIVEN) && f->kind != FRAME_KERNEL &&
	    f->offset >= PLACE_MAX_OFFSET)
		return 0;
	return f->offset - place->offset + place->start;
}

static void note_lines(struct pprof_place *place, const struct profile *p, const struct line *lines,
		       uint32_t n)
{
	place->used = true;
	if (n > 1)
		place->flags |= MAPPING_HAS_INLINES;
	for (uint32_t i = 0; i < n; i++) {
		place->flags |= MAPPING_HAS_FUNCTIONS;
		if (p->names.functions.v[lines[i].function].file)
			place->flags |= MAPPING_HAS_FILENAMES;
		if (lines[i].line)
			place->flags |= MAPPING_HAS_LINES;
	}
}

static void put_line(struct buf *b, uint64_t function, uint32_t line, uint32_t column)
{
	size_t mark = pb_begin(b, LOCATION_LINE);
	pb_put_u64(b, LINE_FUNCTION_ID, function);
	put_number(b, LINE_LINE, line);
	put_number(b, LINE_COLUMN, column);
	pb_end(b, mark);
}

uint32_t pprof_put_frame(struct pprof_put *w, uint32_t frame)
{
	uint32_t *known = &w->location_of_frame.v[frame];
	if (*known)
		return *known;
	const struct frame *f = &w->p->frames.frames.v[frame];
	const struct line *lines = NULL;
	uint32_t n = names_get(&w->p->names, frame, &lines);
	uint64_t mapping = 0, address = 0;
	if (f->mapping == MAPPING_NONE) {
		mapping = mapping_by_name(w, f);
	} else {
		note_lines(&w->places.v[f->mapping], w->p, lines, n);
		address = frame_address(w, f);
		if (!is_no_mapping(&w->p->frames.mappings.v[f->mapping]))
			mapping = mapping_number(f->mapping);
	}
	size_t mark = pb_begin(&w->locations, PROFILE_LOCATION);
	*known = ++w->n_locations;
	pb_put_u64(&w->locations, LOCATION_ID, *known);
	put_number(&w->locations, LOCATION_MAPPING_ID, mapping);
	put_number(&w->locations, LOCATION_ADDRESS, address);
	for (uint32_t i = 0; i < n; i++)
		put_line(&w->locations, function_id(w, lines[i].function), lines[i].line,
			 lines[i].column & (LINE_FOLDED - 1));
	if (n == 0 && f->mapping == MAPPING_NONE)
		put_line(&w->locations, function_by_name(w, f), f->line, 0);
	bool is_folded = n && lines[0].column & LINE_FOLDED;
	put_number(&w->locations, LOCATION_IS_FOLDED, is_folded);
	pb_end(&w->locations, mark);
	return *known;
}

/* --- the mapping table ------------------------------------------------------------------------ */

static uint32_t put_build_id(struct pprof_put *w, const struct mapping *m)
{
	static const char digits[] = "0123456789abcdef";
	char hex[2 * BUILD_ID_MAX];
	if (!m->build_id_len)
		return pprof_put_string(w, m->build_id_text);
	for (int i = 0; i < m->build_id_len; i++) {
		hex[2 * i] = digits[m->build_id[i] >> 4];
		hex[2 * i + 1] = digits[m->build_id[i] & 15];
	}
	return pprof_put_text(w, hex, 2 * (size_t)m->build_id_len);
}

static void put_mapping(struct buf *out, uint64_t id, const struct pprof_place *place,
			uint32_t name, uint32_t build_id, uint8_t flags)
{
	size_t mark = pb_begin(out, PROFILE_MAPPING);
	pb_put_u64(out, MAPPING_ID, id);
	put_number(out, MAPPING_START, place->start);
	put_number(out, MAPPING_LIMIT, place->limit);
	put_number(out, MAPPING_OFFSET, place->offset);
	put_number(out, MAPPING_FILENAME, name);
	put_number(out, MAPPING_BUILD_ID, build_id);
	for (int i = 0; i < 4; i++)
		put_number(out, MAPPING_FLAGS + i, flags >> i & 1);
	pb_end(out, mark);
}

static void put_model_mapping(struct pprof_put *w, uint32_t i, struct buf *out)
{
	const struct mapping *m = &w->p->frames.mappings.v[i];
	const struct pprof_place *place = &w->places.v[i];
	bool given = m->flags & MAPPING_AS_GIVEN;
	if (is_no_mapping(m) || (!place->used && !given))
		return;
	uint32_t name = strcmp(profile_str(w->p, m->name), "[kernel]") == 0
				? pprof_put_text(w, PPROF_KERNEL, strlen(PPROF_KERNEL))
				: pprof_put_string(w, m->name);
	/* The flags say that names are present, so that pprof does not search for them: it would
	 * not find names that we did not find. */
	uint8_t flags = given ? m->flags : m->flags | place->flags;
	put_mapping(out, mapping_number(i), place, name, put_build_id(w, m), flags);
}

static void put_kind_mapping(struct pprof_put *w, enum frame_kind kind, struct buf *out)
{
	char name[64];
	static const struct pprof_place nowhere;
	int len = snprintf(name, sizeof name, "[%s]", frame_kinds[kind].name);
	uint32_t text = kind == FRAME_KERNEL ? pprof_put_text(w, PPROF_KERNEL, strlen(PPROF_KERNEL))
					     : pprof_put_text(w, name, len);
	put_mapping(out, kind_number(w, kind), &nowhere, text, 0, MAPPING_HAS_FUNCTIONS);
}

static void put_binary_mapping(struct pprof_put *w, uint32_t i, struct buf *out)
{
	static const struct pprof_place nowhere;
	uint32_t text = pprof_put_string(w, w->binaries.v[i]);
	put_mapping(out, first_binary_number(w) + i, &nowhere, text, 0, MAPPING_HAS_FUNCTIONS);
}

void pprof_put_tables(struct pprof_put *w, struct buf *out)
{
	for (size_t i = 0; i < w->p->frames.mappings.n; i++)
		put_model_mapping(w, i, out);
	for (int k = 0; k < FRAME_KINDS; k++)
		if (w->kind_used[k])
			put_kind_mapping(w, k, out);
	for (size_t i = 0; i < w->binaries.n; i++)
		put_binary_mapping(w, i, out);
	buf_add(out, w->locations.data, w->locations.len);
	buf_add(out, w->functions.data, w->functions.len);
	buf_add(out, w->strings.data, w->strings.len);
}
