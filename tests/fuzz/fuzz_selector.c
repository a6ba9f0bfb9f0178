// tier: test
/* Any text as a selector, asked about a small profile; asked again, it takes the same. */
#include "query/selector.h"

#include "profile/profile.h"
#include "profile/series.h"
#include "profile/sink.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void add_sample(struct sink *s, uint32_t type, const char *comm, uint32_t pid)
{
	struct label label = { .key = sink_string(s, "comm"), .str = sink_string(s, comm) };
	struct series series = { .type = type, .labels = s->ops->labels(s, &label, *comm != 0) };
	struct sample sample = { .series = s->ops->series(s, &series), .pid = pid };
	s->ops->sample(s, &sample);
}

static struct profile *example(void)
{
	struct profile *p = profile_new();
	struct sink *s = profile_sink(p);
	struct type type = { .name = sink_string(s, "cpu"),
			     .sample_type = sink_string(s, "samples"),
			     .unit = sink_string(s, "count"),
			     .period_type = sink_string(s, "cpu"),
			     .period_unit = sink_string(s, "nanoseconds") };
	uint32_t cpu = s->ops->type(s, &type);
	add_sample(s, cpu, "redis-server", 1);
	add_sample(s, cpu, "", SAMPLE_NO_ID);
	return p;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);
	struct selector *s;
	if (selector_parse(text, &s, NULL) == 0) {
		struct profile *p = example();
		size_t n = selector_apply(s, p);
		if (n > 2 || n != p->samples.n || selector_apply(s, p) != n)
			abort();
		profile_free(p);
		selector_free(s);
	}
	free(text);
	return 0;
}
