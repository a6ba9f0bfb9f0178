/* CPU time of samples from threadCPUDelta. */
#include "format/firefox/firefox_tables.h"

#include <math.h>
#include <string.h>

static const struct {
	const char *name;
	double ns;
} cpu_units[] = {
	{ "ns", 1 }, { "\xc2\xb5s", 1e3 }, { "\xce\xbcs", 1e3 }, { "us", 1e3 }, { "ms", 1e6 },
};

static double time_ms(const struct fx_tables *t, size_t i)
{
	return i < t->measures[FX_TIME].n ? t->measures[FX_TIME].v[i] : NAN;
}

/* The time that a sample's threadCPUDelta covers. */
static double covered_ms(const struct fx_tables *t, size_t i, double interval_ms)
{
	double ms = i ? time_ms(t, i) - time_ms(t, i - 1) : NAN;
	if (t->measures[FX_TIME_DELTA].n > i)
		ms = t->measures[FX_TIME_DELTA].v[i];
	return ms > 0 ? ms : interval_ms;
}

double fx_most_cpu_per_ms(const struct fx_tables *t, double interval_ms)
{
	double most = 0;
	for (size_t i = 0; i < t->measures[FX_CPU_DELTA].n; i++) {
		double delta = t->measures[FX_CPU_DELTA].v[i], ms = covered_ms(t, i, interval_ms);
		if (delta > 0 && ms > 0 && delta / ms > most)
			most = delta / ms;
	}
	return most;
}

bool fx_has_cpu_deltas(const struct fx_tables *t)
{
	for (size_t i = 0; i < t->measures[FX_CPU_DELTA].n; i++)
		if (!isnan(t->measures[FX_CPU_DELTA].v[i]))
			return true;
	return false;
}

double fx_cpu_unit_ns(const char *unit)
{
	for (size_t i = 0; i < sizeof cpu_units / sizeof *cpu_units; i++)
		if (strcmp(unit, cpu_units[i].name) == 0)
			return cpu_units[i].ns;
	return 0;
}
