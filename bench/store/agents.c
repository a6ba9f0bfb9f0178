#include "agents.h"

#include "engine.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "store/codec/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	FILES = 40,
	PLACES = 6000,
	PLACES_PER_FUNCTION = 2,
	STACKS = 20000,
	DEPTH = 30,
	LEAVES = 8,   /* frames that a stack has for itself, about */
	SHARED = 100, /* stacks that begin alike */
};
#define SECOND_NS 1000000000ll

static uint64_t dice(uint64_t a, uint64_t b, uint64_t sides)
{
	return hash_mix(a, b) % sides;
}

/* A profile being made, and what it has of the agent's places so far, id + 1. */
struct message {
	struct profile *p;
	uint32_t files[FILES], places[PLACES], stacks[STACKS];
};

static uint32_t put_file(struct message *m, uint32_t file)
{
	struct sink *s = profile_sink(m->p);
	char name[64];
	if (m->files[file])
		return m->files[file] - 1;
	snprintf(name, sizeof name, "/usr/lib/x86_64-linux-gnu/libservice-%02u.so.1", file);
	struct mapping mapping = { .name = sink_string(s, name), .build_id_len = 20 };
	memset(mapping.build_id, 1 + file, 20);
	uint32_t id = s->ops->mapping(s, &mapping);
	m->files[file] = id + 1;
	return id;
}

static uint32_t put_function(struct message *m, uint32_t function)
{
	struct sink *s = profile_sink(m->p);
	char text[96];
	snprintf(text, sizeof text, "service::module_%u::handle_request_%u", function % 97,
		 function);
	struct function f = { .name = sink_string(s, text) };
	snprintf(text, sizeof text, "src/module_%u/request.cc", function % 97);
	f.file = sink_string(s, text);
	return s->ops->function(s, &f);
}

static uint32_t put_place(struct message *m, uint32_t place)
{
	struct sink *s = profile_sink(m->p);
	if (m->places[place])
		return m->places[place] - 1;
	struct frame f = { .kind = FRAME_NATIVE,
			   .mapping = put_file(m, place % FILES),
			   .offset = 0x1000 + place * 16 };
	struct line line = { put_function(m, place / PLACES_PER_FUNCTION), 1 + place % 997, 0 };
	uint32_t id = s->ops->frame(s, &f);
	s->ops->names(s, id, &line, 1);
	m->places[place] = id + 1;
	return id;
}

static uint32_t put_stack(struct message *m, uint32_t stack)
{
	struct sink *s = profile_sink(m->p);
	uint32_t frames[DEPTH], own = dice(stack, 1, 2 * LEAVES);
	if (m->stacks[stack])
		return m->stacks[stack] - 1;
	for (uint32_t i = 0; i < DEPTH; i++) {
		uint32_t of = i + own < DEPTH ? stack / SHARED : SHARED + stack;
		frames[i] = put_place(m, dice(of, 100 + i, PLACES));
	}
	uint32_t id = s->ops->stack(s, frames, DEPTH);
	m->stacks[stack] = id + 1;
	return id;
}

static uint32_t put_series(struct message *m, uint32_t agent, uint32_t process)
{
	struct sink *s = profile_sink(m->p);
	char host[32], name[32];
	snprintf(host, sizeof host, "node-%02u", agent);
	snprintf(name, sizeof name, "service-%02u", process);
	struct type cpu = { .name = sink_string(s, "cpu"),
			    .sample_type = sink_string(s, "samples"),
			    .unit = sink_string(s, "count") };
	struct label labels[] = {
		{ .key = sink_string(s, "host"), .str = sink_string(s, host) },
		{ .key = sink_string(s, "process"), .str = sink_string(s, name) },
	};
	struct series series = { .type = s->ops->type(s, &cpu),
				 .labels = s->ops->labels(s, labels, 2) };
	return s->ops->series(s, &series);
}

static int64_t message_time_ns(uint32_t number)
{
	return MODEL_START_NS + number / AGENTS * AGENT_MESSAGE_S * SECOND_NS;
}

