/* Reads the lines of the format, with name compression and relative positions. Costs may be
 * relative to the previous line as well ("*", "+5"); in such a file "-5" is relative, otherwise a
 * negative cost. A unit "(10ns)" becomes nanoseconds. */
#include "format/callgrind/callgrind.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/input.h"
#include "base/str.h"
#include "base/vec.h"
#include "format/callgrind/callgrind_graph.h"
#include "profile/sink.h"
#include "profile/sum.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* --- the numbers of a line ---
 *
 *     +3 * 20 0x7              positions, then costs; missing costs are 0, and so is "."
 *
 * Positions are skipped. Some writers give costs relative to the previous line, as positions may
 * be. "*" and "+5" are always relative; "-5" is relative only once one of these was seen, since
 * other writers use it for negative costs (memory that was freed). */

struct callgrind_numbers {
	uint32_t n_positions;
	VEC(int64_t) costs; /* of the last line, one per type */
	bool is_relative;   /* relative costs were seen */
};

static inline bool callgrind_is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static const char *callgrind_skip_blanks(const char *s, const char *end)
{
	while (s < end && callgrind_is_blank(*s))
		s++;
	return s;
}

static unsigned callgrind_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 16;
}

/* Reads a decimal or 0x… number, clamped to 2^63 - 1. Returns the position after it, or NULL if
 * there is no number. */
static const char *callgrind_number(const char *s, const char *end, int64_t *out)
{
	unsigned base = 10, digit;
	int64_t v = 0;
	if (end - s > 2 && s[0] == '0' && (s[1] | 0x20) == 'x') {
		base = 16;
		s += 2;
	}
	const char *from = s;
	for (; s < end && (digit = callgrind_digit(*s)) < base; s++)
		v = sum_add(sum_mul(v, base), digit);
	*out = v;
	return s > from ? s : NULL;
}

/* Reads one number of a cost line with any sign; '*' leaves *out unchanged. */
static const char *callgrind_token(const char *s, const char *end, char *sign, int64_t *out)
{
	*sign = s < end && (*s == '+' || *s == '-' || *s == '*' || *s == '.') ? *s : 0;
	s += *sign != 0;
	if (*sign == 0 || *sign == '+' || *sign == '-')
		s = callgrind_number(s, end, out);
	return s && (s == end || callgrind_is_blank(*s)) ? callgrind_skip_blanks(s, end) : NULL;
}

static void callgrind_take(struct callgrind_numbers *c, size_t column, char sign, int64_t v)
{
	int64_t *cost = &c->costs.v[column];
	c->is_relative |= sign == '*' || sign == '+';
	if (sign == 0 || sign == '.')
		*cost = v;
	else if (sign == '+')
		*cost = sum_add(*cost, v);
	else if (sign == '-')
		*cost = sum_sub(c->is_relative ? *cost : 0, v);
}

/* Reads a line into c->costs. Returns false if it is not a cost line. */
static bool callgrind_numbers_read(struct callgrind_numbers *c, const char *s, const char *end)
{
	char sign;
	int64_t v;
	for (uint32_t i = 0; i < c->n_positions && s; i++)
		s = i && s == end ? NULL : callgrind_token(s, end, &sign, &v);
	size_t column = 0;
	for (; s && s < end && column < c->costs.n; column++) {
		v = 0;
		s = callgrind_token(s, end, &sign, &v);
		if (s)
			callgrind_take(c, column, sign, v);
	}
	if (s)
		for (; column < c->costs.n; column++)
			c->costs.v[column] = 0;
	return s == end;
}

enum { CALLGRIND_NONE = UINT32_MAX };

/* The meaning of the next cost line. */
enum callgrind_line { LINE_SELF, LINE_CALL, LINE_JUMP };

