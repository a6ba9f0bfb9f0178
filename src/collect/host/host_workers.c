/* Metrics of the worker processes: their number and ends. */
#include "collect/host/host_sources.h"

#include "collect/host/host_points.h"
#include "collect/worker/helper.h"
#include "collect/worker/proc_reader.h"

static void put_reads(const struct proc_reader_stats *reads, struct host_points *w)
{
	static const struct host_metric metric = { "cresset_reads_failed", "{read}", OTLP_COUNTER };
	const struct label_text late[HOST_MAX_LABELS] = { { "how", "late" } },
				refused[HOST_MAX_LABELS] = { { "how", "refused" } };

	host_put(w, &metric, late, (double)reads->late);
	host_put(w, &metric, refused, (double)reads->refused);
}

void host_workers_put(const struct helper_stats *s, const struct proc_reader_stats *reads,
		      struct host_points *w)
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
	put_reads(reads, w);
}
