/* Builds the OTLP message of one interval, and parses numbers in files of /proc. */
#include "collect/host/host_points.h"

#include "base/vec.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "profile/sink.h"

#include <string.h>

void host_points_init(struct host_points *w, const char *host)
{
	*w = (struct host_points){ .p = profile_new(), .host = host };
}

void host_points_done(struct host_points *w)
{
	otlp_metrics_done(&w->m);
	profile_free(w->p);
	*w = (struct host_points){ 0 };
}

void host_put(struct host_points *w, const struct host_metric *metric,
	      const struct label_text labels[HOST_MAX_LABELS], double value)
{
	struct sink *s = profile_sink(w->p);
	struct label set[HOST_MAX_LABELS + 1 + HOST_MAX_FIXED];
	uint32_t n = 0;

	for (int i = 0; i < HOST_MAX_LABELS && labels[i].key; i++)
		set[n++] = (struct label){ .key = sink_string(s, labels[i].key),
					   .str = sink_string(s, labels[i].value) };
	if (w->host)
		set[n++] = (struct label){ .key = sink_string(s, "host"),
					   .str = sink_string(s, w->host) };
	for (size_t i = 0; i < w->n_fixed && i < HOST_MAX_FIXED; i++)
		set[n++] = (struct label){ .key = sink_string(s, w->fixed[i].key),
					   .str = sink_string(s, w->fixed[i].value) };
	const struct otlp_series series = { .name = sink_string(s, metric->name),
					    .unit = sink_string(s, metric->unit),
					    .labels = s->ops->labels(s, set, n),
					    .kind = metric->kind };
	const struct otlp_point point = { .series = otlp_series_intern(&w->m, &series),
					  .time_ns = w->time_ns,
					  .value = value };
	vec_push(&w->m.points, point);
}

/* --- text ------------------------------------------------------------------------------------- */

bool host_line(struct cur *c, struct cur *line)
{
	const uint8_t *end = c->p < c->end ? memchr(c->p, '\n', cur_left(c)) : NULL;

	if (!end)
		return false;
	*line = cur_of(c->p, end - c->p);
	c->p = end + 1;
	return true;
}

static void skip_blanks(struct cur *line)
{
	while (line->p < line->end && (*line->p == ' ' || *line->p == '\t'))
		line->p++;
}

bool host_word(struct cur *line, char end, struct cur *word)
{
	skip_blanks(line);
	const uint8_t *start = line->p;
	while (line->p < line->end && *line->p != ' ' && *line->p != '\t' && *line->p != end)
		line->p++;
	*word = cur_of(start, line->p - start);
	if (line->p < line->end && *line->p == end)
		line->p++;
	return cur_left(word) > 0;
}

bool host_number(struct cur *line, uint64_t *v)
{
	struct cur rest = *line, word;
	uint64_t n = 0;

	if (!host_word(&rest, ' ', &word))
		return false;
	for (; word.p < word.end; word.p++)
		if (*word.p < '0' || *word.p > '9' || __builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, *word.p - '0', &n))
			return false;
	*line = rest;
	*v = n;
	return true;
}

bool host_is(const struct cur *word, const char *text)
{
	return cur_left(word) == strlen(text) && memcmp(word->p, text, strlen(text)) == 0;
}

bool host_skip(struct cur *line, const char *text)
{
	size_t len = strlen(text);

	if (cur_left(line) < len || memcmp(line->p, text, len) != 0)
		return false;
	line->p += len;
	return true;
}

void host_copy(const struct cur *word, char *out, size_t size)
{
	size_t len = cur_left(word) < size ? cur_left(word) : size - 1;

	memcpy(out, word->p, len);
	out[len] = '\0';
}
