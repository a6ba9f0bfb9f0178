#include "collect/host/host_sources.h"

#include "collect/host/host_points.h"
#include "collect/worker/helper.h"

void host_workers_put(const struct helper_stats *s, struct host_points *w)
{
	static const struct host_metric ends = { "cresset_worker_ends", "{process}", OTLP_COUNTER },
					stuck = { "cresset_workers_stuck", "{process}",
						  OTLP_GAUGE };
	static const struct {
		enum helper_end end;
		const char *word;
	} hows[] = { { HELPER_DIED, "died" }, { HELPER_STUCK, "stuck" } };

	for (int work = 0; work < HELPER_WORKS; work++) {
		struct label_text labels[HOST_MAX_LABELS] = { { "worker",
								helper_work_names[work] } };

		host_put(w, &stuck, labels, s->stuck[work]);
		for (size_t i = 0; i < sizeof hows / sizeof *hows; i++) {
			labels[1] = (struct label_text){ "how", hows[i].word };
			host_put(w, &ends, labels, (double)s->ends[work][hows[i].end]);
		}
	}
}
