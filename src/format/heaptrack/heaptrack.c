#include "format/heaptrack/heaptrack.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/input.h"
#include "base/vec.h"
#include "format/common/give.h"
#include "format/common/stack_tree.h"
#include "profile/frame.h"
#include "profile/series.h"
#include "profile/sink.h"
#include "profile/sum.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct heaptrack_place {
	uint32_t first, n; /* in frames, innermost first */
};

/* Allocations of one size by one stack. at_peak is up to date if seen is the reader's number of
 * peaks; otherwise nothing has changed since the last one, and it is `live`. */
struct heaptrack_allocation {
	uint64_t size, made;
	uint32_t live, at_peak, temporary;
	uint32_t stack; /* row of the tree; STACK_TREE_ROOT: none */
	uint32_t seen;
};

struct heaptrack_reader {
	struct sink *sink;
	uint64_t version;
	VEC(uint32_t) strings; /* of the sink; number 1 is the first */
	VEC(struct heaptrack_place) places;
	VEC(uint32_t) frames;
	VEC(uint32_t) stacks; /* number 1 is the first: its row in the tree */
	struct stack_tree tree;
	VEC(struct heaptrack_allocation) allocations;
	uint64_t live_bytes, peak_bytes;
	uint32_t peaks;
	uint64_t last; /* the allocation of the last '+'; 0 after a '-', as in heaptrack */
	uint64_t skipped, bytes; /* of the file so far */
	bool is_raw;
	bool in_command; /* the command may have line breaks */
};

struct heaptrack_scan {
	const char *s, *end;
};

/* Reads a hexadecimal number and the blank after it. */
static bool heaptrack_hex(struct heaptrack_scan *c, uint64_t *out)
{
	uint64_t v = 0;
	const char *from = c->s;
	for (; c->s < c->end && *c->s != ' '; c->s++) {
		char lower = *c->s | 0x20;
		unsigned digit = *c->s >= '0' && *c->s <= '9'   ? *c->s - '0'
				 : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10
								: 16;
		if (digit > 15 || v >> 60)
			return false;
		v = v << 4 | digit;
	}
	bool any = c->s > from;
	c->s += c->s < c->end;
	*out = v;
	return any;
}

/* --- tables ----------------------------------------------------------------------------------- */

/* The length lets strings have line breaks, which no name has. */
static bool heaptrack_string(struct heaptrack_reader *r, struct heaptrack_scan c)
{
	uint64_t len;
	if (r->strings.n >= HEAPTRACK_MAX_ENTRIES)
		return false;
	bool good = r->version < 3 || heaptrack_hex(&c, &len);
	vec_push(&r->strings, good ? r->sink->ops->string(r->sink, c.s, c.end - c.s) : 0);
	return good;
}

static uint32_t heaptrack_text(const struct heaptrack_reader *r, uint64_t number)
{
	return number && number <= r->strings.n ? r->strings.v[number - 1] : 0;
}

static void heaptrack_frame(struct heaptrack_reader *r, uint32_t function, uint32_t file,
			    uint64_t line, uint32_t module)
{
	struct frame f = { .kind = FRAME_NATIVE,
			   .mapping = MAPPING_NONE,
			   .function = function,
			   .file = file,
			   .binary = module,
			   .line = line < INT32_MAX ? line : 0 };
	vec_push(&r->frames, r->sink->ops->frame(r->sink, &f));
}

/* heaptrack shows an address without a name as such, too. */
static uint32_t heaptrack_unnamed(struct heaptrack_reader *r, uint64_t address)
{
	char name[24];
	snprintf(name, sizeof name, "0x%llx", (unsigned long long)address);
	return sink_string(r->sink, name);
}

static bool heaptrack_place(struct heaptrack_reader *r, struct heaptrack_scan c)
{
	struct heaptrack_place p = { .first = r->frames.n };
	uint64_t address, module = 0;
	if (r->places.n >= HEAPTRACK_MAX_ENTRIES || r->frames.n >= HEAPTRACK_MAX_ENTRIES)
		return false;
	bool good = heaptrack_hex(&c, &address);
	if (good && c.s < c.end)
		good = heaptrack_hex(&c, &module);
	uint32_t binary = heaptrack_text(r, module);
	while (good && c.s < c.end && r->frames.n - p.first < HEAPTRACK_MAX_INLINED) {
		uint64_t v[3] = { 0 }; /* a function alone has no file and line */
		for (int i = 0; i < 3 && good && (i == 0 || c.s < c.end); i++)
			good = heaptrack_hex(&c, &v[i]);
		uint32_t name = good ? heaptrack_text(r, v[0]) : 0;
		if (good)
			heaptrack_frame(r, name ? name : heaptrack_unnamed(r, address),
					heaptrack_text(r, v[1]), v[2], binary);
	}
	if (r->frames.n == p.first)
		heaptrack_frame(r, heaptrack_unnamed(r, good ? address : 0), 0, 0, binary);
	p.n = r->frames.n - p.first;
	vec_push(&r->places, p);
	return good;
}

