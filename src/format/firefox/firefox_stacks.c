/* Stacks of a thread's tables as stacks of the sink. */
#include "base/buf.h"
#include "base/hash.h"
#include "base/search.h"
#include "format/common/format.h"
#include "format/common/guess.h"
#include "format/firefox/firefox_tables.h"
#include "profile/sink.h"
#include "profile/strtab.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fx_stacks_done(struct fx_stacks *s)
{
	map_done(&s->frames);
	stack_tree_done(&s->tree);
}

struct fx_text {
	const char *s;
	size_t len;
};

/* A frame not yet passed to the sink. */
struct fx_frame {
	struct fx_text name, file, binary;
	const struct fx_lib *lib; /* NULL: unknown */
	uint64_t address;         /* relative to lib, if it has no name */
	int32_t line, category;
	bool is_js;
};

static struct fx_text fx_text_of(const struct strtab *texts, uint32_t id)
{
	return (struct fx_text){ strtab_get(texts, id), strtab_len(texts, id) };
}

static struct fx_text fx_string(const struct fx_stacks *s, int32_t i)
{
	const struct fx_tables *t = s->own->has_strings ? s->own : s->shared;
	if (i < 0 || (size_t)i >= t->strings.n)
		return (struct fx_text){ "", 0 };
	return fx_text_of(s->texts, t->strings.v[i]);
}

static bool fx_is_hex(struct fx_text t)
{
	return t.len > 2 && t.s[0] == '0' && t.s[1] == 'x' &&
	       strspn(t.s + 2, "0123456789abcdefABCDEF") == t.len - 2;
}

/* --- processed: frame → func → resource, source ----------------------------------------------- */

static const struct fx_lib *fx_lib_of(const struct fx_stacks *s, int32_t resource)
{
	int32_t lib = fx_cell(s->own, FX_RESOURCE_LIB, resource);
	return lib >= 0 && (size_t)lib < s->n_libs ? &s->libs[lib] : NULL;
}

static struct fx_text fx_resource(const struct fx_stacks *s, int32_t resource)
{
	const struct fx_lib *lib = fx_lib_of(s, resource);
	struct fx_text name = fx_string(s, fx_cell(s->own, FX_RESOURCE_NAME, resource));
	return name.len == 0 && lib ? fx_text_of(s->texts, lib->name) : name;
}

static struct fx_text fx_source(const struct fx_stacks *s, int32_t func)
{
	int32_t source = fx_cell(s->own, FX_FUNC_SOURCE, func);
	const struct fx_tables *t = s->own->seen & 1 << FX_SOURCE_TABLE ? s->own : s->shared;
	if (source < 0)
		return fx_string(s, fx_cell(s->own, FX_FUNC_FILE, func));
	return fx_string(s, fx_cell(t, FX_SOURCE_FILE, source));
}

static void fx_from_func(const struct fx_stacks *s, int32_t func, struct fx_frame *f)
{
	f->name = fx_string(s, fx_cell(s->own, FX_FUNC_NAME, func));
	f->file = fx_source(s, func);
	f->binary = fx_resource(s, fx_cell(s->own, FX_FUNC_RESOURCE, func));
	f->lib = fx_lib_of(s, fx_cell(s->own, FX_FUNC_RESOURCE, func));
	f->is_js = fx_cell(s->own, FX_FUNC_IS_JS, func) > 0;
	if (f->line < 0)
		f->line = fx_cell(s->own, FX_FUNC_LINE, func);
}

/* --- Gecko: everything is in the location ----------------------------------------------------- */

/* Removes the number after the last colon from t and returns it; -1 if none exists. */
static int32_t fx_take_number(struct fx_text *t)
{
	size_t i = t->len;
	int32_t n = 0;
	while (i > 0 && t->len - i < 9 && t->s[i - 1] >= '0' && t->s[i - 1] <= '9')
		i--;
	if (i == t->len || i == 0 || t->s[i - 1] != ':')
		return -1;
	for (size_t k = i; k < t->len; k++)
		n = n * 10 + (t->s[k] - '0');
	t->len = i - 1;
	return n;
}

/* Parses "name (in library)" of perf, "name (url:line:column)" of scripts, and "url:line" of
 * scripts without a function. Anything else is a label. */
