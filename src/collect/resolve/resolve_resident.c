/* Memory that processes have: which of their chosen pages are in memory, and who touched them. */
#include "collect/resolve/resolver.h"

#include "base/clock.h"
#include "base/mem.h"
#include "bpf/fault_event.h"
#include "collect/proc/page_state.h"
#include "collect/proc/proc_stat.h"
#include "collect/resolve/resolve.h"
#include "collect/worker/proc_reader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void resolver_resident_init(struct resolver *r)
{
	r->resident.bits = r->resident.least_bits = r->links.page_bits;
	r->resident.max = r->asked.is_always ? RESIDENT_ALWAYS_PAGES : RESIDENT_MAX_PAGES;
	r->resident_origins.max = 2 * r->resident.max;
}

void resolver_resident_done(struct resolver *r)
{
	resident_done(&r->resident);
	gpu_origins_done(&r->resident_origins);
	vec_done(&r->resident_rows);
	vec_done(&r->resident_owners);
}

static bool has_ended(const struct resolver *r, uint32_t pid, uint64_t life)
{
	const struct process *p = process_find(&r->processes, pid);

	return !p || p->begun_ns != life;
}

/* Drops pages of processes that have ended, or run another program. */
static void drop_ended(struct resolver *r)
{
	for (size_t i = 0; i < r->resident.all.n; i++) {
		struct resident_page *p = &r->resident.all.v[i];

		if (has_ended(r, p->pid, p->life))
			p->origin = 0;
	}
}

static void fit(struct resolver *r)
{
	if (resident_fit(&r->resident) && r->links.choose_pages)
		r->links.choose_pages(r->links.choose_ctx, r->resident.bits);
}

/* --- faults ----------------------------------------------------------------------------------- */

enum walk_end resolver_resident(struct resolver *r, struct process *p, const struct event_fault *ev,
				const struct event_raw *raw)
{
	const struct stack_ref ref = { .sample = &ev->sample, .raw = raw };
	enum walk_end end = WALK_COMPLETE;
	struct gpu_origin origin = {
		.key = resolver_series_key(r, p, &ev->sample, 0, 0),
		.stack = resolver_stack_now(r, p, &ref, &end),
		.pid = ev->sample.tgid,
		.tid = ev->sample.tid,
	};
	struct resident_page page = { .address = ev->fault.address,
				      .life = p->begun_ns,
				      .pid = ev->sample.tgid,
				      .origin = gpu_origins_put(&r->resident_origins, &origin),
				      .bits = ev->fault.page_bits };

	if (ev->fault.flags & FAULT_PAGE)
		resident_put(&r->resident, &page);
	page.is_region = true;
	if (ev->fault.flags & FAULT_REGION)
		resident_put(&r->resident, &page);
	if (resident_is_full(&r->resident)) {
		drop_ended(r);
		fit(r);
	}
	return end;
}

void resolve_faults_unwatched(struct resolver *r, uint64_t faults, uint64_t now_ns)
{
	struct series_key key = { .type = r->types.page_fault };
	struct sample sample = {
		.time_ns = now_ns,
		.value = (int64_t)(faults * FAULT_PAGE_BYTES),
		.stack = resolver_marker_stack(r, "[not watched]"),
		.cpu = SAMPLE_NO_ID,
	};

	if (key.type == TYPE_NONE || !faults)
		return;
	sample.series = series_cache_get(&r->series, &key, resolver_type_name(&r->types, key.type));
	if (sample.series != SERIES_LEFT_OUT)
		r->sink->ops->sample(r->sink, &sample);
}

/* --- a look at all processes ------------------------------------------------------------------ */

struct resident_look {
	struct resolver *r;
	struct map index;  /* (origin, period) → row */
	struct map looked; /* processes that were read */
	/* Of the process. */
	uint64_t life, bytes;
	double variance;
	uint32_t pid;
};

static uint64_t life_key(uint32_t pid, uint64_t life)
{
	return hash_mix(pid, life);
}

static void add_bytes(struct resident_look *l, uint32_t origin, uint32_t shift, uint64_t bytes)
{
	const uint64_t key = (uint64_t)origin << 8 | shift;
	const struct resident_row row = { l->life, 0, shift ? 1ll << shift : 0, l->pid, origin };
	uint32_t fresh = l->r->resident_rows.n;
	uint32_t i = map_intern(&l->index, key, fresh, NULL, NULL);

	if (i == fresh)
		vec_push(&l->r->resident_rows, row);
	l->r->resident_rows.v[i].bytes += bytes;
}