static bool heaptrack_has_room(const struct heaptrack_reader *r, uint32_t rows)
{
	uint64_t most = HEAPTRACK_FREE_ROWS + r->bytes / HEAPTRACK_ROW_BYTES;
	if (most > HEAPTRACK_MAX_ROWS)
		most = HEAPTRACK_MAX_ROWS;
	return r->tree.rows.n + rows <= most;
}

/* A stack is a row of the tree for each function of its place, outermost first. */
static bool heaptrack_stack(struct heaptrack_reader *r, struct heaptrack_scan c)
{
	uint64_t place, caller;
	if (r->stacks.n >= HEAPTRACK_MAX_ENTRIES)
		return false;
	bool good = heaptrack_hex(&c, &place) && heaptrack_hex(&c, &caller) && place &&
		    place <= r->places.n && caller <= r->stacks.n;
	uint32_t row = good && caller ? r->stacks.v[caller - 1] : STACK_TREE_ROOT;
	if (good) {
		struct heaptrack_place p = r->places.v[place - 1];
		good = heaptrack_has_room(r, p.n);
		for (uint32_t i = good ? p.n : 0; i-- > 0;)
			row = stack_tree_add(&r->tree, row, r->frames.v[p.first + i]);
	}
	vec_push(&r->stacks, row);
	return good;
}

static bool heaptrack_allocation(struct heaptrack_reader *r, struct heaptrack_scan c)
{
	struct heaptrack_allocation a = { .stack = STACK_TREE_ROOT, .seen = r->peaks };
	uint64_t stack;
	if (r->allocations.n >= HEAPTRACK_MAX_ENTRIES)
		return false;
	bool good = heaptrack_hex(&c, &a.size) && heaptrack_hex(&c, &stack) && stack <= r->stacks.n;
	if (good && stack)
		a.stack = r->stacks.v[stack - 1];
	vec_push(&r->allocations, a);
	return good;
}

/* --- events ----------------------------------------------------------------------------------- */

static struct heaptrack_allocation *heaptrack_event(struct heaptrack_reader *r,
						    struct heaptrack_scan c, uint64_t *number)
{
	if (!heaptrack_hex(&c, number) || *number >= r->allocations.n)
		return NULL;
	struct heaptrack_allocation *a = &r->allocations.v[*number];
	if (a->seen != r->peaks) {
		a->at_peak = a->live;
		a->seen = r->peaks;
	}
	return a;
}

static bool heaptrack_made(struct heaptrack_reader *r, struct heaptrack_scan c)
{
	uint64_t number;
	struct heaptrack_allocation *a = heaptrack_event(r, c, &number);
	if (!a || a->live == UINT32_MAX)
		return false;
	a->made++;
	a->live++;
	r->last = number;
	if (__builtin_add_overflow(r->live_bytes, a->size, &r->live_bytes))
		r->live_bytes = UINT64_MAX;
	if (r->live_bytes > r->peak_bytes) {
		r->peak_bytes = r->live_bytes;
		r->peaks++;
	}
	return true;
}

static bool heaptrack_freed(struct heaptrack_reader *r, struct heaptrack_scan c)
{
	uint64_t number;
	struct heaptrack_allocation *a = heaptrack_event(r, c, &number);
	if (!a || !a->live)
		return false;
	a->live--;
	a->temporary += r->last == number && a->temporary < UINT32_MAX;
	r->last = 0;
	r->live_bytes -= a->size < r->live_bytes ? a->size : r->live_bytes;
	return true;
}

/* --- lines ------------------------------------------------------------------------------------ */

static bool heaptrack_command(struct heaptrack_reader *r, struct heaptrack_scan c)
{
	r->sink->ops->meta(r->sink)->command = r->sink->ops->string(r->sink, c.s, c.end - c.s);
	r->in_command = true;
	return true;
}

static bool heaptrack_time(struct heaptrack_reader *r, struct heaptrack_scan c)
{
	enum { NS_PER_MS = 1000000 };
	uint64_t ms;
	if (!heaptrack_hex(&c, &ms))
		return false;
	r->sink->ops->meta(r->sink)->duration_ns =
		sum_mul(ms < INT64_MAX ? (int64_t)ms : INT64_MAX, NS_PER_MS);
	return true;
}

