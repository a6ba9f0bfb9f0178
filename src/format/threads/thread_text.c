/* The text files: times, states and waits of a thread. */
#include "base/buf.h"
#include "base/escape.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/utf8.h"
#include "format/common/value.h"
#include "format/threads/thread_account.h"
#include "profile/names.h"
#include "profile/profile.h"
#include "profile/sink.h"
#include "profile/stack.h"
#include "profile/state.h"
#include "profile/sum.h"

#include <string.h>

enum { NAME_MAX_BYTES = 64, FRAME_MAX_BYTES = 200, WAIT_FRAMES_SHOWN = 32, LABEL_COLUMNS = 28 };

/* --- words ----------------------------------------------------------------------------------- */

const char *thread_role(const struct profile *p, const struct thread_account *t)
{
	if (t->tid == t->pid && t->tid != SAMPLE_NO_ID)
		return "main";
	return t->name ? profile_str(p, t->name) : "thread";
}

/* Verdicts on a share of the recording, each below this many percent. A thread is never far above
 * 100; a process exceeds it by running several. */
enum { SEVERAL_FROM_PERCENT = 101 };
static const struct {
	double below_percent;
	const char *alive, *busy;
} verdicts[] = {
	{ 50, "mostly dead", "mostly idle" },
	{ SEVERAL_FROM_PERCENT, "normal", "normal" },
};

/* Appends "(normal)" or "(3.2 threads in parallel)". */
static void add_verdict(struct buf *b, double percent, bool is_busy)
{
	for (size_t i = 0; i < sizeof verdicts / sizeof *verdicts; i++) {
		if (percent >= verdicts[i].below_percent)
			continue;
		buf_addf(b, "(%s)", is_busy ? verdicts[i].busy : verdicts[i].alive);
		return;
	}
	buf_addf(b, "(%.1f threads in parallel)", percent / 100);
}

static double share(int64_t part_ns, int64_t whole_ns)
{
	return value_percent(part_ns, whole_ns);
}

/* Appends "It was alive for 100.0 % of the recording (normal) and busy for 3.0 % (mostly idle)." */
static void add_sentence(struct buf *b, const struct thread_accounts *a,
			 const struct thread_account *t, const char *who)
{
	double alive = share(t->life_ns, a->recording_ns);
	double busy = share(t->ns[STATE_ON_CPU], a->recording_ns);
	buf_addf(b, "%s was alive for %s%.1f %% of the recording ", who,
		 t->is_exact ? "" : "at least ", alive);
	if (t->is_exact || alive >= verdicts[0].below_percent)
		add_verdict(b, alive, false);
	else
		buf_adds(b, "(it may have been for longer)");
	if (a->is_known[STATE_ON_CPU]) {
		buf_addf(b, " and busy for %.1f %% ", busy);
		add_verdict(b, busy, true);
		buf_adds(b, ".\n");
	} else {
		buf_adds(b, "; how busy it was is not known, as no CPU time was recorded.\n");
	}
}

static void add_text(struct buf *b, const struct profile *p, uint32_t string, size_t max)
{
	esc_term(b, profile_str(p, string), strlen(profile_str(p, string)), max);
}

static void add_id(struct buf *b, uint32_t id)
{
	if (id == SAMPLE_NO_ID)
		buf_adds(b, "unknown");
	else
		buf_addf(b, "%u", id);
}

/* --- one thread ------------------------------------------------------------------------------ */

static void pad_to(struct buf *b, size_t from, int columns)
{
	int have = utf8_width(buf_cstr(b) + from);
	for (; have < columns; have++)
		buf_addc(b, ' ');
}

static void add_time(struct buf *b, int64_t ns, int columns)
{
	struct buf text = { 0 };
	value_fmt(&text, ns, "nanoseconds");
	int have = utf8_width(buf_cstr(&text));
	for (; have < columns; have++)
		buf_addc(b, ' ');
	buf_add(b, text.data, text.len);
	buf_done(&text);
}

/* Appends "  disk I/O                2.50 s   25.0 %"; the whole may be unknown. */
static void add_line(struct buf *b, const char *indent, const char *label, int64_t ns,
		     int64_t whole_ns)
{
	size_t from = b->len;
	buf_adds(b, indent);
	esc_term(b, label, strlen(label), NAME_MAX_BYTES);
	pad_to(b, from, LABEL_COLUMNS);
	add_time(b, ns, 12);
	if (whole_ns > 0)
		buf_addf(b, "  %6.1f %%", share(ns, whole_ns));
	buf_addc(b, '\n');
}

static void add_state(struct buf *b, const struct thread_accounts *a,
		      const struct thread_account *t, enum thread_state state, const char *label)
{
	size_t from = b->len;
	if (a->is_known[state]) {
		add_line(b, "", label, t->ns[state], t->life_ns);
		return;
	}
	buf_adds(b, label);
	pad_to(b, from, LABEL_COLUMNS);
	buf_adds(b, "   not recorded\n");
}