/* Few stacks are popular: u². A stack's process is always the same one. */
static void add_samples(struct message *m, uint32_t number)
{
	struct profile *p = m->p;
	for (uint32_t i = 0; i < AGENT_SAMPLES; i++) {
		double u = dice(number, i, 1 << 20) / (double)(1 << 20);
		uint32_t stack = u * u * STACKS;
		struct sample sample = {
			.time_ns = message_time_ns(number) + i * (SECOND_NS / 256),
			.value = 1,
			.series = put_series(m, number % AGENTS, stack / SHARED % FILES),
			.stack = put_stack(m, stack),
			.pid = SAMPLE_NO_ID,
			.tid = SAMPLE_NO_ID,
			.cpu = SAMPLE_NO_ID,
		};
		p->sink.ops->sample(&p->sink, &sample);
	}
}

struct profile *agent_message(uint32_t number)
{
	struct message *m = xcalloc(1, sizeof *m);
	struct profile *p = m->p = profile_new();
	add_samples(m, number);
	free(m);
	return p;
}

/* --- filling ---
 */

static void check(int rc, const struct err *err)
{
	if (rc < 0)
		bench_fail("%s", err->text);
}

static int64_t now_ns(void *ctx)
{
	return *(int64_t *)ctx;
}

/* Ten messages, one of each agent, ready to be sent. */
struct round {
	struct store_batch batches[AGENTS];
	uint8_t senders[AGENTS][STORE_SENDER_BYTES];
	/* Agents that keep their profiles. */
	struct message *kept[AGENTS]; /* NULL: they do not */
	struct store_dict *dicts[AGENTS];
};

static void keep_profiles(struct round *r, struct store *s)
{
	for (uint32_t i = 0; i < AGENTS; i++) {
		r->kept[i] = xcalloc(1, sizeof *r->kept[i]);
		r->kept[i]->p = profile_new();
		r->dicts[i] = store_dict_new(s);
	}
}

static void forget_profiles(struct round *r)
{
	for (uint32_t i = 0; i < AGENTS && r->kept[i]; i++) {
		store_dict_free(r->dicts[i]);
		profile_free(r->kept[i]->p);
		free(r->kept[i]);
	}
}

static struct profile *next_message(struct message *kept, uint32_t number)
{
	if (!kept)
		return agent_message(number);
	kept->p->samples.n = 0;
	add_samples(kept, number);
	return kept->p;
}

static void round_make(struct round *r, uint32_t number)
{
	for (uint32_t i = 0; i < AGENTS; i++) {
		memset(r->senders[i], 1 + i, STORE_SENDER_BYTES);
		r->batches[i] = (struct store_batch){
			.p = next_message(r->kept[i], number * AGENTS + i),
			.sender = r->senders[i],
			.sequence = 1 + number,
			.dict = r->dicts[i],
		};
	}
}

static void round_done(struct round *r)
{
	for (uint32_t i = 0; i < AGENTS && !r->kept[i]; i++)
		profile_free(r->batches[i].p);
}

static void round_send(struct round *r, struct store *s)
{
	bool duplicate[AGENTS];
	struct err err = { 0 };
	check(store_ingest(s, r->batches, AGENTS, duplicate, &err), &err);
	check(store_maintain(s, SECOND_NS / 10, &err), &err);
}

void agents_run(const char *dir, uint64_t memory_bytes, bool keep, uint32_t warm, uint32_t n)
{
	struct err err = { 0 };
	struct store *s;
	struct round r = { 0 };
	int64_t now = MODEL_START_NS;
	uint64_t clock_ns = 0, cpu_ns = 0;
	struct store_opts opts = { .memory_bytes = memory_bytes,
				   .disk_bytes = 100ull << 30,
				   .now_ns = now_ns,
				   .ctx = &now };
	check(store_open(dir, &opts, &s, &err), &err);
	if (keep)
		keep_profiles(&r, s);
	for (uint32_t i = 0; i < warm + n; i++) {
		round_make(&r, i);
		now = message_time_ns((i + 1) * AGENTS);
		uint64_t start_ns = clock_mono_ns(), start_cpu_ns = clock_cpu_ns();
		round_send(&r, s);
		clock_ns += i < warm ? 0 : clock_mono_ns() - start_ns;
		cpu_ns += i < warm ? 0 : clock_cpu_ns() - start_cpu_ns;
		round_done(&r);
	}
	forget_profiles(&r);
	check(store_close(s, &err), &err);
	printf("agents %u %.3f %.3f\n", n * AGENTS * AGENT_SAMPLES, clock_ns / 1e9, cpu_ns / 1e9);
}