static void fx_from_location(struct fx_text location, struct fx_frame *f)
{
	static const char in[] = "in ";
	const char *open = NULL;
	size_t len = location.len;
	f->name = location;
	if (len > 3 && location.s[len - 1] == ')')
		for (size_t i = len - 2; i > 1 && !open; i--)
			if (location.s[i - 1] == ' ' && location.s[i] == '(')
				open = location.s + i + 1;
	if (!open)
		return;
	struct fx_text place = { open, location.s + len - 1 - open };
	f->name.len = open - 2 - location.s;
	if (place.len > strlen(in) && memcmp(place.s, in, strlen(in)) == 0) {
		f->binary = (struct fx_text){ place.s + strlen(in), place.len - strlen(in) };
		return;
	}
	int32_t last = fx_take_number(&place);
	if (last < 0) { /* "operator() (int)": part of the name */
		f->name = location;
		return;
	}
	int32_t before = fx_take_number(&place);
	f->file = place;
	f->line = before >= 0 ? before : last;
	f->is_js = true;
}

/* --- both ------------------------------------------------------------------------------------- */

static const struct fx_lib *fx_lib_at(const struct fx_stacks *s, uint64_t address)
{
	size_t after = search_first(i, 0, s->n_by_start, s->by_start[i].start > address);
	return after && address < s->by_start[after - 1].end ? &s->by_start[after - 1] : NULL;
}

/* Names an unsymbolized frame: the library and the offset in it, never the address, which is valid
 * for one run only. */
static void fx_name_address(const struct fx_stacks *s, struct fx_frame *f, bool is_offset,
			    struct buf *name)
{
	uint64_t address = strtoull(f->name.s, NULL, 16);
	if (!is_offset) {
		f->lib = fx_lib_at(s, address);
		is_offset = f->lib;
		f->binary = f->lib ? fx_text_of(s->texts, f->lib->name) : f->binary;
		address -= f->lib ? f->lib->start : 0;
	}
	f->address = address;
	if (is_offset && f->binary.len) {
		buf_add(name, f->binary.s, f->binary.len);
		buf_addf(name, "+0x%llx", (unsigned long long)address);
	} else {
		buf_adds(name, "[unknown]");
	}
	f->name = (struct fx_text){ name->data, name->len };
}

static bool fx_starts(struct fx_text t, const char *text)
{
	return t.len >= strlen(text) && memcmp(t.s, text, strlen(text)) == 0;
}

/* Python's sampler has its own frozen modules in category Native, and "<native>" in Python. */
static uint8_t fx_kind_of_python(const struct fx_frame *f)
{
	if (fx_starts(f->binary, "<frozen "))
		return FRAME_PYTHON;
	return fx_starts(f->name, "<native>") ? FRAME_NATIVE : FRAME_KINDS;
}

static uint8_t fx_kind(const struct fx_stacks *s, const struct fx_frame *f)
{
	uint8_t python = fx_kind_of_python(f);
	if (python != FRAME_KINDS)
		return python;
	uint8_t kind = f->category >= 0 && (size_t)f->category < s->n_kinds ? s->kinds[f->category]
									    : FRAME_KINDS;
	if (kind == FRAME_JS && !f->is_js)
		kind = FRAME_NATIVE; /* native code of the engine that serves scripts */
	if (kind != FRAME_KINDS)
		return kind;
	return f->is_js ? FRAME_JS : guess_kind(f->name.s, f->name.len, f->file.s, f->file.len);
}

static uint32_t fx_give_frame(const struct fx_stacks *s, const struct fx_frame *f)
{
	struct sink *sink = s->sink;
	struct frame out = { .kind = fx_kind(s, f),
			     .mapping = MAPPING_NONE,
			     .line = f->line > 0 ? f->line : 0 };
	out.function = sink->ops->string(sink, f->name.s, f->name.len);
	out.file = sink->ops->string(sink, f->file.s, f->file.len);
	out.binary = sink->ops->string(sink, f->binary.s, f->binary.len);
	return sink->ops->frame(sink, &out);
}

