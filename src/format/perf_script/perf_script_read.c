/* Reads samples line by line, and adds up equal ones. */
#include "format/perf_script/perf_script.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/input.h"
#include "base/mem.h"
#include "base/vec.h"
#include "format/common/guess.h"
#include "format/perf_script/perf_script_line.h"
#include "profile/sink.h"
#include "profile/sum.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* --- frames: from the frame lines of one sample to a stack ---
 *
 * The text after the address is looked up unchanged; only new lines are parsed. Callers are mostly
 * the same as last time, so most lines cost one comparison. */

/* A distinct line, without its address. */
struct perf_token {
	const char *text;
	uint32_t len;
	bool is_high, is_inlined;
	struct frame frame;
	uint32_t id;   /* of frame in the sink, unless inlined */
	uint32_t next; /* the token that followed it last time */
};
struct perf_frame_ref {
	uint32_t token;
	uint32_t file, line; /* of the source line that followed, else 0 */
	uint8_t kind;        /* by the source file; FRAME_NATIVE if unknown */
	bool is_inlined;     /* by the line that followed */
};
struct perf_frames { /* zeroed, except for sink = empty */
	struct sink *sink;
	struct arena texts;
	VEC(struct perf_token) tokens;
	struct map token_index;
	VEC(struct perf_frame_ref) refs; /* of the current sample, leaf first */
	VEC(uint32_t) ids;
};

struct perf_token_key {
	const struct perf_frames *f;
	struct perf_text text;
	bool is_high;
};

static bool perf_same_token(const void *ctx, uint32_t id)
{
	const struct perf_token_key *key = ctx;
	const struct perf_token *t = &key->f->tokens.v[id];
	return t->len == key->text.len && t->is_high == key->is_high &&
	       memcmp(t->text, key->text.s, t->len) == 0;
}

static uint32_t perf_string(struct perf_frames *f, struct perf_text t)
{
	return f->sink->ops->string(f->sink, t.s, t.len);
}

/* An inlined frame gets an id only once the frame it is inlined into is known. */
static struct perf_token perf_new_token(struct perf_frames *f, struct perf_text text, bool is_high)
{
	struct perf_symbol symbol;
	perf_symbol_parse(text, &symbol);
	enum frame_kind kind = perf_symbol_kind(&symbol, is_high);
	struct perf_token t = { .is_high = is_high, .is_inlined = symbol.is_inlined };
	t.frame = (struct frame){ .kind = kind,
				  .mapping = MAPPING_NONE,
				  .function = perf_string(f, symbol.name) };
	t.frame.binary = perf_string(f, perf_dso_binary(symbol.dso, kind));
	if (!t.is_inlined)
		t.id = f->sink->ops->frame(f->sink, &t.frame);
	return t;
}

static uint32_t perf_find_token(struct perf_frames *f, struct perf_text text, bool is_high)
{
	struct perf_token_key key = { f, text, is_high };
	uint64_t hash = hash_bytes(text.s, text.len) + is_high;
	uint32_t fresh = f->tokens.n;
	uint32_t id = map_intern(&f->token_index, hash, fresh, perf_same_token, &key);
	if (id == fresh) {
		struct perf_token t = perf_new_token(f, text, is_high);
		t.text = arena_dup(&f->texts, text.s, text.len);
		t.len = text.len;
		vec_push(&f->tokens, t);
	}
	return id;
}

static uint32_t perf_token(struct perf_frames *f, struct perf_text text, bool is_high)
{
	if (text.len > PERF_SCRIPT_CACHED_LINE) {
		/* The text is not retained, and its length makes the token unique. */
		struct perf_token t = perf_new_token(f, text, is_high);
		t.len = UINT32_MAX;
		vec_push(&f->tokens, t);
		return f->tokens.n - 1;
	}
	if (f->refs.n == 0)
		return perf_find_token(f, text, is_high);
	struct perf_token_key key = { f, text, is_high };
	uint32_t before = f->refs.v[f->refs.n - 1].token;
	uint32_t guess = f->tokens.v[before].next;
	if (guess && perf_same_token(&key, guess))
		return guess;
	uint32_t id = perf_find_token(f, text, is_high);
	f->tokens.v[before].next = id;
	return id;
}