struct callgrind_reader {
	struct sink *sink;
	struct callgrind_graph graph;
	/* Header */
	VEC(uint32_t) columns; /* types, in the order of "events:" */
	struct callgrind_numbers numbers;
	uint32_t thread;
	uint64_t pid;
	uint32_t command;              /* name */
	VEC(uint32_t) events, remarks; /* names: texts after "event:", "desc:" and "creator:" */
	/* The current position for costs */
	struct map objects, files, functions; /* number → name */
	uint32_t object, file, function, code;
	uint32_t callee_object, callee_file, callee;
	enum callgrind_line next;
	uint64_t good, skipped; /* cost lines; skipped lines of any kind */
};

/* --- the position --- */

static void callgrind_new_function(struct callgrind_reader *r)
{
	r->function = r->code = r->callee = CALLGRIND_NONE;
	r->callee_object = r->callee_file = CALLGRIND_NONE;
	r->next = LINE_SELF;
}

static void callgrind_new_part(struct callgrind_reader *r)
{
	callgrind_new_function(r);
	r->object = r->file = 0;
}

static uint32_t callgrind_function_at(struct callgrind_reader *r, uint32_t object, uint32_t file,
				      uint32_t name)
{
	struct callgrind_function f = {
		.thread = r->thread, .object = object, .file = file, .name = name
	};
	return callgrind_function(&r->graph, &f);
}

/* Finds the current code. Lines without a function belong to one without a name. */
static void callgrind_find_code(struct callgrind_reader *r)
{
	if (r->function == CALLGRIND_NONE)
		r->function = callgrind_function_at(r, r->object, r->file, 0);
	if (r->code == CALLGRIND_NONE)
		r->code = callgrind_code(&r->graph, r->function, r->file);
}

/* --- costs --- */

static bool callgrind_self_line(struct callgrind_reader *r)
{
	callgrind_find_code(r);
	for (size_t i = 0; i < r->columns.n && !r->graph.full; i++)
		if (r->numbers.costs.v[i])
			callgrind_cost_add(&r->graph.types.v[r->columns.v[i]].self, r->code,
					   r->numbers.costs.v[i]);
	return true;
}

static bool callgrind_call_line(struct callgrind_reader *r)
{
	if (r->callee == CALLGRIND_NONE)
		return false;
	callgrind_find_code(r);
	uint32_t call = callgrind_call(&r->graph, r->code, r->callee);
	for (size_t i = 0; i < r->columns.n && !r->graph.full; i++)
		if (r->numbers.costs.v[i])
			callgrind_cost_add(&r->graph.types.v[r->columns.v[i]].calls, call,
					   r->numbers.costs.v[i]);
	return true;
}

static bool callgrind_cost_line(struct callgrind_reader *r, const char *s, const char *end)
{
	enum callgrind_line what = r->next;
	r->next = LINE_SELF;
	if (r->columns.n == 0)
		return false;
	if (what == LINE_JUMP)
		return true;
	if (!callgrind_numbers_read(&r->numbers, s, end))
		return false;
	r->good++;
	return what == LINE_CALL ? callgrind_call_line(r) : callgrind_self_line(r);
}

/* --- "key=value" --- */

/* Reads "(7) name", "(7)" or "name". Returns false if 7 was not defined before; the name is then
 * unknown. */
static bool callgrind_named(struct callgrind_reader *r, struct map *numbers, const char *s,
			    const char *end, uint32_t *name)
{
	int64_t number;
	const char *after = NULL;
	s = callgrind_skip_blanks(s, end);
	if (end - s > 2 && *s == '(')
		after = callgrind_number(s + 1, end, &number);
	if (!after || after == end || *after != ')') {
		*name = callgrind_name(&r->graph, s, end - s);
		return true;
	}
	s = callgrind_skip_blanks(after + 1, end);
	if (s < end) {
		*name = callgrind_name(&r->graph, s, end - s);
		map_put(numbers, number, *name);
		return true;
	}
	uint32_t *known = map_get(numbers, number);
	*name = known ? *known : 0;
	return known != NULL;
}

static bool callgrind_set_function(struct callgrind_reader *r, const char *s, const char *end)
{
	uint32_t name;
	bool good = callgrind_named(r, &r->functions, s, end, &name);
	callgrind_new_function(r);
	r->function = callgrind_function_at(r, r->object, r->file, name);
	return good;
}

