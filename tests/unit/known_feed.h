/* tests/unit/known_feed.h: a feed of known samples, the terminal that shows it, and its content. */
#ifndef CRESSET_TESTS_KNOWN_FEED_H
#define CRESSET_TESTS_KNOWN_FEED_H

#include "unit.h"

#include "base/buf.h"
#include "base/err.h"
#include "profile/frame.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "query/source.h"
#include "tui/ui.h"

#define MS 1000000ll

/* --- a feed of known samples ------------------------------------------------------------------ */

struct known_feed {
	struct feed base;
	struct profile *p;
	struct source *source;
	bool held;
	int64_t span_ns;
};

static inline int known_take(struct feed *base, bool with_waits, struct feed_take *out,
			     struct err *err)
{
	struct known_feed *f = (struct known_feed *)base;
	(void)with_waits;
	(void)err;
	*out = (struct feed_take){
		.to_ns = f->span_ns, .own_cpu = -1, .bpf_cpu = -1, .rate_hz = 99
	};
	return 0;
}
static inline struct source *known_source(struct feed *base)
{
	return ((struct known_feed *)base)->source;
}
static inline void known_hold(struct feed *base, bool held)
{
	((struct known_feed *)base)->held = held;
}
static const struct feed_ops known_ops = { .take = known_take,
					   .source = known_source,
					   .hold = known_hold };

/* A stack of names, root first, separated by ; — names beginning with [ are markers, those with k: are kernel frames. */
static inline uint32_t put_stack(struct sink *s, const char *names)
{
	uint32_t frames[32], n = 0;
	while (*names && n < 32) {
		size_t len = strcspn(names, ";"), skip = strncmp(names, "k:", 2) == 0 ? 2 : 0;
		struct frame f = { .kind = skip            ? FRAME_KERNEL
					   : *names == '[' ? FRAME_MARKER
							   : FRAME_PYTHON,
				   .mapping = MAPPING_NONE,
				   .function = s->ops->string(s, names + skip, len - skip) };
		frames[n++] = s->ops->frame(s, &f);
		names += len + (names[len] == ';');
	}
	return s->ops->stack(s, frames, n);
}

struct known_sample {
	const char *type, *comm, *stack;
	uint32_t pid, tid, cpu;
	int64_t at_ms, ms; /* ms: length of a wait, or number of samples of 10 ms */
};

static inline void put_sample(struct sink *s, const struct known_sample *k)
{
	bool is_cpu = strcmp(k->type, "cpu") == 0;
	struct type t = { .name = sink_string(s, k->type),
			  .sample_type = sink_string(s, is_cpu ? "samples" : k->type),
			  .unit = sink_string(s, is_cpu ? "count" : "nanoseconds"),
			  .period_type = is_cpu ? sink_string(s, "cpu") : 0,
			  .period_unit = is_cpu ? sink_string(s, "nanoseconds") : 0 };
	struct label labels[] = {
		{ .key = sink_string(s, "comm"), .str = sink_string(s, k->comm) },
		{ .key = sink_string(s, "process"), .str = sink_string(s, k->comm) },
	};
	struct series series = { .type = s->ops->type(s, &t),
				 .period = is_cpu ? 10 * MS : 0,
				 .labels = s->ops->labels(s, labels, 2) };
	struct sample sample = { .time_ns = 1 + k->at_ms * MS,
				 .length_ns = is_cpu ? 0 : k->ms * MS,
				 .value = is_cpu ? k->ms : k->ms * MS,
				 .series = s->ops->series(s, &series),
				 .stack = put_stack(s, k->stack),
				 .pid = k->pid,
				 .tid = k->tid,
				 .cpu = k->cpu };
	s->ops->sample(s, &sample);
}

static const struct known_sample samples[] = {
	{ "cpu", "web", "main;serve;parse", 10, 10, 0, 100, 50 },
	{ "cpu", "web", "main;serve;send;k:tcp_sendmsg", 10, 11, 1, 1200, 30 },
	{ "cpu", "db", "main;query", 20, 20, 1, 1500, 20 },
	{ "off-cpu", "web", "main;serve;[blocked: futex/lock];[woken by: db (20)]", 10, 10, 0, 200,
	  400 },
	{ "off-cpu", "db", "main;[blocked: disk I/O]", 20, 20, 0, 300, 100 },
};

static inline void known_open(struct known_feed *f, const struct known_sample *all, size_t n)
{
	*f = (struct known_feed){ .base = {
					  .ops = &known_ops, .what = "a test", .goes_on = true } };
	f->p = profile_new();
	f->span_ns = 2000 * MS;
	for (size_t i = 0; i < n; i++)
		put_sample(profile_sink(f->p), &all[i]);
	f->p->meta.duration_ns = f->span_ns;
	f->source = source_of_profile(f->p);
}
static inline void known_close(struct known_feed *f)
{
	source_close(f->source);
	profile_free(f->p);
}

static inline void open_ui(struct ui *ui, struct known_feed *f, int rows, int cols)
{
	struct err err = { 0 };
	known_open(f, samples, sizeof samples / sizeof *samples);
	ui_init(ui, &f->base, false, false);
	ui_resize(ui, rows, cols);
	ck_assert_int_eq(ui_take(ui, &err), 0);
	ui_draw(ui);
}
static inline void close_ui(struct ui *ui, struct known_feed *f)
{
	ui_done(ui);
	known_close(f);
}

/* Presses keys, one per character, and draws. */
static inline void press(struct ui *ui, const char *keys)
{
	for (; *keys; keys++) {
		struct ui_input in = { .key = *keys == '\n'   ? UI_ENTER
					      : *keys == 27   ? UI_ESC
					      : *keys == '\v' ? UI_DOWN
					      : *keys == '\b' ? UI_BACKSPACE
							      : UI_CHAR,
				       .c = (unsigned char)*keys };
		ui_input(ui, &in);
	}
	ui_draw(ui);
}

static inline char *row(const struct ui *ui, int y)
{
	struct buf b = { 0 };
	grid_row_text(&ui->grid, y, &b);
	buf_cstr(&b);
	return buf_steal(&b);
}
#define ROW_IS(ui, y, text) \
	do { \
		char *row_ = row(ui, y); \
		ck_assert_str_eq(row_, text); \
		free(row_); \
	} while (0)
#define ROW_HAS(ui, y, text) \
	do { \
		char *row_ = row(ui, y); \
		ck_assert_msg(strstr(row_, text), "'%s' is not in '%s'", text, row_); \
		free(row_); \
	} while (0)

#endif