static bool all_is_known(const struct thread_accounts *a)
{
	return a->is_known[STATE_ON_CPU] && a->is_known[STATE_OFF_CPU] &&
	       a->is_known[STATE_SCHED_WAIT];
}

/* Appends shares with explanations: "coverage  99.9 % of its life is accounted for". */
static void add_shares(struct buf *b, const struct thread_accounts *a,
		       const struct thread_account *t)
{
	const char *about = t->is_exact ? "" : "about ";
	buf_addf(b, "alive     %s%.1f %% of the recording\n", t->is_exact ? "" : "at least ",
		 share(t->life_ns, a->recording_ns));
	if (a->is_known[STATE_ON_CPU])
		buf_addf(b, "busy      %s%.1f %% of the recording\n", about,
			 share(t->ns[STATE_ON_CPU], a->recording_ns));
	else
		buf_adds(b, "busy      not known\n");
	buf_addf(b, "coverage  %s%.1f %% of its life is accounted for%s\n", about,
		 share(thread_account_total(t), t->life_ns),
		 all_is_known(a) ? "" : "; the rest was not recorded");
}

static void add_account(struct buf *b, const struct profile *p, const struct thread_accounts *a,
			const struct thread_account *t)
{
	buf_addc(b, '\n');
	add_line(b, "", "recording", a->recording_ns, 0);
	add_line(b, "", t->is_exact ? "life" : "life (estimate: samples)", t->life_ns, 0);
	add_state(b, a, t, STATE_ON_CPU, "on-CPU");
	add_state(b, a, t, STATE_OFF_CPU, "off-CPU");
	for (size_t i = 0; i < t->reasons.n; i++) {
		const struct thread_reason *r = &t->reasons.v[i];
		add_line(b, "  ", r->name ? profile_str(p, r->name) : "without a stack", r->ns,
			 t->life_ns);
	}
	add_state(b, a, t, STATE_SCHED_WAIT, "sched-wait");
	if (a->is_known[STATE_GPU_WAIT])
		add_state(b, a, t, STATE_GPU_WAIT, "GPU-wait");
	if (t->stopped_ns)
		add_line(b, "", "stopped", t->stopped_ns, t->life_ns);
	add_line(b, "", "total", thread_account_total(t), t->life_ns);
	buf_addc(b, '\n');
	add_shares(b, a, t);
}

/* Appends a stack, root first; long stacks are truncated to the frames at the leaf. */
static void add_stack(struct buf *b, struct profile *p, uint32_t stack)
{
	uint32_t depth = stack_depth(&p->stacks, stack);
	uint32_t *frames = xcalloc(depth + 1, sizeof *frames);
	uint32_t from = depth > WAIT_FRAMES_SHOWN ? depth - WAIT_FRAMES_SHOWN : 0;
	stack_frames(&p->stacks, stack, frames);
	if (from)
		buf_addf(b, "       (%u frames)\n", from);
	for (uint32_t i = from; i < depth; i++) {
		struct shown_line lines[NAMES_MAX_INLINE];
		uint32_t n = profile_frame_lines(p, frames[i], lines, NAMES_MAX_INLINE);
		while (n--) {
			buf_adds(b, "       ");
			add_text(b, p, lines[n].name, FRAME_MAX_BYTES);
			buf_addc(b, '\n');
		}
	}
	free(frames);
}

static void add_waits(struct buf *b, struct profile *p, const struct thread_account *t)
{
	if (t->n_waits)
		buf_adds(b, "\nheaviest waits\n");
	for (uint32_t i = 0; i < t->n_waits; i++) {
		const struct thread_wait *w = &t->waits[i];
		buf_addf(b, "  %u. ", i + 1);
		value_fmt(b, w->ns, "nanoseconds");
		buf_adds(b, " in ");
		fmt_count(b, w->n);
		buf_addf(b, " wait%s\n", w->n == 1 ? "" : "s");
		add_stack(b, p, w->stack);
	}
}

static void add_who(struct buf *b, const struct profile *p, const struct thread_account *t)
{
	buf_adds(b, "thread ");
	add_id(b, t->tid);
	buf_adds(b, " (");
	esc_term(b, thread_role(p, t), strlen(thread_role(p, t)), NAME_MAX_BYTES);
	buf_adds(b, ") of process ");
	add_id(b, t->pid);
	if (t->name && t->tid == t->pid) {
		buf_adds(b, ", called ");
		add_text(b, p, t->name, NAME_MAX_BYTES);
	}
	buf_addc(b, '\n');
}

void thread_text(struct profile *p, const struct thread_accounts *a, const struct thread_account *t,
		 struct buf *b)
{
	add_who(b, p, t);
	add_account(b, p, a, t);
	add_waits(b, p, t);
	buf_addc(b, '\n');
	add_sentence(b, a, t, "The thread");
}

/* --- all threads ----------------------------------------------------------------------------- */

static void add_known_time(struct buf *b, const struct thread_accounts *a,
			   const struct thread_account *t, enum thread_state state)
{
	if (a->is_known[state])
		add_time(b, t->ns[state], 11);
	else
		buf_adds(b, "          -");
}