static bool callgrind_set_callee(struct callgrind_reader *r, const char *s, const char *end)
{
	uint32_t name;
	bool good = callgrind_named(r, &r->functions, s, end, &name);
	uint32_t object = r->callee_object == CALLGRIND_NONE ? r->object : r->callee_object;
	uint32_t file = r->callee_file == CALLGRIND_NONE ? r->file : r->callee_file;
	r->callee = callgrind_function_at(r, object, file, name);
	r->callee_object = r->callee_file = CALLGRIND_NONE;
	return good;
}

static bool callgrind_set_file(struct callgrind_reader *r, const char *s, const char *end)
{
	r->code = CALLGRIND_NONE;
	return callgrind_named(r, &r->files, s, end, &r->file);
}

static bool callgrind_set_object(struct callgrind_reader *r, const char *s, const char *end)
{
	return callgrind_named(r, &r->objects, s, end, &r->object);
}

static bool callgrind_set_callee_file(struct callgrind_reader *r, const char *s, const char *end)
{
	return callgrind_named(r, &r->files, s, end, &r->callee_file);
}

static bool callgrind_set_callee_object(struct callgrind_reader *r, const char *s, const char *end)
{
	return callgrind_named(r, &r->objects, s, end, &r->callee_object);
}

/* Ignores the jump, but its file name may define a number. */
static bool callgrind_jump_file(struct callgrind_reader *r, const char *s, const char *end)
{
	uint32_t name;
	return callgrind_named(r, &r->files, s, end, &name);
}

static bool callgrind_jump_function(struct callgrind_reader *r, const char *s, const char *end)
{
	uint32_t name;
	return callgrind_named(r, &r->functions, s, end, &name);
}

static bool callgrind_calls(struct callgrind_reader *r, const char *s, const char *end)
{
	int64_t count;
	r->next = LINE_CALL;
	return callgrind_number(callgrind_skip_blanks(s, end), end, &count);
}

static bool callgrind_jump(struct callgrind_reader *r, const char *s, const char *end)
{
	(void)s, (void)end;
	r->next = LINE_JUMP;
	return true;
}

static bool callgrind_ignore(struct callgrind_reader *r, const char *s, const char *end)
{
	(void)r, (void)s, (void)end;
	return true;
}

/* --- "key: value" --- */

static bool callgrind_set_events(struct callgrind_reader *r, const char *s, const char *end)
{
	callgrind_new_part(r);
	vec_clear(&r->columns);
	vec_clear(&r->numbers.costs);
	while ((s = callgrind_skip_blanks(s, end)) < end) {
		const char *from = s;
		while (s < end && !callgrind_is_blank(*s))
			s++;
		uint32_t name = callgrind_name(&r->graph, from, s - from);
		vec_push(&r->columns, callgrind_type(&r->graph, name));
		vec_push(&r->numbers.costs, 0);
		if (r->graph.full)
			break;
	}
	return r->columns.n > 0;
}

static bool callgrind_set_positions(struct callgrind_reader *r, const char *s, const char *end)
{
	callgrind_new_part(r);
	r->numbers.n_positions = 0;
	while ((s = callgrind_skip_blanks(s, end)) < end) {
		while (s < end && !callgrind_is_blank(*s))
			s++;
		r->numbers.n_positions++;
	}
	return r->numbers.n_positions > 0;
}

static bool callgrind_set_pid(struct callgrind_reader *r, const char *s, const char *end)
{
	int64_t pid;
	if (!callgrind_number(callgrind_skip_blanks(s, end), end, &pid) || pid >= SAMPLE_NO_ID)
		return false;
	r->pid = pid;
	return true;
}

static bool callgrind_set_thread(struct callgrind_reader *r, const char *s, const char *end)
{
	int64_t thread;
	callgrind_new_part(r);
	r->thread = CALLGRIND_NO_THREAD;
	if (!callgrind_number(callgrind_skip_blanks(s, end), end, &thread) ||
	    thread >= CALLGRIND_NO_THREAD)
		return false;
	r->thread = thread;
	return true;
}