static bool heaptrack_version(struct heaptrack_reader *r, struct heaptrack_scan c)
{
	uint64_t program;
	return heaptrack_hex(&c, &program) && heaptrack_hex(&c, &r->version);
}

/* Only in what the library wrote before its addresses were named. */
static bool heaptrack_module(struct heaptrack_reader *r, struct heaptrack_scan c)
{
	(void)c;
	r->is_raw = true;
	return true;
}

static bool heaptrack_other(struct heaptrack_reader *r, struct heaptrack_scan c)
{
	(void)r, (void)c;
	return true;
}

static const struct {
	char letter;
	bool (*take)(struct heaptrack_reader *r, struct heaptrack_scan c);
} heaptrack_lines[] = {
	{ '+', heaptrack_made },    { '-', heaptrack_freed },  { 'a', heaptrack_allocation },
	{ 't', heaptrack_stack },   { 'i', heaptrack_place },  { 's', heaptrack_string },
	{ 'c', heaptrack_time },    { 'R', heaptrack_other },  { 'X', heaptrack_command },
	{ 'v', heaptrack_version }, { 'I', heaptrack_other },  { 'A', heaptrack_other },
	{ 'S', heaptrack_other },   { 'm', heaptrack_module }, { 'x', heaptrack_other },
	{ '#', heaptrack_other },
};

static bool heaptrack_line(struct heaptrack_reader *r, const char *line, size_t len)
{
	struct heaptrack_scan c = { line + 1, line + len };
	c.s += c.s < c.end && *c.s == ' ';
	for (size_t i = 0; i < sizeof heaptrack_lines / sizeof *heaptrack_lines; i++)
		if (heaptrack_lines[i].letter == *line)
			return heaptrack_lines[i].take(r, c);
	return false;
}

/* Whether a line is one after the command: "I 1000 5e2990", modules, strings. */
static bool heaptrack_ends_command(const struct heaptrack_reader *r, const char *line, size_t len)
{
	struct heaptrack_scan c = { line + 2, line + len };
	uint64_t number;
	if (len < 3 || line[1] != ' ')
		return false;
	if (strchr("AmSx", *line) || (*line == 's' && r->version < HEAPTRACK_VERSION))
		return true;
	return strchr("Is", *line) && heaptrack_hex(&c, &number) && c.s < c.end;
}

/* Returns false if it cannot be read. Further lines of a command are skipped. */
static bool heaptrack_take(struct heaptrack_reader *r, const char *line, size_t len)
{
	r->bytes += len;
	if (r->in_command && len && !heaptrack_ends_command(r, line, len))
		return true;
	r->in_command &= !len;
	return !len || heaptrack_line(r, line, len);
}

/* --- output ----------------------------------------------------------------------------------- */

static uint64_t of_made(const struct heaptrack_allocation *a)
{
	return a->made;
}

static uint64_t of_temporary(const struct heaptrack_allocation *a)
{
	return a->temporary;
}

static uint64_t of_live(const struct heaptrack_allocation *a)
{
	return a->live;
}

static uint64_t of_peak(const struct heaptrack_allocation *a)
{
	return a->at_peak;
}

/* The last one is shown. */
static const struct heaptrack_type {
	const char *objects, *bytes;
	uint64_t (*count)(const struct heaptrack_allocation *a);
	uint8_t aggregation;
} heaptrack_types[] = {
	{ "temporary_objects", "temporary_space", of_temporary, AGG_SUM },
	{ "alloc_objects", "alloc_space", of_made, AGG_SUM },
	{ "inuse_objects", "inuse_space", of_live, AGG_SNAPSHOT },
	{ "peak_objects", "peak_space", of_peak, AGG_SNAPSHOT },
};

static int64_t heaptrack_value(uint64_t count, uint64_t size)
{
	int64_t v;
	return __builtin_mul_overflow(count, size, &v) ? INT64_MAX : v;
}

/* Gives a value of each allocation that has any. */
static void heaptrack_give_values(struct heaptrack_reader *r, const struct heaptrack_type *t,
				  uint32_t series, bool is_bytes)
{
	struct give_row row = { .series = series, GIVE_ROW_NO_IDS };
	struct give_sums sums = { 0 };
	for (size_t i = 0; i < r->allocations.n; i++) {
		const struct heaptrack_allocation *a = &r->allocations.v[i];
		uint64_t count = t->count(a);
		if (!count || a->stack == STACK_TREE_NONE)
			continue;
		row.stack = a->stack;
		row.value = heaptrack_value(count, is_bytes ? a->size : 1);
		give_sums_add(&sums, &row);
	}
	give_sums_end(&sums, r->sink);
	give_sums_done(&sums);
}