/* Adds the sample's next frame, towards the root. Frames beyond PERF_SCRIPT_MAX_FRAMES are
 * dropped. */
static void perf_frames_add(struct perf_frames *f, struct perf_text text, bool is_high)
{
	if (f->refs.n >= PERF_SCRIPT_MAX_FRAMES)
		return;
	uint32_t token = perf_token(f, text, is_high);
	vec_push(&f->refs, (struct perf_frame_ref){ .token = token });
}

/* Sets the source line of the last frame. */
static void perf_frames_source(struct perf_frames *f, struct perf_text file, uint32_t line)
{
	if (f->refs.n == 0)
		return;
	struct perf_frame_ref *ref = &f->refs.v[f->refs.n - 1];
	ref->file = perf_string(f, file);
	ref->line = line;
	ref->kind = guess_kind("", 0, file.s, file.len);
}

static void perf_frames_inlined(struct perf_frames *f)
{
	if (f->refs.n)
		f->refs.v[f->refs.n - 1].is_inlined = true;
}

/* around: the frame that this one was inlined into, if any. */
static struct frame perf_full_frame(const struct perf_token *t, const struct perf_frame_ref *ref,
				    const struct frame *around)
{
	struct frame frame = t->frame;
	if (t->is_inlined || ref->is_inlined) {
		frame.kind = around->kind;
		frame.binary = around->binary;
	}
	if (frame.kind == FRAME_NATIVE)
		frame.kind = ref->kind;
	frame.file = ref->file;
	frame.line = ref->line;
	return frame;
}

/* Returns the stack of the added frames and starts the next sample. */
static uint32_t perf_frames_stack(struct perf_frames *f)
{
	struct frame around = { .kind = FRAME_NATIVE };
	vec_clear(&f->ids);
	vec_reserve(&f->ids, f->refs.n);
	for (size_t i = f->refs.n; i-- > 0;) {
		const struct perf_frame_ref *ref = &f->refs.v[i];
		const struct perf_token *t = &f->tokens.v[ref->token];
		uint32_t id = t->id;
		bool is_inlined = t->is_inlined || ref->is_inlined;
		if (is_inlined || ref->file) {
			struct frame full = perf_full_frame(t, ref, &around);
			id = f->sink->ops->frame(f->sink, &full);
		}
		if (!is_inlined)
			around = t->frame;
		vec_push(&f->ids, id);
	}
	vec_clear(&f->refs);
	return f->sink->ops->stack(f->sink, f->ids.v, f->ids.n);
}

/* --- rows ---
 *
 * The samples of a file. Up to PERF_SCRIPT_MAX_TIMED samples are kept one by one. If there are
 * more, or one has no time, equal ones are added up: memory then grows with the number of distinct
 * (series, stack, pid, tid, cpu), beyond the limit without the cpu. */

enum { PERF_ROWS_BLOCK = 4096 };

struct perf_rows {                   /* zeroed = empty */
	VEC(struct sample *) blocks; /* of PERF_ROWS_BLOCK samples each */
	size_t n;
	bool is_summed, drop_cpus;
	struct map index; /* of summed rows */
	uint64_t times_dropped;
};

static void perf_rows_done(struct perf_rows *r)
{
	for (size_t i = 0; i < r->blocks.n; i++)
		free(r->blocks.v[i]);
	vec_done(&r->blocks);
	map_done(&r->index);
}

static struct sample *perf_row(const struct perf_rows *r, size_t i)
{
	return &r->blocks.v[i / PERF_ROWS_BLOCK][i % PERF_ROWS_BLOCK];
}

static void perf_row_append(struct perf_rows *r, const struct sample *sample)
{
	if (r->n == r->blocks.n * PERF_ROWS_BLOCK)
		vec_push(&r->blocks, xmalloc(PERF_ROWS_BLOCK * sizeof *sample));
	*perf_row(r, r->n++) = *sample;
}

struct perf_row_key {
	const struct perf_rows *r;
	const struct sample *sample;
};

