#include "cmd/sample_sums.h"

#include "profile/sum.h"

void sample_sums_add(struct sample_sums *s, const struct sample_columns *samples)
{
	for (size_t i = 0; i < samples->n; i++) {
		uint64_t key = (uint64_t)samples->series[i] << 32 | samples->stack[i];
		uint32_t at = map_intern(&s->index, key, s->all.n, NULL, NULL);

		if (at == s->all.n)
			vec_push(&s->all,
				 (struct sample_sum){ samples->series[i], samples->stack[i], 0 });
		s->all.v[at].value = sum_add(s->all.v[at].value, samples->value[i]);
	}
}

void sample_sums_put(const struct sample_sums *s, struct profile *p)
{
	struct sink *sink = profile_sink(p);

	for (size_t i = 0; i < s->all.n; i++) {
		const struct sample sample = { .value = s->all.v[i].value,
					       .series = s->all.v[i].series,
					       .stack = s->all.v[i].stack,
					       .pid = SAMPLE_NO_ID,
					       .tid = SAMPLE_NO_ID,
					       .cpu = SAMPLE_NO_ID };
		sink->ops->sample(sink, &sample);
	}
}

void sample_sums_done(struct sample_sums *s)
{
	map_done(&s->index);
	vec_done(&s->all);
}