static bool callgrind_set_part(struct callgrind_reader *r, const char *s, const char *end)
{
	(void)s, (void)end;
	callgrind_new_part(r);
	r->thread = CALLGRIND_NO_THREAD;
	return true;
}

static bool callgrind_set_command(struct callgrind_reader *r, const char *s, const char *end)
{
	s = callgrind_skip_blanks(s, end);
	r->command = callgrind_name(&r->graph, s, end - s);
	return true;
}

static bool callgrind_add_event(struct callgrind_reader *r, const char *s, const char *end)
{
	if (r->events.n == CALLGRIND_MAX_TYPES)
		return false;
	uint32_t text = callgrind_name(&r->graph, s, end - s);
	for (size_t i = 0; i < r->events.n; i++)
		if (r->events.v[i] == text)
			return true;
	vec_push(&r->events, text);
	return true;
}

/* Retains "I1 cache: 32768 B, …", but not keys without a value. Each part of the file repeats
 * them. */
static bool callgrind_add_remark(struct callgrind_reader *r, const char *s, const char *end)
{
	s = callgrind_skip_blanks(s, end);
	while (end > s && callgrind_is_blank(end[-1]))
		end--;
	if (end == s || end[-1] == ':' || r->remarks.n == CALLGRIND_MAX_COMMENTS)
		return true;
	uint32_t text = callgrind_name(&r->graph, s, end - s);
	for (size_t i = 0; i < r->remarks.n; i++)
		if (r->remarks.v[i] == text)
			return true;
	vec_push(&r->remarks, text);
	return true;
}

/* --- lines --- */

/* Most frequent first. */
static const struct callgrind_key {
	const char *text; /* including its '=' or ':' */
	bool (*take)(struct callgrind_reader *r, const char *s, const char *end);
} callgrind_keys[] = {
	{ "calls=", callgrind_calls },
	{ "cfn=", callgrind_set_callee },
	{ "cfi=", callgrind_set_callee_file },
	{ "cfl=", callgrind_set_callee_file },
	{ "cob=", callgrind_set_callee_object },
	{ "fn=", callgrind_set_function },
	{ "fl=", callgrind_set_file },
	{ "fi=", callgrind_set_file },
	{ "fe=", callgrind_set_file },
	{ "ob=", callgrind_set_object },
	{ "jcnd=", callgrind_jump },
	{ "jump=", callgrind_jump },
	{ "jfi=", callgrind_jump_file },
	{ "jfn=", callgrind_jump_function },
	{ "ln=", callgrind_ignore }, /* in dumps by basic block */
	{ "rcalls=", callgrind_calls },
	{ "events:", callgrind_set_events },
	{ "event:", callgrind_add_event },
	{ "positions:", callgrind_set_positions },
	{ "thread:", callgrind_set_thread },
	{ "part:", callgrind_set_part },
	{ "pid:", callgrind_set_pid },
	{ "cmd:", callgrind_set_command },
	{ "creator:", callgrind_add_remark },
	{ "desc:", callgrind_add_remark },
	{ "version:", callgrind_ignore },
	{ "summary:", callgrind_ignore },
	{ "totals:", callgrind_ignore },
};

static const struct callgrind_key *callgrind_key_of(const char *s, size_t len)
{
	for (size_t i = 0; i < sizeof callgrind_keys / sizeof *callgrind_keys; i++) {
		const struct callgrind_key *key = &callgrind_keys[i];
		if (*key->text != *s)
			continue;
		size_t n = strlen(key->text);
		if (len >= n && memcmp(s, key->text, n) == 0)
			return key;
	}
	return NULL;
}

