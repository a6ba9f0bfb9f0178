/* The status line of record on a terminal. */
#include "cmd/record/record_state.h"

#include "base/buf.h"
#include "base/log.h"
#include "base/str.h"
#include "cmd/cli/term.h"
#include "collect/collect.h"

#include <unistd.h>

#define TERMINAL_EVERY_NS  250000000ull
#define ELSEWHERE_EVERY_NS 10000000000ull

static uint64_t progress_interval_ns(const struct progress *p)
{
	return p->live ? TERMINAL_EVERY_NS : ELSEWHERE_EVERY_NS;
}

void progress_init(struct progress *p, const struct term *term, bool off, uint64_t now_mono_ns,
		   uint64_t duration_ns, uint64_t cpu_ns)
{
	const char *name = getenv("TERM");
	*p = (struct progress){
		.term = term,
		.off = off || log_level() == LOG_QUIET,
		.live = term->width_err > 0 && (!name || strcmp(name, "dumb") != 0),
		.start_mono_ns = now_mono_ns,
		.duration_ns = duration_ns,
		.last_mono_ns = now_mono_ns,
		.last_cpu_ns = cpu_ns,
	};
	p->next_mono_ns = now_mono_ns + progress_interval_ns(p);
}

bool progress_due(const struct progress *p, uint64_t now_mono_ns)
{
	return !p->off && now_mono_ns >= p->next_mono_ns;
}

/* mm:ss, or h:mm:ss from an hour on */
static void add_clock(struct buf *b, uint64_t ns)
{
	unsigned long long s = ns / 1000000000;
	if (s >= 3600)
		buf_addf(b, "%llu:%02llu:%02llu", s / 3600, s / 60 % 60, s % 60);
	else
		buf_addf(b, "%02llu:%02llu", s / 60, s % 60);
}

static double percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

/* "00:12/00:30 · 2,143 samples · 0 lost · 0.2 % truncated · self 0.6 % of a CPU": appended to b. */
static void progress_line(struct buf *b, const char *dot, uint64_t elapsed_ns, uint64_t duration_ns,
			  const struct collect_stats *s, double own_percent)
{
	add_clock(b, elapsed_ns);
	if (duration_ns) {
		buf_addc(b, '/');
		add_clock(b, duration_ns);
	}
	buf_adds(b, dot);
	fmt_count(b, s->samples);
	buf_addf(b, " samples%s", dot);
	fmt_count(b, s->lost);
	buf_addf(b, " lost%s%.1f %% truncated%sself %.1f %% of a CPU", dot,
		 percent(s->truncated, s->samples), dot, own_percent);
}

/* The text is our own (ASCII and the dot), so each byte that is no UTF-8 continuation is a
 * column. */
static void cut_to_width(struct buf *b, size_t from, int width)
{
	int columns = 0;
	for (size_t i = from; i < b->len; i++) {
		columns += (b->data[i] & 0xc0) != 0x80;
		if (columns == width) {
			b->len = i;
			return;
		}
	}
}

static void write_stderr(struct buf *b)
{
	if (write(STDERR_FILENO, b->data, b->len) < 0)
		b->len = 0; /* no one can be notified */
	buf_done(b);
}

void progress_show(struct progress *p, uint64_t now_mono_ns, uint64_t cpu_ns,
		   const struct collect_stats *s)
{
	struct buf b = { 0 };
	double own = percent(cpu_ns - p->last_cpu_ns, now_mono_ns - p->last_mono_ns);
	progress_line(&b, p->term->dot, now_mono_ns - p->start_mono_ns, p->duration_ns, s, own);
	if (p->live) {
		struct buf line = { 0 };
		buf_adds(&line, "\r ");
		buf_adds(&line, buf_cstr(&b));
		cut_to_width(&line, 1, p->term->width_err);
		buf_adds(&line, "\033[K");
		write_stderr(&line);
	} else {
		log_info("%s", buf_cstr(&b));
	}
	buf_done(&b);
	p->last_mono_ns = now_mono_ns;
	p->last_cpu_ns = cpu_ns;
	p->next_mono_ns = now_mono_ns + progress_interval_ns(p);
}

void progress_say(struct progress *p, const char *text)
{
	struct buf b = { 0 };
	if (p->off || !p->live)
		return;
	buf_addf(&b, "\r %s\033[K", text);
	write_stderr(&b);
}

void progress_clear(struct progress *p)
{
	progress_say(p, "");
}