static void heaptrack_give_type(struct heaptrack_reader *r, const struct heaptrack_type *t)
{
	struct give_type objects = { .name = t->objects,
				     .sample_type = t->objects,
				     .unit = "count",
				     .aggregation = t->aggregation };
	struct give_type bytes = { .name = t->bytes,
				   .sample_type = t->bytes,
				   .unit = "bytes",
				   .aggregation = t->aggregation };
	uint32_t of_objects = give_series(r->sink, &objects);
	uint32_t of_bytes = give_series(r->sink, &bytes);
	heaptrack_give_values(r, t, of_objects, false);
	heaptrack_give_values(r, t, of_bytes, true);
}

/* Replaces the row of each allocation by the stack of the sink. */
static void heaptrack_resolve(struct heaptrack_reader *r)
{
	for (size_t i = 0; i < r->allocations.n; i++) {
		struct heaptrack_allocation *a = &r->allocations.v[i];
		if (a->seen != r->peaks)
			a->at_peak = a->live;
		if (!a->made)
			a->stack = STACK_TREE_NONE;
		else if (a->stack == STACK_TREE_ROOT)
			a->stack = r->sink->ops->stack(r->sink, NULL, 0);
		else
			a->stack = stack_tree_stack(&r->tree, r->sink, a->stack);
		r->skipped += a->made && a->stack == STACK_TREE_NONE;
	}
}

static void heaptrack_tables_done(struct heaptrack_reader *r)
{
	vec_done(&r->strings);
	vec_done(&r->places);
	vec_done(&r->frames);
	vec_done(&r->stacks);
	stack_tree_done(&r->tree);
}

static void heaptrack_give(struct heaptrack_reader *r)
{
	struct profile_meta *meta = r->sink->ops->meta(r->sink);
	heaptrack_resolve(r);
	heaptrack_tables_done(r);
	for (size_t i = 0; i < sizeof heaptrack_types / sizeof *heaptrack_types; i++)
		heaptrack_give_type(r, &heaptrack_types[i]);
	meta->default_type = meta->sample_types.v[meta->sample_types.n - 1];
	if (r->skipped)
		r->sink->ops->loss(r->sink, LOSS_INPUT_SKIPPED, r->skipped);
}

static int heaptrack_is_raw(struct input *in, struct err *err)
{
	err_set(err, EBADMSG, "%s: raw data of heaptrack, without names", input_name(in));
	return err_hint(err, "heaptrack_interpret <%s >OUT names it, on the machine it is from",
			input_name(in));
}

static int heaptrack_read_lines(struct heaptrack_reader *r, struct input *in, struct err *err)
{
	const char *line;
	size_t len;
	bool cut;
	int rc;
	while ((rc = input_line(in, &line, &len, &cut, err)) > 0 && !r->is_raw)
		r->skipped += !heaptrack_take(r, line, len) || cut;
	if (rc < 0)
		return rc;
	if (r->is_raw)
		return heaptrack_is_raw(in, err);
	if (!r->version)
		return err_set(err, EBADMSG, "%s: not the data of heaptrack", input_name(in));
	if (r->version > HEAPTRACK_VERSION)
		return err_set(err, EBADMSG, "%s: version %llu of heaptrack's data is unknown",
			       input_name(in), (unsigned long long)r->version);
	heaptrack_give(r);
	return 0;
}

static int heaptrack_read(struct input *in, struct sink *sink, struct err *err)
{
	struct heaptrack_reader r = { .sink = sink };
	int rc = heaptrack_read_lines(&r, in, err);
	heaptrack_tables_done(&r);
	vec_done(&r.allocations);
	return rc;
}

/* "v 10650 3", then a line of another letter that heaptrack has. */
static bool heaptrack_detect(const char *head, size_t len)
{
	struct cur c = cur_of(head, len);
	struct heaptrack_reader r = { 0 };
	const char *line;
	size_t line_len;
	if (!cur_line(&c, &line, &line_len) || line_len < 5 || memcmp(line, "v ", 2) != 0 ||
	    !heaptrack_version(&r, (struct heaptrack_scan){ line + 2, line + line_len }) ||
	    !cur_line(&c, &line, &line_len) || line_len < 3 || line[1] != ' ')
		return false;
	for (size_t i = 0; i < sizeof heaptrack_lines / sizeof *heaptrack_lines; i++)
		if (heaptrack_lines[i].letter == *line)
			return true;
	return false;
}

const struct format format_heaptrack = {
	.name = "heaptrack",
	.summary = "allocations recorded by heaptrack",
	.detect = heaptrack_detect,
	.read = heaptrack_read,
};
