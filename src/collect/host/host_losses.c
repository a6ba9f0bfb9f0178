/* Losses and cut stacks of the collector as metrics of the host. */
#include "collect/host/host_sources.h"

#include "collect/host/host_points.h"
#include "collect/kernel/walk_end.h"
#include "format/otlp/otlp_metrics.h"

static const struct host_metric metric = { "cresset_lost", "{loss}", OTLP_COUNTER };
static const struct host_metric cut = { "cresset_truncated", "{sample}", OTLP_COUNTER };
static const struct host_metric refused = { "cresset_copies_refused", "{sample}", OTLP_COUNTER };

/* A new counter starts with 0 at the start of the interval. */
static void put_counter(const struct host_metric *m, const struct label_text *labels, bool *was_put,
			uint64_t value, int64_t start_ns, struct host_points *w)
{
	const int64_t end_ns = w->time_ns;

	if (!*was_put && value) {
		w->time_ns = start_ns;
		host_put(w, m, labels, 0);
		w->time_ns = end_ns;
	}
	host_put(w, m, labels, (double)value);
	*was_put = true;
}

static void put_one(struct host_losses *h, enum loss reason, uint64_t lost, int64_t start_ns,
		    struct host_points *w)
{
	const struct loss_info *info = &loss_reasons[reason];
	const struct label_text labels[HOST_MAX_LABELS] = {
		{ "reason", info->name }, { "kind", info->is_sample ? "sample" : "detail" }
	};

	put_counter(&metric, labels, &h->was_put[reason], lost, start_ns, w);
}

/* Hosts without GPUs, which are most, or without hardware counters get no reasons that cannot occur
 * there. */
static bool is_told_always(enum loss reason)
{
	bool is_of_gpu = reason >= LOSS_GPU_RING_FULL && reason <= LOSS_GPU_CODE_UNREAD;

	return loss_reasons[reason].is_sample && !is_of_gpu && reason != LOSS_CYCLES_GONE;
}

void host_losses_put(struct host_losses *h, const uint64_t lost[LOSS_REASONS], int64_t start_ns,
		     struct host_points *w)
{
	for (int i = 0; i < LOSS_REASONS; i++)
		if (i != LOSS_LEFT_OUT && (lost[i] || h->was_put[i] || is_told_always(i)))
			put_one(h, i, lost[i], start_ns, w);
}

static void put_refused(struct host_stacks *h, int kind, const char *reason, uint64_t n,
			int64_t start_ns, struct host_points *w)
{
	const struct label_text labels[HOST_MAX_LABELS] = { { "reason", reason } };

	if (n || h->refused_was_put[kind])
		put_counter(&refused, labels, &h->refused_was_put[kind], n, start_ns, w);
}

void host_stacks_put(struct host_stacks *h, const struct host_cut_stacks *n, int64_t start_ns,
		     struct host_points *w)
{
	for (uint32_t end = 0; end < WALK_ENDS; end++) {
		const struct label_text labels[HOST_MAX_LABELS] = { { "reason",
								      walk_end_reason(end) } };

		if (walk_end_is_loss(end) && (n->ends[end] || h->was_put[end]))
			put_counter(&cut, labels, &h->was_put[end], n->ends[end], start_ns, w);
	}
	put_refused(h, 0, "ring full", n->no_room, start_ns, w);
	put_refused(h, 1, "CPU time", n->no_time, start_ns, w);
}
