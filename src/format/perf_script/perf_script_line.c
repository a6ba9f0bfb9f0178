/* Parses the head of a sample, frames and comments. */
#include "format/perf_script/perf_script_line.h"

#include "format/common/guess.h"
#include "profile/sink.h"

#include <string.h>

/* The rest of a line. */
struct scan {
	const char *p, *end;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
	static const bool hex[256] = { ['0' ... '9'] = true,
				       ['a' ... 'f'] = true,
				       ['A' ... 'F'] = true };
	return hex[(unsigned char)c];
}

static void skip_blanks(struct scan *s)
{
	while (s->p < s->end && is_blank(*s->p))
		s->p++;
}

static void skip_token(struct scan *s)
{
	while (s->p < s->end && !is_blank(*s->p))
		s->p++;
}

static bool at_token_end(const struct scan *s)
{
	return s->p == s->end || is_blank(*s->p);
}

static struct perf_text trimmed(const char *from, const char *end)
{
	while (from < end && is_blank(*from))
		from++;
	while (end > from && is_blank(end[-1]))
		end--;
	return (struct perf_text){ from, end - from };
}

static bool text_is(struct perf_text t, const char *s)
{
	return t.len == strlen(s) && memcmp(t.s, s, t.len) == 0;
}

static bool text_starts(struct perf_text t, const char *s)
{
	return t.len >= strlen(s) && memcmp(t.s, s, strlen(s)) == 0;
}

static bool text_ends(struct perf_text t, const char *s)
{
	return t.len >= strlen(s) && memcmp(t.s + t.len - strlen(s), s, strlen(s)) == 0;
}

struct perf_header perf_header_none(void)
{
	struct perf_text none = { "", 0 };
	return (struct perf_header){ .comm = none,
				     .event = none,
				     .rest = none,
				     .pid = SAMPLE_NO_ID,
				     .tid = SAMPLE_NO_ID,
				     .cpu = SAMPLE_NO_ID };
}

/* --- header lines ----------------------------------------------------------------------------- */

/* Each scan_ function moves past its item and the blanks before it, or returns false without
 * moving. */

static bool scan_number(struct scan *s, uint64_t max, uint64_t *out)
{
	uint64_t v = 0;
	const char *p = s->p;
	for (; p < s->end && is_digit(*p); p++)
		if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *p - '0', &v) ||
		    v > max)
			return false;
	if (p == s->p)
		return false;
	s->p = p;
	*out = v;
	return true;
}

/* perf prints -1 for an unknown thread. */
static bool scan_id(struct scan *s, uint32_t *id)
{
	uint64_t v;
	if (s->end - s->p >= 2 && s->p[0] == '-' && s->p[1] == '1') {
		s->p += 2;
		*id = SAMPLE_NO_ID;
		return true;
	}
	if (!scan_number(s, UINT32_MAX, &v))
		return false;
	*id = v;
	return true;
}

/* Matches "pid/tid" or "tid". */
static bool scan_ids(struct scan *s, struct perf_header *h)
{
	struct scan at = *s;
	uint32_t first, second;
	skip_blanks(&at);
	if (!scan_id(&at, &first))
		return false;
	bool both = at.p < at.end && *at.p == '/';
	if (both) {
		at.p++;
		if (!scan_id(&at, &second))
			return false;
	}
	if (!at_token_end(&at))
		return false;
	h->pid = both ? first : SAMPLE_NO_ID;
	h->tid = both ? second : first;
	*s = at;
	return true;
}

/* Matches "[003]". */
static bool scan_cpu(struct scan *s, struct perf_header *h)
{
	struct scan at = *s;
	uint64_t v;
	skip_blanks(&at);
	if (at.p == at.end || *at.p++ != '[' || !scan_number(&at, UINT32_MAX, &v) ||
	    at.p == at.end || *at.p++ != ']' || !at_token_end(&at))
		return false;
	h->cpu = v;
	*s = at;
	return true;
}

/* Matches "184694.229089:" with one to nine digits after the point. */
static bool scan_time(struct scan *s, struct perf_header *h)
{
	enum { NS_DIGITS = 9 };
	struct scan at = *s;
	uint64_t seconds, part;
	skip_blanks(&at);
	if (!scan_number(&at, INT64_MAX / 1000000000 - 1, &seconds) || at.p == at.end ||
	    *at.p++ != '.')
		return false;
	const char *point = at.p;
	if (!scan_number(&at, 999999999, &part) || at.p - point > NS_DIGITS)
		return false;
	for (int digits = at.p - point; digits < NS_DIGITS; digits++)
		part *= 10;
	if (at.p == at.end || *at.p++ != ':' || !at_token_end(&at))
		return false;
	h->time_ns = seconds * 1000000000 + part;
	h->has_time = true;
	*s = at;
	return true;
}

