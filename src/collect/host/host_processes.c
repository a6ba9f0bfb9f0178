/* Reads /proc/PID/stat of all processes, and selects the busiest. */
#include "collect/host/host_processes.h"

#include "base/buf.h"
#include "collect/host/host_points.h"
#include "format/otlp/otlp_metrics.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct host_metric cpu_time = { "process_cpu_time", "s", OTLP_COUNTER };
static const struct host_metric memory = { "process_memory_usage", "By", OTLP_GAUGE };

void host_processes_init(struct host_processes *h,
			 bool (*read)(void *ctx, uint32_t pid, struct host_process_facts *out),
			 void *ctx)
{
	*h = (struct host_processes){ .read = read, .ctx = ctx };
}

void host_processes_done(struct host_processes *h)
{
	vec_done(&h->now);
	vec_done(&h->before);
	vec_done(&h->names);
	map_done(&h->by_pid);
	map_done(&h->by_name);
}

/* --- /proc/PID/stat --------------------------------------------------------------------------- */

static uint64_t saturated(uint64_t v, uint64_t factor)
{
	return __builtin_mul_overflow(v, factor, &v) ? UINT64_MAX : v;
}

/* Starts after the name, which may contain anything; fields are numbered from 3 there. */
int host_process_parse(struct cur text, uint64_t ticks_per_s, uint64_t page_bytes,
		       struct host_process_facts *out)
{
	enum { STATE = 3, USER = 14, SYSTEM = 15, BEGAN = 22, RESIDENT = 24 };
	const uint64_t tick_ns = 1000000000 / ticks_per_s;
	const uint8_t *close = cur_left(&text) ? memrchr(text.p, ')', cur_left(&text)) : NULL;
	uint64_t v[RESIDENT + 1] = { 0 };
	struct cur word;

	if (!close)
		return -EBADMSG;
	text.p = close + 1;
	for (int i = STATE; i <= RESIDENT; i++)
		if (!host_word(&text, ' ', &word))
			return -EBADMSG;
		else
			host_number(&word, &v[i]); /* some fields are negative, none of ours */
	*out = (struct host_process_facts){
		.began_ns = saturated(v[BEGAN], tick_ns),
		.on_cpu_ns = saturated(v[USER] + v[SYSTEM], tick_ns),
		.resident_bytes = saturated(v[RESIDENT], page_bytes),
	};
	return 0;
}

/* --- samples ---------------------------------------------------------------------------------- */

struct name_search {
	const struct host_processes *h;
	const char *text;
};

static bool same_name(const void *ctx, uint32_t i)
{
	const struct name_search *s = ctx;

	return strcmp(s->h->names.v[i].text, s->text) == 0;
}

static uint32_t intern_name(struct host_processes *h, const char *text)
{
	struct host_name name = { 0 };

	strncpy(name.text, text, sizeof name.text - 1);
	struct name_search search = { h, name.text };
	uint64_t hash = hash_bytes(name.text, strlen(name.text));
	uint32_t fresh = h->names.n, i = map_intern(&h->by_name, hash, fresh, same_name, &search);
	if (i == fresh)
		vec_push(&h->names, name);
	return i;
}

void host_processes_sample(struct host_processes *h, uint32_t pid, const char *name,
			   uint64_t on_cpu_ns)
{
	uint32_t fresh = h->now.n, i = map_intern(&h->by_pid, pid, fresh, NULL, NULL);

	if (i == fresh)
		vec_push(&h->now,
			 (struct host_process){ .pid = pid, .name = intern_name(h, name) });
	h->now.v[i].sampled_ns += on_cpu_ns;
}

/* --- the end of an interval ------------------------------------------------------------------- */

static int most_sampled(const void *a, const void *b)
{
	const struct host_process *x = a, *y = b;

	return (x->sampled_ns < y->sampled_ns) - (x->sampled_ns > y->sampled_ns);
}

static const struct host_process *read_before(const struct host_processes *h,
					      const struct host_process *p)
{
	for (size_t i = 0; i < h->before.n; i++)
		if (h->before.v[i].pid == p->pid && h->before.v[i].began_ns == p->began_ns)
			return &h->before.v[i];
	return NULL;
}

