/* Losses of the collector as metrics of the host. */
#include "collect/host/host_sources.h"

#include "collect/host/host_points.h"
#include "format/otlp/otlp_metrics.h"

static const struct host_metric metric = { "cresset_lost", "{loss}", OTLP_COUNTER };

static void put_one(struct host_losses *h, enum loss reason, uint64_t lost, int64_t start_ns,
		    struct host_points *w)
{
	const struct loss_info *info = &loss_reasons[reason];
	const struct label_text labels[HOST_MAX_LABELS] = {
		{ "reason", info->name }, { "kind", info->is_sample ? "sample" : "detail" }
	};
	const int64_t end_ns = w->time_ns;

	if (!h->was_put[reason] && lost) {
		w->time_ns = start_ns;
		host_put(w, &metric, labels, 0);
		w->time_ns = end_ns;
	}
	host_put(w, &metric, labels, (double)lost);
	h->was_put[reason] = true;
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
