/* Memory from /proc/meminfo, and pressure from /proc/pressure. */
#include "collect/host/host_sources.h"

#include "base/buf.h"
#include "collect/host/host_points.h"
#include "format/otlp/otlp_metrics.h"

#include <stdbool.h>
#include <stdint.h>

static const struct host_metric limit = { "system_memory_limit", "By", OTLP_GAUGE };
static const struct host_metric available = { "system_memory_available", "By", OTLP_GAUGE };
static const struct host_metric memory = { "system_memory_usage", "By", OTLP_GAUGE };
static const struct host_metric paging = { "system_paging_usage", "By", OTLP_GAUGE };
static const struct host_metric pressure = { "system_pressure", "s", OTLP_COUNTER };

/* --- /proc/meminfo ---------------------------------------------------------------------------- */

enum { TOTAL, FREE, AVAILABLE, BUFFERS, CACHED, RECLAIMABLE, SWAP_TOTAL, SWAP_FREE, ROWS };
static const char *const row_names[ROWS] = {
	"MemTotal", "MemFree",      "MemAvailable", "Buffers",
	"Cached",   "SReclaimable", "SwapTotal",    "SwapFree"
};
struct meminfo {
	uint64_t kib[ROWS];
	bool has[ROWS];
};

static void read_row(struct cur *line, struct meminfo *m)
{
	struct cur name;
	uint64_t v;

	if (!host_word(line, ':', &name) || !host_number(line, &v))
		return;
	for (int i = 0; i < ROWS; i++)
		if (host_is(&name, row_names[i])) {
			m->kib[i] = v;
			m->has[i] = true;
		}
}

static void put_kib(struct host_points *w, const struct host_metric *metric, const char *state,
		    uint64_t kib)
{
	const struct label_text labels[HOST_MAX_LABELS] = { { state ? "state" : NULL, state } };

	host_put(w, metric, labels, (double)kib * 1024);
}

/* Rows are not read at the same moment, so the rest may be negative. */
static uint64_t left_of(uint64_t total, uint64_t a, uint64_t b, uint64_t c)
{
	total = total > a ? total - a : 0;
	total = total > b ? total - b : 0;
	return total > c ? total - c : 0;
}

static void put_parts(const struct meminfo *m, struct host_points *w)
{
	uint64_t cached = m->kib[CACHED] + m->kib[RECLAIMABLE];

	if (!m->has[TOTAL] || !m->has[FREE] || !m->has[BUFFERS] || !m->has[CACHED])
		return;
	put_kib(w, &memory, "used", left_of(m->kib[TOTAL], m->kib[FREE], m->kib[BUFFERS], cached));
	put_kib(w, &memory, "free", m->kib[FREE]);
	put_kib(w, &memory, "buffers", m->kib[BUFFERS]);
	put_kib(w, &memory, "cached", cached);
}

void host_memory_put(struct cur text, struct host_points *w)
{
	struct meminfo m = { 0 };
	struct cur line;

	while (host_line(&text, &line))
		read_row(&line, &m);
	if (m.has[TOTAL])
		put_kib(w, &limit, NULL, m.kib[TOTAL]);
	if (m.has[AVAILABLE])
		put_kib(w, &available, NULL, m.kib[AVAILABLE]);
	put_parts(&m, w);
	if (!m.has[SWAP_TOTAL] || !m.has[SWAP_FREE])
		return;
	put_kib(w, &paging, "used", left_of(m.kib[SWAP_TOTAL], m.kib[SWAP_FREE], 0, 0));
	put_kib(w, &paging, "free", m.kib[SWAP_FREE]);
}

/* --- /proc/pressure --------------------------------------------------------------------------- */

/* some avg10=0.00 avg60=0.00 avg300=0.00 total=1234, in µs */
static bool read_total(struct cur *line, uint64_t *us)
{
	struct cur word;

	while (host_word(line, ' ', &word))
		if (host_skip(&word, "total="))
			return host_number(&word, us);
	return false;
}

void host_pressure_put(const char *resource, struct cur text, struct host_points *w)
{
	struct cur line;
	uint64_t us;

	while (host_line(&text, &line)) {
		const char *kind = host_skip(&line, "some ")   ? "some"
				   : host_skip(&line, "full ") ? "full"
							       : NULL;
		const struct label_text labels[HOST_MAX_LABELS] = { { "resource", resource },
								    { "kind", kind } };
		if (kind && read_total(&line, &us))
			host_put(w, &pressure, labels, (double)us / 1e6);
	}
}