/* A page that is part of a huge one is counted by its region. */
static void add_page(struct resident_look *l, struct resident_page *page, uint8_t state)
{
	const uint32_t size_shift = page->is_region ? FAULT_HUGE_SHIFT : FAULT_PAGE_SHIFT;
	const uint32_t shift = size_shift + page->bits;
	const double size = (double)(1u << size_shift), weight = (double)(1u << page->bits);

	if (!(state & PAGE_RESIDENT)) {
		page->origin = 0;
	} else if (!(state & PAGE_HUGE) == !page->is_region) {
		add_bytes(l, page->origin, shift, 1ull << shift);
		l->bytes += 1ull << shift;
		l->variance += weight * (weight - 1) * size * size;
	}
}

/* Reads the states of a process's pages. */
static int read_states(struct resident_look *l, const struct resident_page *pages, size_t n,
		       uint8_t *states)
{
	uint64_t addresses[PAGE_STATES_MAX];
	int rc = 0;

	for (size_t at = 0; at < n && !rc; at += PAGE_STATES_MAX) {
		size_t some = n - at < PAGE_STATES_MAX ? n - at : PAGE_STATES_MAX;

		for (size_t i = 0; i < some; i++)
			addresses[i] = pages[at + i].address;
		rc = proc_reader_pages(l->r->links.reader, pages->pid, addresses, some,
				       states + at);
	}
	return rc;
}

/* Returns the process itself, with a marker as its stack. */
static uint32_t put_rest_origin(struct resident_look *l)
{
	struct resolver *r = l->r;
	struct process *p = process_find(&r->processes, l->pid);
	const struct sampled_owner owner = { p->cgroup_id, p->has_uid ? p->uid : EVENT_NO_UID };

	process_labels(&r->labels, p, owner, clock_mono_ns());
	struct gpu_origin rest = resolver_gpu_origin_of(r, l->pid);
	rest.stack = resolver_marker_stack(r, "[not watched]");
	return gpu_origins_put(&r->resident_origins, &rest);
}

/* Memory beyond the interval of the sum was not watched: from before the recording, from its
 * parent, or from times without watching. */
static int add_rest(struct resident_look *l)
{
	const double z = 1.96, none_seen = 3; /* 95 %, also when none of them is chosen */
	const double least = none_seen * (double)(FAULT_PAGE_BYTES << l->r->resident.bits);
	const double more = z * sqrt(l->variance);
	uint64_t has;

	int rc = proc_rss_anon(l->pid, &has);
	if (rc || (double)has <= (double)l->bytes + (more > least ? more : least))
		return rc;
	uint32_t origin = put_rest_origin(l);
	if (origin)
		add_bytes(l, origin, 0, has - l->bytes);
	return 0;
}

/* n: its number of pages, may be 0. Without a result the rows of the last look remain. */
static void look_at(struct resident_look *l, const struct process *p, struct resident_page *pages,
		    size_t n)
{
	uint8_t *states = xcalloc(n + 1, sizeof *states);

	l->pid = p->pid;
	l->life = p->begun_ns;
	l->bytes = 0;
	l->variance = 0;
	int rc = n ? read_states(l, pages, n, states) : 0;
	for (size_t i = 0; i < n && !rc; i++)
		add_page(l, &pages[i], states[i]);
	if (!rc)
		rc = add_rest(l);
	if (!rc || l->bytes)
		map_put(&l->looked, life_key(l->pid, l->life), 1);
	free(states);
}

static void look_at_pages(struct resident_look *l)
{
	struct resolver *r = l->r;
	struct resident_page *pages = r->resident.all.v;

	for (size_t i = 0, n; i < r->resident.all.n; i += n) {
		for (n = 1; i + n < r->resident.all.n && pages[i + n].pid == pages[i].pid;)
			n++;
		look_at(l, process_find(&r->processes, pages[i].pid), pages + i, n);
	}
}

static void look_at_bare(struct resident_look *l, const struct process *p)
{
	if (p && !p->is_kernel_thread && !map_get(&l->looked, life_key(p->pid, p->begun_ns)))
		look_at(l, p, NULL, 0);
}

/* Processes without any chosen page. */
static void look_at_others(struct resident_look *l)
{
	const struct sampler_opts *asked = &l->r->asked;
	const struct process_table *t = &l->r->processes;

	for (size_t i = 0; asked->target == TARGET_ALL && i < t->all.n; i++)
		look_at_bare(l, t->all.v[i]);
	for (size_t i = 0; asked->target == TARGET_PID && i < asked->n_ids; i++)
		look_at_bare(l, process_find(t, asked->ids[i]));
}

/* Rows of the last look remain if a process could not be read. Once all targets have ended, their
 * last memory is shown. */
static void keep_old_rows(struct resident_look *l, const struct resident_row *old, size_t n)
{
	struct resolver *r = l->r;
	bool is_over = !r->resident_rows.n && r->asked.target != TARGET_ALL;

	for (size_t i = 0; i < n; i++)
		if (!map_get(&l->looked, life_key(old[i].pid, old[i].life)) &&
		    (is_over || !has_ended(r, old[i].pid, old[i].life)))
			vec_push(&r->resident_rows, old[i]);
}