/* Matches perf's column "misc", a few letters ("U", "KE"), only before a time. */
static void scan_misc(struct scan *s, struct perf_header *h)
{
	enum { MISC_LETTERS = 5 };
	struct scan at = *s;
	skip_blanks(&at);
	const char *letters = at.p;
	while (at.p < at.end && ((*at.p | 0x20) >= 'a' && (*at.p | 0x20) <= 'z'))
		at.p++;
	if (at.p == letters || at.p - letters > MISC_LETTERS || !at_token_end(&at))
		return;
	if (scan_time(&at, h))
		*s = at;
}

/* Matches blanks and an address of at least 16 columns, as perf pads them in a header line; stops
 * before the address. */
static bool scan_padded_address(struct scan *s)
{
	enum { ADDRESS_COLUMNS = 16 };
	struct scan at = *s;
	skip_blanks(&at);
	const char *digits = at.p;
	while (at.p < at.end && is_hex(*at.p))
		at.p++;
	if (at.p == digits || !at_token_end(&at) || at.p - s->p < ADDRESS_COLUMNS)
		return false;
	s->p = digits;
	return true;
}

static void scan_period(struct scan *s, struct perf_header *h)
{
	struct scan at = *s;
	uint64_t v;
	skip_blanks(&at);
	if (!scan_number(&at, INT64_MAX, &v) || !at_token_end(&at))
		return;
	h->period = v;
	h->has_period = true;
	*s = at;
}

/* Matches "sched:sched_switch: " up to the colon before a blank or the end. */
static bool scan_event(struct scan *s, struct perf_header *h)
{
	const char *end = s->end - s->p > PERF_EVENT_MAX ? s->p + PERF_EVENT_MAX : s->end;
	for (const char *p = s->p; p < end; p++) {
		if (*p != ':' || (p + 1 < s->end && !is_blank(p[1])))
			continue;
		h->event = trimmed(s->p, p);
		s->p = p + 1;
		return h->event.len > 0;
	}
	return false;
}

/* Scans the event and the columns before and after it. */
static enum perf_header_trust scan_event_columns(struct scan s, bool is_anchored,
						 struct perf_header *h)
{
	struct scan start = s, address = s;
	scan_period(&s, h);
	bool has_event = scan_event(&s, h), is_end = trimmed(s.p, s.end).len == 0;
	bool is_word = has_event && !memchr(h->event.s, ' ', h->event.len);
	if (!is_word && scan_padded_address(&address)) { /* no event */
		h->has_period = false;
		h->event.len = 0;
		h->rest = (struct perf_text){ start.p, start.end - start.p };
		return PERF_SURE_HEADER;
	}
	h->rest = (struct perf_text){ s.p, s.end - s.p };
	if (is_anchored && (is_word || is_end || (has_event && h->has_time)))
		return PERF_SURE_HEADER;
	if (h->has_time || (is_anchored && has_event))
		return PERF_FAIR_HEADER; /* trace output without its event, or a truncated line */
	if (!is_word)                    /* a sentence is not an event */
		return is_end && !has_event && !is_anchored ? PERF_LOOSE_HEADER : PERF_NO_HEADER;
	return scan_padded_address(&s) ? PERF_SURE_HEADER : PERF_FAIR_HEADER;
}

/* Scans everything from the ids on; s.p is where the ids or the columns after them would start. */
static enum perf_header_trust scan_columns(struct scan s, struct perf_header *h)
{
	*h = perf_header_none();
	bool has_ids = scan_ids(&s, h), has_cpu = scan_cpu(&s, h);
	if (!scan_time(&s, h) && (has_ids || has_cpu))
		scan_misc(&s, h);
	bool is_anchored = has_cpu || h->has_time;
	if (!is_anchored && !has_ids)
		return PERF_NO_HEADER;
	h->rest = trimmed(s.p, s.end);
	h->is_record = text_starts(h->rest, "PERF_RECORD_");
	if (h->is_record)
		return PERF_SURE_HEADER;
	return scan_event_columns(s, is_anchored, h);
}

/* Scans "comm event:" or one of the two alone. */
static enum perf_header_trust scan_names(struct perf_text all, struct perf_header *h)
{
	*h = perf_header_none();
	const char *last = all.s + all.len;
	if (all.len && last[-1] == ':') {
		while (last > all.s && !is_blank(last[-1]))
			last--;
		h->event = (struct perf_text){ last, all.s + all.len - 1 - last };
	}
	h->comm = trimmed(all.s, last);
	bool fits = all.len && h->comm.len <= PERF_LONE_COMM_MAX;
	return fits ? PERF_LOOSE_HEADER : PERF_NO_HEADER;
}