static bool callgrind_is_cost(char c)
{
	return (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '*';
}

static void callgrind_line(struct callgrind_reader *r, const char *s, size_t len, bool cut)
{
	const char *end = s + len;
	bool good = false;
	s = callgrind_skip_blanks(s, end);
	while (end > s && callgrind_is_blank(end[-1]))
		end--;
	if (s == end || *s == '#')
		return;
	const struct callgrind_key *key;
	if (!cut && callgrind_is_cost(*s))
		good = callgrind_cost_line(r, s, end);
	else if (!cut && (key = callgrind_key_of(s, end - s)))
		good = key->take(r, s + strlen(key->text), end);
	r->skipped += !good;
}

/* --- reading --- */

static void callgrind_give_meta(struct callgrind_reader *r)
{
	static const char estimated[] =
		"stacks estimated from a call graph (callgrind): self values are exact";
	struct sink *s = r->sink;
	struct profile_meta *meta = s->ops->meta(s);
	const struct callgrind_name *names = r->graph.names.v;
	if (r->graph.calls.n)
		vec_push(&meta->comments, sink_string(s, estimated));
	for (size_t i = 0; i < r->remarks.n; i++) {
		const struct callgrind_name *n = &names[r->remarks.v[i]];
		vec_push(&meta->comments, s->ops->string(s, n->text, n->len));
	}
	if (r->command)
		meta->command = s->ops->string(s, names[r->command].text, names[r->command].len);
}

static void callgrind_give(struct callgrind_reader *r)
{
	r->skipped += r->next == LINE_CALL;
	for (size_t i = 0; i < r->events.n; i++) {
		struct callgrind_name n = r->graph.names.v[r->events.v[i]];
		r->skipped += !callgrind_event_apply(&r->graph, n.text, n.len);
	}
	callgrind_event_units(&r->graph);
	callgrind_give_meta(r);
	callgrind_stacks_give(&r->graph, r->sink, r->pid);
	if (r->skipped)
		r->sink->ops->loss(r->sink, LOSS_INPUT_SKIPPED, r->skipped);
}

int callgrind_read(struct input *in, struct sink *sink, struct err *err)
{
	struct callgrind_reader r = { .sink = sink,
				      .numbers.n_positions = 1,
				      .thread = CALLGRIND_NO_THREAD,
				      .pid = SAMPLE_NO_ID };
	const char *line;
	size_t len;
	bool cut;
	int rc = 0;
	callgrind_graph_init(&r.graph);
	callgrind_new_part(&r);
	while (!r.graph.full && (rc = input_line(in, &line, &len, &cut, err)) > 0)
		callgrind_line(&r, line, len, cut);
	if (r.graph.full)
		rc = err_set(err, EBADMSG, "%s: too many %s", input_name(in), r.graph.full);
	else if (rc == 0 && r.columns.n == 0)
		rc = err_set(err, EBADMSG, "%s: no \"events:\" line of a callgrind file",
			     input_name(in));
	else if (rc == 0 && r.good == 0)
		rc = err_set(err, EBADMSG, "%s: a callgrind file without a line of costs",
			     input_name(in));
	if (rc == 0)
		callgrind_give(&r);
	callgrind_graph_done(&r.graph);
	vec_done(&r.columns);
	vec_done(&r.events);
	vec_done(&r.remarks);
	vec_done(&r.numbers.costs);
	map_done(&r.objects);
	map_done(&r.files);
	map_done(&r.functions);
	return rc;
}

/* Detects the signature line, or "events:" preceded only by header lines and followed by a valid
 * line. */
bool callgrind_detect(const char *head, size_t len)
{
	static const char sure[] = "# callgrind format";
	struct cur c = cur_of(head, len);
	const char *line;
	size_t line_len;
	bool has_events = false;
	if (len == 0 || memchr(head, '\0', len))
		return false;
	if (len >= sizeof sure - 1 && memcmp(head, sure, sizeof sure - 1) == 0)
		return true;
	while (cur_line(&c, &line, &line_len)) {
		if (line_len == 0 || *line == '#')
			continue;
		const struct callgrind_key *key = callgrind_key_of(line, line_len);
		bool is_header = key && str_ends(key->text, ":");
		if (has_events && (is_header || key || callgrind_is_cost(*line)))
			return true;
		if (has_events || !is_header)
			return false;
		has_events = key->take == callgrind_set_events;
	}
	return false;
}