static bool perf_same_row(const void *ctx, uint32_t id)
{
	const struct perf_row_key *key = ctx;
	const struct sample *a = perf_row(key->r, id), *b = key->sample;
	return a->series == b->series && a->stack == b->stack && a->pid == b->pid &&
	       a->tid == b->tid && a->cpu == b->cpu;
}

static void perf_row_sum(struct perf_rows *r, struct sample sample)
{
	sample.time_ns = 0;
	if (r->drop_cpus)
		sample.cpu = SAMPLE_NO_ID;
	struct perf_row_key key = { r, &sample };
	uint64_t hash = hash_mix(hash_mix((uint64_t)sample.series << 32 | sample.stack, sample.cpu),
				 (uint64_t)sample.pid << 32 | sample.tid);
	uint32_t id = map_intern(&r->index, hash, r->n, perf_same_row, &key);
	if (id == r->n) {
		perf_row_append(r, &sample);
		return;
	}
	struct sample *row = perf_row(r, id);
	row->value = sum_add(row->value, sample.value);
}

/* Starts summing rows, including the existing ones. */
static void perf_rows_sum(struct perf_rows *r, bool drop_cpus)
{
	struct perf_rows all = *r;
	*r = (struct perf_rows){ .is_summed = true, .drop_cpus = drop_cpus };
	r->times_dropped = all.times_dropped + (drop_cpus || !all.is_summed ? all.n : 0);
	for (size_t i = 0; i < all.n; i++)
		perf_row_sum(r, *perf_row(&all, i));
	perf_rows_done(&all);
}

static void perf_rows_add(struct perf_rows *r, const struct sample *sample, bool has_time)
{
	bool is_full = r->n == PERF_SCRIPT_MAX_TIMED;
	if ((!r->is_summed && !has_time) || (!r->drop_cpus && is_full))
		perf_rows_sum(r, is_full);
	if (r->is_summed) {
		r->times_dropped += has_time || r->drop_cpus;
		perf_row_sum(r, *sample);
	} else {
		perf_row_append(r, sample);
	}
}

/* Passes all samples to the sink and frees them on the way. Reports dropped times, or else start
 * and duration. */
static void perf_rows_give(struct perf_rows *r, struct sink *sink)
{
	int64_t first = INT64_MAX, last = INT64_MIN;
	for (size_t i = 0; i < r->n; i++) {
		const struct sample *s = perf_row(r, i);
		first = s->time_ns < first ? s->time_ns : first;
		last = s->time_ns > last ? s->time_ns : last;
		sink->ops->sample(sink, s);
		if (i % PERF_ROWS_BLOCK != PERF_ROWS_BLOCK - 1)
			continue;
		free(r->blocks.v[i / PERF_ROWS_BLOCK]);
		r->blocks.v[i / PERF_ROWS_BLOCK] = NULL;
	}
	if (r->times_dropped)
		sink->ops->loss(sink, LOSS_TIMES_DROPPED, r->times_dropped);
	if (r->n == 0 || r->is_summed)
		return;
	struct profile_meta *meta = sink->ops->meta(sink);
	meta->start_mono_ns = first;
	meta->duration_ns = last - first;
}

struct perf_reader {
	struct sink *sink;
	struct perf_frames frames;
	struct perf_events events;
	struct perf_rows rows;
	/* The current sample. */
	bool is_open, has_time;
	bool is_bare;       /* has no header line */
	bool has_own_frame; /* the only frame so far is from the header line */
	struct sample sample;
	/* A loose header line, pending until the next line. */
	struct buf loose;
	bool in_junk; /* frames belong to a skipped line or a record other than a sample */
	uint64_t lines, samples, skipped;
};

static void perf_end_sample(struct perf_reader *r)
{
	if (r->loose.len) {
		buf_clear(&r->loose);
		r->skipped++;
	}
	r->in_junk = false;
	if (!r->is_open)
		return;
	r->is_open = false;
	r->samples++;
	r->sample.stack = perf_frames_stack(&r->frames);
	perf_rows_add(&r->rows, &r->sample, r->has_time);
}