/* The comm may contain anything, also digits and blanks. It ends before the first token from which
 * the rest parses as columns. A position with more columns is preferred to one with fewer. */
enum perf_header_trust perf_header_parse(const char *line, size_t len, struct perf_header *h)
{
	struct perf_text all = trimmed(line, line + len);
	struct scan s = { all.s, all.s + all.len };
	struct perf_header one, best = perf_header_none();
	enum perf_header_trust best_trust = PERF_NO_HEADER;
	const char *comm = s.p;
	while (best_trust < PERF_SURE_HEADER && s.p < s.end && s.p - comm <= PERF_COMM_MAX) {
		enum perf_header_trust trust = scan_columns(s, &one);
		if (trust > best_trust) {
			best = one;
			best.comm = trimmed(comm, s.p);
			best_trust = trust;
		}
		skip_token(&s);
		skip_blanks(&s);
	}
	*h = best;
	return best_trust ? best_trust : scan_names(all, h);
}

/* --- frames ----------------------------------------------------------------------------------- */

bool perf_frame_split(const char *line, size_t len, struct perf_text *text, bool *is_high)
{
	struct scan s = { line, line + len };
	skip_blanks(&s);
	const char *digits = s.p;
	while (s.p < s.end && is_hex(*s.p))
		s.p++;
	if (s.p == digits || !at_token_end(&s))
		return false;
	/* Addresses of 16 digits that start with ffff are in the kernel's half. */
	*is_high = s.p - digits == 16 && memcmp(digits, "ffff", 4) == 0;
	*text = trimmed(s.p, s.end);
	return true;
}

/* Between event and address there may be branch flags ("jmp", "tr strt", "call (x)") and another
 * address (-F addr); a branch continues with " => target". */
bool perf_header_frame(const struct perf_header *h, struct perf_text *text, bool *is_high)
{
	enum { FLAG_TOKENS = 4 };
	struct scan s = { h->rest.s, h->rest.s + h->rest.len };
	int flags = 0;
	while (!scan_padded_address(&s)) {
		skip_blanks(&s);
		const char *flag = s.p;
		while (s.p < s.end && ((*s.p >= 'a' && *s.p <= 'z') || *s.p == '(' || *s.p == ')'))
			s.p++;
		if (s.p == flag || !at_token_end(&s) || ++flags > FLAG_TOKENS)
			return false;
	}
	struct scan next = s;
	skip_token(&next);
	if (scan_padded_address(&next))
		s = next;
	const char *arrow = memmem(s.p, s.end - s.p, " => ", 4);
	return perf_frame_split(s.p, (arrow ? arrow : s.end) - s.p, text, is_high);
}

/* Returns the opening bracket that matches the last character of t; NULL if none follows a
 * blank. */
static const char *last_bracket(struct perf_text t)
{
	size_t depth = 0;
	for (const char *p = t.s + t.len; p-- > t.s;) {
		if (*p == ')')
			depth++;
		else if (*p == '(' && --depth == 0)
			return p == t.s || is_blank(p[-1]) ? p : NULL;
	}
	return NULL;
}

/* Removes "+0x1f" at the end. */
static void drop_offset(struct perf_text *t)
{
	const char *p = t->s + t->len;
	while (p > t->s && is_hex(p[-1]))
		p--;
	if (p < t->s + t->len && p - t->s >= 3 && memcmp(p - 3, "+0x", 3) == 0)
		t->len = p - 3 - t->s;
}

void perf_symbol_parse(struct perf_text text, struct perf_symbol *out)
{
	*out = (struct perf_symbol){ .name = text, .dso = { "", 0 } };
	const char *open = text.len && text.s[text.len - 1] == ')' ? last_bracket(text) : NULL;
	/* "f(int) (.isra.0)" without a dso: the compiler's copy of a function */
	if (open && open[1] != '.') {
		out->dso = trimmed(open + 1, text.s + text.len - 1);
		out->name = trimmed(text.s, open);
	}
	out->has_dso = out->dso.len > 0;
	out->is_inlined = text_is(out->dso, "inlined");
	if (text_ends(out->dso, " (deleted)"))
		out->dso.len -= strlen(" (deleted)");
	if (out->dso.len && out->dso.s[0] == '/')
		drop_offset(&out->dso);
	if (out->is_inlined || text_is(out->dso, "[unknown]"))
		out->dso.len = 0;
	drop_offset(&out->name);
	if (out->name.len == 0)
		out->name = (struct perf_text){ "[unknown]", strlen("[unknown]") };
}

