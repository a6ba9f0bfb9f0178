#include "batches.h"

#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "format/otlp/otlp.h"
#include "profile/profile.h"

#include <stdio.h>
#include <string.h>

enum { FILES = 40, PLACES = 12000, PLACES_PER_FUNCTION = 2, PROCESSES = 20 };

static uint64_t dice(uint64_t a, uint64_t b, uint64_t sides)
{
	return hash_mix(a, b) % sides;
}

static uint32_t put_file(struct sink *s, uint32_t world, uint32_t file)
{
	char name[64];
	snprintf(name, sizeof name, "/usr/lib/x86_64-linux-gnu/libservice-%02u.so.1", file);
	struct mapping m = { .name = sink_string(s, name), .build_id_len = 20 };
	memset(m.build_id, 1 + file, 20);
	memcpy(m.build_id, &world, sizeof world);
	return s->ops->mapping(s, &m);
}

static uint32_t put_place(struct sink *s, uint32_t world, uint32_t place)
{
	uint32_t function = place / PLACES_PER_FUNCTION;
	char text[128];
	struct frame f = { .kind = FRAME_NATIVE,
			   .mapping = put_file(s, world, place % FILES),
			   .offset = 0x1000 + place * 16 };
	snprintf(text, sizeof text, "service::module_%u::Handler<request_%u>::process_message",
		 function % 97, world * PLACES + function);
	struct function fn = { .name = sink_string(s, text) };
	snprintf(text, sizeof text, "src/module_%u/request_%u.cc", function % 97, function);
	fn.file = sink_string(s, text);
	struct line line = { s->ops->function(s, &fn), 1 + place % 997, 0 };
	uint32_t id = s->ops->frame(s, &f);
	s->ops->names(s, id, &line, 1);
	return id;
}

static void put_stacks(struct sink *s, uint32_t world, uint32_t *ids)
{
	uint32_t *places = xcalloc(PLACES, sizeof *places), frames[BATCH_DEPTH];
	for (uint32_t i = 0; i < PLACES; i++)
		places[i] = put_place(s, world, i);
	for (uint32_t i = 0; i < BATCH_STACKS; i++) {
		uint32_t own = 1 + dice(i, 1, BATCH_DEPTH / 2);
		for (uint32_t k = 0; k < BATCH_DEPTH; k++)
			frames[k] = places[dice(k + own < BATCH_DEPTH ? i / 50 : 1000 + i, 100 + k,
						PLACES)];
		ids[i] = s->ops->stack(s, frames, BATCH_DEPTH);
	}
	free(places);
}

static uint32_t put_series(struct sink *s, uint32_t host, uint32_t process)
{
	char name[32], process_name[32];
	snprintf(name, sizeof name, "node-%03u", host);
	snprintf(process_name, sizeof process_name, "service-%02u", process);
	struct type cpu = { .name = sink_string(s, "cpu"),
			    .sample_type = sink_string(s, "samples"),
			    .unit = sink_string(s, "count") };
	struct label labels[] = {
		{ .key = sink_string(s, "host"), .str = sink_string(s, name) },
		{ .key = sink_string(s, "process"), .str = sink_string(s, process_name) },
	};
	struct series series = { .type = s->ops->type(s, &cpu),
				 .labels = s->ops->labels(s, labels, 2) };
	return s->ops->series(s, &series);
}

void batch_encode(const struct batch_opts *o, struct buf *out)
{
	struct profile *p = profile_new();
	struct sink *s = profile_sink(p);
	uint32_t stacks[BATCH_STACKS];
	struct err err = { 0 };
	put_stacks(s, o->world, stacks);
	p->meta.start_wall_ns = o->time_ns;
	p->meta.duration_ns = 10000000000;
	for (uint32_t i = 0; i < BATCH_SAMPLES; i++) {
		uint32_t stack = i < BATCH_STACKS ? i : dice(o->second, i, BATCH_STACKS);
		uint32_t process = dice(stack, 7, PROCESSES);
		struct sample sample = {
			.time_ns = dice(i, o->second, 10000000) * 1000,
			.value = 1,
			.series = put_series(s, o->host, process),
			.stack = stacks[stack],
			.pid = 1000 + process,
			.tid = 1000 + process + dice(i, 3, 4),
			.cpu = dice(i, o->second + 1, 16),
		};
		s->ops->sample(s, &sample);
	}
	const struct otlp_encode_opts opts = { .whole_tables = true };
	if (otlp_encode(p, &opts, out, &err) < 0)
		bench_fail("%s", err.text);
	profile_free(p);
}
