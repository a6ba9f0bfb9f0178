/* tests/unit/numbered_message.h: profile messages, each identified by its number, which is the value of all its samples. */
#ifndef CRESSET_TESTS_NUMBERED_MESSAGE_H
#define CRESSET_TESTS_NUMBERED_MESSAGE_H

#include "unit.h"

#include "base/buf.h"
#include "format/otlp/otlp.h"
#include "profile/profile.h"

#include <stdint.h>

#define NUMBERED_START_NS 1700000000000000000ll

/* The dictionary grows by a function with each number, and starts again at every hundredth. */
static inline struct buf numbered_message(uint64_t number, uint32_t samples, int64_t start_ns)
{
	struct profile *p = profile_new();
	struct sink *s = profile_sink(p);
	struct type type = { .name = sink_string(s, "cpu"),
			     .sample_type = sink_string(s, "samples"),
			     .unit = sink_string(s, "count") };
	struct series series = { .type = s->ops->type(s, &type) };
	uint32_t id = s->ops->series(s, &series), stacks[100 + 20], n = number % 100 + 20;
	struct otlp_encode_opts opts = { .whole_tables = true };
	struct buf b = { 0 };

	p->meta.start_wall_ns = start_ns;
	p->meta.start_mono_ns = 1;
	for (uint32_t i = 0; i < n; i++) {
		char name[64];

		snprintf(name, sizeof name, "function_%08x_of_%u",
			 (uint32_t)(number / 100 * 7919 + i) * 2654435761u, i);
		struct frame f = { .kind = FRAME_PYTHON,
				   .mapping = MAPPING_NONE,
				   .function = sink_string(s, name) };
		uint32_t frame = s->ops->frame(s, &f);
		stacks[i] = s->ops->stack(s, &frame, 1);
	}
	for (uint32_t i = 0; i < samples; i++) {
		struct sample sample = { .time_ns = 1 + 1000 * i,
					 .value = (int64_t)number,
					 .series = id,
					 .stack = stacks[(number + i) % n] };
		s->ops->sample(s, &sample);
	}
	ck_assert_int_eq(otlp_encode(p, &opts, &b, NULL), 0);
	profile_free(p);
	return b;
}

#endif
