/* Metrics of the recording of GPU time and of attached programs. */
#include "collect/host/host_sources.h"

#include "collect/host/host_points.h"
#include "collect/kernel/gpu_stats.h"
#include "format/otlp/otlp_metrics.h"

static const struct host_metric files = { "cresset_gpu_probed_files", "{file}", OTLP_GAUGE };
static const struct host_metric programs = { "cresset_gpu_time_programs", "{program}", OTLP_GAUGE };
static const struct host_metric coverage = { "cresset_gpu_time_coverage", "1", OTLP_GAUGE };
static const struct host_metric seconds = { "cresset_gpu_time", "s", OTLP_COUNTER };
static const struct host_metric gpu_attached = { "cresset_gpu_attached", "{program}",
						 OTLP_COUNTER };
static const struct host_metric mem_attached = { "cresset_mem_attached", "{program}",
						 OTLP_COUNTER };

static void put(struct host_points *w, const struct host_metric *metric, const char *key,
		const char *value, double v)
{
	const struct label_text labels[HOST_MAX_LABELS] = { { key, value } };

	host_put(w, metric, labels, v);
}

static void put_coverage(struct host_gpu_time *h, const struct gpu_time_stats *t,
			 struct host_points *w)
{
	uint64_t watched_ns = t->watched_ns - h->watched_ns;
	double share = watched_ns ? (double)(t->window_ns - h->window_ns) / watched_ns : 0;

	h->watched_ns = t->watched_ns;
	h->window_ns = t->window_ns;
	if (watched_ns)
		put(w, &coverage, NULL, NULL, share < 1 ? share : 1);
}

void host_gpu_time_put(struct host_gpu_time *h, const struct gpu_probes_stats *probes,
		       const struct gpu_time_stats *t, struct host_points *w)
{
	if (probes->files)
		put(w, &files, NULL, NULL, probes->files);
	if (!t->programs)
		return;
	put(w, &programs, "state", "watched", t->watching - t->given_up);
	put(w, &programs, "state", "given_up", t->given_up);
	put_coverage(h, t, w);
	put(w, &seconds, "how", "exact", t->exact_ns / 1e9);
	put(w, &seconds, "how", "estimate", t->estimated_ns / 1e9);
	put(w, &seconds, "how", "unknown", t->unknown_ns / 1e9);
}

void host_attach_put(const struct host_attach *gpu, const struct host_attach *mem,
		     struct host_points *w)
{
	const struct {
		const struct host_metric *metric;
		const struct host_attach *n;
	} all[] = { { &gpu_attached, gpu }, { &mem_attached, mem } };

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		const struct host_attach *n = all[i].n;

		if (!n)
			continue;
		put(w, all[i].metric, "result", "attached", n->attached);
		put(w, all[i].metric, "result", "refused", n->refused);
		put(w, all[i].metric, "result", "failed", n->failed);
		put(w, all[i].metric, "result", "left_out", n->left_out);
	}
}
