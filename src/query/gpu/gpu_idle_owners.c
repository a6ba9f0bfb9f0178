/* Finds the owners of a GPU, and what they did while it was idle and while it was busy. */
#include "query/gpu/gpu_idle_work.h"

#include "base/buf.h"
#include "base/hash.h"
#include "base/vec.h"
#include "profile/sum.h"
#include "profile/tree/time_range.h"
#include "query/gpu/gpu_idle.h"

#include <stdlib.h>
#include <string.h>

/* --- owners ----------------------------------------------------------------------------------- */

void idle_own(struct gpu_idle_device *d, uint32_t pid, uint32_t name)
{
	for (size_t i = d->owners.n; i-- > 0;)
		if (d->owners.v[i].pid == pid &&
		    (pid != SAMPLE_NO_ID || d->owners.v[i].name == name))
			return;
	vec_push(&d->owners, (struct gpu_idle_owner){ pid, name });
}

static int compare_owners(const void *a, const void *b, void *p)
{
	const struct gpu_idle_owner *x = a, *y = b;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return strcmp(profile_str(p, x->name), profile_str(p, y->name));
}

/* Adds processes that called a GPU library: such calls have no device. */
static void find_callers(struct idle_build *b, struct gpu_idle_device *d)
{
	for (size_t row = 0; row < b->n_samples; row++) {
		const struct idle_facts *f = idle_facts_of(b, row);
		if (f->is == SERIES_CALL && f->host == d->host && idle_is_exact(b, row))
			idle_own(d, b->p->samples.pid[row], f->name);
	}
	d->owned = d->owners.n ? GPU_OWNED_CALLED : GPU_OWNED_NONE;
}

/* Returns whether the driver of that host lists any process. */
static bool are_listed(const struct idle_build *b, uint32_t host)
{
	for (size_t i = 0; i < b->opts->n_readings; i++)
		if (b->opts->readings[i].host == host && b->opts->readings[i].listed.n)
			return true;
	return false;
}

void idle_find_owners(struct idle_build *b, struct gpu_idle_device *d)
{
	if (d->source == GPU_IDLE_RECORDS)
		d->owned = GPU_OWNED_RAN;
	else if (!are_listed(b, d->host))
		find_callers(b, d);
	if (d->owners.n)
		qsort_r(d->owners.v, d->owners.n, sizeof *d->owners.v, compare_owners, b->p);
}

/* --- samples of owners ------------------------------------------------------------------------ */

static uint32_t side_type(struct idle_build *b, const struct gpu_idle_device *d, const char *what)
{
	struct type type = b->p->series.types.v[b->tree->type];
	struct buf name = { 0 };
	buf_addf(&name, "%s while GPU %s", profile_str(b->p, type.name),
		 profile_str(b->p, d->label));
	if (d->host)
		buf_addf(&name, " of %s", profile_str(b->p, d->host));
	buf_addf(&name, " was %s", what);
	if (d->source == GPU_IDLE_READINGS)
		buf_adds(&name, " by readings");
	type.name = sink_string(profile_sink(b->p), buf_cstr(&name));
	buf_done(&name);
	return profile_sink(b->p)->ops->type(profile_sink(b->p), &type);
}

static void put_part(struct idle_build *b, uint32_t type, size_t row,
		     const struct sample_part *part)
{
	const struct sample_columns *c = &b->p->samples;
	struct sink *s = profile_sink(b->p);
	struct series series = b->p->series.series.v[c->series[row]];
	series.type = type;
	struct sample sample = { .time_ns = part->time_ns,
				 .length_ns = part->length_ns,
				 .value = part->value,
				 .series = s->ops->series(s, &series),
				 .stack = c->stack[row],
				 .pid = c->pid[row],
				 .tid = c->tid[row],
				 .cpu = c->cpu[row] };
	s->ops->sample(s, &sample);
}

static uint64_t put_parts(struct idle_build *b, uint32_t type, const struct interval_set *when,
			  size_t row)
{
	const struct sample_columns *c = &b->p->samples;
	struct sample_part whole = { c->time_ns[row], sample_length_ns(c, row), c->value[row] };
	int64_t end_ns = sum_add(whole.time_ns, whole.length_ns > 0 ? whole.length_ns : 1);
	uint64_t n = 0;
	for (size_t i = interval_set_find(when, whole.time_ns);
	     i < when->all.n && when->all.v[i].from < end_ns; i++) {
		struct sample_part part = whole;
		if (!sample_part_cut(&part, when->all.v[i].from, when->all.v[i].to))
			continue;
		put_part(b, type, row, &part);
		n++;
	}
	return n;
}

/* Owners of a device, for lookups by sample. */
struct owner_set {
	struct map pids, names;
};

static bool is_owned(const struct idle_build *b, const struct gpu_idle_device *d,
		     const struct owner_set *owners, size_t row)
{
	const struct idle_facts *f = idle_facts_of(b, row);
	if (!f->is_asked || f->host != d->host || !idle_is_exact(b, row))
		return false;
	return d->owned == GPU_OWNED_LISTED
		       ? f->name && map_get(&owners->names, f->name)
		       : map_get(&owners->pids, b->p->samples.pid[row]) != NULL;
}

void idle_divide_samples(struct idle_build *b, struct gpu_idle_device *d)
{
	struct owner_set owners = { 0 };
	if (b->tree->type == GPU_IDLE_TYPE_NONE)
		return;
	d->idle_type = side_type(b, d, "idle");
	d->busy_type = side_type(b, d, "busy");
	for (size_t i = 0; i < d->owners.n; i++) {
		map_put(&owners.pids, d->owners.v[i].pid, 1);
		map_put(&owners.names, d->owners.v[i].name, 1);
	}
	for (size_t row = 0; row < b->n_samples; row++) {
		if (!is_owned(b, d, &owners, row))
			continue;
		d->idle_samples += put_parts(b, d->idle_type, &d->idle, row);
		d->busy_samples += put_parts(b, d->busy_type, &d->busy, row);
	}
	map_done(&owners.pids);
	map_done(&owners.names);
}