void resolve_resident_look(struct resolver *r)
{
	struct resident_look l = { .r = r };
	VEC(struct resident_row) old = { 0 };

	if (r->types.rss == TYPE_NONE)
		return;
	vec_append(&old, r->resident_rows.v, r->resident_rows.n);
	vec_clear(&r->resident_rows);
	drop_ended(r);
	resident_sort(&r->resident);
	look_at_pages(&l);
	look_at_others(&l);
	keep_old_rows(&l, old.v, old.n);
	fit(r);
	if (r->resident_origins.all.n > r->resident_origins.max / 2)
		resolver_resident_renumber(r, false, NULL);
	vec_done(&old);
	map_done(&l.looked);
	map_done(&l.index);
}

/* --- results ---------------------------------------------------------------------------------- */

static void put_row(struct resolver *r, const struct resident_row *row, uint64_t now_ns)
{
	struct gpu_origin o = *gpu_origins_get(&r->resident_origins, row->origin);
	struct sample sample = {
		.time_ns = now_ns,
		.value = (int64_t)row->bytes,
		.stack = o.stack,
		.pid = o.pid,
		.tid = o.tid,
		.cpu = SAMPLE_NO_ID,
	};

	o.key.type = r->types.rss;
	o.key.period = row->period;
	sample.series =
		series_cache_get(&r->series, &o.key, resolver_type_name(&r->types, o.key.type));
	if (sample.series != SERIES_LEFT_OUT)
		r->sink->ops->sample(r->sink, &sample);
}

static void put_rows(struct resolver *r, uint64_t now_ns)
{
	for (size_t i = 0; i < r->resident_rows.n; i++)
		put_row(r, &r->resident_rows.v[i], now_ns);
}

void resolve_resident_finish(struct resolver *r, uint64_t now_ns)
{
	resolve_resident_look(r);
	put_rows(r, now_ns);
	vec_clear(&r->resident_rows);
}

/* Returns the owner of a row, by which snapshots are distinguished (query/plan.h). */
static uint64_t owner_of(const struct resolver *r, const struct resident_row *row)
{
	const struct gpu_origin *o = gpu_origins_get(&r->resident_origins, row->origin);

	return hash_mix(hash_bytes(o->key.process, sizeof o->key.process),
			hash_mix(o->pid, o->key.labels));
}

/* Stores one row of each owner. One that no longer has memory gets a last sample of 0: otherwise
 * its last value would still count. */
static void note_owners(struct resolver *r, uint64_t now_ns)
{
	VEC(struct resident_row) owners = { 0 };
	struct map now = { 0 };

	for (size_t i = 0; i < r->resident_rows.n; i++) {
		struct resident_row row = r->resident_rows.v[i];

		row.bytes = 0;
		if (!map_get(&now, owner_of(r, &row)))
			vec_push(&owners, row);
		map_put(&now, owner_of(r, &row), 1);
	}
	for (size_t i = 0; i < r->resident_owners.n; i++)
		if (!map_get(&now, owner_of(r, &r->resident_owners.v[i])))
			put_row(r, &r->resident_owners.v[i], now_ns);
	vec_clear(&r->resident_owners);
	vec_append(&r->resident_owners, owners.v, owners.n);
	vec_done(&owners);
	map_done(&now);
}

void resolve_resident_snapshot(struct resolver *r, uint64_t now_ns)
{
	resolve_resident_look(r);
	put_rows(r, now_ns);
	note_owners(r, now_ns);
	vec_clear(&r->resident_rows);
}

void resolve_resident_ended(struct resolver *r, uint64_t now_ns)
{
	size_t n = 0;

	for (size_t i = 0; i < r->resident_owners.n; i++) {
		const struct resident_row row = r->resident_owners.v[i];

		if (has_ended(r, row.pid, row.life))
			put_row(r, &row, now_ns);
		else
			r->resident_owners.v[n++] = row;
	}
	r->resident_owners.n = n;
}

void resolver_resident_renumber(struct resolver *r, bool is_new_sink, struct profile_copy *copy)
{
	struct origin_moves moves;

	origin_moves_begin(&moves, r, &r->resident_origins, is_new_sink, copy);
	for (size_t i = 0; i < r->resident.all.n; i++)
		r->resident.all.v[i].origin = origin_moved(&moves, r->resident.all.v[i].origin);
	for (size_t i = 0; i < r->resident_rows.n; i++)
		r->resident_rows.v[i].origin = origin_moved(&moves, r->resident_rows.v[i].origin);
	for (size_t i = 0; i < r->resident_owners.n; i++)
		r->resident_owners.v[i].origin =
			origin_moved(&moves, r->resident_owners.v[i].origin);
	origin_moves_end(&moves);
}