static void read_process(struct host_processes *h, struct host_process *p)
{
	struct host_name *name = &h->names.v[p->name];
	struct host_process_facts facts;

	p->is_read = h->read(h->ctx, p->pid, &facts);
	if (!p->is_read)
		return;
	p->began_ns = facts.began_ns;
	p->on_cpu_ns = facts.on_cpu_ns;
	name->resident_bytes += (double)facts.resident_bytes;
	name->is_read = true;
}

static uint64_t grew_ns(const struct host_processes *h, const struct host_process *p,
			uint64_t start_boot_ns)
{
	const struct host_process *before = p->is_read ? read_before(h, p) : NULL;

	if (before && p->on_cpu_ns >= before->on_cpu_ns)
		return p->on_cpu_ns - before->on_cpu_ns;
	return p->is_read && p->began_ns >= start_boot_ns ? p->on_cpu_ns : p->sampled_ns;
}

static void add_up(struct host_processes *h, uint64_t start_boot_ns)
{
	qsort(h->now.v, h->now.n, sizeof *h->now.v, most_sampled);
	for (size_t i = 0; i < h->now.n; i++) {
		struct host_process *p = &h->now.v[i];
		if (i < HOST_READ_PROCESSES)
			read_process(h, p);
		h->names.v[p->name].grew_s += (double)grew_ns(h, p, start_boot_ns) / 1e9;
	}
}

static int most_grown(const void *a, const void *b)
{
	const struct host_name *x = *(struct host_name *const *)a;
	const struct host_name *y = *(struct host_name *const *)b;

	return (x->grew_s < y->grew_s) - (x->grew_s > y->grew_s);
}

static void put_name(struct host_name *n, int64_t start_ns, struct host_points *w)
{
	const struct label_text labels[HOST_MAX_LABELS] = { { "process", n->text } };
	const int64_t end_ns = w->time_ns;

	if (!n->was_given) {
		w->time_ns = start_ns;
		host_put(w, &cpu_time, labels, n->on_cpu_s);
		w->time_ns = end_ns;
	}
	host_put(w, &cpu_time, labels, n->on_cpu_s + n->grew_s);
	if (n->is_read)
		host_put(w, &memory, labels, n->resident_bytes);
}

static void put_busiest(struct host_processes *h, int64_t start_ns, struct host_points *w)
{
	VEC(struct host_name *) order = { 0 };

	for (size_t i = 0; i < h->names.n; i++)
		if (h->names.v[i].grew_s > 0)
			vec_push(&order, &h->names.v[i]);
	if (order.n)
		qsort(order.v, order.n, sizeof *order.v, most_grown);
	for (size_t i = 0; i < order.n && i < HOST_BUSIEST; i++)
		put_name(order.v[i], start_ns, w);
	for (size_t i = 0; i < h->names.n; i++)
		h->names.v[i].was_given = false;
	for (size_t i = 0; i < order.n && i < HOST_BUSIEST; i++)
		order.v[i]->was_given = true;
	vec_done(&order);
}

static void end_names(struct host_processes *h)
{
	size_t kept = 0;
	bool full = h->names.n > HOST_MAX_NAMES;

	for (size_t i = 0; i < h->names.n; i++) {
		struct host_name n = h->names.v[i];
		n.on_cpu_s += n.grew_s;
		n.grew_s = n.resident_bytes = 0;
		n.is_read = false;
		if (!full || n.was_given)
			h->names.v[kept++] = n;
	}
	h->names.n = kept;
	if (!full)
		return;
	map_clear(&h->by_name);
	for (uint32_t i = 0; i < kept; i++) {
		const char *text = h->names.v[i].text;
		map_intern(&h->by_name, hash_bytes(text, strlen(text)), i, same_name,
			   &(struct name_search){ h, text });
	}
}

void host_processes_put(struct host_processes *h, uint64_t start_boot_ns, int64_t start_ns,
			struct host_points *w)
{
	if (h->now.n)
		add_up(h, start_boot_ns);
	put_busiest(h, start_ns, w);
	vec_clear(&h->before);
	for (size_t i = 0; i < h->now.n && i < HOST_READ_PROCESSES; i++)
		if (h->now.v[i].is_read)
			vec_push(&h->before, h->now.v[i]);
	vec_clear(&h->now);
	map_clear(&h->by_pid);
	end_names(h);
}
