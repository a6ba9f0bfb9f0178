#include "format/perf_script.h"
#include "format/perf_script_events.h"
#include "format/perf_script_frames.h"
#include "format/perf_script_rows.h"

#include <errno.h>
#include <string.h>

struct perf_reader {
	struct sink *sink;
	struct perf_frames frames;
	struct perf_events events;
	struct perf_rows rows;
	/* The current sample. */
	bool is_open, has_time;
	bool is_bare;       /* has no header line */
	bool has_own_frame; /* the one frame so far is from the header line */
	struct sample sample;
	/* A loose header line, which the next line decides about. */
	struct buf loose;
	bool in_junk; /* frames belong to a line that was skipped or is no sample */
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

/* "PERF_RECORD_LOST lost 12" and the like */
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

/* A frame without any header in front begins a sample of its own. Where there are no callchains
 * either, each line is one: then it is not indented by a tab. */
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
		vec_clear(&r->frames.refs); /* what stood there was no frame but an address */
	r->has_own_frame = false;
	perf_frames_add(&r->frames, text, is_high);
}

static bool perf_is_indented(const char *line, size_t len)
{
	return len && (line[0] == ' ' || line[0] == '\t');
}

/* Without callchains the comm is right-aligned and may look like an address ("  cc1 12 [000]
 * …"), but no symbol begins with a digit. */
static bool perf_is_frame(const char *line, size_t len, struct perf_text *text, bool *is_high)
{
	struct perf_header h;
	if (!perf_is_indented(line, len) || !perf_frame_split(line, len, text, is_high))
		return false;
	return line[0] == '\t' || text->len == 0 || text->s[0] < '0' || text->s[0] > '9' ||
	       perf_header_parse(line, len, &h) < PERF_FAIR_HEADER;
}

/* Frames that follow are not taken for a sample. */
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
	else if (perf_is_frame(line, len, &text, &is_high)) /* first: most lines are */
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
	perf_frames_done(&r->frames);
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
			     "%s: none of %llu lines begins a sample of perf script "
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
	bool after_doubt; /* the line before was a header only if a frame follows */
};

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
	if (trust == PERF_SURE_HEADER)
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
			break; /* the last line may be cut */
		perf_see(&seen, line, n);
	}
	return seen.headers + seen.symbols && seen.headers + seen.frames > seen.others;
}