static uint8_t fx_build_id(struct fx_text hex, uint8_t id[BUILD_ID_MAX])
{
	uint8_t len = 0;
	if (strspn(hex.s, "0123456789abcdefABCDEF") != hex.len)
		return 0;
	for (; len < BUILD_ID_MAX && len * 2u + 1 < hex.len; len++) {
		char byte[3] = { hex.s[len * 2], hex.s[len * 2 + 1] };
		id[len] = strtoul(byte, NULL, 16);
	}
	return len;
}

/* Gives a frame without a name by its offset in the file, if that is here: it gets its names
 * later. Returns false otherwise. */
static bool fx_give_offset(const struct fx_stacks *s, const struct fx_frame *f, uint32_t *out)
{
	if (!f->lib || !s->here || !s->here->file_offset || fx_kind(s, f) == FRAME_KERNEL)
		return false;
	struct fx_text path = fx_text_of(s->texts, f->lib->path);
	struct mapping m = { .name = s->sink->ops->string(s->sink, path.s, path.len) };
	struct user_file file = { .id = f->lib->id, .path = path.s, .build_id = m.build_id };
	struct frame frame = { .kind = FRAME_NATIVE };
	m.build_id_len = fx_build_id(fx_text_of(s->texts, f->lib->code_id), m.build_id);
	file.build_id_len = m.build_id_len;
	if (!path.len || !s->here->file_offset(s->here->offsets, &file, f->address, &frame.offset))
		return false;
	frame.mapping = s->sink->ops->mapping(s->sink, &m);
	*out = s->sink->ops->frame(s->sink, &frame);
	return true;
}

static bool fx_is_root(struct fx_text t)
{
	static const char root[] = "(root)";
	return t.len == strlen(root) && memcmp(t.s, root, t.len) == 0;
}

static uint32_t fx_new_frame(struct fx_stacks *s, int32_t row)
{
	struct fx_frame f = { .name = { "", 0 }, .file = { "", 0 }, .binary = { "", 0 } };
	struct buf name = { 0 };
	int32_t location = fx_cell(s->own, FX_FRAME_LOCATION, row);
	f.line = fx_cell(s->own, FX_FRAME_LINE, row);
	f.category = fx_cell(s->own, FX_FRAME_CATEGORY, row);
	if (location >= 0)
		fx_from_location(fx_string(s, location), &f);
	else
		fx_from_func(s, fx_cell(s->own, FX_FRAME_FUNC, row), &f);
	if (fx_is_root(f.name))
		return STACK_TREE_NO_FRAME;
	bool has_no_name = fx_is_hex(f.name);
	uint32_t frame;
	if (has_no_name)
		fx_name_address(s, &f, location < 0, &name);
	if (f.name.len == 0)
		f.name = (struct fx_text){ "[unknown]", strlen("[unknown]") };
	if (!has_no_name || !fx_give_offset(s, &f, &frame))
		frame = fx_give_frame(s, &f);
	buf_done(&name);
	return frame;
}

static uint32_t fx_frame(struct fx_stacks *s, int32_t row)
{
	const uint32_t *known = map_get(&s->frames, row);
	if (known)
		return *known;
	uint32_t frame = fx_new_frame(s, row);
	map_put(&s->frames, row, frame);
	return frame;
}

/* Adds all rows. Those without a frame are made their own parent, so their stacks cannot be
 * created. */
static void fx_plant(struct fx_stacks *s)
{
	const struct fx_tables *t = s->own;
	size_t n = t->columns[FX_STACK_FRAME].n;
	for (size_t i = 0; i < n; i++) {
		int32_t frame = t->columns[FX_STACK_FRAME].v[i];
		int32_t prefix = fx_cell(t, FX_STACK_PREFIX, i);
		bool there = frame >= 0 && ((size_t)frame < t->columns[FX_FRAME_FUNC].n ||
					    (size_t)frame < t->columns[FX_FRAME_LOCATION].n);
		uint32_t parent = prefix < 0 ? STACK_TREE_ROOT : (uint32_t)prefix;
		stack_tree_add(&s->tree, there ? parent : i,
			       there ? fx_frame(s, frame) : STACK_TREE_NO_FRAME);
	}
	s->planted = true;
}

uint32_t fx_stack(struct fx_stacks *s, int32_t row)
{
	if (!s->planted)
		fx_plant(s);
	return row < 0 ? STACK_TREE_NONE : stack_tree_stack(&s->tree, s->sink, row);
}