/* Handles "PERF_RECORD_LOST lost 12" and other records. */
static void perf_record(struct perf_reader *r, struct perf_text rest)
{
	static const char lost[] = " lost ";
	r->in_junk = true;
	const char *at = memmem(rest.s, rest.len, lost, strlen(lost));
	if (rest.len < 16 || memcmp(rest.s, "PERF_RECORD_LOST", 16) != 0 || !at)
		return;
	uint64_t n = 0;
	for (at += strlen(lost); at < rest.s + rest.len && *at >= '0' && *at <= '9'; at++)
		if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, *at - '0', &n))
			return;
	r->sink->ops->loss(r->sink, LOSS_RING_FULL, n);
}

static void perf_begin_sample(struct perf_reader *r, const struct perf_header *h)
{
	struct perf_text text;
	bool is_high;
	if (h->is_record) {
		perf_record(r, h->rest);
		return;
	}
	r->is_open = true;
	r->has_time = h->has_time;
	r->sample = (struct sample){
		.time_ns = h->time_ns, .pid = h->pid, .tid = h->tid, .cpu = h->cpu
	};
	r->sample.series = perf_events_series(&r->events, h, &r->sample.value);
	r->has_own_frame = perf_header_frame(h, &text, &is_high);
	if (r->has_own_frame)
		perf_frames_add(&r->frames, text, is_high);
}

/* A frame without a header starts a separate sample. Without callchains each such line is a
 * sample; it is then not indented by a tab. */
static void perf_frame_line(struct perf_reader *r, bool has_tab, struct perf_text text,
			    bool is_high)
{
	struct perf_header h = perf_header_none();
	if (r->in_junk)
		return;
	if (r->is_open && r->is_bare && !has_tab)
		perf_end_sample(r);
	if (!r->is_open) {
		r->is_bare = r->loose.len == 0;
		if (r->loose.len)
			perf_header_parse(r->loose.data, r->loose.len, &h);
		perf_begin_sample(r, &h);
		buf_clear(&r->loose);
	}
	if (r->has_own_frame)
		vec_clear(&r->frames.refs); /* the header's text was an address, not a frame */
	r->has_own_frame = false;
	perf_frames_add(&r->frames, text, is_high);
}

static bool perf_is_indented(const char *line, size_t len)
{
	return len && (line[0] == ' ' || line[0] == '\t');
}

/* Without callchains the comm is right-aligned and may look like an address ("  cc1 12 [000] …"),
 * but symbols do not start with a digit. */
static bool perf_is_frame(const char *line, size_t len, struct perf_text *text, bool *is_high)
{
	struct perf_header h;
	if (!perf_is_indented(line, len) || !perf_frame_split(line, len, text, is_high))
		return false;
	return line[0] == '\t' || text->len == 0 || text->s[0] < '0' || text->s[0] > '9' ||
	       perf_header_parse(line, len, &h) < PERF_FAIR_HEADER;
}

/* Skips a line. Frames after it are not taken for a sample. */
static void perf_skip_line(struct perf_reader *r)
{
	r->skipped++;
	r->in_junk = !r->is_open;
}

static void perf_other_line(struct perf_reader *r, const char *line, size_t len)
{
	struct perf_header h;
	struct perf_text file;
	uint32_t number;
	enum perf_header_trust trust = perf_header_parse(line, len, &h);
	if (r->is_open && perf_is_indented(line, len) && trust < PERF_SURE_HEADER) {
		if (perf_line_is_inlined(line, len))
			perf_frames_inlined(&r->frames);
		if (perf_source_line(line, len, &file, &number))
			perf_frames_source(&r->frames, file, number);
		return;
	}
	perf_end_sample(r);
	if (trust >= PERF_FAIR_HEADER) {
		r->is_bare = false;
		perf_begin_sample(r, &h);
	} else if (trust == PERF_LOOSE_HEADER) {
		buf_add(&r->loose, line, len);
	} else {
		perf_skip_line(r);
	}
}

static bool perf_is_empty(const char *line, size_t len)
{
	size_t i = 0;
	while (i < len && (line[i] == ' ' || line[i] == '\t'))
		i++;
	return i == len;
}