/* Appends "    101  60.0 %  …  worker". */
static void add_row(struct buf *b, const struct thread_accounts *a, const struct thread_account *t,
		    const char *id, const char *role)
{
	buf_addf(b, "%10s  %c", id, t->is_exact ? ' ' : '~');
	buf_addf(b, "%6.1f %%", share(t->life_ns, a->recording_ns));
	if (a->is_known[STATE_ON_CPU])
		buf_addf(b, "  %6.1f %%", share(t->ns[STATE_ON_CPU], a->recording_ns));
	else
		buf_adds(b, "         -");
	buf_addf(b, "  %6.1f %%", share(thread_account_total(t), t->life_ns));
	for (int s = STATE_ON_CPU; s <= STATE_SCHED_WAIT; s++)
		add_known_time(b, a, t, s);
	if (a->is_known[STATE_GPU_WAIT])
		add_known_time(b, a, t, STATE_GPU_WAIT);
	add_time(b, thread_account_total(t), 11);
	buf_adds(b, *role ? "  " : "");
	esc_term(b, role, strlen(role), NAME_MAX_BYTES);
	buf_addc(b, '\n');
}

static void add_table(struct buf *b, const struct profile *p, const struct thread_accounts *a,
		      size_t first, size_t n, const bool *shown)
{
	struct thread_account rest = { .is_exact = true };
	size_t left_out = 0;
	buf_addf(b, "\n%10s   %8s  %8s  %8s%11s%11s%11s%s%11s  role\n", "thread", "alive", "busy",
		 "coverage", "on-CPU", "off-CPU", "sched-wait",
		 a->is_known[STATE_GPU_WAIT] ? "   GPU-wait" : "", "total");
	for (size_t i = first; i < first + n; i++) {
		const struct thread_account *t = &a->all.v[i];
		char id[16] = "unknown";
		if (t->tid != SAMPLE_NO_ID)
			snprintf(id, sizeof id, "%u", t->tid);
		if (!shown || shown[i]) {
			add_row(b, a, t, id, thread_role(p, t));
			continue;
		}
		left_out++;
		rest.is_exact &= t->is_exact;
		rest.life_ns = sum_add(rest.life_ns, t->life_ns);
		for (int s = 0; s < THREAD_STATES; s++)
			rest.ns[s] = sum_add(rest.ns[s], t->ns[s]);
		rest.stopped_ns = sum_add(rest.stopped_ns, t->stopped_ns);
	}
	struct buf role = { 0 };
	fmt_count(&role, left_out);
	buf_adds(&role, " more threads, together");
	if (left_out)
		add_row(b, a, &rest, "", buf_cstr(&role));
	buf_done(&role);
}

static void add_process(struct buf *b, const struct profile *p, const struct thread_accounts *a,
			size_t first, size_t n, const struct thread_account *sum, const bool *shown)
{
	const struct thread_account *main = &a->all.v[first];
	buf_adds(b, "\nprocess ");
	add_id(b, sum->pid);
	if (main->name && main->tid == main->pid) {
		buf_adds(b, " (");
		add_text(b, p, main->name, NAME_MAX_BYTES);
		buf_addc(b, ')');
	}
	buf_adds(b, ": ");
	fmt_count(b, n);
	buf_addf(b, " thread%s\n", n == 1 ? "" : "s");
	add_table(b, p, a, first, n, shown);
	if (n > 1)
		add_row(b, a, sum, "all", "");
	buf_addc(b, '\n');
	add_sentence(b, a, sum, "The process as a whole");
}

static void add_heading(struct buf *b, const struct thread_accounts *a)
{
	size_t exact = 0;
	for (size_t i = 0; i < a->all.n; i++)
		exact += a->all.v[i].is_exact;
	fmt_count(b, a->all.n);
	buf_addf(b, " thread%s, ", a->all.n == 1 ? "" : "s");
	value_fmt(b, a->recording_ns, "nanoseconds");
	buf_adds(b, " recorded. alive = life / recording, busy = on-CPU / recording, "
		    "coverage = total / life.\n");
	if (exact == a->all.n)
		buf_adds(b, "Times were measured at every switch of the scheduler.\n");
	else
		buf_addf(b,
			 "%s estimated from samples%s: a life is at least from the first of "
			 "them to the last.\n",
			 exact ? "Times marked ~ are" : "Times are", exact ? "" : " (~)");
}

void thread_text_summary(struct profile *p, const struct thread_accounts *a, const bool *shown,
			 struct buf *b)
{
	struct thread_account sum;
	add_heading(b, a);
	for (size_t i = 0, n; i < a->all.n; i += n) {
		n = thread_accounts_sum(a, i, &sum);
		add_process(b, p, a, i, n, &sum, shown);
	}
	for (size_t i = 0; i < a->all.n; i++) {
		if (shown && !shown[i])
			continue;
		buf_adds(b, "\n----------------------------------------\n");
		thread_text(p, a, &a->all.v[i], b);
	}
}