/* --- dsos ------------------------------------------------------------------------------------- */

static struct perf_text last_part(struct perf_text path)
{
	const char *slash = memrchr(path.s, '/', path.len);
	if (!slash || slash + 1 == path.s + path.len)
		return path;
	return (struct perf_text){ slash + 1, path.s + path.len - slash - 1 };
}

static bool is_kernel_itself(struct perf_text dso)
{
	struct perf_text name = last_part(dso);
	return text_starts(dso, "[kernel") || text_is(dso, "/proc/kcore") ||
	       text_is(name, "vmlinux") || text_starts(name, "vmlinux-");
}

/* Kernel modules are "[name]" or files; other names in brackets are not kernel code. */
static bool is_kernel_part(struct perf_text dso)
{
	static const char *const endings[] = { ".ko", ".ko.gz", ".ko.xz", ".ko.zst" };
	static const char *const not_kernel[] = { "[vdso",     "[vsyscall]", "[vvar",  "[vectors]",
						  "[sigpage]", "[uprobes]",  "[heap]", "[stack" };
	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
		if (text_ends(dso, endings[i]))
			return true;
	for (size_t i = 0; i < sizeof not_kernel / sizeof *not_kernel; i++)
		if (text_starts(dso, not_kernel[i]))
			return false;
	return text_starts(dso, "[") || text_starts(dso, "bpf_prog_");
}

/* Matches "perf-123.map" and anonymous memory, where programs generate code. */
static bool is_jit(struct perf_text dso)
{
	struct perf_text name = last_part(dso);
	if (text_starts(dso, "//anon") || text_starts(dso, "[anon") ||
	    text_starts(dso, "/memfd:doublemapper") || text_starts(name, "jitted-"))
		return true;
	if (!text_starts(name, "perf-") || !text_ends(name, ".map"))
		return false;
	size_t i = strlen("perf-");
	while (i < name.len && is_digit(name.s[i]))
		i++;
	return i > strlen("perf-") && i == name.len - strlen(".map");
}

/* Matches "//python", as our own writer prints it. */
static bool is_named_kind(struct perf_text dso, enum frame_kind *kind)
{
	if (!text_starts(dso, "//"))
		return false;
	struct perf_text name = { dso.s + 2, dso.len - 2 };
	for (int k = 0; k < FRAME_KINDS; k++) {
		if (!text_is(name, frame_kinds[k].name))
			continue;
		*kind = k;
		return true;
	}
	return false;
}

enum frame_kind perf_symbol_kind(const struct perf_symbol *s, bool is_high)
{
	enum frame_kind kind;
	if (is_named_kind(s->dso, &kind))
		return kind;
	if (is_jit(s->dso))
		return FRAME_JIT;
	if (is_kernel_itself(s->dso) || is_kernel_part(s->dso) || (is_high && !s->has_dso))
		return FRAME_KERNEL;
	return guess_kind(s->name.s, s->name.len, NULL, 0);
}

struct perf_text perf_dso_binary(struct perf_text dso, enum frame_kind kind)
{
	if (is_kernel_itself(dso))
		return (struct perf_text){ "[kernel]", strlen("[kernel]") };
	if (kind == FRAME_JIT || text_starts(dso, "//"))
		return (struct perf_text){ "", 0 };
	return last_part(dso);
}

bool perf_line_is_inlined(const char *line, size_t len)
{
	struct perf_text t = trimmed(line, line + len);
	return text_ends(t, " (inlined)") || text_is(t, "(inlined)");
}

/* Removes "(discriminator 3)" and "(inlined)". */
static struct perf_text without_brackets(struct perf_text t)
{
	const char *open;
	while (text_ends(t, ")") && (open = last_bracket(t)))
		t = trimmed(t.s, open);
	return t;
}

/* Rejects "??:0" and source lines printed with their text. */
bool perf_source_line(const char *line, size_t len, struct perf_text *file, uint32_t *number)
{
	struct perf_text t = without_brackets(trimmed(line, line + len));
	const char *colon = memrchr(t.s, ':', t.len);
	struct scan s = { colon ? colon + 1 : NULL, t.s + t.len };
	uint64_t v;
	if (!colon || colon == t.s || t.s[0] == '|' || text_starts(t, "??") ||
	    !scan_number(&s, UINT32_MAX, &v) || s.p < s.end)
		return false;
	*file = (struct perf_text){ t.s, colon - t.s };
	*number = v;
	return true;
}