static void perf_line(struct perf_reader *r, const char *line, size_t len, bool cut)
{
	struct perf_text text;
	bool is_high;
	r->lines++;
	if (cut)
		perf_skip_line(r);
	else if (perf_is_frame(line, len, &text, &is_high)) /* most frequent first */
		perf_frame_line(r, line[0] == '\t', text, is_high);
	else if (perf_is_empty(line, len))
		perf_end_sample(r);
	else if (line[0] == '#')
		perf_events_comment(&r->events, line, len);
	else
		perf_other_line(r, line, len);
}

static void perf_reader_done(struct perf_reader *r)
{
	arena_done(&r->frames.texts);
	vec_done(&r->frames.tokens);
	map_done(&r->frames.token_index);
	vec_done(&r->frames.refs);
	vec_done(&r->frames.ids);
	perf_events_done(&r->events);
	perf_rows_done(&r->rows);
	buf_done(&r->loose);
}

int perf_script_read(struct input *in, struct sink *sink, struct err *err)
{
	struct perf_reader r = { .sink = sink, .frames.sink = sink, .events.sink = sink };
	const char *line;
	size_t len;
	bool cut;
	int rc;
	while ((rc = input_line(in, &line, &len, &cut, err)) > 0 && r.rows.n < PERF_SCRIPT_MAX_ROWS)
		perf_line(&r, line, len, cut);
	if (rc > 0)
		rc = err_set(err, EFBIG, "%s: more than %d samples of different stacks and threads",
			     input_name(in), PERF_SCRIPT_MAX_ROWS);
	if (rc == 0)
		perf_end_sample(&r);
	if (rc == 0 && r.samples == 0)
		rc = err_set(err, EBADMSG,
			     "%s: none of %llu lines starts a perf script sample "
			     "(\"comm 12 [000] 34.567890: cycles:\")",
			     input_name(in), (unsigned long long)r.lines);
	if (rc == 0) {
		perf_rows_give(&r.rows, sink);
		if (r.skipped)
			sink->ops->loss(sink, LOSS_INPUT_SKIPPED, r.skipped);
	}
	perf_reader_done(&r);
	return rc;
}

/* --- detection -------------------------------------------------------------------------------- */

struct perf_seen {
	size_t headers, frames, symbols, others;
	bool after_doubt; /* the previous line is a header only if a frame follows */
};

/* A header without a time looks like a line of a log: "2026-11-29 03:52:29 UTC [123] LOG: …". The
 * kernel's comms are short. */
static bool perf_is_log(const struct perf_header *h)
{
	enum { COMM_LONGEST = 15 };
	return !h->has_time && h->comm.len > COMM_LONGEST;
}

static void perf_see(struct perf_seen *seen, const char *line, size_t len)
{
	struct perf_text text;
	struct perf_header h;
	bool is_high, was_doubt = seen->after_doubt;
	seen->after_doubt = false;
	if (perf_is_frame(line, len, &text, &is_high)) {
		seen->frames++;
		seen->symbols += text.len && (line[0] == '\t' || text.s[text.len - 1] == ')');
		seen->headers += was_doubt;
		return;
	}
	seen->others += was_doubt;
	enum perf_header_trust trust = perf_header_parse(line, len, &h);
	if (trust == PERF_SURE_HEADER && perf_is_log(&h))
		seen->others++;
	else if (trust == PERF_SURE_HEADER)
		seen->headers++;
	else if (trust != PERF_NO_HEADER)
		seen->after_doubt = true;
	else if (!perf_is_indented(line, len))
		seen->others++;
}

bool perf_script_detect(const char *head, size_t len)
{
	struct perf_seen seen = { 0 };
	struct cur c = cur_of(head, len);
	const char *line;
	size_t n;
	if (len == 0 || memchr(head, '\0', len))
		return false;
	while (cur_line(&c, &line, &n)) {
		if (perf_is_empty(line, n) || line[0] == '#')
			continue;
		if (!cur_left(&c) && len == INPUT_PEEK && seen.headers + seen.symbols)
			break; /* the last line may be truncated */
		perf_see(&seen, line, n);
	}
	return seen.headers + seen.symbols && seen.headers + seen.frames > seen.others;
}
